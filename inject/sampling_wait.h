// How long a launch callback waits for the device, as state machines over a clock that they are given: for idle streams
// before a range (IdleWait), for the sampled launch before the range ends (CompletionWait). The caller asks the device,
// sleeps as told and asks again; nothing here blocks.
//
//   IdleWait wait(limits, MonotonicNs());
//   for (;;) {
//     const WaitStep step = wait.Next(MonotonicNs(), AskStreams());
//     if (step.next != WaitNext::kSleep) break;
//     Nap(step.sleep_ns);
//   }
#ifndef GPUEXEC_INJECT_SAMPLING_WAIT_H_
#define GPUEXEC_INJECT_SAMPLING_WAIT_H_

#include <cstdint>

namespace gx::inject {

// What the device answered.
enum class Readiness : uint8_t { kReady, kNotReady, kError };

enum class WaitNext : uint8_t {
  kGo,      // Ready.
  kSleep,   // For sleep_ns (0: ask again at once), then ask again.
  kGiveUp,  // The deadline has passed.
  kFail,    // The device reports an error: the context is lost to us.
};

struct WaitStep {
  WaitNext next = WaitNext::kSleep;
  uint64_t sleep_ns = 0;
};

// Asks at once for a while, then in naps that double: a short kernel costs no nap, a long one few questions.
struct PollPace {
  uint64_t spin_ns = 20'000;
  uint64_t first_nap_ns = 10'000;
  uint64_t longest_nap_ns = 1'000'000;
};

// A clock that stands still ends a wait too.
inline constexpr uint32_t kMaxPolls = 1'000'000;

class PolledWait {
 public:
  PolledWait(const PollPace& pace, uint64_t begin_ns, uint64_t limit_ns) noexcept;
  WaitStep Next(uint64_t now_ns, Readiness readiness) noexcept;
  uint64_t begin_ns() const noexcept { return begin_ns_; }

 private:
  PollPace pace_;
  uint64_t begin_ns_;
  uint64_t deadline_ns_;
  uint64_t nap_ns_;
  uint32_t polls_ = 0;
};

// ------------------------------------------------------------------------------------------------ idle streams
inline constexpr uint64_t kIdleLimitNs = 50'000'000;

// Every stream that the context knows must be idle before a range is pushed: a push waits for the whole context,
// without a limit. A busy stream at the deadline means: skip this launch and count it; nothing is denied.
class IdleWait : public PolledWait {
 public:
  // `drain_limit_ns`: a planned drain, 0 for none (counter_schedule.h).
  explicit IdleWait(uint64_t begin_ns, uint64_t limit_ns = kIdleLimitNs, uint64_t drain_limit_ns = 0) noexcept;
};

// Waiting again at the very next launch of a program that keeps its streams busy would make it wait all the time: after
// a skip no launch is tried for as long as the wait took, after another one for twice that, and so on, up to 2 s. One
// thread at a time.
class SkipBackOff {
 public:
  bool MayTry(uint64_t now_ns) const noexcept { return now_ns >= not_before_ns_; }
  void Skipped(uint64_t now_ns, uint64_t waited_ns) noexcept;
  void Succeeded() noexcept;

 private:
  static constexpr uint64_t kLongestNs = 2'000'000'000;
  uint64_t not_before_ns_ = 0;
  uint64_t away_ns_ = 0;
};

// ------------------------------------------------------------------------------------------------ the sampled launch
inline constexpr uint64_t kMinCompletionLimitNs = 250'000'000;
inline constexpr uint64_t kMaxCompletionLimitNs = 10'000'000'000;
inline constexpr uint64_t kUnknownCompletionLimitNs = 2'000'000'000;

// The longest that a sampled launch may take. `longest_ns`: of the timed launches of the signature, 0 for none known.
uint64_t CompletionLimitNs(uint64_t longest_ns) noexcept;

class CompletionWait : public PolledWait {
 public:
  CompletionWait(uint64_t begin_ns, uint64_t limit_ns) noexcept;
};

// What to do when a wait for a sampled launch is over.
struct CompletionConsequence {
  bool pop = false;              // The range can be ended, and its values read.
  bool graduate = false;         // The function may be tried with patched code, if this was a hardware group.
  bool abandon_session = false;  // Never touch the range or its session again: every call to it may block.
  bool deny_function = false;    // For good.
  bool stop_sampling = false;    // In this context.
};

// `next` must not be kSleep.
CompletionConsequence AfterCompletion(WaitNext next, bool hardware_group, bool range_was_clean) noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SAMPLING_WAIT_H_
