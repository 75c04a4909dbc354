// Durations of one group of kernels, in bounded memory, and their order statistics. GPU clocks count in steps (32 ns on
// an H200), so a group of any size has few distinct durations: they are counted by value, which loses nothing. Only a
// group of more than kMaxDistinct distinct durations falls back to a uniform sample of kReservoirSize (algorithm R,
// fixed seed: the same trace gives the same report). Owned by one thread.
#ifndef GPUEXEC_ANALYSIS_DURATION_SAMPLES_H_
#define GPUEXEC_ANALYSIS_DURATION_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace gx::analysis {

struct DurationSummary {
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  // Linear interpolation between order statistics (the default of NumPy and R, "type 7").
  double median_ns = 0;
  double p5_ns = 0;
  double p95_ns = 0;
  // Samples that the three figures above rest on; equal to count where they are exact.
  uint64_t sample_count = 0;
};

class DurationSamples {
 public:
  // 16 to 32 bytes each: at most 1 MiB for a group.
  static constexpr size_t kMaxDistinct = 32768;
  static constexpr size_t kReservoirSize = 32768;

  void Add(uint64_t duration_ns);

  uint64_t count() const { return count_; }
  uint64_t total_ns() const { return total_ns_; }
  bool exact() const { return reservoir_.empty(); }

  // Of several groups taken together. A sampled group's samples stand for all of that group.
  static DurationSummary Summarise(std::span<const DurationSamples* const> groups);
  // Of several groups taken together, ascending: all durations where there are at most `max_count` (above 0), else
  // those at positions (i + 1/2) / max_count of the sorted ones, each of which stands for as many of them.
  static std::vector<uint64_t> Pick(std::span<const DurationSamples* const> groups, size_t max_count);

 private:
  struct Weighted {
    uint64_t duration_ns = 0;
    double weight = 0;
  };
  static std::vector<Weighted> Sorted(std::span<const DurationSamples* const> groups);
  void StartSampling();
  uint64_t Random(uint64_t below);

  absl::flat_hash_map<uint64_t, uint64_t> count_by_duration_;
  std::vector<uint64_t> reservoir_;
  uint64_t random_state_ = 0x9E3779B97F4A7C15u;
  uint64_t count_ = 0;
  uint64_t total_ns_ = 0;
  uint64_t min_ns_ = UINT64_MAX;
  uint64_t max_ns_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_DURATION_SAMPLES_H_
