#include "inject/capture_gate.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>
#include <vector>

namespace gx::inject {
namespace {

TEST(CaptureGate, IsOpenAtFirst) {
  CaptureGate gate;
  EXPECT_TRUE(gate.is_open());
  ASSERT_TRUE(gate.Enter());
  EXPECT_TRUE(gate.busy());
  gate.Leave();
  EXPECT_FALSE(gate.busy());
}

TEST(CaptureGate, NoWorkBeginsWhileAnyCaptureIsOpen) {
  CaptureGate gate;
  EXPECT_FALSE(gate.Begin(1));
  EXPECT_FALSE(gate.Begin(2));
  EXPECT_FALSE(gate.Enter());
  gate.End(1);
  EXPECT_FALSE(gate.Enter());
  gate.End(2);
  EXPECT_TRUE(gate.Enter());
  EXPECT_EQ(gate.met_work(), 0u);
}

TEST(CaptureGate, ACaptureThatMeetsWorkIsToldSo) {
  CaptureGate gate;
  ASSERT_TRUE(gate.Enter());
  EXPECT_TRUE(gate.Begin(1));
  EXPECT_FALSE(gate.Enter());  // Another piece of work does not begin.
  EXPECT_TRUE(gate.busy());
  gate.Leave();
  EXPECT_FALSE(gate.busy());
  EXPECT_FALSE(gate.is_open());
  EXPECT_EQ(gate.met_work(), 1u);
}

TEST(CaptureGate, AStreamThatIsDestroyedEndsItsCaptureOnly) {
  CaptureGate gate;
  gate.Begin(1);
  gate.StreamDestroyed(2);
  EXPECT_FALSE(gate.is_open());
  gate.StreamDestroyed(1);
  EXPECT_TRUE(gate.is_open());
  gate.StreamDestroyed(1);
  EXPECT_EQ(gate.captures(), 0);
}

TEST(CaptureGate, ARefusedSecondBeginDoesNotEndTheFirst) {
  CaptureGate gate;
  gate.Begin(1);
  gate.Begin(1);
  gate.End(1);  // The driver refused the second.
  EXPECT_FALSE(gate.is_open());
  gate.End(1);
  EXPECT_TRUE(gate.is_open());
}

TEST(CaptureGate, CapturesWithoutAPlaceKeepItShutUntilAllIsForgotten) {
  CaptureGate gate;
  for (uint64_t stream = 1; stream <= CaptureGate::kSize + 1; ++stream) gate.Begin(stream);
  EXPECT_EQ(gate.untracked(), 1u);
  for (uint64_t stream = 1; stream <= CaptureGate::kSize + 1; ++stream) gate.End(stream);
  EXPECT_FALSE(gate.Enter());
  gate.ForgetAll();
  EXPECT_TRUE(gate.Enter());
}

TEST(CaptureGate, RemembersWhenTheFirstOfTheOpenCapturesBegan) {
  CaptureGate gate;
  EXPECT_EQ(gate.OpenForNs(1000), 0u);
  gate.Begin(1, 1000);
  gate.Begin(2, 1500);
  EXPECT_EQ(gate.OpenForNs(1600), 600u);
  gate.End(1);
  EXPECT_EQ(gate.OpenForNs(1700), 700u) << "as long as any is open";
  EXPECT_NE(gate.OpenForNs(900), 0u) << "open, whatever the clock says";
  gate.End(2);
  EXPECT_EQ(gate.OpenForNs(1800), 0u);
  gate.Begin(3, 2000);
  EXPECT_EQ(gate.OpenForNs(2100), 100u);
}

TEST(CaptureGate, KeysTellContextsStreamsAndThreadsApart) {
  int a = 0;
  int b = 0;
  std::set<uint64_t> keys;
  for (const void* context : {&a, &b}) {
    for (const void* stream : {&a, &b}) {
      for (const uint64_t thread : {0, 1, 2}) keys.insert(CaptureGate::StreamKey(context, stream, thread));
    }
  }
  keys.insert(CaptureGate::StreamKey(nullptr, nullptr, 0));
  EXPECT_EQ(keys.size(), 13u);
  EXPECT_EQ(keys.count(0), 0u);
}

TEST(CaptureGate, CountsRandomHistoriesAsAMultisetDoes) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 50; ++round) {
    CaptureGate gate;
    std::multiset<uint64_t> open;
    for (int i = 0; i < 500; ++i) {
      const uint64_t stream = 1 + random() % 20;
      if (random() % 2 == 0 && open.size() < CaptureGate::kSize) {
        gate.Begin(stream);
        open.insert(stream);
      } else {
        gate.End(stream);
        if (const auto found = open.find(stream); found != open.end()) open.erase(found);
      }
      ASSERT_EQ(gate.captures(), static_cast<int32_t>(open.size()));
      ASSERT_EQ(gate.is_open(), open.empty());
    }
  }
}

TEST(CaptureGate, WorkAndCapturesNeverOverlapWhenCapturesWait) {
  CaptureGate gate;
  int guarded = 0;  // Plain: only one side at a time may touch it.
  std::atomic<bool> stop{false};
  std::thread work([&] {
    while (!stop.load()) {
      if (!gate.Enter()) continue;
      ++guarded;
      gate.Leave();
    }
  });
  for (int i = 0; i < 300; ++i) {
    if (gate.Begin(7)) {
      while (gate.busy()) std::this_thread::yield();
    }
    // A piece of work that tried to enter in the meantime has seen the capture and left.
    while (gate.busy()) std::this_thread::yield();
    ++guarded;
    gate.End(7);
    std::this_thread::yield();
  }
  stop.store(true);
  work.join();
  EXPECT_GE(guarded, 300);
}

}  // namespace
}  // namespace gx::inject
