// Programmatic dependent launch: the second kernel of a pair may start while the first one is still running.
#include "kernels/cases.h"

namespace gx::kernels {
namespace {
constexpr unsigned kBlockThreads = 256;
}

__global__ void PdlPrimaryKernel(uint32_t count, const uint32_t* __restrict__ in, uint32_t* __restrict__ middle) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // Lets the next kernel be scheduled; its data becomes visible only at the end of this one.
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) middle[i] = in[i] * 5 + 1;
}

__global__ void PdlSecondaryKernel(uint32_t count, const uint32_t* middle, uint32_t* __restrict__ out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = middle[i] * 7 + 3;
}

namespace {

void RunPdl(CaseRun& run) {
  if (run.device().major < 9) return run.Skip("programmatic dependent launch needs compute capability 9.0");
  const uint64_t n = run.size();
  const uint64_t repeat = run.repeat();
  if (n < 1 || n > (uint64_t{1} << 28)) return run.Fail("--size must be 1 to 268435456 elements");
  Expectation expect;
  expect.launches = expect.kernels = 2 * repeat;
  expect.copies = 2;
  expect.fills = 2;
  expect.bytes = expect.kernels * n * 2 * sizeof(uint32_t);
  run.Expect(expect);

  std::vector<uint32_t> in(n);
  for (uint64_t i = 0; i < n; ++i) in[i] = RandomBits(11, i);
  DeviceArray<uint32_t> device_in(run, n);
  DeviceArray<uint32_t> device_middle(run, n);
  DeviceArray<uint32_t> device_out(run, n);
  Stream stream(run);
  if (!device_in || !device_middle || !device_out || !stream) return;
  GX_STEP(run.Upload(device_in.data(), in.data(), device_in.bytes()));
  GX_STEP(run.Poison(device_middle.data(), device_middle.bytes()));
  GX_STEP(run.Poison(device_out.data(), device_out.bytes()));
  GX_CUDA(run, cudaDeviceSynchronize());
  LaunchShape primary{dim3(BlocksFor(n, kBlockThreads)), dim3(kBlockThreads)};
  LaunchShape secondary = primary;
  secondary.programmatic = true;
  for (uint64_t r = 0; r < repeat; ++r) {
    GX_STEP(run.Launch(PdlPrimaryKernel, primary, stream.get(), static_cast<uint32_t>(n), device_in.data(),
                       device_middle.data()));
    GX_STEP(run.Launch(PdlSecondaryKernel, secondary, stream.get(), static_cast<uint32_t>(n), device_middle.data(),
                       device_out.data()));
  }
  GX_CUDA(run, cudaStreamSynchronize(stream.get()));
  std::vector<uint32_t> got(n);
  GX_STEP(run.Download(got.data(), device_out.data(), device_out.bytes()));
  run.CheckValues(
      "out", n, [&](uint64_t i) { return static_cast<double>(got[i]); },
      [&](uint64_t i) { return static_cast<double>((in[i] * 5u + 1u) * 7u + 3u); }, 0);
}

}  // namespace

const Case kPdlCase = {
    "pdl", "pairs of kernels joined by programmatic stream serialization", "elements", 65536, "pairs", 10, RunPdl};

}  // namespace gx::kernels
