// The few driver functions that the library calls itself: taken from the libcuda that the process has loaded already
// (it is what called us). Used by the prober thread, at exit by the flusher thread, and, where counters are sampled,
// around the sampled launch and the end of a stream, inside an entered CaptureGate.
#ifndef GPUEXEC_INJECT_CUDA_API_H_
#define GPUEXEC_INJECT_CUDA_API_H_

#include <cuda.h>

#include <string>
#include <vector>

#define GX_CUDA_FUNCTIONS(X)                     \
  X(cuDriverGetVersion)                          \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetUuid_v2)                          \
  X(cuDeviceGetPCIBusId)                         \
  X(cuDeviceTotalMem_v2)                         \
  X(cuDeviceGetAttribute)                        \
  X(cuFuncGetAttribute)                          \
  X(cuFuncGetName)                               \
  X(cuKernelGetFunction)                         \
  X(cuKernelGetName)                             \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuCtxPushCurrent_v2)                         \
  X(cuCtxPopCurrent_v2)                          \
  X(cuCtxGetCurrent)                             \
  X(cuCtxSynchronize)                            \
  X(cuStreamQuery)                               \
  X(cuMemGetInfo_v2)                             \
  X(cuEventCreate)                               \
  X(cuEventRecord)                               \
  X(cuEventQuery)                                \
  X(cuEventDestroy_v2)                           \
  X(cuCtxRecordEvent)

namespace gx::inject {

// A function that the driver does not have stays null; callers look.
struct CudaApi {
#define GX_DECLARE(name) decltype(&::name) name = nullptr;
  GX_CUDA_FUNCTIONS(GX_DECLARE)
#undef GX_DECLARE
  std::string path;
};

// False: no libcuda.so.1 in the process.
[[nodiscard]] bool LoadCuda(CudaApi* api, std::vector<std::string>* problems);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CUDA_API_H_
