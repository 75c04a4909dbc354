// Counter samples of one launch signature -> the counts of its ladder: over all samples, or apart for each mode that
// its durations have (model/ladder_modes.h), so that no count of one mode meets the time of another.
//
// Void samples are in none, first ranges of sessions only where a metric has no other value. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_LADDER_SAMPLES_H_
#define GPUEXEC_ANALYSIS_LADDER_SAMPLES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "analysis/counter_model.h"
#include "analysis/ladder_input.h"
#include "analysis/model/ladder_modes.h"

namespace gx::analysis {

// By group in the order of collection, then in the group's own order.
std::vector<CountedMetric> CountersOf(const CounterModel& counters, std::vector<const CounterSeries*> series);

// Durations of the kinds of work among hardware samples, ascending: samples whose instructions differ by more than
// model::kSameWorkRatio are of different kinds; a kind's duration is the median of its samples' own ones. Empty where
// all did the same work.
std::vector<double> WorkDurations(const CounterModel& counters, std::vector<const CounterSeries*> series,
                                  double ns_per_cycle, double launch_ns);

// ns of a cycle with which the hardware samples' own durations meet the modes best, near the one given: the clock of
// the timed launches may be another than what was read. The one given where there are no samples or modes.
double FitNsPerCycle(const CounterModel& counters, std::vector<const CounterSeries*> series,
                     absl::Span<const model::TimeMode> modes, double ns_per_cycle, double launch_ns);

struct ModeCounters {
  // As many as modes; empty where no sample is of that mode.
  std::vector<std::vector<CountedMetric>> by_mode;
  // Samples that are of no mode: without a duration of their own, or of patched code with another number of
  // instructions.
  uint64_t unplaced_count = 0;
};

// A hardware sample is of the mode nearest to its own duration, cycles of the longest-active SM x ns_per_cycle +
// launch_ns; one of patched code, whose duration is not its own, of those with its number of instructions.
ModeCounters CountersByMode(const CounterModel& counters, std::vector<const CounterSeries*> series,
                            absl::Span<const model::TimeMode> modes, double ns_per_cycle, double launch_ns);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LADDER_SAMPLES_H_
