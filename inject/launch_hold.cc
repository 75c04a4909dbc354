#include "inject/launch_hold.h"

#include <algorithm>

#include "inject/clock.h"

namespace gx::inject {
namespace {

// Calls that this thread entered without a queue, one inside the other: it may have one by the time they return. See
// thread_queue.cc for the kind of storage.
__thread uint32_t t_stranger_calls __attribute__((tls_model("initial-exec"))) = 0;

constexpr unsigned kTicketShift = 44;
constexpr uint64_t kTicketMask = (uint64_t{1} << (64 - kTicketShift)) - 1;
constexpr uint64_t LimitOf(uint64_t held) { return held & LaunchHold::kMaxLimitNs; }
constexpr uint64_t TicketOf(uint64_t held) { return held >> kTicketShift; }

}  // namespace

// Entering: flag, then look at held_. Holding: held_, then look at the flags. All four are sequentially consistent, so
// one of the two sees the other.
uint64_t LaunchHold::Enter(ThreadState* thread) noexcept {
  if (thread != nullptr) {
    const uint8_t depth = thread->in_device_call.load(std::memory_order_relaxed);
    if (depth != 0) {
      if (depth != UINT8_MAX) thread->in_device_call.store(depth + 1, std::memory_order_release);
      return 0;
    }
  } else if (t_stranger_calls != 0) {
    ++t_stranger_calls;
    return 0;
  }
  MarkEntered(thread);
  if (!held()) return 0;
  return WaitForRelease(thread);
}

void LaunchHold::MarkEntered(ThreadState* thread) noexcept {
  if (thread != nullptr) {
    thread->in_device_call.store(1, std::memory_order_seq_cst);
  } else {
    t_stranger_calls = 1;
    strangers_.fetch_add(1, std::memory_order_seq_cst);
  }
}

uint64_t LaunchHold::WaitForRelease(ThreadState* thread) noexcept {
  const uint64_t begin_ns = MonotonicNs();
  for (;;) {
    Leave(thread);
    const uint32_t seen = released_.count();
    uint64_t waited_ns = MonotonicNs() - begin_ns;
    const uint64_t limit_ns = LimitOf(held_.load(std::memory_order_seq_cst));
    if (waited_ns < limit_ns) {
      (void)released_.WaitFor(seen, limit_ns - waited_ns);
      waited_ns = MonotonicNs() - begin_ns;
    }
    MarkEntered(thread);
    const uint64_t present = held_.load(std::memory_order_seq_cst);
    if (present == 0) return waited_ns;
    if (waited_ns >= LimitOf(present)) {
      NoteOverrun(present);
      return waited_ns;
    }
  }
}

// The holder keeps its hold, and sees that it is worth nothing; nobody else waits for it.
void LaunchHold::NoteOverrun(uint64_t held) noexcept {
  overrun_count_.fetch_add(1, std::memory_order_seq_cst);
  if (LimitOf(held) == 0) return;
  // Where it fails, another has done it, or another hold has begun.
  if (held_.compare_exchange_strong(held, TicketOf(held) << kTicketShift, std::memory_order_seq_cst)) {
    released_.Signal();
  }
}

void LaunchHold::Leave(ThreadState* thread) noexcept {
  const uint8_t depth = thread == nullptr ? 0 : thread->in_device_call.load(std::memory_order_relaxed);
  if (depth != 0) {
    thread->in_device_call.store(depth - 1, std::memory_order_release);
    return;
  }
  if (t_stranger_calls == 0 || --t_stranger_calls != 0) return;
  uint32_t now = strangers_.load(std::memory_order_relaxed);
  while (now != 0 && !strangers_.compare_exchange_weak(now, now - 1, std::memory_order_seq_cst)) {
  }
}

uint64_t LaunchHold::HoldFor(uint64_t limit_ns) noexcept {
  uint64_t ticket = 0;
  while (ticket == 0) ticket = (tickets_.fetch_add(1, std::memory_order_relaxed) + 1) & kTicketMask;
  uint64_t expected = 0;
  const uint64_t held = ticket << kTicketShift | std::min(limit_ns, kMaxLimitNs);
  return held_.compare_exchange_strong(expected, held, std::memory_order_seq_cst) ? ticket : 0;
}

bool LaunchHold::IsHeldBy(uint64_t ticket) const noexcept {
  return ticket != 0 && TicketOf(held_.load(std::memory_order_seq_cst)) == ticket;
}

void LaunchHold::Release(uint64_t ticket) noexcept {
  uint64_t held = held_.load(std::memory_order_seq_cst);
  // The limit may be lowered in between.
  while (held != 0 && TicketOf(held) == ticket) {
    if (held_.compare_exchange_weak(held, 0, std::memory_order_seq_cst)) {
      released_.Signal();
      return;
    }
  }
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
