#include "tests/gpu/counter_facts_kernels.h"

namespace {

__global__ void Axpy(float a, const float* x, float* y, size_t n) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void Empty() {}
__global__ void Spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

}  // namespace

void LaunchAxpy(size_t n, const float* x, float* y, cudaStream_t stream) {
  Axpy<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(2.0f, x, y, n);
}
void LaunchEmpty(cudaStream_t stream) { Empty<<<1, 32, 0, stream>>>(); }
void LaunchSpin(long long cycles, cudaStream_t stream) { Spin<<<1, 1, 0, stream>>>(cycles); }
