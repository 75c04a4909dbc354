#include "analysis/ladder_run.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace gx::analysis {
namespace {

// `total_ns`: of the launches that the figures are of.
void AddFigures(const LadderFigures& figures, double total_ns, LadderRun* run) {
  const model::Ladder& ladder = figures.ladder;
  if (!(ladder.time_ns > 0)) return;
  const double scale = total_ns / ladder.time_ns;
  for (size_t i = 0; i < model::kTermCount; ++i) run->terms_ns[i] += ladder.terms[i].ns * scale;
  run->unexplained_ns += ladder.UnexplainedNs() * scale;
  run->weak_ns += ladder.WeakNs() * scale;
  if (ladder.violation.has_value()) run->violation_ns += static_cast<uint64_t>(total_ns);
  if (ladder.other_regime) run->other_regime_ns += static_cast<uint64_t>(total_ns);
}

template <typename Ranked, typename Value>
void Rank(const Value& value, std::vector<Ranked>* ranked) {
  std::stable_sort(ranked->begin(), ranked->end(), [&value](const Ranked& a, const Ranked& b) {
    const std::optional<double> left = value(a);
    const std::optional<double> right = value(b);
    if (left.has_value() != right.has_value()) return left.has_value();
    return left.value_or(0) > right.value_or(0);
  });
}

}  // namespace

void AddToRun(const LadderRow& row, LadderRun* run) {
  if (row.is_communication) {
    run->communication_ns += row.total_ns;
    return;
  }
  run->ladder_ns += row.total_ns;
  const auto total_ns = static_cast<double>(row.total_ns);
  if (row.modes.empty()) {
    AddFigures(row, total_ns, run);
    return;
  }
  double all = 0;
  for (const LadderMode& mode : row.modes) all += mode.ladder.time_ns * mode.launch_ratio;
  if (!(all > 0)) return;
  for (const LadderMode& mode : row.modes) {
    AddFigures(mode, total_ns * mode.ladder.time_ns * mode.launch_ratio / all, run);
  }
}

void RankLadders(LadderSection* section) {
  const double least_ns = kLeastSaving * static_cast<double>(section->run.kernel_ns);
  for (size_t row = 0; row < section->rows.size(); ++row) {
    const LadderRow& of = section->rows[row];
    for (size_t i = 0; i < of.what_ifs.size(); ++i) {
      // What power costs is no change that somebody could make; it is in the run's own line.
      if (of.what_ifs[i].change == "no_throttling") continue;
      // Calibrated on counts of another regime.
      if (of.what_ifs[i].other_regime) continue;
      if (of.what_ifs[i].saved_run_ns.value_or(0) > least_ns) section->what_ifs.push_back({row, i});
    }
    for (size_t i = 0; i < of.findings.size(); ++i) {
      if (of.findings[i].id != "ladder.clock") section->findings.push_back({row, i});
    }
  }
  Rank([section](const RankedWhatIf& it) { return section->rows[it.row].what_ifs[it.what_if].saved_run_ns; },
       &section->what_ifs);
  Rank([section](const RankedFinding& it) { return section->rows[it.row].findings[it.finding].saved_run_ns; },
       &section->findings);
}

}  // namespace gx::analysis
