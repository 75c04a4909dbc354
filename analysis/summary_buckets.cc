#include "analysis/summary_buckets.h"

#include <algorithm>
#include <cmath>

namespace gx::analysis {

double SummaryBuckets::Quantile(double ratio, uint64_t min_ns, uint64_t max_ns) const {
  // In floating point: counts of a damaged trace may be of any size.
  double all = 0;
  for (const auto& [bucket, count] : count_by_bucket_) all += static_cast<double>(count);
  double passed = 0;
  double middle_ns = 0;
  for (const auto& [bucket, count] : count_by_bucket_) {
    passed += static_cast<double>(count);
    middle_ns = std::exp2((static_cast<double>(bucket) + 0.5) / 8);
    if (passed > ratio * (all - 1)) break;
  }
  if (count_by_bucket_.empty()) return 0;
  return std::max(static_cast<double>(min_ns), std::min(middle_ns, static_cast<double>(max_ns)));
}

DurationSummary SummariseBuckets(const SummaryBuckets& buckets, uint64_t count, uint64_t total_ns, uint64_t min_ns,
                                 uint64_t max_ns) {
  DurationSummary summary;
  summary.count = count;
  summary.sample_count = count;
  summary.total_ns = total_ns;
  summary.min_ns = min_ns;
  summary.max_ns = max_ns;
  summary.median_ns = buckets.Quantile(0.5, min_ns, max_ns);
  summary.p5_ns = buckets.Quantile(0.05, min_ns, max_ns);
  summary.p95_ns = buckets.Quantile(0.95, min_ns, max_ns);
  return summary;
}

}  // namespace gx::analysis
