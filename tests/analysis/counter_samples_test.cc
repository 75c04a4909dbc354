#include "analysis/counter_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gpuexec/v1/counter.pb.h"

namespace gx::analysis {
namespace {

using ::gpuexec::v1::CounterBatch;
using ::testing::DoubleEq;
using ::testing::Optional;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Adds one sample a call, of one metric as a rule, 1 us apart.
class Series {
 public:
  explicit Series(size_t metric_count = 1) : samples(metric_count) {}
  size_t Add(std::vector<double> values, uint64_t flags = 0, bool may_keep = true) {
    CounterSampleRow row;
    row.enter_monotonic_ns = 1'000 * ++count_;
    row.launch_number = 10 * count_;
    row.flags = flags;
    row.values = values;
    return samples.Add(row, may_keep);
  }
  CounterFigures Figures(size_t metric = 0) const { return samples.Figures(metric); }
  CounterSamples samples;

 private:
  uint64_t count_ = 0;
};

TEST(CounterSamplesTest, MedianAndSpreadAreOfAllSamples) {
  Series series;
  for (const double value : {104.0, 100.0, 101.0}) series.Add({value});
  const CounterFigures figures = series.Figures();
  EXPECT_THAT(figures.median, Optional(DoubleEq(101)));
  EXPECT_THAT(figures.min, Optional(DoubleEq(100)));
  EXPECT_THAT(figures.max, Optional(DoubleEq(104)));
  EXPECT_THAT(figures.spread_ratio, Optional(DoubleEq(4.0 / 101)));
  EXPECT_EQ(figures.value_count, 3u);
  EXPECT_EQ(figures.kept_count, 3u);
}

TEST(CounterSamplesTest, OneSampleHasNoSpread) {
  Series series;
  series.Add({7});
  EXPECT_THAT(series.Figures().median, Optional(DoubleEq(7)));
  EXPECT_EQ(series.Figures().spread_ratio, std::nullopt);
}

TEST(CounterSamplesTest, WhatIsNoNumberIsUnavailableAndNeverZero) {
  Series series(2);
  series.Add({kNan, kNan});
  series.Add({5, std::numeric_limits<double>::infinity()});
  EXPECT_THAT(series.Figures(0).median, Optional(DoubleEq(5)));
  EXPECT_THAT(series.Figures(0).min, Optional(DoubleEq(5)));
  EXPECT_EQ(series.Figures(0).unavailable_count, 1u);
  const CounterFigures none = series.Figures(1);
  EXPECT_EQ(none.median, std::nullopt);
  EXPECT_EQ(none.min, std::nullopt);
  EXPECT_EQ(none.max, std::nullopt);
  EXPECT_EQ(none.spread_ratio, std::nullopt);
  EXPECT_EQ(none.unavailable_count, 2u);
  EXPECT_EQ(none.value_count, 0u);
}

TEST(CounterSamplesTest, AMeasuredZeroIsZero) {
  Series series;
  series.Add({0});
  series.Add({0});
  EXPECT_THAT(series.Figures().median, Optional(DoubleEq(0)));
  EXPECT_THAT(series.Figures().spread_ratio, Optional(DoubleEq(0)));
  series.Add({0});
  series.Add({3});
  EXPECT_THAT(series.Figures().spread_ratio, Optional(DoubleEq(1))) << "a median of 0 with another value beside it";
}

TEST(CounterSamplesTest, VoidSamplesAreCountedAndInNoFigure) {
  Series series;
  series.Add({100});
  series.Add({1e9}, CounterBatch::FLAG_VOID);
  series.Add({100});
  EXPECT_EQ(series.samples.count(), 3u);
  EXPECT_EQ(series.samples.void_count(), 1u);
  EXPECT_EQ(series.samples.usable_count(), 2u);
  EXPECT_THAT(series.Figures().max, Optional(DoubleEq(100)));
  EXPECT_EQ(series.Figures().value_count, 2u);
  EXPECT_EQ(series.samples.kept_count(), 2u);
  EXPECT_EQ(series.samples.Kept().size(), 3u) << "kept to be shown";
}

TEST(CounterSamplesTest, FirstRangesOfSessionsAreLeftOutOfFigures) {
  Series series;
  series.Add({103}, CounterBatch::FLAG_FIRST_OF_SESSION);
  series.Add({100});
  series.Add({100});
  const CounterFigures figures = series.Figures();
  EXPECT_THAT(figures.median, Optional(DoubleEq(100)));
  EXPECT_THAT(figures.max, Optional(DoubleEq(100)));
  EXPECT_THAT(figures.spread_ratio, Optional(DoubleEq(0)));
  EXPECT_TRUE(figures.first_left_out);
  EXPECT_FALSE(figures.first_only);
  EXPECT_EQ(figures.value_count, 2u);
  EXPECT_EQ(series.samples.first_of_session_count(), 1u);
  EXPECT_EQ(series.samples.usable_count(), 3u);
}

TEST(CounterSamplesTest, WhereThereAreOnlyFirstRangesTheyAreUsedAndMarked) {
  Series series;
  series.Add({103}, CounterBatch::FLAG_FIRST_OF_SESSION);
  EXPECT_THAT(series.Figures().median, Optional(DoubleEq(103)));
  EXPECT_TRUE(series.Figures().first_only);
  EXPECT_FALSE(series.Figures().first_left_out);
}

TEST(CounterSamplesTest, AMetricThatOnlyFirstRangesHaveIsOfThese) {
  Series series(2);
  series.Add({103, 7}, CounterBatch::FLAG_FIRST_OF_SESSION);
  series.Add({100, kNan});
  EXPECT_TRUE(series.Figures(0).first_left_out);
  EXPECT_THAT(series.Figures(1).median, Optional(DoubleEq(7)));
  EXPECT_TRUE(series.Figures(1).first_only);
}

TEST(CounterSamplesTest, ManySamplesAreAUniformDrawWithExactExtremes) {
  Series series;
  std::mt19937_64 random(3);
  std::vector<double> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<double>(random() % 1'000'000));
    series.Add({all.back()});
  }
  EXPECT_EQ(series.samples.kept_count(), CounterSamples::kMaxKept);
  const CounterFigures figures = series.Figures();
  EXPECT_EQ(figures.kept_count, CounterSamples::kMaxKept);
  EXPECT_EQ(figures.value_count, 20'000u);
  EXPECT_THAT(figures.min, Optional(DoubleEq(*std::min_element(all.begin(), all.end()))));
  EXPECT_THAT(figures.max, Optional(DoubleEq(*std::max_element(all.begin(), all.end()))));
  // Four standard errors of a median of 128 uniform values.
  EXPECT_NEAR(*figures.median, 500'000, 4 * 1'000'000 / (2 * std::sqrt(128.0)));
  // Not the first 128.
  EXPECT_GT(series.samples.Kept().back()->launch_number, 100'000u);
}

TEST(CounterSamplesTest, WithoutRoomTheExtremesGoOn) {
  Series series(3);
  EXPECT_EQ(series.Add({1, 2, 3}), 3 + CounterSamples::kOverheadValues);
  EXPECT_EQ(series.Add({9, 9, 9}, 0, /*may_keep=*/false), 0u);
  EXPECT_EQ(series.samples.kept_count(), 1u);
  const CounterFigures figures = series.Figures(0);
  EXPECT_THAT(figures.max, Optional(DoubleEq(9)));
  EXPECT_THAT(figures.median, Optional(DoubleEq(1)));
  EXPECT_EQ(figures.kept_count, 1u);
  EXPECT_EQ(figures.value_count, 2u);
}

TEST(CounterSamplesTest, FiguresAreThoseOfAPlainList) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2'000; ++round) {
    Series series;
    std::vector<double> later;
    std::vector<double> first;
    const size_t count = random() % 9;
    for (size_t i = 0; i < count; ++i) {
      const double value = random() % 4 == 0 ? kNan : static_cast<double>(random() % 2'000) - 1'000;
      const uint64_t flags = random() % 16;  // Every combination of the four flags.
      series.Add({value}, flags);
      if ((flags & CounterBatch::FLAG_VOID) != 0 || std::isnan(value)) continue;
      ((flags & CounterBatch::FLAG_FIRST_OF_SESSION) != 0 ? first : later).push_back(value);
    }
    std::vector<double>& values = later.empty() ? first : later;
    std::sort(values.begin(), values.end());
    const CounterFigures figures = series.Figures();
    ASSERT_EQ(figures.value_count, values.size());
    ASSERT_EQ(figures.median.has_value(), !values.empty());
    ASSERT_EQ(figures.spread_ratio.has_value(), values.size() >= 2);
    ASSERT_EQ(series.samples.Kept().size(), count);
    if (values.empty()) continue;
    const double median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
    ASSERT_DOUBLE_EQ(*figures.median, median);
    ASSERT_EQ(*figures.min, values.front());
    ASSERT_EQ(*figures.max, values.back());
    if (values.size() < 2) continue;
    const double range = values.back() - values.front();
    const double spread = median != 0 ? range / std::fabs(median) : range > 0 ? 1 : 0;
    ASSERT_DOUBLE_EQ(*figures.spread_ratio, spread);
  }
}

TEST(CounterSamplesTest, VoidSamplesAreKeptInBounds) {
  Series series;
  for (size_t i = 0; i < 10 * CounterSamples::kMaxVoidKept; ++i) series.Add({1}, CounterBatch::FLAG_VOID);
  EXPECT_EQ(series.samples.Kept().size(), CounterSamples::kMaxVoidKept);
  EXPECT_EQ(series.samples.void_count(), 10 * CounterSamples::kMaxVoidKept);
  EXPECT_EQ(series.Add({1}, CounterBatch::FLAG_VOID), 0u);
  EXPECT_EQ(series.Figures().median, std::nullopt);
}

TEST(CounterSamplesTest, SamplesComeInOrderOfTime) {
  Series series;
  for (const double value : {1.0, 2.0, 3.0}) series.Add({value}, CounterBatch::FLAG_AFTER_SWITCH);
  const std::vector<const CounterSamples::Sample*> kept = series.samples.Kept();
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.front()->enter_monotonic_ns, 1'000u);
  EXPECT_EQ(kept.back()->launch_number, 30u);
  EXPECT_EQ(series.samples.first_monotonic_ns(), 1'000u);
  EXPECT_EQ(series.samples.last_monotonic_ns(), 3'000u);
  EXPECT_EQ(series.samples.after_switch_count(), 3u);
}

}  // namespace
}  // namespace gx::analysis
