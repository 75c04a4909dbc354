#include "analysis/counter_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/machine_file.h"
#include "analysis/trace_importer.h"
#include "google/protobuf/descriptor.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::CounterCheck;
using gpuexec::v1::KernelCounts;
using gpuexec::v1::KernelList;
using gpuexec::v1::MachineDevice;
using gpuexec::v1::MachineFile;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Eq;
using testing::EqualsProto;
using testing::FromText;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::PacketFromText;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr char kLoads[] = "smsp__sass_data_bytes_mem_global_op_ld.sum";

// One case, whose kernel has 4 blocks.
KernelList Known(const std::string& counts) {
  return FromText<KernelList>(absl::StrCat("cases { name: 'copy' size: 64 kernels: 'CopyKernel' counts { blocks: 4 ",
                                           counts, " } } cases { name: 'axpy' size: 9 }"));
}

MachineFile Machine() {
  return FromText<MachineFile>(R"(
    format_version: 1
    device {
      name: 'NVIDIA H200' uuid: 'GPU-00010203-0405-0607-0809-0a0b0c0d0e0f'
      attributes {
        compute_capability_major: 9 compute_capability_minor: 0 multiprocessor_count: 132 l2_cache_bytes: 62914560 memory_bus_width_bits: 6016
      }
    }
    unmeasured { what: 'counter checks' } unmeasured { what: 'l2 clock' })");
}

// Two devices of a kind, with a context on each; the kernel with 4 blocks (signature 1) and with 5, and another one.
constexpr char kDefinitions[] = R"(
  header { format_major: 1 start { cupti_ns: 1000 monotonic_ns: 1000 } }
  device {
    device_id: 0 name: "NVIDIA H200" uuid: "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
    attributes {
      compute_capability_major: 9 compute_capability_minor: 0 multiprocessor_count: 132 l2_cache_bytes: 62914560 memory_bus_width_bits: 6016
    }
  }
  device {
    device_id: 1 name: "NVIDIA H200" uuid: "\xff\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
    attributes {
      compute_capability_major: 9 compute_capability_minor: 0 multiprocessor_count: 132 l2_cache_bytes: 62914560 memory_bus_width_bits: 6016
    }
  }
  context { context_id: 1 device_id: 0 } context { context_id: 2 device_id: 1 }
  name { iid: 1 value: "_ZN2gx10CopyKernelEPf" } name { iid: 2 value: "_ZN2gx11OtherKernelEPf" }
  function { iid: 1 name_iid: 1 } function { iid: 2 name_iid: 2 }
  signature { iid: 1 function_iid: 1 grid_x: 2 grid_y: 2 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 }
  signature { iid: 2 function_iid: 1 grid_x: 5 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 }
  signature { iid: 3 function_iid: 2 grid_x: 5 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 }
  window { window_id: 2 kind: KIND_COUNTERS begin_monotonic_ns: 2000 end_monotonic_ns: 900000 }
)";

struct Group {
  std::vector<std::string> metrics;
  // A row a launch, with a value a metric.
  std::vector<std::vector<double>> samples;
  int signature = 1;
  int context = 1;
  // Of each sample; none: 0.
  std::vector<int> flags = {};
};

TraceModel Trace(const std::vector<Group>& groups) {
  TraceImporter importer(ImportOptions{});
  importer.Import(PacketFromText(kDefinitions));
  int iid = 0;
  for (const Group& group : groups) {
    ++iid;
    importer.Import(PacketFromText(absl::StrCat("counter_group { iid: ", iid,
                                                " name: 'g' kind: KIND_HARDWARE device_id: ", group.context - 1,
                                                " metric: ['", absl::StrJoin(group.metrics, "', '"), "'] }")));
    std::string batch = absl::StrCat("counter_batch { count: ", group.samples.size(), " group_iid: ", iid,
                                     " window_id: 2 context_id: ", group.context, " base_enter_monotonic_ns: 3000 ",
                                     "signature_iid: ", group.signature, " metric_count: ", group.metrics.size());
    for (size_t metric = 0; metric < group.metrics.size(); ++metric) absl::StrAppend(&batch, " real_metric: ", metric);
    for (size_t i = 0; i < group.samples.size(); ++i) absl::StrAppend(&batch, " enter_delta: ", i == 0 ? 0 : 1000);
    for (const int flags : group.flags) absl::StrAppend(&batch, " flags: ", flags);
    for (const auto& sample : group.samples) {
      for (const double value : sample) absl::StrAppend(&batch, " real_value: ", value);
    }
    importer.Import(PacketFromText(batch + " }"));
  }
  TraceModel trace = importer.Finish();
  EXPECT_EQ(trace.undecodable_record_count, 0U);
  return trace;
}

// The checks that follow from one trace.
std::vector<CounterCheck> Checked(const KernelList& known, const std::vector<Group>& groups) {
  absl::StatusOr<CounterChecks> checks = CounterChecks::Of(known);
  EXPECT_THAT(checks, IsOk());
  MachineFile machine = Machine();
  EXPECT_THAT(checks->AddTrace(Trace(groups), machine.device()), IsOk());
  EXPECT_THAT(checks->Finish(&machine), IsOk());
  EXPECT_THAT(CheckMachineFile(machine), IsOk());
  return {machine.counter_check().begin(), machine.counter_check().end()};
}

TEST(CounterErrorRatio, IsOfTheMedian) {
  struct Row {
    double expected;
    std::vector<double> counted;
    std::optional<double> ratio;
  };
  const double largest = std::numeric_limits<double>::max();
  const std::vector<Row> rows = {
      {100, {100}, 0.0},       {100, {99, 110, 50}, -0.01}, {100, {100, 104}, 0.02},
      {100, {0}, -1.0},        {0, {0, 0, 3}, 0.0},         {0, {1}, std::nullopt},
      {100, {}, std::nullopt}, {0, {}, std::nullopt},       {1e-300, {largest}, std::nullopt},
  };
  for (const Row& row : rows) {
    const std::optional<double> ratio = CounterErrorRatio(row.expected, row.counted);
    ASSERT_EQ(ratio.has_value(), row.ratio.has_value()) << row.expected;
    EXPECT_NEAR(ratio.value_or(0), row.ratio.value_or(0), 1e-12) << row.expected;
  }
}

TEST(CounterChecks, HoldTheSamplesBesideWhatTheSourceSays) {
  const std::vector<CounterCheck> checks =
      Checked(Known("global_load_bytes: 200"), {{{kLoads, "other.sum"}, {{210, 1}, {202, 1}, {204, 1}}}});
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_NEAR(checks[0].error_ratio(), 0.02, 1e-12);
  CounterCheck rest = checks[0];
  rest.clear_error_ratio();
  EXPECT_THAT(rest, EqualsProto(absl::StrCat("metric: '", kLoads, R"(' case_name: 'copy' case_size: 64
    kernel: '_ZN2gx10CopyKernelEPf' expected: 200 counted: 210 counted: 202 counted: 204)")));
}

TEST(CounterChecks, LeaveOutVoidSamplesAndTheFirstOfASession) {
  const std::vector<Group> groups = {{{kLoads}, {{900}, {200}, {700}, {201}}, 1, 1, {1, 0, 4, 0}}};
  EXPECT_THAT(Checked(Known("global_load_bytes: 200"), groups)[0].counted(), ElementsAre(200, 201));
}

TEST(CounterChecks, TakeTheFirstOfASessionWhereThereIsNoOther) {
  const std::vector<Group> groups = {{{kLoads}, {{900}, {700}}, 1, 1, {1, 5}}};
  EXPECT_THAT(Checked(Known("global_load_bytes: 200"), groups)[0].counted(), ElementsAre(900));
}

TEST(CounterChecks, LeaveOutWhatIsNoCount) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Group> groups = {{{kLoads}, {{kNan}, {-5}, {200}}}};
  EXPECT_THAT(Checked(Known("global_load_bytes: 200"), groups)[0].counted(), ElementsAre(200));
}

std::string Thread(const std::string& operation) {
  return absl::StrCat("smsp__sass_thread_inst_executed_op_", operation, "_pred_on.sum");
}

TEST(CounterChecks, AFusedMultiplyAddIsTwoAndHalvesComeInPairs) {
  struct Row {
    const char* counts;
    const char* letter;
    // 3 additions, 5 multiplications, 7 of both.
    double flop;
  };
  const std::vector<Row> rows = {
      {"fp64_flop: 22", "d", 22},
      {"fp32_flop: 22", "f", 22},
      {"fp16_flop: 44", "h", 44},
  };
  for (const Row& row : rows) {
    const std::string letter = row.letter;
    const auto checks = Checked(
        Known(row.counts), {{{Thread(letter + "fma"), Thread(letter + "add"), Thread(letter + "mul")}, {{7, 3, 5}}}});
    ASSERT_THAT(checks, SizeIs(1)) << row.counts;
    EXPECT_THAT(checks[0].counted(), ElementsAre(row.flop)) << row.counts;
    EXPECT_DOUBLE_EQ(checks[0].error_ratio(), 0) << row.counts;
    EXPECT_FALSE(checks[0].is_approximate()) << row.counts;
  }
}

TEST(CounterChecks, ThreadsOfAnInstructionAreAQuotientOfOneSample) {
  const std::vector<Group> groups = {
      {{"smsp__sass_inst_executed.sum", "smsp__sass_thread_inst_executed.sum"}, {{10, 88}, {0, 88}, {20, 168}}}};
  const auto some = Checked(Known("threads_per_instruction: 8"), groups);
  ASSERT_THAT(some, SizeIs(1));
  EXPECT_THAT(some[0].counted(), ElementsAre(DoubleEq(8.8), DoubleEq(8.4)));
  EXPECT_TRUE(some[0].is_approximate());
  EXPECT_FALSE(Checked(Known("threads_per_instruction: 32"), groups)[0].is_approximate());
}

TEST(CounterChecks, CountersOfSeveralLaunchesMakeUpNothing) {
  absl::StatusOr<CounterChecks> checks = CounterChecks::Of(Known("fp32_flop: 22"));
  ASSERT_THAT(checks, IsOk());
  const TraceModel trace = Trace({{{Thread("fadd"), Thread("fmul")}, {{3, 5}}}, {{Thread("ffma")}, {{7}}}});
  ASSERT_THAT(checks->AddTrace(trace, Machine().device()), IsOk());
  EXPECT_THAT(checks->Uncounted(), ElementsAre("gr__ctas_launched.sum of copy", "fp32_flop of copy"));
}

// A field that is printed by gx-kernels and looked at by nobody would be lost in silence.
TEST(CounterChecks, EveryKnownCountHasAMetric) {
  struct Row {
    const char* counts;
    const char* metric;
    bool is_approximate;
  };
  const std::vector<Row> rows = {
      {"blocks: 4", "gr__ctas_launched.sum", false},
      {"fp16_flop: 4", "fp16_flop", false},
      {"fp32_flop: 4", "fp32_flop", false},
      {"fp64_flop: 4", "fp64_flop", false},
      {"bf16_tensor_flop: 4", "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum", false},
      {"threads_per_instruction: 4", "threads_per_instruction", true},
      {"global_load_bytes: 4", kLoads, false},
      {"global_store_bytes: 4", "smsp__sass_data_bytes_mem_global_op_st.sum", false},
      {"global_load_sectors: 4", "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", false},
      {"global_store_sectors: 4", "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", false},
      {"global_load_sectors: 1 global_store_sectors: 3", "l1tex__t_sectors.sum", false},
      {"l2_sectors: 4", "lts__t_sectors_srcunit_tex.sum", false},
      {"shared_bytes: 4", "smsp__sass_data_bytes_mem_shared.sum", false},
      {"shared_load_wavefronts: 4", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", false},
      {"shared_store_wavefronts: 4", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", false},
      {"shared_load_wavefronts: 3 shared_store_wavefronts: 1", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", false},
      {"shared_conflicts: 4", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", false},
      {"dram_read_bytes: 4", "dram__bytes_read.sum", true},
      {"dram_write_bytes: 4", "dram__bytes_write.sum", true},
  };
  std::vector<std::string> metrics = {"smsp__sass_inst_executed.sum", "smsp__sass_thread_inst_executed.sum"};
  for (const char* letter : {"d", "f", "h"}) {
    for (const char* operation : {"add", "mul", "fma"}) metrics.push_back(Thread(absl::StrCat(letter, operation)));
  }
  for (const Row& row : rows) {
    if (absl::string_view(row.metric).find("__") != absl::string_view::npos) metrics.emplace_back(row.metric);
  }
  const std::vector<Group> groups = {{metrics, {std::vector<double>(metrics.size(), 4)}}};
  std::vector<std::string> fields;
  for (const Row& row : rows) {
    KernelList known = Known("");
    known.mutable_cases(0)->mutable_counts()->MergeFrom(FromText<KernelCounts>(row.counts));
    bool is_found = false;
    for (const CounterCheck& check : Checked(known, groups)) {
      if (check.metric() != row.metric) continue;
      is_found = true;
      EXPECT_EQ(check.expected(), 4) << row.counts;
      EXPECT_EQ(check.is_approximate(), row.is_approximate) << row.counts;
    }
    EXPECT_TRUE(is_found) << row.counts;
    const std::string text = row.counts;
    fields.push_back(text.substr(0, text.find(':')));
  }
  for (int i = 0; i < KernelCounts::descriptor()->field_count(); ++i) {
    EXPECT_THAT(fields, ::testing::Contains(KernelCounts::descriptor()->field(i)->name()));
  }
}

TEST(CounterChecks, SamplesOfSeveralTracesAreTakenTogether) {
  absl::StatusOr<CounterChecks> checks = CounterChecks::Of(Known("global_load_bytes: 200"));
  ASSERT_THAT(checks, IsOk());
  MachineFile machine = Machine();
  EXPECT_THAT(*checks->AddTrace(Trace({{{kLoads}, {{200}, {201}}}}), machine.device()), Eq(2));
  EXPECT_THAT(*checks->AddTrace(Trace({{{kLoads}, {{202}}}}), machine.device()), Eq(1));
  ASSERT_THAT(checks->Finish(&machine), IsOk());
  EXPECT_THAT(machine.counter_check(0).counted(), ElementsAre(200, 201, 202));
}

TEST(CounterChecks, LaunchesThatWereNotCountedAddNothing) {
  absl::StatusOr<CounterChecks> checks = CounterChecks::Of(Known("global_load_bytes: 200"));
  ASSERT_THAT(checks, IsOk());
  MachineFile machine = Machine();
  const std::string before = machine.SerializeAsString();
  const TraceModel trace = Trace({{{kLoads}, {{200}}, /*signature=*/3}, {{kLoads}, {{200}}, 1, 1, /*void*/ {4}}});
  EXPECT_THAT(*checks->AddTrace(trace, machine.device()), Eq(0));
  EXPECT_EQ(checks->known_count(), 2U);
  EXPECT_THAT(checks->Finish(&machine), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("got none")));
  EXPECT_EQ(machine.SerializeAsString(), before);
}

TEST(CounterChecks, FinishReplacesWhatWasThereAndLeavesTheRest) {
  absl::StatusOr<CounterChecks> checks = CounterChecks::Of(Known("global_load_bytes: 200"));
  ASSERT_THAT(checks, IsOk());
  MachineFile machine = Machine();
  machine.add_counter_check()->set_metric("old");
  ASSERT_THAT(checks->AddTrace(Trace({{{kLoads}, {{200}}}}), machine.device()), IsOk());
  ASSERT_THAT(checks->Finish(&machine), IsOk());
  ASSERT_THAT(machine.counter_check(), SizeIs(1));
  EXPECT_EQ(machine.counter_check(0).metric(), kLoads);
  ASSERT_THAT(machine.unmeasured(), SizeIs(1));
  EXPECT_EQ(machine.unmeasured(0).what(), "l2 clock");
  EXPECT_THAT(checks->Uncounted(), ElementsAre("gr__ctas_launched.sum of copy"));
}

TEST(CounterChecks, LaunchesOfAnotherSizeAreRefused) {
  absl::StatusOr<CounterChecks> checks = CounterChecks::Of(Known("global_load_bytes: 200"));
  ASSERT_THAT(checks, IsOk());
  EXPECT_THAT(checks->AddTrace(Trace({{{kLoads}, {{200}}, /*signature=*/2}}), Machine().device()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("expected CopyKernel with 4 blocks, got a grid of 5x1x1: the case 'copy'")));
}

TEST(CounterChecks, AreOfOneDevice) {
  const TraceModel one = Trace({{{kLoads}, {{200}}, 1, /*context=*/1}});
  const TraceModel other = Trace({{{kLoads}, {{200}}, 1, /*context=*/2}});
  const TraceModel untold = Trace({{{kLoads}, {{200}}, 1, /*context=*/3}});
  MachineDevice anonymous = Machine().device();
  anonymous.clear_uuid();
  MachineDevice smaller = anonymous;
  smaller.mutable_attributes()->set_multiprocessor_count(114);
  struct Row {
    const char* what;
    const TraceModel& trace;
    MachineDevice device;
    bool is_taken;
  };
  const std::vector<Row> rows = {
      {"the very device", one, Machine().device(), true},
      {"another of its kind", other, Machine().device(), false},
      {"an unknown one", untold, Machine().device(), false},
      {"a product", other, anonymous, true},
      {"another product", one, smaller, false},
  };
  for (const Row& row : rows) {
    absl::StatusOr<CounterChecks> checks = CounterChecks::Of(Known("global_load_bytes: 200"));
    ASSERT_THAT(checks, IsOk());
    const absl::StatusOr<uint64_t> added = checks->AddTrace(row.trace, row.device);
    if (row.is_taken) {
      EXPECT_THAT(added, IsOk()) << row.what;
    } else {
      EXPECT_THAT(added,
                  StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("on the device of the machine file")))
          << row.what;
    }
  }
}

TEST(CounterChecks, ListsThatSayNothingOrTooMuchAreRefused) {
  struct Row {
    const char* list;
    absl::StatusCode code;
    const char* message;
  };
  const std::vector<Row> rows = {
      {"", absl::StatusCode::kFailedPrecondition, "got 0 cases without"},
      {"cases { name: 'a' kernels: 'A' }", absl::StatusCode::kFailedPrecondition, "got 1 case without"},
      {"cases { name: 'a' kernels: 'A' counts {} }", absl::StatusCode::kInvalidArgument, "1 kernel, 0 blocks"},
      {"cases { name: 'a' kernels: 'A' counts { blocks: -1 } }", absl::StatusCode::kInvalidArgument, "-1 blocks"},
      {"cases { name: 'a' counts { blocks: 1 } }", absl::StatusCode::kInvalidArgument, "got 0 kernels"},
      {"cases { name: 'a' kernels: '' counts { blocks: 1 } }", absl::StatusCode::kInvalidArgument, "one kernel"},
      {"cases { kernels: 'A' counts { blocks: 1 } }", absl::StatusCode::kInvalidArgument, "a name"},
      {"cases { name: 'a' kernels: ['A', 'B'] counts { blocks: 1 } }", absl::StatusCode::kInvalidArgument,
       "got 2 kernels"},
      {"cases { name: 'a' kernels: 'A' counts { blocks: 1 fp32_flop: -2 } }", absl::StatusCode::kInvalidArgument,
       "case 'a', fp32_flop: expected a count of 0 or more, got -2"},
      {"cases { name: 'a' kernels: 'A' counts { blocks: 1 } } cases { name: 'b' kernels: 'A' counts { blocks: 1 } }",
       absl::StatusCode::kInvalidArgument, "case 'b': expected a kernel of its own"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(CounterChecks::Of(FromText<KernelList>(row.list)), StatusIs(row.code, HasSubstr(row.message)))
        << row.list;
  }
}

TEST(CounterChecks, NamesOfAnyBytesBecomeText) {
  KernelList known = Known("global_load_bytes: 200");
  known.mutable_cases(0)->set_name("a\x1b[31m");
  const std::vector<CounterCheck> checks = Checked(known, {{{kLoads}, {{200}}}});
  ASSERT_THAT(checks, SizeIs(1));
  EXPECT_THAT(checks[0].case_name(), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace gx::analysis
