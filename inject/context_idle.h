// Asks whether a context is idle: every stream that is known of it, those that were destroyed with work in them, and
// its default streams. Calls CUDA: only inside an entered CaptureGate, and where the answer must hold, with launches
// held.
#ifndef GPUEXEC_INJECT_CONTEXT_IDLE_H_
#define GPUEXEC_INJECT_CONTEXT_IDLE_H_

#include "inject/cuda_api.h"
#include "inject/sampling_wait.h"
#include "inject/stream_table.h"

namespace gx::inject {

// Whether AskContext can know it. A driver with cuCtxRecordEvent (CUDA 12.9) always can, given an event; otherwise not
// where StreamTable has a doubt. `thread`: the asking thread's id if it is the program's, else 0.
bool IdleIsKnown(const CudaApi& cuda, const StreamTable& streams, const void* context, uint64_t thread,
                 bool has_event) noexcept;

// The context is current on the calling thread. `event`: of the context, used by one thread at a time, for this alone;
// null: none. With it the whole context is asked at once: streams that other threads have for themselves, destroyed
// ones and green contexts included, at 3 us where it is idle, without making any stream wait (measured on an H200,
// driver 580). Otherwise every stream that is known is asked until the first that is busy. kError: the driver reports
// an error, lacks the functions, or there is a doubt.
Readiness AskContext(const CudaApi& cuda, const StreamTable& streams, CUcontext context, uint64_t thread,
                     CUevent event = nullptr) noexcept;
// One stream: whether what was launched in it is done.
Readiness AskStream(const CudaApi& cuda, CUstream stream) noexcept;
// Before a stream of the context is destroyed, which the driver does while it still works: makes sure that AskContext
// goes on knowing of that work, by an event behind it, or raises a doubt (kLeftBusy).
void LetStreamGo(const CudaApi& cuda, StreamTable* streams, const void* context, CUstream stream) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CONTEXT_IDLE_H_
