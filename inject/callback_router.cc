#include "inject/callback_router.h"

#include <optional>
#include <utility>

#include "inject/boundary.h"
#include "inject/call_result.h"
#include "inject/clock.h"
#include "inject/cupti_traps.h"
#include "inject/hash.h"
#include "inject/launch_parameters.h"

namespace gx::inject {
namespace {

// How long a host thread that unloads a module or opens a capture waits for a driver call of ours to end. Such a call
// takes microseconds unless the driver is busy in another thread.
constexpr uint64_t kGateWaitNs = 100'000'000;

constexpr uint32_t kResourceCallbacks[] = {
    CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_MODULE_LOADED,
    CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
    CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
    CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED,
    CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS,
};

// Marks that a callback of ours runs on this thread: what our own CUPTI calls provoke is not the program's.
class InsideCallback {
 public:
  // `thread` may be null: no queue, nothing to mark.
  explicit InsideCallback(ThreadState* thread) noexcept : thread_(thread) {
    if (thread_ != nullptr) thread_->inside = true;
  }
  ~InsideCallback() {
    if (thread_ != nullptr) thread_->inside = false;
  }
  InsideCallback(const InsideCallback&) = delete;
  InsideCallback& operator=(const InsideCallback&) = delete;

 private:
  ThreadState* thread_;
};

size_t CacheIndex(const void* pointer, size_t size) noexcept {
  return static_cast<size_t>((reinterpret_cast<uintptr_t>(pointer) * 0x9E3779B97F4A7C15u) >> 32) % size;
}

bool MovesMemory(uint32_t cbid) noexcept {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchAsync_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchBatchAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemDiscardAndPrefetchBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemDiscardAndPrefetchBatchAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemBatchDecompressAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemBatchDecompressAsync_ptsz:
      return true;
    default:
      return false;
  }
}

// Whether the call may destroy a context, and which.
bool EndsContext(uint32_t cbid, const void* parameters, ContextEnd* end) noexcept {
  *end = {};
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2:
      if (parameters != nullptr) end->context = static_cast<const cuCtxDestroy_v2_params*>(parameters)->ctx;
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2:
      // All their blocks hold the device alone.
      if (parameters != nullptr) end->device = static_cast<const cuDevicePrimaryCtxReset_v2_params*>(parameters)->dev;
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy:
      return true;
    default:
      return false;
  }
}

bool ReleasesPrimary(uint32_t cbid) noexcept {
  return cbid == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease ||
         cbid == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2;
}

// This thread's call may destroy a context, which was told.
__thread bool t_context_ends __attribute__((tls_model("initial-exec"))) = false;

// What launches and graph launches have in common.
template <typename Event>
void FillCall(Event* event, const ThreadState& thread, const CUpti_CallbackData& data, uint32_t stream_id,
              CUresult result) noexcept {
  event->enter_monotonic_ns = thread.enter_monotonic_ns;
  event->correlation_id = data.correlationId;
  event->context_id = data.contextUid;
  event->stream_id = stream_id;
  event->window_id = thread.call_window_id;
  event->result = static_cast<uint32_t>(result);
}

}  // namespace

void CallbackRouter::Attach(const Parts& parts) noexcept {
  parts_ = parts;
  bookkeeping_.Attach({.contexts = parts.contexts,
                       .captures = parts.captures,
                       .contents = parts.contents,
                       .streams = parts.streams,
                       .behaviour = parts.behaviour,
                       .replay = parts.replay,
                       .cuda = parts.cuda,
                       .avoids_green_contexts = Avoids(parts.cupti->version, CuptiAvoidance::kGreenContextCounters)});
  keeps_books_ = parts.captures != nullptr || parts.contents != nullptr || parts.streams != nullptr ||
                 parts.behaviour != nullptr || parts.replay != nullptr;
}

void CallbackRouter::EnableCallbacks(CUpti_SubscriberHandle subscriber, bool counters) noexcept {
  const auto enable = [&](const uint32_t* cbids) {
    for (const uint32_t* cbid = cbids; *cbid != 0; ++cbid) {
      if (parts_.cupti->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, *cbid) != CUPTI_SUCCESS) {
        Stats().Add(StatId::kCallbacksRefused);
      }
    }
  };
  enable(FollowedCalls());
  if (counters) enable(CounterCalls());
  for (const uint32_t cbid : kResourceCallbacks) {
    if (parts_.cupti->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid) != CUPTI_SUCCESS) {
      Stats().Add(StatId::kCallbacksRefused);
    }
  }
}

void CUPTIAPI CallbackRouter::Callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                       const void* data) {
  if (data == nullptr || !Capturing()) return;
  Guarded([&] {
    auto* router = static_cast<CallbackRouter*>(user);
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      router->OnDriverCall(cbid, *static_cast<const CUpti_CallbackData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
      router->OnResource(cbid, *static_cast<const CUpti_ResourceData*>(data));
    }
  });
}

void CallbackRouter::OnDriverCall(uint32_t cbid, const CUpti_CallbackData& data) {
  ThreadState* thread = parts_.queues->Current();
  if (thread != nullptr && thread->inside) return;
  // What CUPTI calls for a replay is not the program's.
  if (thread != nullptr && thread->replayed_correlation_id != 0 &&
      thread->replayed_correlation_id != data.correlationId) {
    return;
  }
  const InsideCallback inside(thread);
  const CallInfo call = ClassifyCall(cbid);
  const bool enter = data.callbackSite == CUPTI_API_ENTER;
  if (keeps_books_ && enter) bookkeeping_.OnEnter(thread, call, cbid, data);
  if (parts_.hold != nullptr && BringsDeviceWork(call.kind)) {
    enter ? BeforeDeviceWork(thread, cbid, data) : AfterDeviceWork(thread, cbid, data);
  }
  if (enter) {
    OnCallEnter(thread, call.kind, cbid, data);
  } else {
    OnCallExit(thread, call.kind, cbid, data);
  }
  if (keeps_books_ && !enter) bookkeeping_.OnExit(thread, call, cbid, data);
}

// What a range has to hear of. Nothing for what puts no work of its own on the device, and is held back all the same.
static std::optional<DeviceWork> WorkOf(CallKind kind, uint32_t cbid) noexcept {
  switch (kind) {
    case CallKind::kLaunch:
      return DeviceWork::kKernel;
    case CallKind::kGraphLaunch:
      return DeviceWork::kGraph;
    case CallKind::kCopy:
      return DeviceWork::kCopy;
    case CallKind::kMemset:
      return DeviceWork::kMemset;
    case CallKind::kModuleLoad:
      return DeviceWork::kModuleLoad;
    case CallKind::kHostWork:
      // Those that move memory, as copies do.
      return MovesMemory(cbid) ? std::optional(DeviceWork::kCopy) : std::nullopt;
    default:
      return std::nullopt;
  }
}

LaunchToSample CallbackRouter::DescribeForSampling(ThreadState* thread, CallInfo call, uint32_t cbid,
                                                   const CUpti_CallbackData& data) noexcept {
  LaunchToSample launch;
  launch.work = call.kind == CallKind::kLaunch ? DeviceWork::kKernel : DeviceWork::kGraph;
  launch.context = data.context;
  launch.context_id = data.contextUid;
  launch.correlation_id = data.correlationId;
  if (call.kind == CallKind::kLaunch) {
    launch.parameters = Describe(cbid, data, &launch.stream);
  } else {
    const LaunchCall graph = ReadLaunchCall(cbid, data.functionParams);
    launch.stream = graph.stream;
    launch.graph_exec_id = GraphExecId(thread, graph.graph_exec);
  }
  if (IsThreadsOwnStream(call, launch.stream)) launch.stream = CU_STREAM_PER_THREAD;
  return launch;
}

void CallbackRouter::BeforeDeviceWork(ThreadState* thread, uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  (void)parts_.hold->Enter(thread);
  if (parts_.sampler == nullptr) return;
  const CallInfo call = ClassifyCall(cbid);
  const std::optional<DeviceWork> work = WorkOf(call.kind, cbid);
  if (!work) return;
  if (thread == nullptr) return parts_.sampler->BeforeStranger(*work);
  thread->call_node_type = call.kind == CallKind::kCopy  ? CU_GRAPH_NODE_TYPE_MEMCPY
                           : work == DeviceWork::kMemset ? CU_GRAPH_NODE_TYPE_MEMSET
                                                         : 0;
  if ((*work == DeviceWork::kKernel || *work == DeviceWork::kGraph) && parts_.sampler->wants_launches()) {
    parts_.sampler->Before(thread, DescribeForSampling(thread, call, cbid, data));
  } else {
    parts_.sampler->BeforeOther(thread, *work);
  }
}

void CallbackRouter::AfterDeviceWork(ThreadState* thread, uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  if (parts_.sampler != nullptr && thread != nullptr && WorkOf(ClassifyCall(cbid).kind, cbid)) {
    thread->call_node_type = 0;
    parts_.sampler->After(thread, ResultOf(data));
  }
  parts_.hold->Leave(thread);
}

void CallbackRouter::OnCallEnter(ThreadState* thread, CallKind kind, uint32_t cbid, const CUpti_CallbackData& data) {
  switch (kind) {
    case CallKind::kLaunch:
    case CallKind::kGraphLaunch:
    case CallKind::kGraphAddNode:
    case CallKind::kGraphSetNode:
      if (thread == nullptr) break;
      EmitPendingNode(thread);
      thread->call_cbid = cbid;
      thread->call_window_id = parts_.window_id->load(std::memory_order_relaxed);
      thread->call_has_node = false;
      thread->enter_monotonic_ns = MonotonicNs();
      break;
    case CallKind::kUnload:
      if (ContextEnd end;
          parts_.context_ends != nullptr && EndsContext(cbid, data.functionParams, &end) && LosesContext(cbid, end)) {
        t_context_ends = true;
        parts_.context_ends(true, end);
      }
      if (parts_.before_unload != nullptr) parts_.before_unload();
      parts_.functions->NewEpoch();
      if (!parts_.gate->Shut(kGateWaitNs)) Stats().Add(StatId::kUnloadWaitTimedOut);
      break;
    case CallKind::kCaptureBegin:
      (void)parts_.gate->Shut(kGateWaitNs);
      break;
    case CallKind::kProfilerStop:
      if (parts_.profiler_region != nullptr) parts_.profiler_region(false);
      break;
    case CallKind::kSynchronize:
    case CallKind::kStreamSynchronize:
    case CallKind::kEventSynchronize:
    case CallKind::kStreamWaitEvent:
      if (thread != nullptr) thread->enter_cupti_ns = SynchronizationClock();
      break;
    default:
      // The rest happens when the call returns, or is the bookkeeping's.
      break;
  }
}

void CallbackRouter::OnCallExit(ThreadState* thread, CallKind kind, uint32_t cbid, const CUpti_CallbackData& data) {
  switch (kind) {
    case CallKind::kLaunch:
    case CallKind::kGraphLaunch:
    case CallKind::kGraphAddNode:
    case CallKind::kGraphSetNode: {
      if (thread == nullptr) {
        // The rest needs no queue: an unload is an unload on any thread.
        if (kind == CallKind::kLaunch || kind == CallKind::kGraphLaunch) {
          Stats().Add(StatId::kLaunchesDroppedNoQueue);
        }
        break;
      }
      if (thread->call_cbid != cbid) break;  // Capturing began inside this call.
      thread->call_cbid = 0;
      if (thread->call_has_node) {
        // A launch under stream capture, or parameters given to a node. Recorded whether or not a window is open: the
        // graph may be replayed in a later one.
        GraphNodeEvent node = thread->call_node;
        thread->call_has_node = false;
        if (ResultOf(data) != CUDA_SUCCESS) {
          if (kind == CallKind::kLaunch) Stats().Add(StatId::kLaunchesFailed);
          break;
        }
        // CUPTI's graph callbacks name no context; the call does.
        node.context_id = data.contextUid;
        node.parameters = Describe(cbid, data, nullptr);
        EmitNode(thread, node);
        if (kind == CallKind::kLaunch) Stats().Add(StatId::kLaunchesCaptured);
        break;
      }
      if (kind == CallKind::kGraphAddNode || kind == CallKind::kGraphSetNode) break;
      if (thread->call_window_id == 0) {
        Stats().Add(StatId::kLaunchesOutsideRegion);
        break;
      }
      if (kind == CallKind::kLaunch) {
        EmitLaunch(thread, cbid, data);
      } else {
        EmitGraphLaunch(thread, cbid, data);
      }
      break;
    }
    case CallKind::kUnload:
      if (ContextEnd end; parts_.context_ends != nullptr && EndsContext(cbid, data.functionParams, &end)) {
        NotePrimary(cbid, data);
        if (std::exchange(t_context_ends, false)) parts_.context_ends(false, end);
      }
      // Handles given out from now on may be old ones used again.
      parts_.functions->NewEpoch();
      parts_.gate->Open();
      break;
    case CallKind::kPrimaryRetain:
      NotePrimary(cbid, data);
      break;
    case CallKind::kCaptureBegin:
      // A capture that did not begin is not open.
      if (ResultOf(data) != CUDA_SUCCESS) parts_.gate->Open();
      break;
    case CallKind::kCaptureEnd:
      if (CaptureHasEnded(ResultOf(data))) parts_.gate->Open();
      break;
    case CallKind::kProfilerStart:
      if (parts_.profiler_region != nullptr) parts_.profiler_region(true);
      break;
    case CallKind::kSynchronize:
    case CallKind::kStreamSynchronize:
    case CallKind::kEventSynchronize:
    case CallKind::kStreamWaitEvent:
      if (thread != nullptr) EmitSynchronization(thread, kind, cbid, data);
      break;
    default:
      break;
  }
}

// Libraries retain the primary context and release it again: only the last reference counts. Where more were taken than
// we saw, a release is taken for the last one too early, which costs a window.
bool CallbackRouter::LosesContext(uint32_t cbid, ContextEnd end) noexcept {
  if (!ReleasesPrimary(cbid) || end.device < 0) return true;
  std::atomic<uint32_t>& retains = retains_[static_cast<uint32_t>(end.device) % retains_.size()];
  uint32_t before = retains.load(std::memory_order_seq_cst);
  while (before != 0 && !retains.compare_exchange_weak(before, before - 1, std::memory_order_seq_cst)) {
  }
  return before <= 1;
}

void CallbackRouter::NotePrimary(uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  const bool done = ResultOf(data) == CUDA_SUCCESS;
  const void* const parameters = data.functionParams;
  if (parameters == nullptr) return;
  if (cbid == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain) {
    const int device = static_cast<const cuDevicePrimaryCtxRetain_params*>(parameters)->dev;
    if (done && device >= 0) retains_[static_cast<uint32_t>(device) % retains_.size()].fetch_add(1);
    return;
  }
  ContextEnd end;
  (void)EndsContext(cbid, parameters, &end);
  if (end.device < 0) return;
  std::atomic<uint32_t>& retains = retains_[static_cast<uint32_t>(end.device) % retains_.size()];
  if (!ReleasesPrimary(cbid)) {
    retains.store(0);  // Reset: what holds for references to it is not known.
  } else if (!done) {
    retains.fetch_add(1);
  }
}

LaunchParameters CallbackRouter::Describe(uint32_t cbid, const CUpti_CallbackData& data, CUstream* stream) noexcept {
  LaunchCall call = ReadLaunchCall(cbid, data.functionParams);
  if (stream != nullptr) *stream = call.stream;
  if (call.parameters.readable == 0) return call.parameters;
  // CUPTI gives the name of the kernel for launches only.
  const char* name = ClassifyCall(cbid).kind == CallKind::kLaunch ? data.symbolName : nullptr;
  call.parameters.function_index = parts_.functions->Find(call.function, data.context, name);
  if (call.parameters.function_index == 0) Stats().Add(StatId::kFunctionTableFull);
  return call.parameters;
}

void CallbackRouter::EmitLaunch(ThreadState* thread, uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  CUstream stream = nullptr;
  const LaunchParameters parameters = Describe(cbid, data, &stream);
  if (parameters.readable == 0) Stats().Add(StatId::kLaunchParametersUnreadable);
  const uint32_t stream_id = StreamId(thread, data.context, stream, ClassifyCall(cbid).per_thread_stream);
  const CUresult result = ResultOf(data);
  Stats().Add(result == CUDA_SUCCESS ? StatId::kLaunchesSeen : StatId::kLaunchesFailed);
  auto* event = thread->queue.Reserve<LaunchEvent>(EventType::kLaunch);
  if (event == nullptr) {
    Stats().Add(StatId::kLaunchesDroppedQueueFull);
    return;
  }
  FillCall(event, *thread, data, stream_id, result);
  event->parameters = parameters;
  thread->queue.Commit();
}

// 0 outside every window, where synchronisation is not recorded.
uint64_t CallbackRouter::SynchronizationClock() noexcept {
  uint64_t now_ns = 0;
  if (!parts_.times_synchronization || parts_.window_id->load(std::memory_order_relaxed) == 0 ||
      parts_.cupti->cuptiGetTimestamp(&now_ns) != CUPTI_SUCCESS) {
    return 0;
  }
  return now_ns;
}

// Not by CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: that makes every launch dearer, by 0.4 us and more with CUPTI
// 13.0 (tests/bench/README.md).
void CallbackRouter::EmitSynchronization(ThreadState* thread, CallKind kind, uint32_t cbid,
                                         const CUpti_CallbackData& data) noexcept {
  const uint64_t start_ns = std::exchange(thread->enter_cupti_ns, 0);
  const uint64_t end_ns = start_ns == 0 ? 0 : SynchronizationClock();
  if (end_ns == 0) return;
  SynchronizationEvent event;
  event.start_ns = start_ns;
  event.end_ns = end_ns;
  event.correlation_id = data.correlationId;
  event.context_id = data.contextUid;
  switch (kind) {
    case CallKind::kSynchronize:
      event.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
      break;
    case CallKind::kEventSynchronize:
      event.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
      break;
    default:
      event.type = kind == CallKind::kStreamSynchronize ? CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE
                                                        : CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
      event.stream_id =
          StreamId(thread, data.context, StreamOf(cbid, data.functionParams), ClassifyCall(cbid).per_thread_stream);
      break;
  }
  auto* room = thread->queue.Reserve<SynchronizationEvent>(EventType::kSynchronization);
  if (room == nullptr) {
    Stats().Add(StatId::kSynchronizationsDropped);
    return;
  }
  *room = event;
  thread->queue.Commit();
}

void CallbackRouter::EmitGraphLaunch(ThreadState* thread, uint32_t cbid, const CUpti_CallbackData& data) noexcept {
  const LaunchCall call = ReadLaunchCall(cbid, data.functionParams);
  const uint32_t graph_exec_id = GraphExecId(thread, call.graph_exec);
  const uint32_t stream_id = StreamId(thread, data.context, call.stream, ClassifyCall(cbid).per_thread_stream);
  const CUresult result = ResultOf(data);
  Stats().Add(result == CUDA_SUCCESS ? StatId::kGraphLaunchesSeen : StatId::kLaunchesFailed);
  auto* event = thread->queue.Reserve<GraphLaunchEvent>(EventType::kGraphLaunch);
  if (event == nullptr) {
    Stats().Add(StatId::kLaunchesDroppedQueueFull);
    return;
  }
  FillCall(event, *thread, data, stream_id, result);
  event->graph_exec_id = graph_exec_id;
  thread->queue.Commit();
}

void CallbackRouter::EmitNode(ThreadState* thread, const GraphNodeEvent& node) noexcept {
  auto* event = thread->queue.Reserve<GraphNodeEvent>(EventType::kGraphNode);
  if (event == nullptr) {
    Stats().Add(StatId::kGraphTableFull);
    return;
  }
  *event = node;
  thread->queue.Commit();
}

uint32_t CallbackRouter::StreamId(ThreadState* thread, CUcontext context, CUstream stream, bool per_thread) noexcept {
  // CU_STREAM_PER_THREAD names this thread's own default stream through any entry point.
  per_thread = per_thread || stream == CU_STREAM_PER_THREAD;
  const uint32_t epoch = stream_epoch_.load(std::memory_order_relaxed);
  ThreadState::StreamEntry& entry = thread->streams[CacheIndex(stream, ThreadState::kStreamEntries)];
  if (entry.valid && entry.stream == stream && entry.context == context && entry.per_thread == per_thread &&
      entry.epoch == epoch) {
    return entry.stream_id;
  }
  uint32_t stream_id = kUnknownStream;
  if (parts_.cupti->cuptiGetStreamIdEx(context, stream, per_thread ? 1 : 0, &stream_id) != CUPTI_SUCCESS) {
    return kUnknownStream;
  }
  entry.context = context;
  entry.stream = stream;
  entry.per_thread = per_thread;
  entry.epoch = epoch;
  entry.stream_id = stream_id;
  entry.valid = true;
  return stream_id;
}

uint32_t CallbackRouter::GraphExecId(ThreadState* thread, CUgraphExec graph) noexcept {
  if (graph == nullptr || parts_.cupti->cuptiGetGraphExecId == nullptr) return 0;
  const uint32_t epoch = graph_epoch_.load(std::memory_order_relaxed);
  ThreadState::GraphEntry& entry = thread->graphs[CacheIndex(graph, ThreadState::kGraphEntries)];
  if (entry.graph == graph && entry.epoch == epoch) return entry.graph_exec_id;
  uint32_t graph_exec_id = 0;
  if (parts_.cupti->cuptiGetGraphExecId(graph, &graph_exec_id) != CUPTI_SUCCESS) return 0;
  entry.graph = graph;
  entry.epoch = epoch;
  entry.graph_exec_id = graph_exec_id;
  return graph_exec_id;
}

void CallbackRouter::OnResource(uint32_t cbid, const CUpti_ResourceData& data) noexcept {
  switch (cbid) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      OnContext(true, data);
      break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      OnContext(false, data);
      break;
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
      // A later stream may get this handle: forget what every thread has cached.
      stream_epoch_.fetch_add(1, std::memory_order_relaxed);
      if (keeps_books_) bookkeeping_.OnStreamDestroyed(data.resourceHandle.stream);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      OnModule(true, data);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      OnModule(false, data);
      break;
    default:
      OnGraph(cbid, data);
      break;
  }
}

void CallbackRouter::OnContext(bool created, const CUpti_ResourceData& data) noexcept {
  uint32_t context_id = 0;
  uint32_t device_id = 0;
  if (parts_.cupti->cuptiGetContextId(data.context, &context_id) != CUPTI_SUCCESS ||
      parts_.cupti->cuptiGetDeviceId(data.context, &device_id) != CUPTI_SUCCESS) {
    Stats().Add(StatId::kCuptiErrors);
    if (keeps_books_ && !created) bookkeeping_.OnContextDestroyed(data.context);
    return;
  }
  if (created) {
    parts_.contexts->Add(context_id, device_id, data.context);
  } else {
    parts_.contexts->Remove(context_id);
    if (keeps_books_) bookkeeping_.OnContextDestroyed(data.context);
    parts_.functions->NewEpoch();
    stream_epoch_.fetch_add(1, std::memory_order_relaxed);
  }
  ThreadState* thread = parts_.queues->Current();
  if (thread == nullptr) {
    Stats().Add(StatId::kDefinitionsDropped);
    return;
  }
  if (auto* event = thread->queue.Reserve<ContextEvent>(EventType::kContext)) {
    event->monotonic_ns = MonotonicNs();
    event->context_id = context_id;
    event->device_id = device_id;
    event->destroyed = created ? 0 : 1;
    thread->queue.Commit();
  } else {
    Stats().Add(StatId::kDefinitionsDropped);
  }
}

void CallbackRouter::OnModule(bool loaded, const CUpti_ResourceData& data) noexcept {
  if (data.resourceDescriptor == nullptr) return;
  const auto& module = *static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
  uint64_t cubin_hash = 0;
  if (loaded && module.pCubin != nullptr && module.cubinSize != 0) {
    const std::span<const uint8_t> cubin(reinterpret_cast<const uint8_t*>(module.pCubin), module.cubinSize);
    cubin_hash = HashBytes(cubin.data(), cubin.size());
    bool full = false;
    parts_.functions->AddModule(module.moduleId, cubin, &full);
    if (full) Stats().Add(StatId::kModuleTableFull);
  } else if (!loaded) {
    parts_.functions->RemoveModule(module.moduleId);
  }
  ThreadState* thread = parts_.queues->Current();
  if (thread == nullptr) {
    Stats().Add(StatId::kDefinitionsDropped);
    return;
  }
  if (auto* event = thread->queue.Reserve<ModuleEvent>(EventType::kModule)) {
    event->monotonic_ns = MonotonicNs();
    event->module_id = module.moduleId;
    event->cubin_bytes = loaded ? module.cubinSize : 0;
    event->cubin_hash = cubin_hash;
    event->unloaded = loaded ? 0 : 1;
    thread->queue.Commit();
  } else {
    Stats().Add(StatId::kDefinitionsDropped);
  }
}

void CallbackRouter::OnGraph(uint32_t cbid, const CUpti_ResourceData& data) noexcept {
  const CuptiApi& cupti = *parts_.cupti;
  if (data.resourceDescriptor == nullptr || cupti.cuptiGetGraphNodeId == nullptr ||
      cupti.cuptiGetGraphExecId == nullptr || cupti.cuptiGetGraphId == nullptr) {
    return;
  }
  const auto& graph = *static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
  ThreadState* thread = parts_.queues->Current();
  if (thread == nullptr) {
    Stats().Add(StatId::kGraphTableFull);
    return;
  }
  switch (cbid) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS:
      OnGraphNode(thread, cbid, data, graph);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
      OnGraphExecCreated(thread, graph);
      break;
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING: {
      uint32_t graph_id = 0;
      if (graph.graph != nullptr && cupti.cuptiGetGraphId(graph.graph, &graph_id) == CUPTI_SUCCESS) {
        EmitGraphDestroyed(thread, graph_id);
      }
      break;
    }
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING: {
      // A later graph may get this handle: forget what every thread has cached.
      graph_epoch_.fetch_add(1, std::memory_order_relaxed);
      uint32_t graph_exec_id = 0;
      if (graph.graphExec != nullptr && cupti.cuptiGetGraphExecId(graph.graphExec, &graph_exec_id) == CUPTI_SUCCESS) {
        EmitGraphDestroyed(thread, graph_exec_id);
      }
      break;
    }
    default:
      break;
  }
}

void CallbackRouter::OnGraphNode(ThreadState* thread, uint32_t cbid, const CUpti_ResourceData& data,
                                 const CUpti_GraphData& graph) noexcept {
  const CuptiApi& cupti = *parts_.cupti;
  GraphNodeEvent node;
  if (graph.node == nullptr || cupti.cuptiGetGraphNodeId(graph.node, &node.node_id) != CUPTI_SUCCESS) {
    Stats().Add(StatId::kCuptiErrors);
    return;
  }
  const bool created = cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED;
  const bool cloned = cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
  if (!created && graph.originalNode != nullptr) {
    (void)cupti.cuptiGetGraphNodeId(graph.originalNode, &node.original_node_id);
  }
  if (graph.graph != nullptr) (void)cupti.cuptiGetGraphId(graph.graph, &node.graph_id);
  node.node_type = graph.nodeType != 0 ? static_cast<uint32_t>(graph.nodeType) : thread->call_node_type;
  node.monotonic_ns = MonotonicNs();
  node.updated = created || cloned ? 0 : 1;
  // What it runs now is known only when the writer has read this.
  if (node.updated != 0 && parts_.graphs != nullptr) parts_.graphs->Set(node.graph_id, GraphSampling::kUnknown);
  if (data.context != nullptr) (void)cupti.cuptiGetContextId(data.context, &node.context_id);

  if (cloned) {
    if (thread->has_pending_node && thread->pending_node.node_id == node.node_id) thread->has_pending_node = false;
    if (thread->cloned_graph_id != node.graph_id) {
      thread->cloned_graph_id = node.graph_id;
      thread->cloned_from_graph_id = 0;
      if (graph.originalGraph != nullptr) {
        (void)cupti.cuptiGetGraphId(graph.originalGraph, &thread->cloned_from_graph_id);
      }
    }
    EmitPendingNode(thread);
    EmitNode(thread, node);
    return;
  }
  if (thread->call_cbid != 0 && !thread->call_has_node) {
    // The call that makes this node knows its parameters: written when it returns.
    thread->call_node = node;
    thread->call_has_node = true;
    return;
  }
  EmitPendingNode(thread);
  if (created) {
    thread->pending_node = node;
    thread->has_pending_node = true;
  } else {
    EmitNode(thread, node);
  }
}

void CallbackRouter::OnGraphExecCreated(ThreadState* thread, const CUpti_GraphData& graph) noexcept {
  const CuptiApi& cupti = *parts_.cupti;
  graph_epoch_.fetch_add(1, std::memory_order_relaxed);
  GraphExecEvent exec;
  if (graph.graphExec == nullptr || cupti.cuptiGetGraphExecId(graph.graphExec, &exec.graph_exec_id) != CUPTI_SUCCESS) {
    Stats().Add(StatId::kCuptiErrors);
    return;
  }
  // Instantiation ends with a node of the driver's own in the copy (seen with CUPTI 13.0): it is nobody's kernel.
  if (thread->has_pending_node && thread->pending_node.graph_id == exec.graph_exec_id) thread->has_pending_node = false;
  EmitPendingNode(thread);
  if (graph.graph != nullptr) (void)cupti.cuptiGetGraphId(graph.graph, &exec.graph_id);
  // CUPTI gives an executable graph the id of the copy that its nodes were cloned into.
  if (exec.graph_id == 0 && thread->cloned_graph_id == exec.graph_exec_id) exec.graph_id = thread->cloned_from_graph_id;
  exec.monotonic_ns = MonotonicNs();
  if (auto* event = thread->queue.Reserve<GraphExecEvent>(EventType::kGraphExec)) {
    *event = exec;
    thread->queue.Commit();
  } else {
    Stats().Add(StatId::kGraphTableFull);
  }
}

void CallbackRouter::EmitGraphDestroyed(ThreadState* thread, uint32_t graph_id) noexcept {
  EmitPendingNode(thread);
  // One that does not fit is forgotten later than it could be, and costs the writer some memory.
  if (auto* event = thread->queue.Reserve<GraphDestroyedEvent>(EventType::kGraphDestroyed)) {
    event->graph_id = graph_id;
    thread->queue.Commit();
  }
}

void CallbackRouter::EmitPendingNode(ThreadState* thread) noexcept {
  if (!thread->has_pending_node) return;
  thread->has_pending_node = false;
  EmitNode(thread, thread->pending_node);
}

}  // namespace gx::inject
