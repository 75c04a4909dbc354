// The library in one process: owns every part, starts them, ends them in order. One object, in static storage, never
// destroyed: callbacks and threads may still touch it while the process ends.
#ifndef GPUEXEC_INJECT_SESSION_H_
#define GPUEXEC_INJECT_SESSION_H_

#include <cstdint>

namespace gx::inject {

// InitializeInjection's body: reads the configuration, subscribes, starts the threads. Whatever goes wrong, the program
// goes on; where nothing can be recorded a trace is written that holds the reason.
void StartSession();

// InitializeInjectionNvtx2's body. `get_export_table` is NVTX's. False: NVTX keeps its empty functions.
bool StartNvtx(const void* (*get_export_table)(uint32_t));

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SESSION_H_
