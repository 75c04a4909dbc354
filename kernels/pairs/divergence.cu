// Elements of four kinds, each with code of its own: mixed within every warp, or a kind a warp.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr uint32_t kSteps = 1024;
constexpr uint32_t kKinds = 4;
// Elements i with the same i >> kLogWarp are one warp's.
constexpr uint32_t kLogWarp = 5;

__host__ __device__ constexpr uint32_t KindOf(uint32_t log_run, uint32_t i) { return (i >> log_run) % kKinds; }

// Loops of another shape each, kSteps multiply-adds in every one, so that no compiler makes one of them: neither one
// loop with chosen constants, nor four results of which one is chosen.
template <typename T>
__host__ __device__ inline T Treat(uint32_t kind, T x, uint32_t steps) {
  const T start = x;
  T y = T{0.5};
  switch (kind) {
    case 0:
#pragma unroll 16
      for (uint32_t step = 0; step < steps; ++step) x = x * T{0x1.ff8p-1} + T{0x1p-10};
      return x;
    case 1:
#pragma unroll 16
      for (uint32_t step = 0; step < steps; ++step) x = x * T{-0x1p-10} + x;
      return x + T{2};
    case 2:
#pragma unroll 8
      for (uint32_t step = 0; step < steps; step += 2) {
        x = y * T{0x1p-9} + x;
        y = x * T{-0x1p-9} + y;
      }
      return x - y;
    default:
#pragma unroll 16
      for (uint32_t step = 0; step < steps; ++step) x = x * T{0x1.ffp-1} + start;
      return x * T{0x1p-9};
  }
}

__device__ __forceinline__ void TreatByKind(uint32_t log_run, uint32_t steps, const float* __restrict__ in,
                                            float* __restrict__ out) {
  const uint32_t i = blockIdx.x * kBlockThreads + threadIdx.x;
  out[i] = Treat(KindOf(log_run, i), in[i], steps);
}

}  // namespace

// The same code: where the kinds lie differs.
__global__ void DivergenceDefectKernel(uint32_t log_run, uint32_t steps, const float* __restrict__ in,
                                       float* __restrict__ out) {
  TreatByKind(log_run, steps, in, out);
}

__global__ void DivergenceCureKernel(uint32_t log_run, uint32_t steps, const float* __restrict__ in,
                                     float* __restrict__ out) {
  TreatByKind(log_run, steps, in, out);
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < kBlockThreads || size % kBlockThreads != 0 || size > (uint64_t{1} << 30)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  expect.bytes = repeat * size * 2 * sizeof(float);
  expect.flop = repeat * size * 2 * kSteps;
  return expect;
}

// `threads`: of a warp that are of one kind, as in the loops, where nearly all instructions are.
KnownCounts Counts(uint64_t size, uint64_t threads) {
  const uint64_t sectors = size / kWarpThreads * kWarpSectors;
  return {.blocks = size / kBlockThreads,
          .fp16_flop = 0,
          // Three of the four kinds have an operation beside their loop.
          .fp32_flop = size * 2 * kSteps + size / kKinds * 3,
          .fp64_flop = 0,
          .threads_per_instruction = threads,
          .global_load_bytes = size * sizeof(float),
          .global_store_bytes = size * sizeof(float),
          .global_load_sectors = sectors,
          .global_store_sectors = sectors,
          .l2_sectors = sectors * 2};
}

KnownCounts DefectCounts(uint64_t size) { return Counts(size, kWarpThreads / kKinds); }
KnownCounts CureCounts(uint64_t size) { return Counts(size, kWarpThreads); }

void Run(CaseRun& run, void (*kernel)(uint32_t, uint32_t, const float*, float*), uint32_t log_run) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "a multiple of 256 up to 1073741824")) return;
  const uint64_t n = run.size();
  const std::vector<float> in = RandomFloats(109, n);
  DeviceArray<float> device_in(run, n);
  DeviceArray<float> device_out(run, n);
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(n / kBlockThreads)), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, log_run, kSteps, device_in.data(), device_out.data()));
  std::vector<float> out(n);
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  const auto reference = [&](uint64_t i) {
    return Treat(KindOf(log_run, static_cast<uint32_t>(i)), double{in[i]}, kSteps);
  };
  // A rounding a step, of a number that stays below 4; the last kind's below 512 is scaled back by as much.
  CheckFloats(run, "treated", out, reference, kSteps * 0x1p-25 * 4);
}

void RunDefect(CaseRun& run) { Run(run, DivergenceDefectKernel, 0); }
void RunCure(CaseRun& run) { Run(run, DivergenceCureKernel, kLogWarp); }

const Case kDefect = {"divergence_defect",
                      "elements of four kinds, mixed within every warp: 8 of 32 threads active",
                      "floats",
                      uint64_t{1} << 23,
                      "launches",
                      100,
                      RunDefect,
                      "DivergenceDefectKernel",
                      "issue",
                      OnPaper,
                      DefectCounts};
const Case kCure = {"divergence_cure", "elements of four kinds, one kind a warp",
                    "floats",          uint64_t{1} << 23,
                    "launches",        100,
                    RunCure,           "DivergenceCureKernel",
                    "issue",           OnPaper,
                    CureCounts};

}  // namespace

const Pair kDivergencePair = {.name = "divergence",
                              .change = "the order of the kinds",
                              .defect = &kDefect,
                              .cure = &kCure,
                              .term = "divergence",
                              .what_if = "no_divergence"};

}  // namespace gx::kernels
