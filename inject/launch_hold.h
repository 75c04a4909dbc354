// Holds launches back for a moment: while counters are switched, and between the look at idle streams and the push of a
// range. Push and Start wait for the whole context without a limit; a kernel that another thread launches in between,
// and that waits for a later launch, would then hang the program for ever.
//
// Every followed call of the program enters before the driver's function and leaves after it. A holder sees every call
// that has entered (`in_call` flags), and calls that come later wait, bounded.
#ifndef GPUEXEC_INJECT_LAUNCH_HOLD_H_
#define GPUEXEC_INJECT_LAUNCH_HOLD_H_

#include <atomic>
#include <cstdint>

#include "inject/futex.h"
#include "inject/thread_queue.h"

namespace gx::inject {

// A held launch goes on after this, whatever the holder does: longer than any change of groups (0.5 s) plus a drain.
inline constexpr uint64_t kLaunchHoldLimitNs = 2'000'000'000;

class LaunchHold {
 public:
  // [program] Before a call that brings work to a device. Waits while held, kLaunchHoldLimitNs at most; returns the
  // time it waited. Two atomic operations on the thread's own memory and one load where nothing is held.
  uint64_t Enter(ThreadState* thread) noexcept;
  // [program] After it.
  static void Leave(ThreadState* thread) noexcept { thread->in_device_call.store(0, std::memory_order_release); }

  // [MT] False: held by another already. `own` (may be null): the holder's thread, which is in a call itself.
  [[nodiscard]] bool Hold() noexcept;
  void Release() noexcept;
  // [holder] Whether a call entered before the hold and has not left, but for the holder's own.
  bool CallsUnderWay(ThreadQueues* queues, const ThreadState* own) const noexcept;

  uint64_t timed_out() const noexcept { return timed_out_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> held_{0};
  std::atomic<uint64_t> timed_out_{0};
  Pulse released_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_LAUNCH_HOLD_H_
