// A queue of events per host thread: bounded, lock-free, one producer (the thread, inside callbacks) and one consumer
// (the writer thread). A full queue refuses the event; the producer counts it and goes on.
//
// Memory is reserved once, at initialisation, as one mapping; a page costs memory when it is first used. Queues of
// threads that have ended are found by the writer (the kernel knows their id no more) and given to new threads.
//
//   ThreadState* thread = queues.Current();            // null: no queue left
//   if (auto* event = thread->queue.Reserve<LaunchEvent>(EventType::kLaunch)) { *event = ...; thread->queue.Commit(); }
#ifndef GPUEXEC_INJECT_THREAD_QUEUE_H_
#define GPUEXEC_INJECT_THREAD_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "inject/event.h"
#include "inject/futex.h"

namespace gx::inject {

class EventQueue {
 public:
  struct Header {
    uint32_t bytes;  // Of the whole entry, header included: a multiple of 8.
    EventType type;
  };

  // `memory` of `capacity_bytes` (a power of two) stays valid for ever.
  void Attach(uint8_t* memory, uint32_t capacity_bytes, Pulse* half_full) noexcept {
    memory_ = memory;
    capacity_ = capacity_bytes;
    half_full_ = half_full;
  }

  // [producer] Room for one event with `extra_bytes` behind it; null where the queue is full. Nothing is visible to the
  // consumer before Commit; a second Reserve without Commit replaces the first.
  template <typename Event>
  Event* Reserve(EventType type, uint32_t extra_bytes = 0) noexcept {
    static_assert(alignof(Event) <= 8);
    void* room = ReserveBytes(type, uint64_t{sizeof(Event)} + extra_bytes);
    return room == nullptr ? nullptr : new (room) Event;
  }
  // [producer]
  void Commit() noexcept;

  // [consumer] Calls visit(type, bytes of the event, their number) for each event that is there now; returns how many.
  template <typename Visit>
  size_t Drain(Visit&& visit) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    const uint64_t head = head_.load(std::memory_order_acquire);
    uint64_t published = tail;
    size_t count = 0;
    while (tail != head) {
      const uint8_t* entry = memory_ + (tail & (capacity_ - 1));
      Header header;
      std::memcpy(&header, entry, sizeof(header));
      if (header.type != EventType::kSkip) {
        visit(header.type, entry + sizeof(Header), header.bytes - static_cast<uint32_t>(sizeof(Header)));
        ++count;
      }
      tail += header.bytes;
      // Room is given back in strides: each store takes the line away from the producer's core.
      if (tail - published >= kDrainStrideBytes) {
        tail_.store(tail, std::memory_order_release);
        published = tail;
      }
    }
    tail_.store(tail, std::memory_order_release);
    return count;
  }

  // Nobody else may use the queue now.
  void Clear() noexcept { tail_.store(head_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

  bool empty() const noexcept { return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire); }

 private:
  void* ReserveBytes(EventType type, uint64_t event_bytes) noexcept;

  static constexpr uint64_t kDrainStrideBytes = 4096;

  uint8_t* memory_ = nullptr;
  uint32_t capacity_ = 0;
  Pulse* half_full_ = nullptr;
  // Producer's own.
  uint64_t reserved_head_ = 0;
  // The tail as last looked at: the real one is at or beyond it. Looked at again only when it matters.
  uint64_t known_tail_ = 0;
  // The head at which the fill is looked at next, to wake the consumer.
  uint64_t next_check_ = 0;
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

// What a host thread's callbacks remember between each other. Only that thread touches it, but for `queue`'s other end,
// `thread_id` and `watched_calls`, which the writer reads, and `in_device_call`, which any thread reads.
struct ThreadState {
  EventQueue queue;
  std::atomic<uint32_t> thread_id{0};  // gettid(); 0: the slot is free.

  // A callback of ours is running: whatever it provokes is ignored.
  bool inside = false;

  // The driver call under way, from its enter to its exit.
  uint64_t enter_monotonic_ns = 0;
  // The synchronisation under way, likewise, on CUPTI's clock; 0: none.
  uint64_t enter_cupti_ns = 0;
  uint32_t call_cbid = 0;       // 0: none that we follow.
  uint32_t call_window_id = 0;  // At its enter; 0: outside every window.
  // Calls that bring work to a device and are under way, one inside the other (launch_hold.h).
  std::atomic<uint8_t> in_device_call{0};
  // Streams of the context that had been left busy when the synchronisation under way began (stream_table.h).
  uint32_t left_busy_before = 0;
  // How many of these calls, the inner ones, the sampler has to hear of at their end; and whether the one around them
  // is the sampled launch of the open range.
  std::atomic<uint8_t> watched_calls{0};
  bool call_is_sampled = false;
  // CUgraphNodeType of the nodes that it makes under capture, where the call says it: copies and fills. CUPTI 13.0
  // gives such nodes the type 0, a kernel. 0: not said.
  uint8_t call_node_type = 0;
  // The launch under way that is replayed (replay_sampler.h), by its correlation id: calls inside it are CUPTI's, not
  // the program's. 0: none.
  uint32_t replayed_correlation_id = 0;
  // A graph node that was made, or given parameters, inside that call.
  bool call_has_node = false;
  GraphNodeEvent call_node;

  // A node that was made outside the calls that we follow. Instantiating a graph makes each node twice to us, first as
  // created, then as cloned: the second says more, so the first is held back until the next event.
  bool has_pending_node = false;
  GraphNodeEvent pending_node;
  // The graph that nodes were last cloned into, and its original.
  uint32_t cloned_graph_id = 0;
  uint32_t cloned_from_graph_id = 0;

  // Stream handle -> CUPTI's stream id; an entry holds while no stream has been destroyed since (`epoch`).
  struct StreamEntry {
    const void* context = nullptr;
    const void* stream = nullptr;
    uint32_t epoch = 0;
    uint32_t stream_id = 0;
    bool per_thread = false;
    bool valid = false;
  };
  static constexpr size_t kStreamEntries = 16;
  StreamEntry streams[kStreamEntries];

  // Executable graph handle -> id; holds while no graph has been made or destroyed since.
  struct GraphEntry {
    const void* graph = nullptr;
    uint32_t epoch = 0;
    uint32_t graph_exec_id = 0;
  };
  static constexpr size_t kGraphEntries = 8;
  GraphEntry graphs[kGraphEntries];
};

class ThreadQueues {
 public:
  // Slots by size: launching threads come first and get large queues, the rest small ones.
  static constexpr uint32_t kLargeSlots = 64;
  static constexpr uint32_t kSmallSlots = 192;

  // Reserves `budget_bytes` of address space at most. False: no memory. Call once.
  [[nodiscard]] bool Allocate(uint64_t budget_bytes) noexcept;
  bool allocated() const noexcept { return states_ != nullptr; }

  // [MT] The calling thread's state; takes a slot at the first call. Null: none left.
  ThreadState* Current() noexcept;
  // The calling thread gives up its slot without freeing it, and takes another one at its next call.
  void ForgetCurrent() noexcept;
  // In a forked child, on its only thread: every slot is free, what was queued in them is the parent's.
  void ForgetAllInChild() noexcept;

  // [writer] Calls visit(state) for every slot in use.
  template <typename Visit>
  void ForEach(Visit&& visit) {
    const uint32_t used = high_water_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used; ++i) {
      if (states_[i].thread_id.load(std::memory_order_acquire) != 0) visit(states_[i]);
    }
  }
  // [MT] Calls visit(state) for every slot, in use or not: a thread that takes one meanwhile is not overlooked. Only
  // what is atomic in a state may be read.
  template <typename Visit>
  void ForEachSlot(Visit&& visit) const {
    for (uint32_t i = 0; i < slot_count_; ++i) visit(static_cast<const ThreadState&>(states_[i]));
  }
  // [writer] Frees the slots of threads that have ended and whose queue is empty.
  void CollectEndedThreads() noexcept;
  // [MT] Watched calls that threads had not left when they ended, since the last time.
  uint32_t TakeLostCalls() noexcept { return lost_calls_.exchange(0, std::memory_order_acq_rel); }

  // Signalled when a queue is half full: the writer waits on it.
  Pulse& half_full() noexcept { return half_full_; }

 private:
  ThreadState* states_ = nullptr;
  uint32_t slot_count_ = 0;
  std::atomic<uint32_t> high_water_{0};
  std::atomic<uint32_t> freed_{0};  // Slots freed so far.
  std::atomic<uint32_t> lost_calls_{0};
  Pulse half_full_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_THREAD_QUEUE_H_
