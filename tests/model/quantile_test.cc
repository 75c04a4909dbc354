#include "analysis/model/quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace gx::model {
namespace {

TEST(Quantile, InterpolatesAsNumPyDoes) {
  // numpy.quantile(sorted, ratio), default method "linear".
  const std::vector<double> sorted = {1, 2, 4, 8, 16};
  EXPECT_EQ(SortedQuantile(sorted, 0), 1);
  EXPECT_EQ(SortedQuantile(sorted, 0.5), 4);
  EXPECT_EQ(SortedQuantile(sorted, 1), 16);
  EXPECT_DOUBLE_EQ(*SortedQuantile(sorted, 0.95), 14.4);
  EXPECT_DOUBLE_EQ(*SortedQuantile(sorted, 0.1), 1.4);
  EXPECT_EQ(SortedQuantile({3.5}, 0.95), 3.5);
}

TEST(Quantile, AnEvenNumberHasItsMedianBetweenTheMiddleTwo) { EXPECT_EQ(SortedQuantile({1, 2, 4, 9}, 0.5), 3); }

TEST(SampleSummary, SaysWhereSamplesLieAndHowFarApart) {
  // 1 to 21: median 11, deviations 0, 1, 1, 2, 2, ... with median 5; quartiles 6 and 16; p95 = 20.
  std::vector<double> samples;
  for (int i = 21; i >= 1; --i) samples.push_back(i);
  const SampleSummary summary = SummariseSamples(samples).value();
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 21);
  EXPECT_EQ(summary.median, 11);
  EXPECT_EQ(summary.median_absolute_deviation, 5);
  EXPECT_EQ(summary.interquartile_range, 10);
  EXPECT_EQ(summary.p95, 20);
}

TEST(SampleSummary, DoesNotDependOnTheOrderOfSamples) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> samples;
    for (auto n = 1 + random() % 60; n > 0; --n) samples.push_back(static_cast<double>(random() % 1000) / 8);
    const SampleSummary first = SummariseSamples(samples).value();
    std::shuffle(samples.begin(), samples.end(), random);
    const SampleSummary second = SummariseSamples(samples).value();
    EXPECT_EQ(first.median, second.median);
    EXPECT_EQ(first.median_absolute_deviation, second.median_absolute_deviation);
    EXPECT_EQ(first.p95, second.p95);
    EXPECT_LE(first.min, first.median);
    EXPECT_LE(first.median, first.p95);
    EXPECT_LE(first.p95, first.max);
    EXPECT_GE(first.interquartile_range, 0);
    EXPECT_LE(first.median_absolute_deviation, first.max - first.min);
  }
}

TEST(Quantile, OfNothingOrAtNoRatioIsAbsent) {
  EXPECT_EQ(SortedQuantile({}, 0.5), std::nullopt);
  EXPECT_FALSE(SummariseSamples({}).has_value());
  EXPECT_EQ(QuantileOf(0, 0.5, [](double position) { return position; }), std::nullopt);
  EXPECT_EQ(QuantileOf(11, 0.5, [](double position) { return position; }), 5);
  for (const double ratio : {-0.01, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(SortedQuantile({1, 2}, ratio), std::nullopt);
  }
}

TEST(Quantile, OfTwentySamplesTheLargestIsATwentiethOfTheNinetyFifthPercentile) {
  std::vector<double> sorted(20, 0);
  sorted.back() = 1;
  EXPECT_NEAR(*SortedQuantile(sorted, 0.95), 0.05, 1e-12);
  EXPECT_EQ(SortedQuantile(std::vector<double>(20, 3), 0.95), 3);
}

}  // namespace
}  // namespace gx::model
