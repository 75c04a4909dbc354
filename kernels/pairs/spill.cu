// 36 numbers a thread, kept in registers or, since the launch bounds leave 32 registers, partly in local memory, which
// L1 holds.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr int kValues = 36;
constexpr uint32_t kRounds = 80;
constexpr float kFactor = 0x1p-7f;

// Each round adds a part of its neighbour to every number: 36 multiply-adds.
__device__ __forceinline__ void MixValues(const float* __restrict__ in, float* __restrict__ out) {
  const uint32_t thread = blockIdx.x * kBlockThreads + threadIdx.x;
  const float start = in[thread];
  float value[kValues];
#pragma unroll
  for (int k = 0; k < kValues; ++k) value[k] = start * static_cast<float>(k + 1);
#pragma unroll 1
  for (uint32_t round = 0; round < kRounds; ++round) {
    const float first = value[0];
#pragma unroll
    for (int k = 0; k < kValues - 1; ++k) value[k] = fmaf(kFactor, value[k + 1], value[k]);
    value[kValues - 1] = fmaf(kFactor, first, value[kValues - 1]);
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kValues; ++k) sum = fmaf(0.5f, sum, value[k]);
  out[thread] = sum;
}

double MixedOnPaper(double start) {
  double value[kValues];
  for (int k = 0; k < kValues; ++k) value[k] = start * (k + 1);
  for (uint32_t round = 0; round < kRounds; ++round) {
    const double first = value[0];
    for (int k = 0; k < kValues - 1; ++k) value[k] += double{kFactor} * value[k + 1];
    value[kValues - 1] += double{kFactor} * first;
  }
  double sum = 0;
  for (int k = 0; k < kValues; ++k) sum = 0.5 * sum + value[k];
  return sum;
}

}  // namespace

// Eight blocks of 256 threads fill a multiprocessor's 2,048 threads with 32 registers each.
__global__ void __launch_bounds__(kBlockThreads, 8)
    SpillDefectKernel(const float* __restrict__ in, float* __restrict__ out) {
  MixValues(in, out);
}

__global__ void __launch_bounds__(kBlockThreads, 2)
    SpillCureKernel(const float* __restrict__ in, float* __restrict__ out) {
  MixValues(in, out);
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat) {
  if (size < 1 || size > (1 << 20)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 2;
  expect.fills = 1;
  const uint64_t threads = size * kBlockThreads;
  expect.bytes = repeat * threads * 2 * sizeof(float);
  expect.flop = repeat * threads * kValues * (1 + 2 * kRounds + 2);
  return expect;
}

void Run(CaseRun& run, void (*kernel)(const float*, float*)) {
  if (!ExpectOnPaper(run, OnPaper(run.size(), run.repeat()), "1 to 1048576 blocks")) return;
  const std::vector<float> in = RandomFloats(105, run.size() * kBlockThreads);
  DeviceArray<float> device_in(run, in.size());
  DeviceArray<float> device_out(run, in.size());
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(static_cast<unsigned>(run.size())), dim3(kBlockThreads)};
  GX_STEP(LaunchRepeatedly(run, kernel, shape, device_in.data(), device_out.data()));
  std::vector<float> out(in.size());
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  // Numbers grow to at most 36 (1 + 2^-7)^80 < 128; each of the 80 rounds rounds once, and the last sum doubles it.
  CheckFloats(
      run, "sums", out, [&](uint64_t i) { return MixedOnPaper(in[i]); }, 4 * 80 * 0x1p-24 * 128);
}

void RunDefect(CaseRun& run) { Run(run, SpillDefectKernel); }
void RunCure(CaseRun& run) { Run(run, SpillCureKernel); }

const Case kDefect = {"spill_defect", "36 numbers a thread in 32 registers: the rest goes through local memory",
                      "blocks",       5280,
                      "launches",     100,
                      RunDefect,      "SpillDefectKernel",
                      "l1_data",      OnPaper};
const Case kCure = {"spill_cure", "36 numbers a thread in registers, at a lower occupancy",
                    "blocks",     5280,
                    "launches",   100,
                    RunCure,      "SpillCureKernel",
                    "issue",      OnPaper};

}  // namespace

const Pair kSpillPair = {.name = "spill",
                         .change = "the launch bounds: eight blocks a multiprocessor, or two",
                         .defect = &kDefect,
                         .cure = &kCure,
                         .term = "spills",
                         .what_if = "no_spills"};

}  // namespace gx::kernels
