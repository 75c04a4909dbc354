#include "inject/thread_queue.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace gx::inject {
namespace {

// One pointer of thread-local storage, of the initial-exec kind: it is laid out when the library is loaded (a process
// keeps about 1.5 KiB of such room for libraries loaded late), so that touching it never allocates.
__thread ThreadState* t_state __attribute__((tls_model("initial-exec"))) = nullptr;
// No slot was left for this thread when this many had been freed: search again only when more are. 0: never refused.
__thread uint32_t t_refused __attribute__((tls_model("initial-exec"))) = 0;

// A queue is read whole between two frames, and a frame stays below the 16 MiB that a reader takes.
constexpr uint64_t kMaxQueueBytes = uint64_t{8} << 20;

uint32_t RoundUpTo8(uint32_t bytes) { return (bytes + 7u) & ~7u; }

}  // namespace

void* EventQueue::ReserveBytes(EventType type, uint64_t event_bytes) noexcept {
  if (event_bytes + sizeof(Header) > capacity_ / 4) return nullptr;
  const uint32_t entry_bytes = RoundUpTo8(static_cast<uint32_t>(event_bytes + sizeof(Header)));
  uint64_t head = head_.load(std::memory_order_relaxed);
  const uint32_t position = static_cast<uint32_t>(head & (capacity_ - 1));
  const uint32_t to_end = capacity_ - position;
  const uint32_t skip = to_end < entry_bytes ? to_end : 0;
  if (head + skip + entry_bytes - known_tail_ > capacity_) {
    known_tail_ = tail_.load(std::memory_order_acquire);
    if (head + skip + entry_bytes - known_tail_ > capacity_) {
      half_full_->Signal();
      return nullptr;
    }
  }
  if (skip != 0) {
    const Header header{skip, EventType::kSkip};
    std::memcpy(memory_ + position, &header, sizeof(header));
    head += skip;
  }
  uint8_t* entry = memory_ + (head & (capacity_ - 1));
  const Header header{entry_bytes, type};
  std::memcpy(entry, &header, sizeof(header));
  reserved_head_ = head + entry_bytes;
  return entry + sizeof(Header);
}

void EventQueue::Commit() noexcept {
  head_.store(reserved_head_, std::memory_order_release);
  if (reserved_head_ < next_check_) return;
  // Wake the consumer when the queue is half full, and now and then while it stays so; in between the consumer's line
  // is left alone.
  const uint64_t half = capacity_ / 2;
  known_tail_ = tail_.load(std::memory_order_acquire);
  if (reserved_head_ - known_tail_ >= half) {
    half_full_->Signal();
    next_check_ = reserved_head_ + capacity_ / 16;
  } else {
    next_check_ = known_tail_ + half;
  }
}

bool ThreadQueues::Allocate(uint64_t budget_bytes) noexcept {
  // Three quarters for the large queues: 64 x 1 MiB and 192 x 64 KiB from 96 MiB. A launch event takes 120 bytes, so a
  // large queue holds 8,700 launches: 40 ms of the fastest launch loop seen (4.5 us a launch).
  const uint64_t large_target = std::min(budget_bytes * 3 / 4 / kLargeSlots, kMaxQueueBytes);
  const uint64_t small_target = std::min(budget_bytes / 4 / kSmallSlots, kMaxQueueBytes);
  const uint64_t large_bytes = large_target < 65536 ? 65536 : std::bit_floor(large_target);
  const uint64_t small_bytes = small_target < 16384 ? 16384 : std::bit_floor(small_target);
  const uint64_t states_bytes = (sizeof(ThreadState) * (kLargeSlots + kSmallSlots) + 4095) & ~uint64_t{4095};
  const uint64_t total = states_bytes + large_bytes * kLargeSlots + small_bytes * kSmallSlots;
  void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* states = static_cast<ThreadState*>(memory);
  uint8_t* next = static_cast<uint8_t*>(memory) + states_bytes;
  for (uint32_t i = 0; i < kLargeSlots + kSmallSlots; ++i) {
    auto* state = new (states + i) ThreadState;
    const uint64_t bytes = i < kLargeSlots ? large_bytes : small_bytes;
    state->queue.Attach(next, static_cast<uint32_t>(bytes), &half_full_);
    next += bytes;
  }
  slot_count_ = kLargeSlots + kSmallSlots;
  states_ = states;
  return true;
}

ThreadState* ThreadQueues::Current() noexcept {
  if (t_state != nullptr) return t_state;
  if (states_ == nullptr) return nullptr;
  const uint32_t freed = freed_.load(std::memory_order_acquire) + 1;
  if (t_refused == freed) return nullptr;
  const auto thread_id = static_cast<uint32_t>(syscall(SYS_gettid));
  for (uint32_t i = 0; i < slot_count_; ++i) {
    uint32_t expected = 0;
    if (states_[i].thread_id.load(std::memory_order_relaxed) == 0 &&
        states_[i].thread_id.compare_exchange_strong(expected, thread_id, std::memory_order_acq_rel)) {
      ThreadState& state = states_[i];
      state.inside = false;
      state.in_device_call.store(0, std::memory_order_relaxed);
      state.call_cbid = 0;
      state.enter_cupti_ns = 0;
      state.call_window_id = 0;
      state.left_busy_before = 0;
      state.watched_calls.store(0, std::memory_order_relaxed);
      state.call_is_sampled = false;
      state.call_node_type = 0;
      state.replayed_correlation_id = 0;
      state.call_has_node = false;
      state.has_pending_node = false;
      state.cloned_graph_id = 0;
      for (auto& entry : state.streams) entry.valid = false;
      for (auto& entry : state.graphs) entry.graph = nullptr;
      uint32_t high_water = high_water_.load(std::memory_order_relaxed);
      while (high_water < i + 1 && !high_water_.compare_exchange_weak(high_water, i + 1, std::memory_order_acq_rel)) {
      }
      t_state = &state;
      return t_state;
    }
  }
  t_refused = freed;
  return nullptr;
}

void ThreadQueues::ForgetCurrent() noexcept {
  t_state = nullptr;
  t_refused = 0;
}

void ThreadQueues::ForgetAllInChild() noexcept {
  ForgetCurrent();
  const uint32_t used = high_water_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < used; ++i) {
    states_[i].queue.Clear();
    states_[i].in_device_call.store(0, std::memory_order_relaxed);
    states_[i].thread_id.store(0, std::memory_order_relaxed);
  }
}

void ThreadQueues::CollectEndedThreads() noexcept {
  const uint32_t used = high_water_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    const uint32_t thread_id = states_[i].thread_id.load(std::memory_order_acquire);
    if (thread_id == 0 || !states_[i].queue.empty()) continue;
    // Asked of the kernel directly: /proc may be hidden or gone (chroot, sandboxes). Any other answer than "no such
    // thread" leaves the slot alone: two threads must never share a queue.
    if (syscall(SYS_tgkill, getpid(), static_cast<pid_t>(thread_id), 0) == 0 || errno != ESRCH) continue;
    // The thread ended before the check, so nothing can have been queued after the test for emptiness, unless it was
    // queued between the two: look again.
    if (!states_[i].queue.empty()) continue;
    // It may have ended inside a call.
    states_[i].in_device_call.store(0, std::memory_order_relaxed);
    lost_calls_.fetch_add(states_[i].watched_calls.exchange(0, std::memory_order_relaxed), std::memory_order_acq_rel);
    states_[i].thread_id.store(0, std::memory_order_release);
    freed_.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace gx::inject
