// What happens inside CUPTI's callbacks: driver launch calls, contexts, streams, modules and graphs -> events in the
// calling thread's queue. No allocation, no lock held while calling CUPTI; no CUDA call and no wait but around what is
// sampled or replayed (launch_sampler.h, replay_sampler.h); a launch costs two clock reads' worth of work beyond
// CUPTI's own.
//
// A launch is recorded when the driver's function returns, because only then it is known whether it was refused and
// whether a stream capture turned it into a graph node (CUPTI then reports a node made inside the call).
#ifndef GPUEXEC_INJECT_CALLBACK_ROUTER_H_
#define GPUEXEC_INJECT_CALLBACK_ROUTER_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "inject/call_bookkeeping.h"
#include "inject/context_table.h"
#include "inject/cupti_api.h"
#include "inject/function_table.h"
#include "inject/launch_hold.h"
#include "inject/launch_sampler.h"
#include "inject/probe_gate.h"
#include "inject/thread_queue.h"

namespace gx::inject {

class CallbackRouter {
 public:
  struct Parts {
    const CuptiApi* cupti = nullptr;
    ThreadQueues* queues = nullptr;
    FunctionTable* functions = nullptr;
    ContextTable* contexts = nullptr;
    ProbeGate* gate = nullptr;
    // The present window: 0 means that nothing is recorded.
    const std::atomic<uint32_t>* window_id = nullptr;
    // Called on the thread of cuProfilerStart / cuProfilerStop; null: they mean nothing.
    void (*profiler_region)(bool start) = nullptr;
    // Whether calls that wait for the device are timed.
    bool times_synchronization = false;
    // Called before a module or context goes away, with the gate open: asks for what is still to be asked of its
    // functions, bounded.
    void (*before_unload)() = nullptr;

    // For the sampling of hardware counters. All null where none are sampled: then nothing is done for them, and each
    // may be null by itself.
    LaunchHold* hold = nullptr;
    CaptureGate* captures = nullptr;
    RangeContents* contents = nullptr;
    StreamTable* streams = nullptr;
    ContextBehaviour* behaviour = nullptr;
    ReplayMemory* replay = nullptr;
    const CudaApi* cuda = nullptr;
    LaunchSampler* sampler = nullptr;
    GraphSamplingTable* graphs = nullptr;
    // Called before and after a call that may destroy a context, on its thread.
    void (*context_ends)(bool before, ContextEnd end) = nullptr;
  };

  void Attach(const Parts& parts) noexcept;
  // Enables every callback that is followed; those of CounterCalls only where `counters` are sampled. Refusals are
  // counted (STAT_CALLBACKS_REFUSED).
  void EnableCallbacks(CUpti_SubscriberHandle subscriber, bool counters = false) noexcept;
  // The subscriber's callback: `user` is the router. Never throws.
  static void CUPTIAPI Callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);

 private:
  // These three may throw what profiler_region throws; Callback is the boundary. `thread` is null where the thread has
  // no queue.
  void OnDriverCall(uint32_t cbid, const CUpti_CallbackData& data);
  void OnCallEnter(ThreadState* thread, CallKind kind, uint32_t cbid, const CUpti_CallbackData& data);
  void OnCallExit(ThreadState* thread, CallKind kind, uint32_t cbid, const CUpti_CallbackData& data);
  // Around every call that brings work to a device (BringsDeviceWork), where launches can be held: before anything else
  // is noted of the call, and right after the driver's function. `thread` is null where the thread has no queue.
  void BeforeDeviceWork(ThreadState* thread, uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  void AfterDeviceWork(ThreadState* thread, uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  LaunchToSample DescribeForSampling(ThreadState* thread, CallInfo call, uint32_t cbid,
                                     const CUpti_CallbackData& data) noexcept;
  void OnResource(uint32_t cbid, const CUpti_ResourceData& data) noexcept;
  void OnContext(bool created, const CUpti_ResourceData& data) noexcept;
  void OnModule(bool loaded, const CUpti_ResourceData& data) noexcept;
  void OnGraph(uint32_t cbid, const CUpti_ResourceData& data) noexcept;

  void EmitLaunch(ThreadState* thread, uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  uint64_t SynchronizationClock() noexcept;
  void EmitSynchronization(ThreadState* thread, CallKind kind, uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  void EmitGraphLaunch(ThreadState* thread, uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  void EmitNode(ThreadState* thread, const GraphNodeEvent& node) noexcept;
  void EmitPendingNode(ThreadState* thread) noexcept;
  void EmitGraphDestroyed(ThreadState* thread, uint32_t graph_id) noexcept;
  void OnGraphNode(ThreadState* thread, uint32_t cbid, const CUpti_ResourceData& data,
                   const CUpti_GraphData& graph) noexcept;
  void OnGraphExecCreated(ThreadState* thread, const CUpti_GraphData& graph) noexcept;
  bool LosesContext(uint32_t cbid, ContextEnd end) noexcept;
  void NotePrimary(uint32_t cbid, const CUpti_CallbackData& data) noexcept;
  LaunchParameters Describe(uint32_t cbid, const CUpti_CallbackData& data, CUstream* stream) noexcept;
  uint32_t StreamId(ThreadState* thread, CUcontext context, CUstream stream, bool per_thread) noexcept;
  uint32_t GraphExecId(ThreadState* thread, CUgraphExec graph) noexcept;

  Parts parts_;
  CallBookkeeping bookkeeping_;
  bool keeps_books_ = false;  // Something of it is kept.
  std::atomic<uint32_t> stream_epoch_{1};
  std::atomic<uint32_t> graph_epoch_{1};
  // Of the primary context of each device: references that were seen taken and not given back.
  std::array<std::atomic<uint32_t>, 64> retains_ = {};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CALLBACK_ROUTER_H_
