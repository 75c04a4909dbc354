// Which changes are asked of a launch, and what a saving is.
#include "analysis/ladder_what_ifs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/model/ladder.h"
#include "analysis/model/ladder_resource.h"

namespace gx::analysis {
namespace {

using model::ResourceKind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Bound by DRAM for 8 us of 10.
LadderEvidence Evidence() {
  LadderEvidence evidence;
  evidence.input.time_ns = 10000;
  evidence.input.resources = {
      {.kind = ResourceKind::kDram, .on_sm_clock = false, .useful_ns = 8000, .work_ns = 8000, .busiest_ns = 8000}};
  evidence.input.clocks = {.max_hz = 2e9, .timed_hz = 2e9, .counted_hz = 2e9};
  evidence.input.active = model::ActiveCycles{.max = 20000, .mean = 19000};
  return evidence;
}

LadderLaunch Launch(uint64_t blocks, uint64_t slots) {
  LadderLaunch launch;
  launch.block_count = blocks;
  launch.sm_count = 100;
  launch.configuration.residency.blocks_per_sm = slots / 100;
  launch.configuration.residency.slot_count = slots;
  launch.configuration.residency.waves = static_cast<double>(blocks) / static_cast<double>(slots);
  return launch;
}

std::vector<LadderWhatIf> WhatIfs(const LadderEvidence& evidence, const LadderLaunch& launch, double launch_count) {
  const auto ladder = model::ComputeLadder(evidence.input);
  EXPECT_TRUE(ladder.ok()) << ladder.status();
  return LadderWhatIfs(evidence, *ladder, launch, launch_count);
}

TEST(LadderWhatIfsTest, FewerBlocksInWholeWavesSaveNothingOfTheSameWorkWhereDramBinds) {
  LadderEvidence evidence = Evidence();
  evidence.input.active->mean = 20000;
  evidence.input.uncontended_ratio = 0.1;
  const auto what_ifs = WhatIfs(evidence, Launch(1100, 200), 7);
  const LadderWhatIf* whole = FindWhatIf(what_ifs, "full_last_wave");
  ASSERT_NE(whole, nullptr);
  // 1,000 of 1,100 blocks: less time, for less work.
  EXPECT_LT(*whole->time_ns, 10000);
  EXPECT_NEAR(*whole->saved_ns, 0, 1e-6);
  EXPECT_NEAR(*whole->saved_run_ns, 7 * *whole->saved_ns, 1e-6);
  EXPECT_EQ(whole->binding, "dram");
  EXPECT_FALSE(whole->without_latency);
}

TEST(LadderWhatIfsTest, OtherGridsAreNotPredictedWithoutLatency) {
  const auto what_ifs = WhatIfs(Evidence(), Launch(50, 200), 1);
  const LadderWhatIf* filled = FindWhatIf(what_ifs, "filled_device");
  ASSERT_NE(filled, nullptr);
  EXPECT_FALSE(filled->time_ns.has_value());
  EXPECT_THAT(filled->no_prediction, HasSubstr("latency is unmeasured"));
}

TEST(LadderWhatIfsTest, WithoutLatencyNothingIsPredictedWhereNoResourceIsBusy) {
  LadderEvidence evidence = Evidence();
  LadderLaunch launch = Launch(100000, 200);
  launch.configuration.residency.next_blocks_per_sm = 8;
  EXPECT_TRUE(FindWhatIf(WhatIfs(evidence, launch, 1), "other_occupancy")->time_ns.has_value());
  evidence.input.resources = {
      {.kind = ResourceKind::kDram, .on_sm_clock = false, .useful_ns = 1000, .work_ns = 1000, .busiest_ns = 1000}};
  const auto what_ifs = WhatIfs(evidence, launch, 1);
  const LadderWhatIf* other = FindWhatIf(what_ifs, "other_occupancy");
  ASSERT_NE(other, nullptr);
  EXPECT_FALSE(other->time_ns.has_value());
  EXPECT_THAT(other->no_prediction, HasSubstr("no resource is busy"));
}

TEST(LadderWhatIfsTest, AFullDeviceIsNotAskedAboutItsGrid) {
  const auto what_ifs = WhatIfs(Evidence(), Launch(1000, 200), 1);
  EXPECT_EQ(FindWhatIf(what_ifs, "full_last_wave"), nullptr);
  EXPECT_EQ(FindWhatIf(what_ifs, "filled_device"), nullptr);
}

TEST(LadderWhatIfsTest, AGridWithoutBlocksForItIsNotAskedAboutOccupancy) {
  LadderLaunch launch = Launch(150, 200);
  OneMoreBlock& step = launch.configuration.residency.one_more_block.emplace();
  step.is_possible = true;
  step.registers_per_thread = 40;
  launch.configuration.residency.next_blocks_per_sm = 8;
  EXPECT_EQ(FindWhatIf(WhatIfs(Evidence(), launch, 1), "one_more_block"), nullptr);
  launch.block_count = 2000;
  const auto what_ifs = WhatIfs(Evidence(), launch, 1);
  const LadderWhatIf* one = FindWhatIf(what_ifs, "one_more_block");
  ASSERT_NE(one, nullptr);
  EXPECT_THAT(one->text, HasSubstr("3 blocks an SM instead of 2: at most 40 registers a thread"));
  // DRAM binds: worth nothing.
  EXPECT_NEAR(*one->saved_ns, 0, 1e-6);
  ASSERT_NE(FindWhatIf(what_ifs, "other_occupancy"), nullptr);
}

TEST(LadderWhatIfsTest, WhereWarpsOrBlockSlotsLimitNoFurtherBlockIsAskedAbout) {
  LadderLaunch launch = Launch(100000, 800);
  LaunchResidency& residency = launch.configuration.residency;
  launch.configuration.block = Dim{256, 1, 1};
  OneMoreBlock& step = residency.one_more_block.emplace();
  step.is_possible = true;
  step.registers_per_thread = 24;
  step.threads_per_block = 224;
  residency.next_blocks_per_sm = 32;
  for (const char* limiters : {"warps", "warps + registers", "registers + blocks"}) {
    residency.limiters = limiters;
    const auto what_ifs = WhatIfs(Evidence(), launch, 1);
    EXPECT_EQ(FindWhatIf(what_ifs, "one_more_block"), nullptr) << limiters;
    EXPECT_EQ(FindWhatIf(what_ifs, "other_occupancy"), nullptr) << limiters;
  }
  // 7 of 8 blocks by registers: an eighth fills the SM's 64 warps, a ninth is beyond them.
  residency.blocks_per_sm = 7;
  residency.occupancy_ratio = 0.875;
  residency.limiters = "registers";
  residency.next_blocks_per_sm = 9;
  const auto what_ifs = WhatIfs(Evidence(), launch, 1);
  EXPECT_NE(FindWhatIf(what_ifs, "one_more_block"), nullptr);
  EXPECT_EQ(FindWhatIf(what_ifs, "other_occupancy"), nullptr);
}

TEST(LadderWhatIfsTest, EveryValueThatAFurtherBlockTakesIsNamed) {
  LadderLaunch launch = Launch(100000, 200);
  LaunchResidency& residency = launch.configuration.residency;
  residency.limiters = "registers + shared_memory + barriers";
  OneMoreBlock& step = residency.one_more_block.emplace();
  step.is_possible = true;
  step.registers_per_thread = 40;
  step.shared_memory_bytes = 1024;
  const auto what_ifs = WhatIfs(Evidence(), launch, 1);
  const LadderWhatIf* one = FindWhatIf(what_ifs, "one_more_block");
  ASSERT_NE(one, nullptr);
  EXPECT_THAT(one->text, HasSubstr("at most 40 registers a thread and at most 1 KiB of shared memory a block and "
                                   "fewer barriers a block"));
}

TEST(LadderWhatIfsTest, WithoutResourcesNothingIsAsked) {
  LadderEvidence evidence = Evidence();
  evidence.input.resources = {};
  EXPECT_THAT(WhatIfs(evidence, Launch(1100, 200), 1), IsEmpty());
}

TEST(LadderWhatIfsTest, AViolationHasNoPrediction) {
  LadderEvidence evidence = Evidence();
  evidence.input.time_ns = 5000;
  const auto what_ifs = WhatIfs(evidence, Launch(1100, 200), 1);
  const LadderWhatIf* whole = FindWhatIf(what_ifs, "full_last_wave");
  ASSERT_NE(whole, nullptr);
  EXPECT_FALSE(whole->time_ns.has_value());
  EXPECT_EQ(whole->no_prediction, "a bound is above the time");
}

TEST(LadderWhatIfsTest, MostSavedComesFirstAndNoPredictionLast) {
  std::vector<LadderWhatIf> what_ifs = {{.change = "none"}, {.change = "small"}, {.change = "large"}};
  what_ifs[1].saved_run_ns = 1;
  what_ifs[2].saved_run_ns = 2;
  SortWhatIfs(&what_ifs);
  EXPECT_EQ(what_ifs[0].change, "large");
  EXPECT_EQ(what_ifs[2].change, "none");
}

}  // namespace
}  // namespace gx::analysis
