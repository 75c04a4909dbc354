// Fills a matrix of any type with SmallInteger values (device_code.h).
#ifndef GPUEXEC_KERNELS_CEILINGS_FILL_MATRIX_H_
#define GPUEXEC_KERNELS_CEILINGS_FILL_MATRIX_H_

#include <cstddef>
#include <cstdint>

#include "kernels/ceilings/bench.h"

namespace gx::kernels {

// What each whole number from -3 to 3 looks like in a type.
struct SmallCodes {
  uint64_t of[7];
};

// Element i is SmallInteger(seed, i); element_bytes 1, 2, 4 or 8. False after reporting.
[[nodiscard]] bool FillMatrix(Bench& bench, uint32_t seed, const SmallCodes& codes, size_t element_bytes, void* data,
                              uint64_t count);

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_FILL_MATRIX_H_
