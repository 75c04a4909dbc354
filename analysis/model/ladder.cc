#include "analysis/model/ladder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"
#include "analysis/model/ladder_middle.h"
#include "analysis/model/ladder_top.h"

namespace gx::model {
namespace {

constexpr double kNsPerSecond = 1e9;

absl::Status CheckOptional(absl::string_view field, const std::optional<double>& value) {
  return value.has_value() ? CheckNotNegative(field, *value) : absl::OkStatus();
}

absl::Status CheckRatio(absl::string_view field, const std::optional<double>& value) {
  if (!value.has_value() || (*value >= 0 && *value <= 1)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": got ", *value, ", expected 0 to 1"));
}

absl::Status CheckClocks(const LadderClocks& clocks) {
  if (absl::Status status = CheckPositive("clocks.max_hz", clocks.max_hz); !status.ok()) return status;
  for (const auto& [field, clock] :
       {std::pair("clocks.timed_hz", clocks.timed_hz), std::pair("clocks.counted_hz", clocks.counted_hz)}) {
    if (!clock.has_value()) continue;
    if (absl::Status status = CheckPositive(field, *clock); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckInput(const LadderInput& input) {
  if (absl::Status status = CheckPositive("time_ns", input.time_ns); !status.ok()) return status;
  if (absl::Status status = CheckClocks(input.clocks); !status.ok()) return status;
  for (const auto& [field, value] :
       {std::pair("tracing_ns", input.tracing_ns), std::pair("launch_ns", input.launch_ns),
        std::pair("idle_launch_ns", input.idle_launch_ns), std::pair("no_issue_cycles", input.no_issue_cycles),
        std::pair("uncontended_ratio", input.uncontended_ratio)}) {
    if (absl::Status status = CheckOptional(field, value); !status.ok()) return status;
  }
  if (absl::Status status = CheckRatio("sync_ratio", input.sync_ratio); !status.ok()) return status;
  if (absl::Status status = CheckRatio("queue_ratio", input.queue_ratio); !status.ok()) return status;
  if (!input.active.has_value()) return absl::OkStatus();
  if (absl::Status status = CheckNotNegative("active.mean", input.active->mean); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("active.max", input.active->max); !status.ok()) return status;
  if (input.active->max >= input.active->mean) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("active.max: got ", input.active->max, ", expected at least the mean, ", input.active->mean));
}

double TimedHz(const LadderClocks& clocks) { return std::min(clocks.timed_hz.value_or(clocks.max_hz), clocks.max_hz); }

// A kernel that a resource on the SM clock bounds has the same cycles at any clock; of others the time is the same.
double ActiveHz(const LadderInput& input, const Rungs& rungs) {
  const double timed_hz = TimedHz(input.clocks);
  const std::optional<RungValue>& ceiling = rungs.at(Rung::kCeiling);
  if (!ceiling.has_value()) return timed_hz;
  for (const LadderResource& resource : input.resources) {
    if (ceiling->binding != resource.kind || resource.on_sm_clock) continue;
    return input.clocks.counted_hz.value_or(timed_hz);
  }
  return timed_hz;
}

class Builder {
 public:
  Builder(const LadderInput& input, Rungs rungs) : input_(input) {
    ladder_.time_ns = input.time_ns;
    ladder_.rungs = rungs;
    ladder_.clock_above_max = input.clocks.timed_hz.value_or(0) > input.clocks.max_hz;
  }

  absl::StatusOr<Ladder> Build() {
    SetResiduals();
    if (!SetSteps()) return ladder_;
    if (absl::Status status = SetRest(); !status.ok()) return status;
    return ladder_;
  }

 private:
  void Set(TermKind kind, double ns, TermClass term_class) {
    ladder_.terms[static_cast<size_t>(kind)] = {ns, term_class};
  }
  void Set(TermKind kind, double ns) { Set(kind, ns, ClassOf(kind)); }
  void SetUnmeasured(TermKind kind) { Set(kind, 0, TermClass::kUnmeasured); }
  void SetOrUnmeasured(TermKind kind, const std::optional<double>& ns) {
    ns.has_value() ? Set(kind, *ns) : SetUnmeasured(kind);
  }

  // Unevenness that is assumed proves nothing.
  TermClass ClassOfStep(TermKind kind) const {
    const bool assumed = kind == TermKind::kUneven && ladder_.rungs.assumes_equal_blocks;
    return assumed ? TermClass::kModelled : ClassOf(kind);
  }

  void SetResiduals() {
    const Rungs& rungs = ladder_.rungs;
    if (rungs.at(Rung::kUseful).has_value()) {
      const Rung first = rungs.at(Rung::kCompulsory).has_value() ? Rung::kCompulsory : Rung::kUseful;
      ladder_.residual_ns = input_.time_ns - rungs.Ns(first);
    }
    if (rungs.at(Rung::kWork).has_value()) ladder_.above_work_ns = input_.time_ns - rungs.Ns(Rung::kWork);
  }

  // R0 to R4. False: one of them is above the time, and the ladder ends there.
  bool SetSteps() {
    const Rungs& rungs = ladder_.rungs;
    struct Step {
      Rung rung;
      TermKind term;
      bool measured;
    };
    const bool has_useful = rungs.at(Rung::kUseful).has_value();
    const bool has_compulsory = rungs.at(Rung::kCompulsory).has_value();
    const Step steps[] = {
        {Rung::kCompulsory, TermKind::kUseful, true},
        {Rung::kUseful, has_compulsory ? TermKind::kAlgorithm : TermKind::kUseful, true},
        {Rung::kWork, has_useful ? TermKind::kExcess : TermKind::kWork, true},
        {Rung::kClock, TermKind::kClock, rungs.clock_measured},
        {Rung::kBusiest, TermKind::kUneven, rungs.busiest_measured},
    };
    if (!has_useful) {
      SetUnmeasured(TermKind::kUseful);
      SetUnmeasured(TermKind::kExcess);
    }
    double below_ns = 0;
    for (const Step& step : steps) {
      if (!step.measured) SetUnmeasured(step.term);
      if (!rungs.at(step.rung).has_value()) continue;
      const double ns = rungs.Ns(step.rung);
      if (ns > input_.time_ns) {
        Set(step.term, input_.time_ns - below_ns, ClassOfStep(step.term));
        ladder_.violation = Violation{step.rung, ns - input_.time_ns};
        return false;
      }
      if (step.measured) Set(step.term, ns - below_ns, ClassOfStep(step.term));
      below_ns = ns;
    }
    return true;
  }

  absl::Status SetRest() {
    const Rungs& rungs = ladder_.rungs;
    const double ceiling_ns = rungs.Ns(Rung::kCeiling);
    ladder_.floor_ns = std::min(ceiling_ns, input_.time_ns);
    ladder_.ceiling_beaten_ns = std::max(0.0, ceiling_ns - input_.time_ns);
    if (rungs.ceiling_measured) {
      Set(TermKind::kCeiling, ladder_.floor_ns - rungs.Ns(Rung::kBusiest));
    } else {
      SetUnmeasured(TermKind::kCeiling);
    }

    if (absl::Status status = SetActive(); !status.ok()) return status;
    SetTop();
    SetMiddle();
    if (ladder_.other_regime) {
      for (size_t i = static_cast<size_t>(TermKind::kIdle); i < static_cast<size_t>(TermKind::kUnexplained); ++i) {
        LadderTerm& term = ladder_.terms[i];
        if (term.term_class != TermClass::kUnmeasured) term.term_class = TermClass::kUnexplained;
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetActive() {
    if (!input_.active.has_value()) return absl::OkStatus();
    ns_per_cycle_ = kNsPerSecond / ActiveHz(input_, ladder_.rungs);
    const double max_ns = input_.active->max * ns_per_cycle_;
    const double launch_ns = input_.launch_ns.value_or(0);
    ladder_.idle_launch_ns = std::min(input_.idle_launch_ns.value_or(launch_ns), launch_ns);
    const double closure_ns = input_.time_ns - input_.tracing_ns.value_or(0) - ladder_.idle_launch_ns - max_ns;
    if (!std::isfinite(closure_ns)) return absl::OutOfRangeError("active.max: in ns, beyond the range of a double");
    ladder_.active_cycles_ns = ActiveCycles{max_ns, input_.active->mean * ns_per_cycle_};
    ladder_.closure_ns = closure_ns;
    const bool fails = std::fabs(closure_ns) > std::max(kClosureRatio * input_.time_ns, kClosureNs);
    const bool calibrated = input_.tracing_ns.has_value() && input_.launch_ns.has_value();
    ladder_.closure_unknown = fails && closure_ns > 0 && !calibrated;
    ladder_.other_regime = fails && !ladder_.closure_unknown;
    return absl::OkStatus();
  }

  void SetTop() {
    LadderTopInput top_input{.time_ns = input_.time_ns,
                             .floor_ns = ladder_.floor_ns,
                             .tracing_ns = input_.tracing_ns.value_or(0),
                             .launch_ns = input_.launch_ns.value_or(0)};
    if (ladder_.active_cycles_ns.has_value()) {
      top_input.idle_ns = ladder_.active_cycles_ns->max - ladder_.active_cycles_ns->mean;
    }
    const std::optional<RungValue>& busiest = ladder_.rungs.at(Rung::kBusiest);
    if (busiest.has_value() && busiest->binding.has_value() && ScopeOf(*busiest->binding) == ResourceScope::kSm) {
      top_input.uneven_sm_ns = busiest->ns - ladder_.rungs.Ns(Rung::kClock);
    }
    const LadderTop top = ComputeLadderTop(top_input);
    const auto set = [this](TermKind kind, bool measured, double ns) {
      SetOrUnmeasured(kind, measured ? std::optional<double>(ns) : std::nullopt);
    };
    set(TermKind::kTracing, input_.tracing_ns.has_value(), top.tracing_ns);
    set(TermKind::kLaunch, input_.launch_ns.has_value(), top.launch_ns);
    set(TermKind::kIdle, input_.active.has_value(), top.idle_ns);
    ladder_.hidden_idle_ns = top.hidden_idle_ns;
    ladder_.active_ns = top.active_ns;
  }

  // The busiest resource of a kind that `wanted` takes, if it is busy for `ratio` of the active time.
  template <typename Wanted>
  std::optional<ResourceKind> BusyResource(double ratio, const Wanted& wanted) const {
    const double clock_ratio = ClockRatio(input_.clocks).value_or(1);
    std::optional<ResourceKind> kind;
    double longest_ns = ratio * ladder_.active_ns;
    for (const LadderResource& resource : input_.resources) {
      const double ns = SustainedNs(resource, clock_ratio);
      if (!wanted(resource.kind) || ns < longest_ns || ns == 0) continue;
      longest_ns = ns;
      kind = resource.kind;
    }
    return kind;
  }

  void SetMiddle() {
    const std::optional<ResourceKind> busy = BusyResource(kCoLimiterRatio, [](ResourceKind) { return true; });
    LadderMiddleInput middle_input{.active_ns = ladder_.active_ns,
                                   .floor_ns = ladder_.floor_ns,
                                   .closure_ns = ladder_.closure_ns,
                                   .sync_ratio = input_.sync_ratio,
                                   .queue_ratio = input_.queue_ratio,
                                   .resource_is_busy = busy.has_value()};
    if (ladder_.active_cycles_ns.has_value()) {
      if (input_.no_issue_cycles.has_value()) middle_input.no_issue_ns = *input_.no_issue_cycles * ns_per_cycle_;
      // Without DRAM's count nothing says that memory was not busy.
      const bool may_assume =
          !BusyResource(kUnloadedRatio, IsMemory).has_value() && input_.resources.Find(ResourceKind::kDram) != nullptr;
      if (input_.uncontended_ratio.has_value() && (!input_.assumes_unloaded_latency || may_assume)) {
        ladder_.uncontended_ns = ladder_.active_cycles_ns->mean * *input_.uncontended_ratio;
        middle_input.uncontended_ns = ladder_.uncontended_ns;
      }
    }
    const LadderMiddle middle = ComputeLadderMiddle(middle_input);
    SetOrUnmeasured(TermKind::kSync, middle.sync_ns);
    SetOrUnmeasured(TermKind::kLatency, middle.latency_ns);
    // An assumed latency is no measured one.
    if (middle.latency_ns.has_value() && input_.assumes_unloaded_latency) {
      Set(TermKind::kLatency, *middle.latency_ns, TermClass::kAttributed);
    }
    SetOrUnmeasured(TermKind::kQueue, middle.queue_ns);
    if (middle.queue_ns.value_or(0) > 0) ladder_.queue_resource = busy;
    SetOrUnmeasured(TermKind::kOverlap, middle.overlap_ns);
    const bool counted = !input_.resources.empty() || input_.active.has_value();
    Set(TermKind::kUnexplained, middle.unexplained_ns, counted ? TermClass::kUnexplained : TermClass::kUnmeasured);
    ladder_.gap_ns = middle.gap_ns;
  }

  const LadderInput& input_;
  Ladder ladder_;
  double ns_per_cycle_ = 0;
};

}  // namespace

std::optional<double> ClockRatio(const LadderClocks& clocks) noexcept {
  if (!clocks.timed_hz.has_value()) return std::nullopt;
  return std::max(1.0, clocks.max_hz / *clocks.timed_hz);
}

double Ladder::ClassNs(TermClass term_class) const {
  double sum_ns = 0;
  for (const LadderTerm& term : terms) sum_ns += term.term_class == term_class ? term.ns : 0;
  return sum_ns;
}

double Ladder::UnexplainedNs() const { return ClassNs(TermClass::kUnexplained) + ClassNs(TermClass::kUnmeasured); }

double Ladder::WeakNs() const { return ClassNs(TermClass::kAttributed) + UnexplainedNs(); }

absl::StatusOr<Ladder> ComputeLadder(const LadderInput& input) {
  if (absl::Status status = CheckInput(input); !status.ok()) return status;
  const absl::StatusOr<Rungs> rungs =
      ComputeRungs(input.resources, {.clock_ratio = ClockRatio(input.clocks), .compulsory_ns = input.compulsory_ns});
  if (!rungs.ok()) return rungs.status();
  return Builder(input, *rungs).Build();
}

std::optional<double> InferTimedHz(double active_max_cycles, double time_ns, double tracing_ns,
                                   double launch_ns) noexcept {
  const double left_ns = time_ns - tracing_ns - launch_ns;
  const double hz = active_max_cycles / left_ns * kNsPerSecond;
  if (!(left_ns > 0 && hz > 0 && std::isfinite(hz))) return std::nullopt;
  return hz;
}

}  // namespace gx::model
