// What a followed driver call returned, and what that means for a stream capture. Pure.
#ifndef GPUEXEC_INJECT_CALL_RESULT_H_
#define GPUEXEC_INJECT_CALL_RESULT_H_

#include "inject/cupti_api.h"

namespace gx::inject {

// At the exit of a driver call. CUDA_SUCCESS where CUPTI gives none.
inline CUresult ResultOf(const CUpti_CallbackData& data) noexcept {
  if (data.functionReturnValue == nullptr) return CUDA_SUCCESS;
  return *static_cast<const CUresult*>(data.functionReturnValue);
}

// What cuStreamEndCapture returns where it ended none: a capture of another stream may still be open. Any other error
// ends an invalidated capture.
constexpr bool CaptureHasEnded(CUresult result) noexcept {
  return result != CUDA_ERROR_ILLEGAL_STATE && result != CUDA_ERROR_INVALID_VALUE &&
         result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CALL_RESULT_H_
