// y = c clamp(a x + b) + d: three passes over memory, or one.
#include "kernels/pairs/pair.h"
#include "kernels/pairs/pair_run.h"

namespace gx::kernels {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr unsigned kPerThread = 16;
constexpr uint64_t kPerBlock = uint64_t{kBlockThreads} * kPerThread;

template <typename T>
__host__ __device__ inline T Scaled(T x) {
  return T{1.75} * x + T{0.125};
}
template <typename T>
__host__ __device__ inline T Clamped(T x) {
  return x < T{-1} ? T{-1} : x > T{1} ? T{1} : x;
}
template <typename T>
__host__ __device__ inline T Shifted(T x) {
  return T{0.375} * x + T{0.25};
}

template <typename Step>
__device__ __forceinline__ void Pass(const float* __restrict__ in, float* __restrict__ out, Step step) {
  const uint32_t first = blockIdx.x * static_cast<uint32_t>(kPerBlock) + threadIdx.x;
#pragma unroll
  for (uint32_t k = 0; k < kPerThread; ++k) out[first + k * kBlockThreads] = step(in[first + k * kBlockThreads]);
}

}  // namespace

__global__ void FusionDefectScaleKernel(const float* __restrict__ in, float* __restrict__ out) {
  Pass(in, out, [](float x) { return Scaled(x); });
}

__global__ void FusionDefectClampKernel(const float* __restrict__ in, float* __restrict__ out) {
  Pass(in, out, [](float x) { return Clamped(x); });
}

__global__ void FusionDefectShiftKernel(const float* __restrict__ in, float* __restrict__ out) {
  Pass(in, out, [](float x) { return Shifted(x); });
}

__global__ void FusionCureKernel(const float* __restrict__ in, float* __restrict__ out) {
  Pass(in, out, [](float x) { return Shifted(Clamped(Scaled(x))); });
}

namespace {

std::optional<Expectation> OnPaper(uint64_t size, uint64_t repeat, uint64_t passes) {
  if (size < kPerBlock || size % kPerBlock != 0 || size > (uint64_t{1} << 30)) return std::nullopt;
  Expectation expect;
  expect.launches = expect.kernels = repeat * passes;
  expect.copies = 2;
  expect.fills = passes;
  expect.bytes = repeat * passes * size * 2 * sizeof(float);
  expect.flop = repeat * size * 4;
  return expect;
}

std::optional<Expectation> DefectOnPaper(uint64_t size, uint64_t repeat) { return OnPaper(size, repeat, 3); }
std::optional<Expectation> CureOnPaper(uint64_t size, uint64_t repeat) { return OnPaper(size, repeat, 1); }

constexpr std::string_view kSizes = "a multiple of 4096 up to 1073741824";

void Check(CaseRun& run, const std::vector<float>& in, const DeviceArray<float>& device_out) {
  std::vector<float> out(in.size());
  GX_STEP(run.Download(out.data(), device_out.data(), device_out.bytes()));
  // Three roundings below 2.
  CheckFloats(
      run, "y", out, [&](uint64_t i) { return Shifted(Clamped(Scaled(double{in[i]}))); }, 3 * 0x1p-24);
}

LaunchShape ShapeOf(uint64_t size) {
  return LaunchShape{dim3(static_cast<unsigned>(size / kPerBlock)), dim3(kBlockThreads)};
}

void RunDefect(CaseRun& run) {
  if (!ExpectOnPaper(run, DefectOnPaper(run.size(), run.repeat()), kSizes)) return;
  const std::vector<float> in = RandomFloats(110, run.size());
  DeviceArray<float> device_in(run, in.size());
  DeviceArray<float> scaled(run, in.size());
  DeviceArray<float> clamped(run, in.size());
  DeviceArray<float> device_out(run, in.size());
  if (!device_in || !scaled || !clamped || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  for (const DeviceArray<float>* array : {&scaled, &clamped, &device_out}) {
    GX_STEP(run.Poison(array->data(), array->bytes()));
  }
  const LaunchShape shape = ShapeOf(run.size());
  for (uint64_t r = 0; r < run.repeat(); ++r) {
    GX_STEP(run.Launch(FusionDefectScaleKernel, shape, nullptr, device_in.data(), scaled.data()));
    GX_STEP(run.Launch(FusionDefectClampKernel, shape, nullptr, scaled.data(), clamped.data()));
    GX_STEP(run.Launch(FusionDefectShiftKernel, shape, nullptr, clamped.data(), device_out.data()));
    GX_STEP(WaitForLaunches(run, r));
  }
  Check(run, in, device_out);
}

void RunCure(CaseRun& run) {
  if (!ExpectOnPaper(run, CureOnPaper(run.size(), run.repeat()), kSizes)) return;
  const std::vector<float> in = RandomFloats(110, run.size());
  DeviceArray<float> device_in(run, in.size());
  DeviceArray<float> device_out(run, in.size());
  if (!device_in || !device_out) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  GX_STEP(LaunchRepeatedly(run, FusionCureKernel, ShapeOf(run.size()), device_in.data(), device_out.data()));
  Check(run, in, device_out);
}

const Case kDefect = {"fusion_defect",
                      "scale, clamp and shift in a pass each: every value goes to memory and back twice",
                      "floats",
                      uint64_t{1} << 26,
                      "times the three launches",
                      100,
                      RunDefect,
                      "FusionDefectScaleKernel,FusionDefectClampKernel,FusionDefectShiftKernel",
                      "dram",
                      DefectOnPaper};
const Case kCure = {"fusion_cure", "scale, clamp and shift in one pass",
                    "floats",      uint64_t{1} << 26,
                    "launches",    100,
                    RunCure,       "FusionCureKernel",
                    "dram",        CureOnPaper};

}  // namespace

const Pair kFusionPair = {.name = "fusion",
                          .change = "passes over memory",
                          .defect = &kDefect,
                          .cure = &kCure,
                          .run_finding = "fusable_neighbours",
                          .what_if = "fused"};

}  // namespace gx::kernels
