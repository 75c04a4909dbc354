// Width of one element of a tensor. Matrix products and their tiles take it in bits, so that FP4 or INT4 weights beside
// 16-bit activations can be said: elements lie one after another without gaps, and what they take together is rounded
// up to whole bytes. Scale factors of such formats are tensors of their own and not in these bytes.
//
// Addresses, pointwise maps and fusion take whole bytes: there a packed pair of 4-bit elements is one element, with
// twice the operations. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_ELEMENT_H_
#define GPUEXEC_ANALYSIS_MODEL_ELEMENT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"

namespace gx::model {

// Double-precision complex numbers, the widest that CUDA's libraries multiply (cuComplex.h, cuDoubleComplex).
inline constexpr int64_t kMaxElementBytes = 16;
inline constexpr int64_t kBitsPerByte = 8;
inline constexpr int64_t kMaxElementBits = kMaxElementBytes * kBitsPerByte;

[[nodiscard]] inline absl::Status CheckElementBytes(absl::string_view field, int64_t bytes) {
  return CheckRange(field, bytes, 1, kMaxElementBytes);
}
// Down to 1: binary matrices (mma .b1, PTX ISA).
[[nodiscard]] inline absl::Status CheckElementBits(absl::string_view field, int64_t bits) {
  return CheckRange(field, bits, 1, kMaxElementBits);
}

// Bits of an element that is known in bytes, 1 to 16; `field` names them in the refusal.
[[nodiscard]] inline absl::StatusOr<int64_t> ElementBits(absl::string_view field, int64_t bytes) {
  if (absl::Status status = CheckElementBytes(field, bytes); !status.ok()) return status;
  return bytes * kBitsPerByte;
}

// Whole bytes that `element_count` (0 or above) packed elements take. No step is larger than the result.
[[nodiscard]] constexpr CheckedCount PackedBytes(int64_t element_count, int64_t element_bits) noexcept {
  return CheckedCount(element_count / kBitsPerByte) * element_bits +
         CeilDivide(element_count % kBitsPerByte * element_bits, kBitsPerByte);
}

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_ELEMENT_H_
