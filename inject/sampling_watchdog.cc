#include "inject/sampling_watchdog.h"

#include <algorithm>

namespace gx::inject {
namespace {

constexpr uint64_t kUsed = 1;
constexpr uint64_t kNamed = 2;
constexpr unsigned kCallShift = 2;
constexpr unsigned kSinceShift = 8;
constexpr uint64_t kCallMask = 0x3f;

constexpr uint64_t kSessionLimitNs = 30'000'000'000;
constexpr uint64_t kRangeLimitNs = 10'000'000'000;
// A wait as a whole, which has a deadline of its own: 10 s for the sampled launch, 1 s for idle streams.
constexpr uint64_t kCompletionLimitNs = 15'000'000'000;

bool BuildsSession(SamplingCall call) { return SamplingCallLimitNs(call) == kSessionLimitNs; }

SamplingCall CallOf(uint64_t entry) { return static_cast<SamplingCall>(entry >> kCallShift & kCallMask); }

}  // namespace

std::string_view SamplingCallName(SamplingCall call) {
  switch (call) {
    case SamplingCall::kInitialize:
      return "initialising the profiler";
    case SamplingCall::kEnable:
      return "enabling the range profiler";
    case SamplingCall::kConfigure:
      return "setting the counters";
    case SamplingCall::kStart:
      return "starting a session";
    case SamplingCall::kPush:
      return "beginning a range";
    case SamplingCall::kPatchedLaunch:
      return "a launch of patched code";
    case SamplingCall::kReplayedLaunch:
      return "a replayed launch";
    case SamplingCall::kPop:
      return "ending a range";
    case SamplingCall::kStop:
      return "stopping a session";
    case SamplingCall::kDecode:
      return "decoding counters";
    case SamplingCall::kEvaluate:
      return "evaluating counters";
    case SamplingCall::kDisable:
      return "disabling the range profiler";
    case SamplingCall::kQueryStream:
      return "asking whether a stream is idle";
    case SamplingCall::kQueryEvent:
      return "asking whether a launch has completed";
  }
  return "unknown call";
}

uint64_t SamplingCallLimitNs(SamplingCall call) {
  switch (call) {
    case SamplingCall::kInitialize:
    case SamplingCall::kEnable:
    case SamplingCall::kConfigure:
    case SamplingCall::kStart:
    case SamplingCall::kStop:
    case SamplingCall::kDecode:
    case SamplingCall::kEvaluate:
    case SamplingCall::kDisable:
    case SamplingCall::kReplayedLaunch:
      return kSessionLimitNs;
    case SamplingCall::kPush:
    case SamplingCall::kPatchedLaunch:
    case SamplingCall::kPop:
    case SamplingCall::kQueryStream:
      return kRangeLimitNs;
    case SamplingCall::kQueryEvent:
      return kCompletionLimitNs;
  }
  return kSessionLimitNs;
}

uint32_t SamplingWatchdog::Enter(SamplingCall call, uint64_t now_ns) noexcept {
  const uint64_t entry = now_ns << kSinceShift | uint64_t{static_cast<uint8_t>(call)} << kCallShift | kUsed;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    uint64_t held = slots_[slot].load(std::memory_order_relaxed);
    if (held != 0 || !slots_[slot].compare_exchange_strong(held, entry, std::memory_order_release)) continue;
    if (wake_ != nullptr && BuildsSession(call)) wake_->Signal();
    return slot;
  }
  unwatched_.fetch_add(1, std::memory_order_relaxed);
  return kNone;
}

void SamplingWatchdog::Leave(uint32_t slot) noexcept {
  if (slot < kSlots) slots_[slot].store(0, std::memory_order_release);
}

bool SamplingWatchdog::building() const noexcept {
  return std::any_of(slots_.begin(), slots_.end(), [](const auto& slot) {
    const uint64_t entry = slot.load(std::memory_order_acquire);
    return entry != 0 && BuildsSession(CallOf(entry));
  });
}

bool SamplingWatchdog::busy() const noexcept {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const auto& slot) { return slot.load(std::memory_order_acquire) != 0; });
}

std::optional<StuckCall> SamplingWatchdog::Check(uint64_t now_ns) noexcept {
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    uint64_t entry = slots_[slot].load(std::memory_order_acquire);
    if (entry == 0 || (entry & kNamed) != 0) continue;
    const SamplingCall call = CallOf(entry);
    const uint64_t since_ns = entry >> kSinceShift;
    if (now_ns < since_ns || now_ns - since_ns < SamplingCallLimitNs(call)) continue;
    // It may come back at this very moment: then it was not stuck.
    if (!slots_[slot].compare_exchange_strong(entry, entry | kNamed, std::memory_order_acq_rel)) continue;
    TurnOff();
    return StuckCall{.call = call, .since_ns = since_ns, .slot = slot};
  }
  return std::nullopt;
}

}  // namespace gx::inject
