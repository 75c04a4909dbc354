// The sets of hardware counters that can be asked for, as data: which groups a set has, in which order they are
// collected, which counters a group wants. A group is meant to be counted in one pass, so over one launch; whether that
// holds on the chip at hand is for the planner to find out (counter_planner.h). Pure. [MT]
//
// Sources: names and meaning from the CUPTI documentation and from the host API itself
// (cuptiProfilerHostGetMetricProperties); what shares a pass was asked of the host API of CUPTI 13.0 for every chip
// that it knows, and tests/contract/counter_plans_test.cc asks again.
#ifndef GPUEXEC_INJECT_COUNTER_SETS_H_
#define GPUEXEC_INJECT_COUNTER_SETS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gx::inject {

enum class CounterSet : uint8_t {
  kOff,
  kLight,  // One pass: time, clock, traffic at each level, occupancy, issue.
  kCore,   // light and more, and what patched code counts: FLOP, bytes asked for, instructions by kind.
  kLean,   // core, shared memory and L1, latency, the commoner stall reasons.
  kFull,   // All groups.
};

std::string_view CounterSetName(CounterSet set);
// Nothing for a text that is not the name of a set.
std::optional<CounterSet> ParseCounterSet(std::string_view text);

enum class GroupKind : uint8_t {
  kHardware,
  kSass,    // Counted by patched code: slow, and blocks inside the launch.
  kTensor,  // Hardware counters, wanted only of launches whose tensor pipe was active (a light group tells).
  kPcie,    // Of the device, not of a context; the rest too.
  kNvlink,
  kDevice,
};

std::string_view GroupKindName(GroupKind kind);

// True for the kinds whose groups carry the anchors.
constexpr bool HasAnchors(GroupKind kind) { return kind == GroupKind::kHardware || kind == GroupKind::kTensor; }

// One counter and the rollups wanted of it, separated by spaces. They cost one slot of the hardware together and stay
// in one pass: the maximum of one launch says nothing about the mean of another.
struct CounterSpec {
  // Spellings, best first, as "a|b|c+d". Taken is the first that the chip has and that fits into one pass; "c+d" are
  // two counters whose sum is meant, for chips that cannot count the sum at once.
  std::string_view counter;
  std::string_view rollups;
};

struct GroupSpec {
  std::string_view name;
  GroupKind kind = GroupKind::kHardware;
  uint8_t sets = 0;  // Bits 1 << CounterSet.
  std::span<const CounterSpec> counters;
  // Counted again in every part if the group has to be split: what its counters are shares of.
  std::span<const CounterSpec> in_every_part = {};
  // Planned only on chips that have this metric. Empty: on all.
  std::string_view only_with = {};
  // Has no place of its own: its counters go into the first group of hardware counters that has room, else of tensor
  // paths, else into a group of their own.
  bool roams = false;
  // Roams, and is left out where no group has room: not worth a session of its own.
  bool only_where_room = false;

  constexpr bool IsIn(CounterSet set) const { return (sets >> static_cast<unsigned>(set) & 1u) != 0; }
};

// What every group of hardware counters holds: cycles of the launch, on the mean SM and on the busiest, and the SM
// clock. They tie a sample to the load and speed it was taken at, and samples of different groups to each other.
std::span<const CounterSpec> AnchorCounters();

// All groups of all sets, in the order of collection: most telling first, where time for counters is short.
std::span<const GroupSpec> AllGroups();

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_COUNTER_SETS_H_
