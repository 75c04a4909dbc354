#include "analysis/model/ladder_what_if.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"
#include "analysis/model/ladder_rungs.h"

namespace gx::model {
namespace {

absl::Status CheckIdleRatio(absl::string_view field, const std::optional<double>& ratio) {
  if (!ratio.has_value() || (*ratio >= 0 && *ratio < 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": got ", *ratio, ", expected 0 to below 1"));
}

absl::Status CheckChange(const LadderChange& change) {
  for (const auto& [field, value] :
       {std::pair("uncontended_ns", change.uncontended_ns), std::pair("tracing_ns", change.tracing_ns),
        std::pair("launch_ns", change.launch_ns)}) {
    if (!value.has_value()) continue;
    if (absl::Status status = CheckNotNegative(field, *value); !status.ok()) return status;
  }
  if (absl::Status status = CheckIdleRatio("idle_ratio", change.idle_ratio); !status.ok()) return status;
  return CheckIdleRatio("uncontended_idle_ratio", change.uncontended_idle_ratio);
}

WhatIf Without(NoPrediction reason) {
  WhatIf result;
  result.no_prediction = reason;
  return result;
}

}  // namespace

absl::string_view NoPredictionReason(NoPrediction reason) noexcept {
  switch (reason) {
    case NoPrediction::kViolation:
      return "a bound is above the time";
    case NoPrediction::kNoFloor:
      return "nothing that would take time was counted";
    case NoPrediction::kNone:
      break;
  }
  return "";
}

IdleRatios IdleRatiosOf(const Ladder& ladder) noexcept {
  IdleRatios ratios;
  const double idle_ns = ladder.Term(TermKind::kIdle).ns;
  if (idle_ns > 0 && ladder.active_ns > 0) ratios.idle = idle_ns / (ladder.active_ns + idle_ns);
  ratios.uncontended = ratios.idle;
  if (ladder.hidden_idle_ns > 0 && ladder.active_cycles_ns.has_value() && ladder.active_cycles_ns->mean > 0) {
    ratios.uncontended = 1 - ladder.active_cycles_ns->mean / ladder.active_cycles_ns->max;
  }
  return ratios;
}

absl::StatusOr<WhatIf> ComputeWhatIf(const LadderInput& input, const Ladder& ladder, const LadderChange& change) {
  if (absl::Status status = CheckChange(change); !status.ok()) return status;
  if (ladder.violation.has_value()) return Without(NoPrediction::kViolation);
  const double active_ns = ladder.active_ns;
  const double uncontended_ns = ladder.uncontended_ns.value_or(0);
  const double busy_ns = std::max(ladder.floor_ns, std::min(uncontended_ns, active_ns));
  if (!(busy_ns > 0)) return Without(NoPrediction::kNoFloor);

  const LadderResources& resources = change.resources.has_value() ? *change.resources : input.resources;
  const absl::StatusOr<Rungs> rungs = ComputeRungs(
      resources, {.clock_ratio = change.clock_ratio.has_value() ? change.clock_ratio : ClockRatio(input.clocks)});
  if (!rungs.ok()) return rungs.status();

  // As they are, R5 over 1 - i and X over 1 - i_X are at most the time that SMs are there.
  const IdleRatios idle = IdleRatiosOf(ladder);
  const double there_ns = active_ns / (1 - idle.idle);
  const auto scale = [there_ns](double ns, double idle_ratio) {
    return ns > 0 ? std::min(1.0, there_ns * (1 - idle_ratio) / ns) : 1;
  };
  const std::optional<RungValue>& before = ladder.rungs.at(Rung::kCeiling);
  const double ceiling_ns = rungs->Ns(Rung::kCeiling) * scale(ladder.rungs.Ns(Rung::kCeiling), idle.idle) /
                            (1 - change.idle_ratio.value_or(idle.idle));
  const double alone_ns = change.uncontended_ns.value_or(uncontended_ns) * scale(uncontended_ns, idle.uncontended) /
                          (1 - change.uncontended_idle_ratio.value_or(idle.uncontended));

  const std::optional<RungValue>& after = rungs->at(Rung::kCeiling);
  const bool binds_elsewhere = before.has_value() && after.has_value() && before->binding != after->binding;
  double dropped_ns = 0;
  if (binds_elsewhere) dropped_ns += ladder.Term(TermKind::kQueue).ns;
  if (change.drops_sync) dropped_ns += ladder.Term(TermKind::kSync).ns;
  const double kappa = std::max(1.0, (active_ns - dropped_ns) / busy_ns);

  const double around_ns = change.tracing_ns.value_or(ladder.Term(TermKind::kTracing).ns) +
                           change.launch_ns.value_or(ladder.Term(TermKind::kLaunch).ns);
  const double longer_ns = std::max(ceiling_ns, alone_ns);
  WhatIf result;
  result.time_ns = around_ns + kappa * longer_ns;
  result.interval_ns = {kWhatIfLow * (around_ns + longer_ns),
                        kWhatIfHigh * (around_ns + kappa * std::hypot(ceiling_ns, alone_ns))};
  if (!std::isfinite(result.interval_ns.high)) return absl::OutOfRangeError("time afterwards: beyond a double's range");
  if (change.only_removes_work) {
    result.time_ns = std::min(result.time_ns, ladder.time_ns);
    result.interval_ns.low = std::min(result.interval_ns.low, result.time_ns);
    result.interval_ns.high = std::min(result.interval_ns.high, ladder.time_ns);
  }
  // Below the bound of what is left nothing runs.
  result.interval_ns.low = std::min(result.time_ns, std::max(result.interval_ns.low, rungs->Ns(Rung::kBusiest)));
  if (after.has_value() && ceiling_ns >= alone_ns) result.binding = after->binding;
  result.without_latency = !ladder.uncontended_ns.has_value();
  result.other_regime = ladder.other_regime;
  return result;
}

}  // namespace gx::model
