// Nothing but launches: from one thread, and from 64 threads at once.
#include <atomic>
#include <thread>

#include "kernels/cases.h"

namespace gx::kernels {

__global__ void EmptyKernel() {}

// One thread of one block: a plain increment, ordered by the stream.
__global__ void CountLaunchKernel(uint64_t* slot) { *slot += 1; }

namespace {

constexpr uint64_t kThreads = 64;

void RunLaunchStorm(CaseRun& run) {
  const uint64_t launches = run.size() * run.repeat();
  Expectation expect;
  expect.launches = expect.kernels = launches;
  run.Expect(expect);

  // A bare loop: bookkeeping per launch would hide what a profiler adds to it.
  const LaunchShape shape{dim3(1), dim3(1)};
  uint64_t made = 0;
  for (uint64_t i = 0; i < launches; ++i) {
    EmptyKernel<<<shape.grid, shape.block>>>();
    made += cudaPeekAtLastError() == cudaSuccess ? 1 : 0;
  }
  GX_CUDA(run, cudaGetLastError());
  GX_CUDA(run, cudaDeviceSynchronize());
  run.CountLaunches(made);
  GX_STEP(run.CountKernels(reinterpret_cast<const void*>(EmptyKernel), shape, made));
}

void RunThreadStorm(CaseRun& run) {
  const uint64_t launches_per_thread = run.size() * run.repeat();
  Expectation expect;
  expect.launches = expect.kernels = kThreads * launches_per_thread;
  expect.copies = 1;
  expect.fills = 1;
  expect.bytes = expect.kernels * 2 * sizeof(uint64_t);
  run.Expect(expect);

  DeviceArray<uint64_t> slots(run, kThreads);
  if (!slots) return;
  GX_CUDA(run, cudaMemset(slots.data(), 0, slots.bytes()));
  run.CountFills(1);
  // The per-thread streams do not wait for the legacy stream's fill by themselves.
  GX_CUDA(run, cudaDeviceSynchronize());

  const LaunchShape shape{dim3(1), dim3(1)};
  std::atomic<uint64_t> made{0};
  std::atomic<uint64_t> errors{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      uint64_t good = 0;
      for (uint64_t i = 0; i < launches_per_thread; ++i) {
        CountLaunchKernel<<<shape.grid, shape.block, 0, cudaStreamPerThread>>>(slots.data() + t);
        good += cudaGetLastError() == cudaSuccess ? 1 : 0;
      }
      if (cudaStreamSynchronize(cudaStreamPerThread) != cudaSuccess) errors.fetch_add(1);
      made.fetch_add(good);
    });
  }
  for (std::thread& thread : threads) thread.join();
  run.CheckEqual("threads with an error", errors.load(), 0);
  run.CountLaunches(made.load());
  GX_STEP(run.CountKernels(reinterpret_cast<const void*>(CountLaunchKernel), shape, made.load()));
  std::vector<uint64_t> got(kThreads);
  GX_STEP(run.Download(got.data(), slots.data(), slots.bytes()));
  run.CheckValues(
      "launches counted on the device", kThreads, [&](uint64_t i) { return static_cast<double>(got[i]); },
      [&](uint64_t) { return static_cast<double>(launches_per_thread); }, 0);
}

}  // namespace

const Case kLaunchStormCase = {
    "launch_storm",       "empty kernels from one thread: the cost of launching and nothing else",
    "launches",           200000,
    "times the launches", 1,
    RunLaunchStorm};
const Case kThreadStormCase = {"thread_storm",       "64 host threads launch at once into their own streams",
                               "launches a thread",  500,
                               "times the launches", 1,
                               RunThreadStorm};

}  // namespace gx::kernels
