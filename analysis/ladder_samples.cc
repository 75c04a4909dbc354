#include "analysis/ladder_samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "analysis/model/quantile.h"
#include "gpuexec/v1/counter.pb.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

using Samples = std::vector<const CounterSamples::Sample*>;

constexpr absl::string_view kActiveCycles = "sm__cycles_active.max";
constexpr absl::string_view kInstructions = "smsp__inst_executed.sum";
constexpr absl::string_view kPatchedInstructions = "smsp__sass_inst_executed.sum";

// How much a clock away from the one that was read costs, against samples away from their modes; and the furthest that
// is looked at.
constexpr double kClockPull = 0.3;
constexpr double kMostClockRatio = 1.4;
// The fit takes the square of them and of the modes: of more, so many evenly spread ones. Two series of as many as are
// kept.
constexpr size_t kMostFittedSamples = 2 * CounterSamples::kMaxKept;

void InOrder(std::vector<const CounterSeries*>* series) {
  std::sort(series->begin(), series->end(),
            [](const CounterSeries* a, const CounterSeries* b) { return a->group_iid < b->group_iid; });
}

const pb::CounterGroup* GroupOf(const CounterModel& counters, const CounterSeries& series) {
  const auto group = counters.groups.find(series.group_iid);
  return group == counters.groups.end() ? nullptr : &group->second;
}

size_t MetricCount(const CounterSeries& series, const pb::CounterGroup& group) {
  return std::min(series.samples.metric_count(), static_cast<size_t>(group.metric_size()));
}

std::optional<size_t> IndexOf(const CounterSeries& series, const pb::CounterGroup& group, absl::string_view name) {
  for (size_t metric = 0; metric < MetricCount(series, group); ++metric) {
    if (group.metric(static_cast<int>(metric)) == name) return metric;
  }
  return std::nullopt;
}

std::vector<uint64_t> WindowsOf(const Samples& samples) {
  std::set<uint64_t> windows;
  for (const CounterSamples::Sample* sample : samples) windows.insert(sample->window_id);
  return {windows.begin(), windows.end()};
}

bool IsFirst(const CounterSamples::Sample& sample) {
  return (sample.flags & static_cast<uint64_t>(pb::CounterBatch::FLAG_FIRST_OF_SESSION)) != 0;
}

Samples UsableOf(const CounterSeries& series) {
  Samples usable;
  for (const CounterSamples::Sample* sample : series.samples.Kept()) {
    if ((sample->flags & static_cast<uint64_t>(pb::CounterBatch::FLAG_VOID)) == 0) usable.push_back(sample);
  }
  return usable;
}

std::optional<double> ValueOf(const CounterSamples::Sample& sample, size_t metric) {
  if (metric >= sample.values.size() || !std::isfinite(sample.values[metric])) return std::nullopt;
  return sample.values[metric];
}

// Of the samples that are no first ones of sessions, or of all where there are no others; ascending.
std::vector<double> SortedValues(const Samples& samples, size_t metric) {
  std::vector<double> later;
  std::vector<double> first;
  for (const CounterSamples::Sample* sample : samples) {
    const std::optional<double> value = ValueOf(*sample, metric);
    if (value.has_value()) (IsFirst(*sample) ? first : later).push_back(*value);
  }
  std::vector<double>& values = later.empty() ? first : later;
  std::sort(values.begin(), values.end());
  return values;
}

// The counts of some samples of a series.
void Append(const CounterSeries& series, const pb::CounterGroup& group, const Samples& samples,
            std::vector<CountedMetric>* counters) {
  const std::vector<uint64_t> windows = WindowsOf(samples);
  for (size_t metric = 0; metric < MetricCount(series, group); ++metric) {
    const std::vector<double> values = SortedValues(samples, metric);
    const std::optional<double> median = model::SortedQuantile(values, 0.5);
    if (!median.has_value() || !std::isfinite(*median)) continue;
    counters->push_back({.group = series.group_iid,
                         .name = group.metric(static_cast<int>(metric)),
                         .median = *median,
                         .min = values.front(),
                         .max = values.back(),
                         .sample_count = values.size(),
                         .window_ids = windows,
                         .group_name = group.name()});
  }
}

}  // namespace

std::vector<CountedMetric> CountersOf(const CounterModel& counters, std::vector<const CounterSeries*> series) {
  InOrder(&series);
  std::vector<CountedMetric> counted;
  for (const CounterSeries* one : series) {
    const pb::CounterGroup* group = GroupOf(counters, *one);
    if (group == nullptr || one->samples.usable_count() == 0) continue;
    const std::vector<uint64_t> windows = WindowsOf(UsableOf(*one));
    for (size_t metric = 0; metric < MetricCount(*one, *group); ++metric) {
      // Extremes are of all samples, also of those that were not kept.
      const CounterFigures figures = one->samples.Figures(metric);
      if (!figures.median.has_value() || !figures.min.has_value() || !figures.max.has_value()) continue;
      counted.push_back({.group = one->group_iid,
                         .name = group->metric(static_cast<int>(metric)),
                         .median = *figures.median,
                         .min = *figures.min,
                         .max = *figures.max,
                         .sample_count = figures.value_count,
                         .window_ids = windows,
                         .group_name = group->name()});
    }
  }
  return counted;
}

std::vector<double> WorkDurations(const CounterModel& counters, std::vector<const CounterSeries*> series,
                                  double ns_per_cycle, double launch_ns) {
  InOrder(&series);
  // Instructions and duration of each sample.
  std::vector<std::pair<double, double>> samples;
  for (const CounterSeries* one : series) {
    const pb::CounterGroup* group = GroupOf(counters, *one);
    if (group == nullptr || group->kind() == pb::CounterGroup::KIND_SASS) continue;
    const std::optional<size_t> active = IndexOf(*one, *group, kActiveCycles);
    const std::optional<size_t> executed = IndexOf(*one, *group, kInstructions);
    if (!active.has_value() || !executed.has_value()) continue;
    for (const CounterSamples::Sample* sample : UsableOf(*one)) {
      const std::optional<double> cycles = ValueOf(*sample, *active);
      const std::optional<double> count = ValueOf(*sample, *executed);
      if (!cycles.has_value() || !count.has_value() || !(*cycles > 0)) continue;
      samples.emplace_back(*count, *cycles * ns_per_cycle + launch_ns);
    }
  }
  std::sort(samples.begin(), samples.end());
  std::vector<double> durations;
  for (size_t begin = 0; begin < samples.size();) {
    size_t end = begin + 1;
    while (end < samples.size() && !model::IsMixedWork(samples[end - 1].first, samples[end].first)) ++end;
    std::vector<double> of_kind;
    for (size_t i = begin; i < end; ++i) of_kind.push_back(samples[i].second);
    std::sort(of_kind.begin(), of_kind.end());
    durations.push_back(model::SortedQuantile(of_kind, 0.5).value_or(0));
    begin = end;
  }
  if (durations.size() < 2) return {};
  std::sort(durations.begin(), durations.end());
  return durations;
}

double FitNsPerCycle(const CounterModel& counters, std::vector<const CounterSeries*> series,
                     absl::Span<const model::TimeMode> modes, double ns_per_cycle, double launch_ns) {
  InOrder(&series);
  std::vector<double> cycles;
  for (const CounterSeries* one : series) {
    const pb::CounterGroup* group = GroupOf(counters, *one);
    if (group == nullptr || group->kind() == pb::CounterGroup::KIND_SASS) continue;
    const std::optional<size_t> active = IndexOf(*one, *group, kActiveCycles);
    if (!active.has_value()) continue;
    for (const double value : SortedValues(UsableOf(*one), *active)) {
      if (value > 0) cycles.push_back(value);
    }
  }
  if (cycles.size() > kMostFittedSamples) {
    std::sort(cycles.begin(), cycles.end());
    std::vector<double> spread;
    for (size_t i = 0; i < kMostFittedSamples; ++i) spread.push_back(cycles[i * cycles.size() / kMostFittedSamples]);
    cycles = std::move(spread);
  }
  const auto cost = [&](double candidate) {
    double sum = kClockPull * static_cast<double>(cycles.size()) * std::fabs(std::log(candidate / ns_per_cycle));
    for (const double count : cycles) {
      const double ns = count * candidate + launch_ns;
      double least = std::numeric_limits<double>::infinity();
      for (const model::TimeMode& mode : modes) least = std::min(least, std::fabs(std::log(ns / mode.median_ns)));
      sum += least;
    }
    return sum;
  };
  if (cycles.empty() || modes.empty() || !(ns_per_cycle > 0)) return ns_per_cycle;
  double best = ns_per_cycle;
  double best_cost = cost(best);
  for (const double count : cycles) {
    for (const model::TimeMode& mode : modes) {
      const double candidate = (mode.median_ns - launch_ns) / count;
      if (!(candidate > ns_per_cycle / kMostClockRatio && candidate < ns_per_cycle * kMostClockRatio)) continue;
      const double candidate_cost = cost(candidate);
      if (candidate_cost >= best_cost) continue;
      best = candidate;
      best_cost = candidate_cost;
    }
  }
  return best;
}

ModeCounters CountersByMode(const CounterModel& counters, std::vector<const CounterSeries*> series,
                            absl::Span<const model::TimeMode> modes, double ns_per_cycle, double launch_ns) {
  InOrder(&series);
  ModeCounters result;
  result.by_mode.resize(modes.size());
  std::vector<std::vector<double>> instructions(modes.size());
  // Of each series: the samples of each mode. Hardware groups first: they tell how many instructions a mode has.
  std::vector<std::vector<Samples>> placed(series.size(), std::vector<Samples>(modes.size()));
  for (size_t i = 0; i < series.size(); ++i) {
    const pb::CounterGroup* group = GroupOf(counters, *series[i]);
    if (group == nullptr || group->kind() == pb::CounterGroup::KIND_SASS) continue;
    const std::optional<size_t> active = IndexOf(*series[i], *group, kActiveCycles);
    const std::optional<size_t> executed = IndexOf(*series[i], *group, kInstructions);
    for (const CounterSamples::Sample* sample : UsableOf(*series[i])) {
      const std::optional<double> cycles = active.has_value() ? ValueOf(*sample, *active) : std::nullopt;
      const std::optional<size_t> mode =
          cycles.has_value() ? model::NearestMode(modes, *cycles * ns_per_cycle + launch_ns) : std::nullopt;
      if (!mode.has_value()) {
        ++result.unplaced_count;
        continue;
      }
      placed[i][*mode].push_back(sample);
      const std::optional<double> count = executed.has_value() ? ValueOf(*sample, *executed) : std::nullopt;
      if (count.has_value()) instructions[*mode].push_back(*count);
    }
  }
  std::vector<std::optional<double>> mode_instructions;
  for (std::vector<double>& counts : instructions) {
    std::sort(counts.begin(), counts.end());
    mode_instructions.push_back(model::SortedQuantile(counts, 0.5));
  }
  for (size_t i = 0; i < series.size(); ++i) {
    const pb::CounterGroup* group = GroupOf(counters, *series[i]);
    if (group == nullptr || group->kind() != pb::CounterGroup::KIND_SASS) continue;
    const std::optional<size_t> executed = IndexOf(*series[i], *group, kPatchedInstructions);
    for (const CounterSamples::Sample* sample : UsableOf(*series[i])) {
      const std::optional<double> count = executed.has_value() ? ValueOf(*sample, *executed) : std::nullopt;
      std::vector<size_t> of;
      if (count.has_value()) of = model::ModesOfInstructions(mode_instructions, *count);
      if (of.empty()) ++result.unplaced_count;
      for (const size_t mode : of) placed[i][mode].push_back(sample);
    }
  }
  for (size_t i = 0; i < series.size(); ++i) {
    const pb::CounterGroup* group = GroupOf(counters, *series[i]);
    for (size_t mode = 0; mode < modes.size() && group != nullptr; ++mode) {
      Append(*series[i], *group, placed[i][mode], &result.by_mode[mode]);
    }
  }
  return result;
}

}  // namespace gx::analysis
