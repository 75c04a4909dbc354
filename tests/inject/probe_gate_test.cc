#include "inject/probe_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace gx::inject {
namespace {

constexpr uint64_t kGenerousNs = 30'000'000'000;

TEST(ProbeGate, IsOpenAtFirst) {
  ProbeGate gate;
  EXPECT_FALSE(gate.is_shut());
  EXPECT_TRUE(gate.Enter());
}

TEST(ProbeGate, NobodyEntersWhileItIsShut) {
  ProbeGate gate;
  EXPECT_TRUE(gate.Shut(kGenerousNs));
  EXPECT_TRUE(gate.is_shut());
  EXPECT_FALSE(gate.Enter());
  gate.Open();
  EXPECT_TRUE(gate.Enter());
}

TEST(ProbeGate, IsOpenedAsOftenAsItWasShut) {
  ProbeGate gate;
  EXPECT_TRUE(gate.Shut(kGenerousNs));
  EXPECT_TRUE(gate.Shut(kGenerousNs));
  gate.Open();
  EXPECT_FALSE(gate.Enter());
  gate.Open();
  EXPECT_TRUE(gate.Enter());
}

TEST(ProbeGate, OpeningAnOpenGateDoesNotKeepItFromShutting) {
  ProbeGate gate;
  gate.Open();
  gate.Open();
  EXPECT_TRUE(gate.Shut(kGenerousNs));
  EXPECT_FALSE(gate.Enter());
}

TEST(ProbeGate, ShuttingGivesUpOnACallThatDoesNotEndAndIsShutAllTheSame) {
  ProbeGate gate;
  ASSERT_TRUE(gate.Enter());
  EXPECT_FALSE(gate.Shut(1'000'000));
  EXPECT_FALSE(gate.Enter());
  gate.Leave();
  EXPECT_TRUE(gate.Shut(kGenerousNs));
}

TEST(ProbeGate, ShuttingWaitsForTheCallUnderWay) {
  ProbeGate gate;
  std::atomic<bool> left{false};
  std::latch entered(1);
  std::thread prober([&] {
    ASSERT_TRUE(gate.Enter());
    entered.count_down();
    std::this_thread::yield();
    left.store(true);
    gate.Leave();
  });
  entered.wait();
  EXPECT_TRUE(gate.Shut(kGenerousNs));
  EXPECT_TRUE(left.load());
  prober.join();
}

TEST(ProbeGate, NoCallRunsWhileAHostHoldsTheGateShut) {
  ProbeGate gate;
  int guarded = 0;  // Plain: only one side at a time may touch it.
  std::atomic<bool> stop{false};
  std::thread prober([&] {
    while (!stop.load()) {
      if (!gate.Enter()) continue;
      ++guarded;
      gate.Leave();
    }
  });
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(gate.Shut(kGenerousNs));
    const int before = guarded;
    std::this_thread::yield();
    ASSERT_EQ(guarded, before);
    gate.Open();
  }
  stop.store(true);
  prober.join();
}

}  // namespace
}  // namespace gx::inject
