#include "inject/activity_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace gx::inject {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class ActivityBuffersTest : public ::testing::Test {
 protected:
  static constexpr size_t kBuffers = 4;
  ActivityBuffersTest() { EXPECT_TRUE(buffers_->Allocate(kBuffers * kMiB)); }

  uint8_t* Take() {
    CompletedBuffer discarded;
    return buffers_->Take(false, &discarded);
  }
  std::vector<uint8_t*> TakeAll() {
    std::vector<uint8_t*> all;
    while (uint8_t* data = Take()) all.push_back(data);
    return all;
  }

  // Large: not for the stack.
  std::unique_ptr<ActivityBuffers> buffers_ = std::make_unique<ActivityBuffers>();
};

TEST_F(ActivityBuffersTest, EachBufferIsLentOnceUntilNoneIsLeft) {
  const std::vector<uint8_t*> all = TakeAll();
  EXPECT_EQ(std::set<uint8_t*>(all.begin(), all.end()).size(), kBuffers);
  EXPECT_EQ(buffers_->lent(), kBuffers);
  EXPECT_EQ(Take(), nullptr);
}

TEST_F(ActivityBuffersTest, BuffersAreAlignedForRecordsAndDoNotOverlap) {
  for (uint8_t* data : TakeAll()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 8, 0u);
    data[0] = 1;
    data[ActivityBuffers::kBufferBytes - 1] = 1;
  }
}

TEST_F(ActivityBuffersTest, CompletedBuffersAreReadInTheOrderOfTheirCompletion) {
  uint8_t* first = Take();
  uint8_t* second = Take();
  int context = 0;
  const uint32_t before = buffers_->completed().count();
  EXPECT_TRUE(buffers_->Complete({second, 10, &context, 7}));
  EXPECT_TRUE(buffers_->Complete({first, 20, nullptr, 8}));
  EXPECT_EQ(buffers_->completed().count(), before + 2);
  EXPECT_EQ(buffers_->lent(), 0u);
  CompletedBuffer read;
  ASSERT_TRUE(buffers_->NextCompleted(&read));
  EXPECT_EQ(read.data, second);
  EXPECT_EQ(read.valid_bytes, 10u);
  EXPECT_EQ(read.context, &context);
  EXPECT_EQ(read.stream_id, 7u);
  ASSERT_TRUE(buffers_->NextCompleted(&read));
  EXPECT_EQ(read.data, first);
  EXPECT_FALSE(buffers_->NextCompleted(&read));
}

TEST_F(ActivityBuffersTest, ABufferIsFreeAgainOnlyAfterItWasReleased) {
  std::vector<uint8_t*> all = TakeAll();
  ASSERT_TRUE(buffers_->Complete({all[2], 1, nullptr, 0}));
  EXPECT_EQ(Take(), nullptr);
  CompletedBuffer read;
  ASSERT_TRUE(buffers_->NextCompleted(&read));
  EXPECT_EQ(Take(), nullptr);
  buffers_->Release(read.data);
  EXPECT_EQ(Take(), all[2]);
}

TEST_F(ActivityBuffersTest, ABufferThatWasReadIsLentBeforeFreshMemory) {
  uint8_t* first = Take();
  ASSERT_TRUE(buffers_->Complete({first, 1, nullptr, 0}));
  CompletedBuffer read;
  ASSERT_TRUE(buffers_->NextCompleted(&read));
  buffers_->Release(read.data);
  EXPECT_EQ(Take(), first);
}

TEST_F(ActivityBuffersTest, RecyclingGivesUpTheOldestUnreadBufferAndSaysWhich) {
  std::vector<uint8_t*> all = TakeAll();
  CompletedBuffer discarded;
  uint8_t* reserve = buffers_->Take(true, &discarded);
  ASSERT_NE(reserve, nullptr) << "a CUPTI that crashes on null gets none, though nothing is free or unread";
  EXPECT_EQ(std::count(all.begin(), all.end(), reserve), 0);
  EXPECT_EQ(discarded.data, nullptr);
  ASSERT_TRUE(buffers_->Complete({all[1], 111, nullptr, 0}));
  ASSERT_TRUE(buffers_->Complete({all[0], 222, nullptr, 0}));
  EXPECT_EQ(buffers_->Take(true, &discarded), all[1]);
  EXPECT_EQ(discarded.data, all[1]);
  EXPECT_EQ(discarded.valid_bytes, 111u);
  CompletedBuffer read;
  ASSERT_TRUE(buffers_->NextCompleted(&read));
  EXPECT_EQ(read.data, all[0]);
  EXPECT_FALSE(buffers_->NextCompleted(&read));
}

TEST_F(ActivityBuffersTest, RecyclingPrefersAFreeBuffer) {
  uint8_t* first = Take();
  ASSERT_TRUE(buffers_->Complete({first, 1, nullptr, 0}));
  CompletedBuffer discarded;
  EXPECT_NE(buffers_->Take(true, &discarded), first);
  EXPECT_EQ(discarded.data, nullptr);
}

TEST_F(ActivityBuffersTest, ForeignPointersAreRefused) {
  uint8_t* data = Take();
  uint8_t other[8] = {};
  EXPECT_FALSE(buffers_->Complete({nullptr, 1, nullptr, 0}));
  EXPECT_FALSE(buffers_->Complete({other, 1, nullptr, 0}));
  EXPECT_FALSE(buffers_->Complete({data + 8, 1, nullptr, 0}));
  EXPECT_FALSE(buffers_->Complete({data + kBuffers * kMiB, 1, nullptr, 0}));
  EXPECT_EQ(buffers_->lent(), 1u);
  buffers_->Release(other);
  EXPECT_EQ(TakeAll().size(), kBuffers - 1);
}

TEST_F(ActivityBuffersTest, ABufferThatCameBackTwiceDoesNoHarm) {
  uint8_t* data = Take();
  for (uint32_t i = 0; i < ActivityBuffers::kMaxBuffers + 10; ++i) (void)buffers_->Complete({data, 1, nullptr, 0});
  CompletedBuffer read;
  uint32_t count = 0;
  while (buffers_->NextCompleted(&read)) {
    EXPECT_EQ(read.data, data);
    buffers_->Release(read.data);
    ++count;
  }
  EXPECT_LE(count, ActivityBuffers::kMaxBuffers);
  EXPECT_LE(TakeAll().size(), size_t{ActivityBuffers::kMaxBuffers});
}

TEST(ActivityBuffersBudget, AtLeastFourAndAtMostTheLimit) {
  for (const auto& [budget_bytes, want] : std::vector<std::pair<uint64_t, size_t>>{
           {0, 4}, {7 * kMiB + 5, 7}, {ActivityBuffers::kMaxBuffers * kMiB * 2, ActivityBuffers::kMaxBuffers}}) {
    auto buffers = std::make_unique<ActivityBuffers>();
    ASSERT_TRUE(buffers->Allocate(budget_bytes));
    CompletedBuffer discarded;
    size_t count = 0;
    while (buffers->Take(false, &discarded) != nullptr) ++count;
    EXPECT_EQ(count, want);
  }
}

TEST_F(ActivityBuffersTest, MemoryThatNobodyHasNeededSinceTheLastCallIsGivenBack) {
  const std::vector<uint8_t*> all = TakeAll();
  for (uint8_t* data : all) data[5] = 42;
  EXPECT_EQ(buffers_->TrimIdle(), 0u) << "none is free";
  CompletedBuffer read;
  for (uint8_t* data : all) {
    ASSERT_TRUE(buffers_->Complete({data, 1, nullptr, 0}));
    ASSERT_TRUE(buffers_->NextCompleted(&read));
    buffers_->Release(data);
  }
  EXPECT_EQ(buffers_->TrimIdle(), 0u) << "all of them have just been needed";
  // The last that came back is used again, the others have been idle since; half of them stay.
  uint8_t* used = Take();
  EXPECT_EQ(used, all.back());
  ASSERT_TRUE(buffers_->Complete({used, 1, nullptr, 0}));
  ASSERT_TRUE(buffers_->NextCompleted(&read));
  buffers_->Release(used);
  EXPECT_EQ(buffers_->TrimIdle(), 2u);
  EXPECT_EQ(used[5], 42);
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const uint8_t* data) { return data[5] == 0; }), 2);
  EXPECT_EQ(buffers_->TrimIdle(), 2u) << "now these have been idle, too";
  EXPECT_EQ(buffers_->TrimIdle(), 0u) << "nothing is behind any of them";
  EXPECT_EQ(TakeAll().size(), kBuffers) << "each is still there, once";
}

TEST_F(ActivityBuffersTest, TrimmingBesideThreadsThatTakeLosesNothing) {
  constexpr int kThreads = 2;
  constexpr uint64_t kTaken = 3'000;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> taken{0};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        uint8_t* data = Take();
        if (data == nullptr) {
          std::this_thread::yield();
          continue;
        }
        // Now and then more are needed than usually.
        uint8_t* second = taken.fetch_add(1) % 64 == 0 ? Take() : nullptr;
        if (second != nullptr) (void)buffers_->Complete({second, 1, nullptr, 0});
        data[9] = 7;
        std::this_thread::yield();
        if (data[9] != 7) wrong.fetch_add(1);
        (void)buffers_->Complete({data, 1, nullptr, 0});
      }
    });
  }
  CompletedBuffer read;
  uint64_t trimmed = 0;
  while (taken.load() < kTaken || (trimmed == 0 && taken.load() < 1'000 * kTaken)) {
    // The lock is not fair: who never lets go of it would have the others give up.
    std::this_thread::yield();
    trimmed += buffers_->TrimIdle();
    while (buffers_->NextCompleted(&read)) buffers_->Release(read.data);
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  while (buffers_->NextCompleted(&read)) buffers_->Release(read.data);
  EXPECT_GT(trimmed, 0u);
  EXPECT_EQ(wrong.load(), 0u) << "what was written to a lent buffer is gone";
  EXPECT_EQ(TakeAll().size(), kBuffers);
}

TEST_F(ActivityBuffersTest, ThreadsThatTakeAndCompleteLoseNoBuffer) {
  constexpr int kThreads = 3;
  constexpr uint64_t kRounds = 20'000;
  std::atomic<uint64_t> completed{0};
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kRounds; ++i) {
        uint8_t* data = Take();
        if (data == nullptr) {
          std::this_thread::yield();
          continue;
        }
        data[0] = static_cast<uint8_t>(data[0] + 1);  // Nobody else has it now.
        if (buffers_->Complete({data, 1, nullptr, 0})) completed.fetch_add(1);
      }
      running.fetch_sub(1);
    });
  }
  uint64_t read_count = 0;
  CompletedBuffer read;
  while (true) {
    const bool ended = running.load() == 0;
    bool any = false;
    while (buffers_->NextCompleted(&read)) {
      any = true;
      ++read_count;
      buffers_->Release(read.data);
    }
    if (ended && !any) break;
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_count, completed.load());
  EXPECT_EQ(buffers_->lent(), 0u);
  EXPECT_EQ(TakeAll().size(), kBuffers);
}

}  // namespace
}  // namespace gx::inject
