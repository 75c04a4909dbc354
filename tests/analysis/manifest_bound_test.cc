// R0: the bound of a manifest on the device of a trace, and every manifest that is not of the kernel.
#include "analysis/manifest_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/name_filter.h"
#include "analysis/report_builder.h"
#include "analysis/report_text.h"
#include "analysis/trace_importer.h"
#include "tests/support/kernel_packets.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::Manifest;
using gx::testing::FromText;
using ::gx::testing::KernelPackets;
using ::gx::testing::PacketFromText;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// 10 SMs of compute capability 9.0 at 2 GHz; memory of 100 bytes a cycle at 1 GHz. "gemm" in two shapes.
constexpr char kDefinitions[] = R"(
  header { format_major: 1 format_minor: 1 start { cupti_ns: 1000 monotonic_ns: 1000 } }
  device { device_id: 0 name: "GPU" max_sm_clock_hz: 2000000000 max_memory_clock_hz: 1000000000
    attributes { multiprocessor_count: 10 compute_capability_major: 9 compute_capability_minor: 0 } }
  name { iid: 1 value: "gemm" }
  function { iid: 1 name_iid: 1 }
  signature { iid: 1 function_iid: 1 device_id: 0 grid_x: 7 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 }
  signature { iid: 2 function_iid: 1 device_id: 0 grid_x: 8 grid_y: 1 grid_z: 1 block_x: 64 block_y: 1 block_z: 1 }
  kernel_attributes { iid: 1 name_iid: 1 grid_x: 7 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 }
  kernel_attributes { iid: 2 name_iid: 1 grid_x: 8 grid_y: 1 grid_z: 1 block_x: 64 block_y: 1 block_z: 1 }
  track { iid: 1 device_id: 0 context_id: 1 stream_id: 7 }
  window { window_id: 1 kind: KIND_TIMING begin_monotonic_ns: 1000 end_monotonic_ns: 5000000 }
  window { window_id: 2 kind: KIND_COUNTERS begin_monotonic_ns: 5000000 end_monotonic_ns: 6000000 }
  counter_group { iid: 1 name: "light+" kind: KIND_HARDWARE
    metric: ["dram__bytes.sum", "dram__cycles_elapsed.avg.per_second", "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
             "sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_fp16.sum.peak_sustained",
             "smsp__inst_executed.sum", "smsp__sass_inst_executed.sum",
             "smsp__sass_data_bytes_mem_global_op_ld.sum"] }
  device_peaks { device_id: 0
    peak { metric: "dram__bytes.sum.peak_sustained" value: 100 clock_metric: "dram__cycles_elapsed.avg.per_second" }
    peak { metric: "smsp__inst_executed.sum.peak_sustained" value: 40 clock_metric: "sm__cycles_elapsed.avg.per_second" } }
)";
// 200,000 bytes: 2,000 ns. BF16 tensor operations.
constexpr char kSamples[] = R"(counter_batch { count: 1 group_iid: 1 session_id: 1 window_id: 2
  base_enter_monotonic_ns: 5500000 enter_delta: 0 signature_iid: 1 metric_count: 8
  integer_value: [200000, 1000000000, 4096, 0, 1024, 1000, 1000, 200000] })";

std::vector<TraceModel> Models(const std::vector<std::string>& packets) {
  TraceImporter importer({});
  importer.Import(PacketFromText(kDefinitions));
  for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
  importer.Import(PacketFromText("trailer { reason: REASON_EXIT end { cupti_ns: 7000000 monotonic_ns: 7000000 } }"));
  std::vector<TraceModel> models;
  models.push_back(importer.Finish());
  return models;
}

std::vector<TraceModel> OneShape() { return Models({KernelPackets(1, 40, 1), kSamples}); }
std::vector<TraceModel> TwoShapes() { return Models({KernelPackets(1, 40, 1), KernelPackets(2, 30, 100), kSamples}); }

absl::StatusOr<ManifestBounds> Bounds(const std::string& manifest, const std::vector<TraceModel>& models,
                                      const std::string& kernel = "gemm") {
  return BoundsOfManifest(FromText<Manifest>(absl::StrCat("case_id: 'c' ", manifest)), *NameFilter::Compile(kernel),
                          models);
}

// 100,000 bytes: 1,000 ns.
constexpr char kHalf[] = "roofline { name: 'r' traffic { level: 'dram' bytes: 100000 } }";

void ExpectRefused(const std::string& manifest, const std::string& what) {
  const auto bounds = Bounds(manifest, OneShape());
  EXPECT_EQ(bounds.status().code(), absl::StatusCode::kInvalidArgument) << bounds.status();
  EXPECT_THAT(std::string(bounds.status().message()), HasSubstr(what));
}

TEST(ManifestBoundTest, BytesOverTheRateOfTheTracedDeviceAreTheBound) {
  const auto bounds = Bounds(kHalf, OneShape());
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  ASSERT_THAT(*bounds, SizeIs(1));
  EXPECT_DOUBLE_EQ(bounds->begin()->second.ns, 1000);
  EXPECT_EQ(bounds->begin()->second.binding, "dram");
  EXPECT_EQ(bounds->begin()->second.kernel, "gemm  grid 7, block 32");
}

TEST(ManifestBoundTest, OperationsOverTheRateOfTheirPathAreTheBound) {
  // Compute capability 9.0: 4,096 dense BF16 operations a cycle and SM by the table.
  const auto bounds = Bounds("roofline { name: 'r' work { path: 'tensor_bf16_fp32' flops: 163840000 } }", OneShape());
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_EQ(bounds->begin()->second.binding, "tensor_bf16_fp32");
  EXPECT_DOUBLE_EQ(bounds->begin()->second.ns, 163840000 / (10 * 4096 * 2.0));
}

TEST(ManifestBoundTest, IsTheFirstRungOfTheLadderAndItsGapIsATerm) {
  const std::vector<TraceModel> models = OneShape();
  ReportRequest request;
  request.ladder_machines.emplace();
  request.manifest_bounds = *Bounds(kHalf, models);
  const Report report = BuildReport(models, request);
  ASSERT_THAT(report.ladders, SizeIs(1));
  ASSERT_THAT(report.ladders[0].manifest_lines, SizeIs(1));
  EXPECT_THAT(report.ladders[0].manifest_lines[0], HasSubstr("'c': R0 1.00 us, dram binds; of gemm  grid 7, block 32"));
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  EXPECT_EQ(report.ladders[0].rows[0].compulsory_source, "manifest 'c': dram");
  const model::Ladder& ladder = report.ladders[0].rows[0].ladder;
  EXPECT_DOUBLE_EQ(ladder.rungs.Ns(model::Rung::kCompulsory), 1000);
  EXPECT_DOUBLE_EQ(ladder.rungs.Ns(model::Rung::kUseful), 2000);
  EXPECT_DOUBLE_EQ(ladder.Term(model::TermKind::kAlgorithm).ns, 1000);
  EXPECT_DOUBLE_EQ(ladder.residual_ns.value_or(0), 3000);
  const std::string text = ReportText(report, {.sections = {Section::kLadder}});
  EXPECT_THAT(text, HasSubstr("'c': R0"));
  EXPECT_THAT(text, HasSubstr("1,000 ns below R1"));
  EXPECT_THAT(text, HasSubstr("75.0 % of time above R0"));
}

// Half of the launches at 4,000 ns, half at 8,000 ns.
TEST(ManifestBoundTest, IsNoBoundOfLaunchesThatDifferInWork) {
  const std::string longer =
      absl::StrReplaceAll(KernelPackets(1, 40, 100), {{"duration_delta: 4000", "duration_delta: 8000"}});
  const std::vector<TraceModel> models = Models({KernelPackets(1, 40, 1), longer, kSamples});
  ReportRequest request;
  request.ladder_machines.emplace();
  request.manifest_bounds = *Bounds(kHalf, models);
  const Report report = BuildReport(models, request);
  ASSERT_THAT(report.ladders, SizeIs(1));
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  const LadderRow& row = report.ladders[0].rows[0];
  ASSERT_THAT(row.modes, SizeIs(2));
  EXPECT_EQ(row.compulsory_source, "");
  EXPECT_DOUBLE_EQ(row.ladder.Term(model::TermKind::kAlgorithm).ns, 0);
  EXPECT_THAT(row.notes, Contains(HasSubstr("R0 left out: launches of this signature differ in work")));
  ASSERT_THAT(report.ladders[0].manifest_lines, SizeIs(1));
  EXPECT_THAT(report.ladders[0].manifest_lines[0], HasSubstr("Not applied: launches of this kernel differ in work"));
}

TEST(ManifestBoundTest, MoreThanWasCountedIsTakenAsWhatWasCounted) {
  const std::vector<TraceModel> models = OneShape();
  ReportRequest request;
  request.ladder_machines.emplace();
  request.manifest_bounds = *Bounds("roofline { name: 'r' traffic { level: 'dram' bytes: 300000 } }", models);
  const Report report = BuildReport(models, request);
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  EXPECT_DOUBLE_EQ(report.ladders[0].rows[0].ladder.rungs.Ns(model::Rung::kCompulsory), 2000);
  EXPECT_THAT(ReportText(report, {.sections = {Section::kLadder}}), HasSubstr("stated above R1, taken as R1"));
}

TEST(ManifestBoundTest, AnotherDeviceIsRefused) {
  ExpectRefused(absl::StrCat("machine { gpu_model: 'NVIDIA A100' } ", kHalf),
                "machine.gpu_model: the manifest has 'NVIDIA A100', the device of the trace is 'GPU'");
  ExpectRefused(absl::StrCat("machine { compute_capability: '8.0' } ", kHalf), "machine.compute_capability");
  ExpectRefused(absl::StrCat("machine { sm_count: 108 } ", kHalf), "machine.sm_count: the manifest has '108'");
}

TEST(ManifestBoundTest, AnotherTypeThanWasCountedIsRefused) {
  ExpectRefused("roofline { name: 'r' work { path: 'tensor_fp16_fp32' flops: 4096 } }",
                "the kernel's tensor operations were counted as bf16");
}

TEST(ManifestBoundTest, AnotherLaunchOrKernelIsRefused) {
  ExpectRefused(absl::StrCat("schedule { grid { x: 9 } } ", kHalf),
                "schedule.grid: the manifest has 9x1x1, the launch 7x1x1");
  ExpectRefused(absl::StrCat("dispatch { kernel_symbol: 'other' } ", kHalf), "dispatch.kernel_symbol");
  ExpectRefused(absl::StrCat("dispatch { launch_count: 3 } ", kHalf), "no bound of one kernel");
}

TEST(ManifestBoundTest, SeveralShapesAreRefusedAndTheLaunchOfTheManifestChooses) {
  const std::vector<TraceModel> models = TwoShapes();
  const auto several = Bounds(kHalf, models);
  EXPECT_EQ(several.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(several.status().message()), HasSubstr("matches 2 launch shapes"));
  EXPECT_THAT(std::string(several.status().message()), HasSubstr("gemm  grid 8, block 64"));

  const auto by_manifest = Bounds(absl::StrCat("schedule { grid { x: 8 } } ", kHalf), models);
  ASSERT_TRUE(by_manifest.ok()) << by_manifest.status();
  ASSERT_THAT(*by_manifest, SizeIs(1));
  EXPECT_EQ(by_manifest->begin()->second.kernel, "gemm  grid 8, block 64");

  const auto by_line = Bounds(kHalf, models, "gemm +grid 7,");
  ASSERT_TRUE(by_line.ok()) << by_line.status();
  EXPECT_EQ(by_line->begin()->second.kernel, "gemm  grid 7, block 32");
}

TEST(ManifestBoundTest, NoKernelAndNoWorkAreNamed) {
  const auto none = Bounds(kHalf, OneShape(), "conv");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("--kernel 'conv' matches no kernel"));
  const auto idle = Bounds("", OneShape());
  EXPECT_EQ(idle.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(idle.status().message()), HasSubstr("manifest 'c': states no work"));
  ExpectRefused("roofline { name: 'r' work { path: 'warp_drive' flops: 1 } }", "warp_drive");
}

TEST(ManifestBoundTest, WhatTheManifestSaysIsPrintable) {
  const auto bounds = BoundsOfManifest(FromText<Manifest>(absl::StrCat("case_id: '\\033[2J' ", kHalf)),
                                       *NameFilter::Compile("gemm"), OneShape());
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_THAT(ManifestLine(bounds->begin()->second), Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace gx::analysis
