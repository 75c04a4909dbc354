// The counter sets on every chip that a real CUPTI knows: its host API needs neither a GPU nor a driver. Prints the
// plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifndef GX_CUPTI_LIBRARY

TEST(CounterPlans, HoldOnEveryChip) {
  GTEST_SKIP() << "no CUDA toolkit with a libcupti was found when the build was configured, so no chip can be asked";
}

#else

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "inject/counter_planner.h"
#include "inject/metric_catalog.h"
#include "inject/metric_name.h"

namespace gx::inject {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr CounterSet kSets[] = {CounterSet::kLight, CounterSet::kCore, CounterSet::kLean, CounterSet::kFull};
// Calls of the oracle that a set may cost at the start of a run, on chips from Turing on.
constexpr int kMaxCallsOfASet = 80;

const ProfilerHostApi& Api() {
  static const ProfilerHostApi kApi = [] {
    ProfilerHostApi api;
    std::vector<std::string> problems;
    EXPECT_TRUE(LoadProfilerHost(GX_CUPTI_LIBRARY, &api, &problems)) << ::testing::PrintToString(problems);
    return api;
  }();
  return kApi;
}

// GV11B is in CUPTI's list of names, and refused.
std::vector<std::string> Chips() {
  std::vector<std::string> chips;
  for (const std::string& chip : SupportedChips(Api())) {
    if (chip != "GV11B") chips.push_back(chip);
  }
  return chips;
}

std::unique_ptr<MetricCatalog> Open(const std::string& chip) {
  std::string problem;
  auto catalog = MetricCatalog::Open(Api(), chip, {}, &problem);
  EXPECT_NE(catalog, nullptr) << problem;
  return catalog;
}

CounterPlan PlanOf(CounterSet set, const MetricCatalog& catalog) {
  return PlanCounters({.set = set, .metrics = {}}, catalog.Oracle());
}

std::vector<std::string> GroupNames(const CounterPlan& plan) {
  std::vector<std::string> names;
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

void CheckGroup(const PlannedGroup& group, const MetricCatalog& catalog) {
  EXPECT_EQ(catalog.Passes(group.metrics), 1) << group.name;
  for (const std::string& metric : group.metrics) {
    EXPECT_TRUE(catalog.Exists(metric)) << metric;
    EXPECT_EQ(KindOfMetric(metric) == MetricKind::kSass, group.kind == GroupKind::kSass) << metric;
  }
  const std::set<std::string> once(group.metrics.begin(), group.metrics.end());
  EXPECT_EQ(once.size(), group.metrics.size()) << group.name;
  if (!HasAnchors(group.kind)) return;
  EXPECT_THAT(group.metrics,
              IsSupersetOf({"sm__cycles_active.avg", "sm__cycles_active.max", "gpc__cycles_elapsed.avg.per_second"}))
      << group.name;
}

// One group has both: of hardware counters, or of tensor paths and then for all signatures.
void CheckEligibleWarps(const CounterPlan& plan) {
  int groups = 0;
  for (const PlannedGroup& group : plan.groups) {
    const std::set<std::string> metrics(group.metrics.begin(), group.metrics.end());
    if (!metrics.contains("smsp__warps_eligible.sum")) continue;
    ++groups;
    EXPECT_TRUE(group.kind == GroupKind::kHardware || group.is_for_all) << group.name;
    EXPECT_TRUE(metrics.contains("smsp__inst_issued.sum"));
  }
  EXPECT_EQ(groups, 1);
}

TEST(CounterPlans, HoldOnEveryChip) {
  const std::vector<std::string> chips = Chips();
  ASSERT_THAT(chips, IsSupersetOf({"GA100", "GA102", "AD102", "GH100", "GB100", "GB202"}));
  std::printf("%-6s %-5s %6s %5s %5s  groups (metrics), * where none had room\n", "chip", "set", "groups", "calls",
              "ms");
  for (const std::string& chip : chips) {
    const auto catalog = Open(chip);
    ASSERT_NE(catalog, nullptr);
    std::set<std::string> dropped;
    for (const CounterSet set : kSets) {
      SCOPED_TRACE(chip + " " + std::string(CounterSetName(set)));
      const auto begin = std::chrono::steady_clock::now();
      const CounterPlan plan = PlanOf(set, *catalog);
      const auto took = std::chrono::steady_clock::now() - begin;
      std::printf("%-6s %-5s %6zu %5d %5lld ", chip.c_str(), std::string(CounterSetName(set)).c_str(),
                  plan.groups.size(), plan.oracle_calls,
                  static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
      for (const PlannedGroup& group : plan.groups) {
        std::printf(" %s%s(%zu)", group.is_spare ? "*" : "", group.name.c_str(), group.metrics.size());
        CheckGroup(group, *catalog);
      }
      std::printf("\n");
      EXPECT_FALSE(plan.groups.empty());
      const bool is_before_ampere = chip.starts_with("GV") || chip.starts_with("TU");
      if (set == CounterSet::kLight && !is_before_ampere) {
        EXPECT_EQ(plan.groups.size(), 1u);
      }
      if (set != CounterSet::kLight) CheckEligibleWarps(plan);
      if (chip != "GV100") {
        EXPECT_LE(plan.oracle_calls, kMaxCallsOfASet);
      }
      for (const DroppedMetric& metric : plan.dropped) {
        if (dropped.insert(metric.name).second) std::printf("%13s dropped: %s\n", "", metric.text.c_str());
        EXPECT_NE(metric.reason, DropReason::kNotAsked) << metric.text;
        EXPECT_NE(metric.reason, DropReason::kRefused) << metric.text;
      }
    }
  }
}

TEST(CounterPlans, CountTheCommonPathsOfHopperTogether) {
  const auto catalog = Open("GH100");
  ASSERT_NE(catalog, nullptr);
  const CounterPlan plan = PlanOf(CounterSet::kCore, *catalog);
  EXPECT_EQ(Group(plan, "light+").metrics.size(), 64u);
  EXPECT_EQ(Group(plan, "sass+").metrics.size(), 50u);
  EXPECT_THAT(Group(plan, "tensor").metrics,
              IsSupersetOf({"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum",
                            "sm__ops_path_tensor_op_hgmma_src_fp16.sum", "sm__ops_path_tensor_src_fp8.sum",
                            "sm__ops_path_tensor_src_fp64.sum", "smsp__warps_eligible.sum", "smsp__inst_issued.sum"}));
  EXPECT_THAT(GroupNames(plan), Not(Contains("light+.2")));
  EXPECT_THAT(GroupNames(plan), Not(Contains("issue")));
}

TEST(CounterPlans, CountPatchedCodeInSessionsOfOtherGroups) {
  for (const char* const chip : {"GA100", "AD102", "GH100", "GB100"}) {
    SCOPED_TRACE(chip);
    const auto catalog = Open(chip);
    ASSERT_NE(catalog, nullptr);
    const CounterPlan plan = PlanOf(CounterSet::kCore, *catalog);
    const std::vector<GroupPair> pairs = PairsOf(plan.groups, catalog->Oracle().passes);
    ASSERT_EQ(pairs.size(), 2u);
    EXPECT_EQ(plan.groups[pairs[0].first].name, "light+");
    EXPECT_EQ(plan.groups[pairs[1].first].kind, GroupKind::kTensor);
    EXPECT_EQ(plan.groups[pairs[0].second].name, "sass+");
    EXPECT_EQ(plan.groups[pairs[1].second].name, "sass+");
  }
}

TEST(CounterPlans, NameDramBytesAsTheChipDoes) {
  for (const auto& [chip, metric] :
       std::vector<std::pair<std::string, std::string>>{{"GH100", "dram__bytes_read.sum"},
                                                        {"GA100", "dram__bytes_read.sum"},
                                                        {"GB202", "dram__bytes_op_read.sum"}}) {
    const auto catalog = Open(chip);
    ASSERT_NE(catalog, nullptr);
    EXPECT_THAT(Group(PlanOf(CounterSet::kLight, *catalog), "light").metrics, Contains(metric)) << chip;
  }
}

TEST(CounterPlans, TakeAUsersListApart) {
  const auto catalog = Open("GH100");
  ASSERT_NE(catalog, nullptr);
  const CounterPlan plan =
      PlanCounters(ParseCounterRequest(
                       "pcie__read_bytes.sum,pcie__write_bytes.sum,nvlrx__bytes.sum,smsp__sass_inst_executed.sum,"
                       "lts__t_sectors.sum,lts__t_sector_hit_rate.pct,sm__throughput.avg.pct_of_peak_sustained_elapsed,"
                       "dram__bytes_op_read.sum,lts__t_sectors,ctc__rx_bytes.sum"),
                   catalog->Oracle());
  EXPECT_THAT(GroupNames(plan), ::testing::ElementsAre("user", "user_sass", "user_pcie", "user_nvlink", "user_device"));
  for (const PlannedGroup& group : plan.groups) CheckGroup(group, *catalog);
  std::vector<std::string> texts;
  for (const DroppedMetric& metric : plan.dropped) texts.push_back(metric.text);
  EXPECT_THAT(
      texts,
      ::testing::UnorderedElementsAre(
          "lts__t_sector_hit_rate.pct needs 2 passes even alone, and a launch runs once; ask for "
          "lts__t_sectors_lookup_hit.sum, lts__t_sectors.sum",
          "sm__throughput.avg.pct_of_peak_sustained_elapsed needs 8 passes even alone, and a launch runs once; ask "
          "for smsp__issue_active.sum, sm__inst_executed_pipe_alu.sum, sm__inst_executed_pipe_fma.sum, "
          "sm__pipe_tensor_cycles_active.sum",
          "dram__bytes_op_read.sum does not exist on this chip; here it is dram__bytes_read.sum",
          "lts__t_sectors is not a metric, which ends in a rollup such as .sum, .avg or .max; ask for "
          "lts__t_sectors.sum"));
}

// The rules of the API that metric_catalog.cc works around: if one of these fails, a newer CUPTI has changed them.
TEST(CounterPlans, RestOnWhatCuptiDoes) {
  const auto catalog = Open("GH100");
  ASSERT_NE(catalog, nullptr);
  EXPECT_EQ(catalog->Passes({"sm__cycles_active.avg", "no__such.sum"}), std::nullopt);
  EXPECT_EQ(catalog->Passes({"sm__cycles_active"}), std::nullopt);
  EXPECT_EQ(catalog->Passes({"sm__cycles_active.avg", "pcie__read_bytes.sum"}), std::nullopt);
  EXPECT_EQ(catalog->Passes({"sm__cycles_active.avg", "nvlrx__bytes.sum"}), std::nullopt);
  EXPECT_EQ(catalog->Passes({"sm__cycles_active.avg", "smsp__sass_inst_executed.sum"}), 2);
  EXPECT_FALSE(catalog->Exists("no__such.sum"));
  EXPECT_FALSE(catalog->Exists("sm__cycles_active.bogus"));
}

// A process that has only the CUPTI of a framework's wheel: no loader's cache leads to libnvperf_host.
TEST(CounterPlans, NeedNoLoaderThatKnowsLibnvperf) {
  constexpr char kLoader[] = "/lib64/ld-linux-x86-64.so.2";
  if (access(kLoader, X_OK) != 0) GTEST_SKIP() << "no " << kLoader << " to run this program with";
  std::string self(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
  ASSERT_GT(length, 0);
  self.resize(static_cast<size_t>(length));
  const std::string command = std::string("env -u LD_LIBRARY_PATH ") + kLoader + " --inhibit-cache '" + self +
                              "' --gtest_filter=CounterPlans.RestOnWhatCuptiDoes";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace gx::inject

#endif  // GX_CUPTI_LIBRARY
