#include "analysis/model/ladder_top.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gx::model {
namespace {

TEST(LadderTop, EachIsCappedByWhatIsLeftAboveTheFloor) {
  const LadderTop top =
      ComputeLadderTop({.time_ns = 100, .floor_ns = 70, .tracing_ns = 10, .launch_ns = 15, .idle_ns = 9});
  EXPECT_EQ(top.tracing_ns, 10);
  EXPECT_EQ(top.launch_ns, 15);
  EXPECT_EQ(top.idle_ns, 5);
  EXPECT_EQ(top.hidden_idle_ns, 4);
  EXPECT_EQ(top.active_ns, 70);
}

TEST(LadderTop, IdleIsLessWhatUnevenSmsHaveAlready) {
  const LadderTop top = ComputeLadderTop({.time_ns = 100, .floor_ns = 50, .idle_ns = 30, .uneven_sm_ns = 12});
  EXPECT_EQ(top.idle_ns, 18);
  EXPECT_EQ(top.active_ns, 82);
  EXPECT_EQ(ComputeLadderTop({.time_ns = 100, .floor_ns = 50, .idle_ns = 30, .uneven_sm_ns = 40}).idle_ns, 0);
}

TEST(LadderTop, NothingIsLeftUnderAFloorAtTheTime) {
  const LadderTop top =
      ComputeLadderTop({.time_ns = 100, .floor_ns = 100, .tracing_ns = 1, .launch_ns = 1, .idle_ns = 1});
  EXPECT_EQ(top.tracing_ns + top.launch_ns + top.idle_ns, 0);
  EXPECT_EQ(top.active_ns, 100);
}

TEST(IdleCauses, AGridThatDoesNotReachEverySmIsUnfilled) {
  const auto causes = SplitIdle({.idle_ns = 500, .unit_count = 12, .place_count = 132, .block_ns = 100});
  EXPECT_EQ(causes->unfilled_ns, 500);
  EXPECT_EQ(causes->tail_ns + causes->imbalance_ns, 0);
}

TEST(IdleCauses, ATailIsAtMostABlockInTheEmptyPartOfTheLastWave) {
  const auto causes = SplitIdle({.idle_ns = 8600,
                                 .unit_count = 133,
                                 .place_count = 132,
                                 .block_ns = 10000,
                                 .last_wave_empty_ratio = 131.0 / 132});
  EXPECT_EQ(causes->tail_ns, 8600);
  const auto both = SplitIdle(
      {.idle_ns = 8600, .unit_count = 200, .place_count = 132, .block_ns = 1000, .last_wave_empty_ratio = 0.5});
  EXPECT_EQ(both->tail_ns, 500);
  EXPECT_EQ(both->imbalance_ns, 8100);
}

TEST(IdleCauses, RefusesWhatIsNoLaunch) {
  const IdleCauseInput good{.idle_ns = 1, .unit_count = 1, .place_count = 1};
  EXPECT_TRUE(SplitIdle(good).ok());
  IdleCauseInput bad = good;
  bad.unit_count = 0;
  EXPECT_FALSE(SplitIdle(bad).ok());
  bad = good;
  bad.last_wave_empty_ratio = std::nan("");
  EXPECT_FALSE(SplitIdle(bad).ok());
  bad = good;
  bad.block_ns = -1;
  EXPECT_FALSE(SplitIdle(bad).ok());
}

}  // namespace
}  // namespace gx::model
