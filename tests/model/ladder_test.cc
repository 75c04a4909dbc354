#include "analysis/model/ladder.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "tests/model/ladder_cases.h"

namespace gx::model {
namespace {

// Every term, within 1 ns; those that are not named are 0. And their sum is the time.
void ExpectTerms(const Ladder& ladder, const std::map<TermKind, double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < kTermCount; ++i) {
    const auto kind = static_cast<TermKind>(i);
    const auto found = expected.find(kind);
    EXPECT_NEAR(ladder.Term(kind).ns, found == expected.end() ? 0 : found->second, 1) << TermName(kind);
    sum += ladder.Term(kind).ns;
  }
  EXPECT_NEAR(sum, ladder.time_ns, 1e-6);
}

TEST(LadderVectors, ATracedCopyIsAtItsRoof) {
  const Ladder ladder = Computed(TracedCopy());
  EXPECT_NEAR(ladder.rungs.Ns(Rung::kUseful), 446342, 1);
  EXPECT_NEAR(ladder.rungs.Ns(Rung::kBusiest), 449359, 1);
  EXPECT_EQ(ladder.rungs.at(Rung::kCeiling)->binding, ResourceKind::kDram);
  ExpectTerms(ladder, {{TermKind::kUseful, 446342},
                       {TermKind::kUneven, 3017},
                       {TermKind::kCeiling, 33823},
                       {TermKind::kTracing, 14000},
                       {TermKind::kLaunch, 1000},
                       {TermKind::kIdle, 2500},
                       {TermKind::kQueue, 736},
                       {TermKind::kOverlap, 82},
                       {TermKind::kUnexplained, 500}});
  EXPECT_NEAR(*ladder.closure_ns, 500, 1);
  EXPECT_EQ(ladder.queue_resource, ResourceKind::kDram);
  EXPECT_FALSE(ladder.other_regime);
  EXPECT_NEAR(*ladder.residual_ns, 502000 - 446342, 1);
}

TEST(LadderVectors, AStridedReadIsExcessWork) {
  const Ladder ladder = Computed(Strided());
  ExpectTerms(ladder, {{TermKind::kUseful, 11000},
                       {TermKind::kExcess, 77000},
                       {TermKind::kUneven, 1000},
                       {TermKind::kCeiling, 7739.1},
                       {TermKind::kLaunch, 1000},
                       {TermKind::kIdle, 1000},
                       {TermKind::kQueue, 722.8},
                       {TermKind::kOverlap, 38.0},
                       {TermKind::kUnexplained, 500}});
  EXPECT_EQ(*ladder.residual_ns, 89000);
}

TEST(LadderVectors, ConflictsUnderABusyDramCostNothing) {
  const Ladder ladder = Computed(ConflictsUnderDram());
  ExpectTerms(
      ladder,
      {{TermKind::kUseful, 28000}, {TermKind::kUneven, 300}, {TermKind::kCeiling, 2460.9}, {TermKind::kLaunch, 439.1}});
  EXPECT_NEAR(ladder.hidden_idle_ns, 500, 1);
}

TEST(LadderVectors, ConflictsThatBindAreExcessWork) {
  const Ladder ladder = Computed(ConflictsThatBind());
  ExpectTerms(ladder, {{TermKind::kUseful, 28000},
                       {TermKind::kExcess, 44000},
                       {TermKind::kLaunch, 1000},
                       {TermKind::kIdle, 1600},
                       {TermKind::kQueue, 12060},
                       {TermKind::kOverlap, 504.7},
                       {TermKind::kUnexplained, 835.3}});
  EXPECT_EQ(ladder.queue_resource, ResourceKind::kL1Data);
}

TEST(LadderVectors, HalfOfTheSmsKeepDramBusyAndAreNoViolation) {
  const Ladder ladder = Computed(HalfGrid());
  ExpectTerms(ladder, {{TermKind::kUseful, 72000},
                       {TermKind::kUneven, 700},
                       {TermKind::kCeiling, 6321.7},
                       {TermKind::kLaunch, 1000},
                       {TermKind::kIdle, 978.3}});
  EXPECT_NEAR(ladder.hidden_idle_ns, 38021.7, 1);
  EXPECT_FALSE(ladder.violation.has_value());
}

TEST(LadderVectors, OneBlockMoreThanSlotsIsATail) {
  const Ladder ladder = Computed(SlotsPlusOne());
  ExpectTerms(ladder, {{TermKind::kUseful, 12100},
                       {TermKind::kUneven, 3000},
                       {TermKind::kLaunch, 1000},
                       {TermKind::kIdle, 5600},
                       {TermKind::kOverlap, 300}});
  EXPECT_EQ(ladder.Term(TermKind::kUneven).ns + ladder.Term(TermKind::kIdle).ns, 21000 - 12400);
}

TEST(LadderVectors, APointerChaseIsLatency) {
  const Ladder ladder = Computed(Latency());
  ExpectTerms(ladder, {{TermKind::kUseful, 7200},
                       {TermKind::kUneven, 300},
                       {TermKind::kCeiling, 652.2},
                       {TermKind::kLaunch, 1000},
                       {TermKind::kIdle, 400},
                       {TermKind::kLatency, 42347.8},
                       {TermKind::kUnexplained, 100}});
  EXPECT_EQ(ladder.Term(TermKind::kLatency).term_class, TermClass::kModelled);
}

TEST(LadderVectors, AThrottledProductShowsWhatTheClockCosts) {
  const Ladder ladder = Computed(ThrottledGemm());
  ExpectTerms(ladder, {{TermKind::kUseful, 1027071.7},
                       {TermKind::kClock, 328662.9},
                       {TermKind::kUneven, 2711.5},
                       {TermKind::kCeiling, 42013.8},
                       {TermKind::kLaunch, 1500},
                       {TermKind::kIdle, 3288.5},
                       {TermKind::kSync, 25.2},
                       {TermKind::kQueue, 75.5},
                       {TermKind::kUnexplained, 4650.9}});
  EXPECT_EQ(ladder.Term(TermKind::kLatency).term_class, TermClass::kUnmeasured);
  EXPECT_EQ(ladder.Term(TermKind::kOverlap).term_class, TermClass::kUnmeasured);
}

TEST(LadderVectors, AtomicsOnOneAddressAreOneBusySlice) {
  const Ladder ladder = Computed(HotSlice());
  ExpectTerms(ladder, {{TermKind::kUseful, 2300},
                       {TermKind::kUneven, 35600},
                       {TermKind::kLaunch, 1000},
                       {TermKind::kIdle, 300},
                       {TermKind::kUnexplained, 100}});
  EXPECT_EQ(ScopeOf(*ladder.rungs.at(Rung::kBusiest)->binding), ResourceScope::kSlice);
}

TEST(LadderVectors, ATinyKernelIsLaunchAndLatency) {
  ExpectTerms(Computed(Tiny()), {{TermKind::kUseful, 95},
                                 {TermKind::kUneven, 35},
                                 {TermKind::kCeiling, 11.3},
                                 {TermKind::kLaunch, 1050},
                                 {TermKind::kIdle, 60},
                                 {TermKind::kLatency, 656.7},
                                 {TermKind::kOverlap, 12.4},
                                 {TermKind::kUnexplained, 95.6}});
}

TEST(LadderVectors, ATimeBelowABoundIsAViolationAndEndsTheLadder) {
  const Ladder ladder = Computed(BelowABound());
  ExpectTerms(ladder, {{TermKind::kUseful, 18000}, {TermKind::kExcess, 2000}});
  ASSERT_TRUE(ladder.violation.has_value());
  EXPECT_EQ(ladder.violation->rung, Rung::kWork);
  EXPECT_EQ(ladder.violation->ns, 4000);
  EXPECT_EQ(*ladder.above_work_ns, -4000);
}

TEST(LadderVectors, CountersOfAnotherRegimeExplainNothing) {
  const Ladder ladder = Computed(OtherRegime());
  EXPECT_NEAR(*ladder.closure_ns, 30000, 1);
  EXPECT_TRUE(ladder.other_regime);
  ExpectTerms(ladder, {{TermKind::kUseful, 7200},
                       {TermKind::kUneven, 300},
                       {TermKind::kCeiling, 652.2},
                       {TermKind::kLaunch, 1000},
                       {TermKind::kIdle, 200},
                       {TermKind::kLatency, 20647.8},
                       {TermKind::kUnexplained, 30000}});
  EXPECT_NEAR(ladder.UnexplainedNs(), 50847.8, 1);
}

}  // namespace
}  // namespace gx::model
