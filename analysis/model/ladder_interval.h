// How certain a ladder is: the interval of its time, and of each term by computing the ladder again at four corners
// (time low and high, counters low and high).
//
// ns. Any thread; nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_INTERVAL_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_INTERVAL_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/model/ladder.h"

namespace gx::model {

struct Interval {
  double low = 0;
  double high = 0;
};

// 0-based positions, in n sorted values, of the two whose interval holds the median of what they are drawn from with at
// least 95 % certainty, whatever the distribution: below 6 values there are none, and it is the first and the last.
// Source: Conover, "Practical Nonparametric Statistics" (3rd ed. 1999), confidence interval for a quantile: from the
// binomial distribution, above kExactMedianCount values from its normal approximation.
struct MedianRanks {
  uint64_t low = 0;
  uint64_t high = 0;
  bool covers = false;  // at least 95 %
};
inline constexpr uint64_t kExactMedianCount = 1000;
// Absent without values.
std::optional<MedianRanks> MedianIntervalRanks(uint64_t count) noexcept;

// Median and interval of sorted durations, wider by one step of the clock that they are told in and by the interval of
// what tracing adds. low is 0 or above. Absent without durations.
struct LadderTime {
  double median_ns = 0;
  Interval interval_ns;
};
std::optional<LadderTime> SummariseLadderTime(absl::Span<const double> sorted_ns, double clock_step_ns,
                                              double tracing_uncertainty_ns);

struct LadderIntervals {
  std::array<Interval, kTermCount> terms = {};
  // Absent where the residual is.
  std::optional<Interval> residual_ns = std::nullopt;
  // The violation holds even with counters low and time high. Else, where the ladder has one, it is possible only.
  bool violation_is_certain = false;
};

// `point` is the ladder's own input; `counters_low` and `counters_high` the same with every count at the least and at
// the most of its samples, wider by the counter's known error (only resources, active and no-issue cycles and ratios
// differ; times are taken from `time_ns`). The point lies in each interval. That of synchronisation starts at 0: warps
// may wait for one that has another reason.
[[nodiscard]] absl::StatusOr<LadderIntervals> ComputeLadderIntervals(const LadderInput& point, Interval time_ns,
                                                                     const LadderInput& counters_low,
                                                                     const LadderInput& counters_high);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_INTERVAL_H_
