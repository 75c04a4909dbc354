#include "inject/context_idle.h"

namespace gx::inject {

Readiness AskStream(const CudaApi& cuda, CUstream stream) noexcept {
  if (cuda.cuStreamQuery == nullptr) return Readiness::kError;
  switch (cuda.cuStreamQuery(stream)) {
    case CUDA_SUCCESS:
      return Readiness::kReady;
    case CUDA_ERROR_NOT_READY:
      return Readiness::kNotReady;
    default:
      return Readiness::kError;
  }
}

namespace {

// An event behind an idle context is done within 3 us (H200): asked so often, a question takes some 0.3 us.
constexpr int kEventQuestions = 24;

// False: the driver refused, or there is no room.
bool LeaveEvent(const CudaApi& cuda, StreamTable* streams, const void* context, CUstream stream) noexcept {
  if (cuda.cuEventCreate == nullptr || cuda.cuEventRecord == nullptr || cuda.cuEventQuery == nullptr ||
      cuda.cuEventDestroy_v2 == nullptr) {
    return false;
  }
  CUevent event = nullptr;
  if (cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
  if (cuda.cuEventRecord(event, stream) == CUDA_SUCCESS && streams->KeepEvent(context, event)) return true;
  (void)cuda.cuEventDestroy_v2(event);
  return false;
}

}  // namespace

void LetStreamGo(const CudaApi& cuda, StreamTable* streams, const void* context, CUstream stream) noexcept {
  // The context's own event covers it.
  if (cuda.cuCtxRecordEvent != nullptr) return;
  const Readiness readiness = AskStream(cuda, stream);
  if (readiness == Readiness::kReady) return;
  if (readiness == Readiness::kNotReady && LeaveEvent(cuda, streams, context, stream)) return;
  streams->NoteLeftBusy(context);
}

bool IdleIsKnown(const CudaApi& cuda, const StreamTable& streams, const void* context, uint64_t thread,
                 bool has_event) noexcept {
  return (has_event && cuda.cuCtxRecordEvent != nullptr) || streams.DoubtOf(context, thread) == IdleDoubt::kNone;
}

Readiness AskContext(const CudaApi& cuda, const StreamTable& streams, CUcontext context, uint64_t thread,
                     CUevent event) noexcept {
  if (event != nullptr && cuda.cuCtxRecordEvent != nullptr && cuda.cuEventQuery != nullptr) {
    if (cuda.cuCtxRecordEvent(context, event) != CUDA_SUCCESS) return Readiness::kError;
    for (int question = 0; question < kEventQuestions; ++question) {
      const CUresult result = cuda.cuEventQuery(event);
      if (result == CUDA_SUCCESS) return Readiness::kReady;
      if (result != CUDA_ERROR_NOT_READY) return Readiness::kError;
    }
    return Readiness::kNotReady;
  }
  if (streams.DoubtOf(context, thread) != IdleDoubt::kNone) return Readiness::kError;
  Readiness readiness = AskStream(cuda, CU_STREAM_LEGACY);
  // Not where it is not used: asking might make it.
  if (readiness == Readiness::kReady && streams.UsesPerThread(context, thread)) {
    readiness = AskStream(cuda, CU_STREAM_PER_THREAD);
  }
  if (readiness != Readiness::kReady) return readiness;
  streams.ForEach(context, [&](void* stream) {
    readiness = AskStream(cuda, static_cast<CUstream>(stream));
    return readiness == Readiness::kReady;
  });
  if (readiness != Readiness::kReady) return readiness;
  const bool done = streams.EventsDone(context, [&](void* pointer) {
    const auto left = static_cast<CUevent>(pointer);
    const CUresult result = cuda.cuEventQuery(left);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) readiness = Readiness::kError;
    return result == CUDA_SUCCESS && cuda.cuEventDestroy_v2(left) == CUDA_SUCCESS;
  });
  return done || readiness != Readiness::kReady ? readiness : Readiness::kNotReady;
}

}  // namespace gx::inject
