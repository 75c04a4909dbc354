#include "inject/sampling_tally.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace gx::inject {
namespace {

TEST(RunningMean, IsNothingAtFirstAndThenTheFirstValue) {
  RunningMean mean;
  EXPECT_EQ(mean.value(), 0u);
  mean.Add(1000);
  EXPECT_EQ(mean.value(), 1000u);
}

TEST(RunningMean, FollowsItsLastValuesAndStaysBetweenThem) {
  RunningMean mean;
  mean.Add(1'000'000);
  mean.Add(2'000'000);
  EXPECT_EQ(mean.value(), 1'250'000u);
  for (int i = 0; i < 40; ++i) mean.Add(2'000'000);
  EXPECT_LE(mean.value(), 2'000'000u);
  EXPECT_GE(mean.value(), 1'999'900u);
}

TEST(RunningMean, OneOutlierDoesNotCarryItAway) {
  RunningMean mean;
  for (int i = 0; i < 10; ++i) mean.Add(1000);
  mean.Add(100'000);
  EXPECT_LT(mean.value(), 30'000u);
  for (int i = 0; i < 40; ++i) mean.Add(1000);
  EXPECT_LT(mean.value(), 1'010u);
}

TEST(RunningMean, TheLargestValuesDoNotOverflow) {
  RunningMean mean;
  mean.Add(UINT64_MAX);
  mean.Add(UINT64_MAX);
  EXPECT_GE(mean.value(), UINT64_MAX - 8);
}

TEST(SamplingTally, CostsOfAllThreadsAddUp) {
  SamplingTally tally;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) tally.Spend(3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tally.cost_ns.load(), 120'000u);
}

TEST(SamplingTally, AWaitCostsTheTimeInWhichTheDeviceWouldHaveBeenIdle) {
  SamplingTally tally;
  EXPECT_EQ(tally.CostOfWait(1'000'000), 1'000'000u) << "nothing is known of its load";
  tally.busy_permille.store(250);
  EXPECT_EQ(tally.CostOfWait(1'000'000), 750'000u);
  EXPECT_EQ(tally.CostOfWait(3), 2u);
  for (const uint32_t busy : {900u, 1000u, 2000u}) {
    tally.busy_permille.store(busy);
    EXPECT_EQ(tally.CostOfWait(1'000'000), 100'000u) << "never nothing";
  }
  tally.busy_permille.store(0);
  EXPECT_EQ(tally.CostOfWait(UINT64_MAX), UINT64_MAX);
}

}  // namespace
}  // namespace gx::inject
