// The kernels of counter_facts.cc. Each launches into a stream and returns at once.
#ifndef GPUEXEC_TESTS_GPU_COUNTER_FACTS_KERNELS_H_
#define GPUEXEC_TESTS_GPU_COUNTER_FACTS_KERNELS_H_

#include <cuda_runtime.h>

#include <cstddef>

// y = a x + y, one element a thread, 256 threads a block.
void LaunchAxpy(size_t n, const float* x, float* y, cudaStream_t stream);
void LaunchEmpty(cudaStream_t stream);
// One thread that watches the clock.
void LaunchSpin(long long cycles, cudaStream_t stream);

#endif  // GPUEXEC_TESTS_GPU_COUNTER_FACTS_KERNELS_H_
