// A count that knows whether it still fits into 63 bits, so that a formula of many products and sums is written as on
// paper and checked once at its end. Nothing allocates unless it does not fit. Any thread.
//
//   return (CheckedCount(2) * m * n * k).Value("gemm_flops");
#ifndef GPUEXEC_ANALYSIS_MODEL_CHECKED_COUNT_H_
#define GPUEXEC_ANALYSIS_MODEL_CHECKED_COUNT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gx::model {

class CheckedCount {
 public:
  constexpr CheckedCount(int64_t value) noexcept  // NOLINT(google-explicit-constructor): counts mix with plain numbers
      : value_(value), estimate_(static_cast<double>(value)) {}

  friend constexpr CheckedCount operator*(CheckedCount a, CheckedCount b) noexcept {
    CheckedCount result(0);
    result.fits_ = !__builtin_mul_overflow(a.value_, b.value_, &result.value_) && a.fits_ && b.fits_;
    result.estimate_ = a.estimate_ * b.estimate_;
    return result;
  }
  friend constexpr CheckedCount operator+(CheckedCount a, CheckedCount b) noexcept {
    CheckedCount result(0);
    result.fits_ = !__builtin_add_overflow(a.value_, b.value_, &result.value_) && a.fits_ && b.fits_;
    result.estimate_ = a.estimate_ + b.estimate_;
    return result;
  }
  friend constexpr CheckedCount operator-(CheckedCount a, CheckedCount b) noexcept {
    CheckedCount result(0);
    result.fits_ = !__builtin_sub_overflow(a.value_, b.value_, &result.value_) && a.fits_ && b.fits_;
    result.estimate_ = a.estimate_ - b.estimate_;
    return result;
  }

  constexpr bool fits() const noexcept { return fits_; }
  // The value, or "gemm_flops: about 1.84467e+19, expected -9223372036854775808 to 9223372036854775807" (OutOfRange)
  // where a step of the formula did not fit.
  [[nodiscard]] absl::StatusOr<int64_t> Value(absl::string_view quantity) const {
    if (fits_) return value_;
    return DoesNotFit(quantity);
  }

 private:
  absl::Status DoesNotFit(absl::string_view quantity) const;

  int64_t value_;
  double estimate_;  // of the exact value, for the message
  bool fits_ = true;
};

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_CHECKED_COUNT_H_
