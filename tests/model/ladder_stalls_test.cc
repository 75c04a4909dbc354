#include "analysis/model/ladder_stalls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <set>
#include <string>

namespace gx::model {
namespace {

// All reasons counted; with `selected` they sum to 1.
WarpShares Shares() {
  WarpShares shares;
  for (auto& value : shares.stalled.values) value = 0;
  shares.selected = 0.1;
  shares.stalled[StallReason::kWait] = 0.1;
  shares.stalled[StallReason::kShortScoreboard] = 0.05;
  shares.stalled[StallReason::kLongScoreboard] = 0.4;
  shares.stalled[StallReason::kBarrier] = 0.2;
  shares.stalled[StallReason::kNotSelected] = 0.05;
  shares.stalled[StallReason::kLgThrottle] = 0.1;
  return shares;
}

TEST(LadderStalls, PhiIsTheShareOfItsLifeThatAWarpWouldSpendAlone) {
  // (0.1 selected + 0.1 wait + 0.05 short + lambda 0.4 long) over 1 - 0.2 at barriers.
  EXPECT_DOUBLE_EQ(*UncontendedRatio(Shares(), 1), 0.65 / 0.8);
  EXPECT_DOUBLE_EQ(*UncontendedRatio(Shares(), 0.5), 0.45 / 0.8);
}

TEST(LadderStalls, ChangesOfAWarpsLife) {
  EXPECT_DOUBLE_EQ(*UncontendedRatio(Shares(), 1, {.loads_in_flight = 4}), 0.35 / 0.8);
  EXPECT_DOUBLE_EQ(*UncontendedRatio(Shares(), 1, {.short_scoreboard_ratio = 0.2}), 0.61 / 0.8);
  EXPECT_DOUBLE_EQ(*UncontendedRatio(Shares(), 1, {.long_scoreboard_ratio = 0.5}), 0.45 / 0.8);
  EXPECT_DOUBLE_EQ(*UncontendedRatio(Shares(), 1, {.drops_sync = true}), 0.65);
}

TEST(LadderStalls, ReasonsThatAreNotCountedMakePhiSmaller) {
  WarpShares shares = Shares();
  shares.stalled[StallReason::kWait].reset();
  EXPECT_DOUBLE_EQ(*UncontendedRatio(shares, 1), 0.55 / 0.8);
  for (const StallReason needed :
       {StallReason::kLongScoreboard, StallReason::kShortScoreboard, StallReason::kBarrier}) {
    shares = Shares();
    shares.stalled[needed].reset();
    EXPECT_FALSE(UncontendedRatio(shares, 1).has_value()) << StallReasonName(needed);
  }
}

TEST(LadderStalls, PhiIsAtMostOneAndAbsentWhereAllWaitForOthers) {
  WarpShares shares = Shares();
  shares.stalled[StallReason::kBarrier] = 0.6;  // more than everything, as counters of several passes may sum to
  EXPECT_EQ(*UncontendedRatio(shares, 1), 1);
  shares.stalled[StallReason::kBarrier] = 1;
  EXPECT_FALSE(UncontendedRatio(shares, 1).has_value());
}

TEST(LadderStalls, NoIssueSharesAreOverAllReasonsButNotSelected) {
  const StallShares shares = NoIssueShares(Shares());
  EXPECT_DOUBLE_EQ(*shares[StallReason::kLongScoreboard], 0.4 / 0.85);
  EXPECT_FALSE(shares[StallReason::kNotSelected].has_value());
  EXPECT_DOUBLE_EQ(*SyncRatio(shares), 0.2 / 0.85);
  EXPECT_DOUBLE_EQ(*QueueRatio(shares, 0.75, false), (0.1 + 0.25 * 0.4) / 0.85);
}

TEST(LadderStalls, AReasonThatIsNotCountedMakesNoOtherLarger) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 5'000; ++i) {
    WarpShares all;
    double sum = all.selected = 0.1;
    for (auto& value : all.stalled.values) sum += *(value = std::exponential_distribution<double>(1)(random));
    all.selected /= sum;
    for (auto& value : all.stalled.values) *value /= sum;
    WarpShares less = all;
    for (auto& value : less.stalled.values) {
      if (random() % 3 == 0) value.reset();
    }
    const StallShares before = NoIssueShares(all);
    const StallShares after = NoIssueShares(less);
    for (size_t reason = 0; reason < kStallReasonCount; ++reason) {
      ASSERT_LE(after.values[reason].value_or(0), before.values[reason].value_or(0) * (1 + 1e-9)) << reason;
    }
    ASSERT_LE(SyncRatio(after).value_or(0), *SyncRatio(before) * (1 + 1e-9));
    ASSERT_LE(QueueRatio(after, 0.5, true).value_or(0), *QueueRatio(before, 0.5, true) * (1 + 1e-9));
    ASSERT_LE(UncontendedRatio(less, 0.5).value_or(0), *UncontendedRatio(all, 0.5) * (1 + 1e-9));
  }
}

TEST(LadderStalls, RatiosNeedTheirReasons) {
  WarpShares shares = Shares();
  shares.stalled[StallReason::kBarrier].reset();
  EXPECT_FALSE(SyncRatio(NoIssueShares(shares)).has_value());
  for (const StallReason reason :
       {StallReason::kLgThrottle, StallReason::kMioThrottle, StallReason::kMathPipeThrottle}) {
    shares.stalled[reason].reset();
  }
  EXPECT_FALSE(QueueRatio(NoIssueShares(shares), 0.5, true).has_value());
  EXPECT_FALSE(SyncRatio(StallShares{}).has_value());
}

TEST(LadderStalls, TensorWaitsAreAQueueOnlyWhereATensorResourceBinds) {
  WarpShares shares = Shares();
  shares.stalled[StallReason::kGmma] = 0.3;
  const StallShares no_issue = NoIssueShares(shares);
  EXPECT_DOUBLE_EQ(*QueueRatio(no_issue, 1, true) - *QueueRatio(no_issue, 1, false), 0.3 / 1.15);
}

TEST(LadderStalls, SamplesOfTheProgramCounterAreSharesOfTheirSum) {
  StallShares counts;
  EXPECT_FALSE(SyncRatio(NoIssueSharesOfSamples(counts)).has_value());
  counts[StallReason::kBarrier] = 30;
  counts[StallReason::kLongScoreboard] = 90;
  const StallShares shares = NoIssueSharesOfSamples(counts);
  EXPECT_DOUBLE_EQ(*SyncRatio(shares), 0.25);
  EXPECT_FALSE(shares[StallReason::kWait].has_value());
}

TEST(LadderStalls, LambdaIsUnloadedOverObservedLatency) {
  // A chase through DRAM on an H200: 676 cycles observed; no hits.
  LatencyInput input{.observed_cycles = 676,
                     .l1_cycles = 33,
                     .l2_cycles = 260,
                     .dram_cycles = 640,
                     .l1_hit_ratio = 0,
                     .l2_miss_ratio = 1};
  EXPECT_DOUBLE_EQ(ComputeLatencyRatio(input)->ratio, 640.0 / 676);
  input.l1_hit_ratio = 0.5;
  input.l2_miss_ratio = 0.25;
  input.serialisation_cycles = 4;
  EXPECT_DOUBLE_EQ(ComputeLatencyRatio(input)->unloaded_cycles, 0.5 * 33 + 0.5 * (0.75 * 260 + 0.25 * 640) + 4);
  input.observed_cycles = 100;
  EXPECT_EQ(ComputeLatencyRatio(input)->ratio, 1);
}

TEST(LadderStalls, RefusalsOfLatencyAndShares) {
  LatencyInput input{.observed_cycles = 1, .l1_cycles = 1, .l2_cycles = 1, .dram_cycles = 1};
  EXPECT_TRUE(ComputeLatencyRatio(input).ok());
  input.l1_hit_ratio = 1.1;
  EXPECT_FALSE(ComputeLatencyRatio(input).ok());
  input.l1_hit_ratio = 0;
  input.observed_cycles = 0;
  EXPECT_FALSE(ComputeLatencyRatio(input).ok());
  WarpShares shares = Shares();
  EXPECT_TRUE(CheckWarpShares(shares).ok());
  shares.stalled[StallReason::kMembar] = 1.5;
  EXPECT_NE(std::string(CheckWarpShares(shares).message()).find("membar"), std::string::npos);
  shares = Shares();
  shares.selected = std::nan("");
  EXPECT_FALSE(CheckWarpShares(shares).ok());
}

TEST(LadderStalls, ALatencyIsSplitByWhatItsWarpsWaitFor) {
  const auto parts = SplitLatency(NoIssueShares(Shares()), 0.5);
  EXPECT_DOUBLE_EQ(parts->memory, 0.2 / 0.35);
  EXPECT_DOUBLE_EQ(parts->dependency, 0.1 / 0.35);
  EXPECT_DOUBLE_EQ(parts->shared, 0.05 / 0.35);
  EXPECT_EQ(parts->fetch, 0);
  EXPECT_FALSE(SplitLatency(StallShares{}, 1).has_value());
}

TEST(LadderStalls, EveryReasonHasItsMetricsName) {
  std::set<std::string> names;
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    names.insert(std::string(StallReasonName(static_cast<StallReason>(i))));
  }
  EXPECT_EQ(names.size(), kStallReasonCount);
  EXPECT_EQ(StallReasonName(StallReason::kTexThrottle), "tex_throttle");
  EXPECT_EQ(StallReasonName(StallReason::kMathPipeThrottle), "math_pipe_throttle");
  EXPECT_EQ(StallReasonName(static_cast<StallReason>(99)), "");
}

}  // namespace
}  // namespace gx::model
