// Order statistics of kernels that a trace keeps in sums only (KernelSummary): counts by bucket of duration. Pure data,
// at most kMaxBuckets counts; owned by one thread.
#ifndef GPUEXEC_ANALYSIS_SUMMARY_BUCKETS_H_
#define GPUEXEC_ANALYSIS_SUMMARY_BUCKETS_H_

#include <cstdint>
#include <map>

#include "analysis/duration_samples.h"

namespace gx::analysis {

class SummaryBuckets {
 public:
  // Bucket b holds [2^(b/8), 2^((b+1)/8)) ns: with 64-bit durations there are so many.
  static constexpr uint64_t kMaxBuckets = 512;

  // Buckets that no duration can be in are passed over.
  void Add(uint64_t bucket, uint64_t count) {
    if (bucket < kMaxBuckets && count > 0) count_by_bucket_[bucket] += count;
  }
  void Add(const SummaryBuckets& other) {
    for (const auto& [bucket, count] : other.count_by_bucket_) Add(bucket, count);
  }
  // The middle of the bucket that holds the quantile, kept within [min_ns, max_ns]: a bucket is 9 % wide, so it is at
  // most 5 % off. 0: there are no buckets.
  double Quantile(double ratio, uint64_t min_ns, uint64_t max_ns) const;

 private:
  std::map<uint64_t, uint64_t> count_by_bucket_;
};

// What is known of `count` kernels in sums: minimum and maximum exactly.
DurationSummary SummariseBuckets(const SummaryBuckets& buckets, uint64_t count, uint64_t total_ns, uint64_t min_ns,
                                 uint64_t max_ns);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_SUMMARY_BUCKETS_H_
