#include "analysis/duration_samples.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace gx::analysis {
namespace {

DurationSummary Summary(const DurationSamples& samples) {
  const DurationSamples* group = &samples;
  return DurationSamples::Summarise({&group, 1});
}

DurationSamples Of(const std::vector<uint64_t>& durations) {
  DurationSamples samples;
  for (const uint64_t duration : durations) samples.Add(duration);
  return samples;
}

TEST(DurationSamplesTest, NothingIsAllZero) {
  const DurationSummary summary = Summary(DurationSamples());
  EXPECT_EQ(summary.count, 0u);
  EXPECT_EQ(summary.min_ns, 0u);
  EXPECT_EQ(summary.median_ns, 0);
}

TEST(DurationSamplesTest, MedianOfAnEvenNumberIsTheMiddleOfTheTwoInTheMiddle) {
  EXPECT_EQ(Summary(Of({10, 40, 20, 30})).median_ns, 25);
  EXPECT_EQ(Summary(Of({10, 40, 20})).median_ns, 20);
  EXPECT_EQ(Summary(Of({7})).median_ns, 7);
}

TEST(DurationSamplesTest, QuantilesInterpolateAsNumPyDoes) {
  // numpy.percentile([1..5], [5, 50, 95]) = 1.2, 3.0, 4.8.
  const DurationSummary summary = Summary(Of({1, 2, 3, 4, 5}));
  EXPECT_DOUBLE_EQ(summary.p5_ns, 1.2);
  EXPECT_DOUBLE_EQ(summary.median_ns, 3.0);
  EXPECT_DOUBLE_EQ(summary.p95_ns, 4.8);
  EXPECT_EQ(summary.min_ns, 1u);
  EXPECT_EQ(summary.max_ns, 5u);
  EXPECT_EQ(summary.total_ns, 15u);
}

TEST(DurationSamplesTest, MillionsOfCallsWithFewDistinctDurationsStayExact) {
  DurationSamples samples;
  for (int i = 0; i < 1'000'000; ++i) samples.Add(static_cast<uint64_t>(2048 + 32 * (i % 100)));
  EXPECT_TRUE(samples.exact());
  const DurationSummary summary = Summary(samples);
  EXPECT_EQ(summary.sample_count, 1'000'000u);
  EXPECT_EQ(summary.median_ns, 2048 + 32 * 49.5);
}

TEST(DurationSamplesTest, TooManyDistinctDurationsFallBackToAStatedSample) {
  DurationSamples samples;
  constexpr uint64_t kCount = 200'000;
  for (uint64_t i = 0; i < kCount; ++i) samples.Add(i * 7919 % kCount);
  EXPECT_FALSE(samples.exact());
  const DurationSummary summary = Summary(samples);
  EXPECT_EQ(summary.count, kCount);
  EXPECT_EQ(summary.sample_count, DurationSamples::kReservoirSize);
  EXPECT_EQ(summary.min_ns, 0u);
  EXPECT_EQ(summary.max_ns, kCount - 1);
  EXPECT_EQ(summary.total_ns, kCount * (kCount - 1) / 2);
  // A uniform sample of 32768: the standard error of the median is about 0.3 %.
  EXPECT_NEAR(summary.median_ns, kCount / 2.0, kCount * 0.02);
  EXPECT_NEAR(summary.p5_ns, kCount * 0.05, kCount * 0.01);
}

TEST(DurationSamplesTest, TheSameDurationsGiveTheSameSample) {
  DurationSamples a;
  DurationSamples b;
  for (uint64_t i = 0; i < 100'000; ++i) a.Add(i * i);
  for (uint64_t i = 0; i < 100'000; ++i) b.Add(i * i);
  EXPECT_EQ(Summary(a).median_ns, Summary(b).median_ns);
}

TEST(DurationSamplesTest, GroupsTogetherCountAsOne) {
  const DurationSamples a = Of({10, 20});
  const DurationSamples b = Of({30, 40, 50});
  const DurationSamples empty;
  const std::array<const DurationSamples*, 3> groups = {&a, &b, &empty};
  const DurationSummary summary = DurationSamples::Summarise(groups);
  EXPECT_EQ(summary.count, 5u);
  EXPECT_EQ(summary.median_ns, 30);
  EXPECT_EQ(summary.min_ns, 10u);
}

TEST(DurationSamplesTest, ASampledGroupWeighsAsMuchAsAllItsCalls) {
  DurationSamples sampled;
  for (uint64_t i = 0; i < 100'000; ++i) sampled.Add(1'000'000 + i);
  const DurationSamples exact = Of(std::vector<uint64_t>(40'000, 5));
  const std::array<const DurationSamples*, 2> groups = {&sampled, &exact};
  // 40,000 of 140,000 are short: the median lies among the long ones.
  EXPECT_GT(DurationSamples::Summarise(groups).median_ns, 1'000'000);
}

TEST(DurationSamplesTest, FewDurationsArePickedAllAndManyAtEqualDistance) {
  const DurationSamples few = Of({30, 10, 20, 10});
  const std::array<const DurationSamples*, 1> one = {&few};
  EXPECT_EQ(DurationSamples::Pick(one, 4), (std::vector<uint64_t>{10, 10, 20, 30}));
  EXPECT_EQ(DurationSamples::Pick(one, 2), (std::vector<uint64_t>{10, 30}));
  EXPECT_EQ(DurationSamples::Pick({}, 4), std::vector<uint64_t>{});
  DurationSamples sampled;
  for (uint64_t i = 0; i < 100'000; ++i) sampled.Add(i);
  const std::array<const DurationSamples*, 1> many = {&sampled};
  const std::vector<uint64_t> picked = DurationSamples::Pick(many, 64);
  ASSERT_EQ(picked.size(), 64u);
  // A uniform sample of 32768 of them.
  for (size_t i = 0; i < picked.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(picked[i]), (static_cast<double>(i) + 0.5) * 100'000 / 64, 2000);
  }
}

}  // namespace
}  // namespace gx::analysis
