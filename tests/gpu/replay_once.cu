// Kernels that are launched once, or a few times, and whose results are wrong if one of them runs more often than it
// was launched, or if what it wrote is not put back in between: for GPUEXEC_REPLAY.
//
//   gx-replay-once device|variable|mapped|managed|pool [TIMES]
//
//   device    all memory is cudaMalloc's
//   variable  the counters are __device__ variables
//   mapped    the counters are in pinned host memory that is mapped for the device
//   managed   in managed memory
//   pool      in memory of a stream-ordered pool
//
// Every kernel is launched TIMES times (default 1) in the default stream. Standard output: "expect KERNEL METRIC
// VALUE", the counts of one launch that are known on paper; "result KERNEL ok", or what was wrong; "launches N".
//
// Exit code: 0; 1 where a result is wrong or CUDA refused something; 2 for wrong usage.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr unsigned kBlocks = 1024;
constexpr unsigned kThreads = 256;
constexpr unsigned kValues = kBlocks * kThreads;
constexpr unsigned kChain = 64;

bool failed = false;

void Ok(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "gx-replay-once: %s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}
#define GX_OK(call) Ok((call), #call)

}  // namespace

struct Counters {
  unsigned threads;
  unsigned tickets;
  unsigned finishes;
  unsigned total;
};

__device__ Counters device_counters;

// Counts every thread.
extern "C" __global__ void once_count(Counters* counters) { atomicAdd(&counters->threads, 1u); }

// values += kChain, one fused multiply-add after the other: `scale` and `step` are 1.
extern "C" __global__ void once_chain(float* values, float scale, float step) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = values[i];
#pragma unroll
  for (unsigned n = 0; n < kChain; ++n) value = __fmaf_rn(value, scale, step);
  values[i] = value;
}

// sums += terms
extern "C" __global__ void once_add(uint32_t* sums, const uint32_t* terms) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] += terms[i];
}

// The values of each block in the other order.
extern "C" __global__ void once_reverse(uint32_t* values) {
  __shared__ uint32_t block[kThreads];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  block[threadIdx.x] = values[i];
  __syncthreads();
  values[i] = block[blockDim.x - 1 - threadIdx.x];
}

// The last block to come writes the total. With tickets that were not put back nobody is last.
extern "C" __global__ void once_ticket(Counters* counters) {
  if (threadIdx.x != 0) return;
  atomicAdd(&counters->total, blockIdx.x);
  __threadfence();
  if (atomicAdd(&counters->tickets, 1u) % gridDim.x == gridDim.x - 1) atomicAdd(&counters->finishes, 1u);
}

namespace {

void Expect(const char* kernel, const char* metric, uint64_t value) {
  std::printf("expect %s %s %llu\n", kernel, metric, static_cast<unsigned long long>(value));
}

void Result(const char* kernel, uint64_t expected, uint64_t got) {
  if (expected == got) {
    std::printf("result %s ok\n", kernel);
    return;
  }
  failed = true;
  std::printf("result %s %llu instead of %llu\n", kernel, static_cast<unsigned long long>(got),
              static_cast<unsigned long long>(expected));
}

// Where the counters are. `host`: they can be read by the host as they are.
Counters* MakeCounters(std::string_view mode, bool* host) {
  Counters* counters = nullptr;
  void* host_counters = nullptr;
  *host = mode == "mapped" || mode == "managed";
  if (mode == "variable") {
    void* address = nullptr;
    GX_OK(cudaGetSymbolAddress(&address, device_counters));
    counters = static_cast<Counters*>(address);
  } else if (mode == "mapped") {
    GX_OK(cudaHostAlloc(&host_counters, sizeof(Counters), cudaHostAllocMapped));
    void* address = nullptr;
    GX_OK(cudaHostGetDevicePointer(&address, host_counters, 0));
    counters = static_cast<Counters*>(address);
  } else if (mode == "managed") {
    GX_OK(cudaMallocManaged(&counters, sizeof(Counters)));
  } else if (mode == "pool") {
    GX_OK(cudaMallocAsync(&counters, sizeof(Counters), nullptr));
  } else {
    GX_OK(cudaMalloc(&counters, sizeof(Counters)));
  }
  GX_OK(cudaMemset(counters, 0, sizeof(Counters)));
  GX_OK(cudaDeviceSynchronize());
  return counters;
}

template <typename T>
T* Upload(const std::vector<T>& values) {
  T* memory = nullptr;
  GX_OK(cudaMalloc(&memory, values.size() * sizeof(T)));
  GX_OK(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

// How many values are not what `expected` says of their place.
template <typename T, typename Expected>
uint64_t Wrong(const T* memory, const Expected& expected) {
  std::vector<T> values(kValues);
  GX_OK(cudaMemcpy(values.data(), memory, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
  uint64_t wrong = 0;
  for (unsigned i = 0; i < kValues; ++i) wrong += values[i] == expected(i) ? 0 : 1;
  return wrong;
}

void Run(std::string_view mode, unsigned times) {
  bool host = false;
  Counters* const counters = MakeCounters(mode, &host);
  std::vector<float> zeros(kValues, 0.0f);
  std::vector<uint32_t> numbers(kValues);
  for (unsigned i = 0; i < kValues; ++i) numbers[i] = i;
  float* const chain = Upload(zeros);
  uint32_t* const sums = Upload(numbers);
  const uint32_t* const terms = Upload(numbers);
  uint32_t* const order = Upload(numbers);
  for (unsigned n = 0; n < times; ++n) {
    once_count<<<kBlocks, kThreads>>>(counters);
    GX_OK(cudaGetLastError());
    once_chain<<<kBlocks, kThreads>>>(chain, 1.0f, 1.0f);
    GX_OK(cudaGetLastError());
    once_add<<<kBlocks, kThreads>>>(sums, terms);
    GX_OK(cudaGetLastError());
    once_reverse<<<kBlocks, kThreads>>>(order);
    GX_OK(cudaGetLastError());
    once_ticket<<<kBlocks, kThreads>>>(counters);
    GX_OK(cudaGetLastError());
    GX_OK(cudaDeviceSynchronize());
  }

  Counters seen{};
  GX_OK(cudaMemcpy(&seen, counters, sizeof(seen), cudaMemcpyDefault));
  Result("once_count", uint64_t{kValues} * times, seen.threads);
  Result("once_chain", 0, Wrong(chain, [=](unsigned) { return static_cast<float>(kChain * times); }));
  Result("once_add", 0, Wrong(sums, [=](unsigned i) { return i * (times + 1); }));
  Result("once_reverse", 0, Wrong(order, [=](unsigned i) {
           const unsigned lane = i % kThreads;
           return i - lane + (times % 2 == 0 ? lane : kThreads - 1 - lane);
         }));
  Result("once_ticket", uint64_t{kBlocks} * (kBlocks - 1) / 2 * times, seen.total);
  Result("once_ticket", uint64_t{kBlocks} * times, seen.tickets);
  Result("once_ticket", times, seen.finishes);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string_view mode = argument_count > 1 ? arguments[1] : "";
  const int times = argument_count > 2 ? std::atoi(arguments[2]) : 1;
  const bool known = mode == "device" || mode == "variable" || mode == "mapped" || mode == "managed" || mode == "pool";
  if (!known || argument_count > 3 || times < 1 || times > 100) {
    std::fprintf(stderr, "usage: gx-replay-once device|variable|mapped|managed|pool [TIMES, 1 to 100]\n");
    return 2;
  }
  const uint64_t bytes = uint64_t{kValues} * 4;
  for (const char* kernel : {"once_count", "once_chain", "once_add", "once_reverse", "once_ticket"}) {
    Expect(kernel, "gr__ctas_launched.sum", kBlocks);
  }
  Expect("once_chain", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", uint64_t{kValues} * kChain);
  Expect("once_chain", "smsp__sass_data_bytes_mem_global_op_ld.sum", bytes);
  Expect("once_chain", "smsp__sass_data_bytes_mem_global_op_st.sum", bytes);
  Expect("once_add", "smsp__sass_data_bytes_mem_global_op_ld.sum", 2 * bytes);
  Expect("once_add", "smsp__sass_data_bytes_mem_global_op_st.sum", bytes);
  Expect("once_reverse", "smsp__sass_data_bytes_mem_global_op_ld.sum", bytes);
  Expect("once_reverse", "smsp__sass_data_bytes_mem_shared.sum", 2 * bytes);
  Run(mode, static_cast<unsigned>(times));
  std::printf("launches %d\n", 5 * times);
  return failed ? 1 : 0;
}
