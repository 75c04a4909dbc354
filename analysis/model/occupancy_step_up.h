// What one more resident block per SM would need: for each resource that now limits, the largest value that leaves room
// for it.
//
// Source: the allocation rules of occupancy_exact.h, solved for the resource. Any thread; nothing allocates where
// nothing is wrong.
//
//   // 9.0, 256 threads, 40 registers, 65,536 bytes, carve-out 0: 1 block, limited by shared memory.
//   OccupancyStepUp step = ComputeOccupancyStepUp(limits, launch, occupancy);
//   // A second block: 3,072 bytes a block at most (two of them fill the smallest carve-out), or a carve-out of 132
//   KiB. step.shared_memory_per_block_bytes, step.carveout_bytes;
#ifndef GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_STEP_UP_H_
#define GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_STEP_UP_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/occupancy_limiter.h"
#include "analysis/model/sm_limits.h"

namespace gx::model {

// Each value is the largest of its resource, everything else unchanged, with which every limit that the resource enters
// allows `blocks_per_sm_count`. Absent: the resource does not limit now, or no value of it is small enough.
struct OccupancyStepUp {
  // One more than now.
  int64_t blocks_per_sm_count = 0;
  // Every one of these has to give way.
  LimiterSet limiters;
  // False where a block slot is missing, or a limiter's resource has no value that is small enough: then no change of
  // the values below leads there.
  bool is_possible = false;

  // Enters the warps and the registers limit.
  std::optional<int64_t> threads_per_block_count;
  std::optional<int64_t> registers_per_thread_count;
  // Static and dynamic together, without the reserve. Where the carve-out that was really used is known, as long as it
  // stays.
  std::optional<int64_t> shared_memory_per_block_bytes;
  // The other way out of a shared-memory limit: the smallest carve-out that holds the blocks as they are. Absent where
  // even the largest does not.
  std::optional<int64_t> carveout_bytes;
  std::optional<int64_t> barriers_per_block_count;
  std::optional<int64_t> virtual_resources_per_block_count;
};

// `occupancy` is what ComputeExactOccupancy returned for the same limits and launch.
[[nodiscard]] OccupancyStepUp ComputeOccupancyStepUp(const SmLimits& limits, const LaunchResources& launch,
                                                     const ExactOccupancy& occupancy);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_STEP_UP_H_
