// Which launches GPUEXEC_REPLAY runs again for their counters, and of which groups: launches whose signature comes too
// rarely for counter windows. Pure.
//
// Kernel replay waits for the kernel inside the launch call, where no deadline can reach. It is therefore only for
// launches that cannot wait for anything that comes later: nothing else can run beside them, or their function is known
// to end alone.
#ifndef GPUEXEC_INJECT_REPLAY_DECISION_H_
#define GPUEXEC_INJECT_REPLAY_DECISION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inject/counter_planner.h"
#include "inject/sampling_settings.h"

namespace gx::inject {

// ------------------------------------------------------------------------------------------------ what is replayed

// A signature is rare for its first launches, and again when it has not been launched for a while: the schedule takes
// as long to come round to what comes regularly.
inline constexpr uint32_t kRareLaunches = 3;
inline constexpr uint64_t kSeldomNs = 10'000'000'000;

// `earlier_launches`: of the signature; `since_last_ns`: since the last of them.
constexpr bool IsRare(uint32_t earlier_launches, uint64_t since_last_ns) noexcept {
  return earlier_launches < kRareLaunches || since_last_ns >= kSeldomNs;
}

// One configuration of CUPTI, and the groups of the plan that its values are of.
struct ReplayConfig {
  struct Part {
    uint32_t group = 0;
    std::vector<uint32_t> columns;  // Of each of the group's metrics in `metrics`.
  };
  std::vector<std::string> metrics;  // Each once.
  int passes = 1;
  std::vector<Part> parts;
};

// kSingle: each group by itself, hardware first. kMulti: all groups but spare ones together, as far as `passes` says
// that the chip configures them together; what it does not stands by itself.
std::vector<ReplayConfig> PlanReplay(ReplayMode mode, std::span<const PlannedGroup> groups,
                                     const std::function<std::optional<int>(const std::vector<std::string>&)>& passes);

// The configuration that brings the most wanted group, which is the one with the fewest samples; the first of equals.
// `samples`: of a group, for this signature; nothing: not wanted. Null: nothing is.
const ReplayConfig* ChooseReplay(std::span<const ReplayConfig> configs,
                                 const std::function<std::optional<uint32_t>(uint32_t group)>& samples);

// ------------------------------------------------------------------------------------------------ whether it may be

enum class ReplayRefusal : uint8_t {
  kNone,
  kNotNow,   // A counter window or a capture is open, nothing is recorded, no plan: says nothing of the launch.
  kDenied,   // By name, or by what the launch and its context were seen doing.
  kMayWait,  // Something else can run beside it, and it is not known to end alone.
  kTooLong,  // The signature's launches take too long to be run several times.
  kBudget,   // Of time.
  kBusy,     // The device did not become idle in time.
  kMemory,   // Could not be restored, or is too much: ReplayMemory has the words.
};
inline constexpr uint32_t kReplayRefusals = 8;

// One sentence for the trace; "" for kNone and kNotNow, which are told nobody.
std::string_view ReplayRefusalText(ReplayRefusal refusal);

struct ReplayFacts {
  bool plan_ready = false;
  bool timing_window = false;  // The present window is one, and no session is open anywhere.
  bool capture_open = false;
  bool denied = false;
  // Other streams or contexts are there that the launch could be waiting for.
  bool others_may_run = false;
  bool graduated = false;  // The function completed alone before.
  int passes = 1;
  uint64_t longest_ns = 0;   // Of the signature's timed launches; 0: not known.
  uint64_t session_ns = 0;   // What a replay costs beside its passes, as measured; 0: not known yet.
  uint64_t spent_ns = 0;     // By replay so far.
  uint64_t counters_ns = 0;  // By all counters so far, replay among them.
  uint64_t wall_ns = 0;
  std::optional<double> budget_ratio;  // Nothing: no limit.
};

// The first that holds, in the order of the enumeration.
ReplayRefusal JudgeReplay(const ReplayFacts& facts) noexcept;

// What a replay takes: measured with CUPTI 13.0 on an H200 (0.4 s to enable, start, stop and disable; 15 ms a pass
// whatever the kernel), and the launch itself once a pass.
inline constexpr uint64_t kReplaySessionNs = 400'000'000;
inline constexpr uint64_t kReplayPassNs = 15'000'000;
uint64_t ExpectedReplayNs(const ReplayFacts& facts) noexcept;

// What all counters may cost by then: as CounterSchedule has it. Replay may spend half of it. UINT64_MAX: no limit.
uint64_t ReplayAllowanceNs(std::optional<double> budget_ratio, uint64_t wall_ns) noexcept;

// A launch of more than this in all its passes is not replayed.
inline constexpr uint64_t kLongestReplayNs = 2'000'000'000;

// Device memory in use beyond which nothing is replayed: CUPTI saves and restores what a kernel may write, for each
// pass. 2 GiB fit twice on every device that has counters, and take some 0.1 s to copy even over PCIe.
inline constexpr uint64_t kReplayMemoryBytes = uint64_t{2} << 30;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_REPLAY_DECISION_H_
