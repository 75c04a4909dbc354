// What one launch and one NVTX range cost the program's thread in our own code: the callbacks with a CUPTI that answers
// at once. CUPTI's own cost comes on top.
//   launch_path_benchmark --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "inject/callback_router.h"
#include "inject/nvtx_handler.h"
#include "inject/self_stats.h"
#include "inject/state.h"
#include "inject/thread_queue.h"
#include "tests/inject/fake_cupti_table.h"
#include "tests/inject/nvtx_user.h"

extern "C" int (*gx_nvtx_initialize)(const void* (*)(uint32_t));

namespace gx::inject {
namespace {

// Parts of a session, made once.
struct Parts {
  Parts() {
    if (!queues.Allocate(uint64_t{96} << 20) || !functions.Allocate(uint64_t{32} << 20)) std::abort();
    CallbackRouter::Parts router_parts;
    router_parts.cupti = &cupti;
    router_parts.queues = &queues;
    router_parts.functions = &functions;
    router_parts.contexts = &contexts;
    router_parts.gate = &gate;
    router_parts.window_id = &window_id;
    router.Attach(router_parts);
    g_state.store(State::kCapturing);
  }

  // The queue is emptied outside the measured time, before it is full.
  void EmptyWhenHalfFull(benchmark::State& state, uint64_t made) {
    if (made % 2'000 != 0) return;
    state.PauseTiming();
    queues.ForEach([](ThreadState& thread) { thread.queue.Drain([](EventType, const uint8_t*, uint32_t) {}); });
    state.ResumeTiming();
  }

  CuptiApi cupti = MakeFakeCupti();
  ThreadQueues queues;
  FunctionTable functions;
  ContextTable contexts;
  ProbeGate gate;
  std::atomic<uint32_t> window_id{1};
  CallbackRouter router;
};

Parts& TheParts() {
  static Parts* parts = new Parts;
  return *parts;
}

// Enter and exit of cuLaunchKernel, as many functions as an eager PyTorch step has.
void LaunchThroughCallbacks(benchmark::State& state) {
  constexpr size_t kFunctions = 30;
  Parts& parts = TheParts();
  std::vector<std::string> names;
  for (size_t i = 0; i < kFunctions; ++i) names.push_back("_ZN2at6native6kernelIfLi" + std::to_string(i) + "EEEvPf");
  cuLaunchKernel_params launch{};
  launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
  launch.blockDimX = 256;
  launch.blockDimY = launch.blockDimZ = 1;
  CUresult result = CUDA_SUCCESS;
  CUpti_CallbackData data{};
  data.functionParams = &launch;
  data.functionReturnValue = &result;
  data.contextUid = 1;
  uint64_t made = 0;
  for (auto _ : state) {
    const size_t function = made % kFunctions;
    launch.f = FakeHandle<CUfunction>(0x7f0000001000 + function * 64);
    data.symbolName = names[function].c_str();
    ++data.correlationId;
    data.callbackSite = CUPTI_API_ENTER;
    CallbackRouter::Callback(&parts.router, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    data.callbackSite = CUPTI_API_EXIT;
    CallbackRouter::Callback(&parts.router, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    parts.EmptyWhenHalfFull(state, ++made);
  }
  state.SetItemsProcessed(static_cast<int64_t>(made));
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
  Parts& parts = TheParts();
  gx_nvtx_initialize = [](const void* (*get_export_table)(uint32_t)) {
    return InstallNvtxHandler(get_export_table, &TheParts().queues) ? 1 : 0;
  };
  setenv("NVTX_INJECTION64_PATH", GX_NVTX_FORWARDER, 1);
  const NvtxCalls* calls = gx_nvtx_calls_a();
  uint64_t made = 0;
  for (auto _ : state) {
    calls->push_a("forward pass of layer 12");
    calls->pop();
    parts.EmptyWhenHalfFull(state, ++made);
  }
  state.SetItemsProcessed(static_cast<int64_t>(made));
  if (Stats().Get(StatId::kNvtxDroppedQueueFull) != 0) state.SkipWithError("the queue was full");
}
BENCHMARK(NvtxPushAndPop);

}  // namespace
}  // namespace gx::inject
