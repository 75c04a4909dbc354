// The ladder: one kernel's time, split into terms that are 0 or more and sum to it. From below come rungs that bind
// (ladder_rungs.h), from the top what is known to be no work (ladder_top.h), and between them what SMs did while
// nothing was at its ceiling (ladder_middle.h). What none of these covers is unexplained.
//
// Every claim is a duration from counts and rates; a share of the time is never one. A term is no saving: what a change
// would gain is recomputed (ladder_what_if.h). Less evidence never explains more: what is missing is unmeasured, its
// time falls to softer terms, and a missing useful share takes the residual away instead of making it small.
//
// A time below R1 to R4 is a violation: something counted is not of the timed launches, or a peak is wrong. The ladder
// stops there. A time below R5 beats a measured rate, which says something about the machine file only.
//
// The 95 % interval of each term is in ladder_interval.h. ns and cycles. Any thread; nothing allocates where nothing is
// wrong.
//
//   LadderInput input{.time_ns = 31200, .resources = {dram, l1}, .clocks = clocks, .launch_ns = 1000, ...};
//   Ladder ladder = *ComputeLadder(input);
//   ladder.Term(TermKind::kExcess).ns;
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/model/ladder_resource.h"
#include "analysis/model/ladder_rungs.h"
#include "analysis/model/ladder_terms.h"

namespace gx::model {

struct LadderClocks {
  // Maximum SM clock of the device: what durations of resources are at.
  double max_hz = 0;
  // SM clock of the timed launches. Absent: unmeasured, taken as the maximum. One above the maximum counts as it.
  std::optional<double> timed_hz = std::nullopt;
  // SM clock of the counted launches (gpc__cycles_elapsed.avg.per_second). Absent: as timed.
  std::optional<double> counted_hz = std::nullopt;
};

// Maximum over timed SM clock, 1 or more; absent where the timed one is unmeasured.
[[nodiscard]] std::optional<double> ClockRatio(const LadderClocks& clocks) noexcept;

// sm__cycles_active: of the SM that was active longest, and the mean, which counts SMs that never were.
struct ActiveCycles {
  double max = 0;
  double mean = 0;
};

struct LadderInput {
  // Above 0: the median of clean timings, as recorded.
  double time_ns = 0;
  // R0.
  std::optional<double> compulsory_ns = std::nullopt;
  // None: only timings.
  LadderResources resources = {};
  LadderClocks clocks = {};
  // Of the machine file.
  std::optional<double> tracing_ns = std::nullopt;
  std::optional<double> launch_ns = std::nullopt;
  // Of it, what passes while no SM is active. Absent: all of it.
  std::optional<double> idle_launch_ns = std::nullopt;
  // Absent without any counter.
  std::optional<ActiveCycles> active = std::nullopt;
  // Cycles of a scheduler without an issue while warps were there: (smsp__cycles_active.sum -
  // smsp__issue_active.sum) over schedulers.
  std::optional<double> no_issue_cycles = std::nullopt;
  // Share of a warp's life that it would spend alone (ladder_stalls.h): phi. The mean of active cycles times it is the
  // time without contention.
  std::optional<double> uncontended_ratio = std::nullopt;
  // It assumes unloaded latency, as none was counted. Then it holds only while no memory resource is busy.
  bool assumes_unloaded_latency = false;
  // Shares of no-issue cycles by what warps wait for (ladder_stalls.h), each 0 to 1.
  std::optional<double> sync_ratio = std::nullopt;
  std::optional<double> queue_ratio = std::nullopt;
};

// Above this share of the active time a memory resource may have made latency longer, and unloaded latency is no
// assumption to make.
inline constexpr double kUnloadedRatio = 0.5;
// Counted launches whose own duration is further off than this from the timed ones were another regime.
inline constexpr double kClosureRatio = 0.1;
inline constexpr double kClosureNs = 200;

struct Violation {
  Rung rung = Rung::kUseful;
  // Rung less time, above 0.
  double ns = 0;
};

struct Ladder {
  double time_ns = 0;
  Rungs rungs = {};
  LadderTerms terms = {};

  // Time less R1, or less R0. Absent where R1 is unmeasured.
  std::optional<double> residual_ns = std::nullopt;
  // Time less R2: not a residual. Absent without resources. Both are negative in a violation.
  std::optional<double> above_work_ns = std::nullopt;
  std::optional<Violation> violation = std::nullopt;
  // R5 less time, where above 0.
  double ceiling_beaten_ns = 0;
  // The timed clock was above the stated maximum.
  bool clock_above_max = false;

  // Of the rest nothing holds in a violation.
  // Idle SMs that cost nothing, since the binding resource was busy meanwhile. They come back in what-ifs.
  double hidden_idle_ns = 0;
  // Time less tracing, the launch while no SM is active, and the longest-active SM; absent without active cycles.
  std::optional<double> closure_ns = std::nullopt;
  // Closure fails: idle to overlap are counted as unexplained (their class says so).
  bool other_regime = false;
  // More is left than closure allows, and tracing or launch is unmeasured: it may be them, and nothing is said of
  // regimes.
  bool closure_unknown = false;
  // The part of unexplained that closure leaves.
  double gap_ns = 0;
  // c: min(R5, time). A: time while SMs are active. X: without contention; absent where unmeasured, not capped at A.
  double floor_ns = 0;
  double active_ns = 0;
  std::optional<double> uncontended_ns = std::nullopt;
  // Active cycles in ns, at the clock that the binding resource takes.
  std::optional<ActiveCycles> active_cycles_ns = std::nullopt;
  // Of the launch, what passes while no SM is active.
  double idle_launch_ns = 0;
  // Named where the queue is.
  std::optional<ResourceKind> queue_resource = std::nullopt;

  const LadderTerm& Term(TermKind kind) const { return terms[static_cast<size_t>(kind)]; }
  double ClassNs(TermClass term_class) const;
  // Unexplained and unmeasured time, and that with the attributed terms: the two figures to judge an explanation by.
  double UnexplainedNs() const;
  double WeakNs() const;
};

[[nodiscard]] absl::StatusOr<Ladder> ComputeLadder(const LadderInput& input);

// The SM clock of timed launches, where none was sampled and a resource on the SM clock binds: active cycles of the
// longest SM over the time that is left for them. Absent where nothing is left.
[[nodiscard]] std::optional<double> InferTimedHz(double active_max_cycles, double time_ns, double tracing_ns,
                                                 double launch_ns) noexcept;

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_H_
