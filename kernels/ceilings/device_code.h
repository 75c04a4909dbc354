// What the ceiling kernels share: pseudo-random data that host and device compute alike, and the clock probe.
#ifndef GPUEXEC_KERNELS_CEILINGS_DEVICE_CODE_H_
#define GPUEXEC_KERNELS_CEILINGS_DEVICE_CODE_H_

#include <cuda_runtime.h>

#include <cstdint>

namespace gx::kernels {

// lowbias32 of Wellons, "Prospecting for Hash Functions" (nullprogram.com, 2018): every input bit moves every output
// bit.
__host__ __device__ inline uint32_t HashBits(uint32_t seed, uint32_t index) {
  uint32_t x = index * 0x9E3779B1u + seed;
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x *= 0x846CA68Bu;
  return x ^ (x >> 16);
}

// A whole number from -3 to 3: exact in every type that a tensor core takes, and so are its products and short sums.
__host__ __device__ inline int SmallInteger(uint32_t seed, uint32_t index) {
  return static_cast<int>(HashBits(seed, index) % 7) - 3;
}

// Uniform in [-1, 1), every value exact in float.
__host__ __device__ inline float HashFloat(uint32_t seed, uint32_t index) {
  return static_cast<float>(HashBits(seed, index) >> 9) * 0x1p-22f - 1.0f;
}

// Cycles and time of one SM around the work of a block: together the SM clock.
struct ClockProbe {
  uint64_t start_cycles;
  uint64_t start_ns;
  uint64_t end_cycles;
  uint64_t end_ns;
};

#ifdef __CUDACC__

__device__ inline uint64_t GlobalTimerNs() {
  uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Called by all threads of a block; the first of the first block writes. In benchmarks whose blocks stay to the end.
// Both are read before either is stored: where the kernel's own stores are queued, a store in between waits for them,
// and the clock seemed up to 2 % faster.
__device__ inline void StartClock(ClockProbe* probe) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const uint64_t now_ns = GlobalTimerNs();
    const auto now_cycles = static_cast<uint64_t>(clock64());
    probe->start_ns = now_ns;
    probe->start_cycles = now_cycles;
  }
}

__device__ inline void EndClock(ClockProbe* probe) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const uint64_t now_ns = GlobalTimerNs();
    const auto now_cycles = static_cast<uint64_t>(clock64());
    probe->end_ns = now_ns;
    probe->end_cycles = now_cycles;
  }
}

#endif  // __CUDACC__

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_DEVICE_CODE_H_
