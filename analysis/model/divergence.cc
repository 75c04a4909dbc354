#include "analysis/model/divergence.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"
#include "analysis/model/quotient.h"
#include "analysis/model/warp_access.h"

namespace gx::model {
namespace {

absl::Status CheckFractions(absl::Span<const double> path_fractions) {
  double sum = 0;
  int64_t taken_path_count = 0;
  for (size_t i = 0; i < path_fractions.size(); ++i) {
    const double fraction = path_fractions[i];
    // Written so that "not a number" is refused too.
    if (!(fraction >= 0 && fraction <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("path_fractions[", i, "]: got ", fraction, ", expected 0 to 1"));
    }
    sum += fraction;
    taken_path_count += fraction > 0 ? 1 : 0;
  }
  if (std::abs(sum - 1) > kFractionSumTolerance) {
    return absl::InvalidArgumentError(
        absl::StrCat("path_fractions: got a sum of ", sum, ", expected 1 within ", kFractionSumTolerance));
  }
  return CheckRange("path_fractions above 0", taken_path_count, 1, kWarpLanes, "a warp has no more lanes");
}

}  // namespace

std::optional<double> DivergenceCost::over_longest() const { return Quotient(warp_cost, longest_path_cost); }
std::optional<double> DivergenceCost::over_mean() const { return Quotient(warp_cost, mean_lane_cost); }

absl::StatusOr<int64_t> DivergenceFactor(absl::Span<const double> path_fractions) {
  if (absl::Status status = CheckFractions(path_fractions); !status.ok()) return status;
  return std::count_if(path_fractions.begin(), path_fractions.end(), [](double fraction) { return fraction > 0; });
}

absl::StatusOr<int64_t> DivergenceFactor(absl::Span<const int64_t> path_of_lane, uint32_t active_mask) {
  if (absl::Status status =
          CheckRange("path_of_lane", static_cast<int64_t>(path_of_lane.size()), kWarpLanes, kWarpLanes, "one a lane");
      !status.ok()) {
    return status;
  }
  std::array<int64_t, kWarpLanes> paths;
  auto end = paths.begin();
  for (size_t lane = 0; lane < path_of_lane.size(); ++lane) {
    if (((active_mask >> lane) & 1U) != 0) *end++ = path_of_lane[lane];
  }
  std::sort(paths.begin(), end);
  return std::unique(paths.begin(), end) - paths.begin();
}

absl::StatusOr<DivergenceCost> EvaluateDivergence(absl::Span<const double> path_fractions,
                                                  absl::Span<const double> path_costs) {
  const int64_t path_count = static_cast<int64_t>(path_fractions.size());
  if (absl::Status status =
          CheckRange("path_costs", static_cast<int64_t>(path_costs.size()), path_count, path_count, "one a path");
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckFractions(path_fractions); !status.ok()) return status;
  DivergenceCost result;
  for (size_t i = 0; i < path_fractions.size(); ++i) {
    if (!(std::isfinite(path_costs[i]) && path_costs[i] >= 0)) {
      return CheckNotNegative(absl::StrCat("path_costs[", i, "]"), path_costs[i]);
    }
    if (path_fractions[i] <= 0) continue;
    ++result.taken_path_count;
    result.warp_cost += path_costs[i];
    result.longest_path_cost = std::max(result.longest_path_cost, path_costs[i]);
    result.mean_lane_cost += path_fractions[i] * path_costs[i];
  }
  if (!std::isfinite(result.warp_cost)) return CheckNotNegative("sum of path_costs", result.warp_cost);
  // Fractions may be off by their tolerance; a mean is never above the largest.
  result.mean_lane_cost = std::min(result.mean_lane_cost, result.longest_path_cost);
  if (const std::optional<double> ratio = result.over_mean(); ratio.has_value() && !std::isfinite(*ratio)) {
    return CheckNotNegative("warp_cost / mean_lane_cost", *ratio);
  }
  return result;
}

}  // namespace gx::model
