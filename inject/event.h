// What a host thread puts into its queue inside a callback: plain bytes, no pointers that could die, filled in place.
// The writer thread turns events into records. Only the library's own process ever sees this layout.
#ifndef GPUEXEC_INJECT_EVENT_H_
#define GPUEXEC_INJECT_EVENT_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "inject/record.h"

namespace gx::inject {

enum class EventType : uint32_t {
  kSkip = 0,  // Unused bytes at the end of a queue's memory.
  kLaunch = 1,
  kGraphLaunch = 2,
  kGraphNode = 3,
  kGraphExec = 4,
  kContext = 5,
  kModule = 6,
  kNvtx = 7,
  kGraphDestroyed = 8,
  kRange = 9,
  kDenial = 10,
  kSynchronization = 11,
};

inline constexpr uint32_t kUnknownStream = std::numeric_limits<uint32_t>::max();
inline constexpr int32_t kNoCarveout = std::numeric_limits<int32_t>::min();

// What a launch asked for.
struct LaunchParameters {
  uint32_t function_index = 0;  // In the FunctionTable; 0: unknown.
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  Dim3 preferred_cluster;
  uint32_t dynamic_shared_memory_bytes = 0;
  int32_t carveout = kNoCarveout;
  uint8_t cooperative = 0;
  uint8_t programmatic = 0;
  uint8_t readable = 0;  // 0: the parameters could not be read; everything above is empty.
  uint8_t padding = 0;
};

struct LaunchEvent {
  uint64_t enter_monotonic_ns = 0;
  uint32_t correlation_id = 0;
  uint32_t context_id = 0;
  uint32_t stream_id = kUnknownStream;
  uint32_t window_id = 0;
  uint32_t result = 0;
  LaunchParameters parameters;
};

struct GraphLaunchEvent {
  uint64_t enter_monotonic_ns = 0;
  uint32_t correlation_id = 0;
  uint32_t context_id = 0;
  uint32_t stream_id = kUnknownStream;
  uint32_t window_id = 0;
  uint32_t result = 0;
  uint32_t graph_exec_id = 0;
};

// The host waited for the device, or had a stream wait for an event. Times of CUPTI's clock, as the work's are.
struct SynchronizationEvent {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint32_t correlation_id = 0;
  uint32_t context_id = 0;
  uint32_t stream_id = kUnknownStream;  // Also where it is no stream that is waited for.
  uint32_t type = 0;                    // CUpti_ActivitySynchronizationType
};

struct GraphNodeEvent {
  uint64_t node_id = 0;
  uint64_t original_node_id = 0;
  uint64_t monotonic_ns = 0;
  uint32_t graph_id = 0;
  uint32_t node_type = 0;
  uint32_t context_id = 0;
  uint32_t updated = 0;
  LaunchParameters parameters;
};

struct GraphExecEvent {
  uint64_t monotonic_ns = 0;
  uint32_t graph_exec_id = 0;
  uint32_t graph_id = 0;
};

// A graph, or an executable graph (both have ids of one kind), is gone.
struct GraphDestroyedEvent {
  uint32_t graph_id = 0;
  uint32_t padding = 0;
};

struct ContextEvent {
  uint64_t monotonic_ns = 0;
  uint32_t context_id = 0;
  uint32_t device_id = 0;
  uint32_t destroyed = 0;
  uint32_t padding = 0;
};

struct ModuleEvent {
  uint64_t monotonic_ns = 0;
  uint64_t cubin_bytes = 0;
  uint64_t cubin_hash = 0;
  uint32_t module_id = 0;
  uint32_t unloaded = 0;
};

// Followed by `text_bytes` bytes of message, then `payload_bytes` bytes of payload as text.
struct NvtxEvent {
  uint64_t monotonic_ns = 0;
  uint64_t range_id = 0;
  uint32_t kind = 0;          // NvtxKind
  uint32_t domain_index = 0;  // In the NvtxHandler's table; 1 is the default domain.
  uint32_t text_bytes = 0;
  uint32_t payload_bytes = 0;
};

// The launch or graph launch whose event comes next from this thread had a range of its own.
struct RangeEvent {
  uint32_t session_id = 0;
  uint32_t range_order = 0;  // In the session, from 0.
  uint32_t correlation_id = 0;
  uint32_t flags = 0;  // Bits kCounter* of record.h.
};

// A function, graph or context that is not sampled any more, or never was; written once for each and reason.
struct DenialEvent {
  uint64_t monotonic_ns = 0;
  uint64_t waited_ns = 0;       // kDeadline: for the sampled launch.
  uint32_t function_index = 0;  // 0: the graph, or where that is 0 every function and graph of the context.
  uint32_t context_id = 0;      // 0: in every context.
  uint32_t reason = 0;          // CounterDenialReason
  uint32_t graph_exec_id = 0;   // A graph launched as a whole; 0: no graph.
};

static_assert(std::is_trivially_copyable_v<LaunchEvent> && std::is_trivially_copyable_v<GraphNodeEvent> &&
              std::is_trivially_copyable_v<NvtxEvent>);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_EVENT_H_
