// What anyone's program needs to ask the model something: itself, and through a shared library.
#include <cstdint>
#include <cstdio>

#include "analysis/model/occupancy_exact.h"

extern "C" int64_t BlocksPerSm(const char* product_name, int64_t threads, int64_t registers);

int main() {
  const auto limits = gx::model::FindSmLimits({9, 0});
  if (!limits.ok()) return 1;
  const auto occupancy =
      gx::model::ComputeExactOccupancy(**limits, {.threads_per_block_count = 256, .registers_per_thread_count = 64});
  if (!occupancy.ok()) return 1;
  if (BlocksPerSm("H200 SXM", 256, 64) != occupancy->blocks_per_sm_count) return 1;
  std::printf("%d blocks per SM, %.0f %%\n", static_cast<int>(occupancy->blocks_per_sm_count),
              100 * occupancy->occupancy_ratio);
}
