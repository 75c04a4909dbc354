#include "inject/thread_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "inject/futex.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kGenerousNs = 30'000'000'000;

struct Numbered {
  uint64_t number = 0;
};
constexpr auto kType = EventType::kNvtx;

class EventQueueTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kCapacityBytes = 1024;
  // Header and number.
  static constexpr uint32_t kEntryBytes = 16;

  EventQueueTest() : memory_(kCapacityBytes / 8) {
    queue_.Attach(reinterpret_cast<uint8_t*>(memory_.data()), kCapacityBytes, &pulse_);
  }

  bool Put(uint64_t number, uint32_t extra_bytes = 0) {
    auto* event = queue_.Reserve<Numbered>(kType, extra_bytes);
    if (event == nullptr) return false;
    event->number = number;
    std::memset(static_cast<void*>(event + 1), static_cast<int>(number % 251), extra_bytes);
    queue_.Commit();
    return true;
  }

  std::vector<uint64_t> Numbers() {
    std::vector<uint64_t> numbers;
    queue_.Drain([&](EventType, const uint8_t* data, uint32_t) {
      Numbered event;
      std::memcpy(&event, data, sizeof(event));
      numbers.push_back(event.number);
    });
    return numbers;
  }

  std::vector<uint64_t> memory_;
  Pulse pulse_;
  EventQueue queue_;
};

TEST_F(EventQueueTest, EventsComeOutInTheOrderInWhichTheyWentIn) {
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(Put(i));
  EXPECT_THAT(Numbers(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(queue_.empty());
  EXPECT_THAT(Numbers(), IsEmpty());
}

TEST_F(EventQueueTest, NothingIsVisibleBeforeCommit) {
  ASSERT_NE(queue_.Reserve<Numbered>(kType), nullptr);
  EXPECT_TRUE(queue_.empty());
  EXPECT_THAT(Numbers(), IsEmpty());
}

TEST_F(EventQueueTest, ASecondReserveWithoutCommitReplacesTheFirst) {
  queue_.Reserve<Numbered>(kType)->number = 1;
  queue_.Reserve<Numbered>(kType)->number = 2;
  queue_.Commit();
  EXPECT_THAT(Numbers(), ElementsAre(2));
}

TEST_F(EventQueueTest, CommitWithoutReserveAddsNothing) {
  ASSERT_TRUE(Put(1));
  queue_.Commit();
  EXPECT_THAT(Numbers(), ElementsAre(1));
}

TEST_F(EventQueueTest, TypeAndLengthComeOutWithTheEvent) {
  ASSERT_NE(queue_.Reserve<Numbered>(EventType::kModule, 5), nullptr);
  queue_.Commit();
  queue_.Drain([](EventType type, const uint8_t*, uint32_t bytes) {
    EXPECT_EQ(type, EventType::kModule);
    EXPECT_EQ(bytes, 16u);  // 8 and 5, rounded up to 8.
  });
}

TEST_F(EventQueueTest, EventsOfAnySizeStayWholeAcrossTheEndOfTheMemory) {
  uint64_t next_in = 0;
  uint64_t next_out = 0;
  for (int round = 0; round < 5'000; ++round) {
    while (Put(next_in, static_cast<uint32_t>(next_in * 37 % 200))) ++next_in;
    queue_.Drain([&](EventType type, const uint8_t* data, uint32_t bytes) {
      Numbered event;
      std::memcpy(&event, data, sizeof(event));
      ASSERT_EQ(type, kType);
      ASSERT_EQ(event.number, next_out);
      const auto extra_bytes = static_cast<uint32_t>(next_out * 37 % 200);
      ASSERT_GE(bytes, sizeof(event) + extra_bytes);
      const std::string want(extra_bytes, static_cast<char>(next_out % 251));
      ASSERT_EQ(std::memcmp(data + sizeof(event), want.data(), extra_bytes), 0) << "event " << next_out << " is torn";
      ++next_out;
    });
    ASSERT_EQ(next_out, next_in);
  }
  EXPECT_GT(next_in, 10'000u);
}

TEST_F(EventQueueTest, AFullQueueRefusesAndTakesAgainAfterADrain) {
  uint64_t count = 0;
  while (Put(count)) ++count;
  EXPECT_EQ(count, kCapacityBytes / kEntryBytes);
  EXPECT_FALSE(Put(count));
  EXPECT_EQ(Numbers().size(), count);
  EXPECT_TRUE(Put(7));
  EXPECT_THAT(Numbers(), ElementsAre(7));
}

TEST_F(EventQueueTest, ARefusedEventLeavesTheQueueAsItWas) {
  while (Put(1, 100)) {
  }
  ASSERT_EQ(queue_.Reserve<Numbered>(kType, 100), nullptr);
  queue_.Commit();
  for (const uint64_t number : Numbers()) EXPECT_EQ(number, 1u);
}

TEST_F(EventQueueTest, AnEventLargerThanAQuarterOfTheQueueIsRefused) {
  EXPECT_TRUE(Put(1, kCapacityBytes / 4 - kEntryBytes));
  EXPECT_FALSE(Put(2, kCapacityBytes / 4 - kEntryBytes + 1));
  EXPECT_THAT(Numbers(), ElementsAre(1));
}

TEST_F(EventQueueTest, ALengthNearTheLargestNumberIsRefused) {
  for (uint32_t extra = 0xFFFF'FFFF; extra > 0xFFFF'FFC0; --extra) {
    EXPECT_EQ(queue_.Reserve<Numbered>(kType, extra), nullptr) << extra;
  }
}

TEST_F(EventQueueTest, ThePulseIsSentOnceWhenTheQueuePassesHalf) {
  const uint32_t before = pulse_.count();
  for (uint64_t i = 0; i < kCapacityBytes / kEntryBytes / 2 - 1; ++i) ASSERT_TRUE(Put(i));
  EXPECT_EQ(pulse_.count(), before);
  ASSERT_TRUE(Put(100));
  EXPECT_EQ(pulse_.count(), before + 1);
  ASSERT_TRUE(Put(101));
  EXPECT_EQ(pulse_.count(), before + 1);
}

TEST_F(EventQueueTest, ARefusedEventSendsThePulse) {
  while (Put(1)) {
  }
  const uint32_t before = pulse_.count();
  EXPECT_FALSE(Put(1));
  EXPECT_GT(pulse_.count(), before);
}

TEST_F(EventQueueTest, TwoThreadsAtFullSpeedLoseNothingAndTearNothing) {
  constexpr uint64_t kEvents = 2'000'000;
  std::thread producer([&] {
    for (uint64_t i = 0; i < kEvents; ++i) {
      const auto extra_bytes = static_cast<uint32_t>(i % 7 * 8);
      Numbered* event = nullptr;
      while ((event = queue_.Reserve<Numbered>(kType, extra_bytes)) == nullptr) std::this_thread::yield();
      event->number = i;
      auto* words = reinterpret_cast<uint64_t*>(event + 1);
      for (uint32_t word = 0; word < extra_bytes / 8; ++word) words[word] = ~i;
      queue_.Commit();
    }
  });
  uint64_t next = 0;
  uint64_t torn = 0;
  while (next < kEvents) {
    const size_t drained = queue_.Drain([&](EventType, const uint8_t* data, uint32_t) {
      uint64_t number = 0;
      std::memcpy(&number, data, sizeof(number));
      if (number != next) ++torn;
      for (uint64_t word = 0; word < next % 7; ++word) {
        uint64_t value = 0;
        std::memcpy(&value, data + 8 + word * 8, sizeof(value));
        if (value != ~next) ++torn;
      }
      ++next;
    });
    if (drained == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_TRUE(queue_.empty());
}

// A thread's state is remembered in the thread, so each test asks on threads of its own.
class ThreadQueuesTest : public ::testing::Test {
 protected:
  ThreadQueuesTest() { EXPECT_TRUE(queues_.Allocate(uint64_t{8} << 20)); }

  // The state of a thread that has ended when this returns.
  ThreadState* StateOfShortThread(bool leave_event) {
    ThreadState* state = nullptr;
    std::thread([&] {
      state = queues_.Current();
      if (state == nullptr || !leave_event) return;
      state->queue.Reserve<Numbered>(kType)->number = 5;
      state->queue.Commit();
    }).join();
    return state;
  }
  size_t InUse() {
    size_t count = 0;
    queues_.ForEach([&](ThreadState&) { ++count; });
    return count;
  }
  // An ended thread leaves /proc a moment after it can be joined.
  bool CollectUntil(size_t in_use) {
    return WaitUntil(
        [&] {
          queues_.CollectEndedThreads();
          return InUse() == in_use;
        },
        kGenerousNs);
  }

  ThreadQueues queues_;
};

TEST_F(ThreadQueuesTest, AThreadKeepsItsStateAndIsNamedByItsSystemId) {
  std::thread([&] {
    ThreadState* state = queues_.Current();
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(queues_.Current(), state);
    EXPECT_EQ(state->thread_id.load(), static_cast<uint32_t>(syscall(SYS_gettid)));
  }).join();
}

TEST(ThreadQueuesWithoutMemory, GiveNoState) {
  ThreadQueues queues;
  EXPECT_FALSE(queues.allocated());
  std::thread([&] { EXPECT_EQ(queues.Current(), nullptr); }).join();
}

TEST(ThreadQueuesBudget, AnyAmountOfMemoryMakesQueuesThatTakeEvents) {
  // Address space only: 512 GiB of it may be refused, which is an answer too.
  for (const uint64_t budget_bytes : {uint64_t{0}, uint64_t{8} << 20, uint64_t{512} << 30}) {
    ThreadQueues queues;
    if (!queues.Allocate(budget_bytes)) continue;
    std::thread([&] {
      ThreadState* state = queues.Current();
      ASSERT_NE(state, nullptr);
      EXPECT_NE(state->queue.Reserve<LaunchEvent>(EventType::kLaunch), nullptr) << budget_bytes;
    }).join();
  }
}

TEST_F(ThreadQueuesTest, AnEndedThreadsSlotIsGivenToANewThreadOnceDrained) {
  ThreadState* first = StateOfShortThread(true);
  ASSERT_NE(first, nullptr);
  queues_.CollectEndedThreads();
  EXPECT_EQ(InUse(), 1u) << "its events were not read yet";
  EXPECT_EQ(first->queue.Drain([](EventType, const uint8_t*, uint32_t) {}), 1u);
  ASSERT_TRUE(CollectUntil(0));
  EXPECT_EQ(StateOfShortThread(false), first);
}

TEST_F(ThreadQueuesTest, ANewThreadInAnOldSlotRemembersNothingOfTheOldOne) {
  ThreadState* first = nullptr;
  std::thread([&] {
    first = queues_.Current();
    first->inside = true;
    first->call_cbid = 9;
    first->call_window_id = 2;
    first->left_busy_before = 3;
    first->watched_calls = 2;
    first->call_is_sampled = true;
    first->call_node_type = 1;
    first->replayed_correlation_id = 77;
    first->call_has_node = true;
    first->has_pending_node = true;
    first->cloned_graph_id = 4;
    first->streams[3].valid = true;
    first->graphs[2].graph = first;
  }).join();
  ASSERT_TRUE(CollectUntil(0));
  std::thread([&] {
    const ThreadState* state = queues_.Current();
    ASSERT_EQ(state, first);
    EXPECT_FALSE(state->inside);
    EXPECT_EQ(state->call_cbid, 0u);
    EXPECT_EQ(state->call_window_id, 0u);
    EXPECT_EQ(state->left_busy_before, 0u);
    EXPECT_EQ(state->watched_calls.load(), 0u);
    EXPECT_FALSE(state->call_is_sampled);
    EXPECT_EQ(state->call_node_type, 0u);
    EXPECT_EQ(state->replayed_correlation_id, 0u) << "its calls would be taken for CUPTI's";
    EXPECT_FALSE(state->call_has_node);
    EXPECT_FALSE(state->has_pending_node);
    EXPECT_EQ(state->cloned_graph_id, 0u);
    for (const auto& entry : state->streams) EXPECT_FALSE(entry.valid);
    for (const auto& entry : state->graphs) EXPECT_EQ(entry.graph, nullptr);
  }).join();
}

TEST_F(ThreadQueuesTest, CallsThatAThreadDidNotLiveToLeaveAreGivenBackOnce) {
  EXPECT_EQ(queues_.TakeLostCalls(), 0u);
  std::thread([&] { queues_.Current()->watched_calls = 2; }).join();
  ASSERT_TRUE(CollectUntil(0));
  EXPECT_EQ(queues_.TakeLostCalls(), 2u);
  EXPECT_EQ(queues_.TakeLostCalls(), 0u);
}

TEST_F(ThreadQueuesTest, ALivingThreadsSlotIsNeverTaken) {
  std::latch asked(1);
  std::latch checked(1);
  std::thread thread([&] {
    EXPECT_NE(queues_.Current(), nullptr);
    asked.count_down();
    checked.wait();
  });
  asked.wait();
  queues_.CollectEndedThreads();
  EXPECT_EQ(InUse(), 1u);
  checked.count_down();
  thread.join();
}

TEST_F(ThreadQueuesTest, MoreThreadsThanSlotsGetNoneAndTheOthersADifferentOneEach) {
  constexpr uint32_t kSlots = ThreadQueues::kLargeSlots + ThreadQueues::kSmallSlots;
  constexpr uint32_t kThreads = kSlots + 10;
  std::vector<ThreadState*> states(kThreads);
  std::latch all_asked(kThreads);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      states[i] = queues_.Current();
      EXPECT_EQ(queues_.Current(), states[i]);
      all_asked.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::multiset<ThreadState*> seen(states.begin(), states.end());
  EXPECT_EQ(seen.count(nullptr), kThreads - kSlots);
  seen.erase(nullptr);
  EXPECT_EQ(std::set<ThreadState*>(seen.begin(), seen.end()).size(), kSlots);
}

TEST_F(ThreadQueuesTest, AForkedChildsThreadTakesASlotOfItsOwn) {
  std::thread([&] {
    ThreadState* state = queues_.Current();
    ASSERT_NE(state, nullptr);
    queues_.ForgetCurrent();
    ThreadState* other = queues_.Current();
    EXPECT_NE(other, nullptr);
    EXPECT_NE(other, state);
  }).join();
}

}  // namespace
}  // namespace gx::inject
