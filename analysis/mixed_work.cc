// Whether launches of one signature did the same work, and whether two ways of counting it agree.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"

namespace gx::analysis {
namespace {

// Warp instructions, by the hardware's counters and by patched code. Of several spellings the first counted one counts.
constexpr absl::string_view kHardwareInstructions[] = {"smsp__inst_executed.sum", "sm__inst_executed.sum"};
constexpr absl::string_view kPatchedInstructions[] = {"smsp__sass_inst_executed.sum"};
// What the kernel's own loads and stores ask for: bytes of lanes, and sectors that these lie in.
constexpr absl::string_view kAskedBytes[] = {"smsp__sass_data_bytes_mem_global.sum"};
constexpr absl::string_view kAskedSectors[] = {"smsp__sass_sectors_mem_global.sum", "l1tex__t_sectors.sum"};

constexpr absl::string_view kSmClocks[] = {"sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second"};

// Smaller differences are in no duration. One scheduler issues at most one instruction a cycle, so 64 take no longer
// than a step of the clock that durations are told in (32 ns, 63 cycles at 1.98 GHz); 64 sectors are 2 KiB.
constexpr double kMinInstructions = 64;
constexpr double kMinSectors = 64;
constexpr double kMinBytes = 64 * 32;
// Counted by two means, of launches that all did the same: equal on an H200. Kernel records that are on while counters
// count add some 30 % of instructions.
constexpr double kSameInstructions = 0.001;

struct Counted {
  absl::string_view name;
  CounterFigures figures;
};

// In whatever groups; of the first spelling that has values.
std::vector<Counted> FiguresOf(const CounterModel& counters, absl::Span<const CounterSeries* const> series,
                               absl::Span<const absl::string_view> spellings) {
  std::vector<Counted> counted;
  for (const absl::string_view name : spellings) {
    for (const CounterSeries* one : series) {
      const auto group = counters.groups.find(one->group_iid);
      if (group == counters.groups.end()) continue;
      const auto metric_count = static_cast<int>(one->samples.metric_count());
      for (int metric = 0; metric < std::min(metric_count, group->second.metric_size()); ++metric) {
        if (group->second.metric(metric) != name) continue;
        const CounterFigures figures = one->samples.Figures(static_cast<size_t>(metric));
        if (figures.value_count > 0) counted.push_back({name, figures});
      }
    }
    if (!counted.empty()) break;
  }
  return counted;
}

}  // namespace

std::map<uint32_t, std::vector<const CounterSeries*>> SeriesBySignature(const CounterModel& counters) {
  std::map<uint32_t, std::vector<const CounterSeries*>> by_signature;
  for (const CounterSeries& series : counters.series) {
    if (!series.is_graph()) by_signature[series.signature].push_back(&series);
  }
  return by_signature;
}

std::map<uint64_t, std::vector<const CounterSeries*>> SeriesByGraph(const CounterModel& counters) {
  std::map<uint64_t, std::vector<const CounterSeries*>> by_graph;
  for (const CounterSeries& series : counters.series) {
    if (series.is_graph()) by_graph[series.graph_exec_id].push_back(&series);
  }
  return by_graph;
}

std::vector<MixedWork> MixedWorkOf(const CounterModel& counters, const std::vector<const CounterSeries*>& series) {
  std::vector<MixedWork> mixed;
  const auto look = [&](absl::Span<const absl::string_view> spellings, double min_difference) {
    for (const Counted& counted : FiguresOf(counters, series, spellings)) {
      const CounterFigures& figures = counted.figures;
      if (!figures.spread_ratio.has_value() || !(*figures.spread_ratio > kMixedWorkSpread)) continue;
      if (*figures.max - *figures.min <= min_difference) continue;
      mixed.push_back({Printable(counted.name), *figures.min, *figures.max, *figures.spread_ratio});
    }
  };
  look(kHardwareInstructions, kMinInstructions);
  look(kPatchedInstructions, kMinInstructions);
  look(kAskedBytes, kMinBytes);
  look(kAskedSectors, kMinSectors);
  return mixed;
}

std::optional<double> CountedClockHz(const CounterModel& counters, const std::vector<const CounterSeries*>& series) {
  for (const Counted& counted : FiguresOf(counters, series, kSmClocks)) {
    if (counted.figures.median.has_value()) return counted.figures.median;
  }
  return std::nullopt;
}

std::optional<InstructionDisagreement> InstructionDisagreementOf(const CounterModel& counters,
                                                                 const std::vector<const CounterSeries*>& series) {
  std::optional<InstructionDisagreement> worst;
  for (const Counted& hardware : FiguresOf(counters, series, kHardwareInstructions)) {
    for (const Counted& patched : FiguresOf(counters, series, kPatchedInstructions)) {
      // Launches that differ among themselves may differ between groups, too: only ranges that lie apart tell.
      const CounterFigures& a = hardware.figures;
      const CounterFigures& b = patched.figures;
      const double apart = std::max(*a.min - *b.max, *b.min - *a.max);
      const double larger = std::max(std::fabs(*a.max), std::fabs(*b.max));
      if (!(apart > kMinInstructions) || !(apart > kSameInstructions * larger)) continue;
      const double hardware_count = *a.min > *b.max ? *a.min : *a.max;
      const double patched_count = *a.min > *b.max ? *b.max : *b.min;
      const double ratio = apart / larger;
      if (worst.has_value() && worst->difference_ratio >= ratio) continue;
      worst = {Printable(hardware.name), Printable(patched.name), hardware_count, patched_count, ratio};
    }
  }
  return worst;
}

}  // namespace gx::analysis
