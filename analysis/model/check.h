// Refusals of the model's functions: every one names the field, the value and the limit, so that a caller can print it
// as it stands. Nothing allocates where nothing is wrong. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_CHECK_H_
#define GPUEXEC_ANALYSIS_MODEL_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gx::model {

// "registers_per_thread: got 300, expected 0 to 255". `why`, where given, follows in brackets. Both bounds inclusive.
[[nodiscard]] absl::Status CheckRange(absl::string_view field, int64_t value, int64_t min, int64_t max,
                                      absl::string_view why = {});
// 1 to 2^63 - 1.
[[nodiscard]] absl::Status CheckPositive(absl::string_view field, int64_t value);
// 0 to 2^63 - 1.
[[nodiscard]] absl::Status CheckNotNegative(absl::string_view field, int64_t value);
// Finite and above 0; finite and 0 or above.
[[nodiscard]] absl::Status CheckPositive(absl::string_view field, double value);
[[nodiscard]] absl::Status CheckNotNegative(absl::string_view field, double value);

// a * b and a + b; an error that names the quantity and both values where the result does not fit into 63 bits. Neither
// operand may be negative.
[[nodiscard]] absl::StatusOr<int64_t> CheckedProduct(absl::string_view quantity, int64_t a, int64_t b);
[[nodiscard]] absl::StatusOr<int64_t> CheckedSum(absl::string_view quantity, int64_t a, int64_t b);

// Rounds up: a >= 0, b > 0. Never overflows.
constexpr int64_t CeilDivide(int64_t a, int64_t b) noexcept { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_CHECK_H_
