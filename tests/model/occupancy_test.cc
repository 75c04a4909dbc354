#include "analysis/model/occupancy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kKib = 1024;

// The SM of the worked example: 2,048 threads, 64 warps, 65,536 registers, 164 KiB, 32 blocks.
SmBudget WorkedSm() {
  return {.max_blocks_count = 32,
          .max_threads_count = 2048,
          .max_warps_count = 64,
          .registers_count = 65536,
          .shared_memory_bytes = 164 * kKib};
}

// An SM that is described without a thread limit: 64 warps, 65,536 registers, 64 KiB, 32 blocks.
SmBudget SmWithoutThreadLimit() {
  return {.max_blocks_count = 32, .max_warps_count = 64, .registers_count = 65536, .shared_memory_bytes = 64 * kKib};
}

TEST(FirstOrderOccupancy, TheWorkedExampleFitsThreeBlocks) {
  const auto result = FirstOrderOccupancy(WorkedSm(), {256, 64, 48 * kKib});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->limits[OccupancyLimiter::kThreads], 8);
  EXPECT_EQ(result->limits[OccupancyLimiter::kWarps], 8);
  EXPECT_EQ(result->limits[OccupancyLimiter::kRegisters], 4);
  EXPECT_EQ(result->limits[OccupancyLimiter::kSharedMemory], 3);
  EXPECT_EQ(result->limits[OccupancyLimiter::kBlocks], 32);
  EXPECT_EQ(result->limits[OccupancyLimiter::kBarriers], std::nullopt);
  EXPECT_EQ(result->blocks_per_sm_count, 3);
  EXPECT_EQ(result->limiters.ToString(), "shared_memory");
  EXPECT_EQ(result->warps_per_block_count, 8);
  EXPECT_EQ(result->active_warps_count, 24);
  EXPECT_EQ(result->occupancy_ratio, 0.375);
  EXPECT_EQ(result->next_limit_blocks_count, 4);
  EXPECT_EQ(result->next_limiters.ToString(), "registers");
}

struct SensitivityRow {
  BlockDemand demand;
  int64_t threads;
  int64_t registers;
  int64_t shared;
  int64_t blocks;
  std::string limiters;
  double occupancy;
};

// One coordinate of the worked example changed at a time.
TEST(FirstOrderOccupancy, TheLimiterMovesWithOneCoordinate) {
  const SensitivityRow rows[] = {
      {{256, 64, 48 * kKib}, 8, 4, 3, 3, "shared_memory", 0.375},
      {{256, 64, 32 * kKib}, 8, 4, 5, 4, "registers", 0.5},
      {{256, 96, 48 * kKib}, 8, 2, 3, 2, "registers", 0.25},
      // Fewer threads, no more blocks: half the warps.
      {{128, 64, 48 * kKib}, 16, 8, 3, 3, "shared_memory", 0.1875},
  };
  for (const SensitivityRow& row : rows) {
    const auto result = FirstOrderOccupancy(WorkedSm(), row.demand);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->limits[OccupancyLimiter::kThreads], row.threads);
    EXPECT_EQ(result->limits[OccupancyLimiter::kRegisters], row.registers);
    EXPECT_EQ(result->limits[OccupancyLimiter::kSharedMemory], row.shared);
    EXPECT_EQ(result->blocks_per_sm_count, row.blocks);
    EXPECT_EQ(result->limiters.ToString(), row.limiters);
    EXPECT_EQ(result->occupancy_ratio, row.occupancy);
  }
}

TEST(FirstOrderOccupancy, AnSmWithoutThreadLimitIsLimitedByRegistersThenByWarpSlots) {
  const auto heavy = FirstOrderOccupancy(SmWithoutThreadLimit(), {256, 128, 0});
  ASSERT_TRUE(heavy.ok()) << heavy.status();
  EXPECT_EQ(heavy->blocks_per_sm_count, 2);
  EXPECT_EQ(heavy->active_warps_count, 16);
  EXPECT_EQ(heavy->occupancy_ratio, 0.25);
  EXPECT_EQ(heavy->limiters.ToString(), "registers");
  EXPECT_EQ(heavy->limits[OccupancyLimiter::kThreads], std::nullopt);
  EXPECT_EQ(heavy->limits[OccupancyLimiter::kSharedMemory], std::nullopt);

  const auto light = FirstOrderOccupancy(SmWithoutThreadLimit(), {256, 24, 0});
  ASSERT_TRUE(light.ok()) << light.status();
  EXPECT_EQ(light->blocks_per_sm_count, 8);
  EXPECT_EQ(light->active_warps_count, 64);
  EXPECT_EQ(light->occupancy_ratio, 1.0);
  EXPECT_EQ(light->limiters.ToString(), "warps");
}

TEST(FirstOrderOccupancy, EachResourceCanBeTheOneThatLimits) {
  EXPECT_EQ(FirstOrderOccupancy(WorkedSm(), {32, 8, 0})->limiters.ToString(), "blocks");
  EXPECT_EQ(FirstOrderOccupancy(WorkedSm(), {1024, 8, 0})->limiters.ToString(), "threads + warps");
  // 33 threads are two warps, so warps run out first.
  EXPECT_EQ(FirstOrderOccupancy(WorkedSm(), {33, 8, 0})->limiters.ToString(), "blocks + warps");
  EXPECT_EQ(FirstOrderOccupancy(WorkedSm(), {65, 8, 0})->limiters.ToString(), "warps");
  SmBudget few_threads = WorkedSm();
  few_threads.max_threads_count = 512;
  EXPECT_EQ(FirstOrderOccupancy(few_threads, {256, 8, 0})->limiters.ToString(), "threads");
  EXPECT_EQ(FirstOrderOccupancy(SmWithoutThreadLimit(), {64, 8, 16 * kKib})->limiters.ToString(), "shared_memory");
}

TEST(FirstOrderOccupancy, TheSmallestBlockUsesOneOfEach) {
  const auto result = FirstOrderOccupancy(WorkedSm(), {1, 1, 1});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->limits[OccupancyLimiter::kThreads], 2048);
  EXPECT_EQ(result->limits[OccupancyLimiter::kWarps], 64);
  EXPECT_EQ(result->limits[OccupancyLimiter::kRegisters], 65536);
  EXPECT_EQ(result->limits[OccupancyLimiter::kSharedMemory], 164 * kKib);
}

TEST(FirstOrderOccupancy, ABlockThatDoesNotFitIsZeroBlocksWithItsLimiter) {
  const auto result = FirstOrderOccupancy(WorkedSm(), {256, 64, 165 * kKib});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->blocks_per_sm_count, 0);
  EXPECT_EQ(result->occupancy_ratio, 0);
  EXPECT_EQ(result->limiters.ToString(), "shared_memory");
  EXPECT_EQ(result->next_limit_blocks_count, 4);
}

TEST(FirstOrderOccupancy, InvalidInputIsRefusedByName) {
  const auto message = [](const SmBudget& budget, const BlockDemand& demand) {
    return std::string(FirstOrderOccupancy(budget, demand).status().message());
  };
  EXPECT_EQ(message(WorkedSm(), {0, 64, 0}), "threads_per_block_count: got 0, expected 1 or more");
  EXPECT_EQ(message(WorkedSm(), {-32, 64, 0}), "threads_per_block_count: got -32, expected 1 or more");
  EXPECT_EQ(message(WorkedSm(), {32, -1, 0}), "registers_per_thread_count: got -1, expected 0 or more");
  EXPECT_EQ(message(WorkedSm(), {32, 1, -1}), "shared_memory_per_block_bytes: got -1, expected 0 or more");
  EXPECT_EQ(message(WorkedSm(), {kMax, 2, 0}),
            "registers_per_thread_count x threads_per_block_count: 2 x 9223372036854775807 is beyond "
            "9223372036854775807");
  // The longest block there is: nothing wraps around on the way to "does not fit".
  const auto longest = FirstOrderOccupancy(WorkedSm(), {kMax, 1, kMax});
  ASSERT_TRUE(longest.ok());
  EXPECT_EQ(longest->blocks_per_sm_count, 0);

  const auto with = [&](auto change) {
    SmBudget budget = WorkedSm();
    change(budget);
    return message(budget, {32, 8, 0});
  };
  EXPECT_EQ(with([](SmBudget& b) { b.max_blocks_count = 0; }), "max_blocks_count: got 0, expected 1 or more");
  EXPECT_EQ(with([](SmBudget& b) { b.max_threads_count = 0; }), "max_threads_count: got 0, expected 1 or more");
  EXPECT_EQ(with([](SmBudget& b) { b.max_warps_count = -1; }), "max_warps_count: got -1, expected 1 or more");
  EXPECT_EQ(with([](SmBudget& b) { b.registers_count = 0; }), "registers_count: got 0, expected 1 or more");
  EXPECT_EQ(with([](SmBudget& b) { b.shared_memory_bytes = 0; }), "shared_memory_bytes: got 0, expected 1 or more");
  EXPECT_EQ(with([](SmBudget& b) { b.warp_threads_count = 0; }), "warp_threads_count: got 0, expected 1 or more");
}

TEST(FirstOrderOccupancy, MoreOfAnyDemandNeverFitsMoreBlocks) {
  std::mt19937_64 random(1);
  const auto draw = [&random](int64_t min, int64_t max) {
    return std::uniform_int_distribution<int64_t>(min, max)(random);
  };
  int limited[kOccupancyLimiterCount] = {};
  for (int i = 0; i < 20'000; ++i) {
    const SmBudget budget = {
        .max_blocks_count = draw(1, 64),
        .max_threads_count = draw(0, 1) == 0 ? std::nullopt : std::optional<int64_t>(draw(1, 4096)),
        .max_warps_count = draw(1, 128),
        .registers_count = draw(1, 1 << 17),
        .shared_memory_bytes = draw(1, 1 << 18)};
    const BlockDemand demand = {draw(1, 1024), draw(0, 255), draw(0, 1) * draw(0, 1 << 17)};
    const Occupancy base = *FirstOrderOccupancy(budget, demand);
    for (const OccupancyLimiter limiter : kOccupancyLimiters) {
      if (base.limiters.Has(limiter)) ++limited[static_cast<size_t>(limiter)];
    }
    EXPECT_GE(base.occupancy_ratio, 0);
    EXPECT_LE(base.occupancy_ratio, 1);
    for (const auto field : {&BlockDemand::threads_per_block_count, &BlockDemand::registers_per_thread_count,
                             &BlockDemand::shared_memory_per_block_bytes}) {
      BlockDemand more = demand;
      // From none of it to some of it is more, too: none is no limit.
      more.*field += draw(1, 512);
      EXPECT_LE(FirstOrderOccupancy(budget, more)->blocks_per_sm_count, base.blocks_per_sm_count);
    }
    SmBudget larger = budget;
    larger.max_blocks_count += draw(0, 8);
    larger.max_warps_count += draw(0, 8);
    larger.registers_count += draw(0, 4096);
    larger.shared_memory_bytes += draw(0, 4096);
    EXPECT_GE(FirstOrderOccupancy(larger, demand)->blocks_per_sm_count, base.blocks_per_sm_count);
  }
  for (const OccupancyLimiter limiter :
       {OccupancyLimiter::kBlocks, OccupancyLimiter::kThreads, OccupancyLimiter::kWarps, OccupancyLimiter::kRegisters,
        OccupancyLimiter::kSharedMemory}) {
    EXPECT_GT(limited[static_cast<size_t>(limiter)], 100) << ToString(limiter) << " was hardly tried";
  }
}

// Blocks fall as a block grows, but the warps that are resident do not: a smaller block can leave more of the SM empty.
TEST(FirstOrderOccupancy, OccupancyIsNotMonotoneInThreads) {
  const Occupancy small = *FirstOrderOccupancy(WorkedSm(), {32, 8, 0});
  const Occupancy large = *FirstOrderOccupancy(WorkedSm(), {64, 8, 0});
  const Occupancy larger = *FirstOrderOccupancy(WorkedSm(), {1056, 8, 0});
  EXPECT_LT(small.occupancy_ratio, large.occupancy_ratio);
  EXPECT_GT(large.occupancy_ratio, larger.occupancy_ratio);
}

TEST(FirstOrderBudget, IsTheWholeSm) {
  const SmBudget budget = FirstOrderBudget(**FindSmLimits({8, 0}));
  const auto result = FirstOrderOccupancy(budget, {256, 64, 48 * kKib});
  ASSERT_TRUE(result.ok());
  // 8.0 is the SM of the worked example.
  EXPECT_EQ(result->blocks_per_sm_count, 3);
  EXPECT_EQ(result->limits, FirstOrderOccupancy(WorkedSm(), {256, 64, 48 * kKib})->limits);
}

}  // namespace
}  // namespace gx::model
