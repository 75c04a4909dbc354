#include "analysis/model/occupancy_exact.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/model/check.h"
#include "analysis/model/resident_slots.h"

namespace gx::model {
namespace {

// The occupancy interfaces of CUDA take a block size as int.
constexpr int64_t kMaxStatableThreads = std::numeric_limits<int32_t>::max();

constexpr int64_t RoundDown(int64_t value, int64_t unit) { return value / unit * unit; }
// `value` at most 2^63 - unit.
constexpr int64_t RoundUp(int64_t value, int64_t unit) { return CeilDivide(value, unit) * unit; }

absl::Status CheckLaunch(const SmLimits& limits, const LaunchResources& launch) {
  absl::Status status = CheckRange("threads_per_block_count", launch.threads_per_block_count, 1, kMaxStatableThreads);
  const auto check = [&status](absl::string_view field, int64_t value, int64_t min, int64_t max,
                               absl::string_view why = {}) {
    if (status.ok()) status = CheckRange(field, value, min, max, why);
  };
  constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
  check("registers_per_thread_count", launch.registers_per_thread_count, 0, kMaxRegistersPerThreadCount);
  check("static_shared_memory_bytes", launch.static_shared_memory_bytes, 0, kUnbounded);
  check("dynamic_shared_memory_bytes", launch.dynamic_shared_memory_bytes, 0, kUnbounded);
  if (launch.max_dynamic_shared_memory_bytes.has_value()) {
    check("max_dynamic_shared_memory_bytes", *launch.max_dynamic_shared_memory_bytes, 0, kUnbounded);
  }
  check("carveout_percent", launch.carveout_percent, kCarveoutDefaultPercent, 100, "-1: no preference");
  if (launch.carveout_executed_bytes.has_value()) {
    check("carveout_executed_bytes", *launch.carveout_executed_bytes, 0, limits.shared_memory_per_sm_bytes,
          "shared memory of an SM");
  }
  check("barriers_per_block_count", launch.barriers_per_block_count, 0, kMaxBarriersPerBlockCount);
  check("virtual_resources_per_block_count", launch.virtual_resources_per_block_count, 0, kUnbounded);
  check("cluster_blocks_count", launch.cluster_blocks_count, 1, kUnbounded);
  if (launch.max_potential_cluster_blocks_count.has_value()) {
    check("max_potential_cluster_blocks_count", *launch.max_potential_cluster_blocks_count, 1, kUnbounded);
  }
  if (launch.max_active_clusters_count.has_value()) {
    check("max_active_clusters_count", *launch.max_active_clusters_count, 1, kUnbounded);
  }
  if (launch.sm_count.has_value()) check("sm_count", *launch.sm_count, 1, kUnbounded);
  return status;
}

// Static, dynamic and reserved in whole units, or an error where that is beyond 63 bits.
absl::StatusOr<int64_t> AllocatedSharedMemory(const SmLimits& limits, const LaunchResources& launch) {
  constexpr absl::string_view kQuantity = "static_shared_memory_bytes + dynamic_shared_memory_bytes";
  absl::StatusOr<int64_t> bytes =
      CheckedSum(kQuantity, launch.static_shared_memory_bytes, launch.dynamic_shared_memory_bytes);
  if (!bytes.ok()) return bytes;
  bytes =
      CheckedSum(kQuantity, *bytes, limits.reserved_shared_memory_per_block_bytes + limits.shared_memory_unit_bytes);
  if (!bytes.ok()) return bytes;
  return RoundUp(*bytes - limits.shared_memory_unit_bytes, limits.shared_memory_unit_bytes);
}

// The default limit holds for a function that has not opted in, and for one that could not use more if it did.
bool MayUseOptin(const SmLimits& limits, const LaunchResources& launch) {
  if (launch.shared_memory_limit == SharedMemoryLimit::kDefault) return false;
  const int64_t max_dynamic = launch.max_dynamic_shared_memory_bytes.value_or(launch.dynamic_shared_memory_bytes);
  // More than the limit by itself is enough; the sum of what the caller gave might not fit.
  const int64_t static_bytes = std::min(launch.static_shared_memory_bytes, limits.shared_memory_per_block_bytes + 1);
  return max_dynamic >
         limits.shared_memory_per_block_bytes - limits.reserved_shared_memory_per_block_bytes - static_bytes;
}

void LimitByWarps(const SmLimits& limits, const LaunchResources& launch, ExactOccupancy* result) {
  std::optional<int64_t>& blocks = result->limits[OccupancyLimiter::kWarps];
  if (launch.threads_per_block_count > limits.max_threads_per_block_count) {
    blocks = 0;
    result->refusals.Add(LaunchRefusal::kThreadsPerBlock);
  } else {
    blocks = limits.max_warps_per_sm_count() / result->warps_per_block_count;
  }
}

void LimitByRegisters(const SmLimits& limits, const LaunchResources& launch, ExactOccupancy* result) {
  const int64_t warps = result->warps_per_block_count;
  const int64_t per_warp = RoundUp(launch.registers_per_thread_count * kWarpThreadsCount, limits.register_unit_count);
  result->allocated_registers_per_warp_count = per_warp;
  result->allocated_registers_per_block_count = per_warp * warps;
  if (per_warp == 0) return;

  std::optional<int64_t>& blocks = result->limits[OccupancyLimiter::kRegisters];
  if (per_warp * warps > limits.max_registers_per_block_count) {
    blocks = 0;
    result->refusals.Add(LaunchRefusal::kRegistersPerBlock);
  } else if (per_warp * RoundUp(warps, limits.sub_partitions_count) > limits.max_registers_per_block_count) {
    blocks = 0;
    result->refusals.Add(LaunchRefusal::kRegistersOfRoundedBlock);
  } else {
    // A warp's registers lie in one sub-partition, so each of them has whole warps.
    const int64_t warps_per_sub_partition = limits.registers_per_sm_count / limits.sub_partitions_count / per_warp;
    blocks = warps_per_sub_partition * limits.sub_partitions_count / warps;
  }
}

absl::Status LimitBySharedMemory(const SmLimits& limits, const LaunchResources& launch, ExactOccupancy* result) {
  const absl::StatusOr<int64_t> allocated = AllocatedSharedMemory(limits, launch);
  if (!allocated.ok()) return allocated.status();
  result->allocated_shared_memory_per_block_bytes = *allocated;
  std::optional<int64_t>& blocks = result->limits[OccupancyLimiter::kSharedMemory];

  if (launch.shared_memory_limit == SharedMemoryLimit::kOptIn && launch.max_dynamic_shared_memory_bytes.has_value() &&
      launch.dynamic_shared_memory_bytes > *launch.max_dynamic_shared_memory_bytes) {
    blocks = 0;
    result->refusals.Add(LaunchRefusal::kDynamicSharedMemoryMaximum);
  }
  if (*allocated > SharedMemoryLimitBytes(limits, launch) + limits.reserved_shared_memory_per_block_bytes) {
    blocks = 0;
    result->refusals.Add(MayUseOptin(limits, launch) ? LaunchRefusal::kSharedMemoryOptinLimit
                                                     : LaunchRefusal::kSharedMemoryDefaultLimit);
  }
  if (blocks.has_value()) return absl::OkStatus();

  const int64_t preferred = PreferredCarveoutBytes(limits, launch.carveout_percent, launch.cache_preference);
  const int64_t modelled = ModelledCarveoutBytes(limits, preferred, *allocated);
  result->carveout_modelled_bytes = modelled;
  result->carveout_used_bytes = modelled;
  if (launch.carveout_executed_bytes.has_value()) {
    if (*launch.carveout_executed_bytes < *allocated) {
      return CheckRange("carveout_executed_bytes", *launch.carveout_executed_bytes, *allocated,
                        limits.shared_memory_per_sm_bytes, "one block to all of the SM");
    }
    result->carveout_used_bytes = launch.carveout_executed_bytes;
    result->carveout_source = CarveoutSource::kExecuted;
  }
  if (*allocated > 0) blocks = *result->carveout_used_bytes / *allocated;
  return absl::OkStatus();
}

void LimitByCount(OccupancyLimiter limiter, LaunchRefusal refusal, int64_t available, int64_t used,
                  ExactOccupancy* result) {
  if (used == 0) return;
  result->limits[limiter] = available / used;
  if (used > available) result->refusals.Add(refusal);
}

// A cluster that the device does not take at all, or of which not one finds room.
bool RefuseCluster(const SmLimits& limits, const LaunchResources& launch, const ResidentSlots& slots,
                   LaunchRefusals* refusals) {
  if (launch.cluster_blocks_count == 1) return false;
  if (!limits.has_clusters) {
    refusals->Add(LaunchRefusal::kClustersUnsupported);
    return true;
  }
  const bool is_too_large = launch.cluster_blocks_count >
                            launch.max_potential_cluster_blocks_count.value_or(std::numeric_limits<int64_t>::max());
  if (!is_too_large && slots.count != 0) return false;
  refusals->Add(LaunchRefusal::kClusterSize);
  return true;
}

}  // namespace

int64_t SharedMemoryLimitBytes(const SmLimits& limits, const LaunchResources& launch) {
  const int64_t stated =
      MayUseOptin(limits, launch) ? limits.shared_memory_per_block_optin_bytes : limits.shared_memory_per_block_bytes;
  const int64_t reserved = limits.reserved_shared_memory_per_block_bytes;
  return RoundDown(stated + reserved, limits.shared_memory_unit_bytes) - reserved;
}

absl::StatusOr<ExactOccupancy> ComputeExactOccupancy(const SmLimits& limits, const LaunchResources& launch) {
  if (absl::Status status = CheckSmLimits(limits); !status.ok()) return status;
  if (absl::Status status = CheckLaunch(limits, launch); !status.ok()) return status;

  ExactOccupancy result;
  result.warps_per_block_count = CeilDivide(launch.threads_per_block_count, kWarpThreadsCount);
  result.limits[OccupancyLimiter::kBlocks] = limits.max_blocks_per_sm_count;
  LimitByWarps(limits, launch, &result);
  LimitByRegisters(limits, launch, &result);
  if (absl::Status status = LimitBySharedMemory(limits, launch, &result); !status.ok()) return status;
  if (limits.barriers_limit_blocks) {
    LimitByCount(OccupancyLimiter::kBarriers, LaunchRefusal::kBarriers, limits.barriers_per_sm_count(),
                 launch.barriers_per_block_count, &result);
  }
  if (limits.virtual_resources_per_sm_count > 0) {
    LimitByCount(OccupancyLimiter::kVirtualResources, LaunchRefusal::kVirtualResources,
                 limits.virtual_resources_per_sm_count, launch.virtual_resources_per_block_count, &result);
  }

  const LimitSummary summary = SummariseLimits(result.limits);
  const absl::StatusOr<ResidentSlots> slots =
      CountResidentSlots({.sm_count = launch.sm_count,
                          .blocks_per_sm = summary.blocks_count,
                          .blocks_per_cluster = launch.cluster_blocks_count,
                          .max_active_cluster_count = launch.max_active_clusters_count});
  if (!slots.ok()) return slots.status();
  // Where resources leave no room there is none for a cluster either, and that is no matter of its size.
  const bool no_block_fits = summary.blocks_count == 0;
  const bool cluster_is_refused =
      RefuseCluster(limits, launch, no_block_fits ? ResidentSlots{} : *slots, &result.refusals);
  if (!cluster_is_refused || no_block_fits) {
    result.blocks_per_sm_count = summary.blocks_count;
    result.limiters = summary.limiters;
    result.next_limit_blocks_count = summary.next_blocks_count;
    result.next_limiters = summary.next_limiters;
  }
  if (cluster_is_refused || no_block_fits) {
    result.max_resident_blocks_count = 0;
  } else {
    result.max_resident_blocks_count = slots->count;
    result.max_resident_blocks_is_upper_bound =
        slots->count.has_value() && slots->source == SlotSource::kClusterUpperBound;
  }
  result.active_warps_count = result.blocks_per_sm_count * result.warps_per_block_count;
  result.occupancy_ratio =
      static_cast<double>(result.active_warps_count) / static_cast<double>(limits.max_warps_per_sm_count());
  return result;
}

std::string DescribeRefusals(const SmLimits& limits, const LaunchResources& launch, const ExactOccupancy& occupancy) {
  std::string text;
  const auto say = [&text](const auto&... pieces) { absl::StrAppend(&text, text.empty() ? "" : "; ", pieces...); };
  const int64_t shared = launch.static_shared_memory_bytes + launch.dynamic_shared_memory_bytes;
  const int64_t shared_limit = SharedMemoryLimitBytes(limits, launch);
  constexpr absl::string_view kShared = "static_shared_memory_bytes + dynamic_shared_memory_bytes: got ";
  constexpr absl::string_view kRegisters = "registers_per_thread_count: got ";
  const LaunchRefusals refusals = occupancy.refusals;

  if (refusals.Has(LaunchRefusal::kThreadsPerBlock)) {
    say("threads_per_block_count: got ", launch.threads_per_block_count, ", a block may have ",
        limits.max_threads_per_block_count);
  }
  const int64_t per_warp = occupancy.allocated_registers_per_warp_count;
  if (refusals.Has(LaunchRefusal::kRegistersPerBlock)) {
    say(kRegisters, launch.registers_per_thread_count, ", which makes ", occupancy.allocated_registers_per_block_count,
        " registers a block (", occupancy.warps_per_block_count, " warps of ", per_warp, "), a block may have ",
        limits.max_registers_per_block_count);
  }
  if (refusals.Has(LaunchRefusal::kRegistersOfRoundedBlock)) {
    const int64_t rounded = RoundUp(occupancy.warps_per_block_count, limits.sub_partitions_count);
    say(kRegisters, launch.registers_per_thread_count, ", which makes ", per_warp * rounded,
        " registers a block in the hardware's check (", occupancy.warps_per_block_count, " warps count as ", rounded,
        " of ", per_warp, "), a block may have ", limits.max_registers_per_block_count);
  }
  if (refusals.Has(LaunchRefusal::kSharedMemoryDefaultLimit)) {
    say(kShared, shared, ", ", shared - shared_limit, " more than the ", shared_limit,
        " of a function that has not opted in");
  }
  if (refusals.Has(LaunchRefusal::kSharedMemoryOptinLimit)) {
    say(kShared, shared, ", ", shared - shared_limit, " more than the ", shared_limit, " that a block can opt in to");
  }
  if (refusals.Has(LaunchRefusal::kDynamicSharedMemoryMaximum)) {
    const int64_t max_dynamic = launch.max_dynamic_shared_memory_bytes.value_or(0);
    say("dynamic_shared_memory_bytes: got ", launch.dynamic_shared_memory_bytes, ", ",
        launch.dynamic_shared_memory_bytes - max_dynamic, " more than the function's maximum of ", max_dynamic);
  }
  if (refusals.Has(LaunchRefusal::kBarriers)) {
    say("barriers_per_block_count: got ", launch.barriers_per_block_count, ", an SM has ",
        limits.barriers_per_sm_count());
  }
  if (refusals.Has(LaunchRefusal::kVirtualResources)) {
    say("virtual_resources_per_block_count: got ", launch.virtual_resources_per_block_count, ", an SM has ",
        limits.virtual_resources_per_sm_count);
  }
  if (refusals.Has(LaunchRefusal::kClustersUnsupported)) {
    say("cluster_blocks_count: got ", launch.cluster_blocks_count, ", compute capability ",
        limits.compute_capability.ToString(), " has no clusters");
  }
  if (refusals.Has(LaunchRefusal::kClusterSize)) {
    const std::optional<int64_t>& max_size = launch.max_potential_cluster_blocks_count;
    if (max_size.has_value() && launch.cluster_blocks_count > *max_size) {
      say("cluster_blocks_count: got ", launch.cluster_blocks_count, ", the device takes ", *max_size);
    } else {
      const int64_t per_sm = SummariseLimits(occupancy.limits).blocks_count;
      say("cluster_blocks_count: got ", launch.cluster_blocks_count, ", the device has room for ",
          per_sm * launch.sm_count.value_or(0), " (", launch.sm_count.value_or(0), " SMs x ", per_sm, ")");
    }
  }
  return text;
}

}  // namespace gx::model
