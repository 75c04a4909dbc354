#include "analysis/model/occupancy.h"

#include "absl/status/status.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

absl::Status CheckBudget(const SmBudget& budget) {
  if (absl::Status status = CheckPositive("max_blocks_count", budget.max_blocks_count); !status.ok()) return status;
  if (budget.max_threads_count.has_value()) {
    if (absl::Status status = CheckPositive("max_threads_count", *budget.max_threads_count); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = CheckPositive("max_warps_count", budget.max_warps_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("registers_count", budget.registers_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("shared_memory_bytes", budget.shared_memory_bytes); !status.ok()) {
    return status;
  }
  return CheckPositive("warp_threads_count", budget.warp_threads_count);
}

absl::Status CheckDemand(const BlockDemand& demand) {
  if (absl::Status status = CheckPositive("threads_per_block_count", demand.threads_per_block_count); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckNotNegative("registers_per_thread_count", demand.registers_per_thread_count);
      !status.ok()) {
    return status;
  }
  return CheckNotNegative("shared_memory_per_block_bytes", demand.shared_memory_per_block_bytes);
}

}  // namespace

absl::StatusOr<Occupancy> FirstOrderOccupancy(const SmBudget& budget, const BlockDemand& demand) {
  if (absl::Status status = CheckBudget(budget); !status.ok()) return status;
  if (absl::Status status = CheckDemand(demand); !status.ok()) return status;
  const absl::StatusOr<int64_t> registers_per_block_count =
      CheckedProduct("registers_per_thread_count x threads_per_block_count", demand.registers_per_thread_count,
                     demand.threads_per_block_count);
  if (!registers_per_block_count.ok()) return registers_per_block_count.status();

  Occupancy result;
  result.warps_per_block_count = CeilDivide(demand.threads_per_block_count, budget.warp_threads_count);

  BlockLimits& limits = result.limits;
  limits[OccupancyLimiter::kBlocks] = budget.max_blocks_count;
  if (budget.max_threads_count.has_value()) {
    limits[OccupancyLimiter::kThreads] = *budget.max_threads_count / demand.threads_per_block_count;
  }
  limits[OccupancyLimiter::kWarps] = budget.max_warps_count / result.warps_per_block_count;
  if (*registers_per_block_count > 0) {
    limits[OccupancyLimiter::kRegisters] = budget.registers_count / *registers_per_block_count;
  }
  if (demand.shared_memory_per_block_bytes > 0) {
    limits[OccupancyLimiter::kSharedMemory] = budget.shared_memory_bytes / demand.shared_memory_per_block_bytes;
  }

  const LimitSummary summary = SummariseLimits(limits);
  result.blocks_per_sm_count = summary.blocks_count;
  result.limiters = summary.limiters;
  result.next_limit_blocks_count = summary.next_blocks_count;
  result.next_limiters = summary.next_limiters;
  // At most max_warps_count, because of the warps limit.
  result.active_warps_count = summary.blocks_count * result.warps_per_block_count;
  result.occupancy_ratio = static_cast<double>(result.active_warps_count) / static_cast<double>(budget.max_warps_count);
  return result;
}

SmBudget FirstOrderBudget(const SmLimits& limits) {
  SmBudget budget;
  budget.max_blocks_count = limits.max_blocks_per_sm_count;
  budget.max_threads_count = limits.max_threads_per_sm_count;
  budget.max_warps_count = limits.max_warps_per_sm_count();
  budget.registers_count = limits.registers_per_sm_count;
  budget.shared_memory_bytes = limits.shared_memory_per_sm_bytes;
  return budget;
}

}  // namespace gx::model
