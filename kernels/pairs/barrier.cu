// Values go round within each warp, phase by phase; in every phase another warp of the block has far more to do. With
// a barrier of the whole block all wait for that warp in every phase; with one of the warp nobody waits.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr uint32_t kWarps = 16;
constexpr uint32_t kLanes = 32;
constexpr unsigned kBlockThreads = kWarps * kLanes;
constexpr uint32_t kUnrolled = 8;
constexpr uint32_t kHeavySteps = 512;
constexpr uint32_t kLightSteps = 8;
// Every warp has its turn equally often.
constexpr uint32_t kPhases = 30 * kWarps;
constexpr float kFactor = 1 - 0x1p-13f;
constexpr float kAddend = 0x1p-14f;

__host__ __device__ constexpr uint32_t StepsOf(uint32_t phase, uint32_t warp) {
  return phase % kWarps == warp ? kHeavySteps : kLightSteps;
}

template <bool kWholeBlock>
__device__ __forceinline__ void GoRound(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float exchanged[2][kWarps][kLanes];
  const uint32_t warp = threadIdx.x / kLanes;
  const uint32_t lane = threadIdx.x % kLanes;
  float x = in[blockIdx.x * kBlockThreads + threadIdx.x];
#pragma unroll 1
  for (uint32_t phase = 0; phase < kPhases; ++phase) {
    const uint32_t steps = StepsOf(phase, warp);
#pragma unroll 1
    for (uint32_t step = 0; step < steps; step += kUnrolled) {
#pragma unroll
      for (uint32_t k = 0; k < kUnrolled; ++k) x = fmaf(x, kFactor, kAddend);
    }
    // Two buffers: one barrier a phase is enough.
    exchanged[phase % 2][warp][lane] = x;
    if constexpr (kWholeBlock) {
      __syncthreads();
    } else {
      __syncwarp();
    }
    x = exchanged[phase % 2][warp][(lane + 1) % kLanes];
  }
  out[blockIdx.x * kBlockThreads + threadIdx.x] = x;
}

}  // namespace

__global__ void BarrierDefectKernel(const float* __restrict__ in, float* __restrict__ out) { GoRound<true>(in, out); }

__global__ void BarrierCureKernel(const float* __restrict__ in, float* __restrict__ out) { GoRound<false>(in, out); }

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < 1 || size > (1 << 20)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  const uint64_t threads = size * kBlockThreads;
  expect.bytes = repeat * threads * 2 * sizeof(float);
  expect.flop = repeat * threads * 2 * (kPhases / kWarps) * (kHeavySteps + (kWarps - 1) * kLightSteps);
  return expect;
}

void Run(CaseRun& run, void (*kernel)(const float*, float*)) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "1 to 1048576 blocks")) return;
  const std::vector<float> in = RandomFloats(112, run.size() * kBlockThreads);
  DeviceArray<float> device_in(run, in.size());
  DeviceArray<float> device_out(run, in.size());
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(run.size())), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, device_in.data(), device_out.data()));
  std::vector<float> out(in.size());
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  // The value that ends in a lane began kPhases lanes further on and met the steps of its warp in order.
  const auto reference = [&](uint64_t i) {
    const auto warp = static_cast<uint32_t>(i % kBlockThreads / kLanes);
    double x = in[i / kLanes * kLanes + (i + kPhases) % kLanes];
    for (uint32_t phase = 0; phase < kPhases; ++phase) {
      for (uint32_t step = 0; step < StepsOf(phase, warp); ++step) x = x * double{kFactor} + double{kAddend};
    }
    return x;
  };
  // A rounding a step, of a number below 1; those of long ago have shrunk.
  CheckFloats(run, "x", out, reference, 0x1p13 * 0x1p-25);
}

void RunDefect(CaseRun& run) { Run(run, BarrierDefectKernel); }
void RunCure(CaseRun& run) { Run(run, BarrierCureKernel); }

const Case kDefect = {
    "barrier_defect", "one warp of 16 works longer in each phase, and a barrier of the block holds all",
    "blocks",         528,
    "launches",       200,
    RunDefect,        "BarrierDefectKernel",
    "sync",           OnPaper};
const Case kCure = {"barrier_cure", "one warp of 16 works longer in each phase, and no other waits for it",
                    "blocks",       528,
                    "launches",     200,
                    RunCure,        "BarrierCureKernel",
                    "issue",        OnPaper};

}  // namespace

const Pair kBarrierPair = {.name = "barrier",
                           .change = "the barrier's scope: a block, or a warp",
                           .defect = &kDefect,
                           .cure = &kCure,
                           .term = "sync",
                           .what_if = "barriers_split"};

}  // namespace gx::kernels
