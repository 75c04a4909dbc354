#include "inject/counter_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "inject/metric_name.h"

namespace gx::inject {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Names = std::vector<std::string>;

const Names kAnchors = {"sm__cycles_active.avg", "sm__cycles_active.max", "gpc__cycles_elapsed.avg.per_second"};

// A chip in the manner of the real ones: a counter takes slots of its unit, rollups of a counter share them, patched
// code is a pass of its own, counters of the device do not mix with others.
struct FakeChip {
  // What the chip has, of all that is in any set or asked for. Default: the first spelling of everything.
  std::function<bool(const std::string& counter)> has = [](const std::string&) { return true; };
  std::map<std::string, int> slots;  // Of a counter, by name. Default: 1; of anchors and peaks: 0.
  std::map<std::string, int> room;   // Of a unit in a pass. Default: unlimited.
  std::set<std::string> refused;     // Exist, but are not configured.
  mutable int calls = 0;

  bool Exists(const std::string& metric) const {
    return !RollupOfMetric(metric).empty() && has(std::string(CounterOfMetric(metric)));
  }

  std::optional<int> Passes(const Names& metrics) const {
    ++calls;
    std::map<std::string, std::set<std::string>> counters;
    std::set<MetricKind> kinds;
    for (const std::string& metric : metrics) {
      if (!Exists(metric) || refused.contains(metric)) return std::nullopt;
      kinds.insert(KindOfMetric(metric));
      const bool is_free =
          metric.ends_with(".peak_sustained") || std::find(kAnchors.begin(), kAnchors.end(), metric) != kAnchors.end();
      if (!is_free) counters[std::string(UnitOfMetric(metric))].emplace(CounterOfMetric(metric));
    }
    const bool has_sass = kinds.erase(MetricKind::kSass) != 0;
    if (kinds.size() > 1) return std::nullopt;
    int passes = has_sass ? 0 : 1;
    for (const auto& [unit, names] : counters) {
      int taken = 0;
      for (const std::string& name : names) {
        if (KindOfMetric(name) == MetricKind::kSass) continue;
        const auto it = slots.find(name);
        taken += it == slots.end() ? 1 : it->second;
      }
      const auto it = room.find(unit);
      if (it != room.end()) passes = std::max(passes, (taken + it->second - 1) / it->second);
    }
    if (has_sass && kinds.empty()) return 1;
    return has_sass ? std::max(passes, 1) + 1 : passes;
  }

  ChipOracle Oracle() const {
    return {[this](const std::string& metric) { return Exists(metric); },
            [this](const Names& metrics) { return Passes(metrics); }};
  }
};

CounterPlan PlanOf(CounterSet set, const FakeChip& chip) {
  chip.calls = 0;
  CounterPlan plan = PlanCounters({.set = set, .metrics = {}}, chip.Oracle());
  EXPECT_EQ(plan.oracle_calls, chip.calls);
  return plan;
}

CounterPlan PlanOf(const Names& metrics, const FakeChip& chip) {
  return PlanCounters({.set = CounterSet::kOff, .metrics = metrics}, chip.Oracle());
}

Names GroupNames(const CounterPlan& plan) {
  Names names;
  for (const PlannedGroup& group : plan.groups) names.push_back(group.name);
  return names;
}

const PlannedGroup& Group(const CounterPlan& plan, std::string_view name) {
  static const PlannedGroup kNone;
  for (const PlannedGroup& group : plan.groups) {
    if (group.name == name) return group;
  }
  ADD_FAILURE() << "no group " << name;
  return kNone;
}

Names Texts(const CounterPlan& plan) {
  Names texts;
  for (const DroppedMetric& dropped : plan.dropped) texts.push_back(dropped.text);
  return texts;
}

FakeChip ChipWithout(const std::set<std::string>& counters) {
  FakeChip chip;
  chip.has = [counters](const std::string& counter) { return !counters.contains(counter); };
  return chip;
}

bool HasGmma(const std::string& counter) { return counter.find("gmma") != std::string::npos; }

// ------------------------------------------------------------------------------------------------------------ sets

TEST(CounterPlanner, PlansAGroupThatFitsInOneCallWithItsAnchorsFirst) {
  const CounterPlan plan = PlanOf(CounterSet::kLight, FakeChip{});
  ASSERT_THAT(GroupNames(plan), ElementsAre("light"));
  const PlannedGroup& light = plan.groups[0];
  EXPECT_EQ(light.kind, GroupKind::kHardware);
  EXPECT_FALSE(light.is_spare);
  EXPECT_THAT(light.metrics, SizeIs(30));
  EXPECT_EQ(Names(light.metrics.begin(), light.metrics.begin() + 3), kAnchors);
  EXPECT_EQ(plan.oracle_calls, 1);
  EXPECT_THAT(plan.dropped, IsEmpty());
  EXPECT_FALSE(plan.failed);
}

TEST(CounterPlanner, PlansNothingForOff) {
  const CounterPlan plan = PlanOf(CounterSet::kOff, FakeChip{});
  EXPECT_THAT(plan.groups, IsEmpty());
  EXPECT_THAT(plan.dropped, IsEmpty());
  EXPECT_EQ(plan.oracle_calls, 0);
}

TEST(CounterPlanner, AsksOncePerGroupWhereEverythingFits) {
  // Every group of the set once, and each of the four that roam once: it fits into light+.
  const CounterPlan plan = PlanOf(CounterSet::kFull, FakeChip{});
  EXPECT_EQ(plan.oracle_calls, static_cast<int>(plan.groups.size()) + 4);
}

TEST(CounterPlanner, SplitsAGroupThatDoesNotFitAndRepeatsTheAnchors) {
  FakeChip chip;
  chip.room["smsp"] = 2;  // inst_executed, issue_active, cycles_active.
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  const Names names = GroupNames(plan);
  ASSERT_GE(names.size(), 3u);
  EXPECT_THAT(Names(names.begin(), names.begin() + 3), ElementsAre("light+", "light+.2", "sass+"));
  const Names& first = Group(plan, "light+").metrics;
  const Names& second = Group(plan, "light+.2").metrics;
  EXPECT_THAT(first, Contains("smsp__issue_active.sum"));
  EXPECT_THAT(first, Contains("gr__ctas_launched.sum")) << "what comes after the counter without room still goes first";
  EXPECT_THAT(first, Not(Contains("smsp__cycles_active.sum")));
  EXPECT_THAT(second, Contains("smsp__cycles_active.sum"));
  EXPECT_EQ(Names(second.begin(), second.begin() + 3), kAnchors);
}

TEST(CounterPlanner, KeepsTheRollupsOfACounterInOnePart) {
  FakeChip chip;
  chip.room["smsp"] = 1;
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  for (const std::string_view counter : {"smsp__inst_executed", "smsp__issue_active"}) {
    int parts = 0;
    for (const PlannedGroup& group : plan.groups) {
      const Names all = {std::string(counter) + ".sum", std::string(counter) + ".max", std::string(counter) + ".avg"};
      if (std::find(group.metrics.begin(), group.metrics.end(), all[0]) == group.metrics.end()) continue;
      EXPECT_THAT(group.metrics, IsSupersetOf(all));
      ++parts;
    }
    EXPECT_EQ(parts, 1) << counter;
  }
}

TEST(CounterPlanner, KeepsPatchedCodeApartAndWithoutAnchors) {
  const CounterPlan plan = PlanOf(CounterSet::kFull, FakeChip{});
  const PlannedGroup& sass = Group(plan, "sass+");
  EXPECT_EQ(sass.kind, GroupKind::kSass);
  EXPECT_THAT(sass.metrics, SizeIs(50));
  EXPECT_THAT(sass.metrics, Each(HasSubstr("_sass_")));
  for (const PlannedGroup& group : plan.groups) {
    if (group.kind != GroupKind::kSass) {
      EXPECT_THAT(group.metrics, Each(Not(HasSubstr("_sass_")))) << group.name;
    }
  }
}

TEST(CounterPlanner, TakesTheSpellingOfTheChip) {
  const CounterPlan plan = PlanOf(CounterSet::kLight, ChipWithout({"dram__bytes_read", "dram__bytes_write"}));
  EXPECT_THAT(plan.groups[0].metrics, IsSupersetOf({"dram__bytes_op_read.sum", "dram__bytes_op_write.sum"}));
  EXPECT_THAT(plan.dropped, IsEmpty());

  const CounterPlan older = PlanOf(CounterSet::kLight, ChipWithout({"dram__bytes_read", "dram__bytes_op_read"}));
  EXPECT_THAT(older.groups[0].metrics, Contains("fbpa__dram_read_bytes.sum"));
}

TEST(CounterPlanner, DropsByNameWhatTheChipDoesNotHave) {
  const CounterPlan plan =
      PlanOf(CounterSet::kCore, ChipWithout({"dram__bytes", "gr__ctas_launched", "smsp__sass_inst_executed_op_tma"}));
  EXPECT_THAT(Texts(plan), IsSupersetOf({"dram__bytes does not exist on this chip",
                                         "gr__ctas_launched.sum does not exist on this chip",
                                         "smsp__sass_inst_executed_op_tma.sum does not exist on this chip"}));
  EXPECT_THAT(plan.dropped, Each(Field(&DroppedMetric::reason, DropReason::kDoesNotExist)));
  for (const PlannedGroup& group : plan.groups) EXPECT_THAT(group.metrics, Not(Contains("dram__bytes.sum")));
}

TEST(CounterPlanner, DropsARollupThatTheChipDoesNotHave) {
  const FakeChip chip;
  ChipOracle oracle = chip.Oracle();
  oracle.exists = [&](const std::string& metric) { return metric != "smsp__inst_executed.sum.peak_sustained"; };
  const CounterPlan plan = PlanCounters({.set = CounterSet::kLight, .metrics = {}}, oracle);
  EXPECT_THAT(Texts(plan), ElementsAre("smsp__inst_executed.sum.peak_sustained does not exist on this chip"));
  EXPECT_THAT(plan.groups[0].metrics, Contains("smsp__inst_executed.sum"));
}

TEST(CounterPlanner, LeavesOutAGroupOfWhichNothingExists) {
  FakeChip chip;
  chip.has = [](const std::string& counter) { return counter.find("tma") == std::string::npos; };
  EXPECT_THAT(GroupNames(PlanOf(CounterSet::kFull, chip)), Not(Contains("tma")));
}

TEST(CounterPlanner, DropsACounterThatNeedsSeveralPassesAlone) {
  FakeChip chip;
  chip.room["lts"] = 20;
  chip.slots["lts__lts2xbar_cycles_active"] = 40;
  const CounterPlan plan = PlanOf(CounterSet::kLean, chip);
  EXPECT_THAT(plan.dropped,
              Contains(DroppedMetric{"lts__lts2xbar_cycles_active", DropReason::kSeveralPasses,
                                     "lts__lts2xbar_cycles_active needs 2 passes even alone, and a launch runs once"}));
  EXPECT_THAT(Group(plan, "lsu").metrics, Contains("sm__inst_executed_pipe_lsu.sum"));
}

TEST(CounterPlanner, DropsACounterThatCuptiRefuses) {
  FakeChip chip;
  chip.refused = {"gr__ctas_launched.sum"};
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  EXPECT_THAT(plan.dropped, Contains(DroppedMetric{"gr__ctas_launched.sum", DropReason::kRefused,
                                                   "gr__ctas_launched.sum is refused by CUPTI, even alone"}));
  EXPECT_THAT(GroupNames(plan), Contains("light+"));
  EXPECT_THAT(Group(plan, "light+").metrics, Contains("dram__bytes.sum"));
}

TEST(CounterPlanner, CountsStallReasonsBesideTheWarpsInEveryPart) {
  FakeChip chip;
  chip.room["smsp"] = 1;
  const CounterPlan plan = PlanOf(CounterSet::kLean, chip);
  EXPECT_THAT(GroupNames(plan), IsSupersetOf({"st1", "st1.2", "st1.3", "st4.3"}));
  for (const PlannedGroup& group : plan.groups) {
    if (group.name.starts_with("st")) {
      EXPECT_THAT(group.metrics, Contains("sm__warps_active.sum")) << group.name;
    }
  }
}

// ------------------------------------------------------------------------------------------------- the tensor paths

TEST(CounterPlanner, MarksTensorGroupsAndGivesThemAnchors) {
  const CounterPlan plan = PlanOf(CounterSet::kCore, FakeChip{});
  int tensor_groups = 0;
  for (const PlannedGroup& group : plan.groups) {
    const bool has_path = std::any_of(group.metrics.begin(), group.metrics.end(), [](const std::string& metric) {
      return metric.starts_with("sm__ops_path_tensor") && !metric.ends_with("peak_sustained");
    });
    EXPECT_EQ(group.kind == GroupKind::kTensor, has_path) << group.name;
    if (!has_path) continue;
    ++tensor_groups;
    EXPECT_THAT(group.metrics, IsSupersetOf(kAnchors));
  }
  EXPECT_GE(tensor_groups, 2);
}

TEST(CounterPlanner, CombinesTheCommonPathsWhereThereIsWgmma) {
  const CounterPlan hopper = PlanOf(CounterSet::kCore, FakeChip{});
  EXPECT_THAT(
      Group(hopper, "tensor").metrics,
      IsSupersetOf({"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum", "sm__ops_path_tensor_op_hgmma_src_fp16.sum",
                    "sm__ops_path_tensor_src_fp8.sum", "sm__ops_path_tensor_src_fp64.sum"}));
  std::map<std::string, int> times;
  for (const PlannedGroup& group : hopper.groups) {
    if (group.kind != GroupKind::kTensor) continue;
    for (const std::string& metric : group.metrics) ++times[metric];
  }
  for (const auto& [metric, count] : times) {
    if (metric.starts_with("sm__ops")) {
      EXPECT_EQ(count, 1) << metric << " is counted in several groups";
    }
  }

  FakeChip ampere;
  ampere.has = [](const std::string& counter) {
    return !HasGmma(counter) && counter.find("_op_") == std::string::npos;
  };
  const CounterPlan plan = PlanOf(CounterSet::kCore, ampere);
  EXPECT_THAT(GroupNames(plan), Not(Contains("tensor")));
  EXPECT_THAT(Group(plan, "tensor_bf16").metrics, Contains("sm__ops_path_tensor_src_bf16_dst_fp32.sum"));
  EXPECT_THAT(Group(plan, "tensor_fp64_half").metrics, Contains("sm__ops_path_tensor_src_fp64.sum"));
}

TEST(CounterPlanner, CountsAPathInPartsWhereTheWholeNeedsSeveralPasses) {
  FakeChip chip;
  chip.room["sm"] = 2;
  chip.slots["sm__ops_path_tensor_op_imma_src_int8"] = 3;
  chip.has = [](const std::string& counter) { return counter.find("_realtime") == std::string::npos; };
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  Names all;
  for (const PlannedGroup& group : plan.groups) all.insert(all.end(), group.metrics.begin(), group.metrics.end());
  EXPECT_THAT(all, IsSupersetOf({"sm__ops_path_tensor_op_imma_src_int8_sparsity_off.sum",
                                 "sm__ops_path_tensor_op_imma_src_int8_sparsity_on.sum"}));
  EXPECT_THAT(all, Not(Contains("sm__ops_path_tensor_op_imma_src_int8.sum")));
  EXPECT_THAT(plan.dropped, Not(Contains(Field(&DroppedMetric::reason, DropReason::kSeveralPasses))));
}

TEST(CounterPlanner, PrefersTheFormForSamplingToParts) {
  FakeChip chip;
  chip.room["sm"] = 8;
  chip.slots["sm__ops_path_tensor_op_imma_src_int8"] = 9;
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  EXPECT_THAT(Group(plan, "tensor_8bit").metrics, Contains("sm__ops_path_tensor_op_imma_src_int8_realtime.sum"));
}

// ---------------------------------------------------------------------------------------------------- what roams

TEST(CounterPlanner, PutsEligibleWarpsIntoTheFirstGroupThatHasRoom) {
  const Names issue = {"smsp__warps_eligible.sum", "smsp__inst_issued.sum"};
  const CounterPlan roomy = PlanOf(CounterSet::kCore, FakeChip{});
  EXPECT_THAT(Group(roomy, "light+").metrics, IsSupersetOf(issue));
  EXPECT_THAT(GroupNames(roomy), Not(Contains("issue")));

  FakeChip chip;
  chip.room["smsp"] = 3;  // What light+ and st1 take.
  const CounterPlan lean = PlanOf(CounterSet::kLean, chip);
  EXPECT_THAT(Group(lean, "lat").metrics, IsSupersetOf(issue));
  EXPECT_THAT(Group(lean, "light+").metrics, Not(Contains(issue[0])));
  EXPECT_THAT(Group(lean, "st1").metrics, Not(Contains(issue[0])));
  EXPECT_THAT(GroupNames(lean), Not(Contains("issue")));
}

TEST(CounterPlanner, GivesEligibleWarpsAGroupOfTheirOwnAtTheEndWhereNoneHasRoom) {
  FakeChip chip;
  chip.room["smsp"] = 3;
  chip.has = [](const std::string& counter) { return !counter.starts_with("sm__ops_path_tensor_"); };
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  ASSERT_FALSE(plan.groups.empty());
  const PlannedGroup& last = plan.groups.back();
  EXPECT_EQ(last.name, "issue");
  EXPECT_TRUE(last.is_spare);
  EXPECT_EQ(last.kind, GroupKind::kHardware);
  EXPECT_THAT(last.metrics,
              ElementsAre(kAnchors[0], kAnchors[1], kAnchors[2], "smsp__warps_eligible.sum", "smsp__inst_issued.sum"));
  EXPECT_EQ(std::count_if(plan.groups.begin(), plan.groups.end(), [](const PlannedGroup& g) { return g.is_spare; }), 1);
}

TEST(CounterPlanner, MakesATensorGroupThatTakesWhatRoamsOneForAllSignatures) {
  FakeChip chip;
  chip.room["smsp"] = 3;  // The tensor groups take none of it.
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  EXPECT_THAT(GroupNames(plan), Not(Contains("issue")));
  int groups = 0;
  for (const PlannedGroup& group : plan.groups) {
    const bool holds =
        std::find(group.metrics.begin(), group.metrics.end(), "smsp__warps_eligible.sum") != group.metrics.end();
    groups += holds ? 1 : 0;
    EXPECT_EQ(group.is_for_all, holds) << group.name;
    EXPECT_FALSE(group.is_spare) << group.name;
    EXPECT_TRUE(!holds || group.kind == GroupKind::kTensor) << group.name;
  }
  EXPECT_EQ(groups, 1);
}

TEST(CounterPlanner, CountsWhatL2TakesInWhereAGroupHasRoom) {
  const std::string taken_in = "lts__xbar2lts_cycles_active.sum";
  EXPECT_THAT(Group(PlanOf(CounterSet::kCore, FakeChip{}), "light+").metrics, Contains(taken_in));

  FakeChip chip;
  chip.room["lts"] = 20;
  chip.slots["lts__xbar2lts_cycles_active"] = 21;
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  EXPECT_THAT(GroupNames(plan), Not(Contains("l2_in")));
  EXPECT_THAT(plan.dropped, Contains(DroppedMetric{"lts__xbar2lts_cycles_active", DropReason::kSeveralPasses,
                                                   "lts__xbar2lts_cycles_active needs a pass of its own here, which it "
                                                   "is not worth"}));
}

// -------------------------------------------------------------------------------------------------- two in a session

TEST(CounterPlanner, PairsTheFirstGroupsOfHardwareAndOfTensorCoresWithPatchedCode) {
  const FakeChip chip;
  const CounterPlan plan = PlanOf(CounterSet::kFull, chip);
  std::vector<std::string> names;
  for (const GroupPair& pair : PairsOf(plan.groups, chip.Oracle().passes)) {
    names.push_back(plan.groups[pair.first].name + ", " + plan.groups[pair.second].name);
  }
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0], "light+, sass+");
  EXPECT_TRUE(names[1].starts_with("tensor") && names[1].ends_with(", sass+")) << names[1];
}

TEST(CounterPlanner, PairsNothingWhereTwoPassesDoNotSuffice) {
  const FakeChip chip;
  const CounterPlan plan = PlanOf(CounterSet::kCore, chip);
  for (const std::optional<int> passes : {std::optional<int>(1), std::optional<int>(3), std::optional<int>()}) {
    EXPECT_TRUE(PairsOf(plan.groups, [&](const Names&) { return passes; }).empty());
  }
  EXPECT_TRUE(PairsOf({}, chip.Oracle().passes).empty());
  const CounterPlan light = PlanOf(CounterSet::kLight, chip);
  EXPECT_TRUE(PairsOf(light.groups, chip.Oracle().passes).empty());
  const CounterPlan patched = PlanOf({"smsp__sass_inst_executed.sum"}, chip);
  EXPECT_TRUE(PairsOf(patched.groups, chip.Oracle().passes).empty());
}

// -------------------------------------------------------------------------------------------------- the user's list

TEST(CounterPlanner, SortsTheUsersListByWhatCanShareAPass) {
  const CounterPlan plan =
      PlanOf({"pcie__read_bytes.sum", "smsp__sass_inst_executed.sum", "smsp__inst_executed.sum", "nvlrx__bytes.sum",
              "ctc__rx_bytes.sum", "lts__t_sectors.sum", "pcie__write_bytes.sum"},
             FakeChip{});
  EXPECT_THAT(plan.dropped, IsEmpty());
  ASSERT_THAT(GroupNames(plan), ElementsAre("user", "user_sass", "user_pcie", "user_nvlink", "user_device"));
  EXPECT_THAT(plan.groups[0].metrics,
              ElementsAre(kAnchors[0], kAnchors[1], kAnchors[2], "smsp__inst_executed.sum", "lts__t_sectors.sum"));
  EXPECT_THAT(plan.groups[1].metrics, ElementsAre("smsp__sass_inst_executed.sum"));
  EXPECT_THAT(plan.groups[2].metrics, ElementsAre("pcie__read_bytes.sum", "pcie__write_bytes.sum"));
  EXPECT_THAT(plan.groups[3].metrics, ElementsAre("nvlrx__bytes.sum"));
  EXPECT_THAT(plan.groups[4].metrics, ElementsAre("ctc__rx_bytes.sum"));
  EXPECT_EQ(plan.groups[1].kind, GroupKind::kSass);
  EXPECT_EQ(plan.groups[2].kind, GroupKind::kPcie);
  EXPECT_EQ(plan.groups[3].kind, GroupKind::kNvlink);
  EXPECT_EQ(plan.groups[4].kind, GroupKind::kDevice);
}

TEST(CounterPlanner, CountsTensorPathsOfTheUsersListForEveryLaunch) {
  const CounterPlan plan = PlanOf({"sm__ops_path_tensor_src_fp64.sum"}, FakeChip{});
  ASSERT_THAT(GroupNames(plan), ElementsAre("user"));
  EXPECT_EQ(plan.groups[0].kind, GroupKind::kHardware);
}

TEST(CounterPlanner, FindsCountersOfTheDeviceThatItDoesNotKnow) {
  FakeChip chip;
  ChipOracle oracle = chip.Oracle();
  oracle.passes = [&](const Names& metrics) -> std::optional<int> {
    const auto is_new = [](const std::string& metric) { return metric.starts_with("newlink__"); };
    const auto count = std::count_if(metrics.begin(), metrics.end(), is_new);
    if (count == 0) return chip.Passes(metrics);
    return count == static_cast<ptrdiff_t>(metrics.size()) ? std::optional<int>(1) : std::nullopt;
  };
  const CounterPlan plan = PlanCounters(
      {.set = CounterSet::kOff, .metrics = {"newlink__bytes.sum", "lts__t_sectors.sum", "newlink__packets.sum"}},
      oracle);
  EXPECT_THAT(plan.dropped, IsEmpty());
  ASSERT_THAT(GroupNames(plan), ElementsAre("user", "user_device"));
  EXPECT_THAT(plan.groups[1].metrics, ElementsAre("newlink__bytes.sum", "newlink__packets.sum"));
  EXPECT_THAT(plan.groups[0].metrics, Contains("lts__t_sectors.sum"));
}

TEST(CounterPlanner, RefusesBadNamesByName) {
  const std::string long_name = "sm__" + std::string(300, 'a') + ".sum";
  FakeChip chip;
  chip.has = [](const std::string& counter) {
    return counter == "lts__t_sectors" || counter == "dram__bytes_op_read" || counter == "sm__cycles_active";
  };
  const CounterPlan plan = PlanOf({"lts__t_sectors.sum", "", "a\x1b[2Jb", long_name, "lts__t_sectors.sum", "cor",
                                   "lts__t_sectors", "no__such.sum", "dram__bytes_read.sum"},
                                  chip);
  EXPECT_THAT(GroupNames(plan), ElementsAre("user"));
  EXPECT_THAT(
      plan.dropped,
      ElementsAre(DroppedMetric{"gpc__cycles_elapsed.avg.per_second", DropReason::kDoesNotExist,
                                "gpc__cycles_elapsed.avg.per_second does not exist on this chip"},
                  DroppedMetric{"\"\"", DropReason::kMalformed, "\"\" is not the name of a metric"},
                  DroppedMetric{"a\\x1b[2Jb", DropReason::kMalformed,
                                "a\\x1b[2Jb has bytes that the name of a metric cannot have"},
                  DroppedMetric{"sm__" + std::string(156, 'a') + "...", DropReason::kMalformed,
                                "sm__" + std::string(156, 'a') + "... has 308 bytes, the name of a metric at most 256"},
                  DroppedMetric{"lts__t_sectors.sum", DropReason::kRepeated,
                                "lts__t_sectors.sum is in the list more than once"},
                  DroppedMetric{"cor", DropReason::kDoesNotExist,
                                "cor is not a metric, which ends in a rollup such as .sum, .avg or .max"},
                  DroppedMetric{"lts__t_sectors", DropReason::kDoesNotExist,
                                "lts__t_sectors is not a metric, which ends in a rollup such as .sum, .avg or "
                                ".max; ask for lts__t_sectors.sum"},
                  DroppedMetric{"no__such.sum", DropReason::kDoesNotExist, "no__such.sum does not exist on this chip"},
                  DroppedMetric{"dram__bytes_read.sum", DropReason::kDoesNotExist,
                                "dram__bytes_read.sum does not exist on this chip; here it is "
                                "dram__bytes_op_read.sum"}));
}

TEST(CounterPlanner, SaysWhatToAskForInsteadOfAThroughput) {
  FakeChip chip = ChipWithout({"lts__lts2xbar_cycles_active"});
  chip.room["lts"] = 2;
  chip.slots["lts__throughput"] = 7;
  chip.slots["lts__t_sector_hit_rate"] = 3;
  const CounterPlan plan = PlanOf(
      {"lts__throughput.avg.pct_of_peak_sustained_elapsed", "lts__t_sector_hit_rate.pct", "lts__t_bytes.sum"}, chip);
  EXPECT_THAT(
      Texts(plan),
      ElementsAre("lts__throughput.avg.pct_of_peak_sustained_elapsed needs 4 passes even alone, and a launch runs "
                  "once; ask for lts__t_sectors.sum",
                  "lts__t_sector_hit_rate.pct needs 2 passes even alone, and a launch runs once; ask for "
                  "lts__t_sectors_lookup_hit.sum, lts__t_sectors.sum"));
  EXPECT_THAT(GroupNames(plan), ElementsAre("user"));
}

TEST(CounterPlanner, KeepsACounterWhoseOtherRollupNeedsSeveralPasses) {
  const FakeChip chip;
  ChipOracle oracle = chip.Oracle();
  oracle.passes = [&](const Names& metrics) -> std::optional<int> {
    const bool has_percentage =
        std::find(metrics.begin(), metrics.end(), "lts__t_bytes.sum.pct_of_peak_sustained_elapsed") != metrics.end();
    return has_percentage ? 3 : chip.Passes(metrics);
  };
  const CounterPlan plan = PlanCounters(
      {.set = CounterSet::kOff, .metrics = {"lts__t_bytes.sum", "lts__t_bytes.sum.pct_of_peak_sustained_elapsed"}},
      oracle);
  EXPECT_THAT(Group(plan, "user").metrics, Contains("lts__t_bytes.sum"));
  EXPECT_THAT(Texts(plan),
              ElementsAre("lts__t_bytes.sum.pct_of_peak_sustained_elapsed needs 3 passes even alone, and a "
                          "launch runs once"));
}

TEST(CounterPlanner, PlansAnchorsThatAreAskedFor) {
  const CounterPlan beside = PlanOf({"sm__cycles_active.max", "lts__t_sectors.sum"}, FakeChip{});
  EXPECT_THAT(GroupNames(beside), ElementsAre("user"));
  EXPECT_THAT(beside.groups[0].metrics, ElementsAre(kAnchors[0], kAnchors[1], kAnchors[2], "lts__t_sectors.sum"));
  const CounterPlan alone = PlanOf({"sm__cycles_active.max", "pcie__read_bytes.sum"}, FakeChip{});
  EXPECT_THAT(Group(alone, "user").metrics, ElementsAre(kAnchors[0], kAnchors[1], kAnchors[2]));
}

TEST(CounterPlanner, TakesSoManyMetricsAndNamesTheRest) {
  Names list;
  for (size_t i = 0; i < kMaxRequestedMetrics + 2; ++i) list.push_back("lts__t_" + std::to_string(i) + ".sum");
  const CounterPlan plan = PlanOf(list, FakeChip{});
  EXPECT_THAT(Group(plan, "user").metrics, SizeIs(kMaxRequestedMetrics + 3));
  EXPECT_THAT(plan.dropped,
              ElementsAre(DroppedMetric{"lts__t_512.sum", DropReason::kTooMany,
                                        "lts__t_512.sum was not planned: the list has more than 512 metrics"},
                          DroppedMetric{"lts__t_513.sum", DropReason::kTooMany,
                                        "lts__t_513.sum was not planned: the list has more than 512 metrics"}));
}

TEST(CounterPlanner, ReadsASetOrAList) {
  EXPECT_EQ(ParseCounterRequest("lean").set, CounterSet::kLean);
  EXPECT_THAT(ParseCounterRequest("lean").metrics, IsEmpty());
  const CounterRequest list = ParseCounterRequest("dram__bytes.sum,,lts__t_sectors.sum,");
  EXPECT_EQ(list.set, CounterSet::kOff);
  EXPECT_THAT(list.metrics, ElementsAre("dram__bytes.sum", "lts__t_sectors.sum"));
  EXPECT_THAT(ParseCounterRequest("").metrics, IsEmpty());
  EXPECT_THAT(ParseCounterRequest("cor").metrics, ElementsAre("cor"));
}

// ------------------------------------------------------------------------------------------------ limits and faults

TEST(CounterPlanner, StopsAskingAndNamesWhatWasNotPlanned) {
  // Every counter fits alone, none beside another: the list that takes the most questions.
  FakeChip chip;
  chip.room["lts"] = 1;
  Names list;
  for (size_t i = 0; i < kMaxRequestedMetrics; ++i) list.push_back("lts__t_" + std::to_string(i) + ".sum");
  const CounterPlan plan = PlanOf(list, chip);
  EXPECT_EQ(plan.oracle_calls, kMaxOracleCalls);
  EXPECT_EQ(chip.calls, kMaxOracleCalls);
  EXPECT_GT(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups.size() + plan.dropped.size(), kMaxRequestedMetrics);
  EXPECT_THAT(plan.dropped, Each(Field(&DroppedMetric::reason, DropReason::kNotAsked)));
  EXPECT_THAT(plan.dropped.back().text,
              "lts__t_511.sum was not planned: the list takes more than 1000 questions to CUPTI; ask for less");
}

TEST(CounterPlanner, DropsEverythingWhereNothingFits) {
  for (const std::optional<int> answer : {std::optional<int>(2), std::optional<int>(), std::optional<int>(0)}) {
    FakeChip chip;
    ChipOracle oracle = chip.Oracle();
    oracle.passes = [&](const Names&) { return answer; };
    for (const CounterSet set : {CounterSet::kLight, CounterSet::kCore, CounterSet::kFull}) {
      const CounterPlan plan = PlanCounters({.set = set, .metrics = {}}, oracle);
      EXPECT_THAT(plan.groups, IsEmpty());
      EXPECT_FALSE(plan.dropped.empty());
      EXPECT_LE(plan.oracle_calls, kMaxOracleCalls);
    }
  }
}

TEST(CounterPlanner, NeverAsksMoreThanItSays) {
  // Nothing fits, so that every metric is tried in several ways: the last question falls anywhere among them.
  for (size_t length = 60; length <= kMaxRequestedMetrics; length += 7) {
    int calls = 0;
    ChipOracle oracle;
    oracle.exists = [](const std::string&) { return true; };
    oracle.passes = [&](const Names&) {
      ++calls;
      return 2;
    };
    Names list;
    for (size_t i = 0; i < length; ++i) list.push_back("lts__t_" + std::to_string(i) + ".sum");
    const CounterPlan plan = PlanCounters({.set = CounterSet::kOff, .metrics = list}, oracle);
    EXPECT_LE(calls, kMaxOracleCalls) << length;
    EXPECT_EQ(calls, plan.oracle_calls) << length;
    EXPECT_THAT(plan.dropped, SizeIs(length));
  }
}

TEST(CounterPlanner, LetsNoExceptionOut) {
  ChipOracle oracle = FakeChip{}.Oracle();
  oracle.exists = [](const std::string&) { return true; };
  oracle.passes = [](const Names&) -> std::optional<int> { throw std::runtime_error("from CUPTI's side"); };
  const CounterPlan plan = PlanCounters({.set = CounterSet::kCore, .metrics = {}}, oracle);
  EXPECT_TRUE(plan.failed);
  EXPECT_THAT(plan.groups, IsEmpty());
}

// ------------------------------------------------------------------------------------------------------- properties

std::vector<std::string> Words(std::string_view text, char separator) {
  Names words;
  std::istringstream in{std::string(text)};
  for (std::string word; std::getline(in, word, separator);) words.push_back(word);
  return words;
}

// What holds of every plan, whatever the chip.
void CheckPlan(const CounterPlan& plan, const ChipOracle& oracle) {
  EXPECT_FALSE(plan.failed);
  EXPECT_LE(plan.oracle_calls, kMaxOracleCalls);
  std::set<std::string> names;
  for (const PlannedGroup& group : plan.groups) {
    EXPECT_TRUE(names.insert(group.name).second) << "two groups " << group.name;
    EXPECT_EQ(oracle.passes(group.metrics), 1) << group.name;
    EXPECT_EQ(std::set<std::string>(group.metrics.begin(), group.metrics.end()).size(), group.metrics.size());
    for (const std::string& metric : group.metrics) {
      EXPECT_TRUE(oracle.exists(metric)) << metric;
      if (group.kind == GroupKind::kSass) {
        EXPECT_THAT(metric, HasSubstr("_sass_"));
      }
      if (HasAnchors(group.kind)) {
        EXPECT_EQ(KindOfMetric(metric), MetricKind::kHardware) << metric;
      }
    }
    if (!HasAnchors(group.kind)) continue;
    for (const std::string& anchor : kAnchors) {
      if (oracle.exists(anchor)) {
        EXPECT_THAT(group.metrics, Contains(anchor)) << group.name;
      }
    }
  }
  for (const DroppedMetric& dropped : plan.dropped) {
    EXPECT_THAT(dropped.text, AllOf(StartsWith(dropped.name + " "), SizeIs(testing::Gt(dropped.name.size() + 5))));
  }
}

// All existing rollups of one spelling of the counter are planned, or the counter is dropped by name.
void CheckNothingVanished(CounterSet set, const CounterPlan& plan, const ChipOracle& oracle) {
  std::set<std::string> planned;
  for (const PlannedGroup& group : plan.groups) planned.insert(group.metrics.begin(), group.metrics.end());
  std::set<std::string> dropped;
  for (const DroppedMetric& metric : plan.dropped) dropped.insert(metric.name);
  for (const GroupSpec& group : AllGroups()) {
    if (!group.IsIn(set) || (!group.only_with.empty() && !oracle.exists(std::string(group.only_with)))) continue;
    for (const CounterSpec& spec : group.counters) {
      bool found = false;
      for (const std::string& spelling : Words(spec.counter, '|')) {
        bool complete = true;
        for (const std::string& counter : Words(spelling, '+')) {
          for (const std::string& rollup : Words(spec.rollups, ' ')) {
            complete = complete && (planned.contains(counter + rollup) || dropped.contains(counter + rollup));
          }
        }
        found = found || complete;
      }
      std::string name = Words(spec.counter, '|').front();
      if (spec.rollups.find(' ') == std::string_view::npos) name += spec.rollups;
      EXPECT_TRUE(found || dropped.contains(name)) << group.name << ": " << spec.counter;
    }
  }
}

FakeChip RandomChip(std::mt19937_64* random) {
  FakeChip chip;
  const auto below = [&](uint64_t limit) { return static_cast<int>((*random)() % limit); };
  const uint64_t salt = (*random)();
  const uint64_t missing_of_16 = (*random)() % 8;
  chip.has = [=](const std::string& counter) {
    return std::hash<std::string>{}(counter + std::to_string(salt)) % 16 >= missing_of_16;
  };
  for (const char* unit : {"sm", "smsp", "lts", "l1tex", "dram", "gpu", "gr"}) {
    if (below(3) != 0) chip.room[unit] = 1 + below(5);
  }
  for (const GroupSpec& group : AllGroups()) {
    for (const CounterSpec& spec : group.counters) {
      for (const std::string& spelling : Words(spec.counter, '|')) {
        for (const std::string& counter : Words(spelling, '+')) {
          chip.slots[counter] = below(8) == 0 ? 6 : below(3);
          if (below(40) == 0) chip.refused.insert(counter + ".sum");
        }
      }
    }
  }
  return chip;
}

TEST(CounterPlannerProperty, EveryGroupHasOnePassAndNothingVanishes) {
  std::mt19937_64 random(20251130);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const FakeChip chip = RandomChip(&random);
    const auto set = static_cast<CounterSet>(1 + random() % 4);
    const CounterPlan plan = PlanOf(set, chip);
    CheckPlan(plan, chip.Oracle());
    if (plan.oracle_calls < kMaxOracleCalls) CheckNothingVanished(set, plan, chip.Oracle());
    const CounterPlan again = PlanOf(set, chip);
    EXPECT_EQ(plan.groups, again.groups);
    EXPECT_EQ(plan.dropped, again.dropped);
    if (HasFailure()) break;
  }
}

TEST(CounterPlannerProperty, HoldsForAnOracleWithoutRhymeOrReason) {
  // More metrics may need fewer passes: nothing may be concluded from one answer about another.
  std::mt19937_64 random(4711);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const uint64_t salt = random();
    ChipOracle oracle;
    oracle.exists = [=](const std::string& metric) {
      return std::hash<std::string>{}(metric + std::to_string(salt)) % 8 != 0;
    };
    oracle.passes = [=](const Names& metrics) -> std::optional<int> {
      std::string all = std::to_string(salt);
      for (const std::string& metric : metrics) all += metric;
      const uint64_t answer = std::hash<std::string>{}(all) % 4;
      return answer == 0 ? std::nullopt : std::optional<int>(static_cast<int>(answer));
    };
    const CounterPlan plan = PlanCounters({.set = CounterSet::kFull, .metrics = {}}, oracle);
    CheckPlan(plan, oracle);
    if (plan.oracle_calls < kMaxOracleCalls) CheckNothingVanished(CounterSet::kFull, plan, oracle);
    if (HasFailure()) break;
  }
}

TEST(CounterPlannerProperty, NoMetricOfAUsersListVanishes) {
  std::mt19937_64 random(99);
  const Names units = {"sm", "smsp", "lts", "pcie", "nvlrx", "ctc"};
  const Names rollups = {".sum", ".max", ".avg", ""};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const FakeChip chip = RandomChip(&random);
    Names list;
    for (uint64_t i = random() % 60; i > 0; --i) {
      std::string name = units[random() % units.size()] + (random() % 4 == 0 ? "__sass_" : "__") + "x" +
                         std::to_string(random() % 20) + rollups[random() % rollups.size()];
      if (random() % 16 == 0) name = kAnchors[random() % kAnchors.size()];
      if (random() % 32 == 0) name = std::string(random() % 3, static_cast<char>(random() % 256));
      list.push_back(name);
    }
    if (list.empty()) continue;
    const CounterPlan plan = PlanOf(list, chip);
    CheckPlan(plan, chip.Oracle());
    std::set<std::string> accounted;
    for (const PlannedGroup& group : plan.groups) accounted.insert(group.metrics.begin(), group.metrics.end());
    for (const DroppedMetric& dropped : plan.dropped) accounted.insert(dropped.name);
    for (const std::string& name : list) {
      EXPECT_TRUE(accounted.contains(name.empty() ? "\"\"" : PrintableMetricName(name))) << name;
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace gx::inject
