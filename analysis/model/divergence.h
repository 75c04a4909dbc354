// Divergence: a warp whose lanes take different paths runs each of them in turn, with the other lanes masked.
//
// Source: CUDA Programming Guide, "SIMT Architecture" and "Control Flow". First-order: paths are run one after the
// other and none is shared; since compute capability 7.0 lanes may interleave, which changes the order and not the sum.
//
// Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_DIVERGENCE_H_
#define GPUEXEC_ANALYSIS_MODEL_DIVERGENCE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace gx::model {

// How far the fractions' sum may be from 1: decimal fractions of 32 paths add up to well within this.
inline constexpr double kFractionSumTolerance = 1e-9;

// Number of paths that some lane takes. Fractions of one warp's lanes, each 0 to 1, together 1; no more than 32 above
// 0, since a warp has no more lanes. Any number of paths that no lane takes.
[[nodiscard]] absl::StatusOr<int64_t> DivergenceFactor(absl::Span<const double> path_fractions);

// Number of distinct paths over the active lanes of one warp: 0 without an active lane. path_of_lane: 32 path numbers.
[[nodiscard]] absl::StatusOr<int64_t> DivergenceFactor(absl::Span<const int64_t> path_of_lane, uint32_t active_mask);

// With the cost (instructions, cycles: any unit, 0 or above) of each path.
struct DivergenceCost {
  int64_t taken_path_count = 0;
  // Sum over the paths that some lane takes: what the warp runs.
  double warp_cost = 0;
  // Most expensive path taken: no order or overlap of these paths runs less.
  double longest_path_cost = 0;
  // Mean over lanes of the cost of their own path: what a lane would run if every warp were uniform.
  double mean_lane_cost = 0;
  // warp_cost / longest and / mean; absent where that is 0. Both are 1 for a uniform warp, never below, and finite.
  std::optional<double> over_longest() const;
  std::optional<double> over_mean() const;
};
// One fraction and one cost a path. Costs of which a sum or a ratio is beyond the range of a double are refused.
[[nodiscard]] absl::StatusOr<DivergenceCost> EvaluateDivergence(absl::Span<const double> path_fractions,
                                                                absl::Span<const double> path_costs);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_DIVERGENCE_H_
