// As many blocks as the device holds at a time, or one more, which then runs alone.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 128;
// Leaves four blocks a multiprocessor on compute capability 9.0: a warp for each cycle of a multiply-add's latency.
constexpr size_t kSharedBytes = 48 * 1024;
constexpr uint64_t kMaxSteps = 1 << 17;
constexpr float kFactor = 1 - 0x1p-17f;
constexpr float kAddend = 0x1p-18f;

// Each step waits for the one before, so that one block does not run faster alone.
__device__ __forceinline__ void StepAlone(uint32_t steps, const float* __restrict__ in, float* __restrict__ out) {
  const uint32_t thread = blockIdx.x * kBlockThreads + threadIdx.x;
  float x = in[thread];
#pragma unroll 16
  for (uint32_t step = 0; step < steps; ++step) x = fmaf(x, kFactor, kAddend);
  out[thread] = x;
}

}  // namespace

__global__ void TailDefectKernel(uint32_t steps, const float* __restrict__ in, float* __restrict__ out) {
  StepAlone(steps, in, out);
}

__global__ void TailCureKernel(uint32_t steps, const float* __restrict__ in, float* __restrict__ out) {
  StepAlone(steps, in, out);
}

namespace {

void Run(CaseRun& run, void (*kernel)(uint32_t, const float*, float*), unsigned blocks_too_many) {
  // More steps would let the rounding of each add up to what a missing step changes.
  if (run.size() < 1 || run.size() > kMaxSteps) return run.Fail("--size must be 1 to 131072 steps");
  const auto steps = static_cast<uint32_t>(run.size());
  int blocks_per_sm = 0;
  GX_CUDA(run, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, kernel, static_cast<int>(kBlockThreads),
                                                             kSharedBytes));
  const unsigned blocks = static_cast<unsigned>(run.device().multiProcessorCount * blocks_per_sm) + blocks_too_many;
  const uint64_t threads = uint64_t{blocks} * kBlockThreads;
  Expectation expect;
  expect.launches = expect.kernels = run.repeat();
  expect.copies = 2;
  expect.fills = 1;
  expect.bytes = run.repeat() * threads * 2 * sizeof(float);
  expect.flop = run.repeat() * threads * 2 * steps;
  run.Expect(expect);

  const std::vector<float> in = RandomFloats(108, threads);
  DeviceArray<float> device_in(run, threads);
  DeviceArray<float> device_out(run, threads);
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  LaunchShape shape{dim3(blocks), dim3(kBlockThreads)};
  shape.dynamic_shared_bytes = kSharedBytes;
  GX_STEP(LaunchRepeatedly(run, kernel, shape, steps, device_in.data(), device_out.data()));
  std::vector<float> out(threads);
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  const auto reference = [&](uint64_t i) {
    double x = in[i];
    for (uint32_t step = 0; step < steps; ++step) x = x * double{kFactor} + double{kAddend};
    return x;
  };
  // A rounding a step, of a number below 1.
  CheckFloats(run, "x", out, reference, 0x1p-25 * (steps + 1));
}

void RunDefect(CaseRun& run) { Run(run, TailDefectKernel, 1); }
void RunCure(CaseRun& run) { Run(run, TailCureKernel, 0); }

const Case kDefect = {"tail_defect",   "chains of multiply-adds, in one block more than the device holds at a time",
                      "multiply-adds", kMaxSteps,
                      "launches",      200,
                      RunDefect,       "TailDefectKernel",
                      "tail"};
const Case kCure = {"tail_cure",     "chains of multiply-adds, in as many blocks as the device holds at a time",
                    "multiply-adds", kMaxSteps,
                    "launches",      200,
                    RunCure,         "TailCureKernel",
                    "issue"};

}  // namespace

const Pair kTailPair = {.name = "tail",
                        .change = "one block",
                        .defect = &kDefect,
                        .cure = &kCure,
                        .term = "tail",
                        .what_if = "full_last_wave"};

}  // namespace gx::kernels
