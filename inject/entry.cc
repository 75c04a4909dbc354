// The library's two exported functions; nothing else is visible outside it.
#include <cstdint>

#include "inject/boundary.h"
#include "inject/session.h"

#define GPUEXEC_EXPORT __attribute__((visibility("default")))

extern "C" {

// Called by libcuda during cuInit for the library that CUDA_INJECTION64_PATH names. 1: initialised. Also returned where
// nothing is recorded: the program is not to notice.
GPUEXEC_EXPORT int InitializeInjection(void) {
  gx::inject::Guarded([] { gx::inject::StartSession(); });
  return 1;
}

// Called by each copy of NVTX for the library that NVTX_INJECTION64_PATH names. 0: NVTX keeps its empty functions.
GPUEXEC_EXPORT int InitializeInjectionNvtx2(const void* (*get_export_table)(uint32_t)) {
  bool installed = false;
  gx::inject::Guarded([&] { installed = gx::inject::StartNvtx(get_export_table); });
  return installed ? 1 : 0;
}

}  // extern "C"
