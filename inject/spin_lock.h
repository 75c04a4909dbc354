// A short critical section among callbacks of several threads.
#ifndef GPUEXEC_INJECT_SPIN_LOCK_H_
#define GPUEXEC_INJECT_SPIN_LOCK_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "inject/clock.h"

namespace gx::inject {

// Nothing of CUPTI's or the driver's is called while one is held.
class SpinLock {
 public:
  // False: not had within about 100 ms (the holder is stopped): give up rather than hang the host.
  [[nodiscard]] bool TryLock() noexcept {
    if (!flag_.test_and_set(std::memory_order_acquire)) return true;
    const uint64_t deadline_ns = MonotonicNs() + kLimitNs;
    while (flag_.test_and_set(std::memory_order_acquire)) {
      sched_yield();
      if (MonotonicNs() > deadline_ns) return false;
    }
    return true;
  }
  void Unlock() noexcept { flag_.clear(std::memory_order_release); }

 private:
  static constexpr uint64_t kLimitNs = 100'000'000;
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SPIN_LOCK_H_
