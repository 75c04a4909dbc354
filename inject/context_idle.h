// Asks whether a context is idle: every stream that is known of it, those that were destroyed with work in them, and
// its default streams. Calls CUDA: only inside an entered CaptureGate, and where the answer must hold, with launches
// held.
#ifndef GPUEXEC_INJECT_CONTEXT_IDLE_H_
#define GPUEXEC_INJECT_CONTEXT_IDLE_H_

#include "inject/cuda_api.h"
#include "inject/sampling_wait.h"
#include "inject/stream_table.h"

namespace gx::inject {

// The context is current on the calling thread; `thread` is that thread's id if it is the program's, else 0. kError: a
// stream reports an error (it may have been destroyed, or the context is lost), the driver lacks cuStreamQuery, or
// StreamTable has a doubt about the context, which callers look at first (DoubtOf). Asks streams until the first that
// is busy.
Readiness AskContext(const CudaApi& cuda, const StreamTable& streams, CUcontext context, uint64_t thread) noexcept;
// One stream: whether what was launched in it is done.
Readiness AskStream(const CudaApi& cuda, CUstream stream) noexcept;
// Before a stream of the context is destroyed, which the driver does while it still works: makes sure that AskContext
// goes on knowing of that work, by an event behind it, or raises a doubt (kLeftBusy).
void LetStreamGo(const CudaApi& cuda, StreamTable* streams, const void* context, CUstream stream) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CONTEXT_IDLE_H_
