// Width of one element of a tensor. Types below a byte are no elements here: count packed pairs as one. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_ELEMENT_H_
#define GPUEXEC_ANALYSIS_MODEL_ELEMENT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "analysis/model/check.h"

namespace gx::model {

// Double-precision complex numbers, the widest that CUDA's libraries multiply (cuComplex.h, cuDoubleComplex).
inline constexpr int64_t kMaxElementBytes = 16;

[[nodiscard]] inline absl::Status CheckElementBytes(absl::string_view field, int64_t bytes) {
  return CheckRange(field, bytes, 1, kMaxElementBytes);
}

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_ELEMENT_H_
