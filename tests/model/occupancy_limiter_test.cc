#include "analysis/model/occupancy_limiter.h"

#include <gtest/gtest.h>

#include <optional>

namespace gx::model {
namespace {

TEST(LimiterSet, NamesItsMembersInOneOrder) {
  EXPECT_EQ((LimiterSet{OccupancyLimiter::kSharedMemory, OccupancyLimiter::kRegisters}).ToString(),
            "registers + shared_memory");
  EXPECT_EQ((LimiterSet{OccupancyLimiter::kBarriers}).ToString(), "barriers");
  EXPECT_EQ(LimiterSet().ToString(), "none");

  LimiterSet all;
  for (const OccupancyLimiter limiter : kOccupancyLimiters) {
    EXPECT_FALSE(all.Has(limiter)) << ToString(limiter);
    all.Add(limiter);
    EXPECT_TRUE(all.Has(limiter)) << ToString(limiter);
  }
  EXPECT_EQ(all.ToString(), "blocks + threads + warps + registers + shared_memory + barriers + virtual_resources");
}

TEST(SummariseLimits, NothingLimitsWhereNoLimitIsKnown) {
  const LimitSummary summary = SummariseLimits({});
  EXPECT_EQ(summary.blocks_count, 0);
  EXPECT_TRUE(summary.limiters.empty());
  EXPECT_EQ(summary.next_blocks_count, std::nullopt);
  EXPECT_TRUE(summary.next_limiters.empty());
}

TEST(SummariseLimits, ATieHasNoNextLimit) {
  BlockLimits limits;
  limits[OccupancyLimiter::kWarps] = 8;
  limits[OccupancyLimiter::kRegisters] = 8;
  const LimitSummary summary = SummariseLimits(limits);
  EXPECT_EQ(summary.blocks_count, 8);
  EXPECT_EQ(summary.limiters.ToString(), "warps + registers");
  EXPECT_EQ(summary.next_blocks_count, std::nullopt);
}

TEST(SummariseLimits, FindsTheSmallestTwoInAnyOrder) {
  // All ways to give three resources one of four limits.
  for (int64_t blocks = 0; blocks < 4; ++blocks) {
    for (int64_t warps = 0; warps < 4; ++warps) {
      for (int64_t barriers = 0; barriers < 4; ++barriers) {
        BlockLimits limits;
        limits[OccupancyLimiter::kBlocks] = blocks;
        limits[OccupancyLimiter::kWarps] = warps;
        limits[OccupancyLimiter::kBarriers] = barriers;
        const LimitSummary summary = SummariseLimits(limits);

        // By counting up: the first limit that any of them has, and the next.
        std::optional<int64_t> found[2];
        LimiterSet whose[2];
        int rank = 0;
        for (int64_t value = 0; value < 4 && rank < 2; ++value) {
          for (const OccupancyLimiter limiter : kOccupancyLimiters) {
            if (limits[limiter] == value) {
              found[rank] = value;
              whose[rank].Add(limiter);
            }
          }
          if (found[rank].has_value()) ++rank;
        }
        EXPECT_EQ(summary.blocks_count, found[0]);
        EXPECT_EQ(summary.limiters, whose[0]);
        EXPECT_EQ(summary.next_blocks_count, found[1]);
        EXPECT_EQ(summary.next_limiters, whose[1]);
      }
    }
  }
}

}  // namespace
}  // namespace gx::model
