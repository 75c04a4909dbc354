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

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

// Blocks are dispatched while the first of them run: only the rest of the launch is outside of active cycles.
TEST(Ladder, ALaunchThatSmsAreActiveInIsNotMissingFromTheTime) {
  LadderInput input = Tiny();
  const Ladder all = Computed(input);
  EXPECT_EQ(all.idle_launch_ns, *input.launch_ns);
  input.idle_launch_ns = *input.launch_ns - 400;
  const Ladder ladder = Computed(input);
  EXPECT_DOUBLE_EQ(*ladder.closure_ns, *all.closure_ns + 400);
  EXPECT_EQ(ladder.Term(TermKind::kLaunch).ns, all.Term(TermKind::kLaunch).ns);
  EXPECT_EQ(ladder.idle_launch_ns, *input.launch_ns - 400);
  // Never more than the launch itself.
  input.idle_launch_ns = *input.launch_ns + 400;
  EXPECT_EQ(*Computed(input).closure_ns, *all.closure_ns);
}

TEST(Ladder, WithoutTracingOrLaunchTimeOutsideOfSmsIsNoOtherRegime) {
  for (const bool tracing : {false, true}) {
    LadderInput input = OtherRegime();
    (tracing ? input.launch_ns : input.tracing_ns).reset();
    const Ladder ladder = Computed(input);
    EXPECT_FALSE(ladder.other_regime);
    EXPECT_TRUE(ladder.closure_unknown);
    // It stays unexplained.
    EXPECT_NEAR(ladder.gap_ns, *ladder.closure_ns, 1);
  }
  // More active time than there is time is another regime whatever launch takes.
  LadderInput input = OtherRegime();
  input.tracing_ns.reset();
  input.active->max *= 10;
  const Ladder ladder = Computed(input);
  EXPECT_TRUE(ladder.other_regime);
  EXPECT_FALSE(ladder.closure_unknown);
}

TEST(Ladder, ACompulsoryAmountOfWorkIsTheFirstStep) {
  LadderInput input = Strided();
  input.compulsory_ns = 4000;
  const Ladder ladder = Computed(input);
  EXPECT_EQ(ladder.Term(TermKind::kUseful).ns, 4000);
  EXPECT_EQ(ladder.Term(TermKind::kAlgorithm).ns, 7000);
  EXPECT_EQ(*ladder.residual_ns, 96000);
  EXPECT_EQ(Computed(Strided()).Term(TermKind::kAlgorithm).term_class, TermClass::kNone);
}

TEST(Ladder, ATimeBelowWhatWasCompulsoryIsAViolationToo) {
  LadderInput input = Strided();
  input.time_ns = 3000;
  input.compulsory_ns = 4000;
  const Ladder ladder = Computed(input);
  ASSERT_TRUE(ladder.violation.has_value());
  EXPECT_EQ(ladder.violation->rung, Rung::kCompulsory);
  EXPECT_EQ(ladder.Term(TermKind::kUseful).ns, 3000);
  EXPECT_EQ(ladder.Term(TermKind::kExcess).term_class, TermClass::kNone);
}

TEST(Ladder, ABeatenCeilingIsNoViolation) {
  LadderInput input = TracedCopy();
  input.time_ns = 460000;
  const Ladder ladder = Computed(input);
  EXPECT_FALSE(ladder.violation.has_value());
  EXPECT_NEAR(ladder.ceiling_beaten_ns, 449359 / 0.93 - 460000, 1);
  EXPECT_NEAR(ladder.Term(TermKind::kCeiling).ns, 460000 - 449359, 1);
  EXPECT_EQ(ladder.Term(TermKind::kUnexplained).ns, 0);
}

TEST(Ladder, ActiveCyclesAreAtTheClockThatTheBindingResourceTakes) {
  // DRAM binds: the kernel took as long in both runs, whatever the SM clock.
  LadderInput input = HalfGrid();
  input.clocks = {.max_hz = 2e9, .timed_hz = 1e9, .counted_hz = 2e9};
  input.active = ActiveCycles{.max = 160000, .mean = 82000};
  EXPECT_DOUBLE_EQ(Computed(input).active_cycles_ns->max, 80000);
  input.clocks.counted_hz.reset();
  EXPECT_DOUBLE_EQ(Computed(input).active_cycles_ns->max, 160000);
  // Issue binds: the same cycles, at the clock of the timed run.
  LadderInput issue = SlotsPlusOne();
  issue.clocks = {.max_hz = 1e9, .timed_hz = 0.8e9, .counted_hz = 1e9};
  EXPECT_DOUBLE_EQ(Computed(issue).active_cycles_ns->max, 21000 / 0.8);
}

TEST(Ladder, AnUnmeasuredClockIsTakenAsTheMaximum) {
  LadderInput input = ThrottledGemm();
  input.clocks.timed_hz.reset();
  const Ladder ladder = Computed(input);
  EXPECT_EQ(ladder.Term(TermKind::kClock).term_class, TermClass::kUnmeasured);
  EXPECT_EQ(ladder.Term(TermKind::kClock).ns, 0);
  EXPECT_FALSE(ladder.clock_above_max);
  input.clocks.timed_hz = 2e9;
  EXPECT_TRUE(Computed(input).clock_above_max);
  EXPECT_EQ(Computed(input).Term(TermKind::kClock).ns, 0);
}

TEST(Ladder, TheTimedClockCanBeInferredFromActiveCycles) {
  EXPECT_DOUBLE_EQ(*InferTimedHz(1404000 * 1.5, 1410000, 4500, 1500), 1.5e9);
  EXPECT_FALSE(InferTimedHz(1000, 1000, 600, 400).has_value());
  EXPECT_FALSE(InferTimedHz(0, 1000, 0, 0).has_value());
}

TEST(Ladder, UnloadedLatencyIsAssumedOnlyWhereNoMemoryIsBusy) {
  LadderInput input = Latency();
  input.assumes_unloaded_latency = true;
  EXPECT_EQ(Computed(input).Term(TermKind::kLatency).term_class, TermClass::kAttributed);
  EXPECT_NEAR(Computed(input).Term(TermKind::kLatency).ns, 42347.8, 1);

  input.resources.Set(Even(ResourceKind::kL2DataOut, 26000));  // above half of the active time
  EXPECT_EQ(Computed(input).Term(TermKind::kLatency).term_class, TermClass::kUnmeasured);
  EXPECT_FALSE(Computed(input).uncontended_ns.has_value());

  input.resources = {Even(ResourceKind::kIssue, 4100)};  // of memory nothing is known
  EXPECT_FALSE(Computed(input).uncontended_ns.has_value());
}

TEST(Ladder, WeakIsWhatIsAttributedOrUnexplained) {
  const Ladder ladder = Computed(ConflictsThatBind());
  EXPECT_NEAR(ladder.UnexplainedNs(), 835.3, 1);
  EXPECT_NEAR(ladder.WeakNs(), 12060 + 504.7 + 835.3, 1);
}

TEST(Ladder, RefusalsNameFieldValueAndLimit) {
  struct Case {
    std::string text;
    void (*spoil)(LadderInput* input);
  };
  const Case cases[] = {
      {"time_ns: got 0", [](LadderInput* i) { i->time_ns = 0; }},
      {"time_ns: got nan", [](LadderInput* i) { i->time_ns = kNan; }},
      {"compulsory_ns: got -1", [](LadderInput* i) { i->compulsory_ns = -1; }},
      {"clocks.max_hz: got 0", [](LadderInput* i) { i->clocks.max_hz = 0; }},
      {"clocks.timed_hz: got -1", [](LadderInput* i) { i->clocks.timed_hz = -1; }},
      {"clocks.counted_hz: got 0", [](LadderInput* i) { i->clocks.counted_hz = 0; }},
      {"tracing_ns: got -1", [](LadderInput* i) { i->tracing_ns = -1; }},
      {"launch_ns: got inf", [](LadderInput* i) { i->launch_ns = kInfinity; }},
      {"active.max: got 1", [](LadderInput* i) { i->active = ActiveCycles{.max = 1, .mean = 2}; }},
      {"active.mean: got -1", [](LadderInput* i) { i->active = ActiveCycles{.max = 1, .mean = -1}; }},
      {"no_issue_cycles: got -1", [](LadderInput* i) { i->no_issue_cycles = -1; }},
      {"uncontended_ratio: got -1", [](LadderInput* i) { i->uncontended_ratio = -1; }},
      {"sync_ratio: got 1.1", [](LadderInput* i) { i->sync_ratio = 1.1; }},
      {"queue_ratio: got nan", [](LadderInput* i) { i->queue_ratio = kNan; }},
      {"resource 'dram': work_ns: got -1", [](LadderInput* i) { i->resources.Set(Even(ResourceKind::kDram, -1)); }},
  };
  for (const Case& c : cases) {
    LadderInput input = Strided();
    c.spoil(&input);
    const auto ladder = ComputeLadder(input);
    ASSERT_FALSE(ladder.ok()) << c.text;
    EXPECT_NE(std::string(ladder.status().message()).find(c.text), std::string::npos) << ladder.status();
  }
}

TEST(Ladder, EveryTermAndClassHasAName) {
  for (size_t i = 0; i < kTermCount; ++i) {
    EXPECT_NE(TermName(static_cast<TermKind>(i)), "");
    EXPECT_NE(ClassOf(static_cast<TermKind>(i)), TermClass::kNone);
  }
  for (size_t i = 0; i < kTermClassCount; ++i) {
    EXPECT_EQ(TermClassName(static_cast<TermClass>(i)).empty(), static_cast<TermClass>(i) == TermClass::kNone);
  }
  EXPECT_EQ(RungName(Rung::kCeiling), "R5");
}

}  // namespace
}  // namespace gx::model
