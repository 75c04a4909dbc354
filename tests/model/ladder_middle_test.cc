#include "analysis/model/ladder_middle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace gx::model {
namespace {

// 100 ns active over a floor of 60.
LadderMiddleInput Measured() {
  return {.active_ns = 100,
          .floor_ns = 60,
          .closure_ns = 0,
          .no_issue_ns = 90,
          .uncontended_ns = 70,
          .sync_ratio = 0.2,
          .queue_ratio = 0.4,
          .resource_is_busy = true};
}

TEST(LadderMiddle, EachTermIsBoundedByWhatIsLeft) {
  const LadderMiddle middle = ComputeLadderMiddle(Measured());
  EXPECT_DOUBLE_EQ(*middle.sync_ns, 40 * 0.2);
  EXPECT_DOUBLE_EQ(*middle.latency_ns, 10 * 0.8);
  EXPECT_DOUBLE_EQ(*middle.queue_ns, 24 * 0.4 / 0.8);
  // hypot(60, 70) - 70 would be more than is left.
  EXPECT_DOUBLE_EQ(*middle.overlap_ns, 12);
  EXPECT_DOUBLE_EQ(middle.unexplained_ns, 0);
}

TEST(LadderMiddle, WhatClosureLeavesIsUnexplainedAtOnce) {
  LadderMiddleInput input = Measured();
  input.closure_ns = 15;
  const LadderMiddle middle = ComputeLadderMiddle(input);
  EXPECT_EQ(middle.gap_ns, 15);
  EXPECT_GE(middle.unexplained_ns, 15);
  EXPECT_DOUBLE_EQ(*middle.sync_ns, 25 * 0.2);
  input.closure_ns = -15;
  EXPECT_EQ(ComputeLadderMiddle(input).gap_ns, 0);
}

TEST(LadderMiddle, NothingQueuesWhereNothingIsBusy) {
  LadderMiddleInput input = Measured();
  input.resource_is_busy = false;
  const LadderMiddle middle = ComputeLadderMiddle(input);
  EXPECT_EQ(*middle.queue_ns, 0);
  EXPECT_DOUBLE_EQ(*middle.overlap_ns, std::hypot(60, 70) - 70);
  EXPECT_DOUBLE_EQ(middle.unexplained_ns, 24 - *middle.overlap_ns);
}

TEST(LadderMiddle, OnlySynchronisationLeavesNoQueue) {
  LadderMiddleInput input = Measured();
  input.sync_ratio = 1;
  input.queue_ratio = 1;
  const LadderMiddle middle = ComputeLadderMiddle(input);
  EXPECT_EQ(*middle.sync_ns, 40);
  EXPECT_EQ(*middle.latency_ns, 0);
  EXPECT_EQ(*middle.queue_ns, 0);
}

TEST(LadderMiddle, WhatIsMissingIsAbsentAndItsTimeUnexplained) {
  LadderMiddleInput input = Measured();
  input.uncontended_ns.reset();
  LadderMiddle middle = ComputeLadderMiddle(input);
  EXPECT_FALSE(middle.latency_ns.has_value());
  EXPECT_FALSE(middle.overlap_ns.has_value());
  EXPECT_TRUE(middle.sync_ns.has_value());

  input = Measured();
  input.sync_ratio.reset();
  middle = ComputeLadderMiddle(input);
  EXPECT_FALSE(middle.sync_ns.has_value());
  EXPECT_FALSE(middle.latency_ns.has_value());
  EXPECT_FALSE(middle.queue_ns.has_value());

  middle = ComputeLadderMiddle({.active_ns = 100, .floor_ns = 60});
  EXPECT_EQ(middle.unexplained_ns, 40);
}

}  // namespace
}  // namespace gx::model
