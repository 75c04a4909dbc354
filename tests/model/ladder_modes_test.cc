#include "analysis/model/ladder_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

namespace gx::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<double> Repeated(std::vector<std::pair<double, int>> values) {
  std::vector<double> sorted;
  for (const auto& [value, count] : values) sorted.insert(sorted.end(), static_cast<size_t>(count), value);
  return sorted;
}

TEST(LadderModes, OneModeWhereNoGapIsWide) {
  std::vector<double> sorted;
  for (double value = 100; value < 1000; value *= 1.14) sorted.push_back(value);
  const auto modes = FindTimeModes(sorted);
  ASSERT_EQ(modes->size(), 1u);
  EXPECT_EQ((*modes)[0].end, sorted.size());
  EXPECT_TRUE(FindTimeModes({})->empty());
}

TEST(LadderModes, AGapWithEnoughLaunchesOnEitherSideSplits) {
  const auto modes = FindTimeModes(Repeated({{100, 50}, {120, 40}, {300, 10}}));
  ASSERT_EQ(modes->size(), 3u);
  EXPECT_EQ((*modes)[0].median_ns, 100);
  EXPECT_EQ((*modes)[1].median_ns, 120);
  EXPECT_EQ((*modes)[2].median_ns, 300);
  EXPECT_EQ((*modes)[2].begin, 90u);
  EXPECT_EQ((*modes)[2].end, 100u);
}

TEST(LadderModes, AFewOutliersAreNoMode) {
  const auto modes = FindTimeModes(Repeated({{100, 91}, {200, 5}, {400, 4}}));
  ASSERT_EQ(modes->size(), 1u);
  EXPECT_EQ((*modes)[0].end, 100u);
  EXPECT_EQ((*modes)[0].median_ns, 100);
}

TEST(LadderModes, OutliersBetweenTwoModesJoinTheNearerOne) {
  const auto modes = FindTimeModes(Repeated({{100, 45}, {130, 5}, {300, 50}}));
  ASSERT_EQ(modes->size(), 2u);
  EXPECT_EQ((*modes)[0].end, 50u);
}

TEST(LadderModes, ASampleJoinsTheModeOfItsOwnDuration) {
  const auto modes = *FindTimeModes(Repeated({{100, 50}, {400, 50}}));
  EXPECT_EQ(NearestMode(modes, 110), 0u);
  EXPECT_EQ(NearestMode(modes, 199), 0u);  // as a ratio: 200 is the middle
  EXPECT_EQ(NearestMode(modes, 201), 1u);
  EXPECT_EQ(NearestMode(modes, 0), std::nullopt);
  EXPECT_EQ(NearestMode(modes, std::nan("")), std::nullopt);
  EXPECT_EQ(NearestMode({}, 5), std::nullopt);
}

TEST(LadderModes, PatchedCodeJoinsByInstructions) {
  const std::vector<std::optional<double>> instructions = {1000, std::nullopt, 1010, 2000};
  EXPECT_THAT(ModesOfInstructions(instructions, 1005), ElementsAre(0, 2));
  EXPECT_THAT(ModesOfInstructions(instructions, 1990), ElementsAre(3));
  EXPECT_THAT(ModesOfInstructions(instructions, 1500), IsEmpty());
}

TEST(LadderModes, CountsThatSpreadByMoreThanTwoPerCentAreMixedWork) {
  EXPECT_FALSE(IsMixedWork(98, 100));
  EXPECT_TRUE(IsMixedWork(97.9, 100));
  EXPECT_FALSE(IsMixedWork(0, 0));
}

TEST(LadderModes, RefusesDurationsThatAreNoneOrNotInOrder) {
  EXPECT_FALSE(FindTimeModes(std::vector<double>{0, 1}).ok());
  EXPECT_FALSE(FindTimeModes(std::vector<double>{2, 1}).ok());
  EXPECT_FALSE(FindTimeModes(std::vector<double>{std::nan("")}).ok());
}

}  // namespace
}  // namespace gx::model
