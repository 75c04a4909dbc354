#include "inject/replay_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PlannedGroup Group(const std::string& name, GroupKind kind, std::vector<std::string> metrics, bool is_spare = false) {
  PlannedGroup group;
  group.name = name;
  group.kind = kind;
  group.is_spare = is_spare;
  group.metrics = std::move(metrics);
  return group;
}

// As `core` on a GH100: shared anchors, a group of patched code between hardware, a spare one.
const std::vector<PlannedGroup>& Core() {
  static const auto& groups = *new std::vector<PlannedGroup>{
      Group("light+", GroupKind::kHardware, {"cycles", "clock", "dram", "l2"}),
      Group("sass+", GroupKind::kSass, {"ffma", "loads"}),
      Group("tensor", GroupKind::kTensor, {"cycles", "clock", "hmma"}),
      Group("lat", GroupKind::kHardware, {"cycles", "clock", "pending"}),
      Group("issue", GroupKind::kHardware, {"cycles", "clock", "issued"}, true),
  };
  return groups;
}

std::vector<uint32_t> GroupsOf(const ReplayConfig& config) {
  std::vector<uint32_t> groups;
  for (const ReplayConfig::Part& part : config.parts) groups.push_back(part.group);
  return groups;
}

// Two metrics a pass.
std::optional<int> TwoInAPass(const std::vector<std::string>& metrics) {
  return (static_cast<int>(metrics.size()) + 1) / 2;
}

// ---------------------------------------------------------------------------------------------- rarity

TEST(ReplayDecision, TheFirstLaunchesOfASignatureAreRareAndLaterOnesAfterALongTime) {
  EXPECT_TRUE(IsRare(0, 0));
  EXPECT_TRUE(IsRare(2, 1));
  EXPECT_FALSE(IsRare(3, 1));
  EXPECT_FALSE(IsRare(3, kSeldomNs - 1));
  EXPECT_TRUE(IsRare(3, kSeldomNs));
  EXPECT_TRUE(IsRare(UINT32_MAX, UINT64_MAX));
}

// ---------------------------------------------------------------------------------------------- configurations

TEST(ReplayDecision, OffPlansNothing) { EXPECT_THAT(PlanReplay(ReplayMode::kOff, Core(), TwoInAPass), IsEmpty()); }

TEST(ReplayDecision, InSinglePassesEachGroupStandsByItselfHardwareFirstAndSpareOnesLast) {
  const auto configs = PlanReplay(ReplayMode::kSingle, Core(), TwoInAPass);
  ASSERT_THAT(configs, SizeIs(5));
  std::vector<uint32_t> order;
  for (const ReplayConfig& config : configs) {
    ASSERT_THAT(config.parts, SizeIs(1));
    EXPECT_EQ(config.passes, 1);
    EXPECT_EQ(config.metrics, Core()[config.parts[0].group].metrics);
    order.push_back(config.parts[0].group);
  }
  EXPECT_THAT(order, ElementsAre(0, 3, 1, 2, 4));
}

TEST(ReplayDecision, InSeveralPassesAllGroupsButSpareOnesAreTogetherAndEachMetricOnce) {
  const auto configs = PlanReplay(ReplayMode::kMulti, Core(), TwoInAPass);
  ASSERT_THAT(configs, SizeIs(1));
  const ReplayConfig& all = configs[0];
  EXPECT_THAT(GroupsOf(all), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(all.metrics, ElementsAre("cycles", "clock", "dram", "l2", "ffma", "loads", "hmma", "pending"));
  EXPECT_EQ(all.passes, 4);
  // Every group finds its own metrics, in its own order.
  for (const ReplayConfig::Part& part : all.parts) {
    std::vector<std::string> metrics;
    for (const uint32_t column : part.columns) metrics.push_back(all.metrics.at(column));
    EXPECT_EQ(metrics, Core()[part.group].metrics);
  }
}

TEST(ReplayDecision, WhatTheChipDoesNotConfigureWithTheRestStandsByItself) {
  const auto not_with_sass = [](const std::vector<std::string>& metrics) -> std::optional<int> {
    std::set<std::string> set(metrics.begin(), metrics.end());
    if (set.contains("cycles") && set.contains("ffma")) return std::nullopt;
    return 3;
  };
  const auto configs = PlanReplay(ReplayMode::kMulti, Core(), not_with_sass);
  ASSERT_THAT(configs, SizeIs(2));
  EXPECT_THAT(GroupsOf(configs[0]), ElementsAre(0, 2, 3));
  EXPECT_EQ(configs[0].passes, 3);
  EXPECT_THAT(GroupsOf(configs[1]), ElementsAre(1));
}

TEST(ReplayDecision, GroupsWithoutMetricsAndARefusalOfEverythingGiveNoEmptyConfiguration) {
  const std::vector<PlannedGroup> groups = {Group("none", GroupKind::kHardware, {}),
                                            Group("one", GroupKind::kHardware, {"m"})};
  const auto never = [](const std::vector<std::string>&) -> std::optional<int> { return std::nullopt; };
  for (const ReplayMode mode : {ReplayMode::kSingle, ReplayMode::kMulti}) {
    const auto configs = PlanReplay(mode, groups, never);
    ASSERT_THAT(configs, SizeIs(1));
    EXPECT_THAT(GroupsOf(configs[0]), ElementsAre(1));
  }
  EXPECT_THAT(PlanReplay(ReplayMode::kMulti, {}, never), IsEmpty());
}

TEST(ReplayDecision, AGroupThatNamesAMetricTwiceKeepsBothColumns) {
  const std::vector<PlannedGroup> groups = {Group("twice", GroupKind::kHardware, {"m", "n", "m"})};
  const auto configs = PlanReplay(ReplayMode::kMulti, groups, TwoInAPass);
  ASSERT_THAT(configs, SizeIs(1));
  EXPECT_THAT(configs[0].metrics, ElementsAre("m", "n"));
  EXPECT_THAT(configs[0].parts[0].columns, ElementsAre(0, 1, 0));
}

// ---------------------------------------------------------------------------------------------- the choice

// Samples of groups that are wanted.
std::vector<uint32_t> Chosen(ReplayMode mode, const std::map<uint32_t, uint32_t>& samples) {
  const auto configs = PlanReplay(mode, Core(), TwoInAPass);
  const ReplayConfig* chosen = ChooseReplay(configs, [&](uint32_t group) -> std::optional<uint32_t> {
    const auto found = samples.find(group);
    return found == samples.end() ? std::nullopt : std::optional(found->second);
  });
  return chosen == nullptr ? std::vector<uint32_t>() : GroupsOf(*chosen);
}

TEST(ReplayDecision, TheGroupWithTheFewestSamplesIsNext) {
  EXPECT_THAT(Chosen(ReplayMode::kSingle, {{0, 0}, {1, 0}, {3, 0}}), ElementsAre(0)) << "the first of equals";
  EXPECT_THAT(Chosen(ReplayMode::kSingle, {{0, 1}, {1, 0}, {3, 0}}), ElementsAre(3)) << "hardware first";
  EXPECT_THAT(Chosen(ReplayMode::kSingle, {{0, 1}, {1, 0}, {3, 1}}), ElementsAre(1));
  EXPECT_THAT(Chosen(ReplayMode::kSingle, {{4, 2}}), ElementsAre(4));
  EXPECT_THAT(Chosen(ReplayMode::kMulti, {{3, 2}}), ElementsAre(0, 1, 2, 3));
}

TEST(ReplayDecision, WithoutAWantedGroupNothingIsChosen) {
  EXPECT_THAT(Chosen(ReplayMode::kSingle, {}), IsEmpty());
  EXPECT_THAT(Chosen(ReplayMode::kMulti, {}), IsEmpty());
  EXPECT_THAT(Chosen(ReplayMode::kMulti, {{4, 0}}), IsEmpty()) << "spare groups are not in it";
}

// ---------------------------------------------------------------------------------------------- refusals

// A launch that nothing speaks against.
ReplayFacts Fine() {
  ReplayFacts facts;
  facts.plan_ready = true;
  facts.timing_window = true;
  facts.passes = 3;
  facts.wall_ns = 1'000'000'000;
  return facts;
}

struct Case {
  const char* what;
  void (*change)(ReplayFacts* facts);
  ReplayRefusal refusal;
};
constexpr Case kCases[] = {
    {"nothing", [](ReplayFacts*) {}, ReplayRefusal::kNone},
    {"no plan", [](ReplayFacts* f) { f->plan_ready = false; }, ReplayRefusal::kNotNow},
    {"a counter window", [](ReplayFacts* f) { f->timing_window = false; }, ReplayRefusal::kNotNow},
    {"a capture", [](ReplayFacts* f) { f->capture_open = true; }, ReplayRefusal::kNotNow},
    {"denied", [](ReplayFacts* f) { f->denied = true; }, ReplayRefusal::kDenied},
    {"other streams", [](ReplayFacts* f) { f->others_may_run = true; }, ReplayRefusal::kMayWait},
    {"other streams, ended alone before", [](ReplayFacts* f) { f->others_may_run = f->graduated = true; },
     ReplayRefusal::kNone},
    {"a denied one that ended alone", [](ReplayFacts* f) { f->denied = f->graduated = true; }, ReplayRefusal::kDenied},
    {"as long as it may be", [](ReplayFacts* f) { f->longest_ns = kLongestReplayNs / 3; }, ReplayRefusal::kNone},
    {"too long in all passes", [](ReplayFacts* f) { f->longest_ns = kLongestReplayNs / 3 + 1; },
     ReplayRefusal::kTooLong},
    {"a length that overflows", [](ReplayFacts* f) { f->longest_ns = UINT64_MAX; }, ReplayRefusal::kTooLong},
    {"half of what may be spent", [](ReplayFacts* f) { f->budget_ratio = 0.05; }, ReplayRefusal::kNone},
    {"a second one at once",
     [](ReplayFacts* f) {
       f->budget_ratio = 0.05;
       f->spent_ns = f->counters_ns = 445'000'000;
     },
     ReplayRefusal::kBudget},
    {"the rest is spent by counter windows",
     [](ReplayFacts* f) {
       f->budget_ratio = 0.05;
       f->counters_ns = 1'200'000'000;
     },
     ReplayRefusal::kBudget},
    {"a second one later in the run",
     [](ReplayFacts* f) {
       f->budget_ratio = 0.05;
       f->spent_ns = f->counters_ns = 445'000'000;
       f->wall_ns = 40'000'000'000;
     },
     ReplayRefusal::kNone},
    {"dear sessions, as measured",
     [](ReplayFacts* f) {
       f->budget_ratio = 0.05;
       f->session_ns = 800'000'000;
     },
     ReplayRefusal::kBudget},
    {"the same without a budget",
     [](ReplayFacts* f) {
       f->session_ns = 800'000'000;
       f->spent_ns = f->counters_ns = UINT64_MAX;
     },
     ReplayRefusal::kNone},
};

TEST(ReplayDecision, EachRefusalHasItsReason) {
  for (const Case& c : kCases) {
    ReplayFacts facts = Fine();
    c.change(&facts);
    EXPECT_EQ(JudgeReplay(facts), c.refusal) << c.what;
  }
}

TEST(ReplayDecision, WhatIsSaidOfTheLaunchComesBeforeWhatIsSaidOfTheBudget) {
  ReplayFacts facts = Fine();
  facts.budget_ratio = 0;
  facts.counters_ns = UINT64_MAX / 2;
  facts.longest_ns = UINT64_MAX;
  facts.others_may_run = facts.denied = facts.capture_open = true;
  EXPECT_EQ(JudgeReplay(facts), ReplayRefusal::kNotNow);
  facts.capture_open = false;
  EXPECT_EQ(JudgeReplay(facts), ReplayRefusal::kDenied);
  facts.denied = false;
  EXPECT_EQ(JudgeReplay(facts), ReplayRefusal::kMayWait);
  facts.others_may_run = false;
  EXPECT_EQ(JudgeReplay(facts), ReplayRefusal::kTooLong);
  facts.longest_ns = 0;
  EXPECT_EQ(JudgeReplay(facts), ReplayRefusal::kBudget);
}

TEST(ReplayDecision, WhatAReplayIsExpectedToTakeGrowsWithItsPasses) {
  ReplayFacts facts = Fine();
  facts.longest_ns = 1'000'000;
  EXPECT_EQ(ExpectedReplayNs(facts), kReplaySessionNs + 3 * (kReplayPassNs + 1'000'000));
  facts.session_ns = 100'000'000;
  facts.passes = 0;  // Not known.
  EXPECT_EQ(ExpectedReplayNs(facts), 100'000'000 + kReplayPassNs + 1'000'000);
  facts.longest_ns = UINT64_MAX;
  facts.passes = 1000;
  EXPECT_GT(ExpectedReplayNs(facts), 1000 * kReplayPassNs) << "does not overflow";
}

TEST(ReplayDecision, TheAllowanceIsThatOfTheSchedule) {
  EXPECT_EQ(ReplayAllowanceNs(std::nullopt, 0), UINT64_MAX);
  EXPECT_EQ(ReplayAllowanceNs(0.05, 1'000'000'000), 1'500'000'000u) << "so much is always allowed";
  EXPECT_EQ(ReplayAllowanceNs(0.05, 100'000'000'000), 5'000'000'000u);
  EXPECT_EQ(ReplayAllowanceNs(0, UINT64_MAX), 1'500'000'000u);
  EXPECT_EQ(ReplayAllowanceNs(1e9, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(ReplayAllowanceNs(std::numeric_limits<double>::quiet_NaN(), 1), 1'500'000'000u);
}

TEST(ReplayDecision, EveryRefusalThatIsToldHasATextOfItsOwn) {
  std::set<std::string> texts;
  for (uint32_t i = 0; i < kReplayRefusals; ++i) {
    const auto refusal = static_cast<ReplayRefusal>(i);
    const bool is_told = refusal != ReplayRefusal::kNone && refusal != ReplayRefusal::kNotNow;
    EXPECT_EQ(!ReplayRefusalText(refusal).empty(), is_told) << i;
    if (is_told) texts.insert(std::string(ReplayRefusalText(refusal)));
  }
  EXPECT_THAT(texts, SizeIs(kReplayRefusals - 2));
}

}  // namespace
}  // namespace gx::inject
