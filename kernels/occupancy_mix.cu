// One kernel per reason for which a multiprocessor can hold no more blocks: registers, static and dynamic shared
// memory, block sizes that are not a multiple of the warp.
#include "kernels/cases.h"

namespace gx::kernels {

// Keeps kValues numbers alive at once, so that registers grow with kValues up to what the launch bounds leave.
template <int kValues, int kMaxThreads, int kMinBlocks>
__global__ void __launch_bounds__(kMaxThreads, kMinBlocks)
    RegisterKernel(uint32_t rounds, const float* __restrict__ in, float* __restrict__ out) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  float value[kValues];
#pragma unroll
  for (int k = 0; k < kValues; ++k) value[k] = in[thread * kValues + k];
#pragma unroll 1
  for (uint32_t r = 0; r < rounds; ++r) {
    const float first = value[0];
#pragma unroll
    for (int k = 0; k < kValues - 1; ++k) value[k] = 0.5f * value[k] + 0.5f * value[k + 1];
    value[kValues - 1] = 0.5f * value[kValues - 1] + 0.5f * first;
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kValues; ++k) sum += value[k] * static_cast<float>(k + 1);
  out[thread] = sum;
}

// Reverses each block's values through static shared memory.
template <int kThreads>
__global__ void StaticSharedKernel(const float* __restrict__ in, float* __restrict__ out) {
  // Padded to 24 KiB: the block's values use the first part.
  __shared__ float staged[24 * 1024 / sizeof(float)];
  static_assert(kThreads <= 24 * 1024 / sizeof(float));
  staged[threadIdx.x] = in[blockIdx.x * kThreads + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = staged[kThreads - 1 - threadIdx.x];
}

// The same through dynamic shared memory, at the far end of what was asked for.
__global__ void DynamicSharedKernel(uint32_t floats, const float* __restrict__ in, float* __restrict__ out) {
  extern __shared__ float dynamic_staged[];
  float* last = dynamic_staged + floats - blockDim.x;
  last[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = last[blockDim.x - 1 - threadIdx.x];
}

// A block of any shape: element = global linear thread.
__global__ void OddBlockKernel(const float* __restrict__ in, float* __restrict__ out) {
  const uint32_t in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const uint32_t i = blockIdx.x * blockDim.x * blockDim.y * blockDim.z + in_block;
  out[i] = in[i] + 1.0f;
}

namespace {

constexpr uint32_t kRounds = 8;

struct Buffers {
  std::vector<float> in;
  std::vector<float> out;
  DeviceArray<float> device_in;
  DeviceArray<float> device_out;
  Buffers(CaseRun& run, uint64_t count)
      : in(RandomFloats(13, count)), out(count), device_in(run, count), device_out(run, count) {}
};

template <int kValues, int kMaxThreads, int kMinBlocks>
void RunRegisters(CaseRun& run, Buffers& buffers, unsigned blocks) {
  const LaunchShape shape{dim3(blocks), dim3(kMaxThreads)};
  const uint64_t threads = uint64_t{blocks} * kMaxThreads;
  GX_STEP(run.Poison(buffers.device_out.data(), buffers.device_out.bytes()));
  for (uint64_t r = 0; r < run.repeat(); ++r) {
    GX_STEP(run.Launch(RegisterKernel<kValues, kMaxThreads, kMinBlocks>, shape, nullptr, kRounds,
                       buffers.device_in.data(), buffers.device_out.data()));
  }
  GX_STEP(run.Download(buffers.out.data(), buffers.device_out.data(), threads * sizeof(float)));
  const auto reference = [&](uint64_t thread) {
    double value[kValues];
    for (int k = 0; k < kValues; ++k) value[k] = buffers.in[thread * kValues + static_cast<uint64_t>(k)];
    for (uint32_t r = 0; r < kRounds; ++r) {
      const double first = value[0];
      for (int k = 0; k < kValues - 1; ++k) value[k] = 0.5 * value[k] + 0.5 * value[k + 1];
      value[kValues - 1] = 0.5 * value[kValues - 1] + 0.5 * first;
    }
    double sum = 0;
    for (int k = 0; k < kValues; ++k) sum += value[k] * (k + 1);
    return sum;
  };
  // Every 97th thread; the weighted sum of kValues values below 1 rounds kValues times at its own magnitude.
  run.CheckValues(
      "sums of " + std::to_string(kValues) + " values", threads / 97,
      [&](uint64_t i) { return double{buffers.out[i * 97]}; }, [&](uint64_t i) { return reference(i * 97); },
      0x1p-24 * kValues * kValues * kValues);
}

void CheckReversed(CaseRun& run, const Buffers& buffers, unsigned threads, uint64_t count) {
  run.CheckValues(
      "reversed blocks of " + std::to_string(threads), count, [&](uint64_t i) { return double{buffers.out[i]}; },
      [&](uint64_t i) { return double{buffers.in[i / threads * threads + (threads - 1 - i % threads)]}; }, 0);
}

template <int kThreads>
void RunStaticShared(CaseRun& run, Buffers& buffers, unsigned blocks) {
  const LaunchShape shape{dim3(blocks), dim3(kThreads)};
  GX_STEP(run.Poison(buffers.device_out.data(), buffers.device_out.bytes()));
  for (uint64_t r = 0; r < run.repeat(); ++r) {
    GX_STEP(
        run.Launch(StaticSharedKernel<kThreads>, shape, nullptr, buffers.device_in.data(), buffers.device_out.data()));
  }
  const uint64_t count = uint64_t{blocks} * kThreads;
  GX_STEP(run.Download(buffers.out.data(), buffers.device_out.data(), count * sizeof(float)));
  CheckReversed(run, buffers, kThreads, count);
}

void RunDynamicShared(CaseRun& run, Buffers& buffers, unsigned blocks, unsigned threads, uint32_t bytes) {
  LaunchShape shape{dim3(blocks), dim3(threads)};
  shape.dynamic_shared_bytes = bytes;
  GX_CUDA(run, cudaFuncSetAttribute(reinterpret_cast<const void*>(DynamicSharedKernel),
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  GX_STEP(run.Poison(buffers.device_out.data(), buffers.device_out.bytes()));
  for (uint64_t r = 0; r < run.repeat(); ++r) {
    GX_STEP(run.Launch(DynamicSharedKernel, shape, nullptr, static_cast<uint32_t>(bytes / sizeof(float)),
                       buffers.device_in.data(), buffers.device_out.data()));
  }
  const uint64_t count = uint64_t{blocks} * threads;
  GX_STEP(run.Download(buffers.out.data(), buffers.device_out.data(), count * sizeof(float)));
  CheckReversed(run, buffers, threads, count);
}

void RunOddBlock(CaseRun& run, Buffers& buffers, unsigned blocks, dim3 block) {
  const LaunchShape shape{dim3(blocks), block};
  GX_STEP(run.Poison(buffers.device_out.data(), buffers.device_out.bytes()));
  for (uint64_t r = 0; r < run.repeat(); ++r) {
    GX_STEP(run.Launch(OddBlockKernel, shape, nullptr, buffers.device_in.data(), buffers.device_out.data()));
  }
  const uint64_t count = uint64_t{blocks} * block.x * block.y * block.z;
  GX_STEP(run.Download(buffers.out.data(), buffers.device_out.data(), count * sizeof(float)));
  run.CheckValues(
      "blocks of " + std::to_string(block.x) + " x " + std::to_string(block.y) + " x " + std::to_string(block.z), count,
      [&](uint64_t i) { return double{buffers.out[i]}; }, [&](uint64_t i) { return double{buffers.in[i]} + 1; },
      0x1p-23);
}

void RunOccupancyMix(CaseRun& run) {
  const uint64_t blocks_wide = run.size();
  const uint64_t repeat = run.repeat();
  if (blocks_wide < 1 || blocks_wide > 4096) return run.Fail("--size must be 1 to 4096 blocks");
  if (run.device().sharedMemPerBlockOptin < 96 * 1024) return run.Skip("needs 96 KiB of shared memory a block");
  const auto blocks = static_cast<unsigned>(blocks_wide);
  // What each launch reads and writes, in floats: a row per launch below, in the same order.
  struct Row {
    uint64_t threads;
    uint64_t floats_per_thread;
    uint64_t flop_per_thread;
  };
  const auto registers = [](uint64_t values, uint64_t threads) {
    return Row{threads, values + 1, kRounds * values * 3 + 2 * values};
  };
  const Row rows[] = {registers(8, 256), registers(32, 256), registers(64, 128), registers(96, 128),
                      Row{256, 2, 0},    Row{1000, 2, 0},    Row{128, 2, 0},     Row{384, 2, 0},
                      Row{33, 2, 1},     Row{257, 2, 1},     Row{1000, 2, 1},    Row{7 * 9 * 3, 2, 1}};
  Expectation expect;
  for (const Row& row : rows) {
    expect.launches += repeat;
    expect.copies += 1;
    expect.fills += 1;
    expect.bytes += repeat * blocks * row.threads * row.floats_per_thread * sizeof(float);
    expect.flop += repeat * blocks * row.threads * row.flop_per_thread;
  }
  expect.kernels = expect.launches;
  expect.copies += 1;
  run.Expect(expect);

  Buffers buffers(run, blocks_wide * 96 * 128);
  if (!buffers.device_in || !buffers.device_out) return;
  GX_STEP(run.Upload(buffers.device_in.data(), buffers.in.data(), buffers.device_in.bytes()));
  RunRegisters<8, 256, 8>(run, buffers, blocks);
  RunRegisters<32, 256, 2>(run, buffers, blocks);
  RunRegisters<64, 128, 2>(run, buffers, blocks);
  RunRegisters<96, 128, 1>(run, buffers, blocks);
  RunStaticShared<256>(run, buffers, blocks);
  RunStaticShared<1000>(run, buffers, blocks);
  RunDynamicShared(run, buffers, blocks, 128, 64 * 1024);
  RunDynamicShared(run, buffers, blocks, 384, 96 * 1024);
  RunOddBlock(run, buffers, blocks, dim3(33));
  RunOddBlock(run, buffers, blocks, dim3(257));
  RunOddBlock(run, buffers, blocks, dim3(1000));
  RunOddBlock(run, buffers, blocks, dim3(7, 9, 3));
}

}  // namespace

const Case kOccupancyMixCase = {"occupancy_mix",
                                "blocks limited by registers, static and dynamic shared memory, and odd block sizes",
                                "blocks",
                                264,
                                "launches of each kernel",
                                3,
                                RunOccupancyMix};

}  // namespace gx::kernels
