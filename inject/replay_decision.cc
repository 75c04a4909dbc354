#include "inject/replay_decision.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace gx::inject {
namespace {

// As ScheduleOptions::first_round_ns: so much may always be spent.
constexpr uint64_t kAlwaysAllowedNs = 1'500'000'000;

// The configuration with one more group in it.
ReplayConfig With(ReplayConfig config, uint32_t number, const PlannedGroup& group) {
  std::unordered_map<std::string_view, uint32_t> known;
  for (uint32_t i = 0; i < config.metrics.size(); ++i) known.emplace(config.metrics[i], i);
  ReplayConfig::Part part;
  part.group = number;
  std::vector<std::string> more;
  for (const std::string& metric : group.metrics) {
    const auto [place, is_new] = known.emplace(metric, static_cast<uint32_t>(config.metrics.size() + more.size()));
    if (is_new) more.push_back(metric);
    part.columns.push_back(place->second);
  }
  config.metrics.insert(config.metrics.end(), more.begin(), more.end());
  config.parts.push_back(std::move(part));
  return config;
}

// In single passes: hardware first, spare groups last; else in the order of collection.
uint32_t Turn(const PlannedGroup& group) {
  return (group.kind == GroupKind::kHardware ? 0u : 1u) + (group.is_spare ? 2u : 0u);
}

}  // namespace

std::vector<ReplayConfig> PlanReplay(ReplayMode mode, std::span<const PlannedGroup> groups,
                                     const std::function<std::optional<int>(const std::vector<std::string>&)>& passes) {
  std::vector<uint32_t> order;
  for (uint32_t group = 0; group < groups.size(); ++group) {
    if (!groups[group].metrics.empty()) order.push_back(group);
  }
  std::vector<ReplayConfig> configs;
  switch (mode) {
    case ReplayMode::kOff:
      break;
    case ReplayMode::kSingle:
      std::stable_sort(order.begin(), order.end(),
                       [&](uint32_t a, uint32_t b) { return Turn(groups[a]) < Turn(groups[b]); });
      for (const uint32_t group : order) configs.push_back(With({}, group, groups[group]));
      break;
    case ReplayMode::kMulti: {
      ReplayConfig all;
      for (const uint32_t group : order) {
        if (groups[group].is_spare) continue;
        ReplayConfig more = With(all, group, groups[group]);
        const std::optional<int> count = passes(more.metrics);
        if (count) {
          more.passes = std::max(*count, 1);
          all = std::move(more);
        } else {
          configs.push_back(With({}, group, groups[group]));
        }
      }
      if (!all.parts.empty()) configs.insert(configs.begin(), std::move(all));
      break;
    }
  }
  return configs;
}

const ReplayConfig* ChooseReplay(std::span<const ReplayConfig> configs,
                                 const std::function<std::optional<uint32_t>(uint32_t group)>& samples) {
  const ReplayConfig* chosen = nullptr;
  uint32_t fewest = 0;
  for (const ReplayConfig& config : configs) {
    for (const ReplayConfig::Part& part : config.parts) {
      const std::optional<uint32_t> count = samples(part.group);
      if (!count || (chosen != nullptr && *count >= fewest)) continue;
      chosen = &config;
      fewest = *count;
    }
  }
  return chosen;
}

std::string_view ReplayRefusalText(ReplayRefusal refusal) {
  switch (refusal) {
    case ReplayRefusal::kNone:
    case ReplayRefusal::kNotNow:
      break;
    case ReplayRefusal::kDenied:
      return "cooperative, or its context shares memory with other devices or processes";
    case ReplayRefusal::kMayWait:
      return "other streams or contexts are in use, and it may be waiting for them";
    case ReplayRefusal::kTooLong:
      return "its launches take too long to be run several times";
    case ReplayRefusal::kBudget:
      return "it would exceed the half of GPUEXEC_BUDGET that replay may spend (off: no limit)";
    case ReplayRefusal::kBusy:
      return "the device did not become idle in time";
    case ReplayRefusal::kMemory:
      return "its memory could not be restored";
  }
  return "";
}

uint64_t ExpectedReplayNs(const ReplayFacts& facts) noexcept {
  const uint64_t passes = static_cast<uint64_t>(std::max(facts.passes, 1));
  const uint64_t session_ns = facts.session_ns == 0 ? kReplaySessionNs : facts.session_ns;
  const uint64_t pass_ns = kReplayPassNs + std::min(facts.longest_ns, kLongestReplayNs);
  return session_ns + passes * pass_ns;
}

uint64_t ReplayAllowanceNs(std::optional<double> budget_ratio, uint64_t wall_ns) noexcept {
  if (!budget_ratio) return UINT64_MAX;
  const double share_ns = *budget_ratio * static_cast<double>(wall_ns);
  if (!(share_ns > 0)) return kAlwaysAllowedNs;
  if (share_ns >= 9e18) return UINT64_MAX;
  return std::max(kAlwaysAllowedNs, static_cast<uint64_t>(share_ns));
}

ReplayRefusal JudgeReplay(const ReplayFacts& facts) noexcept {
  if (!facts.plan_ready || !facts.timing_window || facts.capture_open) return ReplayRefusal::kNotNow;
  if (facts.denied) return ReplayRefusal::kDenied;
  if (facts.others_may_run && !facts.graduated) return ReplayRefusal::kMayWait;
  const uint64_t passes = static_cast<uint64_t>(std::max(facts.passes, 1));
  if (facts.longest_ns > kLongestReplayNs / passes) return ReplayRefusal::kTooLong;
  const uint64_t allowance_ns = ReplayAllowanceNs(facts.budget_ratio, facts.wall_ns);
  if (allowance_ns != UINT64_MAX) {
    const uint64_t expected_ns = ExpectedReplayNs(facts);
    if (facts.spent_ns + expected_ns > allowance_ns / 2 || facts.counters_ns + expected_ns > allowance_ns) {
      return ReplayRefusal::kBudget;
    }
  }
  return ReplayRefusal::kNone;
}

}  // namespace gx::inject
