// Calls of the driver as CUPTI reports them, made to the callbacks of a session's parts: what the benchmark of the
// launch path and the test of its allocations share. One thread at a time, but for Make on threads of their own.
#ifndef GPUEXEC_TESTS_BENCH_LAUNCH_CALLS_H_
#define GPUEXEC_TESTS_BENCH_LAUNCH_CALLS_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "inject/callback_router.h"
#include "inject/state.h"
#include "inject/thread_queue.h"
#include "tests/inject/fake_cupti_table.h"

namespace gx::inject {

// What callbacks of launches need, with a CUPTI that answers at once. Never destroyed while callbacks run.
struct LaunchParts {
  LaunchParts() {
    if (!queues.Allocate(uint64_t{96} << 20) || !functions.Allocate(uint64_t{32} << 20)) std::abort();
    queues.ForgetCurrent();
    CallbackRouter::Parts parts;
    parts.cupti = &cupti;
    parts.queues = &queues;
    parts.functions = &functions;
    parts.contexts = &contexts;
    parts.gate = &gate;
    parts.window_id = &window_id;
    parts.times_synchronization = true;
    router.Attach(parts);
    g_state.store(State::kCapturing);
  }

  // Empties every queue; how many events there were.
  uint64_t Drain() {
    uint64_t events = 0;
    queues.ForEach(
        [&](ThreadState& thread) { thread.queue.Drain([&](EventType, const uint8_t*, uint32_t) { ++events; }); });
    return events;
  }

  CuptiApi cupti = MakeFakeCupti();
  ThreadQueues queues;
  FunctionTable functions;
  ContextTable contexts;
  ProbeGate gate;
  std::atomic<uint32_t> window_id{1};
  CallbackRouter router;
};

// Launches of as many functions in turn as an eager PyTorch step has, entry and return.
class LaunchCalls {
 public:
  static constexpr size_t kFunctions = 30;

  explicit LaunchCalls(CallbackRouter* router) : router_(router) {
    for (size_t i = 0; i < kFunctions; ++i) {
      names_.push_back("_ZN2at6native6kernelIfLi" + std::to_string(i) + "EEEvPf");
    }
    launch_.gridDimX = launch_.gridDimY = launch_.gridDimZ = 1;
    launch_.blockDimX = 256;
    launch_.blockDimY = launch_.blockDimZ = 1;
    data_.functionReturnValue = &result_;
    data_.contextUid = 1;
  }
  LaunchCalls(const LaunchCalls&) = delete;
  LaunchCalls& operator=(const LaunchCalls&) = delete;

  // The next launch.
  void Make() {
    const size_t function = made_++ % kFunctions;
    launch_.f = FakeHandle<CUfunction>(0x7f0000001000 + function * 64);
    data_.symbolName = names_[function].c_str();
    Call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch_);
  }
  // A wait for the whole context.
  void Wait() { Call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, nullptr); }
  uint64_t made() const { return made_; }

 private:
  void Call(CUpti_CallbackId cbid, const void* parameters) {
    data_.functionParams = parameters;
    ++data_.correlationId;
    for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
      data_.callbackSite = site;
      CallbackRouter::Callback(router_, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data_);
    }
  }

  CallbackRouter* router_;
  std::vector<std::string> names_;
  cuLaunchKernel_params launch_{};
  CUresult result_ = CUDA_SUCCESS;
  CUpti_CallbackData data_{};
  uint64_t made_ = 0;
};

}  // namespace gx::inject

#endif  // GPUEXEC_TESTS_BENCH_LAUNCH_CALLS_H_
