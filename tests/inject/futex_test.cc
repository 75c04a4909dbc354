#include "inject/futex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gx::inject {
namespace {

constexpr uint64_t kGenerousNs = 30'000'000'000;

TEST(FutexWait, ReturnsAtOnceWhereTheWordDiffers) {
  const std::atomic<uint32_t> word{5};
  const uint64_t before_ns = MonotonicNs();
  FutexWait(word, 4, kGenerousNs);
  EXPECT_LT(MonotonicNs() - before_ns, kGenerousNs);
}

TEST(FutexWait, ReturnsAfterItsTimeOut) {
  const std::atomic<uint32_t> word{5};
  FutexWait(word, 5, 1'000'000);
  FutexWait(word, 5, 0);
  SUCCEED() << "it came back";
}

TEST(Pulse, CountsWhatWasSignalled) {
  Pulse pulse;
  const uint32_t seen = pulse.count();
  pulse.Signal();
  pulse.Signal();
  EXPECT_EQ(pulse.count(), seen + 2);
}

TEST(Pulse, ASignalBeforeTheWaitIsNotMissed) {
  Pulse pulse;
  const uint32_t seen = pulse.count();
  pulse.Signal();
  EXPECT_NE(pulse.WaitFor(seen, kGenerousNs), seen);
}

TEST(Pulse, ATimeOutReturnsTheSameCount) {
  const Pulse pulse;
  EXPECT_EQ(pulse.WaitFor(pulse.count(), 1'000'000), pulse.count());
}

TEST(Pulse, EverySignalOfAnotherThreadWakesTheWaiter) {
  Pulse there;
  Pulse back;
  constexpr int kRounds = 5'000;
  std::thread other([&] {
    uint32_t seen = 0;
    for (int i = 0; i < kRounds; ++i) {
      while (there.WaitFor(seen, kGenerousNs) == seen) {
      }
      ++seen;
      back.Signal();
    }
  });
  uint32_t seen = 0;
  for (int i = 0; i < kRounds; ++i) {
    there.Signal();
    ASSERT_NE(back.WaitFor(seen, kGenerousNs), seen) << "round " << i;
    ++seen;
  }
  other.join();
  EXPECT_EQ(back.count(), static_cast<uint32_t>(kRounds));
}

TEST(WaitUntil, ReturnsTrueOnceDoneSaysSo) {
  int calls = 0;
  EXPECT_TRUE(WaitUntil([&] { return ++calls == 4; }, kGenerousNs));
  EXPECT_EQ(calls, 4);
}

TEST(WaitUntil, AsksAtLeastOnceAndGivesUpAtItsDeadline) {
  int calls = 0;
  const auto never = [&] {
    ++calls;
    return false;
  };
  EXPECT_FALSE(WaitUntil(never, 0));
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(WaitUntil(never, 2'000'000));
}

}  // namespace
}  // namespace gx::inject
