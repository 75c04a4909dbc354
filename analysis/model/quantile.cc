#include "analysis/model/quantile.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gx::model {

std::optional<double> SortedQuantile(absl::Span<const double> sorted, double ratio) {
  return QuantileOf(sorted.size(), ratio, [sorted](double position) { return sorted[static_cast<size_t>(position)]; });
}

std::optional<SampleSummary> SummariseSamples(absl::Span<const double> samples) {
  if (samples.empty()) return std::nullopt;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  SampleSummary summary;
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.median = *SortedQuantile(sorted, 0.5);
  summary.interquartile_range = *SortedQuantile(sorted, 0.75) - *SortedQuantile(sorted, 0.25);
  summary.p95 = *SortedQuantile(sorted, 0.95);
  for (double& value : sorted) value = std::fabs(value - summary.median);
  std::sort(sorted.begin(), sorted.end());
  summary.median_absolute_deviation = *SortedQuantile(sorted, 0.5);
  return summary;
}

}  // namespace gx::model
