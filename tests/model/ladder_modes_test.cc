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
  const auto modes = FindTimeModes(Repeated({{100, 97}, {150, 2}, {300, 1}}));
  ASSERT_EQ(modes->size(), 1u);
  EXPECT_EQ((*modes)[0].end, 100u);
  EXPECT_EQ((*modes)[0].median_ns, 100);
}

TEST(LadderModes, FewLaunchesThatTakeMuchOfTheTimeAreAMode) {
  // 5 % of launches, 25 % of the time.
  const auto modes = FindTimeModes(Repeated({{100, 95}, {650, 5}}));
  ASSERT_EQ(modes->size(), 2u);
  EXPECT_EQ((*modes)[1].begin, 95u);
  // One launch in a hundred is a straggler, however long it takes.
  EXPECT_EQ(FindTimeModes(Repeated({{100, 99}, {9000, 1}}))->size(), 1u);
}

TEST(LadderModes, DifferentWorkSplitsAModeAtItsWidestGap) {
  const std::vector<double> sorted = Repeated({{100, 30}, {105, 20}, {118, 20}, {125, 30}});
  const auto modes = *FindTimeModes(sorted);
  ASSERT_EQ(modes.size(), 1u);
  const auto split = SplitModesByWork(sorted, modes, {126, 101});
  ASSERT_EQ(split.size(), 2u);
  EXPECT_EQ(split[0].end, 50u);
  EXPECT_EQ(split[1].begin, 50u);
  EXPECT_EQ(split[0].median_ns, 100);
  EXPECT_EQ(split[1].median_ns, 125);
}

TEST(LadderModes, WorkOfTheSameDurationSplitsNothing) {
  const std::vector<double> sorted = Repeated({{100, 50}, {110, 50}});
  const auto modes = *FindTimeModes(sorted);
  EXPECT_EQ(SplitModesByWork(sorted, modes, {100, 110}).size(), 1u);
  EXPECT_EQ(SplitModesByWork(sorted, modes, {}).size(), 1u);
  // Too few on one side of the gap.
  EXPECT_EQ(SplitModesByWork(Repeated({{100, 97}, {110, 3}}), modes, {100, 120}).size(), 1u);
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
