#include "inject/sampling_wait.h"

#include <algorithm>

namespace gx::inject {
namespace {

// A clock may have been read by another thread a little later.
uint64_t Since(uint64_t begin_ns, uint64_t now_ns) { return now_ns > begin_ns ? now_ns - begin_ns : 0; }
uint64_t Later(uint64_t begin_ns, uint64_t limit_ns) {
  return begin_ns > UINT64_MAX - limit_ns ? UINT64_MAX : begin_ns + limit_ns;
}

// Streams are often idle already, or busy for much longer than a nap.
constexpr PollPace kIdlePace = {.spin_ns = 5'000, .first_nap_ns = 20'000, .longest_nap_ns = 1'000'000};
// Most kernels end within tens of microseconds.
constexpr PollPace kCompletionPace = {.spin_ns = 50'000, .first_nap_ns = 10'000, .longest_nap_ns = 1'000'000};

// A launch of the same signature may work on more data, and the device may run slower next to others.
constexpr uint64_t kTimesLongest = 20;

}  // namespace

PolledWait::PolledWait(const PollPace& pace, uint64_t begin_ns, uint64_t limit_ns) noexcept
    : pace_(pace), begin_ns_(begin_ns), deadline_ns_(Later(begin_ns, limit_ns)), nap_ns_(pace.first_nap_ns) {}

WaitStep PolledWait::Next(uint64_t now_ns, Readiness readiness) noexcept {
  if (readiness == Readiness::kReady) return {.next = WaitNext::kGo};
  if (readiness == Readiness::kError) return {.next = WaitNext::kFail};
  if (now_ns >= deadline_ns_ || ++polls_ >= kMaxPolls) return {.next = WaitNext::kGiveUp};
  if (Since(begin_ns_, now_ns) < pace_.spin_ns) return {.next = WaitNext::kSleep, .sleep_ns = 0};
  const uint64_t sleep_ns = std::min(nap_ns_, deadline_ns_ - now_ns);
  nap_ns_ = std::min(nap_ns_ * 2, pace_.longest_nap_ns);
  return {.next = WaitNext::kSleep, .sleep_ns = sleep_ns};
}

IdleWait::IdleWait(uint64_t begin_ns, uint64_t limit_ns, uint64_t drain_limit_ns) noexcept
    : PolledWait(kIdlePace, begin_ns, std::max(limit_ns, drain_limit_ns)) {}

void SkipBackOff::Skipped(uint64_t now_ns, uint64_t waited_ns) noexcept {
  away_ns_ = std::min(std::max(waited_ns, away_ns_ * 2), kLongestNs);
  not_before_ns_ = Later(now_ns, away_ns_);
}

void SkipBackOff::Succeeded() noexcept {
  away_ns_ = 0;
  not_before_ns_ = 0;
}

uint64_t CompletionLimitNs(uint64_t longest_ns) noexcept {
  if (longest_ns == 0) return kUnknownCompletionLimitNs;
  if (longest_ns >= kMaxCompletionLimitNs / kTimesLongest) return kMaxCompletionLimitNs;
  return std::max(longest_ns * kTimesLongest, kMinCompletionLimitNs);
}

CompletionWait::CompletionWait(uint64_t begin_ns, uint64_t limit_ns) noexcept
    : PolledWait(kCompletionPace, begin_ns, limit_ns) {}

CompletionConsequence AfterCompletion(WaitNext next, bool hardware_group, bool range_was_clean) noexcept {
  CompletionConsequence consequence;
  switch (next) {
    case WaitNext::kGo:
      consequence.pop = true;
      consequence.graduate = hardware_group && range_was_clean;
      break;
    case WaitNext::kSleep:
    case WaitNext::kGiveUp:
      consequence.abandon_session = true;
      consequence.deny_function = true;
      break;
    case WaitNext::kFail:
      consequence.abandon_session = true;
      consequence.stop_sampling = true;
      break;
  }
  return consequence;
}

}  // namespace gx::inject
