// Samples of one group of counters over launches of one kind, in bounded memory, and what is said of each metric. Void
// samples are in no figure, and the first kMaxVoidKept of them are kept to be shown; of the others a uniform sample of
// kMaxKept is kept (algorithm R, fixed seed: the same trace gives the same report), and smallest and largest are exact
// over all. Owned by one thread.
//
// The first range of a session is no launch like the others: it comes right after the switch, and its device memory
// writes read some per cent high. Such samples are in a metric's figures only where it has no others.
//
// Not a finite number is unavailable, never zero.
#ifndef GPUEXEC_ANALYSIS_COUNTER_SAMPLES_H_
#define GPUEXEC_ANALYSIS_COUNTER_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/columns.h"

namespace gx::analysis {

// What samples say of one metric.
struct CounterFigures {
  // Unset: no sample has a value.
  std::optional<double> median;
  std::optional<double> min;
  std::optional<double> max;
  // (max - min) / |median|; of a median of 0 with other values beside it: 1. Unset with fewer than two values.
  std::optional<double> spread_ratio;
  // Samples with a value that min and max rest on, and samples without one.
  uint64_t value_count = 0;
  uint64_t unavailable_count = 0;
  // Values that the median rests on: fewer than value_count where not all samples were kept.
  uint64_t kept_count = 0;
  // First ranges of sessions were left out.
  bool first_left_out = false;
  // ... and there were no others: the figures are of them.
  bool first_only = false;
};

class CounterSamples {
 public:
  static constexpr size_t kMaxKept = 128;
  static constexpr size_t kMaxVoidKept = 32;
  // What a kept sample takes besides its values, in values.
  static constexpr size_t kOverheadValues = 16;

  struct Sample {
    uint64_t enter_monotonic_ns = 0;
    // 0: unknown.
    uint64_t launch_number = 0;
    uint64_t session_id = 0;
    uint64_t window_id = 0;
    uint64_t context_id = 0;
    uint64_t thread_id = 0;
    uint64_t correlation_id = 0;
    uint64_t range_order = 0;
    // Bits of CounterBatch.Flag.
    uint64_t flags = 0;
    std::vector<double> values;
  };

  explicit CounterSamples(size_t metric_count) : extremes_(metric_count) {}

  // `row.values` has metric_count values. `may_keep` false: memory is spent; extremes and counts go on. Returns the
  // number of values (of 8 bytes) that memory grew by.
  size_t Add(const CounterSampleRow& row, bool may_keep);

  size_t metric_count() const { return extremes_.size(); }
  // All samples, and those of them that are void.
  uint64_t count() const { return count_; }
  uint64_t void_count() const { return void_count_; }
  uint64_t usable_count() const { return count_ - void_count_; }
  // Of the usable ones.
  uint64_t first_of_session_count() const { return first_count_; }
  uint64_t after_switch_count() const { return after_switch_count_; }
  uint64_t replayed_count() const { return replayed_count_; }
  // Of the usable ones.
  size_t kept_count() const { return kept_.size(); }

  // Samples that were kept, void ones among them, in order of time. Valid until the next Add.
  std::vector<const Sample*> Kept() const;
  // Entry of the first usable sample; 0: there is none.
  uint64_t first_monotonic_ns() const { return first_monotonic_ns_; }
  uint64_t last_monotonic_ns() const { return last_monotonic_ns_; }

  // `metric` is an index.
  CounterFigures Figures(size_t metric) const;

 private:
  struct Extreme {
    double min = 0;
    double max = 0;
    uint64_t value_count = 0;
    uint64_t unavailable_count = 0;
    void Add(double value);
  };
  // Of ranges that were not, and that were the first of their session.
  struct Extremes {
    Extreme later;
    Extreme first;
  };
  uint64_t Random(uint64_t below);

  std::vector<Extremes> extremes_;
  std::vector<Sample> kept_;
  std::vector<Sample> void_kept_;
  // Usable samples that kept_ was drawn from.
  uint64_t drawn_from_ = 0;
  uint64_t random_state_ = 0x9E3779B97F4A7C15u;
  uint64_t count_ = 0;
  uint64_t void_count_ = 0;
  uint64_t first_count_ = 0;
  uint64_t after_switch_count_ = 0;
  uint64_t replayed_count_ = 0;
  uint64_t first_monotonic_ns_ = 0;
  uint64_t last_monotonic_ns_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_COUNTER_SAMPLES_H_
