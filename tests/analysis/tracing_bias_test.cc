#include "analysis/tracing_bias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/machine_file.h"
#include "analysis/trace_importer.h"
#include "tests/support/proto_matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::MachineFile;
using testing::EqualsProto;
using testing::FromText;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::PacketFromText;
using ::testing::SizeIs;
using testing::StatusIs;

// One kernel of 4 blocks of 64 threads, a launch each `period_ns`.
MachineFile File(double period_ns, absl::string_view injection_path) {
  MachineFile machine = FromText<MachineFile>(R"(
    device { uuid: 'GPU-00010203-0405-0607-0809-0a0b0c0d0e0f' }
    kernel_timing { shape { kernel: 'chain' grid_x: 4 block_x: 64 chain_steps: 8 } resident_blocks: 2 slope {} })");
  machine.mutable_run()->set_injection_path(std::string(injection_path));
  machine.mutable_kernel_timing(0)->mutable_slope()->set_work_per_second(1e9 / period_ns);
  return machine;
}

// Launches of 'chain', one after the other, with these durations.
TraceModel Trace(int grid, const std::vector<int>& durations) {
  std::string differences;
  int before = 0;
  for (const int duration : durations) {
    absl::StrAppend(&differences, differences.empty() ? "" : ", ", duration - before);
    before = duration;
  }
  std::string starts = "0";
  for (size_t i = 1; i < durations.size(); ++i) starts += ", 1000";
  TraceImporter importer(ImportOptions{});
  importer.Import(PacketFromText(absl::StrCat(R"(
    header { format_major: 1 pid: 17 start { cupti_ns: 1000 monotonic_ns: 1000 } }
    name { iid: 1 value: "chain" } track { iid: 1 context_id: 1 stream_id: 7 }
    kernel_attributes {
      iid: 1 name_iid: 1 grid_x: )",
                                              grid, R"( grid_y: 1 grid_z: 1 block_x: 64 block_y: 1 block_z: 1
    }
    kernel_batch {
      timing: TIMING_COMPLETE base_start_ns: 5000 start_unit_ns: 1 duration_unit_ns: 1 base_correlation_id: 1
      track_iid: 1 attributes_iid: 1 count: )",
                                              durations.size(), " start_delta: [", starts, "] duration_delta: [",
                                              differences, "] }")));
  return importer.Finish();
}

TEST(TracingBias, IsThePeriodOfTheSameKernelWithAndWithoutTracing) {
  MachineFile machine = File(1000, "");
  machine.add_tracing_bias();
  machine.add_unmeasured()->set_what("l2 clock");
  machine.add_unmeasured()->set_what("tracing bias");
  ASSERT_THAT(AddTracingBias(File(1060, "libgpuexec_inject.so"), &machine), IsOk());
  ASSERT_THAT(machine.tracing_bias(), SizeIs(1));
  const gpuexec::v1::TracingBias& bias = machine.tracing_bias(0);
  EXPECT_THAT(bias.shape(), EqualsProto("kernel: 'chain' grid_x: 4 block_x: 64 chain_steps: 8"));
  EXPECT_EQ(bias.resident_blocks(), 2U);
  EXPECT_DOUBLE_EQ(bias.untraced_ns(), 1000);
  EXPECT_DOUBLE_EQ(bias.traced_ns(), 1060);
  EXPECT_FALSE(bias.has_recorded());
  ASSERT_THAT(machine.unmeasured(), SizeIs(1));
  EXPECT_EQ(machine.unmeasured(0).what(), "l2 clock");
}

TEST(TracingBias, NeedsOneRunOfEachKindOnOneDevice) {
  const MachineFile untouched = File(1000, "");
  MachineFile machine = untouched;
  MachineFile traced = File(1060, "");
  EXPECT_THAT(AddTracingBias(traced, &machine),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("got without and without")));
  traced.mutable_run()->set_injection_path("libgpuexec_inject.so");
  traced.mutable_device()->set_uuid("GPU-ff010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_THAT(AddTracingBias(traced, &machine),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("of one device")));
  traced.mutable_device()->set_uuid(machine.device().uuid());
  traced.mutable_kernel_timing(0)->mutable_shape()->set_grid_x(5);
  EXPECT_THAT(AddTracingBias(traced, &machine),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("same shape")));
  EXPECT_THAT(machine, EqualsProto(untouched));
}

TEST(TracingBias, RecordsAreFoundByShapeAndWithoutWarmUp) {
  MachineFile machine = File(1000, "");
  ASSERT_THAT(AddTracingBias(File(1060, "libgpuexec_inject.so"), &machine), IsOk());
  ASSERT_THAT(AddRecordedDurations(Trace(4, {900, 900, 900, 400, 500, 600}), &machine), IsOk());
  const gpuexec::v1::RecordedDurations& recorded = machine.tracing_bias(0).recorded();
  EXPECT_EQ(recorded.kernel_count(), 3U);
  EXPECT_DOUBLE_EQ(recorded.median_ns(), 500);
  EXPECT_DOUBLE_EQ(recorded.p5_ns(), 410);
  EXPECT_DOUBLE_EQ(recorded.p95_ns(), 590);
}

TEST(TracingBias, ATraceOfOtherKernelsIsRefused) {
  MachineFile machine = File(1000, "");
  EXPECT_THAT(AddRecordedDurations(Trace(4, {1, 1, 1, 1}), &machine),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("AddTracingBias comes first")));
  ASSERT_THAT(AddTracingBias(File(1060, "libgpuexec_inject.so"), &machine), IsOk());
  EXPECT_THAT(AddRecordedDurations(Trace(5, {1, 1, 1, 1}), &machine), StatusIs(absl::StatusCode::kFailedPrecondition));
  // Only warm-up.
  EXPECT_THAT(AddRecordedDurations(Trace(4, {1, 1, 1}), &machine), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_FALSE(machine.tracing_bias(0).has_recorded());
}

}  // namespace
}  // namespace gx::analysis
