#include "analysis/model/check.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace gx::model {
namespace {

absl::Status BadDouble(absl::string_view field, double value, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": got ", value, ", expected ", expected));
}

absl::Status TooLarge(absl::string_view quantity, int64_t a, absl::string_view operation, int64_t b) {
  return absl::OutOfRangeError(
      absl::StrCat(quantity, ": ", a, operation, b, " is beyond ", std::numeric_limits<int64_t>::max()));
}

}  // namespace

absl::Status CheckRange(absl::string_view field, int64_t value, int64_t min, int64_t max, absl::string_view why) {
  if (value >= min && value <= max) return absl::OkStatus();
  std::string message = absl::StrCat(field, ": got ", value, ", expected ", min);
  if (max == std::numeric_limits<int64_t>::max()) {
    absl::StrAppend(&message, " or more");
  } else if (max != min) {
    absl::StrAppend(&message, " to ", max);
  }
  if (!why.empty()) absl::StrAppend(&message, " (", why, ")");
  return absl::InvalidArgumentError(message);
}

absl::Status CheckPositive(absl::string_view field, int64_t value) {
  return CheckRange(field, value, 1, std::numeric_limits<int64_t>::max());
}

absl::Status CheckNotNegative(absl::string_view field, int64_t value) {
  return CheckRange(field, value, 0, std::numeric_limits<int64_t>::max());
}

absl::Status CheckPositive(absl::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return BadDouble(field, value, "a finite number above 0");
}

absl::Status CheckNotNegative(absl::string_view field, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return BadDouble(field, value, "a finite number, 0 or above");
}

absl::StatusOr<int64_t> CheckedProduct(absl::string_view quantity, int64_t a, int64_t b) {
  int64_t result = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &result)) return TooLarge(quantity, a, " x ", b);
  return result;
}

absl::StatusOr<int64_t> CheckedSum(absl::string_view quantity, int64_t a, int64_t b) {
  int64_t result = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &result)) return TooLarge(quantity, a, " + ", b);
  return result;
}

}  // namespace gx::model
