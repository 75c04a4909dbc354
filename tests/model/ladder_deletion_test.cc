// Less evidence never explains more: whatever is left out, the residual does not shrink, and time moves towards softer
// terms, unexplained and unmeasured. Nor does the evidence of another kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "analysis/model/ladder.h"
#include "tests/model/ladder_cases.h"
#include "tests/model/ladder_random.h"

namespace gx::model {
namespace {

constexpr int kLadders = 50'000;
constexpr double kTolerance = 1e-9;

using Drop = void (*)(LadderInput* input);

void DropUseful(LadderInput* input) {
  for (LadderResource& resource : input->resources) resource.useful_ns.reset();
}
void DropBusiest(LadderInput* input) {
  for (LadderResource& resource : input->resources) resource.busiest_ns.reset();
}
void DropCeilings(LadderInput* input) {
  for (LadderResource& resource : input->resources) resource.eta_ratio.reset();
}
void DropOneResource(LadderInput* input) {
  LadderResources left;
  for (const LadderResource& resource : input->resources) {
    if (&resource != input->resources.data() || input->resources.size() == 1) left.Set(resource);
  }
  input->resources = left;
}
void DropClock(LadderInput* input) { input->clocks.timed_hz.reset(); }
void DropLaunch(LadderInput* input) { input->launch_ns.reset(); }
void DropTracing(LadderInput* input) { input->tracing_ns.reset(); }
void DropQueue(LadderInput* input) { input->queue_ratio.reset(); }
void DropUncontended(LadderInput* input) { input->uncontended_ratio.reset(); }
void DropNoIssue(LadderInput* input) { input->no_issue_cycles.reset(); }
void DropStalls(LadderInput* input) {
  input->sync_ratio.reset();
  DropQueue(input);
  DropUncontended(input);
}
void DropCounters(LadderInput* input) {
  input->resources = {};
  input->active.reset();
  DropNoIssue(input);
  DropStalls(input);
}

void ExpectTheResidualDoesNotShrink(const Ladder& all, const Ladder& less) {
  ASSERT_TRUE(all.residual_ns.has_value());
  ASSERT_GE(less.residual_ns.value_or(all.time_ns), *all.residual_ns);
}

// Up to and with each class, from the hardest: never more time than before, but for `slack` of it.
void ExpectTimeMovesToSofterClasses(const Ladder& all, const Ladder& less, TermClass up_to, double slack) {
  double before = 0;
  double after = 0;
  for (size_t i = 0; i <= static_cast<size_t>(up_to); ++i) {
    before += all.ClassNs(static_cast<TermClass>(i));
    after += less.ClassNs(static_cast<TermClass>(i));
    ASSERT_LE(after, before + (slack + kTolerance) * all.time_ns) << TermClassName(static_cast<TermClass>(i));
  }
}

double IdleNs(const Ladder& ladder) { return ladder.hidden_idle_ns + ladder.Term(TermKind::kIdle).ns; }

TEST(LadderDeletion, OfPatchedCodeStallsOrAllCountersOnlyMakesTermsSofter) {
  for (const Drop drop : {DropUseful, DropQueue, DropUncontended, DropNoIssue, DropStalls, DropCounters}) {
    RandomLadders random(21);
    for (int i = 0; i < kLadders; ++i) {
      const LadderInput input = random.Measured();
      const Ladder all = Computed(input);
      if (all.violation.has_value()) continue;
      LadderInput rest = input;
      drop(&rest);
      const Ladder less = Computed(rest);
      ExpectTheResidualDoesNotShrink(all, less);
      ExpectTimeMovesToSofterClasses(all, less, TermClass::kAttributed, 0);
      if (HasFatalFailure()) return;
    }
  }
}

// A resource that is not counted, or not by instance, leaves the rungs lower. Two things then may explain more than
// before, both by rules that are right with the evidence and blind without it: idle SMs are no longer seen to be uneven
// work too, and the closure of another clock may hold. Without these, queue and overlap may share the freed time so
// that a little less is left for unexplained.
TEST(LadderDeletion, OfAResourceOrARateNeverRaisesARungAndMovesTimeDown) {
  constexpr double kQueueAndOverlap = 0.01;
  for (const Drop drop : {DropOneResource, DropBusiest, DropCeilings, DropClock, DropLaunch, DropTracing}) {
    RandomLadders random(22);
    int strict = 0;
    for (int i = 0; i < kLadders; ++i) {
      LadderInput input = random.Measured();
      input.clocks.timed_hz = std::min(*input.clocks.timed_hz, input.clocks.max_hz);
      input.clocks.counted_hz = input.clocks.timed_hz;
      input.assumes_unloaded_latency = false;
      const Ladder all = Computed(input);
      if (all.violation.has_value()) continue;
      LadderInput rest = input;
      drop(&rest);
      const Ladder less = Computed(rest);
      ExpectTheResidualDoesNotShrink(all, less);
      ExpectTimeMovesToSofterClasses(all, less, TermClass::kSustained, 0);
      const bool same_regime = less.other_regime || !all.other_regime;
      if (same_regime && IdleNs(less) <= IdleNs(all) + kTolerance * all.time_ns) {
        ++strict;
        ExpectTimeMovesToSofterClasses(all, less, TermClass::kAttributed, kQueueAndOverlap);
      }
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(strict, kLadders / 4);
  }
}

TEST(LadderDeletion, AnAssumedLatencyIsSofterThanAMeasuredOne) {
  RandomLadders random(23);
  int assumed = 0;
  for (int i = 0; i < kLadders; ++i) {
    LadderInput input = random.Measured();
    input.assumes_unloaded_latency = false;
    const Ladder all = Computed(input);
    if (all.violation.has_value()) continue;
    // Without the group of latencies the waits count in full.
    LadderInput rest = input;
    rest.assumes_unloaded_latency = true;
    rest.uncontended_ratio = std::min(1.0, *input.uncontended_ratio * 1.4);
    const Ladder less = Computed(rest);
    ExpectTimeMovesToSofterClasses(all, less, TermClass::kModelled, 0);
    EXPECT_GE(less.WeakNs(), all.WeakNs() - kTolerance * all.time_ns);
    if (HasFatalFailure()) return;
    assumed += less.Term(TermKind::kLatency).ns > 0 ? 1 : 0;
  }
  EXPECT_GT(assumed, 0);
}

// The counters of one kernel do not explain the time of another.
TEST(LadderPlacebo, CountersOfAnotherKernelViolateOrFailClosureOrLeaveMuchUnexplained) {
  const LadderInput kernels[] = {TracedCopy(),   Strided(), ConflictsUnderDram(), ConflictsThatBind(), HalfGrid(),
                                 SlotsPlusOne(), Latency(), ThrottledGemm(),      HotSlice(),          Tiny()};
  int pairs = 0;
  int caught = 0;
  for (const LadderInput& timed : kernels) {
    for (const LadderInput& counted : kernels) {
      if (&timed == &counted) continue;
      LadderInput input = counted;
      input.time_ns = timed.time_ns;
      const Ladder ladder = Computed(input);
      ++pairs;
      const bool unexplained = ladder.UnexplainedNs() >= 0.3 * ladder.time_ns;
      caught += ladder.violation.has_value() || ladder.other_regime || unexplained ? 1 : 0;
    }
  }
  EXPECT_GE(caught, pairs * 9 / 10) << caught << " of " << pairs;
}

// What stands with each set of counters, on a kernel that latency, a queue and synchronisation make long: `lean`.
LadderInput Mixed() {
  LadderInput input =
      Input(100000, {Resource(ResourceKind::kDram, 20000, 30000, 31000, 0.93),
                     Resource(ResourceKind::kL1Data, 20000, 60000, 61000), Even(ResourceKind::kIssue, 15000)});
  input.launch_ns = 1000;
  input.tracing_ns = 500;
  input.active = ActiveCycles{.max = 98000, .mean = 96000};
  input.no_issue_cycles = 80000;
  input.uncontended_ratio = 0.7;
  input.sync_ratio = 0.1;
  input.queue_ratio = 0.3;
  input.resources.begin()[1].eta_ratio = 0.98;
  return input;
}

// The group of L1 and shared data, and the stalls, are not in `core`.
LadderInput Core() {
  LadderInput input = Mixed();
  input.resources = {*input.resources.Find(ResourceKind::kDram), *input.resources.Find(ResourceKind::kIssue)};
  DropStalls(&input);
  return input;
}

LadderInput Light() {
  LadderInput input = Core();
  DropUseful(&input);
  return input;
}

// Ports and fabric are in `full` only.
LadderInput Full() {
  LadderInput input = Mixed();
  input.resources.Set(Even(ResourceKind::kSmPort, 30000));
  input.resources.Set(Resource(ResourceKind::kL2Fabric, 20000, 40000, 68000, 0.95));
  return input;
}

TEST(LadderDegrade, LeanLacksPortsAndFabricAndLeavesTheirTimeToSofterTerms) {
  const Ladder full = Computed(Full());
  const Ladder lean = Computed(Mixed());
  EXPECT_EQ(full.rungs.at(Rung::kCeiling)->binding, ResourceKind::kL2Fabric);
  EXPECT_EQ(lean.rungs.at(Rung::kCeiling)->binding, ResourceKind::kL1Data);
  EXPECT_GE(*lean.residual_ns, *full.residual_ns);
  EXPECT_GT(lean.WeakNs(), full.WeakNs());
}

TEST(LadderDegrade, LeanHasEveryTerm) {
  const Ladder ladder = Computed(Mixed());
  EXPECT_EQ(*ladder.residual_ns, 80000);
  for (const TermKind kind : {TermKind::kExcess, TermKind::kIdle, TermKind::kSync, TermKind::kLatency, TermKind::kQueue,
                              TermKind::kOverlap}) {
    EXPECT_GT(ladder.Term(kind).ns, 0) << TermName(kind);
    EXPECT_EQ(ladder.Term(kind).term_class, ClassOf(kind)) << TermName(kind);
  }
  EXPECT_LT(ladder.UnexplainedNs(), 10000);
}

TEST(LadderDegrade, CoreHasNoTermsThatNeedStalls) {
  const Ladder ladder = Computed(Core());
  EXPECT_EQ(*ladder.residual_ns, 80000);
  EXPECT_EQ(ladder.Term(TermKind::kExcess).ns, 10000);
  for (const TermKind kind : {TermKind::kSync, TermKind::kLatency, TermKind::kQueue, TermKind::kOverlap}) {
    EXPECT_EQ(ladder.Term(kind).term_class, TermClass::kUnmeasured) << TermName(kind);
    EXPECT_EQ(ladder.Term(kind).ns, 0) << TermName(kind);
  }
  EXPECT_EQ(ladder.Term(TermKind::kIdle).ns, 2000);
  EXPECT_GT(ladder.UnexplainedNs(), Computed(Mixed()).UnexplainedNs());
}

TEST(LadderDegrade, LightHasNoUsefulWorkAndNoResidual) {
  const Ladder ladder = Computed(Light());
  EXPECT_FALSE(ladder.residual_ns.has_value());
  EXPECT_EQ(*ladder.above_work_ns, 70000);
  EXPECT_EQ(ladder.Term(TermKind::kWork).ns, 30000);
  EXPECT_EQ(ladder.Term(TermKind::kWork).term_class, TermClass::kProven);
  EXPECT_EQ(ladder.Term(TermKind::kUseful).term_class, TermClass::kUnmeasured);
  EXPECT_EQ(ladder.Term(TermKind::kExcess).term_class, TermClass::kUnmeasured);
}

TEST(LadderDegrade, AManifestAloneDoesNotMakeAResidual) {
  LadderInput input = Light();
  input.compulsory_ns = 5000;
  EXPECT_FALSE(Computed(input).residual_ns.has_value());
}

TEST(LadderDegrade, TimingAloneGivesTracingAndLaunch) {
  LadderInput input = Mixed();
  DropCounters(&input);
  const Ladder ladder = Computed(input);
  EXPECT_FALSE(ladder.residual_ns.has_value());
  EXPECT_FALSE(ladder.above_work_ns.has_value());
  EXPECT_FALSE(ladder.closure_ns.has_value());
  EXPECT_EQ(ladder.Term(TermKind::kTracing).ns, 500);
  EXPECT_EQ(ladder.Term(TermKind::kLaunch).ns, 1000);
  EXPECT_EQ(ladder.Term(TermKind::kUnexplained).ns, 98500);
  EXPECT_EQ(ladder.Term(TermKind::kUnexplained).term_class, TermClass::kUnmeasured);
  for (const TermKind kind : {TermKind::kUseful, TermKind::kExcess, TermKind::kClock, TermKind::kUneven,
                              TermKind::kCeiling, TermKind::kIdle, TermKind::kSync}) {
    EXPECT_EQ(ladder.Term(kind).term_class, TermClass::kUnmeasured) << TermName(kind);
  }
}

TEST(LadderDegrade, WithoutAMachineFileNothingIsSustainedOrCalibrated) {
  LadderInput input = Mixed();
  DropCeilings(&input);
  DropLaunch(&input);
  DropTracing(&input);
  const Ladder ladder = Computed(input);
  for (const TermKind kind : {TermKind::kCeiling, TermKind::kTracing, TermKind::kLaunch}) {
    EXPECT_EQ(ladder.Term(kind).term_class, TermClass::kUnmeasured) << TermName(kind);
    EXPECT_EQ(ladder.Term(kind).ns, 0) << TermName(kind);
  }
  EXPECT_EQ(*ladder.residual_ns, 80000);
}

TEST(LadderDegrade, WithoutMaximaUnevenIsUnmeasuredAndBlocksMayBeTakenAsEqual) {
  LadderInput input = Mixed();
  DropBusiest(&input);
  EXPECT_EQ(Computed(input).Term(TermKind::kUneven).term_class, TermClass::kUnmeasured);
  for (LadderResource& resource : input.resources) {
    if (ScopeOf(resource.kind) != ResourceScope::kSm) continue;
    resource.busiest_ns = *BusiestOfEqualBlocksNs(resource.work_ns, 133, 132);
    resource.assumes_equal_blocks = true;
  }
  const Ladder ladder = Computed(input);
  EXPECT_EQ(ladder.Term(TermKind::kUneven).term_class, TermClass::kModelled);
  EXPECT_TRUE(ladder.rungs.assumes_equal_blocks);
}

}  // namespace
}  // namespace gx::model
