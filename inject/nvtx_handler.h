// NVTX calls of the program -> events in the calling thread's queue. Our own handler behind NVTX's injection interface
// rather than CUPTI's marker activities: it does not depend on the CUPTI version (13.0 crashes when NVTX is called
// first, NVIDIA/NVTX#125; NVTX 3.2 headers give CUPTI no ranges), and it keeps a thread's ranges and launches in one
// order.
//
// NVTX's headers are compiled into each library of the program; each copy asks for a handler at its first call, through
// NVTX_INJECTION64_PATH. Domains and registered strings are never freed while the process lives: other copies may hold
// their handles.
#ifndef GPUEXEC_INJECT_NVTX_HANDLER_H_
#define GPUEXEC_INJECT_NVTX_HANDLER_H_

#include <cstdint>
#include <string_view>

#include "inject/thread_queue.h"

namespace gx::inject {

// Installs the handler into one copy of NVTX; `get_export_table` is what NVTX gave us. False: not a version we know.
bool InstallNvtxHandler(const void* (*get_export_table)(uint32_t), ThreadQueues* queues) noexcept;

// The domain of an index that an NvtxEvent carries; 1 is the default domain (empty name).
std::string_view NvtxDomainName(uint32_t domain_index) noexcept;

// Forked child, or the end: events are no longer queued.
void SetNvtxEnabled(bool enabled) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_NVTX_HANDLER_H_
