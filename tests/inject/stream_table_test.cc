#include "inject/stream_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const void* Handle(uintptr_t number) { return reinterpret_cast<const void*>(number); }

const void* const kA = Handle(0xA00);
const void* const kB = Handle(0xB00);

class StreamTableTest : public ::testing::Test {
 protected:
  std::vector<const void*> StreamsOf(const void* context) const {
    std::vector<const void*> streams;
    table_->ForEach(context, [&](void* stream) {
      streams.push_back(stream);
      return true;
    });
    return streams;
  }

  std::unique_ptr<StreamTable> table_ = std::make_unique<StreamTable>();
};

TEST_F(StreamTableTest, KeepsTheStreamsOfEachContextUntilTheyGo) {
  table_->Add(kA, Handle(10));
  table_->Add(kA, Handle(11));
  table_->Add(kB, Handle(20));
  EXPECT_THAT(StreamsOf(kA), UnorderedElementsAre(Handle(10), Handle(11)));
  EXPECT_THAT(StreamsOf(kB), ElementsAre(Handle(20)));
  EXPECT_EQ(table_->ContextOf(Handle(20)), kB);
  table_->Remove(Handle(10));
  EXPECT_THAT(StreamsOf(kA), ElementsAre(Handle(11)));
  EXPECT_EQ(table_->ContextOf(Handle(10)), nullptr);
  table_->RemoveContext(kA);
  EXPECT_THAT(StreamsOf(kA), IsEmpty());
  EXPECT_EQ(table_->Count(kB), 1u);
  table_->Remove(Handle(99));
  EXPECT_EQ(table_->Count(kB), 1u);
}

TEST_F(StreamTableTest, TheNamesOfDefaultStreamsAreNotKept) {
  for (const uintptr_t name : {0, 1, 2}) table_->Add(kA, Handle(name));
  table_->Add(nullptr, Handle(10));
  EXPECT_EQ(table_->Count(kA), 0u);
  table_->Add(kA, Handle(10));
  for (const uintptr_t name : {0, 1, 2}) table_->Remove(Handle(name));
  EXPECT_EQ(table_->Count(kA), 1u);
}

TEST_F(StreamTableTest, AHandleWhoseEndWasNotSeenMovesToItsNewContext) {
  table_->Add(kA, Handle(10));
  table_->Add(kB, Handle(10));
  EXPECT_THAT(StreamsOf(kA), IsEmpty());
  EXPECT_THAT(StreamsOf(kB), ElementsAre(Handle(10)));
  table_->Add(kB, Handle(10));
  EXPECT_EQ(table_->Count(kB), 1u);
}

TEST_F(StreamTableTest, AVisitEndsWhenItIsToldTo) {
  table_->Add(kA, Handle(10));
  table_->Add(kA, Handle(11));
  int visits = 0;
  table_->ForEach(kA, [&](void*) {
    ++visits;
    return false;
  });
  EXPECT_EQ(visits, 1);
}

TEST_F(StreamTableTest, MoreStreamsThanFitLeaveEveryContextInDoubt) {
  for (uintptr_t i = 0; i < StreamTable::kSize; ++i) table_->Add(kA, Handle(100 + i));
  EXPECT_EQ(table_->Count(kA), StreamTable::kSize);
  EXPECT_EQ(table_->DoubtOf(kA, 0), IdleDoubt::kNone);
  table_->Add(kB, Handle(50));
  table_->RemoveContext(kA);
  EXPECT_EQ(table_->DoubtOf(kA, 0), IdleDoubt::kTableFull);
  EXPECT_EQ(table_->DoubtOf(kB, 0), IdleDoubt::kTableFull);
}

TEST_F(StreamTableTest, StreamsThatComeAndGoNeedNoMorePlacesThanLiveAtOnce) {
  for (uintptr_t i = 0; i < 10 * StreamTable::kSize; ++i) {
    table_->Add(kA, Handle(100 + i));
    if (i >= 8) table_->Remove(Handle(100 + i - 8));
  }
  EXPECT_EQ(table_->Count(kA), 8u);
  EXPECT_EQ(table_->DoubtOf(kA, 0), IdleDoubt::kNone);
}

TEST_F(StreamTableTest, AThreadsOwnDefaultStreamIsKnownToThatThreadOnly) {
  table_->NotePerThread(kA, 7);
  table_->NotePerThread(kA, 7);
  EXPECT_EQ(table_->DoubtOf(kA, 7), IdleDoubt::kNone);
  EXPECT_TRUE(table_->UsesPerThread(kA, 7));
  EXPECT_FALSE(table_->UsesPerThread(kA, 8));
  EXPECT_FALSE(table_->UsesPerThread(kA, 0));
  EXPECT_FALSE(table_->UsesPerThread(kB, 7));
  EXPECT_EQ(table_->DoubtOf(kA, 8), IdleDoubt::kPerThread);
  EXPECT_EQ(table_->DoubtOf(kA, 0), IdleDoubt::kPerThread) << "a thread of ours";
  EXPECT_EQ(table_->DoubtOf(kB, 8), IdleDoubt::kNone);
}

TEST_F(StreamTableTest, TwoThreadsWithDefaultStreamsOfTheirOwnLeaveADoubtToEveryThread) {
  table_->NotePerThread(kA, 7);
  table_->NotePerThread(kA, 8);
  table_->NotePerThread(kA, 7);
  for (const uint64_t thread : {7, 8, 9, 0}) EXPECT_EQ(table_->DoubtOf(kA, thread), IdleDoubt::kPerThread) << thread;
  table_->NotePerThread(kB, 0);
  EXPECT_EQ(table_->DoubtOf(kB, 7), IdleDoubt::kPerThread) << "a thread without a name";
  table_->RemoveContext(kA);
  EXPECT_EQ(table_->DoubtOf(kA, 9), IdleDoubt::kNone);
}

TEST_F(StreamTableTest, AnEventIsAskedUntilItIsDone) {
  int a = 0;
  int b = 0;
  std::vector<void*> asked;
  const auto say = [&](bool done) {
    return [&asked, done](void* event) {
      asked.push_back(event);
      return done;
    };
  };
  EXPECT_TRUE(table_->EventsDone(kA, say(false))) << "there is none";
  ASSERT_TRUE(table_->KeepEvent(kA, &a));
  ASSERT_TRUE(table_->KeepEvent(kB, &b));
  EXPECT_FALSE(table_->EventsDone(kA, say(false)));
  EXPECT_TRUE(table_->EventsDone(kA, say(true)));
  EXPECT_TRUE(table_->EventsDone(kA, say(false))) << "it is forgotten";
  EXPECT_THAT(asked, ElementsAre(&a, &a));
  table_->RemoveContext(kB);
  EXPECT_TRUE(table_->EventsDone(kB, say(false))) << "it went with its context";
  EXPECT_FALSE(table_->KeepEvent(nullptr, &a));
}

TEST_F(StreamTableTest, WhileAThreadAsksAnEventItIsNotDoneForOthers) {
  int a = 0;
  ASSERT_TRUE(table_->KeepEvent(kA, &a));
  bool others = true;
  EXPECT_TRUE(table_->EventsDone(kA, [&](void*) {
    others = table_->EventsDone(kA, [](void*) { return true; });
    return true;
  }));
  EXPECT_FALSE(others);
}

TEST_F(StreamTableTest, MoreEventsThanFitAreRefused) {
  int events[StreamTable::kEvents + 1] = {};
  for (uint32_t i = 0; i < StreamTable::kEvents; ++i) EXPECT_TRUE(table_->KeepEvent(kA, &events[i]));
  EXPECT_FALSE(table_->KeepEvent(kA, &events[StreamTable::kEvents]));
  EXPECT_TRUE(table_->EventsDone(kA, [](void*) { return true; }));
  EXPECT_TRUE(table_->KeepEvent(kA, &events[StreamTable::kEvents]));
}

TEST_F(StreamTableTest, NoEventIsLostOrAskedTwiceByThreads) {
  constexpr uintptr_t kThreads = 3;
  constexpr uintptr_t kEach = 2'000;
  std::atomic<uint64_t> kept{0};
  std::atomic<uint64_t> done{0};
  std::vector<std::thread> threads;
  for (uintptr_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uintptr_t i = 1; i <= kEach; ++i) {
        const uintptr_t number = t * kEach + i;
        if (table_->KeepEvent(kA, const_cast<void*>(Handle(number)))) kept.fetch_add(number);
        (void)table_->EventsDone(kA, [&](void* event) {
          done.fetch_add(reinterpret_cast<uintptr_t>(event));
          return true;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  (void)table_->EventsDone(kA, [&](void* event) {
    done.fetch_add(reinterpret_cast<uintptr_t>(event));
    return true;
  });
  EXPECT_GT(kept.load(), 0u);
  EXPECT_EQ(done.load(), kept.load());
}

TEST_F(StreamTableTest, AStreamThatWasLeftBusyIsADoubtUntilTheContextIsSynchronised) {
  table_->NoteLeftBusy(kA);
  EXPECT_EQ(table_->DoubtOf(kA, 7), IdleDoubt::kLeftBusy);
  EXPECT_EQ(table_->DoubtOf(kB, 7), IdleDoubt::kNone);
  table_->Synchronised(kA, table_->LeftBusy(kA));
  EXPECT_EQ(table_->DoubtOf(kA, 7), IdleDoubt::kNone);
}

TEST_F(StreamTableTest, ASynchronisationDoesNotSettleWhatCameDuringIt) {
  table_->NoteLeftBusy(kA);
  const uint32_t before = table_->LeftBusy(kA);
  table_->NoteLeftBusy(kA);
  table_->Synchronised(kA, before);
  EXPECT_EQ(table_->DoubtOf(kA, 7), IdleDoubt::kLeftBusy);
  table_->Synchronised(kA, table_->LeftBusy(kA));
  table_->Synchronised(kA, before);  // An earlier one that returns later takes nothing back.
  EXPECT_EQ(table_->DoubtOf(kA, 7), IdleDoubt::kNone);
  table_->Synchronised(kB, 5);
  table_->NoteLeftBusy(kB);
  EXPECT_EQ(table_->DoubtOf(kB, 7), IdleDoubt::kLeftBusy);
}

TEST_F(StreamTableTest, AGreenContextLeavesEveryContextInDoubt) {
  table_->NoteGreenContext();
  EXPECT_EQ(table_->DoubtOf(kA, 7), IdleDoubt::kGreenContext);
  table_->RemoveContext(kA);
  EXPECT_EQ(table_->DoubtOf(kB, 7), IdleDoubt::kGreenContext);
}

TEST_F(StreamTableTest, MoreContextsWithNotesThanFitLeaveEveryContextInDoubt) {
  for (uintptr_t i = 0; i < StreamTable::kContexts; ++i) table_->NotePerThread(Handle(0x1000 + i), 7);
  EXPECT_EQ(table_->DoubtOf(kA, 7), IdleDoubt::kNone);
  table_->NoteLeftBusy(kA);
  EXPECT_EQ(table_->DoubtOf(kA, 7), IdleDoubt::kTableFull);
}

TEST_F(StreamTableTest, AgreesWithAMapOnRandomHistories) {
  std::mt19937_64 random(4);
  std::map<const void*, const void*> streams;
  const void* const contexts[] = {kA, kB, Handle(0xC00)};
  for (int i = 0; i < 5'000; ++i) {
    const void* const stream = Handle(100 + random() % 40);
    const void* const context = contexts[random() % 3];
    switch (random() % 8) {
      case 0:
        table_->RemoveContext(context);
        std::erase_if(streams, [&](const auto& entry) { return entry.second == context; });
        break;
      case 1:
      case 2:
      case 3:
        table_->Remove(stream);
        streams.erase(stream);
        break;
      default:
        table_->Add(context, stream);
        streams[stream] = context;
        break;
    }
    for (const void* const each : contexts) {
      std::set<const void*> expected;
      for (const auto& [handle, owner] : streams) {
        if (owner == each) expected.insert(handle);
      }
      const std::vector<const void*> found = StreamsOf(each);
      ASSERT_EQ(std::set<const void*>(found.begin(), found.end()), expected);
      ASSERT_EQ(found.size(), expected.size());
    }
  }
}

TEST_F(StreamTableTest, ThreadsThatMakeAndDestroyStreamsLoseNone) {
  constexpr uintptr_t kThreads = 4;
  std::vector<std::thread> threads;
  for (uintptr_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const void* const context = Handle(0x10'0000 * (t + 1));
      for (uintptr_t i = 1; i <= 2'000; ++i) {
        table_->Add(context, Handle(0x10'0000 * (t + 1) + i));
        table_->NoteLeftBusy(context);
        if (i > 5) table_->Remove(Handle(0x10'0000 * (t + 1) + i - 5));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uintptr_t t = 0; t < kThreads; ++t) {
    const uintptr_t base = 0x10'0000 * (t + 1);
    std::set<const void*> expected;
    for (uintptr_t i = 1'996; i <= 2'000; ++i) expected.insert(Handle(base + i));
    const std::vector<const void*> found = StreamsOf(Handle(base));
    EXPECT_EQ(std::set<const void*>(found.begin(), found.end()), expected);
    EXPECT_EQ(table_->LeftBusy(Handle(base)), 2'000u);
  }
}

}  // namespace
}  // namespace gx::inject
