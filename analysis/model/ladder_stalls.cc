#include "analysis/model/ladder_stalls.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

constexpr absl::string_view kNames[kStallReasonCount] = {"long_scoreboard",
                                                         "short_scoreboard",
                                                         "barrier",
                                                         "lg_throttle",
                                                         "mio_throttle",
                                                         "math_pipe_throttle",
                                                         "wait",
                                                         "not_selected",
                                                         "no_instruction",
                                                         "gmma",
                                                         "membar",
                                                         "branch_resolving",
                                                         "dispatch_stall",
                                                         "drain",
                                                         "imc_miss",
                                                         "misc",
                                                         "sleeping",
                                                         "tex_throttle"};

double Sum(const StallShares& shares, std::initializer_list<StallReason> reasons) {
  double sum = 0;
  for (const StallReason reason : reasons) sum += shares[reason].value_or(0);
  return sum;
}

absl::Status CheckShare(absl::string_view field, double value) {
  if (value >= 0 && value <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("share of '", field, "': got ", value, ", expected 0 to 1"));
}

}  // namespace

absl::string_view StallReasonName(StallReason reason) noexcept {
  const auto index = static_cast<size_t>(reason);
  return index < kStallReasonCount ? kNames[index] : absl::string_view();
}

absl::Status CheckWarpShares(const WarpShares& shares) {
  if (absl::Status status = CheckShare("selected", shares.selected); !status.ok()) return status;
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    if (absl::Status status = CheckShare(kNames[i], shares.stalled.values[i].value_or(0)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<LatencyRatio> ComputeLatencyRatio(const LatencyInput& input) {
  if (absl::Status status = CheckPositive("observed_cycles", input.observed_cycles); !status.ok()) return status;
  if (absl::Status status = CheckPositive("l1_cycles", input.l1_cycles); !status.ok()) return status;
  if (absl::Status status = CheckPositive("l2_cycles", input.l2_cycles); !status.ok()) return status;
  if (absl::Status status = CheckPositive("dram_cycles", input.dram_cycles); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("serialisation_cycles", input.serialisation_cycles); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckShare("l1_hit_ratio", input.l1_hit_ratio); !status.ok()) return status;
  if (absl::Status status = CheckShare("l2_miss_ratio", input.l2_miss_ratio); !status.ok()) return status;
  LatencyRatio result;
  const double beyond_l1 = (1 - input.l2_miss_ratio) * input.l2_cycles + input.l2_miss_ratio * input.dram_cycles;
  result.unloaded_cycles =
      input.l1_hit_ratio * input.l1_cycles + (1 - input.l1_hit_ratio) * beyond_l1 + input.serialisation_cycles;
  if (!std::isfinite(result.unloaded_cycles)) {
    return absl::OutOfRangeError("unloaded latency: beyond the range of a double");
  }
  result.ratio = std::min(1.0, result.unloaded_cycles / input.observed_cycles);
  return result;
}

std::optional<double> UncontendedRatio(const WarpShares& shares, double latency_ratio,
                                       const UncontendedChange& change) {
  const StallShares& stalled = shares.stalled;
  for (const StallReason needed :
       {StallReason::kLongScoreboard, StallReason::kShortScoreboard, StallReason::kBarrier}) {
    if (!stalled[needed].has_value()) return std::nullopt;
  }
  const double alone =
      shares.selected +
      Sum(stalled, {StallReason::kWait, StallReason::kBranchResolving, StallReason::kDispatchStall,
                    StallReason::kNoInstruction, StallReason::kImcMiss, StallReason::kDrain}) +
      *stalled[StallReason::kShortScoreboard] * change.short_scoreboard_ratio +
      *stalled[StallReason::kLongScoreboard] * latency_ratio * change.long_scoreboard_ratio / change.loads_in_flight;
  double life = 1 - stalled[StallReason::kGmma].value_or(0);
  if (!change.drops_sync) {
    life -= Sum(stalled, {StallReason::kBarrier, StallReason::kMembar, StallReason::kSleeping});
  }
  if (!(life > 0)) return std::nullopt;
  return std::clamp(alone / life, 0.0, 1.0);
}

StallShares NoIssueShares(const WarpShares& shares) {
  StallShares result;
  double counted = 0;
  bool complete = true;
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    if (static_cast<StallReason>(i) == StallReason::kNotSelected) continue;
    counted += shares.stalled.values[i].value_or(0);
    complete = complete && shares.stalled.values[i].has_value();
  }
  const double rest = 1 - shares.selected - shares.stalled[StallReason::kNotSelected].value_or(0);
  const double all = complete ? counted : std::max(counted, rest);
  if (!(all > 0)) return result;
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    if (static_cast<StallReason>(i) == StallReason::kNotSelected) continue;
    const std::optional<double>& share = shares.stalled.values[i];
    if (share.has_value()) result.values[i] = std::min(1.0, *share / all);
  }
  return result;
}

StallShares NoIssueSharesOfSamples(const StallShares& sample_counts) {
  StallShares result;
  double all = 0;
  for (const std::optional<double>& count : sample_counts.values) all += count.value_or(0);
  if (!(all > 0)) return result;
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    const std::optional<double>& count = sample_counts.values[i];
    if (count.has_value()) result.values[i] = *count / all;
  }
  return result;
}

std::optional<double> SyncRatio(const StallShares& no_issue_shares) {
  if (!no_issue_shares[StallReason::kBarrier].has_value()) return std::nullopt;
  return std::min(1.0, Sum(no_issue_shares, {StallReason::kBarrier, StallReason::kMembar, StallReason::kSleeping}));
}

std::optional<double> QueueRatio(const StallShares& no_issue_shares, double latency_ratio, bool tensor_binds) {
  bool counted = false;
  for (const StallReason reason :
       {StallReason::kLgThrottle, StallReason::kMioThrottle, StallReason::kMathPipeThrottle}) {
    counted = counted || no_issue_shares[reason].has_value();
  }
  if (!counted) return std::nullopt;
  double ratio = Sum(no_issue_shares, {StallReason::kLgThrottle, StallReason::kMioThrottle,
                                       StallReason::kMathPipeThrottle, StallReason::kTexThrottle});
  ratio += (1 - latency_ratio) * no_issue_shares[StallReason::kLongScoreboard].value_or(0);
  if (tensor_binds) ratio += no_issue_shares[StallReason::kGmma].value_or(0);
  return std::clamp(ratio, 0.0, 1.0);
}

std::optional<LatencyParts> SplitLatency(const StallShares& no_issue_shares, double latency_ratio) {
  LatencyParts parts;
  parts.memory = latency_ratio * no_issue_shares[StallReason::kLongScoreboard].value_or(0) +
                 Sum(no_issue_shares, {StallReason::kDrain});
  parts.dependency =
      Sum(no_issue_shares, {StallReason::kWait, StallReason::kDispatchStall, StallReason::kBranchResolving});
  parts.shared = Sum(no_issue_shares, {StallReason::kShortScoreboard});
  parts.fetch = Sum(no_issue_shares, {StallReason::kNoInstruction, StallReason::kImcMiss});
  const double sum = parts.memory + parts.dependency + parts.shared + parts.fetch;
  if (!(sum > 0)) return std::nullopt;
  for (double* part : {&parts.memory, &parts.dependency, &parts.shared, &parts.fetch}) *part /= sum;
  return parts;
}

}  // namespace gx::model
