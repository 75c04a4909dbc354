#include "analysis/ladder_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "analysis/ladder_evidence.h"
#include "analysis/ladder_findings.h"
#include "analysis/machine_ceilings.h"
#include "analysis/model/ladder_interval.h"
#include "analysis/model/ladder_rounding.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

int64_t Signed(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
}

// Absent: a corner cannot be computed, which makes the point no less true.
std::optional<model::LadderIntervals> IntervalsOf(const LadderFacts& facts, const model::LadderInput& point,
                                                  model::Interval time_ns) {
  if (!(time_ns.low > 0)) return std::nullopt;
  const absl::StatusOr<LadderEvidence> low = BuildLadderInput(facts, CounterCorner::kLow);
  const absl::StatusOr<LadderEvidence> high = BuildLadderInput(facts, CounterCorner::kHigh);
  if (!low.ok() || !high.ok()) return std::nullopt;
  const auto intervals = model::ComputeLadderIntervals(point, time_ns, low->input, high->input);
  return intervals.ok() ? std::optional(*intervals) : std::nullopt;
}

// Mean life of a block.
double BlockNs(const LadderFacts& facts, const model::Ladder& ladder, double active_cycles, uint64_t block_count) {
  constexpr uint64_t kLanes = 32;
  if (!(active_cycles > 0) || block_count == 0) return 0;
  const double ns_per_cycle = ladder.active_cycles_ns->max / active_cycles;
  for (const CountedMetric& metric : facts.counters) {
    if (metric.name != "sm__warps_active.sum") continue;
    const auto warps = static_cast<double>((facts.shape.block_threads + kLanes - 1) / kLanes);
    return std::max(0.0, metric.median / (warps * static_cast<double>(block_count)) * ns_per_cycle);
  }
  return 0;
}

std::optional<model::IdleCauses> IdleCausesOf(const FiguresInput& input, const LadderFigures& figures) {
  const model::Ladder& ladder = figures.ladder;
  const LadderLaunch& launch = input.launch;
  if (!ladder.active_cycles_ns.has_value() || ladder.violation.has_value() || launch.block_count.value_or(0) == 0 ||
      launch.sm_count.value_or(0) == 0) {
    return std::nullopt;
  }
  const std::optional<model::RungValue>& busiest = ladder.rungs.at(model::Rung::kBusiest);
  const bool of_sms = busiest.has_value() && busiest->binding.has_value() &&
                      model::ScopeOf(*busiest->binding) == model::ResourceScope::kSm;
  const double idle_ns =
      ladder.Term(model::TermKind::kIdle).ns + (of_sms ? ladder.Term(model::TermKind::kUneven).ns : 0);
  const double empty_ratio = 1 - launch.configuration.residency.tail_fill_ratio.value_or(1);
  const auto causes =
      model::SplitIdle({.idle_ns = idle_ns,
                        .unit_count = Signed(*launch.block_count),
                        .place_count = Signed(*launch.sm_count),
                        .block_ns = BlockNs(input.facts, ladder, figures.active_cycles, *launch.block_count),
                        .last_wave_empty_ratio = std::clamp(empty_ratio, 0.0, 1.0)});
  return causes.ok() ? std::optional(*causes) : std::nullopt;
}

}  // namespace

absl::Status FillFigures(const FiguresInput& input, LadderFigures* figures) {
  double uncertain_ns = 0;
  if (input.facts.machine != nullptr) {
    const std::optional<TracingCost> cost = FitTracingCost(*input.facts.machine);
    if (cost.has_value()) uncertain_ns = cost->error_ns;
    // The error is of any number of waves: no figure is further off than it is long.
    if (cost.has_value() && input.facts.waves.has_value()) {
      uncertain_ns =
          std::min(uncertain_ns, TracingNs(*cost, std::max<uint64_t>(1, *input.facts.waves), input.facts.shape));
    }
  }
  const auto time = model::SummariseLadderTime(input.sorted_ns, input.clock_step_ns, uncertain_ns);
  if (!time.has_value()) return absl::InvalidArgumentError("durations: got none, expected clean ones");
  LadderFacts facts = input.facts;
  facts.time_ns = time->median_ns;
  absl::StatusOr<LadderEvidence> evidence = BuildLadderInput(facts);
  if (!evidence.ok()) return evidence.status();
  absl::StatusOr<model::Ladder> ladder = model::ComputeLadder(evidence->input);
  if (!ladder.ok()) return ladder.status();
  figures->clean_count = input.sorted_ns.size();
  figures->ladder = *std::move(ladder);
  figures->time_interval_ns = time->interval_ns;
  figures->intervals = IntervalsOf(facts, evidence->input, time->interval_ns);
  if (evidence->input.active.has_value()) figures->active_cycles = evidence->input.active->max;
  figures->excess = evidence->excess;
  // Some name metrics of the trace.
  for (const std::string& line : evidence->unmeasured) figures->unmeasured.push_back(Printable(line));
  for (const std::string& note : evidence->notes) figures->notes.push_back(Printable(note));

  std::array<double, model::kTermCount> terms_ns = {};
  for (size_t i = 0; i < terms_ns.size(); ++i) terms_ns[i] = figures->ladder.terms[i].ns;
  const auto whole_ns = model::RoundParts(terms_ns);
  if (!whole_ns.ok()) return whole_ns.status();
  std::copy(whole_ns->begin(), whole_ns->end(), figures->whole_ns.begin());
  figures->time_ns = 0;
  for (const int64_t ns : figures->whole_ns) figures->time_ns += ns;

  figures->idle_causes = IdleCausesOf(input, *figures);
  if (evidence->warp_shares.has_value()) {
    figures->latency_parts =
        model::SplitLatency(model::NoIssueShares(*evidence->warp_shares), evidence->latency_ratio.value_or(1));
  }
  figures->evidence = LadderTermEvidence(facts, figures->ladder);
  figures->what_ifs = LadderWhatIfs(*evidence, figures->ladder, input.launch, input.launch_count);
  figures->findings = LadderFindings({facts, *evidence, input.launch, input.launch_count}, *figures);
  return absl::OkStatus();
}

}  // namespace gx::analysis
