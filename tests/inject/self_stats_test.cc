#include "inject/self_stats.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace gx::inject {
namespace {

TEST(SelfStats, EveryCounterStartsAtZeroAndCountsByItself) {
  SelfStats stats;
  for (uint32_t id = 0; id < SelfStats::kSize; ++id) EXPECT_EQ(stats.Get(static_cast<StatId>(id)), 0u);
  for (uint32_t id = 0; id < SelfStats::kSize; ++id) stats.Add(static_cast<StatId>(id), 100 + id);
  for (uint32_t id = 0; id < SelfStats::kSize; ++id) EXPECT_EQ(stats.Get(static_cast<StatId>(id)), 100 + id);
  stats.Reset();
  for (uint32_t id = 0; id < SelfStats::kSize; ++id) EXPECT_EQ(stats.Get(static_cast<StatId>(id)), 0u);
}

TEST(SelfStats, LosesNothingBetweenThreads) {
  SelfStats stats;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&stats] {
      for (int i = 0; i < 10'000; ++i) stats.Add(StatId::kLaunchesSeen);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stats.Get(StatId::kLaunchesSeen), 40'000u);
}

TEST(SelfStats, TheProcessHasOneSet) { EXPECT_EQ(&Stats(), &Stats()); }

}  // namespace
}  // namespace gx::inject
