// The built gx-machine, as a user runs it: what is printed where, what is written, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/machine_file.h"
#include "tests/support/run_command.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace gx::testing {
namespace {

namespace v1 = gpuexec::v1;

using gpuexec::v1::MachineFile;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kUuid[] = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";

// `work` units more take `work` x `unit_ns` more, at 2 GHz.
std::string Slope(double work, double unit_ns) {
  v1::Slope slope;
  for (const double units : {work, 2 * work}) {
    v1::SlopePoint* point = slope.add_point();
    point->set_work(units);
    for (const double factor : {0.9, 1.0, 1.0}) {
      point->add_duration_ns(factor * units * unit_ns);
      point->add_sm_clock_hz(2e9);
    }
  }
  slope.set_work_per_second(1e9 / unit_ns);
  slope.set_work_per_sm_cycle(0.5 / unit_ns);
  return absl::StrCat("slope { ", slope.DebugString(), " }");
}

// Launches of a kernel, one each `period_ns`.
std::string Timing(int grid, double period_ns) {
  return absl::StrCat("kernel_timing { shape { kernel: 'chain' grid_x: ", grid, " block_x: 64 chain_steps: 8 } ",
                      "resident_blocks: 4 ", Slope(8, period_ns), " }");
}

MachineFile Machine(const std::string& figures) {
  return FromText<MachineFile>(absl::StrCat(
      "format_version: 1 run { gpuexec_version: '0.1.0' command_line: '/home/me/gx-kernels --ceilings -o /data/m.pb' "
      "start_realtime_ns: 1780000000000000000 } device { name: 'NVIDIA H200' pci_bus_id: '0000:00:06.0' uuid: '",
      kUuid, R"(' attributes { compute_capability_major: 9 compute_capability_minor: 0 multiprocessor_count: 132 } }
      software { driver_version: '580.159.04' }
      unmeasured { what: 'tracing bias' why: 'needs injection' } unmeasured { what: 'l2 clock' why: 'needs a window' })",
      figures));
}

MachineFile Untraced() {
  return Machine(absl::StrCat(
      Timing(4, 1000), Timing(8, 1500), Timing(12, 1900),
      "ceiling { resource: CEILING_RESOURCE_DRAM path: CEILING_PATH_THREAD unit: WORK_UNIT_BYTE variant: 'copy' "
      "read_share_ratio: 0.5 footprint_bytes: 4096 check { value_count: 7 } ",
      Slope(4000, 0.00025),
      " } latency { level: LATENCY_LEVEL_L2 sectors_per_request: 1 footprint_bytes: 4096 check { ", "value_count: 1 } ",
      Slope(100, 150), " } launch_rate { kind: KIND_KERNEL_LAUNCH ", Slope(10, 2500), " }"));
}

MachineFile Traced() {
  MachineFile machine = Machine(absl::StrCat(Timing(4, 1060), Timing(8, 1620)));
  machine.mutable_run()->set_injection_path("libgpuexec_inject.so");
  return machine;
}

// Six launches of 'chain' with this grid: three that are warm-up, then 940, 950 and 960 ns.
std::string Trace(int grid) {
  return TraceBytes({PacketFromText(absl::StrCat(R"(
    header { format_major: 1 pid: 17 start { cupti_ns: 1000 monotonic_ns: 1000 } }
    name { iid: 1 value: "chain" } track { iid: 1 context_id: 1 stream_id: 7 }
    kernel_attributes {
      iid: 1 name_iid: 1 grid_x: )",
                                                 grid, R"( grid_y: 1 grid_z: 1 block_x: 64 block_y: 1 block_z: 1
    }
    kernel_batch {
      timing: TIMING_COMPLETE base_start_ns: 5000 start_unit_ns: 1 duration_unit_ns: 1 base_correlation_id: 1
      track_iid: 1 attributes_iid: 1 count: 6 start_delta: [0, 1000, 1000, 1000, 1000, 1000]
      duration_delta: [900, 0, 0, 40, 10, 10]
    })"))});
}

constexpr char kKnown[] =
    R"({"cases": [{"name": "axpy", "counts": null}, {"name": "copy", "size": 64, "kernels": ["CopyKernel"],
    "counts": {"blocks": 4, "dram_read_bytes": 200, "shared_conflicts": 0, "fp64_flop": 0}}]})";

// Two launches of CopyKernel with this grid, whose counters were read, on the device of Machine().
std::string Counted(int grid) {
  return TraceBytes({PacketFromText(absl::StrCat(R"(
    header { format_major: 1 pid: 17 start { cupti_ns: 1000 monotonic_ns: 1000 } }
    device { device_id: 0 name: "NVIDIA H200" uuid: "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f" }
    name { iid: 1 value: "CopyKernel" } function { iid: 1 name_iid: 1 } context { context_id: 1 device_id: 0 }
    signature { iid: 1 function_iid: 1 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 grid_x: )",
                                                 grid, R"( }
    window { window_id: 2 kind: KIND_COUNTERS begin_monotonic_ns: 2000 end_monotonic_ns: 900000 }
    counter_group { iid: 1 name: "g" kind: KIND_HARDWARE metric: ["gr__ctas_launched.sum", "dram__bytes_read.sum",
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] }
    counter_batch {
      count: 2 group_iid: 1 window_id: 2 context_id: 1 base_enter_monotonic_ns: 3000 enter_delta: [0, 1000]
      signature_iid: 1 metric_count: 3 integer_value: [4, 202, 7, 0, 4, 0]
    })"))});
}

class GxMachine : public ::testing::Test {
 protected:
  static CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), GX_MACHINE);
    CommandResult result = RunCommand(arguments);
    EXPECT_EQ(result.signal, 0);
    for (const std::string* text : {&result.out, &result.err}) {
      EXPECT_TRUE(std::all_of(text->begin(), text->end(), [](char c) { return c == '\n' || (c >= ' ' && c < 0x7F); }))
          << "a control byte reached the output";
    }
    return result;
  }
  std::string Put(const std::string& name, const std::string& bytes) const {
    const std::string path = dir_.File(name);
    EXPECT_TRUE(WriteFile(path, bytes));
    return path;
  }
  CommandResult Merge(const MachineFile& machine, const MachineFile& traced, const std::string& trace,
                      std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"merge",
                                          "--machine",
                                          Put("untraced.pb", machine.SerializeAsString()),
                                          "--traced",
                                          Put("traced.pb", traced.SerializeAsString()),
                                          "--trace",
                                          Put("bias.pb", trace),
                                          "-o",
                                          out_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  const TempDir dir_;
  const std::string out_ = dir_.File("machine.pb");
};

TEST_F(GxMachine, MergeAddsWhatTracingCostsAndLeavesTheRest) {
  const CommandResult result = Merge(Untraced(), Traced(), Trace(4));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("what tracing adds to 2 of 3 kernels; 1 of them with records\n"));
  const auto merged = analysis::ReadMachineFile(out_);
  ASSERT_THAT(merged, IsOk());
  ASSERT_THAT(merged->tracing_bias(), SizeIs(2));
  EXPECT_DOUBLE_EQ(merged->tracing_bias(0).untraced_ns(), 1000);
  EXPECT_DOUBLE_EQ(merged->tracing_bias(0).traced_ns(), 1060);
  EXPECT_EQ(merged->tracing_bias(0).recorded().kernel_count(), 3U);
  EXPECT_DOUBLE_EQ(merged->tracing_bias(0).recorded().median_ns(), 950);
  EXPECT_FALSE(merged->tracing_bias(1).has_recorded());
  MachineFile rest = *merged;
  rest.clear_tracing_bias();
  MachineFile expected = Untraced();
  expected.mutable_unmeasured()->DeleteSubrange(0, 1);
  EXPECT_EQ(rest.SerializeAsString(), expected.SerializeAsString());
  EXPECT_FALSE(std::filesystem::exists(out_ + ".part"));
}

TEST_F(GxMachine, MergeAddsCountersAgainstKnownAnswers) {
  const std::string machine = Put("m.pb", Untraced().SerializeAsString());
  const std::string known = Put("known.json", kKnown);
  const CommandResult result = Run({"merge", "--machine", machine, "--known", known, "--counted",
                                    Put("a.pb", Counted(4)), "--counted", Put("b.pb", Trace(4)), "-o", out_});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("1 of 2 traces have no counted launch of a case with known answers: "));
  EXPECT_THAT(result.err, HasSubstr("b.pb\n"));
  EXPECT_THAT(result.err, HasSubstr("not counted: 1 of 4 known answers: fp64_flop of copy\n"));
  EXPECT_THAT(result.err, HasSubstr("machine.pb: 3 known answers counted\n"));
  const auto merged = analysis::ReadMachineFile(out_);
  ASSERT_THAT(merged, IsOk());
  EXPECT_THAT(merged->counter_check(), SizeIs(3));
  EXPECT_THAT(merged->tracing_bias(), IsEmpty());
}

TEST_F(GxMachine, MergeAddsBothAtOnce) {
  const CommandResult result = Merge(Untraced(), Traced(), Trace(4),
                                     {"--known", Put("known.json", kKnown), "--counted", Put("a.pb", Counted(4))});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 of them with records; 3 known answers counted\n"));
  const auto merged = analysis::ReadMachineFile(out_);
  ASSERT_THAT(merged, IsOk());
  EXPECT_THAT(merged->counter_check(), SizeIs(3));
  EXPECT_THAT(merged->tracing_bias(), SizeIs(2));
}

TEST_F(GxMachine, ShowPrintsTheLargestErrorOfEachCounterFirst) {
  ASSERT_EQ(Run({"merge", "--machine", Put("m.pb", Untraced().SerializeAsString()), "--known", Put("k.json", kKnown),
                 "--counted", Put("a.pb", Counted(4)), "-o", out_})
                .exit_code,
            0);
  const CommandResult result = Run({"show", out_});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("COUNTERS AGAINST KNOWN ANSWERS [^\n]*\n"
                                       " +largest error +in +expected +counted +samples +cases +metric\n"
                                       " +not 0 +copy +0 +7 +2 +1 +l1tex__data_bank_conflicts[^\n]*\n"
                                       " +[+]2.000 % +copy +about 200 +204 +2 +1 +dram__bytes_read.sum\n"
                                       " +0 % +copy +4 +4 +2 +1 +gr__ctas_launched.sum\n"
                                       "  above 1 %: l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum .1 of 1., "
                                       "dram__bytes_read.sum .1 of 1.\n"));
}

TEST_F(GxMachine, CountedTracesThatDoNotBelongAreExitCodeOneAndWriteNothing) {
  const std::string machine = Put("m.pb", Untraced().SerializeAsString());
  MachineFile of_another = Untraced();
  of_another.mutable_device()->set_uuid("GPU-ff010203-0405-0607-0809-0a0b0c0d0e0f");
  const std::string other = Put("other.pb", of_another.SerializeAsString());
  const std::string known = Put("known.json", kKnown);
  const std::string nothing_known = Put("nothing.json", R"({"cases": [{"name": "copy"}]})");
  const std::string counted = Put("counted.pb", Counted(4));
  struct Row {
    std::string machine;
    std::string known;
    std::string counted;
    const char* message;
  };
  const std::vector<Row> rows = {
      {machine, nothing_known, counted, "nothing.json: expected cases with counts"},
      {machine, known, Put("larger.pb", Counted(5)), "larger.pb: expected CopyKernel with 4 blocks"},
      {machine, known, Put("timed.pb", Trace(4)), "got none in any trace"},
      {other, known, counted, "counted.pb: expected launches of CopyKernel on the device of the machine file"},
  };
  for (const Row& row : rows) {
    const CommandResult result =
        Run({"merge", "--machine", row.machine, "--known", row.known, "--counted", row.counted, "-o", out_});
    EXPECT_EQ(result.exit_code, 1) << row.message;
    EXPECT_THAT(result.err, HasSubstr(row.message));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out_)) << row.message;
  }
}

TEST_F(GxMachine, AListOfKnownAnswersThatIsNoneIsExitCodeThree) {
  const std::string machine = Put("m.pb", Untraced().SerializeAsString());
  const std::string counted = Put("counted.pb", Counted(4));
  const std::string many(30000, '{');
  struct Row {
    std::string json;
    const char* message;
  };
  const std::vector<Row> rows = {
      {"", "known.json"},
      {"{", "known.json:1:2: expected"},
      {many, "known.json:1:2: expected"},
      {R"({"cases": [{"name": "\u001b", "kernel": 1}]})", "KernelCase has no field 'kernel'"},
      {R"({"cases": [{"counts": {"blocks": 1e400}}]})", "blocks: expected a whole number"},
      {R"({"cases": [{"counts": {"blocks": 4, "blocks": 4}}]})", "blocks is given twice"},
      {"\x1b[31m", "known.json"},
  };
  for (const Row& row : rows) {
    const CommandResult result =
        Run({"merge", "--machine", machine, "--known", Put("known.json", row.json), "--counted", counted, "-o", out_});
    EXPECT_EQ(result.exit_code, 3) << row.json.substr(0, 80);
    EXPECT_THAT(result.err, HasSubstr(row.message)) << row.json.substr(0, 80);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
}

TEST_F(GxMachine, AnAnonymousFileNamesNoMachine) {
  ASSERT_EQ(Merge(Untraced(), Traced(), Trace(4), {"--anonymous"}).exit_code, 0);
  const auto merged = analysis::ReadMachineFile(out_);
  ASSERT_THAT(merged, IsOk());
  EXPECT_EQ(merged->device().uuid(), "");
  EXPECT_EQ(merged->device().pci_bus_id(), "");
  EXPECT_EQ(merged->device().name(), "NVIDIA H200");
  EXPECT_EQ(merged->run().command_line(), "gx-kernels --ceilings -o m.pb");
  EXPECT_THAT(merged->tracing_bias(), SizeIs(2));
}

TEST_F(GxMachine, FilesThatDoNotBelongTogetherAreExitCodeOneAndWriteNothing) {
  MachineFile other = Traced();
  other.mutable_device()->set_uuid("GPU-ff010203-0405-0607-0809-0a0b0c0d0e0f");
  struct Row {
    MachineFile machine;
    MachineFile traced;
    std::string trace;
    const char* message;
  };
  const std::vector<Row> rows = {
      {Untraced(), Untraced(), Trace(4), "got without and without"},
      {Traced(), Untraced(), Trace(4), "got under and without"},
      {Untraced(), other, Trace(4), "expected two machine files of one device"},
      {Untraced(), Traced(), Trace(5), "bias.pb: expected clean records of the machine file's 2 kernels, got none"},
  };
  for (const Row& row : rows) {
    const CommandResult result = Merge(row.machine, row.traced, row.trace);
    EXPECT_EQ(result.exit_code, 1) << row.message;
    EXPECT_THAT(result.err, HasSubstr(row.message));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out_)) << row.message;
  }
}

TEST_F(GxMachine, ADamagedTraceIsSaid) {
  const CommandResult result = Merge(Untraced(), Traced(), Trace(4) + "garbage");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("bias.pb: parts are damaged or missing"));
}

TEST_F(GxMachine, WhatCannotBeReadOrWrittenIsOneLineAndExitCodeThree) {
  const std::string machine = Put("m.pb", Untraced().SerializeAsString());
  const std::string traced = Put("t.pb", Traced().SerializeAsString());
  const std::string trace = Put("b.pb", Trace(4));
  const std::string known = Put("known.json", kKnown);
  const std::string none = dir_.File("none.pb");
  MachineFile spoilt = Untraced();
  spoilt.mutable_kernel_timing(0)->mutable_slope()->set_work_per_second(1);
  const std::string wrong = Put("wrong.pb", spoilt.SerializeAsString());
  const std::vector<std::vector<std::string>> rows = {
      {"show", none},
      {"show", trace},
      {"show", wrong},
      {"merge", "--machine", none, "--traced", traced, "--trace", trace, "-o", out_},
      {"merge", "--machine", wrong, "--traced", traced, "--trace", trace, "-o", out_},
      {"merge", "--machine", machine, "--traced", trace, "--trace", trace, "-o", out_},
      {"merge", "--machine", machine, "--traced", traced, "--trace", none, "-o", out_},
      {"merge", "--machine", machine, "--known", none, "--counted", trace, "-o", out_},
      {"merge", "--machine", machine, "--known", known, "--counted", none, "-o", out_},
      {"merge", "--machine", machine, "--traced", traced, "--trace", machine, "-o", out_},
      {"merge", "--machine", machine, "--traced", traced, "--trace", trace, "-o", dir_.File("no/folder.pb")},
      {"merge", "--machine", machine, "--traced", traced, "--trace", trace, "-o", dir_.path()},
  };
  for (const std::vector<std::string>& arguments : rows) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 3) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, StartsWith("gx-machine: "));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(out_));
    EXPECT_FALSE(std::filesystem::exists(dir_.path() + ".part"));
  }
}

TEST_F(GxMachine, WrongUsageIsExitCodeTwoAndPointsToHelp) {
  const std::string file = Put("m.pb", Untraced().SerializeAsString());
  const std::vector<std::vector<std::string>> rows = {
      {},
      {"show"},
      {"show", file, file},
      {"show", "--anonymous", file},
      {"show", "-o", "x", file},
      {"tell", file},
      {"merge"},
      {"merge", "--machine", file, "--traced", file, "--trace", file},
      {"merge", "--machine", file, "--traced", file, "-o", out_},
      {"merge", "--machine", file, "--trace", file, "-o", out_},
      {"merge", "--machine", file, "-o", out_},
      {"merge", "--machine", file, "--known", file, "-o", out_},
      {"merge", "--machine", file, "--counted", file, "-o", out_},
      {"merge", "--machine", file, "--traced", file, "--trace", file, "--known", file, "-o", out_},
      {"merge", "--known", file, "--counted", file, "-o", out_},
      {"merge", "--machine", file, "--known", file, "--known", file},
      {"merge", "--counted"},
      {"merge", "--counted="},
      {"show", "--counted", "x", file},
      {"show", "--known", "x", file},
      {"merge", "--machine", file, "--traced", file, "--trace", file, "-o", out_, "more"},
      {"merge", "--machine", file, "--traced", file, "--trace", file, "-o", file},
      {"merge", "--machine", "m", "--known", "k", "--counted", "c", "--counted", file, "-o", file},
      {"merge", "--machine", file, "--machine", file},
      {"merge", "--machine"},
      {"merge", "-o"},
      {"merge", "--machine="},
      {"show", "--bogus", file},
      {"show", "-x", file},
      {"show", "--b\x1b[31m"},
  };
  for (const std::vector<std::string>& arguments : rows) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, HasSubstr("\nTry gx-machine --help.\n"));
  }
  EXPECT_EQ(ReadFile(file), Untraced().SerializeAsString());
}

TEST_F(GxMachine, ShowHasALineForEveryFigure) {
  ASSERT_EQ(Merge(Untraced(), Traced(), Trace(4)).exit_code, 0);
  const CommandResult result = Run({"show", out_});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, StartsWith(absl::StrCat("NVIDIA H200, sm_90, 132 SMs, ")));
  EXPECT_THAT(result.out, HasSubstr(kUuid));
  EXPECT_THAT(result.out, HasSubstr("driver 580.159.04"));
  EXPECT_THAT(result.out, HasSubstr("2026-05-28T20:26:40Z"));
  for (const char* line : {
           "dram +thread +4.000 TB/s +2000.0 B/clk +2.000 GHz +10.0 % +10.0 % +copy, footprint 4 KiB\n",
           "l2 +300.0 +150 ns +10.0 % +1 +4 KiB\n",
           "1.50 us +10.0 % +stream +8 +2.00 +64 +0 B +- +8\n",
           "400,000 +2.50 us +10.0 % +kernels\n",
           "1.00 us +1.06 us +60 ns +950 ns +4 +1.00 +64 +0 B +- +8\n",
           "1.50 us +1.62 us +120 ns +- +8 +2.00 +64 +0 B +- +8\n",
           "least squares: 60 ns, and for each further wave 60.0 ns . 0.000 ns a thread of a block, within 0 ns "
           ".2 kernels.\n",
           "NOT MEASURED\n  l2 clock: needs a window\n",
       }) {
    EXPECT_THAT(result.out, ::testing::ContainsRegex(line));
  }
}

TEST_F(GxMachine, ShowSaysThatFiguresUnderInjectionAreNoCeilings) {
  const CommandResult result = Run({"show", Put("t.pb", Traced().SerializeAsString())});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("measured under injection (libgpuexec_inject.so): no ceilings"));
  EXPECT_THAT(result.out, Not(HasSubstr("CEILINGS")));
}

TEST_F(GxMachine, NamesReachTheTerminalWithoutControlBytes) {
  MachineFile machine = Untraced();
  machine.mutable_device()->set_name("a\x1b[31m");
  machine.mutable_device()->set_uuid("\x1b");
  machine.mutable_run()->set_command_line("\x1b");
  machine.mutable_ceiling(0)->set_variant("\x1b");
  machine.mutable_ceiling(0)->set_resource(static_cast<v1::CeilingResource>(77));
  machine.mutable_unmeasured(0)->set_what("\x1b");
  *machine.add_counter_check() = FromText<v1::CounterCheck>(
      R"(metric: "\x1b" case_name: "\x1b" kernel: "\x1b" expected: 1 counted: 2 error_ratio: 1)");
  EXPECT_EQ(Run({"show", Put("m.pb", machine.SerializeAsString())}).exit_code, 0);  // Run() looks at every byte.
}

TEST_F(GxMachine, HelpGoesToStandardOutput) {
  const CommandResult result = Run({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("usage: gx-machine show FILE\n"));
  EXPECT_THAT(result.err, IsEmpty());
}

}  // namespace
}  // namespace gx::testing
