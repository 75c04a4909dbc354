#include "analysis/model/carveout.h"

#include <algorithm>

namespace gx::model {

std::optional<int64_t> SmallestCarveoutBytes(const SmLimits& limits, int64_t bytes) {
  if (bytes > limits.shared_memory_per_sm_bytes) return std::nullopt;
  for (const int64_t step_bytes : limits.carveout_steps_bytes) {
    if (step_bytes >= bytes) return std::min(step_bytes, limits.shared_memory_per_sm_bytes);
  }
  return limits.shared_memory_per_sm_bytes;
}

int64_t PreferredCarveoutBytes(const SmLimits& limits, int64_t carveout_percent, CachePreference cache_preference) {
  int64_t percent = carveout_percent;
  if (percent == kCarveoutDefaultPercent) {
    switch (cache_preference) {
      case CachePreference::kNone:
      case CachePreference::kSharedMemory:
        percent = 100;
        break;
      case CachePreference::kL1:
        percent = 0;
        break;
      case CachePreference::kEqual:
        percent = 50;
        break;
    }
  }
  return SmallestCarveoutBytes(limits, percent * limits.shared_memory_per_sm_bytes / 100)
      .value_or(limits.shared_memory_per_sm_bytes);
}

int64_t ModelledCarveoutBytes(const SmLimits& limits, int64_t preferred_bytes, int64_t allocated_per_block_bytes) {
  if (preferred_bytes >= allocated_per_block_bytes) return preferred_bytes;
  return SmallestCarveoutBytes(limits, allocated_per_block_bytes).value_or(limits.shared_memory_per_sm_bytes);
}

}  // namespace gx::model
