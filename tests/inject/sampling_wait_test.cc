#include "inject/sampling_wait.h"

#include <gtest/gtest.h>

#include <random>

namespace gx::inject {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;

struct Waited {
  WaitNext next = WaitNext::kSleep;
  uint64_t at_ns = 0;
  int polls = 0;
};

// A device that is ready from `ready_ns` on; asking takes `ask_ns`, a nap takes as long as it should.
Waited Wait(PolledWait wait, uint64_t ready_ns, uint64_t ask_ns = 1000) {
  Waited waited;
  waited.at_ns = wait.begin_ns();
  for (;;) {
    waited.at_ns += ask_ns;
    ++waited.polls;
    const WaitStep step = wait.Next(waited.at_ns, waited.at_ns >= ready_ns ? Readiness::kReady : Readiness::kNotReady);
    waited.next = step.next;
    if (step.next != WaitNext::kSleep) return waited;
    waited.at_ns += step.sleep_ns;
  }
}

TEST(IdleWait, GoesAtOnceWhereStreamsAreIdle) {
  const Waited waited = Wait(IdleWait(100), 0);
  EXPECT_EQ(waited.next, WaitNext::kGo);
  EXPECT_EQ(waited.polls, 1);
}

TEST(IdleWait, SkipsAfterFiftyMilliseconds) {
  const Waited waited = Wait(IdleWait(1'000'000), UINT64_MAX);
  EXPECT_EQ(waited.next, WaitNext::kGiveUp);
  EXPECT_GE(waited.at_ns, 1'000'000 + 50 * kMs);
  EXPECT_LE(waited.at_ns, 1'000'000 + 50 * kMs + 10'000);
  EXPECT_LT(waited.polls, 100);
}

TEST(IdleWait, APlannedDrainMayTakeLonger) {
  EXPECT_EQ(Wait(IdleWait(0, kIdleLimitNs, kSecond), 600 * kMs).next, WaitNext::kGo);
  EXPECT_EQ(Wait(IdleWait(0, kIdleLimitNs, 500 * kMs), 600 * kMs).next, WaitNext::kGiveUp);
  // A drain with less left than a plain wait takes is a plain wait.
  EXPECT_EQ(Wait(IdleWait(0, kIdleLimitNs, 1), 40 * kMs).next, WaitNext::kGo);
}

TEST(CompletionWait, NoticesAShortKernelWithinMicroseconds) {
  const Waited waited = Wait(CompletionWait(0, kSecond), 30'000, 500);
  EXPECT_EQ(waited.next, WaitNext::kGo);
  EXPECT_LT(waited.at_ns, 32'000u);
}

TEST(CompletionWait, AsksALongKernelSeldomAndNoticesItWithinAMillisecond) {
  const Waited waited = Wait(CompletionWait(0, 10 * kSecond), 500 * kMs);
  EXPECT_EQ(waited.next, WaitNext::kGo);
  EXPECT_LE(waited.at_ns, 502 * kMs);
  EXPECT_LT(waited.polls, 600);
}

TEST(PolledWait, AnErrorEndsItAndReadinessCountsAtTheDeadlineToo) {
  CompletionWait wait(0, kSecond);
  EXPECT_EQ(wait.Next(10, Readiness::kError).next, WaitNext::kFail);
  EXPECT_EQ(wait.Next(2 * kSecond, Readiness::kReady).next, WaitNext::kGo);
  EXPECT_EQ(wait.Next(2 * kSecond, Readiness::kNotReady).next, WaitNext::kGiveUp);
}

TEST(PolledWait, EndsWithAClockThatStandsStillOrGoesBack) {
  CompletionWait wait(5 * kSecond, kSecond);
  uint32_t polls = 0;
  while (wait.Next(4 * kSecond, Readiness::kNotReady).next == WaitNext::kSleep) ++polls;
  EXPECT_EQ(polls, kMaxPolls - 1);
}

TEST(PolledWait, DoesNotOverflowAtTheEndOfTime) {
  CompletionWait wait(UINT64_MAX - 10, kSecond);
  EXPECT_EQ(wait.Next(UINT64_MAX - 1, Readiness::kNotReady).next, WaitNext::kSleep);
  EXPECT_EQ(wait.Next(UINT64_MAX, Readiness::kNotReady).next, WaitNext::kGiveUp);
}

TEST(PolledWait, NeverSleepsPastItsDeadlineAndAlwaysEnds) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t begin_ns = random() >> 20;
    const uint64_t limit_ns = random() % (2 * kSecond);
    const uint64_t ask_ns = 1 + random() % 100'000;
    const uint64_t ready_ns = begin_ns + random() % (3 * kSecond);
    CompletionWait wait(begin_ns, limit_ns);
    const Waited waited = Wait(wait, ready_ns, ask_ns);
    EXPECT_LE(waited.at_ns, begin_ns + limit_ns + 2 * ask_ns);
    if (ready_ns + 2 * ask_ns < begin_ns + limit_ns) {
      EXPECT_EQ(waited.next, WaitNext::kGo);
      EXPECT_LE(waited.at_ns, ready_ns + 1 * kMs + 2 * ask_ns);
    }
  }
}

TEST(SkipBackOff, StaysAwayTwiceAsLongAfterEverySkip) {
  SkipBackOff back_off;
  EXPECT_TRUE(back_off.MayTry(0));
  uint64_t now_ns = 0;
  const uint64_t expected_ms[] = {50, 100, 200, 400, 800, 1600, 2000, 2000};
  for (const uint64_t away_ms : expected_ms) {
    back_off.Skipped(now_ns, 50 * kMs);
    EXPECT_FALSE(back_off.MayTry(now_ns + away_ms * kMs - 1));
    now_ns += away_ms * kMs;
    EXPECT_TRUE(back_off.MayTry(now_ns));
  }
  back_off.Succeeded();
  EXPECT_TRUE(back_off.MayTry(0));
  back_off.Skipped(now_ns, 50 * kMs);
  EXPECT_TRUE(back_off.MayTry(now_ns + 50 * kMs));
}

TEST(SkipBackOff, WaitingIsAtMostHalfOfTheTime) {
  SkipBackOff back_off;
  uint64_t now_ns = 0;
  uint64_t waited_ns = 0;
  while (now_ns < 100 * kSecond) {
    if (!back_off.MayTry(now_ns)) {
      now_ns += kMs;
      continue;
    }
    now_ns += 50 * kMs;
    waited_ns += 50 * kMs;
    back_off.Skipped(now_ns, 50 * kMs);
  }
  EXPECT_LT(waited_ns, 4 * kSecond);
}

TEST(CompletionLimit, FollowsTheLongestKnownLaunch) {
  struct Row {
    uint64_t longest_ns;
    uint64_t limit_ns;
  };
  const Row rows[] = {{0, 2 * kSecond},
                      {1, 250 * kMs},
                      {12'500'000, 250 * kMs},
                      {20 * kMs, 400 * kMs},
                      {499 * kMs, 9980 * kMs},
                      {500 * kMs, 10 * kSecond},
                      {3600 * kSecond, 10 * kSecond},
                      {UINT64_MAX, 10 * kSecond}};
  for (const Row& row : rows) EXPECT_EQ(CompletionLimitNs(row.longest_ns), row.limit_ns) << row.longest_ns;
}

TEST(AfterCompletion, GraduatesOnlyCleanRangesOfHardwareGroups) {
  EXPECT_TRUE(AfterCompletion(WaitNext::kGo, true, true).graduate);
  EXPECT_FALSE(AfterCompletion(WaitNext::kGo, false, true).graduate);
  EXPECT_FALSE(AfterCompletion(WaitNext::kGo, true, false).graduate);
  const CompletionConsequence done = AfterCompletion(WaitNext::kGo, true, true);
  EXPECT_TRUE(done.pop);
  EXPECT_FALSE(done.abandon_session || done.deny_function || done.stop_sampling);
}

TEST(AfterCompletion, AMissedDeadlineAbandonsTheSessionAndDeniesTheFunction) {
  const CompletionConsequence late = AfterCompletion(WaitNext::kGiveUp, true, true);
  EXPECT_TRUE(late.abandon_session);
  EXPECT_TRUE(late.deny_function);
  EXPECT_FALSE(late.pop || late.graduate || late.stop_sampling);
}

TEST(AfterCompletion, AnErrorOfTheDeviceStopsSamplingAndBlamesNoFunction) {
  const CompletionConsequence error = AfterCompletion(WaitNext::kFail, true, true);
  EXPECT_TRUE(error.abandon_session);
  EXPECT_TRUE(error.stop_sampling);
  EXPECT_FALSE(error.pop || error.graduate || error.deny_function);
}

}  // namespace
}  // namespace gx::inject
