#include "inject/sampling_watchdog.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace gx::inject {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(SamplingWatchdog, NamesNothingWhileCallsComeBack) {
  SamplingWatchdog watchdog;
  for (uint64_t now_ns = 0; now_ns < 1000 * kSecond; now_ns += kSecond) {
    const uint32_t slot = watchdog.Enter(SamplingCall::kPush, now_ns);
    EXPECT_FALSE(watchdog.Check(now_ns));
    watchdog.Leave(slot);
    EXPECT_FALSE(watchdog.Check(now_ns + 100 * kSecond));
  }
  EXPECT_FALSE(watchdog.off());
}

TEST(SamplingWatchdog, NamesAStuckCallOnceAndTurnsSamplingOffForGood) {
  SamplingWatchdog watchdog;
  const uint32_t slot = watchdog.Enter(SamplingCall::kPop, 5 * kSecond);
  EXPECT_FALSE(watchdog.Check(15 * kSecond - 1));
  EXPECT_FALSE(watchdog.off());
  const std::optional<StuckCall> stuck = watchdog.Check(15 * kSecond);
  ASSERT_TRUE(stuck);
  EXPECT_EQ(stuck->call, SamplingCall::kPop);
  EXPECT_EQ(stuck->since_ns, 5 * kSecond);
  EXPECT_EQ(stuck->slot, slot);
  EXPECT_TRUE(watchdog.off());
  EXPECT_FALSE(watchdog.Check(100 * kSecond));
  watchdog.Leave(slot);
  EXPECT_TRUE(watchdog.off());
}

TEST(SamplingWatchdog, NamesEveryStuckCall) {
  SamplingWatchdog watchdog;
  watchdog.Enter(SamplingCall::kPush, 0);
  watchdog.Enter(SamplingCall::kQueryStream, 0);
  EXPECT_EQ(watchdog.Check(10 * kSecond)->call, SamplingCall::kPush);
  EXPECT_EQ(watchdog.Check(10 * kSecond)->call, SamplingCall::kQueryStream);
  EXPECT_FALSE(watchdog.Check(10 * kSecond));
}

TEST(SamplingWatchdog, ASlotThatIsUsedAgainIsANewCall) {
  SamplingWatchdog watchdog;
  const uint32_t slot = watchdog.Enter(SamplingCall::kPush, 0);
  ASSERT_TRUE(watchdog.Check(10 * kSecond));
  watchdog.Leave(slot);
  EXPECT_EQ(watchdog.Enter(SamplingCall::kStart, 20 * kSecond), slot);
  EXPECT_FALSE(watchdog.Check(49 * kSecond));
  EXPECT_EQ(watchdog.Check(50 * kSecond)->call, SamplingCall::kStart);
}

TEST(SamplingWatchdog, SessionsMayTakeLongerThanRanges) {
  for (const SamplingCall call :
       {SamplingCall::kEnable, SamplingCall::kConfigure, SamplingCall::kStart, SamplingCall::kStop,
        SamplingCall::kDecode, SamplingCall::kEvaluate, SamplingCall::kDisable}) {
    EXPECT_EQ(SamplingCallLimitNs(call), 30 * kSecond) << SamplingCallName(call);
  }
  for (const SamplingCall call :
       {SamplingCall::kPush, SamplingCall::kPatchedLaunch, SamplingCall::kPop, SamplingCall::kQueryStream}) {
    EXPECT_EQ(SamplingCallLimitNs(call), 10 * kSecond) << SamplingCallName(call);
  }
  // The wait for a sampled launch has a deadline of its own, of up to 10 s.
  EXPECT_EQ(SamplingCallLimitNs(SamplingCall::kQueryEvent), 15 * kSecond);
}

TEST(SamplingWatchdog, AClockThatGoesBackNamesNothing) {
  SamplingWatchdog watchdog;
  watchdog.Enter(SamplingCall::kPush, 100 * kSecond);
  EXPECT_FALSE(watchdog.Check(0));
}

TEST(SamplingWatchdog, CallsBeyondItsSlotsAreCounted) {
  SamplingWatchdog watchdog;
  for (uint32_t i = 0; i < SamplingWatchdog::kSlots; ++i) EXPECT_EQ(watchdog.Enter(SamplingCall::kPush, 0), i);
  EXPECT_EQ(watchdog.Enter(SamplingCall::kPush, 0), SamplingWatchdog::kNone);
  EXPECT_EQ(watchdog.unwatched(), 1u);
  watchdog.Leave(SamplingWatchdog::kNone);
  watchdog.Leave(5);
  EXPECT_EQ(watchdog.Enter(SamplingCall::kPush, 0), 5u);
}

TEST(SamplingWatchdog, KeepsTheTimeOfAProcessThatHasRunForAYear) {
  SamplingWatchdog watchdog;
  const uint64_t year_ns = 365 * 86400 * kSecond;
  watchdog.Enter(SamplingCall::kDecode, year_ns);
  EXPECT_FALSE(watchdog.Check(year_ns + kSecond));
  EXPECT_EQ(watchdog.Check(year_ns + 30 * kSecond)->since_ns, year_ns);
}

TEST(SamplingWatchdog, SaysWhetherAnyCallIsUnderWay) {
  SamplingWatchdog watchdog;
  EXPECT_FALSE(watchdog.busy());
  const uint32_t first = watchdog.Enter(SamplingCall::kInitialize, kSecond);
  const uint32_t second = watchdog.Enter(SamplingCall::kStart, kSecond);
  watchdog.Leave(first);
  EXPECT_TRUE(watchdog.busy());
  watchdog.Leave(second);
  EXPECT_FALSE(watchdog.busy());
}

TEST(SamplingWatchdog, EveryCallHasAName) {
  for (uint32_t call = 0; call < kSamplingCalls; ++call) {
    EXPECT_NE(SamplingCallName(static_cast<SamplingCall>(call)), "unknown call");
  }
  EXPECT_EQ(SamplingCallName(static_cast<SamplingCall>(kSamplingCalls)), "unknown call");
}

TEST(SamplingWatchdog, ThreadsComeAndGoWhileItLooks) {
  SamplingWatchdog watchdog;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 10'000; ++i) watchdog.Leave(watchdog.Enter(SamplingCall::kPush, kSecond));
    });
  }
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(watchdog.Check(2 * kSecond));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(watchdog.unwatched(), 0u);
  EXPECT_FALSE(watchdog.off());
}

TEST(SamplingWatchdog, WakesItsWatcherForCallsThatBuildASessionAlone) {
  SamplingWatchdog watchdog;
  Pulse wake;
  watchdog.SetWake(&wake);
  const uint32_t before = wake.count();
  watchdog.Leave(watchdog.Enter(SamplingCall::kPush, 1));
  EXPECT_EQ(wake.count(), before) << "a launch waits for it";
  const uint32_t slot = watchdog.Enter(SamplingCall::kStart, 2);
  EXPECT_EQ(wake.count(), before + 1);
  EXPECT_TRUE(watchdog.busy());
  watchdog.Leave(slot);
}

}  // namespace
}  // namespace gx::inject
