// The carve-out: how much of an SM's unified L1 is set aside as shared memory while a kernel runs.
//
// Sources: CUDA C++ Programming Guide, cudaFuncAttributePreferredSharedMemoryCarveout (a hint in per cent, rounded up
// to a size that the device has); cuda_occupancy.h of CUDA 13.0 (the sizes, the old cache preference as a carve-out).
// The driver may choose another size: what an SM was really set to is in CUPTI's record of the kernel. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_CARVEOUT_H_
#define GPUEXEC_ANALYSIS_MODEL_CARVEOUT_H_

#include <cstdint>
#include <optional>

#include "analysis/model/sm_limits.h"

namespace gx::model {

inline constexpr int64_t kCarveoutDefaultPercent = -1;

// The old cudaFuncSetCacheConfig; holds where no carve-out is asked for.
enum class CachePreference : uint8_t { kNone, kSharedMemory, kL1, kEqual };

// The smallest carve-out that holds so many bytes (0 or more). Absent: not even the largest does.
[[nodiscard]] std::optional<int64_t> SmallestCarveoutBytes(const SmLimits& limits, int64_t bytes);

// What a preference asks for: all shared memory where there is none, else its share of it, rounded up to a size that
// exists. `carveout_percent` is -1 to 100.
[[nodiscard]] int64_t PreferredCarveoutBytes(const SmLimits& limits, int64_t carveout_percent,
                                             CachePreference cache_preference);

// The preference where one block fits into it, else the smallest carve-out that holds one: a preference never stops a
// launch. `allocated_per_block_bytes` is at most the SM's shared memory.
[[nodiscard]] int64_t ModelledCarveoutBytes(const SmLimits& limits, int64_t preferred_bytes,
                                            int64_t allocated_per_block_bytes);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_CARVEOUT_H_
