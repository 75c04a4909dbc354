#include "inject/counter_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/inject/measured_step.h"
#include "tests/inject/sampling_simulator.h"

namespace gx::inject {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
// One window's slack: its rotation may cost more than expected, and the last range or drain is begun within the limit
// and ends beyond it.
constexpr uint64_t kSlackNs = 400 * kMs;

// An eager decode loop: 600 kernels a step of some 14 signatures, a few microseconds each. `slower`: for long runs.
SimulatedProgram DecodeLoop(uint64_t slower = 1) {
  SimulatedProgram program;
  for (uint32_t i = 0; i < 14; ++i) {
    program.signatures.push_back(
        {.duration_ns = (2'000 + 400 * i) * slower, .launches_a_step = 43, .tensor = i % 3 == 0});
  }
  program.length_ns = 3 * kSecond;
  return program;
}

SimulatedRun Simulate(const SimulatedProgram& program, const ScheduleOptions& options = {}) {
  return Simulator(program, options).Run();
}

uint32_t Missing(const SimulatedRun& run) {
  uint32_t missing = 0;
  for (const SamplingNeeds::GroupSummary& group : run.needs.groups) missing += group.ranges;
  return missing;
}

// ------------------------------------------------------------------------------------------------ single steps

ScheduleObservation At(uint64_t now_ns) {
  ScheduleObservation seen;
  seen.now_ns = now_ns;
  seen.busy_ratio = 1;
  seen.needs.ranked = 4;
  seen.needs.timed_ratio = 1;
  seen.needs.groups[0] = {.signatures = 4, .ranges = 12, .share_ratio = 1, .given_up = false};
  return seen;
}

// Nothing has to be quiet first.
const ScheduleOptions kAtOnce = {.min_quiet_ns = 0};

constexpr GroupKind kTwoKinds[] = {GroupKind::kHardware, GroupKind::kSass};

TEST(CounterSchedule, WaitsForTheCleanTimings) {
  CounterSchedule schedule({}, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.needs.timed_ratio = 0.89;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.now_ns += 300 * kMs;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.needs.timed_ratio = 0.90;
  const ScheduleStep step = schedule.Step(seen);
  EXPECT_EQ(step.action, ScheduleAction::kToCounters);
  EXPECT_EQ(step.group, 0u);
}

TEST(CounterSchedule, WaitsForTheTimingsOfMostLaunches) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.needs.timed_launch_ratio = 0.6;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.needs.timed_launch_ratio = 0.95;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
}

TEST(CounterSchedule, WaitsUntilALoopHasBeenThroughTwice) {
  CounterSchedule schedule({}, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.now_ns = 410 * kMs;
  seen.needs.ranked = 5;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.now_ns = 809 * kMs;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.now_ns = 810 * kMs;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
}

TEST(CounterSchedule, DoesNotWaitForTimingsForEver) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.needs.timed_ratio = 0;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.now_ns += 10 * kSecond - 1;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.now_ns += 1;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
}

TEST(CounterSchedule, WaitsForNoTimingsWhereNothingIsTimed) {
  CounterSchedule schedule({.timing = false, .min_quiet_ns = 0}, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.needs.timed_ratio = 0;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
}

TEST(CounterSchedule, BeginsNothingWhileTheProgramLaunchesNothing) {
  CounterSchedule schedule({}, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.launches = 100;
  seen.needs.timed_ratio = 0;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
    seen.now_ns += 20 * kMs;
    ++*seen.launches;
  }
  --*seen.launches;
  seen.needs.timed_ratio = 1;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay) << "it loads something";
  ++*seen.launches;
  seen.now_ns += 20 * kMs;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
}

TEST(CounterSchedule, TimeWithoutLaunchesIsNoTimeWithoutNewSignatures) {
  CounterSchedule schedule({}, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.launches = 100;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.now_ns += kSecond;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  uint64_t waited_ns = 0;
  do {
    seen.now_ns += 20 * kMs;
    waited_ns += 20 * kMs;
    ++*seen.launches;
  } while (schedule.Step(seen).action == ScheduleAction::kStay && waited_ns < kSecond);
  // The pause counts as one gap of a quarter of a second.
  EXPECT_EQ(waited_ns, 80 * kMs);
}

// CUPTI hands timings out by the buffer: as long as there are none, launches stand for them.
TEST(CounterSchedule, TheFirstTimingsAreNotYetAllOfThem) {
  CounterSchedule schedule({}, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.needs.ranked = 40;
  seen.needs.timed_ratio = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
    seen.now_ns += 20 * kMs;
  }
  seen.needs.known_time_ns = kMs;
  seen.needs.ranked = 7;
  seen.needs.timed_ratio = 1;
  const uint64_t begin_ns = seen.now_ns;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay) << "of what has been read so far";
  seen.now_ns += 20 * kMs;
  seen.needs.ranked = 35;
  while (schedule.Step(seen).action == ScheduleAction::kStay && seen.now_ns < begin_ns + kSecond) {
    seen.now_ns += 20 * kMs;
  }
  EXPECT_EQ(seen.now_ns, begin_ns + 320 * kMs);
}

TEST(CounterSchedule, EndsAWindowWhoseSessionIsFull) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  seen.samples = 3;
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.session_full = true;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
}

TEST(CounterSchedule, TheGroupAtHandNeedsNoBudgetForASession) {
  for (const bool at_hand : {true, false}) {
    CounterSchedule schedule({.budget_ratio = 0.01, .first_round_ns = kSecond, .min_quiet_ns = 0}, kTwoKinds, 0);
    ScheduleObservation seen = At(10 * kMs);
    seen.needs.groups[1] = seen.needs.groups[0];
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
    seen.needs.groups[0].signatures = 0;
    seen.cost_ns = 800 * kMs;
    seen.rotation_ns = 300 * kMs;
    if (at_hand) seen.group_at_hand = 1;
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
    const ScheduleStep step = schedule.Step(seen);
    EXPECT_EQ(step.action, at_hand ? ScheduleAction::kToCounters : ScheduleAction::kStay);
    EXPECT_EQ(step.budget_spent, !at_hand);
  }
}

TEST(CounterSchedule, TheGroupAtHandComesNextAndWaitsForItsBudgetInTheOpenSession) {
  constexpr GroupKind kThree[] = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor};
  for (const double busy_ratio : {0.95, 0.3}) {
    CounterSchedule schedule({.budget_ratio = 0.05, .first_round_ns = kSecond, .min_quiet_ns = 0}, kThree, 0);
    ScheduleObservation seen = At(20 * kSecond);
    for (const uint32_t other : {1u, 2u}) seen.needs.groups[other] = seen.needs.groups[0];
    seen.needs.groups[1].share_ratio = 0.1;
    ASSERT_EQ(schedule.Step(seen).group, 0u);
    seen.samples = 12;
    seen.needs.groups[0].signatures = 0;
    seen.cost_ns = kSecond;  // All that may be spent by then: 60 ms more take 1.2 s.
    seen.rotation_ns = 300 * kMs;
    seen.sass_range_ns = 50 * kMs;
    seen.busy_ratio = busy_ratio;
    seen.group_at_hand = 1;
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
    const ScheduleStep step = schedule.Step(seen);
    EXPECT_EQ(step.action, busy_ratio > 0.9 ? ScheduleAction::kToCounters : ScheduleAction::kStay);
    EXPECT_EQ(step.group, busy_ratio > 0.9 ? 1u : 0u);
    EXPECT_EQ(step.budget_spent, busy_ratio < 0.9);
  }
}

TEST(CounterSchedule, LaterASessionThatCanGoOnCountsForBothOfItsGroups) {
  constexpr GroupKind kThree[] = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor};
  for (const bool goes_on : {true, false}) {
    CounterSchedule schedule({.budget_ratio = std::nullopt, .min_quiet_ns = 0}, kThree, 0);
    ScheduleObservation seen = At(kSecond);
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
    seen.samples = 12;
    seen.needs.groups[0].signatures = 0;
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kStay) << "the round ends";
    seen.needs.groups[1] = {.signatures = 4, .ranges = 12, .share_ratio = 0.5, .given_up = false};
    seen.needs.groups[2] = {.signatures = 4, .ranges = 12, .share_ratio = 0.4, .given_up = false};
    if (goes_on) seen.can_go_on = 1u << 2;
    seen.next_group = 1;
    ScheduleStep step;
    for (int i = 0; i < 100 && step.action == ScheduleAction::kStay; ++i) {
      seen.now_ns += kSecond;
      step = schedule.Step(seen);
    }
    EXPECT_EQ(step.action, ScheduleAction::kToCounters);
    EXPECT_EQ(step.group, goes_on ? 2u : 1u);
  }
}

TEST(CounterSchedule, AGroupWhoseSessionWasFullComesAgainBeforeOthers) {
  for (const double left_ratio : {0.5, 0.01}) {
    CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
    ScheduleObservation seen = At(10 * kMs);
    seen.needs.groups[1] = seen.needs.groups[0];
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
    seen.samples = 12;
    seen.needs.groups[0].share_ratio = left_ratio;
    seen.recording = false;  // The window is over.
    seen.session_full = true;
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
    seen.recording = true;
    seen.session_full = false;
    const ScheduleStep step = schedule.Step(seen);
    EXPECT_EQ(step.action, ScheduleAction::kToCounters);
    EXPECT_EQ(step.group, left_ratio > 0.1 ? 0u : 1u);
  }
}

TEST(CounterSchedule, WaitsForItsBudgetInAnOpenWindowOnlyWhereTheDeviceIsBusy) {
  for (const double busy_ratio : {0.95, 0.3}) {
    CounterSchedule schedule({.budget_ratio = 0.05, .first_round_ns = kSecond, .min_quiet_ns = 0}, {kTwoKinds, 1}, 0);
    ScheduleObservation seen = At(10 * kMs);
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
    seen.now_ns = 18 * kSecond;
    seen.rotation_ns = 300 * kMs;
    seen.hardware_range_ns = 100 * kMs;
    seen.cost_ns = kSecond;  // 0.1 s more takes two seconds.
    seen.busy_ratio = busy_ratio;
    const ScheduleStep step = schedule.Step(seen);
    EXPECT_TRUE(step.budget_spent);
    EXPECT_EQ(step.action, busy_ratio > 0.9 ? ScheduleAction::kStay : ScheduleAction::kToTiming);
  }
}

TEST(CounterSchedule, OpensNothingInACaptureOrOutsideTheRegion) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.capture_open = true;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.capture_open = false;
  seen.recording = false;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.recording = true;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
}

TEST(CounterSchedule, EndsNoWindowAndAllowsNoRangeInACapture) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  EXPECT_TRUE(schedule.Step(seen).ranges_allowed);
  seen.capture_open = true;
  seen.recording = false;
  for (int i = 0; i < 100; ++i) {
    seen.now_ns += kSecond;
    const ScheduleStep step = schedule.Step(seen);
    EXPECT_EQ(step.action, ScheduleAction::kStay);
    EXPECT_FALSE(step.ranges_allowed);
  }
  seen.capture_open = false;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
}

TEST(CounterSchedule, EndsAWindowOnceItsGroupIsDone) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  seen.now_ns += 300 * kMs;
  seen.cost_ns = 300 * kMs;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.samples = 12;
  seen.needs.groups[0] = {};
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
  // The round goes on at once with the group that the first one has made possible.
  seen.needs.groups[1] = {.signatures = 4, .ranges = 12, .share_ratio = 1, .given_up = false};
  const ScheduleStep step = schedule.Step(seen);
  EXPECT_EQ(step.action, ScheduleAction::kToCounters);
  EXPECT_EQ(step.group, 1u);
}

TEST(CounterSchedule, AllowsADrainOnlyAfterAWhileWithoutASampleAndWithBusyStreams) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  schedule.Step(seen);  // The session is open.
  seen.busy_skips = 1;
  seen.now_ns += 499 * kMs;
  EXPECT_FALSE(schedule.Step(seen).drain_allowed);
  seen.now_ns += 1 * kMs;
  const ScheduleStep step = schedule.Step(seen);
  EXPECT_TRUE(step.drain_allowed);
  EXPECT_GT(step.drain_limit_ns, 0u);
  EXPECT_LE(step.drain_limit_ns, step.cost_limit_ns);
  // A drain may take a second.
  seen.now_ns += 1499 * kMs;
  EXPECT_TRUE(schedule.Step(seen).drain_allowed);
  seen.now_ns += 1 * kMs;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
}

TEST(CounterSchedule, LeavesAWindowInWhichNothingIsLaunched) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  schedule.Step(seen);  // The session is open.
  seen.now_ns += 500 * kMs;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
}

TEST(CounterSchedule, DoublesTheTimeBetweenWindowsThatYieldNothing) {
  CounterSchedule schedule({.budget_ratio = std::nullopt, .min_quiet_ns = 0, .settle_ns = 0}, kTwoKinds, 0);
  ScheduleObservation seen = At(0);
  std::vector<double> gaps_s;
  uint64_t closed_ns = 0;
  while (seen.now_ns < 2000 * kSecond) {
    const ScheduleStep step = schedule.Step(seen);
    if (step.action == ScheduleAction::kToCounters && closed_ns != 0) {
      gaps_s.push_back(static_cast<double>(seen.now_ns - closed_ns) / 1e9);
    }
    if (step.action == ScheduleAction::kToTiming) closed_ns = seen.now_ns;
    seen.now_ns = std::max(step.next_ns, seen.now_ns + kMs);
  }
  ASSERT_GE(gaps_s.size(), 10u);
  // Worth it, so that the wait is the back-off's alone: 1, 2, 4, ... 128 s.
  for (size_t i = 0; i < gaps_s.size(); ++i) {
    EXPECT_NEAR(gaps_s[i], std::min(std::exp2(static_cast<double>(i)), 128.0), 0.3) << i;
  }
}

TEST(CounterSchedule, ForgetsTheBackOffWhenMoreIsToBeSampled) {
  CounterSchedule schedule(
      {.budget_ratio = std::nullopt, .min_quiet_ns = 0, .settle_ns = 0, .first_back_off_ns = 100 * kSecond}, kTwoKinds,
      0);
  ScheduleObservation seen = At(0);
  seen.needs.groups[0].share_ratio = 0.10;
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  schedule.Step(seen);  // The session is open.
  seen.now_ns += 500 * kMs;
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
  schedule.Step(seen);  // The round ends.
  seen.now_ns += 2 * kSecond;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.needs.groups[0].share_ratio = 0.13;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
}

TEST(CounterSchedule, GivesAGroupUpWhenItsSessionFailsTwiceAndStopsWithoutGroups) {
  CounterSchedule schedule({.budget_ratio = std::nullopt}, {kTwoKinds, 1}, 0);
  ScheduleObservation seen = At(0);
  for (int failure = 1; failure <= 2; ++failure) {
    ScheduleStep step;
    while ((step = schedule.Step(seen)).action != ScheduleAction::kToCounters) seen.now_ns += 10 * kMs;
    ASSERT_LT(seen.now_ns, 100 * kSecond);
    EXPECT_EQ(schedule.given_up_groups(), 0u);
    ++seen.session_failures;
    EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
  }
  EXPECT_EQ(schedule.given_up_groups(), 1u);
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStop);
  EXPECT_TRUE(schedule.stopped());
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
}

TEST(CounterSchedule, StopsAtTheEndFromEitherKindOfWindow) {
  ScheduleObservation seen = At(10 * kMs);
  CounterSchedule timing(kAtOnce, kTwoKinds, 0);
  CounterSchedule counters(kAtOnce, kTwoKinds, 0);
  ASSERT_EQ(counters.Step(seen).action, ScheduleAction::kToCounters);
  seen.ending = true;
  EXPECT_EQ(timing.Step(seen).action, ScheduleAction::kStop);
  EXPECT_EQ(counters.Step(seen).action, ScheduleAction::kStop);
  EXPECT_TRUE(timing.stopped());
  EXPECT_TRUE(counters.stopped());
}

TEST(CounterSchedule, WithoutABudgetNothingIsLimited) {
  CounterSchedule schedule({.budget_ratio = std::nullopt, .min_quiet_ns = 0}, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.cost_ns = 1000 * kSecond;
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  const ScheduleStep step = schedule.Step(seen);
  EXPECT_TRUE(step.ranges_allowed);
  EXPECT_EQ(step.max_ranges, UINT32_MAX);
  EXPECT_EQ(step.cost_limit_ns, UINT64_MAX);
  EXPECT_EQ(schedule.AllowanceNs(1), UINT64_MAX);
}

TEST(CounterSchedule, TheFirstRoundMayCostASecondAndAHalf) {
  const CounterSchedule schedule({}, kTwoKinds, 5 * kSecond);
  EXPECT_EQ(schedule.AllowanceNs(0), 1500 * kMs);
  EXPECT_EQ(schedule.AllowanceNs(35 * kSecond), 1500 * kMs);
  EXPECT_EQ(schedule.AllowanceNs(105 * kSecond), 5 * kSecond);
}

TEST(CounterSchedule, LeavesRoomForTheSassGroupInTheFirstRound) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.needs.groups[0].ranges = 3000;
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  seen.cost_ns = 300 * kMs;
  const ScheduleStep step = schedule.Step(seen);
  // 1.5 s less the rotation, and less another rotation with eight places and ranges of 4 ms.
  EXPECT_EQ(step.cost_limit_ns, (1500 - 300 - 216 - 32) * kMs);
  seen.cost_ns += step.cost_limit_ns;
  seen.samples = 500;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
}

// As seen on an H200 with a training step: the session of the second group cost nearly all that was left, what was kept
// for a third one the rest, and it was closed without a range.
TEST(CounterSchedule, KeepsForOtherGroupsOnlyWhatTheWindowItselfDoesNotNeed) {
  constexpr GroupKind kThreeKinds[] = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor};
  CounterSchedule schedule(kAtOnce, kThreeKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.needs.groups[0] = {.signatures = 47, .ranges = 142, .share_ratio = 1, .given_up = false};
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  seen.now_ns = 900 * kMs;
  seen.cost_ns = 830 * kMs;
  seen.samples = 142;
  seen.rotation_ns = 480 * kMs;
  seen.hardware_range_ns = 2 * kMs;
  seen.needs.groups[1] = seen.needs.groups[0];
  seen.needs.groups[2] = {.signatures = 20, .ranges = 60, .share_ratio = 0.6, .given_up = false};
  seen.needs.groups[0] = {};
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
  const ScheduleStep opened = schedule.Step(seen);
  ASSERT_EQ(opened.action, ScheduleAction::kToCounters);
  EXPECT_EQ(opened.group, 1u);
  seen.now_ns += 450 * kMs;
  seen.cost_ns += 450 * kMs;
  const ScheduleStep step = schedule.Step(seen);
  EXPECT_TRUE(step.ranges_allowed);
  EXPECT_GE(step.max_ranges, 16u);
}

TEST(CounterSchedule, OpensNothingThatTheBudgetDoesNotCover) {
  CounterSchedule schedule({.first_round_ns = 0, .min_quiet_ns = 0}, kTwoKinds, 0);
  ScheduleObservation seen = At(0);
  // A rotation with 17 places and twelve ranges: 0.252 s, 5 % of 5.04 s.
  uint64_t opened_ns = 0;
  while (opened_ns == 0 && seen.now_ns < 100 * kSecond) {
    const ScheduleStep step = schedule.Step(seen);
    if (step.action == ScheduleAction::kToCounters) opened_ns = seen.now_ns;
    seen.now_ns = step.next_ns;
  }
  EXPECT_NEAR(static_cast<double>(opened_ns) / 1e9, 5.04, 0.3);
}

TEST(CounterSchedule, ExpectsMoreOfASessionWithMorePlaces) {
  EXPECT_EQ(SessionPlaces(0), 8u);
  EXPECT_EQ(SessionPlaces(12), 16u);
  EXPECT_EQ(SessionPlaces(UINT32_MAX), kMaxSessionPlaces);
  const auto opens_at_ns = [](uint32_t ranges, uint64_t known_rotation_ns) {
    CounterSchedule schedule({.first_round_ns = 0, .min_quiet_ns = 0}, kTwoKinds, 0);
    ScheduleObservation seen = At(0);
    seen.needs.groups[0].ranges = ranges;
    seen.rotation_ns = known_rotation_ns;
    while (schedule.Step(seen).action != ScheduleAction::kToCounters) seen.now_ns += 10 * kMs;
    return seen.now_ns;
  };
  // 256 places: 0.712 s and sixteen ranges, 5 % of 14.7 s.
  EXPECT_NEAR(static_cast<double>(opens_at_ns(3000, 0)) / 1e9, 14.7, 0.1);
  // As measured where the size is that of the sessions before; here there was none.
  EXPECT_GT(opens_at_ns(3000, 100 * kMs), opens_at_ns(12, 100 * kMs));
}

TEST(CounterSchedule, ExpectsLessOfASessionWithFewerPlacesThanTheLastOne) {
  const auto opens_at_ns = [](uint32_t first_ranges) {
    CounterSchedule schedule({.budget_ratio = 0.05, .first_round_ns = kSecond, .min_quiet_ns = 0}, kTwoKinds, 0);
    ScheduleObservation seen = At(10 * kMs);
    seen.needs.groups[0].ranges = first_ranges;
    EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
    seen.samples = first_ranges;
    seen.cost_ns = kSecond;
    seen.rotation_ns = kSecond;
    seen.needs.groups[1] = {.signatures = 2, .ranges = 6, .share_ratio = 0.5, .given_up = false};
    seen.needs.groups[0].signatures = 0;
    EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
    while (schedule.Step(seen).action != ScheduleAction::kToCounters) seen.now_ns += 10 * kMs;
    return seen.now_ns;
  };
  // 10 and 256 places: 246 of 2 ms less; the same, and a second after the second that was spent; with six ranges of 4
  // ms.
  EXPECT_NEAR(static_cast<double>(opens_at_ns(256)) / 1e9, (1 + 1 - 0.492 + 0.024) / 0.05, 0.1);
  EXPECT_NEAR(static_cast<double>(opens_at_ns(6)) / 1e9, (1 + 1 + 0.024) / 0.05, 0.1);
}

TEST(CounterSchedule, AWindowThatCouldNotBeOpenedIsNoneAtAll) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  for (int attempt = 0; attempt < 5; ++attempt) {
    const ScheduleStep step = schedule.Step(seen);
    ASSERT_EQ(step.action, ScheduleAction::kToCounters) << "attempt " << attempt;
    EXPECT_EQ(step.group, 0u) << "it is still this group's turn";
    seen.cost_ns += 150 * kMs;
    seen.now_ns += 300 * kMs;
    schedule.NotOpened();
    EXPECT_EQ(schedule.rotations(), 0u);
  }
  EXPECT_EQ(schedule.AllowanceNs(seen.now_ns), 1500 * kMs) << "the first round is not over";
  schedule.NotOpened();
  EXPECT_EQ(schedule.rotations(), 0u) << "nothing where no window was asked for";
}

SamplingNeeds::GroupSummary Lacking(uint32_t signatures, double share_ratio) {
  return {.signatures = signatures, .ranges = 3 * signatures, .share_ratio = share_ratio, .given_up = false};
}

// Opens a window, fills it and ends it after `length_ns`; the round ends with the next step.
void SampleOneWindow(CounterSchedule* schedule, ScheduleObservation* seen, uint32_t group, uint64_t length_ns) {
  const SamplingNeeds::GroupSummary needs = seen->needs.groups[group];
  const ScheduleStep step = schedule->Step(*seen);
  ASSERT_EQ(step.action, ScheduleAction::kToCounters);
  ASSERT_EQ(step.group, group);
  while (length_ns != 0) {
    const uint64_t part_ns = std::min(length_ns, 400 * kMs);
    length_ns -= part_ns;
    seen->now_ns += part_ns;
    ++seen->samples;
    if (length_ns == 0) seen->needs.groups[group] = {};
    ASSERT_EQ(schedule->Step(*seen).action, length_ns != 0 ? ScheduleAction::kStay : ScheduleAction::kToTiming);
  }
  seen->samples += needs.ranges;
}

// When the next window opens, if steps are taken as asked for.
ScheduleStep NextWindow(CounterSchedule* schedule, ScheduleObservation* seen) {
  for (int i = 0; i < 100'000; ++i) {
    const ScheduleStep step = schedule->Step(*seen);
    if (step.action == ScheduleAction::kToCounters) return step;
    seen->now_ns = step.next_ns;
  }
  ADD_FAILURE() << "no window";
  return {};
}

TEST(CounterSchedule, TimesForAsLongAsTheRoundTook) {
  ScheduleOptions options = kAtOnce;
  options.settle_ns = 0;
  options.budget_ratio.reset();
  CounterSchedule schedule(options, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  SampleOneWindow(&schedule, &seen, 0, 4 * kSecond);
  const uint64_t ended_ns = seen.now_ns;
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.needs.groups[0] = Lacking(2, 0.5);
  NextWindow(&schedule, &seen);
  EXPECT_NEAR(static_cast<double>(seen.now_ns - ended_ns) / 1e9, 4, 0.1);
}

TEST(CounterSchedule, ALaterRoundIsOfTheGroupsThatAreWorthIt) {
  ScheduleOptions options = kAtOnce;
  options.budget_ratio.reset();
  CounterSchedule schedule(options, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  SampleOneWindow(&schedule, &seen, 0, 400 * kMs);
  schedule.Step(seen);
  // Little for the first group, much for the second, again and again: the first waits for its part of the run, no
  // longer.
  seen.needs.groups[0] = Lacking(1, 0.01);
  const uint64_t waits_since_ns = seen.now_ns;
  uint64_t opened_ns = 0;
  int others = 0;
  while (opened_ns == 0 && others < 100) {
    seen.needs.groups[1] = Lacking(4, 0.5);
    if (NextWindow(&schedule, &seen).group == 0) {
      opened_ns = seen.now_ns;
      break;
    }
    ++others;
    seen.now_ns += 100 * kMs;
    seen.samples += 12;
    seen.needs.groups[1] = {};
    ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
  }
  EXPECT_GE(others, 2);
  EXPECT_NEAR(static_cast<double>(opened_ns - waits_since_ns) / 1e9, 10, 1.5);
}

TEST(CounterSchedule, ARoundWithoutAWindowIsNotTheFirst) {
  CounterSchedule schedule(kAtOnce, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.rotation_ns = 2 * kSecond;  // More than the first round may cost.
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  seen.needs.groups[0] = {};
  EXPECT_EQ(schedule.Step(seen).action, ScheduleAction::kStay);
  EXPECT_EQ(schedule.AllowanceNs(seen.now_ns), 1500 * kMs);
}

TEST(CounterSchedule, RemembersThatAProgramRunsAhead) {
  ScheduleOptions options = kAtOnce;
  options.settle_ns = 0;
  options.budget_ratio.reset();
  CounterSchedule schedule(options, kTwoKinds, 0);
  ScheduleObservation seen = At(10 * kMs);
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  EXPECT_FALSE(schedule.Step(seen).drain_allowed);
  ++seen.busy_skips;
  seen.now_ns += 500 * kMs;
  EXPECT_TRUE(schedule.Step(seen).drain_allowed);
  seen.samples += 12;
  seen.needs.groups[0] = {};
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToTiming);
  seen.needs.groups[1] = Lacking(4, 1);
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  EXPECT_TRUE(schedule.Step(seen).drain_allowed);
}

TEST(CounterSchedule, DrainsOnlyWhenTheBudgetPaysForTheRangesAfterIt) {
  ScheduleOptions options = kAtOnce;
  options.first_round_ns = 1'000 * kMs;
  CounterSchedule schedule(options, {kTwoKinds, 1}, 0);
  ScheduleObservation seen = At(10 * kMs);
  seen.hardware_range_ns = 1 * kMs;
  seen.drain_ns = 100 * kMs;
  ASSERT_EQ(schedule.Step(seen).action, ScheduleAction::kToCounters);
  schedule.Step(seen);  // The session is open.
  ++seen.busy_skips;
  seen.now_ns += 500 * kMs;
  seen.cost_ns = 800 * kMs;
  EXPECT_TRUE(schedule.Step(seen).drain_allowed);  // 200 ms for 100 + 12.
  seen.cost_ns = 950 * kMs;
  ++seen.samples;
  EXPECT_TRUE(schedule.Step(seen).ranges_allowed);  // The drain is paid: range after range.
  seen.cost_ns = 1'000 * kMs;
  EXPECT_NE(schedule.Step(seen).ranges_allowed, true);
  // 6 per cent more are enough for a range, not for another drain.
  CounterSchedule later(options, {kTwoKinds, 1}, 0);
  seen = At(40 * kSecond);
  seen.hardware_range_ns = 1 * kMs;
  seen.drain_ns = 100 * kMs;
  ASSERT_EQ(later.Step(seen).action, ScheduleAction::kToCounters);
  later.Step(seen);  // The session is open.
  ++seen.busy_skips;
  seen.now_ns += 500 * kMs;
  ASSERT_TRUE(later.Step(seen).drain_allowed);
  seen.cost_ns = later.AllowanceNs(seen.now_ns);
  EXPECT_FALSE(later.Step(seen).ranges_allowed);
  seen.now_ns += 1'000 * kMs;
  EXPECT_FALSE(later.Step(seen).ranges_allowed);
  seen.now_ns += 1'500 * kMs;
  EXPECT_TRUE(later.Step(seen).drain_allowed);
}

// Whatever is observed, however little sense it makes, the steps keep their rules.
TEST(CounterSchedule, KeepsItsRulesUnderRandomObservations) {
  std::mt19937_64 random(6);
  const auto below = [&random](uint64_t n) { return random() % n; };
  const std::vector<GroupKind> kinds = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor,
                                        GroupKind::kHardware};
  int opened = 0;
  int stopped = 0;
  for (int round = 0; round < 300; ++round) {
    ScheduleOptions options;
    if (below(4) == 0) options.budget_ratio.reset();
    options.timing = below(3) != 0;
    CounterSchedule schedule(options, kinds, 0);
    ScheduleObservation seen;
    bool in_counters = false;
    uint32_t rotations = 0;
    for (int i = 0; i < 400; ++i) {
      seen.now_ns += below(3) == 0 ? below(5 * kSecond) : below(50 * kMs);
      if (below(3) == 0) seen.cost_ns += below(100 * kMs);
      seen.samples += below(2) * below(4);
      seen.busy_skips += below(2) * below(3);
      if (below(100) == 0) ++seen.session_failures;
      seen.recording = below(10) != 0;
      seen.capture_open = below(10) == 0;
      seen.ending = below(1000) == 0;
      seen.rotation_ns = below(2) * below(kSecond);
      seen.drain_ns = below(2) * below(kSecond);
      seen.needs.ranked = static_cast<uint32_t>(below(100));
      seen.needs.timed_ratio = static_cast<double>(below(101)) / 100;
      for (uint32_t group = 0; group < kinds.size(); ++group) {
        const auto signatures = static_cast<uint32_t>(below(3) * below(30));
        seen.needs.groups[group] = {.signatures = signatures,
                                    .ranges = signatures * static_cast<uint32_t>(1 + below(3)),
                                    .share_ratio = static_cast<double>(below(101)) / 100,
                                    .given_up = false};
      }
      const uint64_t allowance_ns = schedule.AllowanceNs(seen.now_ns);
      const uint64_t left_ns = allowance_ns > seen.cost_ns ? allowance_ns - seen.cost_ns : 0;
      const bool was_stopped = schedule.stopped();
      const ScheduleStep step = schedule.Step(seen);
      EXPECT_GE(step.next_ns, seen.now_ns);
      if (step.action == ScheduleAction::kStay) {
        EXPECT_GT(step.next_ns, seen.now_ns);
      }
      if (was_stopped || seen.capture_open) {
        EXPECT_EQ(step.action, ScheduleAction::kStay);
        EXPECT_FALSE(step.ranges_allowed);
      }
      if (step.ranges_allowed) {
        EXPECT_TRUE(in_counters && step.action == ScheduleAction::kStay && seen.recording);
        EXPECT_GE(step.max_ranges, 1u);
        if (options.budget_ratio) {
          EXPECT_LE(step.cost_limit_ns, left_ns);
          EXPECT_LE(step.drain_limit_ns, step.cost_limit_ns);
        }
      } else {
        EXPECT_FALSE(step.drain_allowed);
      }
      switch (step.action) {
        case ScheduleAction::kStay:
          break;
        case ScheduleAction::kToCounters:
          EXPECT_TRUE(!in_counters && seen.recording && !seen.ending);
          EXPECT_NE(seen.needs.groups[step.group].signatures, 0u);
          EXPECT_EQ(schedule.given_up_groups() >> step.group & 1u, 0u);
          // Less is expected of a session with fewer places than the one before had.
          EXPECT_GE(left_ns,
                    seen.rotation_ns - std::min(seen.rotation_ns, kMaxSessionPlaces * ScheduleOptions().place_ns));
          EXPECT_GE(left_ns, std::min(seen.rotation_ns, ScheduleOptions().rotation_ns));
          in_counters = true;
          ++rotations;
          ++opened;
          break;
        case ScheduleAction::kToTiming:
          EXPECT_TRUE(in_counters);
          in_counters = false;
          break;
        case ScheduleAction::kStop:
          in_counters = false;
          ++stopped;
          EXPECT_TRUE(schedule.stopped());
          break;
      }
    }
    EXPECT_EQ(schedule.rotations(), rotations);
  }
  EXPECT_GT(opened, 1000);
  EXPECT_GT(stopped, 50);
}

// ------------------------------------------------------------------------------------------------ whole programs

TEST(CounterScheduleRuns, ADecodeLoopGetsItsCoreSetInTwoRotations) {
  const SimulatedRun run = Simulate(DecodeLoop());
  EXPECT_FALSE(run.broke_a_rule);
  EXPECT_EQ(run.history, "ab");
  EXPECT_EQ(Missing(run), 0u);
  for (const std::vector<uint32_t>& samples : run.samples_of) EXPECT_EQ(samples, (std::vector<uint32_t>{3, 3}));
  EXPECT_GE(run.timed_ratio_at_first, 0.9);
  // 2 rotations, 42 ranges of 1.4 ms, 42 of 13 ms.
  EXPECT_LE(run.cost_ns, 1300 * kMs);
  EXPECT_EQ(run.worst_over_budget_ns, 0u);
}

TEST(CounterScheduleRuns, ATrainingStepOfAMinuteGetsItsCoreSetAtTheDefaultBudget) {
  // 60 signatures whose shares fall as in a transformer's step: a few matrix products, attention, a tail of small ones.
  // What 5 % of a minute pays for is some 45 of them, at 13 ms for a range of patched code.
  SimulatedProgram program;
  for (uint32_t i = 0; i < 60; ++i) {
    program.signatures.push_back(
        {.duration_ns = 5'000 + 2'000'000 / (1 + i * i / 4), .launches_a_step = 1 + i % 24, .tensor = i < 12});
  }
  const SimulatedRun run = Simulate(program);
  EXPECT_FALSE(run.broke_a_rule);
  EXPECT_LE(run.worst_over_budget_ns, kSlackNs);
  EXPECT_LE(run.rotations, 6u);
  double covered = 0;
  double total = 0;
  for (uint32_t i = 0; i < program.signatures.size(); ++i) {
    const double time = static_cast<double>(program.signatures[i].duration_ns) * program.signatures[i].launches_a_step;
    total += time;
    if (run.samples_of[i] == std::vector<uint32_t>{3, 3}) covered += time;
  }
  std::printf("training step: %.1f %% of the time covered, %.2f s of counters in %.1f s, %u rotations (%s)\n",
              100 * covered / total, static_cast<double>(run.cost_ns) / 1e9, static_cast<double>(run.length_ns) / 1e9,
              run.rotations, run.history.c_str());
  EXPECT_GE(covered / total, 0.95);
}

// A minute of the step that was measured, with records by the buffer and sessions that go on with patched code.
SimulatedProgram MeasuredProgram() {
  SimulatedProgram program;
  program.signatures = MeasuredStep();
  program.kinds = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor};
  program.length_ns = 64 * kSecond;
  program.rotation_ns = 110 * kMs;
  program.hardware_range_ns = 2 * kMs;
  program.records_a_buffer = 4'000;
  program.has_places = true;
  program.can_go_on = 0b101;
  program.next_group = 1;
  return program;
}

// Of the GPU time: what has three samples of every group that it should have.
double Covered(const SimulatedProgram& program, const SimulatedRun& run) {
  double covered = 0;
  double total = 0;
  for (size_t i = 0; i < program.signatures.size(); ++i) {
    const SimulatedSignature& signature = program.signatures[i];
    const double time = static_cast<double>(signature.duration_ns) * signature.launches_a_step;
    total += time;
    bool has_all = true;
    for (size_t group = 0; group < program.kinds.size(); ++group) {
      const bool wanted = program.kinds[group] != GroupKind::kTensor || signature.tensor;
      has_all = has_all && (!wanted || run.samples_of[i][group] >= 3);
    }
    if (has_all) covered += time;
  }
  return covered / total;
}

TEST(CounterScheduleRuns, AMeasuredTrainingStepGetsItsCoreSetAtTheDefaultBudget) {
  for (const uint32_t records_a_buffer : {1'000u, 4'000u, 8'000u}) {
    // As measured, and with a fifth of a second more for every session: what 5 % pay for is then less.
    for (const uint64_t rotation_ns : {110 * kMs, 300 * kMs}) {
      SimulatedProgram program = MeasuredProgram();
      program.records_a_buffer = records_a_buffer;
      program.rotation_ns = rotation_ns;
      const SimulatedRun run = Simulate(program);
      EXPECT_FALSE(run.broke_a_rule);
      EXPECT_LE(run.worst_over_budget_ns, kSlackNs);
      const double covered = Covered(program, run);
      std::printf(
          "measured step, %u records a buffer, %.0f ms a session: %.1f %% covered, %.2f s of counters, first at "
          "%.1f s (%s)\n",
          records_a_buffer, static_cast<double>(rotation_ns) / 1e6, 100 * covered,
          static_cast<double>(run.cost_ns) / 1e9, static_cast<double>(run.first_counters_ns) / 1e9,
          run.history.c_str());
      EXPECT_GE(covered, rotation_ns > 200 * kMs ? 0.94 : 0.955);
    }
  }
}

TEST(CounterScheduleRuns, ReopensForSignaturesThatComeLate) {
  SimulatedProgram program = DecodeLoop(10);
  program.length_ns = 120 * kSecond;
  for (uint32_t i = 0; i < 4; ++i) {
    program.signatures.push_back({.duration_ns = 100'000, .launches_a_step = 30, .begin_ns = 50 * kSecond});
  }
  const SimulatedRun run = Simulate(program);
  EXPECT_FALSE(run.broke_a_rule);
  EXPECT_EQ(Missing(run), 0u);
  EXPECT_EQ(run.history, "abab");
  for (const std::vector<uint32_t>& samples : run.samples_of) EXPECT_EQ(samples, (std::vector<uint32_t>{3, 3}));
}

TEST(CounterScheduleRuns, TensorGroupsAreCollectedOnlyWhereTheTensorPipeWasAtWork) {
  SimulatedProgram program = DecodeLoop(10);
  program.kinds = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kTensor};
  program.length_ns = 60 * kSecond;
  const SimulatedRun run = Simulate(program);
  EXPECT_EQ(Missing(run), 0u);
  EXPECT_EQ(run.history, "abc");
  for (uint32_t i = 0; i < program.signatures.size(); ++i) {
    EXPECT_EQ(run.samples_of[i][2], program.signatures[i].tensor ? 3u : 0u) << i;
  }
  for (SimulatedSignature& signature : program.signatures) signature.tensor = false;
  EXPECT_EQ(Simulate(program).history, "ab");
}

TEST(CounterScheduleRuns, AProgramThatRunsAheadIsDrained) {
  SimulatedProgram program = DecodeLoop(10);
  program.length_ns = 120 * kSecond;
  program.runs_ahead_ns = 120 * kMs;
  const SimulatedRun run = Simulate(program);
  EXPECT_FALSE(run.broke_a_rule);
  EXPECT_EQ(Missing(run), 0u);
  EXPECT_LE(run.worst_over_budget_ns, kSlackNs);
}

TEST(CounterScheduleRuns, AProgramThatCannotBeDrainedCostsNoMoreThanTheBudget) {
  SimulatedProgram program = DecodeLoop(10);
  program.length_ns = 200 * kSecond;
  program.runs_ahead_ns = 60 * kSecond;
  const SimulatedRun run = Simulate(program);
  EXPECT_FALSE(run.broke_a_rule);
  EXPECT_EQ(run.samples, 0u);
  EXPECT_LE(run.worst_over_budget_ns, 1000 * kMs + kSlackNs);  // One drain.
  EXPECT_LE(run.rotations, 10u);
}

TEST(CounterScheduleRuns, AGroupThatFailsDoesNotKeepTheOthersFromTheirSamples) {
  SimulatedProgram program = DecodeLoop(10);
  program.length_ns = 60 * kSecond;
  program.kinds = {GroupKind::kHardware, GroupKind::kSass, GroupKind::kHardware, GroupKind::kHardware};
  program.failing_groups = 0b0100;
  const SimulatedRun run = Simulate(program);
  EXPECT_EQ(run.given_up_groups, 0b0100u);
  EXPECT_EQ(Missing(run), 0u);
  for (const std::vector<uint32_t>& samples : run.samples_of) EXPECT_EQ(samples, (std::vector<uint32_t>{3, 3, 0, 3}));
}

TEST(CounterScheduleRuns, ASignatureWhoseRangesAreAlwaysVoidIsGivenUp) {
  SimulatedProgram program = DecodeLoop(10);
  program.length_ns = 60 * kSecond;
  program.signatures[5].always_void = true;
  const SimulatedRun run = Simulate(program);
  EXPECT_EQ(Missing(run), 0u);
  EXPECT_EQ(run.samples_of[5], (std::vector<uint32_t>{0, 0}));
  EXPECT_LE(run.rotations, 4u);
}

TEST(CounterScheduleRuns, NothingIsSwitchedInACaptureOrOutsideTheRegion) {
  SimulatedProgram program = DecodeLoop(10);
  program.length_ns = 30 * kSecond;
  program.capture = {50 * kMs, 5 * kSecond};
  program.off_region = {8 * kSecond, 12 * kSecond};
  const SimulatedRun run = Simulate(program);
  EXPECT_FALSE(run.broke_a_rule);
  EXPECT_EQ(Missing(run), 0u);
}

TEST(CounterScheduleRuns, EqualProgramsGiveEqualRuns) {
  const SimulatedProgram program = DecodeLoop();
  const SimulatedRun a = Simulate(program);
  const SimulatedRun b = Simulate(program);
  EXPECT_EQ(a.history, b.history);
  EXPECT_EQ(a.cost_ns, b.cost_ns);
  EXPECT_EQ(a.launches, b.launches);
}

// ------------------------------------------------------------------------------------------------ random programs

SimulatedProgram RandomProgram(std::mt19937_64* random) {
  const auto below = [random](uint64_t n) { return (*random)() % n; };
  SimulatedProgram program;
  const uint64_t phases = 1 + below(3);
  const uint64_t phase_ns = (60 + below(60)) * kSecond;
  program.length_ns = phases * phase_ns;
  program.phases = phases;
  const uint64_t signatures = 1 + below(60);
  for (uint64_t i = 0; i < signatures; ++i) {
    SimulatedSignature signature;
    signature.duration_ns =
        static_cast<uint64_t>(std::exp2(14 + static_cast<double>(below(700)) / 100));  // 16 us, 2 ms
    signature.launches_a_step = static_cast<uint32_t>(1 + below(20));
    signature.tensor = below(3) == 0;
    // Half of them belong to the whole run, the others to one phase.
    if (below(2) == 0) {
      const uint64_t phase = below(phases);
      signature.begin_ns = phase * phase_ns;
      signature.end_ns = (phase + 1) * phase_ns;
    }
    program.signatures.push_back(signature);
  }
  switch (below(3)) {
    case 0:
      break;
    case 1:
      program.kinds.push_back(GroupKind::kTensor);
      break;
    default:
      for (int i = 0; i < 6; ++i) program.kinds.push_back(GroupKind::kHardware);
      program.kinds.push_back(GroupKind::kTensor);
  }
  if (below(4) == 0) program.runs_ahead_ns = (10 + below(200)) * kMs;
  program.rotation_ns = (200 + below(200)) * kMs;
  return program;
}

// What every group costs of the signatures that are at work in a moment, with room for what is not known beforehand.
double NeededNs(const SimulatedProgram& program, uint64_t at_ns) {
  double ranges = 0;
  for (const SimulatedSignature& signature : program.signatures) {
    if (at_ns >= signature.begin_ns && at_ns < signature.end_ns) ranges += 3;
  }
  double needed_ns = 0;
  for (const GroupKind kind : program.kinds) {
    const uint64_t range_ns = kind == GroupKind::kSass ? program.sass_range_ns : program.hardware_range_ns;
    needed_ns += 2 * static_cast<double>(program.rotation_ns) + ranges * static_cast<double>(range_ns);
    // A drain serves some ranges.
    needed_ns += ranges / 8 * static_cast<double>(program.runs_ahead_ns);
  }
  return needed_ns;
}

double MissingShare(const SimulatedRun& run) {
  double share = 0;
  for (const SamplingNeeds::GroupSummary& group : run.needs.groups) share = std::max(share, group.share_ratio);
  return share;
}

TEST(CounterScheduleRuns, RandomProgramsKeepTheBudgetAndGetTheirSamplesInFewRotations) {
  std::mt19937_64 random(4);
  double most_over_s = 0;
  double rotations_a_group = 0;
  double most_rotations_a_group = 0;
  double share_spent = 0;
  constexpr int kPrograms = 60;
  int complete = 0;
  int feasible = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const SimulatedProgram program = RandomProgram(&random);
    const SimulatedRun run = Simulate(program);
    SCOPED_TRACE(testing::Message() << "program " << i << ": " << program.signatures.size() << " signatures, "
                                    << program.kinds.size() << " groups, ahead " << program.runs_ahead_ns << " ns, "
                                    << run.length_ns / kSecond << " s, history " << run.history << ", missing "
                                    << Missing(run) << ", cost " << run.cost_ns);
    EXPECT_FALSE(run.broke_a_rule);
    EXPECT_TRUE(run.stopped);
    EXPECT_LE(run.worst_over_budget_ns, kSlackNs);
    // About half: a timing window as long as each round, but for the last one, which may end with the program.
    EXPECT_LE(run.counters_ns, run.length_ns / 2 + ScheduleOptions().max_timing_ns / 2);
    // Wherever every phase is long enough for what is to be sampled in it, what is missing in the end is small change.
    bool is_feasible = true;
    const uint64_t phases = program.phases;
    for (uint64_t phase = 0; phase < phases; ++phase) {
      const uint64_t phase_ns = program.length_ns / phases;
      is_feasible = is_feasible && NeededNs(program, phase * phase_ns) < 0.05 * static_cast<double>(phase_ns);
    }
    if (is_feasible) {
      ++feasible;
      EXPECT_LT(MissingShare(run), 0.02);
    }
    complete += Missing(run) == 0 ? 1 : 0;
    const double rotations = static_cast<double>(run.rotations) / static_cast<double>(program.kinds.size());
    rotations_a_group += rotations / kPrograms;
    most_rotations_a_group = std::max(most_rotations_a_group, rotations / static_cast<double>(phases));
    most_over_s = std::max(most_over_s, static_cast<double>(run.worst_over_budget_ns) / 1e9);
    share_spent += static_cast<double>(run.cost_ns) / static_cast<double>(run.length_ns) / kPrograms;
  }
  std::printf(
      "random programs: %d of %d complete, %d had time for it; rotations a group: mean %.2f, most %.2f a phase; "
      "over the budget at most %.3f s; mean share spent %.2f %%\n",
      complete, kPrograms, feasible, rotations_a_group, most_rotations_a_group, most_over_s, 100 * share_spent);
  EXPECT_GE(feasible, kPrograms / 4);
  EXPECT_GE(complete, feasible);
  EXPECT_LE(rotations_a_group, 3);
  EXPECT_LE(most_rotations_a_group, 4);
}

TEST(CounterScheduleRuns, RandomProgramsGetEverySampleWithoutABudget) {
  std::mt19937_64 random(5);
  double most_rotations_a_group = 0;
  for (int i = 0; i < 30; ++i) {
    const SimulatedProgram program = RandomProgram(&random);
    const SimulatedRun run = Simulate(program, {.budget_ratio = std::nullopt});
    SCOPED_TRACE(testing::Message() << "program " << i << ": history " << run.history);
    EXPECT_FALSE(run.broke_a_rule);
    EXPECT_LT(MissingShare(run), 0.02);
    most_rotations_a_group = std::max(most_rotations_a_group,
                                      static_cast<double>(run.rotations) / static_cast<double>(program.kinds.size()));
  }
  std::printf("without a budget: at most %.2f rotations a group\n", most_rotations_a_group);
  EXPECT_LE(most_rotations_a_group, 5);
}

}  // namespace
}  // namespace gx::inject
