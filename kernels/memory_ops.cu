// Copies and fills of every common sort; one kernel checks the result on the device too.
#include <memory>

#include "kernels/cases.h"

namespace gx::kernels {

__global__ void CountMismatchesKernel(uint32_t count, const uint8_t* a, const uint8_t* b, uint32_t* mismatches) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && a[i] != b[i]) atomicAdd(mismatches, 1u);
}

namespace {

struct PinnedDeleter {
  void operator()(uint8_t* memory) const { (void)cudaFreeHost(memory); }
};

void RunMemoryOps(CaseRun& run) {
  const uint64_t n = run.size();
  const uint64_t repeat = run.repeat();
  if (n < 4 || n > (uint64_t{1} << 31)) return run.Fail("--size must be 4 to 2147483648 bytes");
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  // Pageable and pinned in, device to device, pageable and pinned out, the count of mismatches.
  expect.copies = repeat * 6;
  // The count of mismatches, two fills of the second array, synchronous and not.
  expect.fills = repeat * 3;
  expect.bytes = repeat * n * 2;
  run.Expect(expect);

  std::vector<uint8_t> pageable(n);
  for (uint64_t i = 0; i < n; ++i) pageable[i] = static_cast<uint8_t>(RandomBits(12, i));
  uint8_t* pinned_memory = nullptr;
  GX_CUDA(run, cudaMallocHost(reinterpret_cast<void**>(&pinned_memory), n));
  const std::unique_ptr<uint8_t, PinnedDeleter> pinned(pinned_memory);
  DeviceArray<uint8_t> first(run, n);
  DeviceArray<uint8_t> second(run, n);
  DeviceArray<uint32_t> mismatches(run, 1);
  Stream stream(run);
  if (!first || !second || !mismatches || !stream) return;
  const unsigned block = 256;
  for (uint64_t r = 0; r < repeat; ++r) {
    GX_CUDA(run, cudaMemset(mismatches.data(), 0, mismatches.bytes()));
    GX_CUDA(run, cudaMemset(second.data(), 0x11, n));
    GX_CUDA(run, cudaDeviceSynchronize());
    GX_CUDA(run, cudaMemsetAsync(second.data(), 0x22, n, stream.get()));
    run.CountFills(3);
    // Pageable into the first array, whose bytes must then come back unharmed by way of all the others.
    GX_STEP(run.Upload(first.data(), pageable.data(), n));
    // A copy from pageable memory may return while its last part is still on its way to the device.
    GX_CUDA(run, cudaDeviceSynchronize());
    GX_CUDA(run, cudaMemcpyAsync(second.data(), first.data(), n, cudaMemcpyDeviceToDevice, stream.get()));
    run.CountCopies(CopyKind::kDeviceToDevice, 1, n);
    GX_CUDA(run, cudaMemcpyAsync(pinned.get(), second.data(), n, cudaMemcpyDeviceToHost, stream.get()));
    run.CountCopies(CopyKind::kDeviceToHost, 1, n);
    GX_CUDA(run, cudaMemcpyAsync(second.data(), pinned.get(), n, cudaMemcpyHostToDevice, stream.get()));
    run.CountCopies(CopyKind::kHostToDevice, 1, n);
    GX_STEP(run.Launch(CountMismatchesKernel, LaunchShape{dim3(BlocksFor(n, block)), dim3(block)}, stream.get(),
                       static_cast<uint32_t>(n), first.data(), second.data(), mismatches.data()));
    GX_CUDA(run, cudaStreamSynchronize(stream.get()));
    uint32_t count = 0;
    GX_STEP(run.Download(&count, mismatches.data(), sizeof(count)));
    run.CheckEqual("bytes that differ on the device", count, 0);
    std::vector<uint8_t> back(n, 0xEE);
    GX_STEP(run.Download(back.data(), second.data(), n));
    run.CheckValues(
        "bytes", n, [&](uint64_t i) { return static_cast<double>(back[i]); },
        [&](uint64_t i) { return static_cast<double>(pageable[i]); }, 0);
  }
}

}  // namespace

const Case kMemoryOpsCase = {"memory_ops", "copies and fills: to, from and on the device, pinned and pageable",
                             "bytes",      uint64_t{1} << 20,
                             "rounds",     2,
                             RunMemoryOps};

}  // namespace gx::kernels
