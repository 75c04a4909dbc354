#include "analysis/model/ladder_changes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "tests/model/ladder_cases.h"

namespace gx::model {
namespace {

WhatIf After(const LadderInput& input, const LadderChange& change) {
  const absl::StatusOr<WhatIf> result = ComputeWhatIf(input, Computed(input), change);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : WhatIf{};
}

TEST(LadderChanges, PerfectCoalescing) {
  const WhatIf result = After(Strided(), WithoutFactors(Strided(), {.dram = 0.125, .l1 = 7.0 / 52}, std::nullopt));
  EXPECT_NEAR(result.time_ns, 13375, 1);
}

TEST(LadderChanges, SpillsThatCostOccupancyMayTakeLonger) {
  const LadderInput input = Latency();
  const UsefulRatios ratios{.issue = 0.5};
  EXPECT_LE(After(input, WithoutFactors(input, ratios, 4 * 50500.0)).time_ns, input.time_ns);
  EXPECT_GT(After(input, WithoutFactors(input, ratios, 4 * 50500.0, true)).time_ns, input.time_ns);
}

TEST(LadderChanges, AFullLastWaveIsNotTwiceAsFast) {
  const LadderInput input = SlotsPlusOne();
  const auto change = FullLastWave(input, Computed(input), 133, 132);
  ASSERT_TRUE(change.ok()) << change.status();
  // 12,100 x 132 / 133, which overlap makes 2 % longer, and the launch.
  EXPECT_NEAR(After(input, *change).time_ns, 1000 + 12009 * 15400.0 / 15100, 1);
}

TEST(LadderChanges, AFilledDeviceIsBoundByWhatTheWorkNeeds) {
  // 12 of 132 SMs work for 80 us; DRAM needs 20.
  LadderInput input =
      Input(81000, {Even(ResourceKind::kDram, 20000), Resource(ResourceKind::kIssue, 4000, 4000, 44000)});
  input.launch_ns = 1000;
  input.active = ActiveCycles{.max = 80000, .mean = 80000.0 * 12 / 132};
  input.uncontended_ratio = 0.9;
  const auto change = FilledDevice(input, Computed(input), 12, 132);
  ASSERT_TRUE(change.ok()) << change.status();
  const WhatIf result = After(input, *change);
  EXPECT_LT(result.time_ns, 40000);
  EXPECT_GE(result.time_ns, 21000);
  EXPECT_EQ(result.binding, ResourceKind::kDram);
}

TEST(LadderChanges, MoreWarpsAndMoreLoadsShortenLatency) {
  const LadderInput input = Latency();
  const Ladder ladder = Computed(input);
  EXPECT_NEAR(After(input, *OtherOccupancy(ladder, 8, 16)).time_ns, 26500, 1);
  EXPECT_GT(After(input, *OtherOccupancy(ladder, 16, 8)).time_ns, 52000);

  WarpShares shares;
  shares.stalled[StallReason::kLongScoreboard] = 1;
  shares.stalled[StallReason::kShortScoreboard] = 0;
  shares.stalled[StallReason::kBarrier] = 0;
  EXPECT_NEAR(After(input, *LoadsInFlight(ladder, shares, 1, 4)).time_ns, 13750, 1);
}

TEST(LadderChanges, SplitBarriersDropSynchronisation) {
  LadderInput input = Input(10000, {Even(ResourceKind::kIssue, 3000)});
  input.active = ActiveCycles{.max = 10000, .mean = 10000};
  input.no_issue_cycles = 7000;
  WarpShares shares;
  shares.selected = 0.3;
  shares.stalled[StallReason::kLongScoreboard] = 0;
  shares.stalled[StallReason::kShortScoreboard] = 0;
  shares.stalled[StallReason::kBarrier] = 0.6;
  input.uncontended_ratio = UncontendedRatio(shares, 1);
  input.sync_ratio = SyncRatio(NoIssueShares(shares));
  const Ladder ladder = Computed(input);
  EXPECT_GT(ladder.Term(TermKind::kSync).ns, 5000);
  EXPECT_LT(After(input, BarriersSplit(ladder, shares, 1)).time_ns, 6000);
}

TEST(LadderChanges, PrivatisedAtomicsLeaveIssueToBind) {
  const auto change = AtomicsSpread(HotSlice(), 10);
  const WhatIf result = After(HotSlice(), *change);
  // 39,300 ns before: 11 times as fast, as issue binds.
  EXPECT_NEAR(result.time_ns, 1000 + 2300 * 38300.0 / 38000 * 38000 / 37900, 5);
  EXPECT_EQ(result.binding, ResourceKind::kIssue);
}

TEST(LadderChanges, NoThrottlingIsTheClocksTerm) {
  const WhatIf result = After(ThrottledGemm(), NoThrottling());
  EXPECT_NEAR(result.time_ns, 1410000 / 1.32, 2000);
}

TEST(LadderChanges, AnotherTensorPathHasItsOwnPeakAndCeiling) {
  const auto change = OtherTensorPath(ThrottledGemm(), 2, 0.9);
  const WhatIf result = After(ThrottledGemm(), *change);
  EXPECT_NEAR(result.time_ns, 1410000 / 2 * 0.97 / 0.9, 2000);
}

TEST(LadderChanges, AFusedConsumerReadsWhatIsStillThere) {
  // Two passes over the same data, 10 us of DRAM each, of which the intermediate is 5 + 5.
  LadderInput pass = Input(12000, {Even(ResourceKind::kDram, 10000, 0.95)});
  pass.launch_ns = 1000;
  pass.active = ActiveCycles{.max = 11000, .mean = 11000};
  const Ladder ladder = Computed(pass);
  const auto fused = ComputeFused({&pass, &ladder, &pass, &ladder, 10000, 0});
  ASSERT_TRUE(fused.ok()) << fused.status();
  EXPECT_NEAR(fused->time_ns, 12000, 1);
  EXPECT_EQ(fused->binding, ResourceKind::kDram);
  EXPECT_LE(fused->interval_ns.low, fused->time_ns);
  EXPECT_GE(fused->interval_ns.high, fused->time_ns);
  // Nothing saved but a launch.
  EXPECT_NEAR(ComputeFused({&pass, &ladder, &pass, &ladder, 0, 0})->time_ns, 23000, 1);
  EXPECT_FALSE(ComputeFused({&pass, &ladder, nullptr, &ladder, 0, 0}).ok());
  EXPECT_FALSE(ComputeFused({&pass, &ladder, &pass, &ladder, -1, 0}).ok());
}

TEST(LadderChanges, NoPredictionWhereTheLadderStopped) {
  const WhatIf result = After(BelowABound(), NoThrottling());
  EXPECT_EQ(result.no_prediction, NoPrediction::kViolation);
  EXPECT_EQ(result.time_ns, 0);
  EXPECT_NE(NoPredictionReason(result.no_prediction), "");
  LadderInput timing;
  timing.time_ns = 1000;
  timing.clocks.max_hz = 1e9;
  EXPECT_EQ(After(timing, NoThrottling()).no_prediction, NoPrediction::kNoFloor);
}

TEST(LadderChanges, WhatAPredictionLacksIsSaid) {
  EXPECT_TRUE(After(ThrottledGemm(), {}).without_latency);
  EXPECT_FALSE(After(Latency(), {}).without_latency);
  EXPECT_TRUE(After(OtherRegime(), {}).other_regime);
}

TEST(LadderChanges, RefusesWhatIsNoChange) {
  const LadderInput input = Latency();
  const Ladder ladder = Computed(input);
  EXPECT_FALSE(FullLastWave(input, ladder, 132, 133).ok());
  EXPECT_FALSE(FullLastWave(input, ladder, 132, 0).ok());
  EXPECT_FALSE(FilledDevice(input, ladder, 132, 131).ok());
  EXPECT_FALSE(OtherOccupancy(ladder, 0, 1).ok());
  EXPECT_FALSE(LoadsInFlight(ladder, {}, 1, 0.5).ok());
  EXPECT_FALSE(AtomicsSpread(input, std::nan("")).ok());
  EXPECT_FALSE(OtherTensorPath(input, 0, 1).ok());
  EXPECT_FALSE(ComputeWhatIf(input, ladder, {.uncontended_ns = -1}).ok());
  EXPECT_FALSE(ComputeWhatIf(input, ladder, {.clock_ratio = 0.5}).ok());
  EXPECT_FALSE(ComputeWhatIf(input, ladder, {.idle_ratio = 1}).ok());
}

}  // namespace
}  // namespace gx::model
