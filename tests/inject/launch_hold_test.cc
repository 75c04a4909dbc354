#include "inject/launch_hold.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace gx::inject {
namespace {

// Long enough that no test ends by it.
constexpr uint64_t kHour = 3'600'000'000'000;

class LaunchHoldTest : public ::testing::Test {
 protected:
  LaunchHoldTest() {
    EXPECT_TRUE(queues_.Allocate(uint64_t{8} << 20));
    queues_.ForgetCurrent();
  }
  ~LaunchHoldTest() override { queues_.ForgetCurrent(); }

  // A state of a thread that has ended: nobody else's.
  ThreadState* OtherThread() {
    ThreadState* state = nullptr;
    std::thread([&] { state = queues_.Current(); }).join();
    return state;
  }

  ThreadQueues queues_;
  LaunchHold hold_{kHour};
};

TEST_F(LaunchHoldTest, WhereNothingIsHeldACallEntersAtOnce) {
  ThreadState* const thread = queues_.Current();
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr));
  EXPECT_EQ(hold_.Enter(thread), 0u);
  EXPECT_TRUE(hold_.CallsUnderWay(queues_, nullptr));
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, thread)) << "the holder's own call";
  hold_.Leave(thread);
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr));
}

TEST_F(LaunchHoldTest, OneHolderAtATime) {
  EXPECT_TRUE(hold_.Hold());
  EXPECT_TRUE(hold_.held());
  EXPECT_FALSE(hold_.Hold());
  hold_.Release();
  EXPECT_FALSE(hold_.held());
  EXPECT_TRUE(hold_.Hold());
}

TEST_F(LaunchHoldTest, CallsOfOtherThreadsCountBesideTheHoldersOwn) {
  ThreadState* const own = queues_.Current();
  ThreadState* const other = OtherThread();
  ASSERT_NE(other, own);
  (void)hold_.Enter(own);
  (void)hold_.Enter(other);
  ASSERT_TRUE(hold_.Hold());
  EXPECT_TRUE(hold_.CallsUnderWay(queues_, own));
  hold_.Leave(other);
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, own));
}

TEST_F(LaunchHoldTest, ACallInsideACallNeverWaits) {
  ThreadState* const thread = queues_.Current();
  EXPECT_EQ(hold_.Enter(thread), 0u);
  ASSERT_TRUE(hold_.Hold());
  EXPECT_EQ(hold_.Enter(thread), 0u);  // Would wait for an hour.
  hold_.Leave(thread);
  EXPECT_TRUE(hold_.CallsUnderWay(queues_, nullptr)) << "the outer call goes on";
  hold_.Leave(thread);
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr));
}

TEST_F(LaunchHoldTest, LeavingWithoutHavingEnteredIsNothing) {
  ThreadState* const thread = queues_.Current();
  hold_.Leave(thread);
  hold_.Leave(nullptr);
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr));
  (void)hold_.Enter(thread);
  EXPECT_TRUE(hold_.CallsUnderWay(queues_, nullptr));
}

TEST_F(LaunchHoldTest, CallsWithoutAnEndDoNotOverflow) {
  ThreadState* const thread = queues_.Current();
  for (int i = 0; i < 1'000; ++i) (void)hold_.Enter(thread);
  EXPECT_TRUE(hold_.CallsUnderWay(queues_, nullptr));
}

TEST_F(LaunchHoldTest, ThreadsWithoutAQueueAreSeen) {
  EXPECT_EQ(hold_.Enter(nullptr), 0u);
  EXPECT_EQ(hold_.Enter(nullptr), 0u);
  hold_.Leave(nullptr);
  EXPECT_TRUE(hold_.CallsUnderWay(queues_, nullptr));
  hold_.Leave(nullptr);
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr));
}

TEST_F(LaunchHoldTest, AHeldCallGoesOnAtTheLimitAndIsCounted) {
  for (ThreadState* const thread : {queues_.Current(), static_cast<ThreadState*>(nullptr)}) {
    LaunchHold hold(0);
    ASSERT_TRUE(hold.Hold());
    (void)hold.Enter(thread);
    EXPECT_EQ(hold.overrun_count(), 1u);
    EXPECT_TRUE(hold.CallsUnderWay(queues_, nullptr));
    hold.Leave(thread);
    hold.Release();
    (void)hold.Enter(thread);
    EXPECT_EQ(hold.overrun_count(), 1u) << "nothing was held";
    hold.Leave(thread);
  }
}

TEST_F(LaunchHoldTest, AHeldCallWaitsForTheLimitAtLeast) {
  LaunchHold hold(2'000'000);
  ASSERT_TRUE(hold.Hold());
  EXPECT_GE(hold.Enter(queues_.Current()), 2'000'000u);
  EXPECT_EQ(hold.overrun_count(), 1u);
}

TEST_F(LaunchHoldTest, AfterTheFirstOverrunNobodyWaitsForThatHold) {
  ThreadState* const thread = queues_.Current();
  const uint64_t ticket = hold_.HoldFor(20'000'000);
  ASSERT_NE(ticket, 0u);
  EXPECT_GE(hold_.Enter(thread), 20'000'000u);
  hold_.Leave(thread);
  EXPECT_TRUE(hold_.held()) << "the holder's still";
  uint64_t waited_ns = 0;
  for (int i = 0; i < 20; ++i) {
    waited_ns += hold_.Enter(thread);
    hold_.Leave(thread);
  }
  EXPECT_LT(waited_ns, 20u * 20'000'000u) << "each would wait for the limit";
  EXPECT_EQ(hold_.overrun_count(), 21u) << "the holder sees every one of them";
  EXPECT_EQ(hold_.Hold(), 0u);
  hold_.Release(ticket);
  ASSERT_NE(hold_.Hold(), 0u) << "with its own limit again";
  hold_.Release();
}

TEST_F(LaunchHoldTest, AReleaseThatComesLateEndsNobodyElsesHold) {
  const uint64_t stuck = hold_.Hold();
  ASSERT_NE(stuck, 0u);
  hold_.Release();  // The watchdog's.
  const uint64_t next = hold_.Hold();
  ASSERT_NE(next, 0u);
  EXPECT_FALSE(hold_.IsHeldBy(stuck));
  EXPECT_TRUE(hold_.IsHeldBy(next));
  hold_.Release(stuck);
  EXPECT_TRUE(hold_.held());
  hold_.Release(next);
  EXPECT_FALSE(hold_.held());
  hold_.Release(next);
  EXPECT_FALSE(hold_.held());
}

TEST_F(LaunchHoldTest, ACallEnteredWithoutAQueueIsLeftWithOne) {
  EXPECT_EQ(hold_.Enter(nullptr), 0u);
  ThreadState* const thread = queues_.Current();
  // A call inside it.
  EXPECT_EQ(hold_.Enter(thread), 0u);
  hold_.Leave(thread);
  EXPECT_TRUE(hold_.CallsUnderWay(queues_, nullptr));
  hold_.Leave(thread);
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr));
}

TEST_F(LaunchHoldTest, AThreadThatEndsInsideACallIsForgotten) {
  std::thread([&] { (void)hold_.Enter(queues_.Current()); }).join();
  EXPECT_TRUE(hold_.CallsUnderWay(queues_, nullptr));
  // The kernel may know the thread for a moment longer.
  while (hold_.CallsUnderWay(queues_, nullptr)) queues_.CollectEndedThreads();
  std::thread([&] {
    (void)queues_.Current();
    EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr)) << "the slot's next thread is in no call";
  }).join();
}

TEST_F(LaunchHoldTest, AHeldCallEntersOnlyAfterTheRelease) {
  constexpr int kThreads = 4;
  std::atomic<bool> released{false};
  std::atomic<int> early{0};
  std::latch begun(kThreads);
  ASSERT_TRUE(hold_.Hold());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // One of them without a queue.
      ThreadState* const thread = t == 0 ? nullptr : queues_.Current();
      begun.count_down();
      (void)hold_.Enter(thread);
      if (!released.load()) early.fetch_add(1);
      hold_.Leave(thread);
    });
  }
  begun.wait();
  for (int i = 0; i < 1'000; ++i) std::this_thread::yield();
  released.store(true);
  hold_.Release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(early.load(), 0);
  EXPECT_EQ(hold_.overrun_count(), 0u);
  EXPECT_FALSE(hold_.CallsUnderWay(queues_, nullptr));
}

// Either the holder sees the call, or the call sees the hold: never do both go on. `guarded` is no atomic, so that
// ThreadSanitizer sees an overlap as well.
TEST_F(LaunchHoldTest, HolderAndCallsNeverGoOnTogether) {
  constexpr int kThreads = 3;
  constexpr int kCalls = 5'000;
  std::vector<uint64_t> per_thread(kThreads);
  std::atomic<int> running{kThreads};
  std::atomic<int> inside{0};
  int overlaps = 0;
  int holds = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ThreadState* const thread = t == 0 ? nullptr : queues_.Current();
      for (int i = 0; i < kCalls; ++i) {
        (void)hold_.Enter(thread);
        inside.fetch_add(1, std::memory_order_relaxed);
        ++per_thread[static_cast<size_t>(t)];
        inside.fetch_sub(1, std::memory_order_relaxed);
        hold_.Leave(thread);
        if (i % 64 == 0) std::this_thread::yield();
      }
      running.fetch_sub(1);
    });
  }
  while (running.load() != 0) {
    ASSERT_TRUE(hold_.Hold());
    if (!hold_.CallsUnderWay(queues_, nullptr)) {
      ++holds;
      if (inside.load(std::memory_order_relaxed) != 0) ++overlaps;
      for (uint64_t& count : per_thread) count += uint64_t{1} << 32;
      if (inside.load(std::memory_order_relaxed) != 0) ++overlaps;
    }
    hold_.Release();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  for (const uint64_t count : per_thread) {
    EXPECT_EQ(count & UINT32_MAX, static_cast<uint64_t>(kCalls));
    EXPECT_EQ(count >> 32, static_cast<uint64_t>(holds));
  }
  EXPECT_EQ(hold_.overrun_count(), 0u);
}

TEST_F(LaunchHoldTest, AHoldMayHaveALimitOfItsOwn) {
  ThreadState* const thread = queues_.Current();
  ASSERT_TRUE(hold_.HoldFor(1));
  EXPECT_FALSE(hold_.HoldFor(kHour)) << "held";
  EXPECT_GT(hold_.Enter(thread), 0u);
  EXPECT_EQ(hold_.overrun_count(), 1u);
  hold_.Leave(thread);
  hold_.Release();
  ASSERT_TRUE(hold_.HoldFor(0)) << "no time at all is still a hold";
  EXPECT_TRUE(hold_.held());
  hold_.Release();
  EXPECT_EQ(hold_.Enter(thread), 0u);
  hold_.Leave(thread);
}

// ---------------------------------------------------------------------------------------------------- the protocol
// Every interleaving of one call and one holder, each a list of steps on what they share. The code's order is safe; the
// other orders are not, so the model can tell.
struct Shared {
  bool in_call = false;
  bool held = false;
  bool caller_goes_on = false;
  bool holder_goes_on = false;
};
using Step = void (*)(Shared*);
constexpr Step kSetFlag = [](Shared* s) { s->in_call = true; };
constexpr Step kLookAtHold = [](Shared* s) { s->caller_goes_on = !s->held; };
constexpr Step kSetHold = [](Shared* s) { s->held = true; };
constexpr Step kLookAtFlag = [](Shared* s) { s->holder_goes_on = !s->in_call; };

bool SomeInterleavingLetsBothGoOn(const std::vector<Step>& caller, const std::vector<Step>& holder, size_t c, size_t h,
                                  Shared shared) {
  if (c == caller.size() && h == holder.size()) return shared.caller_goes_on && shared.holder_goes_on;
  bool both = false;
  if (c < caller.size()) {
    Shared next = shared;
    caller[c](&next);
    both |= SomeInterleavingLetsBothGoOn(caller, holder, c + 1, h, next);
  }
  if (h < holder.size()) {
    Shared next = shared;
    holder[h](&next);
    both |= SomeInterleavingLetsBothGoOn(caller, holder, c, h + 1, next);
  }
  return both;
}

TEST(LaunchHoldProtocol, FlagBeforeLookOnBothSidesIsTheOnlySafeOrder) {
  const std::vector<Step> flag_first = {kSetFlag, kLookAtHold};
  const std::vector<Step> look_first = {kLookAtHold, kSetFlag};
  const std::vector<Step> hold_first = {kSetHold, kLookAtFlag};
  const std::vector<Step> scan_first = {kLookAtFlag, kSetHold};
  EXPECT_FALSE(SomeInterleavingLetsBothGoOn(flag_first, hold_first, 0, 0, {}));
  EXPECT_TRUE(SomeInterleavingLetsBothGoOn(look_first, hold_first, 0, 0, {}));
  EXPECT_TRUE(SomeInterleavingLetsBothGoOn(flag_first, scan_first, 0, 0, {}));
}

}  // namespace
}  // namespace gx::inject
