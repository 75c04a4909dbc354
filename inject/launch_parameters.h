// Parameters of driver launch calls and graph-node calls -> LaunchParameters. Pure but for the function table: reads
// the parameter block that CUPTI hands to a callback, calls nothing.
#ifndef GPUEXEC_INJECT_LAUNCH_PARAMETERS_H_
#define GPUEXEC_INJECT_LAUNCH_PARAMETERS_H_

#include <cuda.h>

#include "inject/event.h"

namespace gx::inject {

// What a driver call is to us.
enum class CallKind : uint8_t {
  kNone = 0,
  kLaunch,
  kGraphLaunch,
  kGraphAddNode,
  kGraphSetNode,
  kUnload,
  kCaptureBegin,
  kCaptureEnd,
  kProfilerStart,
  kProfilerStop,
  // The host waits for the device, or a stream for an event.
  kSynchronize,        // A whole context.
  kStreamSynchronize,  // A stream.
  kEventSynchronize,
  kStreamWaitEvent,  // The host does not wait.

  // Only while hardware counters are sampled (CounterCalls). First what brings work to a device, as launches do.
  kCopy,
  kMemset,
  kHostWork,  // Host functions, waits and writes of memory words, prefetches and the like, in a stream.
  kModuleLoad,
  // Streams and contexts.
  kStreamCreate,
  kStreamDestroy,
  kGreenContext,   // Made.
  kPrimaryRetain,  // One more reference to the primary context of a device.
  // What may be sampled or replayed from then on.
  kPeerAccess,  // To the memory of another device, or what may give it.
  kIpcOpen,     // Memory shared with another process, device driver or API, in either direction.
  kMulticast,
  kManagedMemory,
  kHostMemory,
  kPoolMemory,
};

// Whether such a call brings work to a device. Pure.
constexpr bool BringsDeviceWork(CallKind kind) noexcept {
  return kind == CallKind::kLaunch || kind == CallKind::kGraphLaunch || kind == CallKind::kCopy ||
         kind == CallKind::kMemset || kind == CallKind::kHostWork || kind == CallKind::kModuleLoad;
}

struct CallInfo {
  CallKind kind = CallKind::kNone;
  // The call's default stream is the per-thread one.
  bool per_thread_stream = false;
};

// For a CUpti_driver_api_trace_cbid. Pure.
CallInfo ClassifyCall(uint32_t cbid) noexcept;

// Every cbid that ClassifyCall knows, in two lists without a common member: those followed always, and those followed
// while hardware counters are sampled. Both end with 0.
const uint32_t* FollowedCalls() noexcept;
const uint32_t* CounterCalls() noexcept;

// The stream that a call names, of a kind that brings work to a device, waits for a stream, or begins or ends a
// capture. Null: the default stream, or the call names none.
CUstream StreamOf(uint32_t cbid, const void* parameters) noexcept;
// Whether that stream is the calling thread's own default stream. Pure.
inline bool IsThreadsOwnStream(CallInfo call, CUstream stream) noexcept {
  return stream == CU_STREAM_PER_THREAD || (stream == nullptr && call.per_thread_stream);
}

struct LaunchCall {
  LaunchParameters parameters;  // function_index not set.
  const void* function = nullptr;
  CUstream stream = nullptr;
  CUgraphExec graph_exec = nullptr;
};

// Reads the parameter block of a call. `parameters.readable` stays 0 where it holds none (a null pointer, a graph node
// of another type, a multi-device launch).
LaunchCall ReadLaunchCall(uint32_t cbid, const void* parameters) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_LAUNCH_PARAMETERS_H_
