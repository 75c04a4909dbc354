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
  CounterFigures Figures(absl::string_view name = "smsp__inst_executed.sum", size_t metric = 0) const {
    return samples.Figures(metric, name);
  }
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
  EXPECT_THAT(series.Figures("a.sum", 0).median, Optional(DoubleEq(5)));
  EXPECT_THAT(series.Figures("a.sum", 0).min, Optional(DoubleEq(5)));
  EXPECT_EQ(series.Figures("a.sum", 0).unavailable_count, 1u);
  const CounterFigures none = series.Figures("b.sum", 1);
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
  EXPECT_EQ(series.samples.KeptLaunches().size(), 2u);
}

TEST(CounterSamplesTest, FirstRangesAreLeftOutOfDramWritesAlone) {
  Series series;
  series.Add({103}, CounterBatch::FLAG_FIRST_OF_SESSION);
  series.Add({100});
  series.Add({100});
  const CounterFigures writes = series.Figures("dram__bytes_write.sum");
  EXPECT_THAT(writes.max, Optional(DoubleEq(100)));
  EXPECT_TRUE(writes.first_left_out);
  EXPECT_FALSE(writes.first_only);
  EXPECT_EQ(writes.value_count, 2u);
  const CounterFigures reads = series.Figures("dram__bytes_read.sum");
  EXPECT_THAT(reads.max, Optional(DoubleEq(103)));
  EXPECT_FALSE(reads.first_left_out);
  EXPECT_EQ(reads.value_count, 3u);
  EXPECT_EQ(series.samples.first_of_session_count(), 1u);
}

TEST(CounterSamplesTest, WhereThereAreOnlyFirstRangesTheyAreUsedAndMarked) {
  Series series;
  series.Add({103}, CounterBatch::FLAG_FIRST_OF_SESSION);
  const CounterFigures writes = series.Figures("dram__bytes_write.sum");
  EXPECT_THAT(writes.median, Optional(DoubleEq(103)));
  EXPECT_TRUE(writes.first_only);
  EXPECT_FALSE(writes.first_left_out);
}

TEST(CounterSamplesTest, TheSpellingsOfDramWritesAreKnown) {
  for (const char* name : {"dram__bytes_write.sum", "dram__bytes_op_write.sum", "fbpa__dram_write_bytes.sum",
                           "dram__bytes.sum", "dram__bytes.max"}) {
    EXPECT_TRUE(ReadsHighInFirstRange(name)) << name;
  }
  for (const char* name : {"dram__bytes_read.sum", "dram__bytes.sum.peak_sustained", "lts__t_bytes.sum",
                           "dram__cycles_elapsed.avg.per_second", ""}) {
    EXPECT_FALSE(ReadsHighInFirstRange(name)) << name;
  }
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
  EXPECT_GT(series.samples.KeptLaunches().back().launch_number, 100'000u);
}

TEST(CounterSamplesTest, WithoutRoomTheExtremesGoOn) {
  Series series(3);
  EXPECT_EQ(series.Add({1, 2, 3}), 3u);
  EXPECT_EQ(series.Add({9, 9, 9}, 0, /*may_keep=*/false), 0u);
  EXPECT_EQ(series.samples.kept_count(), 1u);
  const CounterFigures figures = series.Figures("a.sum", 0);
  EXPECT_THAT(figures.max, Optional(DoubleEq(9)));
  EXPECT_THAT(figures.median, Optional(DoubleEq(1)));
  EXPECT_EQ(figures.kept_count, 1u);
  EXPECT_EQ(figures.value_count, 2u);
}

TEST(CounterSamplesTest, LaunchesComeInOrderOfTime) {
  Series series;
  for (const double value : {1.0, 2.0, 3.0}) series.Add({value}, CounterBatch::FLAG_AFTER_SWITCH);
  const std::vector<CounterSamples::Launch> launches = series.samples.KeptLaunches();
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches.front().enter_monotonic_ns, 1'000u);
  EXPECT_EQ(launches.back().launch_number, 30u);
  EXPECT_EQ(series.samples.first_monotonic_ns(), 1'000u);
  EXPECT_EQ(series.samples.last_monotonic_ns(), 3'000u);
  EXPECT_EQ(series.samples.after_switch_count(), 3u);
}

}  // namespace
}  // namespace gx::analysis
