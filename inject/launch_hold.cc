#include "inject/launch_hold.h"

#include "inject/clock.h"

namespace gx::inject {

// Entering: flag, then look at held_. Holding: held_, then look at the flags. All four are sequentially consistent, so
// one of the two sees the other.
uint64_t LaunchHold::Enter(ThreadState* thread) noexcept {
  if (thread != nullptr) {
    const uint8_t depth = thread->in_device_call.load(std::memory_order_relaxed);
    if (depth != 0) {
      if (depth != UINT8_MAX) thread->in_device_call.store(depth + 1, std::memory_order_release);
      return 0;
    }
  }
  MarkEntered(thread);
  if (!held()) return 0;
  return WaitForRelease(thread);
}

void LaunchHold::MarkEntered(ThreadState* thread) noexcept {
  if (thread != nullptr) {
    thread->in_device_call.store(1, std::memory_order_seq_cst);
  } else {
    strangers_.fetch_add(1, std::memory_order_seq_cst);
  }
}

uint64_t LaunchHold::WaitForRelease(ThreadState* thread) noexcept {
  const uint64_t begin_ns = MonotonicNs();
  for (;;) {
    Leave(thread);
    const uint32_t seen = released_.count();
    uint64_t waited_ns = MonotonicNs() - begin_ns;
    const uint64_t limit_ns = held_.load(std::memory_order_seq_cst);
    if (waited_ns < limit_ns) {
      (void)released_.WaitFor(seen, limit_ns - waited_ns);
      waited_ns = MonotonicNs() - begin_ns;
    }
    MarkEntered(thread);
    const uint64_t present_limit_ns = held_.load(std::memory_order_seq_cst);
    if (present_limit_ns == 0) return waited_ns;
    if (waited_ns >= present_limit_ns) {
      overrun_count_.fetch_add(1, std::memory_order_seq_cst);
      return waited_ns;
    }
  }
}

void LaunchHold::Leave(ThreadState* thread) noexcept {
  if (thread == nullptr) {
    uint32_t now = strangers_.load(std::memory_order_relaxed);
    while (now != 0 && !strangers_.compare_exchange_weak(now, now - 1, std::memory_order_seq_cst)) {
    }
    return;
  }
  const uint8_t depth = thread->in_device_call.load(std::memory_order_relaxed);
  if (depth != 0) thread->in_device_call.store(depth - 1, std::memory_order_release);
}

bool LaunchHold::HoldFor(uint64_t limit_ns) noexcept {
  uint64_t expected = 0;
  return held_.compare_exchange_strong(expected, limit_ns == 0 ? 1 : limit_ns, std::memory_order_seq_cst);
}

void LaunchHold::Release() noexcept {
  held_.store(0, std::memory_order_seq_cst);
  released_.Signal();
}

bool LaunchHold::CallsUnderWay(const ThreadQueues& queues, const ThreadState* own) const noexcept {
  if (strangers_.load(std::memory_order_seq_cst) != 0) return true;
  bool under_way = false;
  queues.ForEachSlot([&](const ThreadState& thread) {
    under_way |= &thread != own && thread.in_device_call.load(std::memory_order_seq_cst) != 0;
  });
  return under_way;
}

}  // namespace gx::inject
