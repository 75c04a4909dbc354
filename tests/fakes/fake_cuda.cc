// The fake libcuda.so.1: the exported driver functions (GX_FAKE_CUDA_12: of a driver before cuCtxRecordEvent). Each one
// builds the parameter struct that CUPTI hands to its clients, reports entry and exit to the observer, and leaves the
// work to FakeDriver.
#include <cuda.h>
#include <cupti.h>  // With the parameter structs of generated_cuda_meta.h.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <type_traits>

#include "tests/fakes/fake_driver.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/fake_log.h"
#include "tests/fakes/fake_scenario.h"

#define GX_EXPORT extern "C" __attribute__((visibility("default")))
#define GX_CBID(function) CUPTI_DRIVER_TRACE_CBID_##function

namespace gx::fakes {
namespace {

FakeDriver& Driver() { return FakeDriver::Get(); }

// What a tool must not do: call the driver from a launch callback, or disturb a capture.
void CheckManners(const char* function, bool touches_device) {
  if (FakeDriver::LaunchCallbackDepth() > 0) LogViolation(std::string(function) + " inside a launch callback");
  if (touches_device && Driver().AnyCapture()) LogViolation(std::string(function) + " during a stream capture");
}

// What every call returns once a kernel has read where it must not, as the real driver's do until the process ends.
std::atomic<int> sticky_error{0};

// An error that a call has to return in place of doing its work; 0: none.
int ErrorOf(const char* function) {
  const int injected = InjectedFailure(function);
  return injected != 0 ? injected : sticky_error.load();
}

// Runs `body(correlation id)` between the callbacks of entry and exit.
template <typename Params, typename Body>
CUresult TracedAnywhere(uint32_t callback_id, const char* name, const Params* params, const char* symbol,
                        const Body& body) {
  const CUresult usable = Driver().Usable();
  if (usable != CUDA_SUCCESS) return usable;
  ApiCall call;
  call.callback_id = callback_id;
  call.function_name = name;
  call.params = params;
  call.symbol_name = symbol;
  call.context = Driver().Current();
  if (call.context != nullptr) Driver().ContextId(call.context, &call.context_id);
  call.correlation_id = Driver().NextCorrelationId();
  GpuObserver* const watcher = Driver().observer();
  if (watcher != nullptr) watcher->OnApi(&call, false);
  const int error = ErrorOf(name);
  call.result = error != 0 ? static_cast<CUresult>(error) : body(call.correlation_id);
  if (watcher != nullptr) watcher->OnApi(&call, true);
  return call.result;
}

// As above, for functions that have no place inside a launch callback: all but those that ask whether a stream is idle
// or how much memory is free.
template <typename Params, typename Body>
CUresult Traced(uint32_t callback_id, const char* name, const Params* params, const char* symbol, const Body& body) {
  CheckManners(name, false);
  return TracedAnywhere(callback_id, name, params, symbol, body);
}

// Plain queries: no callbacks.
template <typename Body>
CUresult Query(const char* name, bool touches_device, const Body& body) {
  CheckManners(name, touches_device);
  const CUresult usable = Driver().Usable();
  if (usable != CUDA_SUCCESS) return usable;
  const int error = ErrorOf(name);
  return error != 0 ? static_cast<CUresult>(error) : body();
}

const char* SymbolOf(CUfunction function) {
  const char* name = nullptr;
  return Driver().DescribeFunction(function, true, nullptr, &name) ? name : nullptr;
}

template <typename Params>
LaunchShape ShapeOf(const Params& params) {
  LaunchShape shape;
  shape.grid[0] = params.gridDimX;
  shape.grid[1] = params.gridDimY;
  shape.grid[2] = params.gridDimZ;
  shape.block[0] = params.blockDimX;
  shape.block[1] = params.blockDimY;
  shape.block[2] = params.blockDimZ;
  shape.dynamic_shared_memory_bytes = params.sharedMemBytes;
  return shape;
}

LaunchShape ShapeOfConfig(const CUlaunchConfig& config) {
  LaunchShape shape = ShapeOf(config);
  for (unsigned int i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttributeValue& value = config.attrs[i].value;
    switch (config.attrs[i].id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        shape.cooperative = value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        shape.programmatic = value.programmaticStreamSerializationAllowed != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        shape.cluster[0] = value.clusterDim.x;
        shape.cluster[1] = value.clusterDim.y;
        shape.cluster[2] = value.clusterDim.z;
        break;
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        shape.preferred_cluster[0] = value.preferredClusterDim.x;
        shape.preferred_cluster[1] = value.preferredClusterDim.y;
        shape.preferred_cluster[2] = value.preferredClusterDim.z;
        break;
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        shape.carveout_given = true;
        shape.carveout_percent = static_cast<int32_t>(value.sharedMemCarveout);
        break;
      default:
        break;
    }
  }
  return shape;
}

template <typename Params>
CUresult TracedLaunch(uint32_t callback_id, const char* name, const Params& params, bool per_thread,
                      bool cooperative = false) {
  const char* const symbol = SymbolOf(params.f);
  return Traced(callback_id, name, &params, symbol, [&](uint32_t correlation_id) {
    LaunchShape shape = ShapeOf(params);
    shape.cooperative = cooperative;
    const CUresult result = Driver().Launch(name, params.f, shape, params.hStream, per_thread, correlation_id);
    if (result == CUDA_SUCCESS && symbol != nullptr && std::strstr(symbol, kIllegalAccessKernel) != nullptr) {
      sticky_error.store(CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    return result;
  });
}

template <typename Params>
CUresult TracedLaunchEx(uint32_t callback_id, const char* name, const Params& params, bool per_thread) {
  return Traced(callback_id, name, &params, SymbolOf(params.f), [&](uint32_t correlation_id) {
    if (params.config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return Driver().Launch(name, params.f, ShapeOfConfig(*params.config), params.config->hStream, per_thread,
                           correlation_id);
  });
}

// An H200's figures where the tool stores them; the rest is unknown to this driver.
bool DeviceAttribute(CUdevice_attribute attribute, int* value) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      return true;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      return true;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      return true;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = 2048;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      *value = 32;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
      *value = 65536;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      *value = 65536;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      *value = 49152;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 232448;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = 233472;
      return true;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      *value = 1024;
      return true;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      *value = 65536;
      return true;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 62914560;
      return true;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      return true;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *value = 3201000;
      return true;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      *value = 6016;
      return true;
    case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
      *value = 1;
      return true;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
      *value = 1;
      return true;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
      *value = 1;
      return true;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
      *value = 1;
      return true;
    default:
      return false;
  }
}

bool FunctionAttribute(const FunctionAttributes& function, CUfunction_attribute attribute, int* value) {
  const auto store = [value](uint32_t figure) {
    *value = static_cast<int>(figure);
    return true;
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return store(function.max_threads_per_block);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return store(function.static_shared_memory_bytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      return store(function.constant_memory_bytes);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return store(function.local_memory_per_thread_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return store(function.registers_per_thread);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return store(function.ptx_version);
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return store(function.binary_version);
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return store(49152);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = -1;
      return true;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return store(0);
    default:
      return false;
  }
}

// A piece of address space of its own.
CUresult TakeAddress(unsigned long long* address, size_t bytes) {
  static std::atomic<unsigned long long> next{0x7000'0000'0000};
  *address = next.fetch_add((bytes + 511) & ~size_t{511});
  return CUDA_SUCCESS;
}

Work CopyWork(CUpti_ActivityMemcpyKind kind, CUpti_ActivityMemoryKind source, CUpti_ActivityMemoryKind destination,
              size_t bytes, uint32_t correlation_id) {
  Work work;
  work.kind = WorkKind::kMemcpy;
  work.correlation_id = correlation_id;
  work.size_bytes = bytes;
  work.copy_kind = static_cast<uint8_t>(kind);
  work.source_memory_kind = static_cast<uint8_t>(source);
  work.destination_memory_kind = static_cast<uint8_t>(destination);
  return work;
}

Work FillWork(unsigned char value, size_t bytes, uint32_t correlation_id) {
  Work work;
  work.kind = WorkKind::kMemset;
  work.correlation_id = correlation_id;
  work.size_bytes = bytes;
  work.value = value;
  work.destination_memory_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  return work;
}

bool ValidDevice(CUdevice device) { return device >= 0 && device < GetScenario().device_count; }

// ------------------------------------------------------------------------------------- what CUPTI may ask of us

const GpuDriver kDriverInterface = {
    .attach = [](GpuObserver* observer) { Driver().Attach(observer); },
    .enter_callback =
        [](bool is_launch) {
          ++FakeDriver::CallbackDepth();
          if (is_launch) ++FakeDriver::LaunchCallbackDepth();
        },
    .leave_callback =
        [](bool is_launch) {
          --FakeDriver::CallbackDepth();
          if (is_launch) --FakeDriver::LaunchCallbackDepth();
        },
    .context_id = [](CUcontext context, uint32_t* id) { return Driver().ContextId(context, id); },
    .context_device = [](CUcontext context, uint32_t* device) { return Driver().ContextDevice(context, device); },
    .stream_id = [](CUcontext context, CUstream stream, bool per_thread,
                    uint32_t* id) { return Driver().StreamId(context, stream, per_thread, id); },
    .graph_id = [](CUgraph graph, uint32_t* id) { return Driver().GraphId(graph, id); },
    .graph_node_id = [](CUgraphNode node, uint64_t* id) { return Driver().GraphNodeId(node, id); },
    .graph_exec_id = [](CUgraphExec exec, uint32_t* id) { return Driver().GraphExecId(exec, id); },
    .current_context = [] { return Driver().Current(); },
    .wait_context_idle = [](CUcontext context) { Driver().WaitContextIdle(context); },
    .any_capture = [] { return Driver().AnyCapture(); },
    .invalidate_captures = [](const char* what) { Driver().InvalidateCaptures(what); },
};

}  // namespace
}  // namespace gx::fakes

using namespace gx::fakes;  // NOLINT: the rest of this file is the C interface.

GX_EXPORT const GpuDriver* FakeGpuDriver() { return &kDriverInterface; }

GX_EXPORT void FakeGpuSetHostFlag() { Driver().SetHostFlag(); }

// ------------------------------------------------------------------------------------------------ devices

GX_EXPORT CUresult cuInit(unsigned int flags) {
  const CUresult result = flags == 0 ? Driver().Init() : CUDA_ERROR_INVALID_VALUE;
  if (result != CUDA_SUCCESS) return result;
  const cuInit_params params{flags};
  return Traced(GX_CBID(cuInit), "cuInit", &params, nullptr, [](uint32_t) { return CUDA_SUCCESS; });
}

GX_EXPORT CUresult cuDriverGetVersion(int* version) {
  if (const int injected = InjectedFailure("cuDriverGetVersion")) return static_cast<CUresult>(injected);
  *version = 13000;
  return CUDA_SUCCESS;
}

GX_EXPORT CUresult cuDeviceGetCount(int* count) {
  return Query("cuDeviceGetCount", false, [&] {
    *count = GetScenario().device_count;
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return Query("cuDeviceGet", false, [&] {
    if (!ValidDevice(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return Query("cuDeviceGetName", false, [&] {
    if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
    const std::string text = "Fake GPU " + std::to_string(device);
    std::strncpy(name, text.c_str(), static_cast<size_t>(length));
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return Query("cuDeviceGetUuid_v2", false, [&] {
    if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
    for (size_t i = 0; i < sizeof(uuid->bytes); ++i)
      uuid->bytes[i] = static_cast<char>(16 * device + static_cast<int>(i));
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return Query("cuDeviceGetPCIBusId", false, [&] {
    if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
    const std::string id = "0000:" + std::to_string(10 + device) + ":00.0";
    std::strncpy(text, id.c_str(), static_cast<size_t>(length));
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return Query("cuDeviceTotalMem_v2", false, [&] {
    if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = (size_t{140} << 30) + static_cast<size_t>(device);
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return Query("cuDeviceGetAttribute", false, [&] {
    if (!ValidDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
    return DeviceAttribute(attribute, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// ----------------------------------------------------------------------------------------------- contexts

GX_EXPORT CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* create_params, unsigned int flags,
                                  CUdevice device) {
  const cuCtxCreate_v4_params params{context, create_params, flags, device};
  return Traced(GX_CBID(cuCtxCreate_v4), "cuCtxCreate_v4", &params, nullptr,
                [&](uint32_t) { return Driver().CreateContext(device, context); });
}

GX_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  const cuCtxDestroy_v2_params params{context};
  return Traced(GX_CBID(cuCtxDestroy_v2), "cuCtxDestroy_v2", &params, nullptr,
                [&](uint32_t) { return Driver().DestroyContext(context); });
}

GX_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const cuDevicePrimaryCtxRetain_params params{context, device};
  return Traced(GX_CBID(cuDevicePrimaryCtxRetain), "cuDevicePrimaryCtxRetain", &params, nullptr,
                [&](uint32_t) { return Driver().RetainPrimary(device, context); });
}

GX_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const cuDevicePrimaryCtxRelease_v2_params params{device};
  return Traced(GX_CBID(cuDevicePrimaryCtxRelease_v2), "cuDevicePrimaryCtxRelease_v2", &params, nullptr,
                [&](uint32_t) { return Driver().ReleasePrimary(device); });
}

GX_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  const cuDevicePrimaryCtxReset_v2_params params{device};
  return Traced(GX_CBID(cuDevicePrimaryCtxReset_v2), "cuDevicePrimaryCtxReset_v2", &params, nullptr,
                [&](uint32_t) { return Driver().ResetPrimary(device); });
}

GX_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  const cuCtxEnablePeerAccess_params params{peer, flags};
  return Traced(GX_CBID(cuCtxEnablePeerAccess), "cuCtxEnablePeerAccess", &params, nullptr, [&](uint32_t) {
    uint32_t device = 0;
    return Driver().ContextDevice(peer, &device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  });
}

GX_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  const cuCtxSetCurrent_params params{context};
  return Traced(GX_CBID(cuCtxSetCurrent), "cuCtxSetCurrent", &params, nullptr,
                [&](uint32_t) { return Driver().SetCurrent(context); });
}

GX_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return Query("cuCtxPushCurrent_v2", false, [&] { return Driver().PushCurrent(context); });
}

GX_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return Query("cuCtxPopCurrent_v2", false, [&] { return Driver().PopCurrent(context); });
}

GX_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  // Nothing of the thread or the device changes: a callback may ask.
  if (const int injected = InjectedFailure("cuCtxGetCurrent")) return static_cast<CUresult>(injected);
  const CUresult usable = Driver().Usable();
  if (usable == CUDA_SUCCESS) *context = Driver().Current();
  return usable;
}

GX_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  return Query("cuCtxGetDevice", false, [&] {
    uint32_t ordinal = 0;
    if (!Driver().ContextDevice(nullptr, &ordinal)) return CUDA_ERROR_INVALID_CONTEXT;
    *device = static_cast<CUdevice>(ordinal);
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuCtxSynchronize() {
  CheckManners("cuCtxSynchronize", true);
  return Traced<void>(GX_CBID(cuCtxSynchronize), "cuCtxSynchronize", nullptr, nullptr,
                      [&](uint32_t correlation_id) { return Driver().SynchronizeContext(correlation_id); });
}

// ------------------------------------------------------------------------------------------------ streams

GX_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
  const cuStreamCreate_params params{stream, flags};
  return Traced(GX_CBID(cuStreamCreate), "cuStreamCreate", &params, nullptr,
                [&](uint32_t) { return Driver().CreateStream(stream); });
}

GX_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  const cuStreamDestroy_v2_params params{stream};
  return Traced(GX_CBID(cuStreamDestroy_v2), "cuStreamDestroy_v2", &params, nullptr,
                [&](uint32_t) { return Driver().DestroyStream(stream); });
}

GX_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  const cuStreamSynchronize_params params{stream};
  return Traced(GX_CBID(cuStreamSynchronize), "cuStreamSynchronize", &params, nullptr,
                [&](uint32_t correlation_id) { return Driver().SynchronizeStream(stream, false, correlation_id); });
}

GX_EXPORT CUresult cuStreamQuery(CUstream stream) {
  const cuStreamQuery_params params{stream};
  return TracedAnywhere(GX_CBID(cuStreamQuery), "cuStreamQuery", &params, nullptr,
                        [&](uint32_t) { return Driver().QueryStream(stream); });
}

// Nobody's memory: what is waited for is there.
GX_EXPORT CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  const cuStreamWaitValue32_v2_params params{stream, address, value, flags};
  return Traced(GX_CBID(cuStreamWaitValue32_v2), "cuStreamWaitValue32_v2", &params, nullptr,
                [](uint32_t) { return CUDA_SUCCESS; });
}

GX_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  const cuLaunchHostFunc_params params{stream, function, data};
  return Traced(GX_CBID(cuLaunchHostFunc), "cuLaunchHostFunc", &params, nullptr,
                [&](uint32_t) { return Driver().QueueHostFunction(stream, function, data); });
}

GX_EXPORT CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  const cuEventCreate_params params{event, flags};
  return Traced(GX_CBID(cuEventCreate), "cuEventCreate", &params, nullptr,
                [&](uint32_t) { return Driver().CreateEvent(event); });
}

GX_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  const cuEventRecord_params params{event, stream};
  return TracedAnywhere(GX_CBID(cuEventRecord), "cuEventRecord", &params, nullptr,
                        [&](uint32_t) { return Driver().RecordEvent(event, stream); });
}

#ifndef GX_FAKE_CUDA_12
GX_EXPORT CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  const cuCtxRecordEvent_params params{context, event};
  return TracedAnywhere(GX_CBID(cuCtxRecordEvent), "cuCtxRecordEvent", &params, nullptr,
                        [&](uint32_t) { return Driver().RecordContextEvent(context, event); });
}
#endif

GX_EXPORT CUresult cuEventQuery(CUevent event) {
  const cuEventQuery_params params{event};
  return TracedAnywhere(GX_CBID(cuEventQuery), "cuEventQuery", &params, nullptr,
                        [&](uint32_t) { return Driver().QueryEvent(event); });
}

GX_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  const cuEventDestroy_v2_params params{event};
  return Traced(GX_CBID(cuEventDestroy_v2), "cuEventDestroy_v2", &params, nullptr,
                [&](uint32_t) { return Driver().DestroyEvent(event); });
}

GX_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  const cuStreamBeginCapture_v2_params params{stream, mode};
  return Traced(GX_CBID(cuStreamBeginCapture_v2), "cuStreamBeginCapture_v2", &params, nullptr,
                [&](uint32_t) { return Driver().BeginCapture(stream, mode); });
}

GX_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const cuStreamEndCapture_params params{stream, graph};
  return Traced(GX_CBID(cuStreamEndCapture), "cuStreamEndCapture", &params, nullptr,
                [&](uint32_t) { return Driver().EndCapture(stream, graph); });
}

// ------------------------------------------------------------------------------------------------ modules

GX_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const cuModuleLoadData_params params{module, image};
  return Traced(GX_CBID(cuModuleLoadData), "cuModuleLoadData", &params, nullptr,
                [&](uint32_t) { return Driver().LoadModule(image, module); });
}

GX_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int option_count,
                                      CUjit_option* options, void** option_values) {
  const cuModuleLoadDataEx_params params{module, image, option_count, options, option_values};
  return Traced(GX_CBID(cuModuleLoadDataEx), "cuModuleLoadDataEx", &params, nullptr,
                [&](uint32_t) { return Driver().LoadModule(image, module); });
}

GX_EXPORT CUresult cuModuleUnload(CUmodule module) {
  const cuModuleUnload_params params{module};
  return Traced(GX_CBID(cuModuleUnload), "cuModuleUnload", &params, nullptr,
                [&](uint32_t) { return Driver().UnloadModule(module); });
}

GX_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const cuModuleGetFunction_params params{function, module, name};
  return Traced(GX_CBID(cuModuleGetFunction), "cuModuleGetFunction", &params, nullptr,
                [&](uint32_t) { return Driver().GetFunction(module, name, function); });
}

GX_EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options,
                                     void** jit_option_values, unsigned int jit_option_count,
                                     CUlibraryOption* library_options, void** library_option_values,
                                     unsigned int library_option_count) {
  const cuLibraryLoadData_params params{library,
                                        code,
                                        jit_options,
                                        jit_option_values,
                                        jit_option_count,
                                        library_options,
                                        library_option_values,
                                        library_option_count};
  return Traced(GX_CBID(cuLibraryLoadData), "cuLibraryLoadData", &params, nullptr,
                [&](uint32_t) { return Driver().LoadLibrary(code, library); });
}

GX_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  const cuLibraryUnload_params params{library};
  return Traced(GX_CBID(cuLibraryUnload), "cuLibraryUnload", &params, nullptr,
                [&](uint32_t) { return Driver().UnloadLibrary(library); });
}

GX_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const cuLibraryGetKernel_params params{kernel, library, name};
  return Traced(GX_CBID(cuLibraryGetKernel), "cuLibraryGetKernel", &params, nullptr,
                [&](uint32_t) { return Driver().GetKernel(library, name, kernel); });
}

GX_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return Query("cuKernelGetFunction", false, [&] { return Driver().GetKernelFunction(kernel, function); });
}

GX_EXPORT CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return Query("cuKernelGetName", false, [&] {
    CUfunction function = nullptr;
    if (Driver().GetKernelFunction(kernel, &function) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_HANDLE;
    return Driver().DescribeFunction(function, false, nullptr, name) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

GX_EXPORT CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return Query("cuFuncGetModule", false, [&] { return Driver().GetFunctionModule(function, module); });
}

GX_EXPORT CUresult cuFuncGetName(const char** name, CUfunction function) {
  return Query("cuFuncGetName", false, [&] {
    return Driver().DescribeFunction(function, false, nullptr, name) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

// A CUkernel cast to CUfunction is not accepted here, as the driver's manual does not promise it.
GX_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return Query("cuFuncGetAttribute", true, [&] {
    FunctionAttributes attributes;
    if (Driver().Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!Driver().DescribeFunction(function, false, &attributes, nullptr)) {
      // A living CUkernel is merely refused; what is neither may crash a real driver.
      if (!Driver().DescribeFunction(function, true, nullptr, nullptr)) {
        LogViolation("cuFuncGetAttribute of a function that is not loaded");
      }
      return CUDA_ERROR_INVALID_HANDLE;
    }
    return FunctionAttribute(attributes, attribute, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// Registers and threads alone: enough to be a figure that a test can foresee.
GX_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size,
                                                               size_t dynamic_shared_memory_bytes) {
  return Query("cuOccupancyMaxActiveBlocksPerMultiprocessor", true, [&] {
    FunctionAttributes attributes;
    if (Driver().Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!Driver().DescribeFunction(function, true, &attributes, nullptr)) {
      LogViolation("cuOccupancyMaxActiveBlocksPerMultiprocessor of a function that is not loaded");
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    const auto threads = static_cast<uint32_t>(block_size);
    const uint64_t shared_bytes = attributes.static_shared_memory_bytes + dynamic_shared_memory_bytes + 1024;
    const uint64_t by_registers = 65536 / (attributes.registers_per_thread * threads);
    *blocks = static_cast<int>(std::min({uint64_t{2048} / threads, by_registers, 233472 / shared_bytes, uint64_t{32}}));
    return CUDA_SUCCESS;
  });
}

// ------------------------------------------------------------------------------------------------ launches

GX_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                  unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                  unsigned int shared_bytes, CUstream stream, void** arguments, void** extra) {
  const cuLaunchKernel_params params{f,       grid_x,       grid_y, grid_z,    block_x, block_y,
                                     block_z, shared_bytes, stream, arguments, extra};
  return TracedLaunch(GX_CBID(cuLaunchKernel), "cuLaunchKernel", params, false);
}

GX_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                       unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                       unsigned int shared_bytes, CUstream stream, void** arguments, void** extra) {
  const cuLaunchKernel_ptsz_params params{f,       grid_x,       grid_y, grid_z,    block_x, block_y,
                                          block_z, shared_bytes, stream, arguments, extra};
  return TracedLaunch(GX_CBID(cuLaunchKernel_ptsz), "cuLaunchKernel_ptsz", params, true);
}

GX_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** arguments, void** extra) {
  const cuLaunchKernelEx_params params{config, f, arguments, extra};
  return TracedLaunchEx(GX_CBID(cuLaunchKernelEx), "cuLaunchKernelEx", params, false);
}

GX_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** arguments, void** extra) {
  const cuLaunchKernelEx_ptsz_params params{config, f, arguments, extra};
  return TracedLaunchEx(GX_CBID(cuLaunchKernelEx_ptsz), "cuLaunchKernelEx_ptsz", params, true);
}

GX_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int grid_x, unsigned int grid_y,
                                             unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                             unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                             void** arguments) {
  const cuLaunchCooperativeKernel_params params{f,       grid_x,  grid_y,       grid_z, block_x,
                                                block_y, block_z, shared_bytes, stream, arguments};
  return TracedLaunch(GX_CBID(cuLaunchCooperativeKernel), "cuLaunchCooperativeKernel", params, false, true);
}

GX_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int grid_x, unsigned int grid_y,
                                                  unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                                  unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                                  void** arguments) {
  const cuLaunchCooperativeKernel_ptsz_params params{f,       grid_x,  grid_y,       grid_z, block_x,
                                                     block_y, block_z, shared_bytes, stream, arguments};
  return TracedLaunch(GX_CBID(cuLaunchCooperativeKernel_ptsz), "cuLaunchCooperativeKernel_ptsz", params, true, true);
}

// -------------------------------------------------------------------------------------------------- graphs

GX_EXPORT CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  const cuGraphCreate_params params{graph, flags};
  return Traced(GX_CBID(cuGraphCreate), "cuGraphCreate", &params, nullptr,
                [&](uint32_t) { return Driver().CreateGraph(graph); });
}

GX_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  const cuGraphDestroy_params params{graph};
  return Traced(GX_CBID(cuGraphDestroy), "cuGraphDestroy", &params, nullptr,
                [&](uint32_t) { return Driver().DestroyGraph(graph); });
}

GX_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                           size_t dependency_count, const CUDA_KERNEL_NODE_PARAMS* node_params) {
  const cuGraphAddKernelNode_v2_params params{node, graph, dependencies, dependency_count, node_params};
  return Traced(GX_CBID(cuGraphAddKernelNode_v2), "cuGraphAddKernelNode_v2", &params, nullptr, [&](uint32_t) {
    return Driver().AddKernelNode(graph, node_params->func, ShapeOf(*node_params), node);
  });
}

GX_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  const cuGraphInstantiateWithFlags_params params{exec, graph, flags};
  return Traced(GX_CBID(cuGraphInstantiateWithFlags), "cuGraphInstantiateWithFlags", &params, nullptr,
                [&](uint32_t) { return Driver().Instantiate(graph, exec); });
}

GX_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const cuGraphExecDestroy_params params{exec};
  return Traced(GX_CBID(cuGraphExecDestroy), "cuGraphExecDestroy", &params, nullptr,
                [&](uint32_t) { return Driver().DestroyExec(exec); });
}

GX_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                     const CUDA_KERNEL_NODE_PARAMS* node_params) {
  const cuGraphExecKernelNodeSetParams_v2_params params{exec, node, node_params};
  return Traced(
      GX_CBID(cuGraphExecKernelNodeSetParams_v2), "cuGraphExecKernelNodeSetParams_v2", &params, nullptr,
      [&](uint32_t) { return Driver().SetExecNodeParams(exec, node, node_params->func, ShapeOf(*node_params)); });
}

GX_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const cuGraphLaunch_params params{exec, stream};
  return Traced(GX_CBID(cuGraphLaunch), "cuGraphLaunch", &params, nullptr, [&](uint32_t correlation_id) {
    return Driver().LaunchGraph("cuGraphLaunch", exec, stream, false, correlation_id);
  });
}

GX_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  const cuGraphLaunch_ptsz_params params{exec, stream};
  return Traced(GX_CBID(cuGraphLaunch_ptsz), "cuGraphLaunch_ptsz", &params, nullptr, [&](uint32_t correlation_id) {
    return Driver().LaunchGraph("cuGraphLaunch_ptsz", exec, stream, true, correlation_id);
  });
}

// -------------------------------------------------------------------------------------------------- memory

// Memory is an address that nobody may follow.
GX_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  const cuMemAlloc_v2_params params{pointer, bytes};
  return Traced(GX_CBID(cuMemAlloc_v2), "cuMemAlloc_v2", &params, nullptr,
                [&](uint32_t) { return TakeAddress(pointer, bytes); });
}

GX_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int flags) {
  const cuMemAllocManaged_params params{pointer, bytes, flags};
  return Traced(GX_CBID(cuMemAllocManaged), "cuMemAllocManaged", &params, nullptr,
                [&](uint32_t) { return TakeAddress(pointer, bytes); });
}

GX_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  const cuMemAllocAsync_params params{pointer, bytes, stream};
  return Traced(GX_CBID(cuMemAllocAsync), "cuMemAllocAsync", &params, nullptr,
                [&](uint32_t) { return TakeAddress(pointer, bytes); });
}

GX_EXPORT CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  const cuMemHostAlloc_params params{pointer, bytes, flags};
  return Traced(GX_CBID(cuMemHostAlloc), "cuMemHostAlloc", &params, nullptr, [&](uint32_t) {
    CUdeviceptr address = 0;
    const CUresult result = TakeAddress(&address, bytes);
    *pointer = reinterpret_cast<void*>(address);
    return result;
  });
}

GX_EXPORT CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
  const cuMemHostRegister_v2_params params{pointer, bytes, flags};
  return Traced(GX_CBID(cuMemHostRegister_v2), "cuMemHostRegister_v2", &params, nullptr,
                [](uint32_t) { return CUDA_SUCCESS; });
}

GX_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned int flags) {
  const cuIpcOpenMemHandle_v2_params params{pointer, handle, flags};
  return Traced(GX_CBID(cuIpcOpenMemHandle_v2), "cuIpcOpenMemHandle_v2", &params, nullptr,
                [&](uint32_t) { return TakeAddress(pointer, 1 << 20); });
}

GX_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc description, CUdevice device,
                                    unsigned int flags) {
  const cuGreenCtxCreate_params params{context, description, device, flags};
  return Traced(GX_CBID(cuGreenCtxCreate), "cuGreenCtxCreate", &params, nullptr, [&](uint32_t) {
    *context = reinterpret_cast<CUgreenCtx>(uintptr_t{0x6000});
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* properties) {
  const cuMulticastCreate_params params{handle, properties};
  return Traced(GX_CBID(cuMulticastCreate), "cuMulticastCreate", &params, nullptr,
                [&](uint32_t) { return TakeAddress(handle, 1); });
}

GX_EXPORT CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device) {
  const cuMulticastAddDevice_params params{handle, device};
  return Traced(GX_CBID(cuMulticastAddDevice), "cuMulticastAddDevice", &params, nullptr,
                [](uint32_t) { return CUDA_SUCCESS; });
}

GX_EXPORT CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                                      CUmemGenericAllocationHandle memory, size_t memory_offset, size_t bytes,
                                      unsigned long long flags) {
  const cuMulticastBindMem_params params{handle, offset, memory, memory_offset, bytes, flags};
  return Traced(GX_CBID(cuMulticastBindMem), "cuMulticastBindMem", &params, nullptr,
                [](uint32_t) { return CUDA_SUCCESS; });
}

GX_EXPORT CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  const cuMemGetInfo_v2_params params{free_bytes, total_bytes};
  return TracedAnywhere(GX_CBID(cuMemGetInfo_v2), "cuMemGetInfo_v2", &params, nullptr, [&](uint32_t) {
    if (Driver().Current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *total_bytes = size_t{140} << 30;
    *free_bytes = *total_bytes - (static_cast<size_t>(GetScenario().memory_used_mib) << 20);
    return CUDA_SUCCESS;
  });
}

GX_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t bytes) {
  const cuMemcpyHtoD_v2_params params{destination, source, bytes};
  return Traced(GX_CBID(cuMemcpyHtoD_v2), "cuMemcpyHtoD_v2", &params, nullptr, [&](uint32_t correlation_id) {
    return Driver().QueueTransfer(CopyWork(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                                           CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, bytes, correlation_id));
  });
}

GX_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream) {
  const cuMemcpyHtoDAsync_v2_params params{destination, source, bytes, stream};
  return Traced(GX_CBID(cuMemcpyHtoDAsync_v2), "cuMemcpyHtoDAsync_v2", &params, nullptr, [&](uint32_t correlation_id) {
    return Driver().QueueTransfer(CopyWork(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                                           CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, bytes, correlation_id),
                                  stream);
  });
}

GX_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  const cuMemcpyDtoHAsync_v2_params params{destination, source, bytes, stream};
  return Traced(GX_CBID(cuMemcpyDtoHAsync_v2), "cuMemcpyDtoHAsync_v2", &params, nullptr, [&](uint32_t correlation_id) {
    return Driver().QueueTransfer(CopyWork(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                           CUPTI_ACTIVITY_MEMORY_KIND_PINNED, bytes, correlation_id),
                                  stream);
  });
}

GX_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  const cuMemcpyDtoDAsync_v2_params params{destination, source, bytes, stream};
  return Traced(GX_CBID(cuMemcpyDtoDAsync_v2), "cuMemcpyDtoDAsync_v2", &params, nullptr, [&](uint32_t correlation_id) {
    return Driver().QueueTransfer(CopyWork(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                           CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, bytes, correlation_id),
                                  stream);
  });
}

GX_EXPORT CUresult cuMemcpyPeer(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                                CUcontext source_context, size_t bytes) {
  const cuMemcpyPeer_params params{destination, destination_context, source, source_context, bytes};
  return Traced(GX_CBID(cuMemcpyPeer), "cuMemcpyPeer", &params, nullptr, [&](uint32_t correlation_id) {
    Work work = CopyWork(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                         CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, bytes, correlation_id);
    work.kind = WorkKind::kMemcpyPeer;
    if (!Driver().ContextDevice(source_context, &work.source_device_id) ||
        !Driver().ContextDevice(destination_context, &work.destination_device_id)) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    return Driver().QueueTransfer(work);
  });
}

GX_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr destination, unsigned char value, size_t bytes) {
  const cuMemsetD8_v2_params params{destination, value, bytes};
  return Traced(GX_CBID(cuMemsetD8_v2), "cuMemsetD8_v2", &params, nullptr, [&](uint32_t correlation_id) {
    return Driver().QueueTransfer(FillWork(value, bytes, correlation_id));
  });
}

GX_EXPORT CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t bytes, CUstream stream) {
  const cuMemsetD8Async_params params{destination, value, bytes, stream};
  return Traced(GX_CBID(cuMemsetD8Async), "cuMemsetD8Async", &params, nullptr, [&](uint32_t correlation_id) {
    return Driver().QueueTransfer(FillWork(value, bytes, correlation_id), stream);
  });
}

// --------------------------------------------------------------------------------------------------- the rest

GX_EXPORT CUresult cuProfilerStart() {
  return Traced<void>(GX_CBID(cuProfilerStart), "cuProfilerStart", nullptr, nullptr,
                      [](uint32_t) { return CUDA_SUCCESS; });
}

GX_EXPORT CUresult cuProfilerStop() {
  return Traced<void>(GX_CBID(cuProfilerStop), "cuProfilerStop", nullptr, nullptr,
                      [](uint32_t) { return CUDA_SUCCESS; });
}

// As the CUDA runtime asks: the plain name, and the newest version of the function is given.
GX_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t flags,
                                       CUdriverProcAddressQueryResult* status) {
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *function = nullptr;
  for (const char* version : {"_v4", "_v3", "_v2", ""}) {
    const std::string name = std::string(symbol) + version;
    static void* const self = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
    if (per_thread) *function = dlsym(self, (name + "_ptsz").c_str());
    if (*function == nullptr) *function = dlsym(self, name.c_str());
    if (*function != nullptr) break;
  }
  if (status != nullptr) {
    *status = *function == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

GX_EXPORT CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}
