// The contract between the fake libcuda and the fake libcupti: as with the real pair, the driver knows nothing of CUPTI
// but an observer that may be attached. The driver exports one function, FakeGpuDriver, and nothing else of this header
// has linkage. Both libraries must be built by the same compiler.
//
// The GPU itself is arithmetic: each stream is busy until some instant, and work queued on it starts then (or now) and
// lasts as long as its kernel says. Start and end are therefore known when work is queued; it is "complete" when the
// clock has passed its end. Kernels that wait for somebody else, and host functions, are the exception: their end, and
// the start of what is queued behind them, are known when they are released.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_GPU_H_
#define GPUEXEC_TESTS_FAKES_FAKE_GPU_H_

#include <cuda.h>
#include <time.h>

#include <cstdint>

#include "tests/fakes/fake_cubin.h"

namespace gx::fakes {

// The GPU's clock: CLOCK_MONOTONIC plus a constant (so that it is no clock of the host), in steps of 32 ns.
inline constexpr uint64_t kGpuClockOffsetNs = 1'000'000'000'000'000'000;
inline constexpr uint64_t kGpuClockStepNs = 32;

inline uint64_t GpuNowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t host_ns =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec) + kGpuClockOffsetNs;
  return host_ns - host_ns % kGpuClockStepNs;
}

// What a launch asked for, from whichever launch function.
struct LaunchShape {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {0, 0, 0};
  uint32_t preferred_cluster[3] = {0, 0, 0};
  uint32_t dynamic_shared_memory_bytes = 0;
  bool cooperative = false;
  bool programmatic = false;
  bool carveout_given = false;
  int32_t carveout_percent = 0;
};

enum class WorkKind { kKernel, kMemcpy, kMemcpyPeer, kMemset, kSynchronization, kOverhead, kDriverCall, kHostFunction };

// Work queued on the GPU. Pointers are valid during the call only, but for `name` (see FAKE_CUPTI_REUSE_NAMES).
struct Work {
  WorkKind kind = WorkKind::kKernel;
  uint32_t correlation_id = 0;
  uint32_t device_id = 0;
  uint32_t context_id = 0;
  uint32_t stream_id = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  // Kernels, copies and fills: the observer was asked (OnQueued), and what it said.
  bool queued = false;
  bool traced = false;
  // Kernels of graph replays.
  uint32_t graph_exec_id = 0;
  uint64_t graph_node_id = 0;
  // Kernels.
  const char* name = nullptr;
  LaunchShape shape;
  FunctionAttributes attributes;
  // Copies and fills: CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind values.
  uint64_t size_bytes = 0;
  uint8_t copy_kind = 0;
  uint8_t source_memory_kind = 0;
  uint8_t destination_memory_kind = 0;
  uint32_t source_device_id = 0;
  uint32_t destination_device_id = 0;
  uint32_t value = 0;
  // Synchronisation: CUpti_ActivitySynchronizationType. Overhead: CUpti_ActivityOverheadKind. Call of the driver: its
  // CUpti_driver_api_trace_cbid, and the CUresult in `value`.
  uint32_t type = 0;
};

// One call of a driver function, while it runs.
struct ApiCall {
  uint32_t callback_id = 0;
  const char* function_name = nullptr;
  // generated_cuda_meta.h's struct of the function.
  const void* params = nullptr;
  const char* symbol_name = nullptr;
  CUcontext context = nullptr;
  uint32_t context_id = 0;
  uint32_t correlation_id = 0;
  CUresult result = CUDA_SUCCESS;
  // The observer's own 64 bits, kept from entry to exit.
  uint64_t observer_data = 0;
  uint64_t enter_ns = 0;
};

// Who watches the driver. Calls come on the thread that called the driver, without a lock of the driver held.
class GpuObserver {
 public:
  virtual void OnApi(ApiCall* call, bool is_exit) = 0;
  // `descriptor`: CUpti_ModuleResourceData, CUpti_GraphData or null, by callback id (CUpti_CallbackIdResource).
  virtual void OnResource(uint32_t callback_id, CUcontext context, CUstream stream, void* descriptor) = 0;
  // Kernels, copies and fills when they are queued, start and end not known yet: whether they are to be recorded.
  // Called with the driver's lock held.
  virtual bool OnQueued(const Work& work) = 0;
  // What is done, or will be: start and end are known.
  virtual void OnWork(const Work& work) = 0;
  // Whether launches in the context return only when their work has ended.
  virtual bool BlocksLaunches(uint32_t context_id) = 0;
  // CUpti_CallbackIdSync.
  virtual void OnSynchronized(uint32_t callback_id, CUcontext context, CUstream stream) = 0;

 protected:
  ~GpuObserver() = default;
};

// What CUPTI asks of the driver. Functions return false for handles that are not alive.
struct GpuDriver {
  void (*attach)(GpuObserver* observer);
  // Between entry and exit of an observer's callback on this thread: driver calls that a real one punishes there are
  // logged as violations.
  void (*enter_callback)(bool is_launch);
  void (*leave_callback)(bool is_launch);
  bool (*context_id)(CUcontext context, uint32_t* id);
  bool (*context_device)(CUcontext context, uint32_t* device_id);
  // A null context is the thread's current one; a null stream is the default one, or the thread's own.
  bool (*stream_id)(CUcontext context, CUstream stream, bool per_thread, uint32_t* id);
  bool (*graph_id)(CUgraph graph, uint32_t* id);
  bool (*graph_node_id)(CUgraphNode node, uint64_t* id);
  bool (*graph_exec_id)(CUgraphExec exec, uint32_t* id);
  CUcontext (*current_context)();
  // Returns when every stream of the context is idle, however long that takes.
  void (*wait_context_idle)(CUcontext context);
  bool (*any_capture)();
  // Every open capture becomes invalid, and a violation says through what.
  void (*invalidate_captures)(const char* what);
};

inline constexpr char kGpuDriverSymbol[] = "FakeGpuDriver";
using GpuDriverFunction = const GpuDriver* (*)();

// Kernels whose names contain these end when a later kernel with kReleaseKernel in its name starts, or when the host
// calls the function of kHostFlagSymbol, which the fake driver exports.
inline constexpr char kSpinUntilLaunch[] = "spin_until_launch";
inline constexpr char kSpinUntilHost[] = "spin_until_host";
inline constexpr char kReleaseKernel[] = "release";
// A kernel with this in its name is launched and leaves its context broken: every later call fails (700).
inline constexpr char kIllegalAccessKernel[] = "illegal_access";
inline constexpr char kHostFlagSymbol[] = "FakeGpuSetHostFlag";
using HostFlagFunction = void (*)();

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_GPU_H_
