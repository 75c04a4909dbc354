// Occupancy, first order: how many blocks of a kernel fit on a multiprocessor (SM) when every resource is divided
// without rounding.
//
//   blocks = min(block slots, floor(threads of the SM / threads), floor(warps of the SM / ceil(threads / 32)),
//                floor(registers of the SM / (registers x threads)), floor(shared memory of the SM / shared memory))
//
// Sources: CUDA C++ Best Practices Guide, "Occupancy" (active warps over the most that an SM can hold); CUDA C++
// Programming Guide, "Hardware Multithreading". A model to reason with: allocation units, reserves and carve-outs are
// in occupancy_exact.h, whose answer is never above this one. Occupancy is no measure of speed. Any thread.
//
//   // 256 threads, 64 registers, 48 KiB on an SM of 2,048 threads, 64 warps, 32 blocks, 65,536 registers, 164 KiB:
//   // 3 blocks, limited by shared memory; 24 of 64 warps, 37.5 %; the next limit is 4 blocks, by registers.
#ifndef GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_H_
#define GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/model/occupancy_limiter.h"
#include "analysis/model/sm_limits.h"

namespace gx::model {

// What an SM has. Every value must be above 0.
struct SmBudget {
  int64_t max_blocks_count = 0;
  // Absent: no limit of its own; the warps limit remains.
  std::optional<int64_t> max_threads_count = std::nullopt;
  int64_t max_warps_count = 0;
  int64_t registers_count = 0;
  int64_t shared_memory_bytes = 0;
  int64_t warp_threads_count = kWarpThreadsCount;
};

// What a block needs.
struct BlockDemand {
  int64_t threads_per_block_count = 0;        // 1 or more
  int64_t registers_per_thread_count = 0;     // 0: no register limit
  int64_t shared_memory_per_block_bytes = 0;  // static and dynamic; 0: no shared-memory limit
};

struct Occupancy {
  BlockLimits limits;
  // 0: not one block fits; `limiters` says why not.
  int64_t blocks_per_sm_count = 0;
  int64_t warps_per_block_count = 0;
  int64_t active_warps_count = 0;
  // Active warps over the most that the SM can hold.
  double occupancy_ratio = 0;
  LimiterSet limiters;
  std::optional<int64_t> next_limit_blocks_count = std::nullopt;
  LimiterSet next_limiters;
};

// Errors: a budget that is not positive, no thread, a negative demand, a product beyond 63 bits.
[[nodiscard]] absl::StatusOr<Occupancy> FirstOrderOccupancy(const SmBudget& budget, const BlockDemand& demand);

// The budget of a real SM, whole: all of its shared memory.
[[nodiscard]] SmBudget FirstOrderBudget(const SmLimits& limits);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_H_
