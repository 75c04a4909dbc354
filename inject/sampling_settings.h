// The variables of sampling -> SamplingSettings: GPUEXEC_COUNTERS, GPUEXEC_BUDGET, GPUEXEC_REPLAY and
// GPUEXEC_COUNTERS_DENY. Pure and total, as config.h: what is wrong is said in one sentence, and the default stands.
#ifndef GPUEXEC_INJECT_SAMPLING_SETTINGS_H_
#define GPUEXEC_INJECT_SAMPLING_SETTINGS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inject/counter_planner.h"

namespace gx::inject {

enum class ReplayMode : uint8_t {
  kOff,
  kSingle,  // Kernel replay of single-pass groups, for signatures that are launched too rarely.
  kMulti,   // And of groups that need several passes.
};

struct SamplingSettings {
  // GPUEXEC_COUNTERS: off, light, core, lean, full, or metrics separated by commas.
  CounterRequest counters = {.set = CounterSet::kCore, .metrics = {}};
  bool counters_are_set = false;  // By the user, rather than by default.
  // GPUEXEC_BUDGET: share of wall time; nothing for "off", no limit.
  std::optional<double> budget_ratio = 0.05;
  // GPUEXEC_REPLAY: off, single, multi.
  ReplayMode replay = ReplayMode::kOff;
  // GPUEXEC_COUNTERS_DENY: globs of kernel names that are never sampled.
  std::vector<std::string> deny;
};

inline constexpr size_t kMaxDenyGlobs = 64;
inline constexpr size_t kMaxDenyGlobBytes = 256;

// Each leaves the settings as they are where it returns a problem, except SetDeny, which keeps the globs that are fine.
// The texts are what config.h's `problems` hold. "" for none.
std::string SetCounters(std::string_view value, SamplingSettings* settings);
std::string SetBudget(std::string_view value, SamplingSettings* settings);
std::string SetReplay(std::string_view value, SamplingSettings* settings);
// One problem for each glob that is refused, by its name.
std::vector<std::string> SetDeny(std::string_view value, SamplingSettings* settings);

// All four from an environment of NAME=VALUE; others are not looked at.
SamplingSettings ParseSamplingSettings(const std::vector<std::string>& environment, std::vector<std::string>* problems);

// As a variable would have to be set to get them: (variable, value).
std::vector<std::pair<std::string, std::string>> DescribeSamplingSettings(const SamplingSettings& settings);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SAMPLING_SETTINGS_H_
