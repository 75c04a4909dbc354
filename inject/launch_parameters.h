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
};

struct CallInfo {
  CallKind kind = CallKind::kNone;
  // The call's default stream is the per-thread one.
  bool per_thread_stream = false;
};

// For a CUpti_driver_api_trace_cbid. Pure.
CallInfo ClassifyCall(uint32_t cbid) noexcept;

// Every cbid that ClassifyCall knows; ends with 0.
const uint32_t* FollowedCalls() noexcept;

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
