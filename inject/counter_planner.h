// From a set of counters, or a list of metrics, to groups that a chip counts in one pass each. One pass matters:
// without replay a launch runs once, and a configuration that needs two passes yields nothing. Pure: the chip is two
// questions.
//
// A group that needs several passes is split, the anchors in every part; a counter that needs several passes by itself
// is dropped, like one that the chip does not have. Nothing vanishes: what was asked for is in a group or in `dropped`.
// Equal questions and answers give equal plans.
//
// Run on a thread that may wait: every call of `passes` costs 1 to 2 ms (CUPTI 13.0). Not called from callbacks.
//
//   CounterPlan plan = PlanCounters({.set = CounterSet::kCore}, oracle);
#ifndef GPUEXEC_INJECT_COUNTER_PLANNER_H_
#define GPUEXEC_INJECT_COUNTER_PLANNER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inject/counter_sets.h"

namespace gx::inject {

// What is known of a chip.
struct ChipOracle {
  // Whether a metric, rollup and all, can be configured.
  std::function<bool(const std::string& metric)> exists;
  // Passes that the list needs; nothing where it cannot be configured together.
  std::function<std::optional<int>(const std::vector<std::string>& metrics)> passes;
};

struct CounterRequest {
  CounterSet set = CounterSet::kOff;
  // The user's own list, which then stands for the set.
  std::vector<std::string> metrics;
};

struct PlannedGroup {
  // "light+", its second part "light+.2"; of the user's list "user", "user_sass", "user_pcie", ...
  std::string name;
  GroupKind kind = GroupKind::kHardware;
  // Found no room in the groups of its set: worth a switch of groups only when all others have their samples.
  bool is_spare = false;
  // In the order in which they were found to fit; the anchors first.
  std::vector<std::string> metrics;
  // Of tensor paths, with counters that found room nowhere else: worth samples of every signature, of those without
  // tensor work last.
  bool is_for_all = false;

  bool operator==(const PlannedGroup&) const = default;
};

enum class DropReason : uint8_t {
  kMalformed,      // Empty, longer than a name can be, or with bytes that no name has.
  kRepeated,       // Was in the list before.
  kTooMany,        // Beyond kMaxRequestedMetrics.
  kDoesNotExist,   // On this chip.
  kSeveralPasses,  // Needs more than one, even alone; or one of its own, and is not worth it.
  kRefused,        // Exists, but CUPTI does not configure it.
  kNotAsked,       // The planner had used up its calls of the oracle.
};

struct DroppedMetric {
  // As asked for, printable. Of a set: the first spelling, without a rollup where all of several are meant.
  std::string name;
  DropReason reason = DropReason::kMalformed;
  // One sentence: why, and what to ask for instead where that is known.
  std::string text;

  bool operator==(const DroppedMetric&) const = default;
};

struct CounterPlan {
  std::vector<PlannedGroup> groups;  // In the order of collection.
  std::vector<DroppedMetric> dropped;
  int oracle_calls = 0;  // Of ChipOracle::passes.
  bool failed = false;   // An exception ended the planning; there are no groups.
};

// Groups that one session can count one after the other: the first one of hardware counters and the first one of the
// tensor cores, each with the first one of patched code, where they take two passes together. Patched code shares no
// pass, and CUPTI 13.0 puts hardware passes first: the first pass has all that the former group counts. Pure, but for
// two calls of `passes`.
struct GroupPair {
  uint32_t first = 0;
  uint32_t second = 0;
  bool operator==(const GroupPair&) const = default;
};
std::vector<GroupPair> PairsOf(const std::vector<PlannedGroup>& groups,
                               const std::function<std::optional<int>(const std::vector<std::string>&)>& passes);

// Calls of ChipOracle::passes in one plan: about two seconds of work. The sets need a tenth of it on every chip.
inline constexpr int kMaxOracleCalls = 1000;
// The longest name of CUPTI 13.0 has 91 bytes, its longest rollup 38.
inline constexpr size_t kMaxMetricNameBytes = 256;
// A chip has some 4,000 counters; nobody reads that many numbers of a kernel.
inline constexpr size_t kMaxRequestedMetrics = 512;

// "core", or metrics separated by commas. Nothing is looked up here: what is wrong with a name, the plan says.
CounterRequest ParseCounterRequest(std::string_view text);

// Never throws.
CounterPlan PlanCounters(const CounterRequest& request, const ChipOracle& oracle) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_COUNTER_PLANNER_H_
