#include "inject/counter_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "inject/metric_name.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

std::vector<std::string> Words(std::string_view text, char separator) {
  std::vector<std::string> words;
  std::istringstream in{std::string(text)};
  for (std::string word; std::getline(in, word, separator);) words.push_back(word);
  return words;
}

// Metrics of the first spelling of each counter.
std::set<std::string> MetricsOf(std::span<const CounterSpec> counters) {
  std::set<std::string> metrics;
  for (const CounterSpec& spec : counters) {
    for (const std::string& rollup : Words(spec.rollups, ' ')) {
      metrics.insert(Words(spec.counter, '|').front() + rollup);
    }
  }
  return metrics;
}

const GroupSpec& Group(std::string_view name) {
  for (const GroupSpec& group : AllGroups()) {
    if (group.name == name) return group;
  }
  ADD_FAILURE() << "no group " << name;
  return AllGroups().front();
}

std::vector<std::string> NamesIn(CounterSet set) {
  std::vector<std::string> names;
  for (const GroupSpec& group : AllGroups()) {
    if (group.IsIn(set)) names.emplace_back(group.name);
  }
  return names;
}

TEST(CounterSets, AreKnownByTheirNames) {
  for (const CounterSet set :
       {CounterSet::kOff, CounterSet::kLight, CounterSet::kCore, CounterSet::kLean, CounterSet::kFull}) {
    EXPECT_EQ(ParseCounterSet(CounterSetName(set)), set);
  }
  EXPECT_EQ(CounterSetName(CounterSet::kCore), "core");
  EXPECT_EQ(ParseCounterSet("Core"), std::nullopt);
  EXPECT_EQ(ParseCounterSet(""), std::nullopt);
  EXPECT_EQ(ParseCounterSet("core,full"), std::nullopt);
}

TEST(CounterSets, CollectTheirGroupsInAFixedOrder) {
  EXPECT_THAT(NamesIn(CounterSet::kOff), IsEmpty());
  EXPECT_THAT(NamesIn(CounterSet::kLight), ElementsAre("light"));
  EXPECT_THAT(NamesIn(CounterSet::kCore),
              ElementsAre("light+", "sass+", "tensor", "tensor_bf16", "tensor_fp16", "tensor_tf32", "tensor_8bit",
                          "tensor_fp64_half", "tensor_4bit", "issue", "l2_in"));
  EXPECT_THAT(NamesIn(CounterSet::kLean),
              ElementsAre("light+", "sass+", "st1", "lat", "lsu", "tensor", "tensor_bf16", "tensor_fp16", "tensor_tf32",
                          "tensor_8bit", "tensor_fp64_half", "tensor_4bit", "st2", "st3", "st4", "issue", "l2_in"));
  EXPECT_THAT(NamesIn(CounterSet::kFull),
              ElementsAre("light+", "sass+", "st1", "lat", "lsu", "tensor", "tensor_bf16", "tensor_fp16", "tensor_tf32",
                          "tensor_8bit", "tensor_fp64_half", "tensor_4bit", "st2", "st3", "xbar", "tma", "pipes_a",
                          "pipes_b", "st4", "st5", "st6", "issue", "l2_in", "pipe_fp64", "tensor_mix"));
}

TEST(CounterSets, HaveWellFormedGroupsOfDifferentNames) {
  const std::regex counter("[a-z0-9]+__[a-z0-9_]+");
  const std::regex rollup("\\.(sum|avg|min|max)(\\.[a-z_]+)?");
  std::set<std::string_view> names;
  for (const GroupSpec& group : AllGroups()) {
    EXPECT_TRUE(names.insert(group.name).second) << group.name;
    EXPECT_FALSE(group.counters.empty()) << group.name;
    EXPECT_NE(group.sets, 0) << group.name;
    std::set<std::string_view> counters;
    for (const CounterSpec& spec : group.counters) {
      EXPECT_TRUE(counters.insert(spec.counter).second) << group.name << " repeats " << spec.counter;
      for (const std::string& spelling : Words(spec.counter, '|')) {
        for (const std::string& part : Words(spelling, '+')) {
          EXPECT_TRUE(std::regex_match(part, counter)) << group.name << ": '" << part << "' in " << spec.counter;
        }
      }
      const std::vector<std::string> rollups = Words(spec.rollups, ' ');
      EXPECT_FALSE(rollups.empty()) << spec.counter;
      for (const std::string& one : rollups) EXPECT_TRUE(std::regex_match(one, rollup)) << "'" << one << "'";
    }
  }
}

TEST(CounterSets, KeepPatchedCodeInOneGroupAndTheDeviceOutOfAll) {
  for (const GroupSpec& group : AllGroups()) {
    for (const std::string& metric : MetricsOf(group.counters)) {
      EXPECT_EQ(KindOfMetric(metric), group.kind == GroupKind::kSass ? MetricKind::kSass : MetricKind::kHardware)
          << group.name << " has " << metric;
    }
  }
}

TEST(CounterSets, HaveTheSizesThatWereMeasuredToFitOnePassOfGh100) {
  const std::set<std::string> anchors = MetricsOf(AnchorCounters());
  EXPECT_THAT(anchors,
              ElementsAre("gpc__cycles_elapsed.avg.per_second", "sm__cycles_active.avg", "sm__cycles_active.max"));
  EXPECT_EQ(MetricsOf(Group("light").counters).size() + anchors.size(), 30u);
  EXPECT_EQ(MetricsOf(Group("light+").counters).size() + anchors.size(), 60u);
  EXPECT_EQ(MetricsOf(Group("sass+").counters).size(), 50u);
}

TEST(CounterSets, HaveLightInsideLightPlus) {
  EXPECT_THAT(MetricsOf(Group("light+").counters), IsSupersetOf(MetricsOf(Group("light").counters)));
}

TEST(CounterSets, CountWarpsBesideEveryStallReason) {
  size_t reasons = 0;
  for (const GroupSpec& group : AllGroups()) {
    if (!group.name.starts_with("st")) continue;
    EXPECT_THAT(MetricsOf(group.in_every_part), ElementsAre("sm__warps_active.sum")) << group.name;
    reasons += group.counters.size();
  }
  EXPECT_EQ(reasons, 18u);
}

TEST(CounterSets, PlaceWhatRoamsAmongHardwareCounters) {
  for (const GroupSpec& group : AllGroups()) {
    if (group.roams) {
      EXPECT_EQ(group.kind, GroupKind::kHardware) << group.name;
    }
  }
  EXPECT_TRUE(Group("issue").roams);
  EXPECT_FALSE(Group("light+").roams);
}

TEST(CounterSets, NameTheKindsOfGroups) {
  EXPECT_EQ(GroupKindName(GroupKind::kHardware), "hardware");
  EXPECT_EQ(GroupKindName(GroupKind::kSass), "sass");
  EXPECT_EQ(GroupKindName(GroupKind::kTensor), "tensor");
  EXPECT_EQ(GroupKindName(GroupKind::kPcie), "pcie");
  EXPECT_EQ(GroupKindName(GroupKind::kNvlink), "nvlink");
  EXPECT_EQ(GroupKindName(GroupKind::kDevice), "device");
}

}  // namespace
}  // namespace gx::inject
