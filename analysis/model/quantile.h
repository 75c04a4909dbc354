// Order statistics: the one place where a quantile is defined. Linear interpolation between order statistics, type 7 of
// Hyndman and Fan, "Sample Quantiles in Statistical Packages" (The American Statistician 50, 1996), the default of
// NumPy and R: the quantile at ratio p of n sorted values is at position p (n - 1), counted from 0. Any thread.
#ifndef GPUEXEC_ANALYSIS_MODEL_QUANTILE_H_
#define GPUEXEC_ANALYSIS_MODEL_QUANTILE_H_

#include <cmath>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace gx::model {

// `value_at(position)` gives the value at a whole position 0 to count - 1 of the sorted sequence. Absent where there is
// no value or the ratio is not 0 to 1.
template <typename ValueAt>
std::optional<double> QuantileOf(uint64_t count, double ratio, const ValueAt& value_at) {
  if (count == 0 || !(ratio >= 0 && ratio <= 1)) return std::nullopt;
  const double position = ratio * static_cast<double>(count - 1);
  const double below = std::floor(position);
  const double low = value_at(below);
  const double part = position - below;
  return part == 0 ? low : low + part * (value_at(below + 1) - low);
}

// Of values in ascending order; absent as above.
std::optional<double> SortedQuantile(absl::Span<const double> sorted, double ratio);

struct SampleSummary {
  double min = 0;
  double max = 0;
  double median = 0;
  // Median of the absolute deviations from the median, not scaled to a normal distribution.
  double median_absolute_deviation = 0;
  // 75th percentile less 25th.
  double interquartile_range = 0;
  double p95 = 0;
};

// Of finite values in any order. Absent: there are none.
std::optional<SampleSummary> SummariseSamples(absl::Span<const double> samples);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_QUANTILE_H_
