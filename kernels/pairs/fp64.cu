// The same recurrence on the same floats in double precision, and in single precision, which suffices.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr uint32_t kSteps = 1024;

template <typename T>
__host__ __device__ inline T Accumulated(T x, uint32_t steps) {
  const T addend = x * x * T{0x1p-10};
  T y = x;
#pragma unroll 16
  for (uint32_t step = 0; step < steps; ++step) y = y * T{0x1.ff8p-1} + addend;
  return y;
}

template <typename T>
__device__ __forceinline__ void Accumulate(uint32_t steps, const float* __restrict__ in, float* __restrict__ out) {
  const uint32_t i = blockIdx.x * kBlockThreads + threadIdx.x;
  out[i] = static_cast<float>(Accumulated(static_cast<T>(in[i]), steps));
}

}  // namespace

__global__ void Fp64DefectKernel(uint32_t steps, const float* __restrict__ in, float* __restrict__ out) {
  Accumulate<double>(steps, in, out);
}

__global__ void Fp64CureKernel(uint32_t steps, const float* __restrict__ in, float* __restrict__ out) {
  Accumulate<float>(steps, in, out);
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

KnownCounts Counts(uint64_t size, bool in_double) {
  // Two multiplications come before the loop.
  const uint64_t flop = size * (2 + 2 * kSteps);
  const uint64_t sectors = size / kWarpThreads * kWarpSectors;
  return {.blocks = size / kBlockThreads,
          .fp16_flop = 0,
          .fp32_flop = in_double ? 0 : flop,
          .fp64_flop = in_double ? flop : 0,
          .threads_per_instruction = kWarpThreads,
          .global_load_bytes = size * sizeof(float),
          .global_store_bytes = size * sizeof(float),
          .global_load_sectors = sectors,
          .global_store_sectors = sectors,
          .l2_sectors = sectors * 2};
}

KnownCounts DefectCounts(uint64_t size) { return Counts(size, true); }
KnownCounts CureCounts(uint64_t size) { return Counts(size, false); }

void Run(CaseRun& run, void (*kernel)(uint32_t, const float*, float*)) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "a multiple of 256 up to 1073741824")) return;
  const uint64_t n = run.size();
  const std::vector<float> in = RandomFloats(114, n);
  DeviceArray<float> device_in(run, n);
  DeviceArray<float> device_out(run, n);
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(n / kBlockThreads)), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, kSteps, device_in.data(), device_out.data()));
  std::vector<float> out(n);
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  // A rounding a step, of a number below 1: single precision is held to the same bound as double.
  CheckFloats(
      run, "y", out, [&](uint64_t i) { return Accumulated(double{in[i]}, kSteps); }, (kSteps + 2) * 0x1p-25);
}

void RunDefect(CaseRun& run) { Run(run, Fp64DefectKernel); }
void RunCure(CaseRun& run) { Run(run, Fp64CureKernel); }

const Case kDefect = {"fp64_defect", "a recurrence on floats, computed in double precision",
                      "floats",      uint64_t{1} << 23,
                      "launches",    100,
                      RunDefect,     "Fp64DefectKernel",
                      "fp64_pipe",   OnPaper,
                      DefectCounts};
const Case kCure = {"fp64_cure", "a recurrence on floats, computed in single precision",
                    "floats",    uint64_t{1} << 23,
                    "launches",  100,
                    RunCure,     "Fp64CureKernel",
                    "issue",     OnPaper,
                    CureCounts};

}  // namespace

const Pair kFp64Pair = {
    .name = "fp64", .change = "the type that is computed in", .defect = &kDefect, .cure = &kCure, .term = "useful"};

}  // namespace gx::kernels
