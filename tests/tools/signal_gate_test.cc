#include "tools/run/signal_gate.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gx::tools {
namespace {

TEST(SignalGate, WhatTheTerminalSendsIsNotPassedOn) {
  EXPECT_EQ(DecideRelay(SI_KERNEL, false), Relay::kNo);
  EXPECT_EQ(DecideRelay(SI_KERNEL, true), Relay::kNo);
}

TEST(SignalGate, WhatAnotherProcessSendsIsPassedOn) {
  for (const int code : {SI_USER, SI_QUEUE, SI_TKILL}) {
    EXPECT_EQ(DecideRelay(code, false), Relay::kNow);
    EXPECT_EQ(DecideRelay(code, true), Relay::kLater);
  }
}

TEST(SignalGate, TakesSignalsOneByOneAndLeavesNoTraceOfItself) {
  sigset_t before;
  ::sigprocmask(SIG_SETMASK, nullptr, &before);
  {
    const SignalGate gate;
    EXPECT_FALSE(gate.Wait(0));
    ::kill(::getpid(), SIGTERM);
    const auto signal = gate.Wait(1000);
    ASSERT_TRUE(signal);
    EXPECT_EQ(signal->si_signo, SIGTERM);
    EXPECT_TRUE(SenderIsInGroup(*signal));
    ::kill(::getpid(), SIGHUP);  // One that nobody waits for ends nothing.
  }
  sigset_t after;
  ::sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(::sigismember(&before, signal), ::sigismember(&after, signal)) << signal;
  }
}

TEST(SignalGate, ASenderOutsideTheNamespaceIsInNoGroup) {
  siginfo_t signal = {};
  EXPECT_FALSE(SenderIsInGroup(signal));
}

}  // namespace
}  // namespace gx::tools
