#include "kernels/ceilings/fill_matrix.h"

namespace gx::kernels {

template <typename Storage>
__global__ void FillMatrixKernel(uint32_t seed, SmallCodes codes, Storage* data, uint64_t count) {
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x) {
    data[i] = static_cast<Storage>(codes.of[SmallInteger(seed, static_cast<uint32_t>(i)) + 3]);
  }
}

namespace {

template <typename Storage>
bool Fill(Bench& bench, uint32_t seed, const SmallCodes& codes, void* data, uint64_t count) {
  return bench.Launch(FillMatrixKernel<Storage>, bench.sm_count() * 8, 256, 0, seed, codes, static_cast<Storage*>(data),
                      count);
}

}  // namespace

bool FillMatrix(Bench& bench, uint32_t seed, const SmallCodes& codes, size_t element_bytes, void* data,
                uint64_t count) {
  switch (element_bytes) {
    case 1:
      return Fill<uint8_t>(bench, seed, codes, data, count);
    case 2:
      return Fill<uint16_t>(bench, seed, codes, data, count);
    case 4:
      return Fill<uint32_t>(bench, seed, codes, data, count);
    default:
      return Fill<uint64_t>(bench, seed, codes, data, count);
  }
}

}  // namespace gx::kernels
