#include "analysis/clock_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gx::analysis {
namespace {

using ::testing::Eq;
using ::testing::Optional;

TEST(ClockMapTest, KnowsNothingWithoutAPair) {
  const ClockMap clocks;
  EXPECT_THAT(clocks.ToMonotonic(5), Eq(std::nullopt));
  EXPECT_THAT(clocks.ToCupti(5), Eq(std::nullopt));
}

TEST(ClockMapTest, OnePairGivesAnOffsetBothWays) {
  ClockMap clocks;
  EXPECT_TRUE(clocks.Add(1000, 5000));
  EXPECT_THAT(clocks.ToMonotonic(1500), Optional(5500));
  EXPECT_THAT(clocks.ToMonotonic(900), Optional(4900));
  EXPECT_THAT(clocks.ToCupti(5500), Optional(1500));
}

TEST(ClockMapTest, InterpolatesBetweenPairsAndKeepsThePaceOutsideThem) {
  ClockMap clocks;
  clocks.Add(1000, 5000);
  clocks.Add(2000, 7000);  // Two to one.
  clocks.Add(3000, 8000);  // One to one.
  EXPECT_THAT(clocks.ToMonotonic(1500), Optional(6000));
  EXPECT_THAT(clocks.ToMonotonic(2500), Optional(7500));
  EXPECT_THAT(clocks.ToMonotonic(500), Optional(4000));
  EXPECT_THAT(clocks.ToMonotonic(4000), Optional(9000));
  EXPECT_THAT(clocks.ToCupti(6000), Optional(1500));
  EXPECT_THAT(clocks.ToMonotonic(1500), Optional(6000));  // Back in an earlier segment.
}

TEST(ClockMapTest, TakesPairsInAnyOrder) {
  ClockMap clocks;
  clocks.Add(3000, 8000);
  clocks.Add(1000, 5000);
  clocks.Add(2000, 7000);
  EXPECT_THAT(clocks.ToMonotonic(1500), Optional(6000));
}

TEST(ClockMapTest, RefusesPairsOfAnUnknownClockAndPairsThatRunBackwards) {
  ClockMap clocks;
  EXPECT_TRUE(clocks.Add(1000, 5000));
  EXPECT_FALSE(clocks.Add(0, 6000));
  EXPECT_FALSE(clocks.Add(2000, 0));
  EXPECT_FALSE(clocks.Add(2000, 4000));
  EXPECT_FALSE(clocks.Add(500, 6000));
  EXPECT_FALSE(clocks.Add(1000, 5001));
  EXPECT_TRUE(clocks.Add(1000, 5000));  // Told again.
  EXPECT_EQ(clocks.pair_count(), 1u);
  EXPECT_EQ(clocks.refused_count(), 5u);
}

TEST(ClockMapTest, SaysUnknownRatherThanLeavingTheRange) {
  ClockMap clocks;
  clocks.Add(1000, 5000);
  EXPECT_THAT(clocks.ToMonotonic(UINT64_MAX), Eq(std::nullopt));
  ClockMap later;
  later.Add(1'000'000, 500);
  EXPECT_THAT(later.ToMonotonic(1), Eq(std::nullopt));
}

TEST(ClockMapTest, KeepsNanosecondsExactFarFromZero) {
  ClockMap clocks;
  constexpr uint64_t kYearsNs = uint64_t{1764504000} * 1'000'000'000;
  clocks.Add(kYearsNs, 10'000'000'000);
  clocks.Add(kYearsNs + 1'000'000'000, 11'000'000'000);
  EXPECT_THAT(clocks.ToMonotonic(kYearsNs + 123'456'789), Optional(10'123'456'789));
}

TEST(ClockMapTest, PairsInReverseOrderCostNoMoreThanInOrder) {
  // Moving all later pairs for each would take minutes.
  ClockMap clocks;
  constexpr uint64_t kCount = ClockMap::kMaxPairs;
  for (uint64_t i = kCount; i > 0; --i) ASSERT_TRUE(clocks.Add(i * 1000, i * 1000 + 7));
  EXPECT_EQ(clocks.pair_count(), kCount);
  EXPECT_THAT(clocks.ToMonotonic(500'500), Optional(500'507));
}

TEST(ClockMapTest, ThinsPairsOutWhenFull) {
  ClockMap clocks;
  for (uint64_t i = 1; i <= ClockMap::kMaxPairs + 1; ++i) clocks.Add(i * 1000, i * 1000 + 7);
  EXPECT_LE(clocks.pair_count(), ClockMap::kMaxPairs);
  EXPECT_THAT(clocks.ToMonotonic(500'500), Optional(500'507));
}

}  // namespace
}  // namespace gx::analysis
