// The model behind a C interface.
#include <cstdint>

#include "analysis/model/occupancy_exact.h"
#include "analysis/model/products.h"

// Resident blocks on an SM of the product, or -1.
extern "C" int64_t BlocksPerSm(const char* product_name, int64_t threads, int64_t registers) {
  const auto product = gx::model::FindProduct(product_name);
  if (!product.ok()) return -1;
  const auto limits = gx::model::FindSmLimits(product->product->compute_capability);
  if (!limits.ok()) return -1;
  const auto occupancy = gx::model::ComputeExactOccupancy(
      **limits, {.threads_per_block_count = threads, .registers_per_thread_count = registers});
  return occupancy.ok() ? occupancy->blocks_per_sm_count : -1;
}
