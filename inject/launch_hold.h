// Holds launches back for a moment: while counters are switched, and between the look at idle streams and the push of a
// range. Push and Start wait for the whole context without a limit; a kernel that another thread launches in between,
// and that waits for a later launch, would then hang the program for ever.
//
// Every followed call of the program enters before the driver's function and leaves after it. A holder sees every call
// that has entered, and calls that come later wait, bounded:
//
//   const uint64_t ticket = hold.Hold();
//   if (ticket == 0) return;                                              // another holder
//   const uint64_t overrun = hold.overrun_count();
//   if (WaitUntil([&] { return !hold.CallsUnderWay(queues, own); }, limit_ns)) { ... }   // no call but our own
//   const bool alone = hold.overrun_count() == overrun;                   // no call went on all the same
//   hold.Release(ticket);
#ifndef GPUEXEC_INJECT_LAUNCH_HOLD_H_
#define GPUEXEC_INJECT_LAUNCH_HOLD_H_

#include <atomic>
#include <cstdint>

#include "inject/futex.h"
#include "inject/thread_queue.h"

namespace gx::inject {

// A held launch goes on after this, whatever the holder does: longer than any change of groups (0.5 s) plus a drain. By
// then the hold is worthless, so no other launch waits for it any more.
inline constexpr uint64_t kLaunchHoldLimitNs = 2'000'000'000;

class LaunchHold {
 public:
  explicit LaunchHold(uint64_t limit_ns = kLaunchHoldLimitNs) noexcept : limit_ns_(limit_ns) {}

  // [program] Before a call that brings work to a device. Waits while held, the limit at most; returns the time it
  // waited. A call inside a call (a driver function that calls another) never waits: its caller has entered. Null: a
  // thread without a queue. Where nothing is held: a store to the thread's own memory and a load.
  uint64_t Enter(ThreadState* thread) noexcept;
  // [program] After it, on the same thread, which may have got its queue meanwhile. Nothing where its Enter was not
  // seen.
  void Leave(ThreadState* thread) noexcept;

  // [MT] The hold's ticket; 0: held by another already.
  [[nodiscard]] uint64_t Hold() noexcept { return HoldFor(limit_ns_); }
  // With a limit of its own for the launches that are held; at most kMaxLimitNs.
  [[nodiscard]] uint64_t HoldFor(uint64_t limit_ns) noexcept;
  // [holder] Nothing where the ticket's hold was broken: another one may have begun.
  void Release(uint64_t ticket) noexcept;
  // [MT] Ends the hold whoever's it is: for a holder that is stuck.
  void Release() noexcept;
  // [holder] Whether the ticket's hold has not been broken.
  bool IsHeldBy(uint64_t ticket) const noexcept;
  // [holder] Whether a call has entered and not left, but for those of `own` (may be null): the holder's thread, which
  // is in a call itself.
  bool CallsUnderWay(const ThreadQueues& queues, const ThreadState* own) const noexcept;

  // Nearly five hours.
  static constexpr uint64_t kMaxLimitNs = (uint64_t{1} << 44) - 1;

  bool held() const noexcept { return held_.load(std::memory_order_seq_cst) != 0; }
  // Calls that were held for the limit and went on: during a hold they make it worthless.
  uint64_t overrun_count() const noexcept { return overrun_count_.load(std::memory_order_seq_cst); }

 private:
  void MarkEntered(ThreadState* thread) noexcept;
  void NoteOverrun(uint64_t held) noexcept;
  uint64_t WaitForRelease(ThreadState* thread) noexcept;

  const uint64_t limit_ns_;
  // Ticket << 44 | how long a launch is held at most; 0: none is held.
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> tickets_{0};
  // Calls under way of threads that have no queue.
  std::atomic<uint32_t> strangers_{0};
  std::atomic<uint64_t> overrun_count_{0};
  Pulse released_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_LAUNCH_HOLD_H_
