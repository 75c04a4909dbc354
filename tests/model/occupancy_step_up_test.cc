#include "analysis/model/occupancy_step_up.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>

namespace gx::model {
namespace {

constexpr int64_t kKib = 1024;

SmLimits Table(int major, int minor) { return **FindSmLimits({major, minor}); }

OccupancyStepUp StepUp(const SmLimits& limits, const LaunchResources& launch) {
  const auto occupancy = ComputeExactOccupancy(limits, launch);
  EXPECT_TRUE(occupancy.ok()) << occupancy.status();
  return ComputeOccupancyStepUp(limits, launch, *occupancy);
}

TEST(OccupancyStepUp, RegistersOrThreadsMakeRoomForOneMoreBlock) {
  // 4 blocks of 8 warps at 64 registers; 5 need ceil(40 / 4) = 10 warps in a sub-partition of 16,384: 1,536 a warp.
  const OccupancyStepUp step = StepUp(Table(9, 0), {.threads_per_block_count = 256, .registers_per_thread_count = 64});
  EXPECT_EQ(step.blocks_per_sm_count, 5);
  EXPECT_EQ(step.limiters.ToString(), "registers");
  EXPECT_TRUE(step.is_possible);
  EXPECT_EQ(step.registers_per_thread_count, 48);
  // 32 warps of 64 registers, five times six.
  EXPECT_EQ(step.threads_per_block_count, 192);
  EXPECT_EQ(step.shared_memory_per_block_bytes, std::nullopt);
  EXPECT_EQ(step.barriers_per_block_count, std::nullopt);
}

TEST(OccupancyStepUp, SharedMemoryOrALargerCarveoutMakesRoom) {
  const OccupancyStepUp step = StepUp(Table(9, 0), {.threads_per_block_count = 256,
                                                    .registers_per_thread_count = 40,
                                                    .dynamic_shared_memory_bytes = 65536,
                                                    .carveout_percent = 0});
  EXPECT_EQ(step.blocks_per_sm_count, 2);
  EXPECT_EQ(step.limiters.ToString(), "shared_memory");
  EXPECT_TRUE(step.is_possible);
  // A preference of 0 is raised to one block only, and no size is twice the one below it but for the smallest: 8 KiB
  // hold two blocks of 3 KiB and their reserve.
  EXPECT_EQ(step.shared_memory_per_block_bytes, 3 * kKib);
  EXPECT_EQ(step.carveout_bytes, 132 * kKib);
}

TEST(OccupancyStepUp, WithoutAPreferenceTheWholeSmIsDivided) {
  const OccupancyStepUp step = StepUp(
      Table(9, 0),
      {.threads_per_block_count = 256, .registers_per_thread_count = 40, .dynamic_shared_memory_bytes = 100 * kKib});
  EXPECT_EQ(step.blocks_per_sm_count, 3);
  EXPECT_EQ(step.shared_memory_per_block_bytes, 75 * kKib);
  EXPECT_EQ(step.carveout_bytes, std::nullopt);
  EXPECT_TRUE(step.is_possible);
}

TEST(OccupancyStepUp, MissingBlockSlotsCannotBeMade) {
  const OccupancyStepUp step = StepUp(Table(12, 0), {.threads_per_block_count = 32, .registers_per_thread_count = 16});
  EXPECT_EQ(step.limiters.ToString(), "blocks + barriers");
  EXPECT_FALSE(step.is_possible);
  EXPECT_EQ(step.barriers_per_block_count, std::nullopt);
}

TEST(OccupancyStepUp, BarriersAndVirtualResources) {
  EXPECT_EQ(StepUp(Table(9, 0),
                   {.threads_per_block_count = 64, .registers_per_thread_count = 32, .barriers_per_block_count = 4})
                .barriers_per_block_count,
            3);
  EXPECT_EQ(
      StepUp(Table(10, 0),
             {.threads_per_block_count = 64, .registers_per_thread_count = 32, .virtual_resources_per_block_count = 40})
          .virtual_resources_per_block_count,
      32);
}

TEST(OccupancyStepUp, SaysWhatARefusedLaunchNeeds) {
  EXPECT_EQ(StepUp(Table(8, 0), {.threads_per_block_count = 1024, .registers_per_thread_count = 65})
                .registers_per_thread_count,
            64);
  // 9 warps are checked as 12.
  const OccupancyStepUp rounded =
      StepUp(Table(8, 0), {.threads_per_block_count = 288, .registers_per_thread_count = 176});
  EXPECT_EQ(rounded.registers_per_thread_count, 168);
  EXPECT_EQ(rounded.threads_per_block_count, 256);
  EXPECT_EQ(
      StepUp(Table(8, 0), {.threads_per_block_count = 1025, .registers_per_thread_count = 16}).threads_per_block_count,
      1024);
  EXPECT_EQ(
      StepUp(Table(9, 0),
             {.threads_per_block_count = 128, .registers_per_thread_count = 32, .dynamic_shared_memory_bytes = 232449})
          .shared_memory_per_block_bytes,
      232448);
  EXPECT_EQ(StepUp(Table(9, 0), {.threads_per_block_count = 128,
                                 .registers_per_thread_count = 32,
                                 .dynamic_shared_memory_bytes = 65536,
                                 .shared_memory_limit = SharedMemoryLimit::kDefault})
                .shared_memory_per_block_bytes,
            49152);
  EXPECT_EQ(StepUp(Table(9, 0), {.threads_per_block_count = 128,
                                 .registers_per_thread_count = 32,
                                 .static_shared_memory_bytes = 100,
                                 .dynamic_shared_memory_bytes = 65536,
                                 .max_dynamic_shared_memory_bytes = 60000})
                .shared_memory_per_block_bytes,
            60100);
  const OccupancyStepUp cluster = StepUp(
      Table(8, 0), {.threads_per_block_count = 128, .registers_per_thread_count = 32, .cluster_blocks_count = 2});
  EXPECT_FALSE(cluster.is_possible);
  EXPECT_TRUE(cluster.limiters.empty());
  // No registers help a launch whose cluster is refused as well.
  const OccupancyStepUp both = StepUp(
      Table(8, 0), {.threads_per_block_count = 1024, .registers_per_thread_count = 65, .cluster_blocks_count = 2});
  EXPECT_EQ(both.limiters.ToString(), "registers");
  EXPECT_FALSE(both.is_possible);
}

// Device values so far out that each resource comes to an end before the block slots do.
TEST(OccupancyStepUp, AResourceOfWhichABlockUsesTheLeastThereIsCannotGiveWay) {
  const auto many_blocks = ApplyDeviceValues(Table(10, 0), {.max_blocks_per_sm_count = 4096});
  const auto many_warps =
      ApplyDeviceValues(Table(10, 0), {.max_threads_per_sm_count = 1 << 17, .max_blocks_per_sm_count = 4096});
  ASSERT_TRUE(many_blocks.ok() && many_warps.ok());

  const OccupancyStepUp warps = StepUp(*many_blocks, {.threads_per_block_count = 1, .registers_per_thread_count = 8});
  EXPECT_EQ(warps.limiters.ToString(), "warps");
  EXPECT_EQ(warps.threads_per_block_count, std::nullopt);
  EXPECT_FALSE(warps.is_possible);

  const OccupancyStepUp shared = StepUp(*many_warps, {.threads_per_block_count = 1, .registers_per_thread_count = 1});
  EXPECT_EQ(shared.blocks_per_sm_count, 229);
  EXPECT_EQ(shared.limiters.ToString(), "shared_memory");
  EXPECT_EQ(shared.shared_memory_per_block_bytes, std::nullopt);
  EXPECT_EQ(shared.carveout_bytes, std::nullopt);
  EXPECT_FALSE(shared.is_possible);

  SmLimits without_reserve = *many_warps;
  without_reserve.reserved_shared_memory_per_block_bytes = 0;
  const OccupancyStepUp registers =
      StepUp(without_reserve, {.threads_per_block_count = 1, .registers_per_thread_count = 1});
  EXPECT_EQ(registers.blocks_per_sm_count, 257);
  EXPECT_EQ(registers.limiters.ToString(), "registers");
  EXPECT_EQ(registers.registers_per_thread_count, std::nullopt);
  EXPECT_EQ(registers.threads_per_block_count, std::nullopt);
  EXPECT_FALSE(registers.is_possible);

  const OccupancyStepUp virtual_resources =
      StepUp(*many_warps,
             {.threads_per_block_count = 1, .registers_per_thread_count = 1, .virtual_resources_per_block_count = 1});
  EXPECT_EQ(virtual_resources.limiters.ToString(), "virtual_resources");
  EXPECT_EQ(virtual_resources.virtual_resources_per_block_count, std::nullopt);
  EXPECT_FALSE(virtual_resources.is_possible);
}

// Half of the register file a block: 4 warps of 8,192 are allowed, though the SM has room for 8.
TEST(OccupancyStepUp, ABlocksOwnRegisterLimitCounts) {
  const auto limits = ApplyDeviceValues(Table(9, 0), {.max_registers_per_block_count = 32768});
  ASSERT_TRUE(limits.ok());
  const OccupancyStepUp step = StepUp(*limits, {.threads_per_block_count = 256, .registers_per_thread_count = 255});
  EXPECT_EQ(step.blocks_per_sm_count, 1);
  EXPECT_EQ(step.threads_per_block_count, 128);
  EXPECT_EQ(step.registers_per_thread_count, 128);
}

// Of each resource by trying: the value does it, and the next larger one does not.
TEST(OccupancyStepUp, EveryValueIsTheLargestThatDoesIt) {
  std::mt19937_64 random(6);
  const auto draw = [&random](int64_t min, int64_t max) {
    return std::uniform_int_distribution<int64_t>(min, max)(random);
  };
  int tried_threads = 0;
  int tried_registers = 0;
  int tried_shared = 0;
  int tried_carveout = 0;
  int tried_barriers = 0;
  int tried_virtual = 0;
  int impossible = 0;
  for (int i = 0; i < 40'000; ++i) {
    const SmLimits& limits = KnownSmLimits()[static_cast<size_t>(draw(0, 11))];
    LaunchResources launch;
    launch.threads_per_block_count = draw(1, 1100);
    launch.registers_per_thread_count = draw(0, 255);
    launch.static_shared_memory_bytes = draw(0, 2) == 0 ? draw(0, 20'000) : 0;
    launch.dynamic_shared_memory_bytes = draw(0, 2) == 0 ? 0 : draw(0, 1 << draw(1, 18));
    launch.carveout_percent = draw(0, 1) == 0 ? -1 : draw(0, 100);
    launch.barriers_per_block_count = draw(0, 2) == 0 ? draw(0, 16) : 1;
    launch.virtual_resources_per_block_count = draw(0, 3) == 0 ? draw(0, 200) : 0;
    if (draw(0, 3) == 0) launch.shared_memory_limit = SharedMemoryLimit::kDefault;
    if (draw(0, 3) == 0) launch.max_dynamic_shared_memory_bytes = draw(0, 1 << 18);
    const auto before = ComputeExactOccupancy(limits, launch);
    ASSERT_TRUE(before.ok()) << before.status();
    const OccupancyStepUp step = ComputeOccupancyStepUp(limits, launch, *before);
    const int64_t target = step.blocks_per_sm_count;
    ASSERT_EQ(target, before->blocks_per_sm_count + 1);

    // Whether the limits that the resource enters allow the target once it has another value.
    const auto allows = [&](auto change, std::initializer_list<OccupancyLimiter> limiters) {
      LaunchResources changed = launch;
      change(changed);
      const auto after = ComputeExactOccupancy(limits, changed);
      if (!after.ok()) return false;
      for (const OccupancyLimiter limiter : limiters) {
        if (after->limits[limiter].value_or(target) < target) return false;
      }
      return true;
    };
    const auto threads_allow = [&](int64_t value) {
      return allows([value](auto& l) { l.threads_per_block_count = value; },
                    {OccupancyLimiter::kWarps, OccupancyLimiter::kRegisters});
    };
    const auto registers_allow = [&](int64_t value) {
      return allows([value](auto& l) { l.registers_per_thread_count = value; }, {OccupancyLimiter::kRegisters});
    };
    const auto shared_allows = [&](int64_t value) {
      return allows(
          [value](auto& l) {
            // Dynamic first, static only where that is not enough.
            l.static_shared_memory_bytes = std::min(l.static_shared_memory_bytes, value);
            l.dynamic_shared_memory_bytes = value - l.static_shared_memory_bytes;
          },
          {OccupancyLimiter::kSharedMemory});
    };

    const LimiterSet limiters = before->limiters;
    bool possible = !limiters.Has(OccupancyLimiter::kBlocks);
    if (limiters.Has(OccupancyLimiter::kWarps) || limiters.Has(OccupancyLimiter::kRegisters)) {
      ++tried_threads;
      if (step.threads_per_block_count.has_value()) {
        EXPECT_TRUE(threads_allow(*step.threads_per_block_count));
        EXPECT_FALSE(threads_allow(*step.threads_per_block_count + 1));
      } else {
        EXPECT_FALSE(threads_allow(1));
      }
      if (limiters.Has(OccupancyLimiter::kWarps)) possible = possible && threads_allow(1);
    } else {
      EXPECT_EQ(step.threads_per_block_count, std::nullopt);
    }
    if (limiters.Has(OccupancyLimiter::kRegisters)) {
      ++tried_registers;
      if (step.registers_per_thread_count.has_value()) {
        EXPECT_TRUE(registers_allow(*step.registers_per_thread_count));
        EXPECT_FALSE(registers_allow(*step.registers_per_thread_count + 1));
      } else {
        EXPECT_FALSE(registers_allow(1));
      }
      possible = possible && (registers_allow(1) || threads_allow(1));
    } else {
      EXPECT_EQ(step.registers_per_thread_count, std::nullopt);
    }
    if (limiters.Has(OccupancyLimiter::kSharedMemory)) {
      ++tried_shared;
      if (step.shared_memory_per_block_bytes.has_value()) {
        EXPECT_TRUE(shared_allows(*step.shared_memory_per_block_bytes));
        EXPECT_FALSE(shared_allows(*step.shared_memory_per_block_bytes + 1));
      } else {
        EXPECT_FALSE(shared_allows(0));
      }
      const auto carveout_allows = [&](int64_t value) {
        return allows([value](auto& l) { l.carveout_executed_bytes = value; }, {OccupancyLimiter::kSharedMemory});
      };
      if (step.carveout_bytes.has_value()) {
        ++tried_carveout;
        EXPECT_TRUE(carveout_allows(*step.carveout_bytes));
        for (const int64_t smaller : limits.carveout_steps_bytes) {
          if (smaller >= *step.carveout_bytes) break;
          EXPECT_FALSE(carveout_allows(smaller));
        }
      } else {
        EXPECT_FALSE(carveout_allows(limits.shared_memory_per_sm_bytes));
      }
      possible = possible && (shared_allows(0) || step.carveout_bytes.has_value());
    } else {
      EXPECT_EQ(step.shared_memory_per_block_bytes, std::nullopt);
      EXPECT_EQ(step.carveout_bytes, std::nullopt);
    }
    const auto barriers_allow = [&](int64_t value) {
      return allows([value](auto& l) { l.barriers_per_block_count = value; }, {OccupancyLimiter::kBarriers});
    };
    if (limiters.Has(OccupancyLimiter::kBarriers)) {
      ++tried_barriers;
      if (step.barriers_per_block_count.has_value()) {
        EXPECT_TRUE(barriers_allow(*step.barriers_per_block_count));
        EXPECT_FALSE(barriers_allow(*step.barriers_per_block_count + 1));
      }
      possible = possible && barriers_allow(1);
    }
    const auto virtual_allow = [&](int64_t value) {
      return allows([value](auto& l) { l.virtual_resources_per_block_count = value; },
                    {OccupancyLimiter::kVirtualResources});
    };
    if (limiters.Has(OccupancyLimiter::kVirtualResources)) {
      ++tried_virtual;
      ASSERT_TRUE(step.virtual_resources_per_block_count.has_value());
      EXPECT_TRUE(virtual_allow(*step.virtual_resources_per_block_count));
      EXPECT_FALSE(virtual_allow(*step.virtual_resources_per_block_count + 1));
    }
    EXPECT_EQ(step.is_possible, possible);
    if (!step.is_possible) ++impossible;
    if (HasFailure()) {
      FAIL() << limits.compute_capability.ToString() << ": " << launch.threads_per_block_count << " threads, "
             << launch.registers_per_thread_count << " registers, " << launch.static_shared_memory_bytes << " + "
             << launch.dynamic_shared_memory_bytes << " bytes, carve-out " << launch.carveout_percent << ", limited by "
             << limiters.ToString() << " to " << before->blocks_per_sm_count;
    }
  }
  for (const int tried :
       {tried_threads, tried_registers, tried_shared, tried_carveout, tried_barriers, tried_virtual, impossible}) {
    EXPECT_GT(tried, 200);
  }
}

TEST(OccupancyStepUp, TheCarveoutReallyUsedIsTakenToStay) {
  LaunchResources launch = {.threads_per_block_count = 256,
                            .registers_per_thread_count = 32,
                            .static_shared_memory_bytes = 1024,
                            .carveout_executed_bytes = 8 * kKib};
  const OccupancyStepUp step = StepUp(Table(9, 0), launch);
  EXPECT_EQ(step.blocks_per_sm_count, 5);
  // Five of 8 KiB are 1,536 bytes each in units of 128, 1,024 of them reserved.
  EXPECT_EQ(step.shared_memory_per_block_bytes, 512);
  EXPECT_EQ(step.carveout_bytes, 16 * kKib);
}

}  // namespace
}  // namespace gx::model
