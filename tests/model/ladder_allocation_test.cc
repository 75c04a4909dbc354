// What a report computes for every signature does not allocate where nothing is wrong.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "analysis/model/ladder.h"
#include "analysis/model/ladder_changes.h"
#include "analysis/model/ladder_factors.h"
#include "analysis/model/ladder_interval.h"
#include "analysis/model/ladder_rounding.h"
#include "analysis/model/ladder_stalls.h"
#include "analysis/model/ladder_what_if.h"
#include "tests/model/allocation_counter.h"
#include "tests/model/ladder_cases.h"

namespace gx::model {
namespace {

TEST(LadderAllocation, NoneInALadderItsIntervalsAndItsWhatIfs) {
  const LadderInput input = ConflictsThatBind();
  const Ladder ladder = Computed(input);
  const LadderChange change = WithoutFactors(input, {.l1 = 0.1}, std::nullopt);
  EXPECT_EQ(AllocationsOf([&] { return ComputeLadder(input).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return ComputeLadderIntervals(input, {80000, 90000}, input, input).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return ComputeWhatIf(input, ladder, change).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return AtomicsSpread(input, 2).ok() && OtherOccupancy(ladder, 1, 2).ok(); }), 0);
}

TEST(LadderAllocation, NoneInStallsFactorsAndRounding) {
  const LadderInput input = ConflictsThatBind();
  const WarpShares shares{.selected = 0.5};
  const std::array<double, kTermCount> parts = {0.5, 1.5, 2.5};
  EXPECT_EQ(AllocationsOf([&] { return !SyncRatio(NoIssueShares(shares)).has_value(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return ExcessOf(input.resources, {.l1_wavefronts = 5}, {}).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return RoundParts(parts).ok(); }), 0);
}

}  // namespace
}  // namespace gx::model
