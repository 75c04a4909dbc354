// The CUPTI functions that the library calls, as a table filled at run time: the library links no libcupti.
//
// Where libcupti is looked for, in this order; the first that loads is used:
//   1. GPUEXEC_CUPTI, and nothing else where it is set
//   2. a libcupti that the process has mapped already (PyTorch and Triton bring their own): state is per copy, and a
//      second copy would neither see the first one's subscriber nor be seen by it
//   3. libcupti.so.13 by name (LD_LIBRARY_PATH, the loader's cache)
//   4. next to the mapped libcudart: its folder, ../cuda_cupti/lib (CUDA 12 wheels), ../extras/CUPTI/lib64
//   5. $CUDA_HOME and $CUDA_PATH: lib64, extras/CUPTI/lib64; then the same under /usr/local/cuda
//   6. libcupti.so.12 by name
#ifndef GPUEXEC_INJECT_CUPTI_API_H_
#define GPUEXEC_INJECT_CUPTI_API_H_

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <string>
#include <vector>

#include "inject/dynamic_library.h"

// Needed for tracing at all.
#define GX_CUPTI_REQUIRED(X)           \
  X(cuptiGetVersion)                   \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)                  \
  X(cuptiEnableCallback)               \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiActivityEnable)               \
  X(cuptiActivityDisable)              \
  X(cuptiActivityFlushAll)             \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiGetTimestamp)                 \
  X(cuptiGetStreamIdEx)                \
  X(cuptiGetDeviceId)                  \
  X(cuptiGetContextId)
// Used where present.
#define GX_CUPTI_OPTIONAL(X) \
  X(cuptiSubscribe_v2)       \
  X(cuptiGetResultString)    \
  X(cuptiSetThreadIdType)    \
  X(cuptiGetCallbackName)    \
  X(cuptiGetGraphId)         \
  X(cuptiGetGraphNodeId)     \
  X(cuptiGetGraphExecId)

namespace gx::inject {

struct CuptiApi {
#define GX_DECLARE(name) decltype(&::name) name = nullptr;
  GX_CUPTI_REQUIRED(GX_DECLARE)
  GX_CUPTI_OPTIONAL(GX_DECLARE)
#undef GX_DECLARE

  uint32_t version = 0;  // cuptiGetVersion
  std::string path;
};

// Candidates in the order above; pure but for the list of mapped libraries and the environment it is given.
std::vector<LibraryCandidate> CuptiCandidates(const std::string& configured,
                                              const std::vector<std::string>& mapped_cupti,
                                              const std::vector<std::string>& mapped_cudart,
                                              const std::string& cuda_home, const std::string& cuda_path);

// Fills `api`. False: no usable libcupti; `problems` then says what was tried and why each was refused. Where it is
// true, `problems` may still name a second copy in the process.
[[nodiscard]] bool LoadCupti(const std::string& configured, CuptiApi* api, std::vector<std::string>* problems);

// True for CUPTI 12.8 (26) to 13.x. Pure.
bool SupportedCuptiVersion(uint32_t version);

// "13.0.1" for 130001, "12.8" for 26 (before 13.0 the number counts releases: 26 is 12.8, 27 is 12.9). Pure.
std::string CuptiVersionText(uint32_t version);

// N of the CUpti_ActivityKernelN that records of this version have; the newest known for later ones. Pure.
uint32_t KernelRecordVersion(uint32_t cupti_version);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CUPTI_API_H_
