// The driver as the host program sees it: loaded and resolved the way the CUDA runtime does it (dlopen with local
// scope, then cuGetProcAddress), so that nothing of libcuda is visible to an injected library by accident.
#ifndef GPUEXEC_TESTS_FAKES_HOST_DRIVER_H_
#define GPUEXEC_TESTS_FAKES_HOST_DRIVER_H_

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

#define GX_HOST_FUNCTIONS(X)           \
  X(cuInit)                            \
  X(cuDeviceGetCount)                  \
  X(cuCtxCreate_v4)                    \
  X(cuCtxDestroy_v2)                   \
  X(cuDevicePrimaryCtxRetain)          \
  X(cuDevicePrimaryCtxRelease_v2)      \
  X(cuDevicePrimaryCtxReset_v2)        \
  X(cuCtxEnablePeerAccess)             \
  X(cuCtxSetCurrent)                   \
  X(cuCtxSynchronize)                  \
  X(cuStreamCreate)                    \
  X(cuStreamDestroy_v2)                \
  X(cuStreamSynchronize)               \
  X(cuStreamQuery)                     \
  X(cuStreamWaitValue32_v2)            \
  X(cuLaunchHostFunc)                  \
  X(cuEventCreate)                     \
  X(cuEventRecord)                     \
  X(cuEventQuery)                      \
  X(cuEventDestroy_v2)                 \
  X(cuStreamBeginCapture_v2)           \
  X(cuStreamEndCapture)                \
  X(cuModuleLoadData)                  \
  X(cuModuleUnload)                    \
  X(cuModuleGetFunction)               \
  X(cuLibraryLoadData)                 \
  X(cuLibraryUnload)                   \
  X(cuLibraryGetKernel)                \
  X(cuLaunchKernel)                    \
  X(cuLaunchKernelEx)                  \
  X(cuLaunchCooperativeKernel)         \
  X(cuGraphCreate)                     \
  X(cuGraphDestroy)                    \
  X(cuGraphAddKernelNode_v2)           \
  X(cuGraphInstantiateWithFlags)       \
  X(cuGraphExecDestroy)                \
  X(cuGraphExecKernelNodeSetParams_v2) \
  X(cuGraphLaunch)                     \
  X(cuModuleLoadDataEx)                \
  X(cuMemAlloc_v2)                     \
  X(cuMemAllocManaged)                 \
  X(cuMemAllocAsync)                   \
  X(cuMemHostAlloc)                    \
  X(cuMemHostRegister_v2)              \
  X(cuMemGetInfo_v2)                   \
  X(cuIpcOpenMemHandle_v2)             \
  X(cuGreenCtxCreate)                  \
  X(cuMulticastCreate)                 \
  X(cuMulticastAddDevice)              \
  X(cuMulticastBindMem)                \
  X(cuMemcpyHtoDAsync_v2)              \
  X(cuMemcpyDtoHAsync_v2)              \
  X(cuMemcpyDtoDAsync_v2)              \
  X(cuMemsetD8Async)                   \
  X(cuMemcpyHtoD_v2)                   \
  X(cuMemcpyPeer)                      \
  X(cuMemsetD8_v2)

namespace gx::fakes {

struct HostDriver {
#define GX_DECLARE(name) decltype(&::name) name = nullptr;
  GX_HOST_FUNCTIONS(GX_DECLARE)
#undef GX_DECLARE
  // Declared in cudaProfiler.h, which is not part of every toolkit.
  CUresult (*cuProfilerStart)() = nullptr;
  CUresult (*cuProfilerStop)() = nullptr;
  // The variants of a program built with per-thread default streams.
  decltype(&::cuLaunchKernel) cuLaunchKernel_ptsz = nullptr;
  decltype(&::cuLaunchKernelEx) cuLaunchKernelEx_ptsz = nullptr;
  decltype(&::cuLaunchCooperativeKernel) cuLaunchCooperativeKernel_ptsz = nullptr;
  decltype(&::cuGraphLaunch) cuGraphLaunch_ptsz = nullptr;
};

// Ends the process where the driver or a function is not there.
inline const HostDriver& Cuda() {
  static const HostDriver* const driver = [] {
    auto* table = new HostDriver();
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto find = library == nullptr
                          ? nullptr
                          : reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
    if (find == nullptr) {
      std::fprintf(stderr, "no driver: %s\n", dlerror());
      std::_Exit(98);
    }
    const auto get = [find](const char* name, cuuint64_t flags, auto* target) {
      void* function = nullptr;
      if (find(name, &function, 13000, flags, nullptr) != CUDA_SUCCESS) {
        std::fprintf(stderr, "the driver has no %s\n", name);
        std::_Exit(98);
      }
      *target = reinterpret_cast<std::remove_pointer_t<decltype(target)>>(function);
    };
#define GX_GET(name) get(#name, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &table->name);
    GX_HOST_FUNCTIONS(GX_GET)
#undef GX_GET
    get("cuProfilerStart", CU_GET_PROC_ADDRESS_LEGACY_STREAM, &table->cuProfilerStart);
    get("cuProfilerStop", CU_GET_PROC_ADDRESS_LEGACY_STREAM, &table->cuProfilerStop);
    get("cuLaunchKernel", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &table->cuLaunchKernel_ptsz);
    get("cuLaunchKernelEx", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &table->cuLaunchKernelEx_ptsz);
    get("cuLaunchCooperativeKernel", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
        &table->cuLaunchCooperativeKernel_ptsz);
    get("cuGraphLaunch", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &table->cuGraphLaunch_ptsz);
    return table;
  }();
  return *driver;
}

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_HOST_DRIVER_H_
