#include "analysis/model/occupancy_step_up.h"

#include <algorithm>

#include "analysis/model/carveout.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

constexpr int64_t RoundDown(int64_t value, int64_t unit) { return value / unit * unit; }

std::optional<int64_t> AboveZero(int64_t value) { return value > 0 ? std::optional(value) : std::nullopt; }

// Both checks of a block and the room in the sub-partitions, solved for the registers of a warp.
std::optional<int64_t> RegistersPerThread(const SmLimits& limits, int64_t warps, int64_t blocks) {
  const int64_t by_check = limits.max_registers_per_block_count /
                           (CeilDivide(warps, limits.sub_partitions_count) * limits.sub_partitions_count);
  const int64_t by_room = limits.registers_per_sm_count / limits.sub_partitions_count /
                          CeilDivide(blocks * warps, limits.sub_partitions_count);
  const int64_t per_warp = RoundDown(std::min(by_check, by_room), limits.register_unit_count);
  return AboveZero(std::min(per_warp / kWarpThreadsCount, kMaxRegistersPerThreadCount));
}

// The same and the warp slots, solved for the warps of a block.
std::optional<int64_t> ThreadsPerBlock(const SmLimits& limits, int64_t registers_per_warp, int64_t blocks) {
  int64_t warps =
      std::min(limits.max_warps_per_sm_count() / blocks, limits.max_threads_per_block_count / kWarpThreadsCount);
  if (registers_per_warp > 0) {
    const int64_t by_check =
        RoundDown(limits.max_registers_per_block_count / registers_per_warp, limits.sub_partitions_count);
    const int64_t by_room = limits.registers_per_sm_count / limits.sub_partitions_count / registers_per_warp *
                            limits.sub_partitions_count / blocks;
    warps = std::min({warps, by_check, by_room});
  }
  return AboveZero(warps * kWarpThreadsCount);
}

// The largest whole number of units a block, reserve included, of which `blocks` fit. As a block shrinks the carve-out
// can shrink with it, so each size that it may have is tried. The answer fills one of them as far as units allow: if a
// smaller block did the job within some carve-out, the one that fills that carve-out does it too.
int64_t SharedMemoryUnits(const SmLimits& limits, const LaunchResources& launch, int64_t blocks) {
  const int64_t unit = limits.shared_memory_unit_bytes;
  if (launch.carveout_executed_bytes.has_value()) return RoundDown(*launch.carveout_executed_bytes / blocks, unit);
  const int64_t preferred = PreferredCarveoutBytes(limits, launch.carveout_percent, launch.cache_preference);
  int64_t best = RoundDown(preferred / blocks, unit);
  for (const int64_t step : limits.carveout_steps_bytes) {
    const int64_t allocated = RoundDown(std::min(step, limits.shared_memory_per_sm_bytes) / blocks, unit);
    if (allocated > best && ModelledCarveoutBytes(limits, preferred, allocated) / allocated >= blocks) best = allocated;
  }
  return best;
}

std::optional<int64_t> SharedMemoryPerBlock(const SmLimits& limits, const LaunchResources& launch, int64_t blocks) {
  int64_t bytes = SharedMemoryUnits(limits, launch, blocks) - limits.reserved_shared_memory_per_block_bytes;
  bytes = std::min(bytes, SharedMemoryLimitBytes(limits, launch));
  if (launch.shared_memory_limit == SharedMemoryLimit::kOptIn && launch.max_dynamic_shared_memory_bytes.has_value()) {
    bytes = std::min(bytes, launch.static_shared_memory_bytes + *launch.max_dynamic_shared_memory_bytes);
  }
  return bytes >= 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace

OccupancyStepUp ComputeOccupancyStepUp(const SmLimits& limits, const LaunchResources& launch,
                                       const ExactOccupancy& occupancy) {
  OccupancyStepUp result;
  const int64_t blocks = occupancy.blocks_per_sm_count + 1;
  result.blocks_per_sm_count = blocks;
  result.limiters = occupancy.limiters;
  const auto limits_now = [&occupancy](OccupancyLimiter limiter) { return occupancy.limiters.Has(limiter); };

  // A cluster that the device refuses is no matter of resources.
  bool is_possible = !occupancy.limiters.empty() && !occupancy.refusals.Has(LaunchRefusal::kClustersUnsupported) &&
                     !occupancy.refusals.Has(LaunchRefusal::kClusterSize);
  if (limits_now(OccupancyLimiter::kBlocks)) is_possible = false;
  if (limits_now(OccupancyLimiter::kWarps) || limits_now(OccupancyLimiter::kRegisters)) {
    result.threads_per_block_count = ThreadsPerBlock(limits, occupancy.allocated_registers_per_warp_count, blocks);
  }
  if (limits_now(OccupancyLimiter::kRegisters)) {
    result.registers_per_thread_count = RegistersPerThread(limits, occupancy.warps_per_block_count, blocks);
    if (!result.registers_per_thread_count.has_value() && !result.threads_per_block_count.has_value()) {
      is_possible = false;
    }
  }
  if (limits_now(OccupancyLimiter::kWarps) && !result.threads_per_block_count.has_value()) is_possible = false;
  if (limits_now(OccupancyLimiter::kSharedMemory)) {
    result.shared_memory_per_block_bytes = SharedMemoryPerBlock(limits, launch, blocks);
    if (occupancy.carveout_used_bytes.has_value()) {
      result.carveout_bytes = SmallestCarveoutBytes(limits, blocks * occupancy.allocated_shared_memory_per_block_bytes);
    }
    if (!result.shared_memory_per_block_bytes.has_value() && !result.carveout_bytes.has_value()) is_possible = false;
  }
  if (limits_now(OccupancyLimiter::kBarriers)) {
    result.barriers_per_block_count = AboveZero(limits.barriers_per_sm_count() / blocks);
    if (!result.barriers_per_block_count.has_value()) is_possible = false;
  }
  if (limits_now(OccupancyLimiter::kVirtualResources)) {
    result.virtual_resources_per_block_count = AboveZero(limits.virtual_resources_per_sm_count / blocks);
    if (!result.virtual_resources_per_block_count.has_value()) is_possible = false;
  }
  result.is_possible = is_possible;
  return result;
}

}  // namespace gx::model
