// What a kernel would take after a change: the ladder computed again with other input, never a term subtracted. Where
// one limit goes, the next one takes over.
//
//   time' = tracing' + launch' + kappa' x max(R5' / (1 - i'), X' / (1 - i_X'))
//
// i: share of the active time that SMs are idle; i_X the same for X, which is of SMs and feels idle ones that a busy
// DRAM hides. kappa: the ladder's own calibration, active time over max(R5, X): what queues, synchronisation and
// imperfect overlap add. A queue is dropped from it where another resource binds afterwards, synchronisation where
// barriers go. R5' and X' are scaled so that no change gives the time itself, also where R5 or X are above it.
//
// Interval: 0.9 x the same with kappa' = 1, to 1.1 x the same with the square root of the sum of squares for max. A
// change that only removes work never makes the time longer.
//
// A prediction of the model, to be compared with the measured cure. ns. Any thread; nothing allocates where nothing is
// wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_WHAT_IF_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_WHAT_IF_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/model/ladder.h"
#include "analysis/model/ladder_interval.h"
#include "analysis/model/ladder_resource.h"

namespace gx::model {

// How far a prediction may be off either way, beside calibration and overlap. From pairs of defect and cure of a small
// event-driven model of a GPU (median error 4 %, worst 12 %), not from hardware.
inline constexpr double kWhatIfLow = 0.9;
inline constexpr double kWhatIfHigh = 1.1;

// Absent: as it is.
struct LadderChange {
  std::optional<LadderResources> resources = std::nullopt;
  // X', not capped.
  std::optional<double> uncontended_ns = std::nullopt;
  // Maximum over timed SM clock, 1 or more.
  std::optional<double> clock_ratio = std::nullopt;
  std::optional<double> tracing_ns = std::nullopt;
  std::optional<double> launch_ns = std::nullopt;
  // 0 to below 1.
  std::optional<double> idle_ratio = std::nullopt;
  std::optional<double> uncontended_idle_ratio = std::nullopt;
  bool drops_sync = false;
  // Nothing gets longer by it: the time afterwards is at most the time before.
  bool only_removes_work = false;
};

// Why there is no prediction.
enum class NoPrediction : uint8_t {
  kNone,
  kViolation,  // the ladder stopped at a rung above the time
  kNoFloor,    // neither a resource's rung nor X is above 0
};
// "a bound is above the time"; "" for kNone.
absl::string_view NoPredictionReason(NoPrediction reason) noexcept;

struct WhatIf {
  // Anything else than kNone: the rest is 0.
  NoPrediction no_prediction = NoPrediction::kNone;
  double time_ns = 0;
  Interval interval_ns = {};
  // What binds afterwards; absent where X does, and nothing queues.
  std::optional<ResourceKind> binding = std::nullopt;
  // X was unmeasured: the change of latency is not in the prediction.
  bool without_latency = false;
  // Closure failed: what was counted is not what was timed, and the calibration stands on both.
  bool other_regime = false;
};

// `ladder` is what ComputeLadder returned for `input`.
[[nodiscard]] absl::StatusOr<WhatIf> ComputeWhatIf(const LadderInput& input, const Ladder& ladder,
                                                   const LadderChange& change);

// The idle ratios of the ladder as it is: i and i_X.
struct IdleRatios {
  double idle = 0;
  double uncontended = 0;
};
IdleRatios IdleRatiosOf(const Ladder& ladder) noexcept;

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_WHAT_IF_H_
