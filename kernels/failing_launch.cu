// Launches that are refused: an error comes back, nothing runs, and the program goes on.
#include "kernels/cases.h"

namespace gx::kernels {

__global__ void AfterRefusalKernel(uint32_t* value) { *value += 1; }

namespace {

void RunFailingLaunch(CaseRun& run) {
  const uint64_t repeat = run.repeat();
  Expectation expect;
  expect.launches = expect.kernels = repeat;
  expect.refused_launches = 2 * repeat;
  expect.copies = 1;
  expect.fills = 1;
  expect.bytes = repeat * 2 * sizeof(uint32_t);
  run.Expect(expect);

  DeviceArray<uint32_t> value(run, 1);
  if (!value) return;
  GX_CUDA(run, cudaMemset(value.data(), 0, value.bytes()));
  run.CountFills(1);
  uint32_t* pointer = value.data();
  void* arguments[] = {&pointer};
  const auto kernel = reinterpret_cast<const void*>(AfterRefusalKernel);
  for (uint64_t r = 0; r < repeat; ++r) {
    // No device allows more than 1024 threads a block.
    if (cudaLaunchKernel(kernel, dim3(1), dim3(2048), arguments, 0, nullptr) != cudaSuccess)
      run.CountRefusedLaunches(1);
    // More than 48 KiB of dynamic shared memory needs an attribute that was not set.
    if (cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 64 * 1024, nullptr) != cudaSuccess) {
      run.CountRefusedLaunches(1);
    }
    // Clears the error as a careful program would; it is not sticky.
    (void)cudaGetLastError();
    GX_STEP(run.Launch(AfterRefusalKernel, LaunchShape{dim3(1), dim3(1)}, nullptr, value.data()));
  }
  uint32_t got = 0;
  GX_STEP(run.Download(&got, value.data(), value.bytes()));
  run.CheckValues(
      "launches that ran", 1, [&](uint64_t) { return static_cast<double>(got); },
      [&](uint64_t) { return static_cast<double>(repeat); }, 0);
}

}  // namespace

const Case kFailingLaunchCase = {"failing_launch",
                                 "launches that are refused; the program goes on",
                                 "nothing",
                                 1,
                                 "rounds of two refused launches and a good one",
                                 3,
                                 RunFailingLaunch};

}  // namespace gx::kernels
