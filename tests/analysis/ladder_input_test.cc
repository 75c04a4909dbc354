// Counters, peaks and clocks by hand -> what the ladder is given.
#include "analysis/ladder_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "analysis/ladder_figures.h"
#include "analysis/machine_ceilings.h"
#include "analysis/machine_file.h"
#include "analysis/model/ladder.h"

namespace gx::analysis {
namespace {

using model::LadderResource;
using model::ResourceKind;
using model::Rung;
using model::TermClass;
using model::TermKind;

constexpr uint64_t kLight = 1;
constexpr uint64_t kSass = 2;
constexpr uint64_t kStalls = 3;
constexpr uint64_t kTensor = 4;

void Count(LadderFacts* facts, uint64_t group, const std::string& name, double value) {
  facts->counters.push_back({.group = group, .name = name, .median = value, .min = value, .max = value});
}

// A device of 100 SMs at 2 GHz, 1,000 bytes of DRAM a cycle at 3 GHz, 1 issue a cycle and scheduler; a launch that
// takes 10 us and moves 9 MB in 3 us.
LadderFacts Light() {
  LadderFacts facts;
  facts.time_ns = 10000;
  facts.max_sm_clock_hz = 2e9;
  facts.timed_sm_clock_hz = 1.6e9;
  facts.multiprocessor_count = 100;
  facts.l2_cache_bytes = 1000000;
  facts.peaks = {{"dram__bytes.sum.peak_sustained", 1000},
                 {"smsp__inst_executed.sum.peak_sustained", 400},
                 {"lts__t_sectors.sum.peak_sustained", 200},
                 {"sm__pipe_tensor_cycles_active.sum.peak_sustained", 400}};
  Count(&facts, kLight, "sm__cycles_active.avg", 14000);
  Count(&facts, kLight, "sm__cycles_active.max", 15000);
  Count(&facts, kLight, "gpc__cycles_elapsed.avg.per_second", 1.9e9);
  Count(&facts, kLight, "dram__cycles_elapsed.avg.per_second", 3e9);
  Count(&facts, kLight, "lts__cycles_elapsed.avg.per_second", 1.5e9);
  Count(&facts, kLight, "dram__bytes.sum", 9000000);
  Count(&facts, kLight, "dram__bytes.max", 120000);
  Count(&facts, kLight, "dram__bytes.avg", 100000);
  Count(&facts, kLight, "dram__bytes_read.sum", 9000000);
  Count(&facts, kLight, "dram__bytes_write.sum", 0);
  Count(&facts, kLight, "lts__t_sectors.sum", 300000);
  Count(&facts, kLight, "smsp__inst_executed.sum", 800000);
  Count(&facts, kLight, "smsp__cycles_active.sum", 5600000);
  Count(&facts, kLight, "smsp__issue_active.sum", 800000);
  Count(&facts, kLight, "sm__warps_active.sum", 8000000);
  return facts;
}

// Half of the bytes in the sectors are asked for; all lanes work.
void AddSass(LadderFacts* facts) {
  Count(facts, kSass, "smsp__sass_inst_executed.sum", 800000);
  Count(facts, kSass, "smsp__sass_thread_inst_executed.sum", 32 * 800000);
  Count(facts, kSass, "smsp__sass_data_bytes_mem_global_op_ld.sum", 4500000);
  Count(facts, kSass, "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 281250);
  Count(facts, kSass, "smsp__sass_inst_executed_op_global_ld.sum", 35156);
}

const LadderResource& Resource(const LadderEvidence& evidence, ResourceKind kind) {
  static const LadderResource kNoResource{.work_ns = -1};
  const LadderResource* found = evidence.input.resources.Find(kind);
  EXPECT_NE(found, nullptr) << model::ResourceName(kind);
  return found == nullptr ? kNoResource : *found;
}

bool Says(const std::vector<std::string>& lines, absl::string_view words) {
  return std::any_of(lines.begin(), lines.end(),
                     [words](const std::string& line) { return absl::StrContains(line, words); });
}

TEST(LadderInputTest, CountsOverPeaksAreDurationsAtTheClockOfEach) {
  const auto evidence = BuildLadderInput(Light());
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  // 9e6 / 1000 / 3 GHz.
  EXPECT_DOUBLE_EQ(Resource(*evidence, ResourceKind::kDram).work_ns, 3000);
  EXPECT_DOUBLE_EQ(*Resource(*evidence, ResourceKind::kDram).busiest_ns, 3600);
  EXPECT_FALSE(Resource(*evidence, ResourceKind::kDram).on_sm_clock);
  // 8e5 / 400 / 2 GHz: the maximum clock, not that of the sample.
  EXPECT_DOUBLE_EQ(Resource(*evidence, ResourceKind::kIssue).work_ns, 1000);
  EXPECT_TRUE(Resource(*evidence, ResourceKind::kIssue).on_sm_clock);
  EXPECT_FALSE(Resource(*evidence, ResourceKind::kIssue).busiest_ns.has_value());
  // 3e5 / 200 / 1.5 GHz: its own clock where no machine file says that it follows the SMs'.
  EXPECT_DOUBLE_EQ(Resource(*evidence, ResourceKind::kL2Lookup).work_ns, 1000);
  EXPECT_FALSE(Resource(*evidence, ResourceKind::kL2Lookup).on_sm_clock);
  // (5.6e6 - 8e5) / (4 x 100).
  EXPECT_DOUBLE_EQ(*evidence->input.no_issue_cycles, 12000);
  EXPECT_EQ(evidence->input.clocks.max_hz, 2e9);
  EXPECT_EQ(evidence->input.clocks.timed_hz, 1.6e9);
  EXPECT_EQ(evidence->input.clocks.counted_hz, 1.9e9);
}

TEST(LadderInputTest, WithoutPatchedCodeTheUsefulShareAndTheResidualAreUnmeasured) {
  const auto evidence = BuildLadderInput(Light());
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_FALSE(Resource(*evidence, ResourceKind::kDram).useful_ns.has_value());
  EXPECT_FALSE(evidence->excess.has_value());
  EXPECT_TRUE(Says(evidence->unmeasured, "useful work and residual"));
  const auto ladder = model::ComputeLadder(evidence->input);
  ASSERT_TRUE(ladder.ok()) << ladder.status();
  EXPECT_FALSE(ladder->residual_ns.has_value());
  EXPECT_DOUBLE_EQ(*ladder->above_work_ns, 7000);
}

TEST(LadderInputTest, UncoalescedSectorsAreExcessWorkOnceTheyAreCounted) {
  LadderFacts facts = Light();
  AddSass(&facts);
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  // DRAM need read no more than what is asked for: half.
  EXPECT_DOUBLE_EQ(*Resource(*evidence, ResourceKind::kDram).useful_ns, 1500);
  ASSERT_TRUE(evidence->excess.has_value());
  ASSERT_EQ(evidence->excess->shares.size(), 1u);
  EXPECT_EQ(evidence->excess->shares[0].factor, model::ExcessFactor::kUncoalesced);
  EXPECT_DOUBLE_EQ(evidence->excess->ns, 1500);
}

TEST(LadderInputTest, BulkCopiesLeaveNoExcessThatTheyMayHaveCaused) {
  LadderFacts facts = Light();
  AddSass(&facts);
  Count(&facts, kSass, "smsp__sass_inst_executed_op_tma.sum", 1);
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_DOUBLE_EQ(*Resource(*evidence, ResourceKind::kDram).useful_ns, 3000);
  EXPECT_TRUE(Says(evidence->notes, "TMA"));
}

TEST(LadderInputTest, PackedHalfPrecisionIsNoTensorWork) {
  LadderFacts facts = Light();
  AddSass(&facts);
  Count(&facts, kLight, "sm__pipe_tensor_cycles_active.sum", 82000);
  // 32,000 thread instructions are 1,000 of warps and 2,000 cycles.
  Count(&facts, kSass, "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 32000);
  Count(&facts, kSass, "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 0);
  Count(&facts, kSass, "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 0);
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  // 80,000 / 400 / 2 GHz.
  EXPECT_DOUBLE_EQ(Resource(*evidence, ResourceKind::kTensorPipe).work_ns, 100);
}

TEST(LadderInputTest, OfTensorPathsTheLongestOverItsOwnPeakCounts) {
  LadderFacts facts = Light();
  facts.peaks["sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained"] = 1000;
  facts.peaks["sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum.peak_sustained"] = 500;
  Count(&facts, kTensor, "sm__ops_path_tensor_src_bf16_dst_fp32.sum", 2000000);
  Count(&facts, kTensor, "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum", 2000000);
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_DOUBLE_EQ(Resource(*evidence, ResourceKind::kTensorOperations).work_ns, 2000);
}

TEST(LadderInputTest, WavefrontsOfSharedMemoryStandInForThoseOfL1) {
  LadderFacts facts = Light();
  AddSass(&facts);
  facts.peaks["l1tex__data_pipe_lsu_wavefronts.sum.peak_sustained"] = 100;
  Count(&facts, kSass, "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 320000);
  Count(&facts, kSass, "smsp__sass_inst_executed_op_shared_ld.sum", 10000);
  Count(&facts, kSass, "smsp__sass_data_bytes_mem_shared.sum", 1280000);
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  // 32-way conflicts: 320,000 / 100 / 2 GHz, of which a 32nd is useful.
  EXPECT_DOUBLE_EQ(Resource(*evidence, ResourceKind::kL1Data).work_ns, 1600);
  EXPECT_DOUBLE_EQ(*Resource(*evidence, ResourceKind::kL1Data).useful_ns, 50);
  EXPECT_TRUE(Says(evidence->notes, "shared memory alone"));
}

TEST(LadderInputTest, DoublePrecisionOfPatchedCodeStandsInForItsPipe) {
  LadderFacts facts = Light();
  AddSass(&facts);
  facts.peaks["sm__inst_executed_pipe_fp64.sum.peak_sustained"] = 200;
  Count(&facts, kSass, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 32 * 900000);
  Count(&facts, kSass, "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 32 * 300000);
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  // 1.2e6 / 200 / 2 GHz; lanes that work, so that all of it is useful.
  EXPECT_DOUBLE_EQ(Resource(*evidence, ResourceKind::kFp64Pipe).work_ns, 3000);
  EXPECT_DOUBLE_EQ(*Resource(*evidence, ResourceKind::kFp64Pipe).useful_ns, 3000);
  EXPECT_TRUE(Says(evidence->notes, "fp64 pipe"));
  // Its own counter goes before.
  Count(&facts, kLight, "sm__inst_executed_pipe_fp64.sum", 1600000);
  const auto counted = BuildLadderInput(facts);
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_DOUBLE_EQ(Resource(*counted, ResourceKind::kFp64Pipe).work_ns, 4000);
  EXPECT_FALSE(Says(counted->notes, "fp64 pipe"));
}

TEST(LadderInputTest, L2TakesInWhatSmsWriteASectorACycleAndSlice) {
  LadderFacts facts = Light();
  Count(&facts, kLight, "lts__t_sectors.avg", 3000);
  Count(&facts, kLight, "lts__t_sectors_srcunit_tex.sum", 280000);
  Count(&facts, kLight, "lts__t_sectors_srcunit_tex_op_read.sum", 130000);
  const auto written = BuildLadderInput(facts);
  ASSERT_TRUE(written.ok()) << written.status();
  // 1.5e5 sectors, 100 slices, 1.5 GHz.
  EXPECT_DOUBLE_EQ(Resource(*written, ResourceKind::kL2DataIn).work_ns, 1000);
  EXPECT_TRUE(Says(written->notes, "L2 data in"));
  facts.peaks["lts__xbar2lts_cycles_active.sum.peak_sustained"] = 100;
  Count(&facts, kLight, "lts__xbar2lts_cycles_active.sum", 180000);
  Count(&facts, kLight, "lts__xbar2lts_cycles_active.max", 2700);
  Count(&facts, kLight, "lts__xbar2lts_cycles_active.avg", 1800);
  const auto counted = BuildLadderInput(facts);
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_DOUBLE_EQ(Resource(*counted, ResourceKind::kL2DataIn).work_ns, 1200);
  EXPECT_DOUBLE_EQ(*Resource(*counted, ResourceKind::kL2DataIn).busiest_ns, 1800);
  // Without a count of what SMs read nothing is known of what they write.
  LadderFacts none = Light();
  Count(&none, kLight, "lts__t_sectors_srcunit_tex.sum", 280000);
  const auto unknown = BuildLadderInput(none);
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_EQ(unknown->input.resources.Find(ResourceKind::kL2DataIn), nullptr);
}

TEST(LadderInputTest, LittleDramTrafficIsTheSmallestSample) {
  LadderFacts facts = Light();
  facts.l2_cache_bytes = 5000000;
  for (CountedMetric& metric : facts.counters) {
    if (metric.name == "dram__bytes.sum") metric.min = 6000000;
  }
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_DOUBLE_EQ(Resource(*evidence, ResourceKind::kDram).work_ns, 2000);
}

TEST(LadderInputTest, StallsAreSharesOfTheirOwnPass) {
  LadderFacts facts = Light();
  // Another pass, with half of the warps' cycles.
  Count(&facts, kStalls, "sm__warps_active.sum", 4000000);
  Count(&facts, kStalls, "smsp__warps_issue_stalled_long_scoreboard.sum", 2000000);
  Count(&facts, kStalls, "smsp__warps_issue_stalled_short_scoreboard.sum", 0);
  Count(&facts, kStalls, "smsp__warps_issue_stalled_barrier.sum", 1000000);
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  // selected 0.1, long 0.5, barrier 0.25: (0.1 + 0.5) / 0.75; barrier 0.25 of all but selected, 0.9.
  ASSERT_TRUE(evidence->input.uncontended_ratio.has_value());
  EXPECT_DOUBLE_EQ(*evidence->input.uncontended_ratio, 0.8);
  ASSERT_TRUE(evidence->input.sync_ratio.has_value());
  EXPECT_DOUBLE_EQ(*evidence->input.sync_ratio, 0.25 / 0.9);
  EXPECT_TRUE(evidence->input.assumes_unloaded_latency);
  EXPECT_TRUE(Says(evidence->unmeasured, "queue: throttle stalls were not counted"));
}

TEST(LadderInputTest, WithoutStallsAndMachineTheTermsAreUnmeasuredAndSumToTheTime) {
  const auto evidence = BuildLadderInput(Light());
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_TRUE(Says(evidence->unmeasured, "no machine file"));
  EXPECT_TRUE(Says(evidence->unmeasured, "no stall reasons"));
  const auto ladder = model::ComputeLadder(evidence->input);
  ASSERT_TRUE(ladder.ok()) << ladder.status();
  double sum_ns = 0;
  for (const model::LadderTerm& term : ladder->terms) sum_ns += term.ns;
  EXPECT_NEAR(sum_ns, 10000, 1e-6);
  for (const TermKind kind : {TermKind::kTracing, TermKind::kLaunch, TermKind::kSync, TermKind::kQueue}) {
    EXPECT_EQ(ladder->Term(kind).term_class, TermClass::kUnmeasured) << model::TermName(kind);
    EXPECT_EQ(ladder->Term(kind).ns, 0) << model::TermName(kind);
  }
  EXPECT_FALSE(ladder->rungs.ceiling_measured);
}

TEST(LadderInputTest, TheMachineFileGivesSustainedRatesLaunchAndTracing) {
  const auto machine = ReadMachineFile(std::string(GX_SOURCE_DIR) + "/machines/NVIDIA_H200.pb");
  ASSERT_TRUE(machine.ok()) << machine.status();
  LadderFacts facts = Light();
  facts.machine = &*machine;
  facts.shape = {.grid_blocks = 128, .block_threads = 256};
  facts.waves = 3;
  // Of an H200, so that a part of it is sustained.
  facts.peaks["dram__bytes.sum.peak_sustained"] = 1504;
  facts.peaks["lts__xbar2lts_cycles_active.sum.peak_sustained"] = 94;
  Count(&facts, kLight, "lts__xbar2lts_cycles_active.sum", 100000);
  for (CountedMetric& metric : facts.counters) {
    if (metric.name == "lts__cycles_elapsed.avg.per_second") metric.median = 1.707e9;
  }
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  // Reads alone: that of the file's reads.
  EXPECT_DOUBLE_EQ(*Resource(*evidence, ResourceKind::kDram).eta_ratio,
                   *SustainedDramBytesPerCycle(*machine, 1) / 1504);
  EXPECT_LT(*Resource(*evidence, ResourceKind::kDram).eta_ratio, 1);
  // No ceiling is of lookups.
  EXPECT_FALSE(Resource(*evidence, ResourceKind::kL2Lookup).eta_ratio.has_value());
  // Half as fast as it is read: 4.8 of 5.1 TB/s, and 10.2 of 10.3.
  EXPECT_NEAR(*SustainedL2BytesPerSecond(*machine, true) / *SustainedL2BytesPerSecond(*machine, false), 0.475, 0.02);
  EXPECT_DOUBLE_EQ(*Resource(*evidence, ResourceKind::kL2DataIn).eta_ratio,
                   *SustainedL2BytesPerSecond(*machine, true) / 32 / 1.707e9 / 94);
  const std::optional<TracingCost> cost = FitTracingCost(*machine);
  ASSERT_TRUE(cost.has_value());
  EXPECT_DOUBLE_EQ(*evidence->input.tracing_ns, TracingNs(*cost, 3, facts.shape, facts.time_ns));
  // What recording the empty kernel added is not counted twice.
  EXPECT_DOUBLE_EQ(*evidence->input.launch_ns, *EmptyKernelNs(*machine, facts.shape) - TracingNs(*cost, 1));
  EXPECT_DOUBLE_EQ(*evidence->input.idle_launch_ns,
                   *EmptyKernelNs(*machine, {.grid_blocks = 1, .block_threads = 256}) - TracingNs(*cost, 1));

  facts.waves.reset();
  const auto without_waves = BuildLadderInput(facts);
  ASSERT_TRUE(without_waves.ok()) << without_waves.status();
  EXPECT_FALSE(without_waves->input.tracing_ns.has_value());
  EXPECT_TRUE(Says(without_waves->unmeasured, "number of waves"));
}

TEST(LadderFiguresTest, TheTimeIsNoFurtherOffThanTracingIsLong) {
  const auto machine = ReadMachineFile(std::string(GX_SOURCE_DIR) + "/machines/NVIDIA_H200.pb");
  ASSERT_TRUE(machine.ok()) << machine.status();
  LadderFacts facts = Light();
  facts.machine = &*machine;
  facts.waves = 1;
  const std::vector<double> sorted_ns(40, facts.time_ns);
  const LadderLaunch launch;
  LadderFigures figures;
  const absl::Status status = FillFigures({facts, launch, sorted_ns}, &figures);
  ASSERT_TRUE(status.ok()) << status;
  const double tracing_ns = TracingNs(*FitTracingCost(*machine), 1, facts.shape);
  ASSERT_LT(tracing_ns, FitTracingCost(*machine)->error_ns);
  EXPECT_NEAR(figures.time_interval_ns->low, facts.time_ns - tracing_ns, 1e-6);
  EXPECT_NEAR(figures.time_interval_ns->high, facts.time_ns + tracing_ns, 1e-6);
}

TEST(LadderInputTest, TheClockOfTheTimedLaunchesIsTheSignaturesOwn) {
  LadderFacts facts = Light();
  facts.timed_sm_clock_hz = 1.5e9;
  const auto device = BuildLadderInput(facts);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_DOUBLE_EQ(*device->input.clocks.timed_hz, 1.5e9);
  facts.counter_window_sm_clock_hz = 1.8e9;
  const auto own = BuildLadderInput(facts);
  ASSERT_TRUE(own.ok()) << own.status();
  ASSERT_TRUE(own->input.clocks.counted_hz.has_value());
  EXPECT_DOUBLE_EQ(*own->input.clocks.timed_hz, *own->input.clocks.counted_hz * 1.5 / 1.8);
}

TEST(LadderInputTest, TheClockOfTheTimedLaunchesIsUncertain) {
  const LadderFacts facts = Light();
  const double median = *BuildLadderInput(facts)->input.clocks.timed_hz;
  EXPECT_DOUBLE_EQ(*BuildLadderInput(facts, CounterCorner::kLow)->input.clocks.timed_hz, 1.03 * median);
  EXPECT_DOUBLE_EQ(*BuildLadderInput(facts, CounterCorner::kHigh)->input.clocks.timed_hz, 0.97 * median);
  // Never above the maximum.
  LadderFacts fast = facts;
  fast.timed_sm_clock_hz = 1.99e9;
  EXPECT_EQ(*BuildLadderInput(fast, CounterCorner::kLow)->input.clocks.timed_hz, 2e9);
}

TEST(LadderInputTest, ACommunicationKernelHasNoResource) {
  LadderFacts facts = Light();
  facts.is_communication = true;
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_TRUE(evidence->input.resources.empty());
  EXPECT_FALSE(evidence->input.active.has_value());
  EXPECT_TRUE(model::ComputeLadder(evidence->input).ok());
}

TEST(LadderInputTest, WithoutTheMaximumClockNothingIsHeldAgainstThePeaks) {
  LadderFacts facts = Light();
  facts.max_sm_clock_hz.reset();
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_TRUE(evidence->input.resources.empty());
  EXPECT_TRUE(Says(evidence->unmeasured, "maximum SM clock"));
  EXPECT_TRUE(model::ComputeLadder(evidence->input).ok());
}

TEST(LadderInputTest, AMissingPeakLeavesItsResourceOutAndIsNamed) {
  LadderFacts facts = Light();
  facts.peaks.erase("dram__bytes.sum.peak_sustained");
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_EQ(evidence->input.resources.Find(ResourceKind::kDram), nullptr);
  EXPECT_TRUE(Says(evidence->unmeasured, "dram"));
}

TEST(LadderInputTest, AMeanOfNothingTellsNoBusiestInstance) {
  LadderFacts facts = Light();
  // Medians of different samples.
  for (CountedMetric& metric : facts.counters) {
    if (metric.name == "dram__bytes.avg") metric.median = 0;
  }
  const auto evidence = BuildLadderInput(facts);
  ASSERT_TRUE(evidence.ok()) << evidence.status();
  EXPECT_FALSE(Resource(*evidence, ResourceKind::kDram).busiest_ns.has_value());
}

TEST(LadderInputTest, FiguresThatAreNoneOfALaunchAreRefused) {
  LadderFacts facts = Light();
  facts.time_ns = 0;
  EXPECT_EQ(BuildLadderInput(facts).status().code(), absl::StatusCode::kInvalidArgument);
  facts = Light();
  for (CountedMetric& metric : facts.counters) {
    if (metric.name == "smsp__inst_executed.sum") metric.median = -1;
  }
  const auto refused = BuildLadderInput(facts);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(absl::StrContains(refused.status().message(), "smsp__inst_executed")) << refused.status();
}

TEST(LadderInputTest, CommunicationIsKnownByName) {
  EXPECT_TRUE(IsCommunicationName("_Z36ncclDevKernel_AllReduce_Sum_f32_RING"));
  EXPECT_TRUE(IsCommunicationName("nvshmemi_proxy"));
  EXPECT_FALSE(IsCommunicationName("_ZN2gx7kernels16StrideCureKernel"));
}

}  // namespace
}  // namespace gx::analysis
