// AXPY and triad: DRAM-bound streams with exact bytes.
#include "kernels/cases.h"

namespace gx::kernels {
namespace {
constexpr unsigned kBlockThreads = 256;
}

__global__ void AxpyKernel(uint32_t count, float a, const float* __restrict__ x, float* __restrict__ y) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i] + y[i];
}

__global__ void TriadKernel(uint32_t count, float a, const float* __restrict__ b, const float* __restrict__ c,
                            float* __restrict__ out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = b[i] + a * c[i];
}

namespace {

bool SizeFits(CaseRun& run) {
  // The kernels index with 32 bits.
  if (run.size() >= 1 && run.size() <= (uint64_t{1} << 31)) return true;
  run.Fail("--size must be 1 to 2147483648 elements");
  return false;
}

void RunAxpy(CaseRun& run) {
  if (!SizeFits(run)) return;
  const uint64_t n = run.size();
  const uint64_t repeat = run.repeat();
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 3;
  expect.bytes = repeat * n * 3 * sizeof(float);
  expect.flop = repeat * n * 2;
  run.Expect(expect);

  constexpr float kA = 0.37f;
  const std::vector<float> x = RandomFloats(1, n);
  const std::vector<float> y = RandomFloats(2, n);
  DeviceArray<float> device_x(run, n);
  DeviceArray<float> device_y(run, n);
  if (!device_x || !device_y) return;
  GX_STEP(run.Upload(device_x.data(), x.data(), device_x.bytes()));
  GX_STEP(run.Upload(device_y.data(), y.data(), device_y.bytes()));
  const LaunchShape shape{dim3(BlocksFor(n, kBlockThreads)), dim3(kBlockThreads)};
  for (uint64_t r = 0; r < repeat; ++r) {
    GX_STEP(run.Launch(AxpyKernel, shape, nullptr, static_cast<uint32_t>(n), kA, device_x.data(), device_y.data()));
  }
  std::vector<float> got(n);
  GX_STEP(run.Download(got.data(), device_y.data(), device_y.bytes()));
  // Each launch rounds once, at a magnitude of at most 1 + 0.37 * repeat.
  const double magnitude = 1 + 0.37 * static_cast<double>(repeat);
  run.CheckValues(
      "y", n, [&](uint64_t i) { return double{got[i]}; },
      [&](uint64_t i) { return double{y[i]} + static_cast<double>(repeat) * double{kA} * double{x[i]}; },
      0x1p-24 * magnitude * static_cast<double>(repeat + 1));
}

void RunTriad(CaseRun& run) {
  if (!SizeFits(run)) return;
  const uint64_t n = run.size();
  const uint64_t repeat = run.repeat();
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.copies = 3;
  expect.fills = 1;
  expect.bytes = repeat * n * 3 * sizeof(float);
  expect.flop = repeat * n * 2;
  run.Expect(expect);

  constexpr float kA = 3.0f;
  const std::vector<float> b = RandomFloats(3, n);
  const std::vector<float> c = RandomFloats(4, n);
  DeviceArray<float> device_b(run, n);
  DeviceArray<float> device_c(run, n);
  DeviceArray<float> device_out(run, n);
  if (!device_b || !device_c || !device_out) return;
  GX_STEP(run.Upload(device_b.data(), b.data(), device_b.bytes()));
  GX_STEP(run.Upload(device_c.data(), c.data(), device_c.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  const LaunchShape shape{dim3(BlocksFor(n, kBlockThreads)), dim3(kBlockThreads)};
  for (uint64_t r = 0; r < repeat; ++r) {
    GX_STEP(run.Launch(TriadKernel, shape, nullptr, static_cast<uint32_t>(n), kA, device_b.data(), device_c.data(),
                       device_out.data()));
  }
  std::vector<float> got(n);
  GX_STEP(run.Download(got.data(), device_out.data(), device_out.bytes()));
  run.CheckValues(
      "out", n, [&](uint64_t i) { return double{got[i]}; },
      [&](uint64_t i) { return double{b[i]} + double{kA} * double{c[i]}; }, 4 * 0x1p-24);
}

}  // namespace

const Case kAxpyCase = {
    "axpy", "y = a x + y: 12 bytes and 2 FLOP an element, bound by DRAM", "elements", uint64_t{1} << 22, "launches", 10,
    RunAxpy};
const Case kTriadCase = {"triad",    "out = b + a c: 12 bytes and 2 FLOP an element, bound by DRAM",
                         "elements", uint64_t{1} << 22,
                         "launches", 10,
                         RunTriad};

}  // namespace gx::kernels
