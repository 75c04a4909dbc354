#include "analysis/model/occupancy_exact.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "analysis/model/occupancy.h"

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kKib = 1024;

SmLimits Table(int major, int minor) { return **FindSmLimits({major, minor}); }

ExactOccupancy Compute(const SmLimits& limits, const LaunchResources& launch) {
  const auto result = ComputeExactOccupancy(limits, launch);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(ExactOccupancy{});
}

std::string Refusal(const SmLimits& limits, const LaunchResources& launch) {
  return DescribeRefusals(limits, launch, Compute(limits, launch));
}

constexpr int64_t kNone = -1;  // no limit

struct Vector {
  int number;
  ComputeCapability compute_capability;
  LaunchResources launch;
  int64_t blocks;
  int64_t warps;
  std::string limiters;
  int64_t registers_per_block;
  int64_t shared_per_block;
  int64_t limit_warps, limit_registers, limit_shared, limit_blocks, limit_barriers;
};

LaunchResources Launch(int64_t threads, int64_t registers, int64_t static_bytes = 0, int64_t dynamic_bytes = 0,
                       int64_t carveout = -1) {
  return {.threads_per_block_count = threads,
          .registers_per_thread_count = registers,
          .static_shared_memory_bytes = static_bytes,
          .dynamic_shared_memory_bytes = dynamic_bytes,
          .carveout_percent = carveout};
}

LaunchResources With(LaunchResources launch, auto change) {
  change(launch);
  return launch;
}

// Computed with cuda_occupancy.h of CUDA 13.0; each row says what it is there for. Limiters are those of the final
// minimum: where the header's own flags differ (17), the test over the header says so.
TEST(ComputeExactOccupancy, IsRightForVectorsThatEachTestOneRule) {
  const LaunchResources barriers4 = With(Launch(64, 32), [](auto& l) { l.barriers_per_block_count = 4; });
  const LaunchResources no_optin =
      With(Launch(128, 32, 0, 65536), [](auto& l) { l.shared_memory_limit = SharedMemoryLimit::kDefault; });
  const LaunchResources small_max =
      With(Launch(128, 32, 0, 65536), [](auto& l) { l.max_dynamic_shared_memory_bytes = 49152; });
  const Vector vectors[] = {
      // Full occupancy; warps and registers tie.
      {1, {8, 0}, Launch(256, 32), 8, 64, "warps + registers", 8192, 1024, 8, 8, 164, 32, kNone},
      // One register more is a unit more a warp.
      {2, {8, 0}, Launch(256, 33), 6, 48, "registers", 10240, 1024, 8, 6, 164, 32, kNone},
      // 1,536 threads an SM.
      {3, {8, 6}, Launch(128, 32), 12, 48, "warps", 4096, 1024, 12, 16, 100, 16, kNone},
      // 16 blocks an SM on 8.6, 24 on 8.9.
      {4, {8, 6}, Launch(64, 24), 16, 32, "blocks", 1536, 1024, 24, 42, 100, 16, kNone},
      {5, {8, 9}, Launch(64, 24), 24, 48, "blocks + warps", 1536, 1024, 24, 42, 100, 24, kNone},
      // A matrix product with warpgroups: one block an SM.
      {6, {9, 0}, Launch(384, 168, 0, 204800), 1, 12, "registers + shared_memory", 64512, 205824, 5, 1, 1, 32, 64},
      // 255 registers are 8,192 a warp.
      {7, {9, 0}, Launch(128, 255), 2, 8, "registers", 32768, 1024, 16, 2, 228, 32, 64},
      // 16 warps by registers, three a block.
      {8, {9, 0}, Launch(96, 128), 5, 15, "registers", 12288, 1024, 21, 5, 228, 32, 64},
      // 48 KiB and the reserve; then with half the SM, which is 132 KiB.
      {9, {9, 0}, Launch(256, 40, 1024, 48128), 4, 32, "shared_memory", 10240, 50176, 8, 6, 4, 32, 64},
      {10, {9, 0}, Launch(256, 40, 1024, 48128, 50), 2, 16, "shared_memory", 10240, 50176, 8, 6, 2, 32, 64},
      // No shared memory preferred: raised to the step that holds one block.
      {11, {9, 0}, Launch(256, 40, 0, 65536, 0), 1, 8, "shared_memory", 10240, 66560, 8, 6, 1, 32, 64},
      // Volta: units of 256 bytes, no reserve.
      {12, {7, 0}, Launch(256, 64, 12288), 4, 32, "registers", 16384, 12288, 8, 4, 8, 32, kNone},
      // Turing: 64 KiB, 1,024 threads an SM.
      {13, {7, 5}, Launch(128, 64, 0, 32768), 2, 8, "shared_memory", 8192, 32768, 8, 8, 2, 16, kNone},
      {14, {10, 0}, Launch(192, 128, 0, 100000), 2, 12, "registers + shared_memory", 24576, 101120, 10, 2, 2, 32, 64},
      {15, {12, 0}, Launch(256, 96, 0, 33792), 2, 16, "registers + shared_memory", 24576, 34816, 6, 2, 2, 24, 24},
      // 24 blocks and 24 barriers on 12.0.
      {16, {12, 0}, Launch(32, 16), 24, 24, "blocks + barriers", 512, 1024, 48, 128, 100, 24, 24},
      // Four named barriers a block.
      {17, {9, 0}, barriers4, 16, 32, "barriers", 2048, 1024, 32, 32, 228, 32, 16},
      // The whole register file, and one unit more.
      {18, {8, 0}, Launch(1024, 64), 1, 32, "registers", 65536, 1024, 2, 1, 164, 32, kNone},
      {19, {8, 0}, Launch(1024, 65), 0, 0, "registers", 73728, 1024, 2, 0, 164, 32, kNone},
      // 9 warps fit, the 12 that the hardware checks do not.
      {20, {8, 0}, Launch(288, 176), 0, 0, "registers", 50688, 1024, 7, 0, 164, 32, kNone},
      // Two warps a sub-partition.
      {21, {8, 0}, Launch(160, 208), 1, 5, "registers", 33280, 1024, 12, 1, 164, 32, kNone},
      // Above 48 KiB without opt-in; above the function's own maximum.
      {22, {9, 0}, no_optin, 0, 0, "shared_memory", 4096, 66560, 16, 16, 0, 32, 64},
      {23, {9, 0}, small_max, 0, 0, "shared_memory", 4096, 66560, 16, 16, 0, 32, 64},
      // 227 KiB, and one byte more.
      {24, {9, 0}, Launch(128, 32, 0, 232448), 1, 4, "shared_memory", 4096, 233472, 16, 16, 1, 32, 64},
      {25, {9, 0}, Launch(128, 32, 0, 232449), 0, 0, "shared_memory", 4096, 233600, 16, 16, 0, 32, 64},
      // 10 per cent are 10 KiB, rounded up to 16.
      {26, {8, 9}, Launch(256, 32, 0, 8192, 10), 1, 8, "shared_memory", 8192, 9216, 6, 8, 1, 24, kNone},
  };
  for (const Vector& vector : vectors) {
    SCOPED_TRACE(vector.number);
    const ExactOccupancy result =
        Compute(Table(vector.compute_capability.major, vector.compute_capability.minor), vector.launch);
    EXPECT_EQ(result.blocks_per_sm_count, vector.blocks);
    EXPECT_EQ(result.active_warps_count, vector.warps);
    EXPECT_EQ(result.limiters.ToString(), vector.limiters);
    EXPECT_EQ(result.allocated_registers_per_block_count, vector.registers_per_block);
    EXPECT_EQ(result.allocated_shared_memory_per_block_bytes, vector.shared_per_block);
    EXPECT_EQ(result.limits[OccupancyLimiter::kWarps], vector.limit_warps);
    EXPECT_EQ(result.limits[OccupancyLimiter::kRegisters], vector.limit_registers);
    EXPECT_EQ(result.limits[OccupancyLimiter::kSharedMemory], vector.limit_shared);
    EXPECT_EQ(result.limits[OccupancyLimiter::kBlocks], vector.limit_blocks);
    EXPECT_EQ(result.limits[OccupancyLimiter::kBarriers].value_or(kNone), vector.limit_barriers);
    EXPECT_EQ(result.limits[OccupancyLimiter::kThreads], std::nullopt);
    EXPECT_EQ(result.refusals.empty(), vector.blocks > 0);
  }
}

// Vectors 27 to 30 of the same series are of compute capability 6.1, whose partitioned caching is not modelled.
TEST(ComputeExactOccupancy, PascalIsRefusedByName) {
  EXPECT_EQ(FindSmLimits({6, 1}).status().message(),
            "compute_capability: got 6.1, expected one of 7.0, 7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, 11.0, 12.0, "
            "12.1");
}

TEST(ComputeExactOccupancy, NamesTheNextLimit) {
  const ExactOccupancy result = Compute(Table(8, 0), Launch(256, 33));
  EXPECT_EQ(result.limiters.ToString(), "registers");
  EXPECT_EQ(result.next_limit_blocks_count, 8);
  EXPECT_EQ(result.next_limiters.ToString(), "warps");
  EXPECT_EQ(result.occupancy_ratio, 0.75);
  EXPECT_EQ(result.allocated_registers_per_warp_count, 1280);
}

// What a kernel without registers, shared memory or barriers is limited by.
TEST(ComputeExactOccupancy, WhatIsNotUsedDoesNotLimit) {
  const LaunchResources launch = With(Launch(128, 0), [](auto& l) { l.barriers_per_block_count = 0; });
  const ExactOccupancy volta = Compute(Table(7, 0), launch);
  EXPECT_EQ(volta.limits[OccupancyLimiter::kRegisters], std::nullopt);
  EXPECT_EQ(volta.limits[OccupancyLimiter::kSharedMemory], std::nullopt);
  EXPECT_EQ(volta.limits[OccupancyLimiter::kBarriers], std::nullopt);
  EXPECT_EQ(volta.limits[OccupancyLimiter::kVirtualResources], std::nullopt);
  EXPECT_EQ(volta.blocks_per_sm_count, 16);
  // From 8.0 on the reserve is charged to every block, used or not.
  EXPECT_EQ(Compute(Table(8, 0), launch).limits[OccupancyLimiter::kSharedMemory], 164);
}

// Before 9.0 named barriers are counted by the hardware, but cuda_occupancy.h does not apply them.
TEST(ComputeExactOccupancy, BarriersLimitFromHopperOn) {
  const LaunchResources launch = With(Launch(32, 16), [](auto& l) { l.barriers_per_block_count = 16; });
  EXPECT_EQ(Compute(Table(8, 9), launch).blocks_per_sm_count, 24);
  EXPECT_EQ(Compute(Table(8, 9), launch).limits[OccupancyLimiter::kBarriers], std::nullopt);
  EXPECT_EQ(Compute(Table(9, 0), launch).blocks_per_sm_count, 4);
  EXPECT_EQ(Compute(Table(12, 0), launch).blocks_per_sm_count, 1);
}

// cuda_occupancy.h of CUDA 13.0: 128 an SM on 10.x, 11.x and 12.x.
TEST(ComputeExactOccupancy, VirtualResourcesLimitFromBlackwellOn) {
  const auto launch = [](int64_t count) {
    return With(Launch(128, 32), [count](auto& l) { l.virtual_resources_per_block_count = count; });
  };
  EXPECT_EQ(Compute(Table(10, 0), launch(0)).limits[OccupancyLimiter::kVirtualResources], std::nullopt);
  EXPECT_EQ(Compute(Table(10, 0), launch(40)).blocks_per_sm_count, 3);
  EXPECT_EQ(Compute(Table(10, 0), launch(40)).limiters.ToString(), "virtual_resources");
  EXPECT_EQ(Compute(Table(9, 0), launch(40)).blocks_per_sm_count, 16);
  EXPECT_EQ(Refusal(Table(12, 0), launch(129)), "virtual_resources_per_block_count: got 129, an SM has 128");
  EXPECT_EQ(Refusal(Table(12, 0), launch(kMax)),
            "virtual_resources_per_block_count: got 9223372036854775807, an SM has 128");
}

TEST(ComputeExactOccupancy, EveryRefusalSaysWhy) {
  const SmLimits hopper = Table(9, 0);
  EXPECT_EQ(Refusal(hopper, Launch(1024, 32)), "");
  EXPECT_EQ(Refusal(hopper, Launch(1025, 32)), "threads_per_block_count: got 1025, a block may have 1024");
  EXPECT_EQ(Refusal(hopper, Launch(1024, 65)),
            "registers_per_thread_count: got 65, which makes 73728 registers a block (32 warps of 2304), a block may "
            "have 65536");
  EXPECT_EQ(Refusal(hopper, Launch(288, 176)),
            "registers_per_thread_count: got 176, which makes 67584 registers a block in the hardware's check (9 warps "
            "count as 12 of 5632), a block may have 65536");
  EXPECT_EQ(Refusal(hopper, With(Launch(128, 32, 1024, 65536),
                                 [](auto& l) { l.shared_memory_limit = SharedMemoryLimit::kDefault; })),
            "static_shared_memory_bytes + dynamic_shared_memory_bytes: got 66560, 17408 more than the 49152 of a "
            "function that has not opted in");
  EXPECT_EQ(Refusal(hopper, Launch(128, 32, 0, 232449)),
            "static_shared_memory_bytes + dynamic_shared_memory_bytes: got 232449, 1 more than the 232448 that a block "
            "can opt in to");
  EXPECT_EQ(
      Refusal(hopper, With(Launch(128, 32, 0, 65536), [](auto& l) { l.max_dynamic_shared_memory_bytes = 49152; })),
      "dynamic_shared_memory_bytes: got 65536, 16384 more than the function's maximum of 49152");
  EXPECT_EQ(Refusal(Table(8, 9), With(Launch(128, 32), [](auto& l) { l.cluster_blocks_count = 2; })),
            "cluster_blocks_count: got 2, compute capability 8.9 has no clusters");
  EXPECT_EQ(Refusal(hopper, With(Launch(128, 32),
                                 [](auto& l) {
                                   l.cluster_blocks_count = 16;
                                   l.max_potential_cluster_blocks_count = 8;
                                 })),
            "cluster_blocks_count: got 16, the device takes 8");
  const auto few_slots = ApplyDeviceValues(hopper, {.max_blocks_per_sm_count = 4});
  ASSERT_TRUE(few_slots.ok());
  EXPECT_EQ(Refusal(*few_slots, With(Launch(128, 32), [](auto& l) { l.barriers_per_block_count = 9; })),
            "barriers_per_block_count: got 9, an SM has 8");
  // All that is wrong, not the first of it.
  EXPECT_EQ(Refusal(hopper, Launch(2048, 64, 0, 300000)),
            "threads_per_block_count: got 2048, a block may have 1024; "
            "registers_per_thread_count: got 64, which makes 131072 registers a block (64 warps of 2048), a block may "
            "have 65536; "
            "static_shared_memory_bytes + dynamic_shared_memory_bytes: got 300000, 67552 more than the 232448 that a "
            "block can opt in to");
}

// Sizes that no launch has, but that can be written down.
TEST(ComputeExactOccupancy, AbsurdSizesAreRefusedAndDoNotWrap) {
  const SmLimits hopper = Table(9, 0);
  const ExactOccupancy threads = Compute(hopper, Launch(2147483647, 255));
  EXPECT_EQ(threads.blocks_per_sm_count, 0);
  EXPECT_EQ(threads.allocated_registers_per_block_count, int64_t{8192} * 67108864);
  // 4 GiB less the reserve: 0 in 32 bits.
  const ExactOccupancy shared = Compute(hopper, Launch(128, 32, 0, 4294966272));
  EXPECT_EQ(shared.blocks_per_sm_count, 0);
  EXPECT_EQ(shared.allocated_shared_memory_per_block_bytes, 4294967296);
  EXPECT_EQ(Compute(hopper, Launch(128, 32, kMax - 2048, 0)).refusals,
            LaunchRefusals{LaunchRefusal::kSharedMemoryOptinLimit});
  EXPECT_EQ(ComputeExactOccupancy(hopper, Launch(128, 32, kMax, 0)).status().message(),
            "static_shared_memory_bytes + dynamic_shared_memory_bytes: 9223372036854775807 + 1152 is beyond "
            "9223372036854775807");
  EXPECT_EQ(ComputeExactOccupancy(hopper, Launch(128, 32, kMax, kMax)).status().message(),
            "static_shared_memory_bytes + dynamic_shared_memory_bytes: 9223372036854775807 + 9223372036854775807 is "
            "beyond 9223372036854775807");
}

TEST(ComputeExactOccupancy, NumbersThatDescribeNoLaunchAreErrors) {
  const auto message = [](auto change) {
    return std::string(ComputeExactOccupancy(Table(9, 0), With(Launch(256, 40, 0, 1024), change)).status().message());
  };
  EXPECT_EQ(message([](auto& l) { l.threads_per_block_count = 0; }),
            "threads_per_block_count: got 0, expected 1 to 2147483647");
  EXPECT_EQ(message([](auto& l) { l.threads_per_block_count = -1; }),
            "threads_per_block_count: got -1, expected 1 to 2147483647");
  EXPECT_EQ(message([](auto& l) { l.registers_per_thread_count = 256; }),
            "registers_per_thread_count: got 256, expected 0 to 255");
  EXPECT_EQ(message([](auto& l) { l.registers_per_thread_count = -1; }),
            "registers_per_thread_count: got -1, expected 0 to 255");
  EXPECT_EQ(message([](auto& l) { l.static_shared_memory_bytes = -1; }),
            "static_shared_memory_bytes: got -1, expected 0 or more");
  EXPECT_EQ(message([](auto& l) { l.dynamic_shared_memory_bytes = -1; }),
            "dynamic_shared_memory_bytes: got -1, expected 0 or more");
  EXPECT_EQ(message([](auto& l) { l.max_dynamic_shared_memory_bytes = -1; }),
            "max_dynamic_shared_memory_bytes: got -1, expected 0 or more");
  EXPECT_EQ(message([](auto& l) { l.carveout_percent = 101; }),
            "carveout_percent: got 101, expected -1 to 100 (-1: no preference)");
  EXPECT_EQ(message([](auto& l) { l.carveout_percent = -2; }),
            "carveout_percent: got -2, expected -1 to 100 (-1: no preference)");
  EXPECT_EQ(message([](auto& l) { l.carveout_executed_bytes = 233473; }),
            "carveout_executed_bytes: got 233473, expected 0 to 233472 (shared memory of an SM)");
  // Smaller than the block that ran in it.
  EXPECT_EQ(message([](auto& l) { l.carveout_executed_bytes = 0; }),
            "carveout_executed_bytes: got 0, expected 2048 to 233472 (one block to all of the SM)");
  EXPECT_EQ(message([](auto& l) { l.barriers_per_block_count = 17; }),
            "barriers_per_block_count: got 17, expected 0 to 16");
  EXPECT_EQ(message([](auto& l) { l.virtual_resources_per_block_count = -1; }),
            "virtual_resources_per_block_count: got -1, expected 0 or more");
  EXPECT_EQ(message([](auto& l) { l.cluster_blocks_count = 0; }), "cluster_blocks_count: got 0, expected 1 or more");
  EXPECT_EQ(message([](auto& l) { l.max_potential_cluster_blocks_count = 0; }),
            "max_potential_cluster_blocks_count: got 0, expected 1 or more");
  EXPECT_EQ(message([](auto& l) { l.max_active_clusters_count = 0; }),
            "max_active_clusters_count: got 0, expected 1 or more");
  EXPECT_EQ(message([](auto& l) { l.sm_count = 0; }), "sm_count: got 0, expected 1 or more");
  EXPECT_EQ(message([](auto& l) { l.sm_count = kMax; }),
            "slot_count: 9223372036854775807 x 6 is beyond 9223372036854775807");
  EXPECT_EQ(message([](auto& l) {
              l.cluster_blocks_count = 2;
              l.max_active_clusters_count = kMax;
            }),
            "slot_count: 9223372036854775807 x 2 is beyond 9223372036854775807");
}

TEST(ComputeExactOccupancy, ARowThatIsNotWholeIsRefusedAndNothingIsDividedBy0) {
  const LaunchResources launch = Launch(32, 8);
  EXPECT_EQ(ComputeExactOccupancy(SmLimits{}, launch).status().message(),
            "max_threads_per_sm_count: got 0, expected 32 to 1073741824 (limits of FindSmLimits or ApplyDeviceValues)");
  SmLimits limits = Table(9, 0);
  limits.register_unit_count = 0;
  EXPECT_EQ(ComputeExactOccupancy(limits, launch).status(), CheckSmLimits(limits));
  EXPECT_FALSE(CheckSmLimits(limits).ok());
}

TEST(ComputeExactOccupancy, TheCarveoutReallyUsedWins) {
  // Half of Hopper is 132 KiB; the driver gave a small kernel 228 KiB all the same.
  LaunchResources launch = Launch(1024, 16, 0, 40000, 50);
  ExactOccupancy result = Compute(Table(9, 0), launch);
  EXPECT_EQ(result.carveout_used_bytes, 132 * kKib);
  EXPECT_EQ(result.carveout_modelled_bytes, 132 * kKib);
  EXPECT_EQ(result.carveout_source, CarveoutSource::kModelled);

  launch.carveout_executed_bytes = 228 * kKib;
  result = Compute(Table(9, 0), launch);
  EXPECT_EQ(result.carveout_used_bytes, 228 * kKib);
  EXPECT_EQ(result.carveout_modelled_bytes, 132 * kKib);
  EXPECT_EQ(result.carveout_source, CarveoutSource::kExecuted);
  EXPECT_EQ(result.limits[OccupancyLimiter::kSharedMemory], 5);

  // Seen on an H200: 256 threads and 1 KiB with a carve-out of 0 are 4 blocks an SM, not 8.
  launch = Launch(256, 32, 1024, 0);
  EXPECT_EQ(Compute(Table(9, 0), launch).blocks_per_sm_count, 8);
  launch.carveout_executed_bytes = 8 * kKib;
  EXPECT_EQ(Compute(Table(9, 0), launch).blocks_per_sm_count, 4);
  launch.carveout_executed_bytes = std::nullopt;
  launch.carveout_percent = 0;
  EXPECT_EQ(Compute(Table(9, 0), launch).blocks_per_sm_count, 4);
  // Where shared memory refuses the launch there is none.
  EXPECT_EQ(Compute(Table(9, 0), Launch(128, 32, 0, 300000)).carveout_used_bytes, std::nullopt);
}

// An H200 (132 SMs): 256 threads and 64 KiB, three blocks an SM; cudaOccupancyMaxActiveClusters for 2, 4, 8 and 16
// blocks.
TEST(ComputeExactOccupancy, ClustersBoundTheBlocksOfTheDevice) {
  struct Case {
    int64_t cluster_blocks;
    int64_t active_clusters;
    int64_t expected;
  };
  LaunchResources launch = Launch(256, 40, 0, 65536);
  launch.sm_count = 132;
  EXPECT_EQ(Compute(Table(9, 0), launch).max_resident_blocks_count, 396);
  EXPECT_FALSE(Compute(Table(9, 0), launch).max_resident_blocks_is_upper_bound);
  for (const Case& test : {Case{2, 198, 396}, Case{4, 92, 368}, Case{8, 45, 360}, Case{16, 21, 336}}) {
    launch.cluster_blocks_count = test.cluster_blocks;
    launch.max_active_clusters_count = test.active_clusters;
    const ExactOccupancy result = Compute(Table(9, 0), launch);
    EXPECT_EQ(result.blocks_per_sm_count, 3);
    EXPECT_EQ(result.max_resident_blocks_count, test.expected);
    EXPECT_FALSE(result.max_resident_blocks_is_upper_bound);
    // The device's answer needs no SM count.
    EXPECT_EQ(Compute(Table(9, 0), With(launch, [](auto& l) { l.sm_count.reset(); })).max_resident_blocks_count,
              test.expected);

    launch.max_active_clusters_count.reset();
    EXPECT_TRUE(Compute(Table(9, 0), launch).max_resident_blocks_is_upper_bound);
    EXPECT_EQ(Compute(Table(9, 0), launch).max_resident_blocks_count, 396 / test.cluster_blocks * test.cluster_blocks);
  }
  launch.sm_count.reset();
  EXPECT_EQ(Compute(Table(9, 0), launch).max_resident_blocks_count, std::nullopt);
  EXPECT_FALSE(Compute(Table(9, 0), launch).max_resident_blocks_is_upper_bound);
  // One block an SM, and none of a launch that is refused, whatever else is known.
  launch = Launch(256, 40, 0, 200'000);
  launch.sm_count = 132;
  EXPECT_EQ(Compute(Table(9, 0), launch).max_resident_blocks_count, 132);
  launch = Launch(2048, 40);
  EXPECT_EQ(Compute(Table(9, 0), launch).max_resident_blocks_count, 0);
  launch.cluster_blocks_count = 2;
  launch.max_active_clusters_count = 10;
  EXPECT_EQ(Compute(Table(9, 0), launch).max_resident_blocks_count, 0);
  // The device cannot hold more blocks than its SMs do.
  launch = Launch(256, 40, 0, 65536);
  launch.cluster_blocks_count = 16;
  launch.sm_count = 132;
  launch.max_active_clusters_count = 1000;
  EXPECT_EQ(Compute(Table(9, 0), launch).max_resident_blocks_count, 384);
  EXPECT_TRUE(Compute(Table(9, 0), launch).max_resident_blocks_is_upper_bound);
}

TEST(ComputeExactOccupancy, ALargeClusterIsRefusedOnlyByADeviceThatSaysSo) {
  LaunchResources launch = Launch(256, 40);
  launch.cluster_blocks_count = 16;
  EXPECT_GT(Compute(Table(9, 0), launch).blocks_per_sm_count, 0);
  launch.max_potential_cluster_blocks_count = 8;
  launch.sm_count = 132;
  const ExactOccupancy refused = Compute(Table(9, 0), launch);
  EXPECT_EQ(refused.blocks_per_sm_count, 0);
  EXPECT_EQ(refused.max_resident_blocks_count, 0);
  EXPECT_EQ(refused.limiters.ToString(), "none");
  EXPECT_EQ(refused.next_limit_blocks_count, std::nullopt);
}

// 2 SMs of 2 blocks: a cluster of 8 can never run there, whatever the device says of larger ones.
TEST(ComputeExactOccupancy, AClusterThatAllTheSmsHaveNoRoomForIsRefused) {
  LaunchResources launch = Launch(1024, 16);
  launch.sm_count = 2;
  launch.cluster_blocks_count = 4;
  EXPECT_EQ(Compute(Table(9, 0), launch).max_resident_blocks_count, 4);
  launch.cluster_blocks_count = 8;
  for (const std::optional<int64_t>& active : {std::optional<int64_t>(), std::optional<int64_t>(1)}) {
    launch.max_active_clusters_count = active;
    const ExactOccupancy refused = Compute(Table(9, 0), launch);
    EXPECT_EQ(refused.blocks_per_sm_count, 0);
    EXPECT_EQ(refused.max_resident_blocks_count, 0);
    EXPECT_FALSE(refused.max_resident_blocks_is_upper_bound);
    EXPECT_EQ(refused.refusals, LaunchRefusals{LaunchRefusal::kClusterSize});
    EXPECT_EQ(refused.limiters.ToString(), "none");
    EXPECT_EQ(DescribeRefusals(Table(9, 0), launch, refused),
              "cluster_blocks_count: got 8, the device has room for 4 (2 SMs x 2)");
  }
  // Where not one block fits the cluster's size is not to blame.
  launch.threads_per_block_count = 2048;
  EXPECT_EQ(Compute(Table(9, 0), launch).refusals, LaunchRefusals{LaunchRefusal::kThreadsPerBlock});
}

// One barrier a block is what the runtime takes; 11.0 and 12.x have 24 an SM.
TEST(ComputeExactOccupancy, TheBarrierOfAPlainLaunchLimitsWhereAnSmHasAsManyAsBlocks) {
  LaunchResources launch;
  launch.threads_per_block_count = 32;
  for (const ComputeCapability capability : {ComputeCapability{11, 0}, {12, 0}, {12, 1}}) {
    const ExactOccupancy result = Compute(**FindSmLimits(capability), launch);
    EXPECT_EQ(result.limits[OccupancyLimiter::kBarriers], 24) << capability.ToString();
    EXPECT_EQ(result.blocks_per_sm_count, 24) << capability.ToString();
    EXPECT_TRUE(result.limiters.Has(OccupancyLimiter::kBarriers)) << capability.ToString();
  }
}

TEST(ComputeExactOccupancy, TheDevicesValuesHold) {
  const LaunchResources small = Launch(32, 16);
  EXPECT_EQ(Compute(Table(12, 0), small).blocks_per_sm_count, 24);
  EXPECT_EQ(Compute(*ApplyDeviceValues(Table(12, 0), {.max_blocks_per_sm_count = 32}), small).blocks_per_sm_count, 32);
  EXPECT_EQ(Compute(*ApplyDeviceValues(Table(9, 0), {.reserved_shared_memory_per_block_bytes = 2048}),
                    Launch(128, 32, 0, 20480))
                .allocated_shared_memory_per_block_bytes,
            22528);
  EXPECT_EQ(Compute(*ApplyDeviceValues(Table(9, 0), {.registers_per_sm_count = 32768}), Launch(256, 32))
                .limits[OccupancyLimiter::kRegisters],
            4);
  EXPECT_EQ(Refusal(*ApplyDeviceValues(Table(9, 0), {.max_threads_per_block_count = 512}), Launch(513, 16)),
            "threads_per_block_count: got 513, a block may have 512");
  // An opt-in limit that is no whole number of units: what lies within the last one cannot be allocated.
  EXPECT_EQ(Refusal(*ApplyDeviceValues(Table(9, 0), {.shared_memory_per_block_optin_bytes = 100000}),
                    Launch(128, 16, 0, 99990)),
            "static_shared_memory_bytes + dynamic_shared_memory_bytes: got 99990, 22 more than the 99968 that a block "
            "can opt in to");
}

// cuda_occupancy.h, cudaOccSMemPerBlock: opting in counts once static, reserved and the most dynamic shared memory are
// above the default together.
TEST(SharedMemoryLimitBytes, OptingInCountsWhereTheDefaultDoesNotDo) {
  const auto limit = [](const SmLimits& limits, int64_t static_bytes, int64_t max_dynamic) {
    return SharedMemoryLimitBytes(limits, With(Launch(32, 8, static_bytes, 0), [max_dynamic](auto& l) {
                                    l.max_dynamic_shared_memory_bytes = max_dynamic;
                                  }));
  };
  EXPECT_EQ(limit(Table(9, 0), 0, 48128), 49152);
  EXPECT_EQ(limit(Table(9, 0), 0, 48129), 232448);
  EXPECT_EQ(limit(Table(9, 0), 48000, 128), 49152);
  EXPECT_EQ(limit(Table(9, 0), 48000, 129), 232448);
  EXPECT_EQ(limit(Table(7, 0), 49152, 0), 49152);
  EXPECT_EQ(limit(Table(7, 0), 49153, 0), 98304);
  EXPECT_EQ(limit(Table(7, 0), kMax, kMax), 98304);
  EXPECT_EQ(
      SharedMemoryLimitBytes(Table(9, 0), With(Launch(32, 8, 0, 100000),
                                               [](auto& l) { l.shared_memory_limit = SharedMemoryLimit::kDefault; })),
      49152);
}

// Random launches over all compute capabilities and what a device may say.
class RandomLaunches {
 public:
  explicit RandomLaunches(uint64_t seed) : random_(seed) {}

  int64_t Draw(int64_t min, int64_t max) { return std::uniform_int_distribution<int64_t>(min, max)(random_); }

  const SmLimits& Limits() {
    return KnownSmLimits()[static_cast<size_t>(Draw(0, static_cast<int64_t>(KnownSmLimits().size()) - 1))];
  }

  LaunchResources Launch() {
    LaunchResources launch;
    launch.threads_per_block_count = Draw(1, 1100);
    launch.registers_per_thread_count = Draw(0, 255);
    launch.static_shared_memory_bytes = Draw(0, 2) == 0 ? Draw(0, 49152) : 0;
    launch.dynamic_shared_memory_bytes = Draw(0, 1) * Draw(0, 1 << Draw(1, 18));
    launch.carveout_percent = Draw(0, 1) == 0 ? -1 : Draw(0, 100);
    launch.barriers_per_block_count = Draw(0, 3) == 0 ? Draw(0, 16) : 1;
    launch.virtual_resources_per_block_count = Draw(0, 3) == 0 ? Draw(0, 130) : 0;
    if (Draw(0, 3) == 0) launch.shared_memory_limit = SharedMemoryLimit::kDefault;
    if (Draw(0, 3) == 0) launch.max_dynamic_shared_memory_bytes = Draw(0, 1 << 18);
    return launch;
  }

 private:
  std::mt19937_64 random_;
};

TEST(ComputeExactOccupancy, NothingFitsExactlyWhereThereIsARefusal) {
  RandomLaunches random(2);
  int refused = 0;
  for (int i = 0; i < 50'000; ++i) {
    const SmLimits& limits = random.Limits();
    const LaunchResources launch = random.Launch();
    const ExactOccupancy result = Compute(limits, launch);
    EXPECT_EQ(result.blocks_per_sm_count == 0, !result.refusals.empty());
    EXPECT_EQ(DescribeRefusals(limits, launch, result).empty(), result.refusals.empty());
    EXPECT_FALSE(result.limiters.empty());
    EXPECT_LE(result.occupancy_ratio, 1);
    if (!result.refusals.empty()) ++refused;
  }
  EXPECT_GT(refused, 5'000);
  EXPECT_LT(refused, 45'000);
}

// In every resource, and in what the SM gives. What is not monotone: the warps that are resident (fewer blocks of more
// warps can be more or less), so occupancy in threads; and nothing is said across compute capabilities.
TEST(ComputeExactOccupancy, MoreOfAnyResourceNeverFitsMoreBlocks) {
  RandomLaunches random(3);
  int fell = 0;
  for (int i = 0; i < 50'000; ++i) {
    const SmLimits& limits = random.Limits();
    const LaunchResources launch = random.Launch();
    const int64_t blocks = Compute(limits, launch).blocks_per_sm_count;
    LaunchResources more = launch;
    switch (random.Draw(0, 5)) {
      case 0:
        more.threads_per_block_count += random.Draw(1, 200);
        break;
      case 1:
        more.registers_per_thread_count = random.Draw(launch.registers_per_thread_count, 255);
        break;
      case 2:
        more.static_shared_memory_bytes += random.Draw(1, 20'000);
        break;
      case 3:
        more.dynamic_shared_memory_bytes += random.Draw(1, 60'000);
        break;
      case 4:
        more.barriers_per_block_count = random.Draw(launch.barriers_per_block_count, 16);
        break;
      default:
        more.virtual_resources_per_block_count += random.Draw(1, 40);
    }
    // Also where more static shared memory makes opting in begin to count: what fitted the default limit fitted anyway.
    const int64_t blocks_of_more = Compute(limits, more).blocks_per_sm_count;
    EXPECT_LE(blocks_of_more, blocks);
    if (blocks_of_more < blocks) ++fell;

    LaunchResources larger_carveout = launch;
    if (launch.carveout_percent >= 0) larger_carveout.carveout_percent = random.Draw(launch.carveout_percent, 100);
    EXPECT_GE(Compute(limits, larger_carveout).blocks_per_sm_count, blocks);
  }
  EXPECT_GT(fell, 5'000);
}

TEST(ComputeExactOccupancy, OccupancyIsNotMonotoneInThreads) {
  // 128 registers: 16 warps. Three do not divide them, four do.
  EXPECT_EQ(Compute(Table(9, 0), Launch(96, 128)).active_warps_count, 15);
  EXPECT_EQ(Compute(Table(9, 0), Launch(128, 128)).active_warps_count, 16);
  EXPECT_EQ(Compute(Table(9, 0), Launch(160, 128)).active_warps_count, 15);
}

// Rounding only takes away. First order has no carve-out: it divides all of the SM's shared memory, and the exact
// model's is a part of it.
TEST(ComputeExactOccupancy, IsNeverAboveFirstOrder) {
  RandomLaunches random(4);
  int below = 0;
  int equal = 0;
  for (int i = 0; i < 50'000; ++i) {
    const SmLimits& limits = random.Limits();
    const LaunchResources launch = random.Launch();
    const ExactOccupancy exact = Compute(limits, launch);
    const auto first_order = FirstOrderOccupancy(
        FirstOrderBudget(limits), {launch.threads_per_block_count, launch.registers_per_thread_count,
                                   launch.static_shared_memory_bytes + launch.dynamic_shared_memory_bytes});
    ASSERT_TRUE(first_order.ok());
    EXPECT_LE(exact.blocks_per_sm_count, first_order->blocks_per_sm_count);
    if (exact.blocks_per_sm_count < first_order->blocks_per_sm_count) ++below;
    if (exact.blocks_per_sm_count == first_order->blocks_per_sm_count) ++equal;
  }
  EXPECT_GT(below, 1'000);
  EXPECT_GT(equal, 1'000);
}

// Where every unit divides what is asked for (registers in eights, threads in whole warps on every sub-partition,
// shared memory in whole units), nothing is reserved, the carve-out is all of the SM, no block has barriers or virtual
// resources to spare, and the launch is within the limits of a block, both models are the same.
TEST(ComputeExactOccupancy, EqualsFirstOrderWhereUnitsDivideAndNothingIsReserved) {
  RandomLaunches random(5);
  int limited[kOccupancyLimiterCount] = {};
  for (int i = 0; i < 50'000; ++i) {
    // Without a reserve a block can have all of the SM.
    const SmLimits& table = random.Limits();
    const auto limits =
        ApplyDeviceValues(table, {.shared_memory_per_block_optin_bytes = table.shared_memory_per_sm_bytes,
                                  .reserved_shared_memory_per_block_bytes = 0});
    ASSERT_TRUE(limits.ok()) << limits.status();
    LaunchResources launch;
    launch.threads_per_block_count = 128 * random.Draw(1, 8);
    if (random.Draw(0, 2) == 0) launch.threads_per_block_count = 32 << random.Draw(0, 1);
    launch.registers_per_thread_count = 8 * random.Draw(0, 31);
    launch.dynamic_shared_memory_bytes = random.Draw(0, 1) * limits->shared_memory_unit_bytes *
                                         random.Draw(0, (1 << random.Draw(0, 18)) / limits->shared_memory_unit_bytes);
    const ExactOccupancy exact = Compute(*limits, launch);
    const auto first_order = FirstOrderOccupancy(
        FirstOrderBudget(*limits),
        {launch.threads_per_block_count, launch.registers_per_thread_count, launch.dynamic_shared_memory_bytes});
    ASSERT_TRUE(first_order.ok());
    // Blocks of less than a warp a sub-partition: what is left over in each could together hold one more in first
    // order.
    if (launch.threads_per_block_count < 128 && exact.limits[OccupancyLimiter::kRegisters].has_value() &&
        65536 / 4 % exact.allocated_registers_per_warp_count != 0) {
      EXPECT_LE(exact.blocks_per_sm_count, first_order->blocks_per_sm_count);
      continue;
    }
    for (const OccupancyLimiter limiter : {OccupancyLimiter::kBlocks, OccupancyLimiter::kWarps,
                                           OccupancyLimiter::kRegisters, OccupancyLimiter::kSharedMemory}) {
      if (exact.limits[limiter].value_or(1) == 0) {
        EXPECT_EQ(first_order->limits[limiter], 0);
      } else {
        EXPECT_EQ(exact.limits[limiter], first_order->limits[limiter]) << ToString(limiter);
      }
      if (exact.limiters.Has(limiter)) ++limited[static_cast<size_t>(limiter)];
    }
    EXPECT_EQ(exact.blocks_per_sm_count, first_order->blocks_per_sm_count);
  }
  for (const OccupancyLimiter limiter : {OccupancyLimiter::kBlocks, OccupancyLimiter::kWarps,
                                         OccupancyLimiter::kRegisters, OccupancyLimiter::kSharedMemory}) {
    EXPECT_GT(limited[static_cast<size_t>(limiter)], 500) << ToString(limiter);
  }
}

}  // namespace
}  // namespace gx::model
