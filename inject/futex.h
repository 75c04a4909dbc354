// Waiting with a deadline on a 32-bit word: no lock, no allocation, never a cancellation point, safe to wake from a
// CUPTI callback.
#ifndef GPUEXEC_INJECT_FUTEX_H_
#define GPUEXEC_INJECT_FUTEX_H_

#include <atomic>
#include <cstdint>

namespace gx::inject {

// Returns when `word` differs from `expected`, when woken, or after `timeout_ns`, whichever is first.
void FutexWait(const std::atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns) noexcept;
void FutexWakeAll(const std::atomic<uint32_t>& word) noexcept;

// A thing that happens again and again: Signal counts up, WaitFor returns once the count has passed `seen`.
class Pulse {
 public:
  uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  void Signal() noexcept {
    count_.fetch_add(1, std::memory_order_release);
    FutexWakeAll(count_);
  }
  // Returns the new count; equal to `seen` after a time-out.
  uint32_t WaitFor(uint32_t seen, uint64_t timeout_ns) const noexcept {
    if (count() == seen) FutexWait(count_, seen, timeout_ns);
    return count();
  }

 private:
  std::atomic<uint32_t> count_{0};
};

// Calls `done` until it says true or `timeout_ns` has passed, sleeping in between (short naps: 50 us to 2 ms).
template <typename Done>
bool WaitUntil(Done&& done, uint64_t timeout_ns) noexcept;

}  // namespace gx::inject

#include "inject/clock.h"

namespace gx::inject {

template <typename Done>
bool WaitUntil(Done&& done, uint64_t timeout_ns) noexcept {
  const uint64_t deadline_ns = MonotonicNs() + timeout_ns;
  uint64_t nap_ns = 50'000;
  const std::atomic<uint32_t> never{0};
  while (!done()) {
    if (MonotonicNs() >= deadline_ns) return false;
    FutexWait(never, 0, nap_ns);
    if (nap_ns < 2'000'000) nap_ns *= 2;
  }
  return true;
}

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_FUTEX_H_
