// Relates CUPTI's clock to the host's CLOCK_MONOTONIC, from the pairs that a trace holds: piecewise linear between
// pairs, at the pace of the nearest two outside them. Owned by one importer; one thread.
//
//   ClockMap clocks;
//   clocks.Add(pair.cupti_ns(), pair.monotonic_ns());
//   std::optional<uint64_t> host_ns = clocks.ToMonotonic(kernel_start_ns);
#ifndef GPUEXEC_ANALYSIS_CLOCK_MAP_H_
#define GPUEXEC_ANALYSIS_CLOCK_MAP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gx::analysis {

class ClockMap {
 public:
  // Pairs kept at most: at one a second, three days. When full, every second pair is let go.
  static constexpr size_t kMaxPairs = size_t{1} << 18;

  // Any order. A pair in which one clock is 0 (unknown), or that contradicts its neighbours (time running backwards on
  // one clock only), is refused: false.
  bool Add(uint64_t cupti_ns, uint64_t monotonic_ns);

  // nullopt: no pair is known, or the result leaves the 64-bit range.
  std::optional<uint64_t> ToMonotonic(uint64_t cupti_ns) const;
  std::optional<uint64_t> ToCupti(uint64_t monotonic_ns) const;

  size_t pair_count() const { return pairs_.size(); }
  uint64_t refused_count() const { return refused_count_; }

 private:
  struct Pair {
    uint64_t cupti_ns = 0;
    uint64_t monotonic_ns = 0;
  };
  std::optional<uint64_t> Map(uint64_t from_ns, uint64_t Pair::*from, uint64_t Pair::*to) const;

  // By time, on both clocks.
  std::vector<Pair> pairs_;
  uint64_t refused_count_ = 0;
  // Conversions come nearly in order: where the last one was found.
  mutable size_t last_segment_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLOCK_MAP_H_
