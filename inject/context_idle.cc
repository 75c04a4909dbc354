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

Readiness AskContext(const CudaApi& cuda, const StreamTable& streams, CUcontext context, uint64_t thread) noexcept {
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
  return readiness;
}

}  // namespace gx::inject
