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
#include <set>

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
  struct OnCupti {
    static constexpr size_t kPace = 0;
    uint64_t ns = 0;
    uint64_t Of(const Pair& pair) const { return pair.cupti_ns; }
  };
  struct OnMonotonic {
    static constexpr size_t kPace = 1;
    uint64_t ns = 0;
    uint64_t Of(const Pair& pair) const { return pair.monotonic_ns; }
  };
  // Pairs agree on their order on both clocks, so that either finds its place among them.
  struct InTime {
    using is_transparent = void;
    bool operator()(const Pair& a, const Pair& b) const { return a.cupti_ns < b.cupti_ns; }
    template <typename Clock>
    bool operator()(const Clock& time, const Pair& pair) const {
      return time.ns < time.Of(pair);
    }
    template <typename Clock>
    bool operator()(const Pair& pair, const Clock& time) const {
      return time.Of(pair) < time.ns;
    }
  };
  using Pairs = std::set<Pair, InTime>;

  template <typename From, typename To>
  std::optional<uint64_t> Map(From from, To to) const;

  // A tree: in a damaged trace pairs may come in any order, and many of them.
  Pairs pairs_;
  // The two neighbours that the last time mapped lay between: the next one does as a rule. Equal: none.
  mutable Pair low_;
  mutable Pair high_;
  // Steps of the one clock for one of the other between them: OnCupti's, OnMonotonic's.
  mutable double low_to_high_pace_[2] = {};
  uint64_t refused_count_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLOCK_MAP_H_
