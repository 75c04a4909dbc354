// What one launch and one NVTX range cost the program's thread in our own code: the callbacks with a CUPTI that answers
// at once. CUPTI's own cost comes on top.
//   launch_path_benchmark --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>

#include "inject/nvtx_handler.h"
#include "inject/self_stats.h"
#include "tests/bench/launch_calls.h"
#include "tests/inject/nvtx_user.h"

extern "C" int (*gx_nvtx_initialize)(const void* (*)(uint32_t));

namespace gx::inject {
namespace {

// Made once.
LaunchParts& TheParts() {
  static LaunchParts* parts = new LaunchParts;
  return *parts;
}

// The queue is emptied outside the measured time, before it is full.
void EmptyWhenHalfFull(benchmark::State& state, uint64_t made) {
  if (made % 2'000 != 0) return;
  state.PauseTiming();
  TheParts().Drain();
  state.ResumeTiming();
}

// Enter and exit of cuLaunchKernel, as many functions as an eager PyTorch step has.
void LaunchThroughCallbacks(benchmark::State& state) {
  LaunchCalls calls(&TheParts().router);
  for (auto _ : state) {
    calls.Make();
    EmptyWhenHalfFull(state, calls.made());
  }
  state.SetItemsProcessed(static_cast<int64_t>(calls.made()));
  if (Stats().Get(StatId::kLaunchesDroppedQueueFull) != 0) state.SkipWithError("the queue was full");
}
BENCHMARK(LaunchThroughCallbacks);

// The same while nothing is recorded (outside every window).
void LaunchOutsideEveryWindow(benchmark::State& state) {
  TheParts().window_id = 0;
  LaunchThroughCallbacks(state);
  TheParts().window_id = 1;
}
BENCHMARK(LaunchOutsideEveryWindow);

// nvtxRangePushA and nvtxRangePop of a program's library.
void NvtxPushAndPop(benchmark::State& state) {
  gx_nvtx_initialize = [](const void* (*get_export_table)(uint32_t)) {
    return InstallNvtxHandler(get_export_table, &TheParts().queues) ? 1 : 0;
  };
  setenv("NVTX_INJECTION64_PATH", GX_NVTX_FORWARDER, 1);
  const NvtxCalls* calls = gx_nvtx_calls_a();
  uint64_t made = 0;
  for (auto _ : state) {
    calls->push_a("forward pass of layer 12");
    calls->pop();
    EmptyWhenHalfFull(state, ++made);
  }
  state.SetItemsProcessed(static_cast<int64_t>(made));
  if (Stats().Get(StatId::kNvtxDroppedQueueFull) != 0) state.SkipWithError("the queue was full");
}
BENCHMARK(NvtxPushAndPop);

}  // namespace
}  // namespace gx::inject
