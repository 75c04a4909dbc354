#include "analysis/model/ladder_rungs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/model/ladder_cases.h"

namespace gx::model {
namespace {

Rungs Of(const std::vector<LadderResource>& resources, const RungInput& input = {}) {
  const absl::StatusOr<Rungs> rungs = ComputeRungs(resources, input);
  EXPECT_TRUE(rungs.ok()) << rungs.status();
  return rungs.ok() ? *rungs : Rungs{};
}

TEST(LadderRungs, EachRungNamesWhatBindsIt) {
  const Rungs rungs = Of({Resource(ResourceKind::kDram, 10, 50, 52, 0.8), Resource(ResourceKind::kIssue, 20, 40, 60)},
                         {.clock_ratio = 1.5});
  EXPECT_EQ(rungs.Ns(Rung::kUseful), 20);
  EXPECT_EQ(rungs.at(Rung::kUseful)->binding, ResourceKind::kIssue);
  EXPECT_EQ(rungs.Ns(Rung::kWork), 50);
  EXPECT_EQ(rungs.at(Rung::kWork)->binding, ResourceKind::kDram);
  EXPECT_EQ(rungs.Ns(Rung::kClock), 60);
  EXPECT_EQ(rungs.at(Rung::kClock)->binding, ResourceKind::kIssue);
  EXPECT_EQ(rungs.Ns(Rung::kBusiest), 90);
  EXPECT_EQ(rungs.Ns(Rung::kCeiling), 90);
  EXPECT_TRUE(rungs.clock_measured && rungs.busiest_measured && rungs.ceiling_measured);
}

TEST(LadderRungs, CoLimitersAreWithinSixtyPerCent) {
  const Rungs rungs =
      Of({Even(ResourceKind::kDram, 100), Even(ResourceKind::kIssue, 60), Even(ResourceKind::kL1Data, 59.9)});
  const RungValue& work = *rungs.at(Rung::kWork);
  EXPECT_EQ(work.binding, ResourceKind::kDram);
  EXPECT_TRUE(work.co_limiters.Contains(ResourceKind::kIssue));
  EXPECT_FALSE(work.co_limiters.Contains(ResourceKind::kL1Data));
  EXPECT_FALSE(work.co_limiters.Contains(ResourceKind::kDram));
  EXPECT_EQ(work.co_limiters.size(), 1u);
}

TEST(LadderRungs, OneUsefulShareThatIsMissingLeavesR1Unmeasured) {
  LadderResource lsu = Even(ResourceKind::kLsuPipe, 5);
  lsu.useful_ns.reset();
  const Rungs rungs = Of({Even(ResourceKind::kDram, 100), lsu}, {.compulsory_ns = 10});
  EXPECT_FALSE(rungs.at(Rung::kUseful).has_value());
  EXPECT_FALSE(rungs.at(Rung::kCompulsory).has_value());
  EXPECT_EQ(rungs.Ns(Rung::kWork), 100);
}

TEST(LadderRungs, WhatIsMissingLeavesARungAtTheOneBelow) {
  LadderResource dram = Even(ResourceKind::kDram, 100);
  dram.busiest_ns.reset();
  dram.eta_ratio.reset();
  const Rungs rungs = Of({dram});
  EXPECT_EQ(rungs.Ns(Rung::kCeiling), 100);
  EXPECT_FALSE(rungs.clock_measured || rungs.busiest_measured || rungs.ceiling_measured);
}

TEST(LadderRungs, ARungIsMeasuredWhereItsOwnResourceIs) {
  LadderResource dram = Even(ResourceKind::kDram, 100);
  dram.busiest_ns.reset();
  dram.eta_ratio.reset();
  const Rungs rungs = Of({dram, Resource(ResourceKind::kIssue, 20, 40, 60, 0.9)});
  EXPECT_EQ(rungs.at(Rung::kBusiest)->binding, ResourceKind::kDram);
  EXPECT_EQ(rungs.at(Rung::kCeiling)->binding, ResourceKind::kDram);
  EXPECT_FALSE(rungs.busiest_measured) << "that of another resource says nothing of it";
  EXPECT_FALSE(rungs.ceiling_measured);
}

TEST(LadderRungs, CompulsoryWorkIsAtMostTheUsefulWork) {
  EXPECT_EQ(Of({Even(ResourceKind::kDram, 100)}, {.compulsory_ns = 40}).Ns(Rung::kCompulsory), 40);
  const Rungs capped = Of({Even(ResourceKind::kDram, 100)}, {.compulsory_ns = 140});
  EXPECT_EQ(capped.Ns(Rung::kCompulsory), 100);
  EXPECT_TRUE(capped.compulsory_capped);
}

TEST(LadderRungs, NoResourceNoRung) {
  const Rungs rungs = Of({}, {.clock_ratio = 1.1, .compulsory_ns = 5});
  for (const auto& value : rungs.values) EXPECT_FALSE(value.has_value());
  EXPECT_FALSE(rungs.clock_measured);
}

TEST(LadderRungs, NothingBindsWhereNothingIsCounted) {
  const Rungs rungs = Of({Even(ResourceKind::kDram, 0)});
  EXPECT_EQ(rungs.Ns(Rung::kCeiling), 0);
  EXPECT_FALSE(rungs.at(Rung::kCeiling)->binding.has_value());
}

TEST(LadderRungs, RefusesAClockAboveTheMaximumAndEndlessFigures) {
  const LadderResource dram = Even(ResourceKind::kDram, 1);
  const LadderResource issue = Even(ResourceKind::kIssue, 1e308);
  EXPECT_FALSE(ComputeRungs({&dram, 1}, {.clock_ratio = 0.9}).ok());
  EXPECT_FALSE(ComputeRungs({&dram, 1}, {.clock_ratio = std::nan("")}).ok());
  EXPECT_FALSE(ComputeRungs({&dram, 1}, {.compulsory_ns = -1}).ok());
  EXPECT_FALSE(ComputeRungs({&issue, 1}, {.clock_ratio = 2}).ok());
}

}  // namespace
}  // namespace gx::model
