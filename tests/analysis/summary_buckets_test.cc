#include "analysis/summary_buckets.h"

#include <gtest/gtest.h>

namespace gx::analysis {
namespace {

TEST(SummaryBucketsTest, AQuantileIsTheMiddleOfItsBucket) {
  SummaryBuckets buckets;
  buckets.Add(80, 50);  // 1024 to 1117 ns
  buckets.Add(96, 50);  // 4096 to 4467 ns
  EXPECT_NEAR(buckets.Quantile(0.05, 1024, 4400), 1069.3, 0.1);
  EXPECT_NEAR(buckets.Quantile(0.49, 1024, 4400), 1069.3, 0.1);
  EXPECT_NEAR(buckets.Quantile(0.95, 1024, 4400), 4277.3, 0.1);
}

TEST(SummaryBucketsTest, AQuantileLiesBetweenTheExactMinimumAndMaximum) {
  SummaryBuckets buckets;
  buckets.Add(80, 3);
  EXPECT_EQ(buckets.Quantile(0.5, 1100, 1110), 1100);
  EXPECT_EQ(buckets.Quantile(0.5, 1024, 1030), 1030);
}

TEST(SummaryBucketsTest, SeveralSummariesAreOne) {
  SummaryBuckets one;
  one.Add(80, 1);
  SummaryBuckets other;
  other.Add(96, 99);
  one.Add(other);
  EXPECT_NEAR(one.Quantile(0.5, 0, UINT64_MAX), 4277.3, 0.1);
}

TEST(SummaryBucketsTest, BucketsThatNoDurationCanBeInAreLeftOut) {
  SummaryBuckets buckets;
  buckets.Add(512, 7);
  buckets.Add(UINT64_MAX, 7);
  EXPECT_EQ(buckets.Quantile(0.5, 10, 20), 0);
}

TEST(SummaryBucketsTest, NothingKnownIsZero) { EXPECT_EQ(SummaryBuckets().Quantile(0.5, 0, 0), 0); }

TEST(SummariseBucketsTest, MinimumAndMaximumAreTheSummarysOwn) {
  SummaryBuckets buckets;
  buckets.Add(80, 100);
  const DurationSummary summary = SummariseBuckets(buckets, 100, 105'000, 1024, 1100);
  EXPECT_EQ(summary.min_ns, 1024u);
  EXPECT_EQ(summary.max_ns, 1100u);
  EXPECT_EQ(summary.count, 100u);
  EXPECT_EQ(summary.total_ns, 105'000u);
  EXPECT_NEAR(summary.median_ns, 1069.3, 0.1);
}

}  // namespace
}  // namespace gx::analysis
