// What has to be asked before a context is known to be idle: its streams, by handle, and what no handle tells. Filled
// in callbacks, read by any thread, lock-free, of fixed size: where the answer cannot be known there is a doubt, and a
// context with a doubt is never sampled.
//
// Streams come from the program's own calls (cuStreamCreate and its kin), not from what CUPTI reports: that may include
// default streams by handles of the driver's own, which nobody says may be queried, or how long.
#ifndef GPUEXEC_INJECT_STREAM_TABLE_H_
#define GPUEXEC_INJECT_STREAM_TABLE_H_

#include <atomic>
#include <cstdint>

namespace gx::inject {

// Why it cannot be known whether a context is idle.
enum class IdleDoubt : uint8_t {
  kNone,
  kTableFull,     // Streams or contexts found no place: of no context it is known any more.
  kGreenContext,  // The process has green contexts: what else waits for their work is not documented.
  kPerThread,     // Another thread than the one that asks uses its own default stream: only that thread can ask it.
  kLeftBusy,      // A stream was destroyed, perhaps with work in it, and the context was not synchronised since.
};

class StreamTable {
 public:
  static constexpr uint32_t kSize = 1024;    // Living streams of the process.
  static constexpr uint32_t kContexts = 64;  // Contexts with something to note.
  static constexpr uint32_t kEvents = 64;    // Of streams that were destroyed with work in them.

  // [MT] A handle that is there already (its end was not seen) moves to `context`. The handles that stand for default
  // streams are not kept.
  void Add(const void* context, const void* stream) noexcept;
  // [MT] The stream is about to be destroyed. Nothing where it is not known.
  void Remove(const void* stream) noexcept;
  // [MT] The context is about to be destroyed, with all that is known of it.
  void RemoveContext(const void* context) noexcept;

  // [MT] The thread works in its own default stream of the context. `thread` 0: one that has no name.
  void NotePerThread(const void* context, uint64_t thread) noexcept;
  // [MT] A stream of the context goes with work in it, behind which `event` (a CUevent) was recorded. False: no room.
  [[nodiscard]] bool KeepEvent(const void* context, void* event) noexcept;
  // [MT] Whether the work before every event kept of the context is done. Calls is_done(CUevent); an event for which it
  // says true is forgotten, and the callee's to destroy. False also while another thread asks.
  template <typename IsDone>
  bool EventsDone(const void* context, IsDone&& is_done) const {
    bool all_done = true;
    for (EventEntry& entry : events_) {
      if (entry.context.load(std::memory_order_acquire) != context) continue;
      if (entry.taken.exchange(true, std::memory_order_acq_rel)) {
        all_done = false;
        continue;
      }
      void* const event = entry.event.load(std::memory_order_acquire);
      if (entry.context.load(std::memory_order_acquire) == context && event != nullptr) {
        if (is_done(event)) {
          entry.event.store(nullptr, std::memory_order_release);
          entry.context.store(nullptr, std::memory_order_release);
        } else {
          all_done = false;
        }
      }
      entry.taken.store(false, std::memory_order_release);
    }
    return all_done;
  }
  // [MT] A stream of the context goes, and whether it holds work cannot be asked.
  void NoteLeftBusy(const void* context) noexcept;
  // [MT] Around a synchronisation of the context: `before` is what LeftBusy said before it.
  uint32_t LeftBusy(const void* context) const noexcept;
  void Synchronised(const void* context, uint32_t before) noexcept;
  // [MT] For good.
  void NoteGreenContext() noexcept { green_.store(true, std::memory_order_release); }

  // [MT] kNone: a thread that asks every stream of ForEach, EventsDone, the legacy default stream and, where it works
  // in it, its own default stream knows whether the context is idle. `thread`: the one that asks, 0 for a thread of
  // ours.
  IdleDoubt DoubtOf(const void* context, uint64_t thread) const noexcept;
  // [MT] Whether the thread was noted to work in its own default stream.
  bool UsesPerThread(const void* context, uint64_t thread) const noexcept;

  // [MT] Calls visit(CUstream) for the context's streams until it returns false. A stream that is destroyed meanwhile
  // may still be visited: callers hold launches and calls back, or take an error as "not idle".
  template <typename Visit>
  void ForEach(const void* context, Visit&& visit) const {
    const uint32_t used = used_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used; ++i) {
      if (entries_[i].context.load(std::memory_order_acquire) != context) continue;
      void* const stream = entries_[i].stream.load(std::memory_order_acquire);
      if (stream != nullptr && !visit(stream)) return;
    }
  }
  uint32_t Count(const void* context) const noexcept;
  // [MT] The context of a stream; null: not known.
  const void* ContextOf(const void* stream) const noexcept;

 private:
  struct Entry {
    std::atomic<const void*> context{nullptr};  // Null: free.
    std::atomic<void*> stream{nullptr};
  };
  struct ContextEntry {
    std::atomic<const void*> context{nullptr};  // Null: free.
    std::atomic<uint64_t> per_thread{0};        // 0: nobody; kSeveral; else the thread.
    std::atomic<uint32_t> left_busy{0};         // Streams so far.
    std::atomic<uint32_t> settled{0};           // So many of them are done with.
  };
  struct EventEntry {
    std::atomic<const void*> context{nullptr};  // Null: free.
    std::atomic<void*> event{nullptr};
    std::atomic<bool> taken{false};  // A thread fills it, or asks.
  };
  static constexpr uint64_t kSeveral = ~uint64_t{0};

  const ContextEntry* Find(const void* context) const noexcept;
  ContextEntry* FindOrAdd(const void* context) noexcept;

  Entry entries_[kSize];
  ContextEntry contexts_[kContexts];
  // What is done is forgotten by whoever asks.
  mutable EventEntry events_[kEvents];
  std::atomic<uint32_t> used_{0};
  std::atomic<bool> overflowed_{false};
  std::atomic<bool> green_{false};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_STREAM_TABLE_H_
