#include "analysis/model/ladder_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {

absl::StatusOr<absl::InlinedVector<int64_t, kTermCount>> RoundParts(absl::Span<const double> parts) {
  constexpr double kMaxSum = 9007199254740992;  // 2^53
  double sum = 0;
  for (const double part : parts) {
    if (absl::Status status = CheckNotNegative("part", part); !status.ok()) return status;
    sum += part;
  }
  if (!(sum < kMaxSum)) {
    return absl::OutOfRangeError(absl::StrCat("sum of parts: got ", sum, ", expected below 2^53"));
  }
  absl::InlinedVector<int64_t, kTermCount> whole;
  absl::InlinedVector<size_t, kTermCount> by_remainder;
  int64_t missing = std::llround(sum);
  for (size_t i = 0; i < parts.size(); ++i) {
    whole.push_back(static_cast<int64_t>(parts[i]));
    missing -= whole.back();
    by_remainder.push_back(i);
  }
  const auto remainder = [&](size_t i) { return parts[i] - static_cast<double>(whole[i]); };
  // Of equal remainders the first: the same terms always print the same. (std::stable_sort would allocate.)
  std::sort(by_remainder.begin(), by_remainder.end(),
            [&](size_t a, size_t b) { return remainder(a) != remainder(b) ? remainder(a) > remainder(b) : a < b; });
  for (size_t i = 0; i < by_remainder.size() && missing > 0; ++i) {
    // Nothing is left to round up: the sum itself was rounded.
    if (parts[by_remainder[i]] == 0) break;
    ++whole[by_remainder[i]];
    --missing;
  }
  return whole;
}

}  // namespace gx::model
