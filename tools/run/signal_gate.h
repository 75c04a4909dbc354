// Signals while gx-run waits for its program: taken one by one where it waits, and passed on where the program has not
// got them already. One in a process, made by its only thread.
//
// The program stays in gx-run's process group, the terminal's foreground one: what the terminal sends (Ctrl-C, Ctrl-\,
// a hang-up) reaches both, and gx-run leaves it to the program. What another process sends to gx-run alone is passed
// on.
#ifndef GPUEXEC_TOOLS_RUN_SIGNAL_GATE_H_
#define GPUEXEC_TOOLS_RUN_SIGNAL_GATE_H_

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace gx::tools {

enum class Relay {
  kNo,     // the program has it from the terminal
  kNow,    // it was sent to gx-run alone
  kLater,  // the sender is of the same group and may have sent it to all of it: only if the program lives on
};

// Whether a signal is for the program. `code`: siginfo's si_code. Pure.
Relay DecideRelay(int code, bool sender_is_in_group);

// What a signal sent to the whole group has time to end the program in, before it is sent again.
inline constexpr int64_t kRelayDelayMs = 200;

class SignalGate {
 public:
  // Holds back what is to be passed on and the end of children; ignores SIGPIPE.
  SignalGate();
  // As it was before.
  ~SignalGate();
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;

  // As it was before, in the child of a fork. Async-signal-safe.
  void RestoreInChild() const;
  // The next signal, SIGCHLD included. Nothing: none came in time.
  std::optional<siginfo_t> Wait(int64_t timeout_ms) const;

 private:
  sigset_t held_;
  sigset_t mask_before_;
  struct sigaction child_before_;
  struct sigaction pipe_before_;
};

// Whether the sender of a signal is of this process's group. False where it is not known.
bool SenderIsInGroup(const siginfo_t& signal);

// Ends this process by the signal, as the program ended, without a core file of its own. Where the signal does not end
// it: with 128 + signal.
[[noreturn]] void EndBySignal(int signal);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_SIGNAL_GATE_H_
