#include "analysis/model/ladder_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/model/ladder_cases.h"

namespace gx::model {
namespace {

TEST(MedianInterval, RanksAreThoseOfTheBinomialDistribution) {
  struct Case {
    uint64_t count;
    uint64_t low;
    uint64_t high;
  };
  // Counted from 1, as tables of 95 % intervals of a median are: 6 values 1 and 6; 10: 2, 9; 20: 6, 15; 50: 18, 33;
  // 100: 40, 61; 1000: 469, 532.
  for (const Case& c :
       {Case{6, 1, 6}, Case{10, 2, 9}, Case{20, 6, 15}, Case{50, 18, 33}, Case{100, 40, 61}, Case{1000, 469, 532}}) {
    const auto ranks = MedianIntervalRanks(c.count);
    EXPECT_EQ(ranks->low + 1, c.low) << c.count;
    EXPECT_EQ(ranks->high + 1, c.high) << c.count;
    EXPECT_TRUE(ranks->covers) << c.count;
  }
}

TEST(MedianInterval, FewValuesCoverNothing) {
  EXPECT_FALSE(MedianIntervalRanks(0).has_value());
  for (uint64_t count = 1; count < 6; ++count) {
    const auto ranks = MedianIntervalRanks(count);
    EXPECT_EQ(ranks->low, 0u);
    EXPECT_EQ(ranks->high, count - 1);
    EXPECT_FALSE(ranks->covers);
  }
}

TEST(MedianInterval, TheApproximationFollowsWhereTheExactOneEnds) {
  uint64_t before = MedianIntervalRanks(kExactMedianCount - 5)->low;
  for (uint64_t count = kExactMedianCount - 4; count < kExactMedianCount + 50; ++count) {
    const auto ranks = MedianIntervalRanks(count);
    EXPECT_GE(ranks->low, before);
    EXPECT_LE(ranks->low, before + 1);
    EXPECT_EQ(ranks->low + ranks->high, count - 1);
    before = ranks->low;
  }
  EXPECT_NEAR(static_cast<double>(MedianIntervalRanks(100'000'000)->low), 50'000'000 - 9800, 2);
}

TEST(LadderTime, IsWiderByTheClockStepAndByTracing) {
  std::vector<double> sorted;
  for (int i = 1; i <= 20; ++i) sorted.push_back(1000 + i);
  const auto time = SummariseLadderTime(sorted, 32, 100);
  EXPECT_EQ(time->median_ns, 1010.5);
  EXPECT_EQ(time->interval_ns.low, 1006 - 132);
  EXPECT_EQ(time->interval_ns.high, 1015 + 132);
  EXPECT_FALSE(SummariseLadderTime({}, 32, 0).has_value());
  EXPECT_EQ(SummariseLadderTime(std::vector<double>{10}, 32, 0)->interval_ns.low, 0);
}

LadderInput ScaledWork(LadderInput input, double factor) {
  for (LadderResource& resource : input.resources) {
    resource.work_ns *= factor;
    *resource.busiest_ns *= factor;
    *resource.useful_ns *= factor;
  }
  return input;
}

TEST(LadderIntervals, TermsAreThoseOfTheFourCorners) {
  const LadderInput point = Strided();
  const auto intervals =
      ComputeLadderIntervals(point, {99000, 102000}, ScaledWork(point, 0.99), ScaledWork(point, 1.01));
  ASSERT_TRUE(intervals.ok()) << intervals.status();
  const auto term = [&](TermKind kind) { return intervals->terms[static_cast<size_t>(kind)]; };
  EXPECT_DOUBLE_EQ(term(TermKind::kUseful).low, 11000 * 0.99);
  EXPECT_DOUBLE_EQ(term(TermKind::kUseful).high, 11000 * 1.01);
  EXPECT_DOUBLE_EQ(term(TermKind::kExcess).low, 77000 * 0.99);
  EXPECT_EQ(term(TermKind::kLaunch).high, 1000);
  EXPECT_DOUBLE_EQ(intervals->residual_ns->low, 99000 - 11000 * 1.01);
  EXPECT_DOUBLE_EQ(intervals->residual_ns->high, 102000 - 11000 * 0.99);
  EXPECT_FALSE(intervals->violation_is_certain);
}

TEST(LadderIntervals, AViolationIsCertainWhereTheLeastCountsAreAboveTheLongestTime) {
  const LadderInput point = BelowABound();
  const LadderInput low = ScaledWork(point, 0.95);
  const auto certain = ComputeLadderIntervals(point, {19000, 21000}, low, point);
  EXPECT_TRUE(certain->violation_is_certain);
  EXPECT_FALSE(ComputeLadderIntervals(point, {19000, 25000}, low, point)->violation_is_certain);
}

TEST(LadderIntervals, SynchronisationStartsAtNothing) {
  const LadderInput point = ThrottledGemm();
  const auto intervals = ComputeLadderIntervals(point, {1410000, 1410000}, point, point);
  EXPECT_EQ(intervals->terms[static_cast<size_t>(TermKind::kSync)].low, 0);
  EXPECT_NEAR(intervals->terms[static_cast<size_t>(TermKind::kSync)].high, 25.2, 0.1);
}

TEST(LadderIntervals, RefusesATimeOutsideItsInterval) {
  const LadderInput point = Strided();
  EXPECT_FALSE(ComputeLadderIntervals(point, {100001, 100002}, point, point).ok());
  EXPECT_FALSE(ComputeLadderIntervals(point, {0, 100002}, point, point).ok());
  EXPECT_FALSE(ComputeLadderIntervals(point, {1, std::nan("")}, point, point).ok());
  LadderInput bad = point;
  bad.sync_ratio = 2;
  EXPECT_FALSE(ComputeLadderIntervals(point, {99000, 101000}, bad, point).ok());
}

}  // namespace
}  // namespace gx::model
