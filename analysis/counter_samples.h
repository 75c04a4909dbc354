// Samples of one group of counters over launches of one kind, in bounded memory, and what is said of each metric. Void
// samples are counted and not kept; of the others a uniform sample of kMaxKept is (algorithm R, fixed seed: the same
// trace gives the same report), and smallest and largest are exact over all. Owned by one thread.
//
// Not a finite number is unavailable, never zero.
#ifndef GPUEXEC_ANALYSIS_COUNTER_SAMPLES_H_
#define GPUEXEC_ANALYSIS_COUNTER_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
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
  // First ranges of sessions were left out, because the metric reads high in them.
  bool first_left_out = false;
  // ... and there were no others: the figures are of them.
  bool first_only = false;
};

// Metrics that hold writes to the device's memory: some per cent high in the first range of a session.
bool ReadsHighInFirstRange(absl::string_view metric);

class CounterSamples {
 public:
  static constexpr size_t kMaxKept = 128;

  struct Launch {
    uint64_t enter_monotonic_ns = 0;
    // 0: unknown.
    uint64_t launch_number = 0;
  };

  explicit CounterSamples(size_t metric_count) : extremes_(metric_count) {}

  // `row.values` has metric_count values. `may_keep` false: memory is spent; extremes and counts go on. Returns the
  // number of values that memory grew by.
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
  size_t kept_count() const { return kept_.size(); }

  // Of usable samples in order of time: the launches of those that were kept.
  std::vector<Launch> KeptLaunches() const;
  // Entry of the first usable sample; 0: there is none.
  uint64_t first_monotonic_ns() const { return first_monotonic_ns_; }
  uint64_t last_monotonic_ns() const { return last_monotonic_ns_; }

  // `metric` is an index, `name` its name.
  CounterFigures Figures(size_t metric, absl::string_view name) const;

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
  struct Kept {
    Launch launch;
    bool first_of_session = false;
    std::vector<double> values;
  };
  uint64_t Random(uint64_t below);

  std::vector<Extremes> extremes_;
  std::vector<Kept> kept_;
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
