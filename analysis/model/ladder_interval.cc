#include "analysis/model/ladder_interval.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"
#include "analysis/model/quantile.h"

namespace gx::model {
namespace {

// Half of the 5 % that the interval may miss.
constexpr double kMissedEachSide = 0.025;
// The same, in standard deviations.
constexpr double kNormalDeviations = 1.959964;

Interval Around(double value) { return {value, value}; }

void Include(double value, Interval* interval) {
  interval->low = std::min(interval->low, value);
  interval->high = std::max(interval->high, value);
}

// Number of values outside on each side: the most for which either side misses the median no more often than allowed.
uint64_t OutsideEachSide(uint64_t count) {
  const auto n = static_cast<double>(count);
  if (count > kExactMedianCount) {
    return static_cast<uint64_t>(std::floor((n - 1 - kNormalDeviations * std::sqrt(n)) / 2)) + 1;
  }
  // P(at most k of n are below the median), k from 0.
  double term = std::exp2(-n);
  double sum = 0;
  uint64_t outside = 0;
  for (uint64_t k = 0; k < count / 2; ++k) {
    sum += term;
    if (sum > kMissedEachSide) break;
    outside = k + 1;
    term *= static_cast<double>(count - k) / static_cast<double>(k + 1);
  }
  return outside;
}

}  // namespace

std::optional<MedianRanks> MedianIntervalRanks(uint64_t count) noexcept {
  if (count == 0) return std::nullopt;
  const uint64_t outside = OutsideEachSide(count);
  if (outside == 0) return MedianRanks{0, count - 1, false};
  return MedianRanks{outside - 1, count - outside, true};
}

std::optional<LadderTime> SummariseLadderTime(absl::Span<const double> sorted_ns, double clock_step_ns,
                                              double tracing_uncertainty_ns) {
  const std::optional<MedianRanks> ranks = MedianIntervalRanks(sorted_ns.size());
  if (!ranks.has_value()) return std::nullopt;
  LadderTime time;
  time.median_ns = *SortedQuantile(sorted_ns, 0.5);
  const double wider_ns = clock_step_ns + tracing_uncertainty_ns;
  time.interval_ns = {std::max(0.0, sorted_ns[ranks->low] - wider_ns), sorted_ns[ranks->high] + wider_ns};
  return time;
}

absl::StatusOr<LadderIntervals> ComputeLadderIntervals(const LadderInput& point, Interval time_ns,
                                                       const LadderInput& counters_low,
                                                       const LadderInput& counters_high) {
  if (absl::Status status = CheckPositive("time_ns.low", time_ns.low); !status.ok()) return status;
  if (!(time_ns.low <= point.time_ns && point.time_ns <= time_ns.high)) {
    return absl::InvalidArgumentError(absl::StrCat("time_ns: got ", time_ns.low, " to ", time_ns.high,
                                                   ", expected an interval around the time, ", point.time_ns));
  }
  const absl::StatusOr<Ladder> middle = ComputeLadder(point);
  if (!middle.ok()) return middle.status();
  LadderIntervals intervals;
  for (size_t i = 0; i < kTermCount; ++i) intervals.terms[i] = Around(middle->terms[i].ns);
  if (middle->residual_ns.has_value()) intervals.residual_ns = Around(*middle->residual_ns);
  for (const LadderInput* counters : {&counters_low, &counters_high}) {
    for (const double corner_ns : {time_ns.low, time_ns.high}) {
      LadderInput input = *counters;
      input.time_ns = corner_ns;
      const absl::StatusOr<Ladder> corner = ComputeLadder(input);
      if (!corner.ok()) return corner.status();
      for (size_t i = 0; i < kTermCount; ++i) Include(corner->terms[i].ns, &intervals.terms[i]);
      if (intervals.residual_ns.has_value() && corner->residual_ns.has_value()) {
        Include(*corner->residual_ns, &*intervals.residual_ns);
      }
      if (counters == &counters_low && corner_ns == time_ns.high) {
        intervals.violation_is_certain = corner->violation.has_value();
      }
    }
  }
  intervals.terms[static_cast<size_t>(TermKind::kSync)].low = 0;
  return intervals;
}

}  // namespace gx::model
