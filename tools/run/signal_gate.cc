#include "tools/run/signal_gate.h"

#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

namespace gx::tools {

Relay DecideRelay(int code, bool sender_is_in_group) {
  // Above 0 it comes from the kernel (SI_KERNEL): the terminal.
  if (code > 0) return Relay::kNo;
  return sender_is_in_group ? Relay::kLater : Relay::kNow;
}

SignalGate::SignalGate() {
  ::sigemptyset(&held_);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD}) ::sigaddset(&held_, signal);
  ::sigprocmask(SIG_BLOCK, &held_, &mask_before_);
  struct sigaction action = {};
  // Where it was ignored, children would be gone before their exit code is read.
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, &child_before_);
  // What reads standard error may be gone before the program is.
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, &pipe_before_);
}

SignalGate::~SignalGate() {
  // The program has ended: whoever asks gx-run to end gets that in a moment anyway, with the program's exit code.
  while (Wait(0)) {
  }
  RestoreInChild();
}

void SignalGate::RestoreInChild() const {
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<siginfo_t> SignalGate::Wait(int64_t timeout_ms) const {
  siginfo_t signal = {};
  const timespec timeout = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1'000'000};
  if (::sigtimedwait(&held_, &signal, &timeout) < 0) return std::nullopt;
  return signal;
}

bool SenderIsInGroup(const siginfo_t& signal) {
  // 0: a sender outside this pid namespace.
  return signal.si_pid > 0 && ::getpgid(signal.si_pid) == ::getpgrp();
}

void EndBySignal(int signal) {
  ::prctl(PR_SET_DUMPABLE, 0);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::_exit(128 + signal);
}

}  // namespace gx::tools
