// Buffers lent to CUPTI for activity records: a fixed pool, handed out in the request callback and queued whole in the
// completion callback; the writer thread reads them and gives them back. No allocation and no CUPTI call in a callback.
#ifndef GPUEXEC_INJECT_ACTIVITY_BUFFERS_H_
#define GPUEXEC_INJECT_ACTIVITY_BUFFERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "inject/futex.h"
#include "inject/spin_lock.h"

namespace gx::inject {

struct CompletedBuffer {
  uint8_t* data = nullptr;
  size_t valid_bytes = 0;
  void* context = nullptr;  // CUcontext; null: none given.
  uint32_t stream_id = 0;
};

class ActivityBuffers {
 public:
  // A kernel record takes about 216 bytes, so a buffer holds about 4,850 kernels: what a killed process may lose of its
  // timings (per launching thread: from CUPTI 13.0 on each has its own buffer).
  static constexpr size_t kBufferBytes = size_t{1} << 20;
  static constexpr uint32_t kMaxBuffers = 1024;
  // Beyond the budget, touched only in need.
  static constexpr uint32_t kReserveBuffers = 64;

  // Reserves budget_bytes / kBufferBytes buffers, 4 at least. Call once.
  [[nodiscard]] bool Allocate(uint64_t budget_bytes) noexcept;

  // [MT] A free buffer; null: all are in use. `recycle_oldest` is for a CUPTI that must not be given null: then the
  // oldest unread buffer is taken instead; *discarded is set to it (its records are lost and must be counted by the
  // caller). Where there is none either, a buffer of a small reserve, which then joins the pool.
  uint8_t* Take(bool recycle_oldest, CompletedBuffer* discarded) noexcept;
  // [MT] A buffer comes back from CUPTI. False: not one of ours, or it could not be queued; its records are lost.
  bool Complete(const CompletedBuffer& buffer) noexcept;

  // [writer] The oldest unread buffer. False: none.
  bool NextCompleted(CompletedBuffer* buffer) noexcept;
  // [writer] Read: free again.
  void Release(uint8_t* data) noexcept;
  // [writer] Gives back to the system the memory of buffers that have been free ever since the last call: a moment that
  // needed many must not cost the program their memory for good. At most kTrimmedAtOnce and half of the free ones;
  // returns how many.
  uint32_t TrimIdle() noexcept;
  static constexpr uint32_t kTrimmedAtOnce = 64;

  // Buffers that CUPTI holds now.
  uint32_t lent() const noexcept { return lent_.load(std::memory_order_relaxed); }
  // [MT] Rounds of asking CUPTI for them that have returned well, or had nothing to ask for.
  void NoteFlushed() noexcept { flush_count_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t flush_count() const noexcept { return flush_count_.load(std::memory_order_relaxed); }
  // [MT] The device was idle before the last such round: every record has been asked for.
  void NoteAllEnded() noexcept { all_ended_.store(true, std::memory_order_release); }
  bool all_ended() const noexcept { return all_ended_.load(std::memory_order_acquire); }
  // Signalled at every completion.
  Pulse& completed() noexcept { return completed_; }

 private:
  bool IsOurs(const uint8_t* data) const noexcept;
  size_t IndexOf(const uint8_t* data) const noexcept { return static_cast<size_t>(data - memory_) / kBufferBytes; }
  uint8_t* TakeFromReserve() noexcept;

  uint8_t* memory_ = nullptr;
  uint32_t count_ = 0;
  SpinLock lock_;
  uint8_t* free_[kMaxBuffers + kReserveBuffers] = {};
  uint32_t free_count_ = 0;
  // The fewest that were free at a time since TrimIdle: so many, from the bottom of the stack, nobody has needed.
  uint32_t fewest_free_ = 0;
  // By index: may have memory behind it.
  bool touched_[kMaxBuffers + kReserveBuffers] = {};
  CompletedBuffer queue_[kMaxBuffers + kReserveBuffers] = {};
  uint32_t queue_begin_ = 0;
  uint32_t queue_size_ = 0;
  std::atomic<uint32_t> lent_{0};
  std::atomic<uint64_t> flush_count_{0};
  std::atomic<bool> all_ended_{false};
  std::atomic<uint32_t> reserve_used_{0};
  Pulse completed_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_ACTIVITY_BUFFERS_H_
