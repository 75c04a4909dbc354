#include "inject/activity_buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace gx::inject {

bool ActivityBuffers::Allocate(uint64_t budget_bytes) noexcept {
  const uint64_t count = std::clamp<uint64_t>(budget_bytes / kBufferBytes, 4, kMaxBuffers);
  void* memory = mmap(nullptr, (count + kReserveBuffers) * kBufferBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<uint8_t*>(memory);
  count_ = static_cast<uint32_t>(count);
  // The lowest buffer is handed out first and given out again first: a program that needs few touches few.
  for (uint32_t i = 0; i < count_; ++i) free_[i] = memory_ + (count_ - 1 - i) * kBufferBytes;
  free_count_ = count_;
  fewest_free_ = count_;
  return true;
}

uint8_t* ActivityBuffers::Take(bool recycle_oldest, CompletedBuffer* discarded) noexcept {
  *discarded = {};
  uint8_t* buffer = nullptr;
  if (!lock_.TryLock()) {
    // Stopped holder: nothing to be had from the pool.
    if (recycle_oldest) buffer = TakeFromReserve();
    if (buffer != nullptr) lent_.fetch_add(1, std::memory_order_relaxed);
    return buffer;
  }
  if (free_count_ != 0) {
    buffer = free_[--free_count_];
    fewest_free_ = std::min(fewest_free_, free_count_);
    touched_[IndexOf(buffer)] = true;
  } else if (recycle_oldest && queue_size_ != 0) {
    *discarded = queue_[queue_begin_];
    queue_begin_ = static_cast<uint32_t>((queue_begin_ + 1) % std::size(queue_));
    --queue_size_;
    buffer = discarded->data;
  } else if (recycle_oldest) {
    buffer = TakeFromReserve();
  }
  lock_.Unlock();
  if (buffer != nullptr) lent_.fetch_add(1, std::memory_order_relaxed);
  return buffer;
}

uint8_t* ActivityBuffers::TakeFromReserve() noexcept {
  const uint32_t index = reserve_used_.fetch_add(1, std::memory_order_relaxed);
  return index < kReserveBuffers ? memory_ + uint64_t{count_ + index} * kBufferBytes : nullptr;
}

bool ActivityBuffers::IsOurs(const uint8_t* data) const noexcept {
  const uint64_t known = count_ + std::min(reserve_used_.load(std::memory_order_relaxed), kReserveBuffers);
  return data >= memory_ && data < memory_ + known * kBufferBytes &&
         (data - memory_) % static_cast<ptrdiff_t>(kBufferBytes) == 0;
}

bool ActivityBuffers::Complete(const CompletedBuffer& buffer) noexcept {
  if (!IsOurs(buffer.data)) return false;
  // Its holder is only another callback or the writer: unless that thread is stopped for good, it goes on.
  if (!lock_.TryLock()) return false;
  const bool room = queue_size_ < count_ + kReserveBuffers;  // Always, unless a buffer came back twice.
  if (room) {
    queue_[(queue_begin_ + queue_size_) % std::size(queue_)] = buffer;
    ++queue_size_;
  }
  lock_.Unlock();
  if (!room) return false;
  lent_.fetch_sub(1, std::memory_order_relaxed);
  completed_.Signal();
  return true;
}

bool ActivityBuffers::NextCompleted(CompletedBuffer* buffer) noexcept {
  if (!lock_.TryLock()) return false;
  const bool any = queue_size_ != 0;
  if (any) {
    *buffer = queue_[queue_begin_];
    queue_begin_ = static_cast<uint32_t>((queue_begin_ + 1) % std::size(queue_));
    --queue_size_;
  }
  lock_.Unlock();
  return any;
}

void ActivityBuffers::Release(uint8_t* data) noexcept {
  if (!IsOurs(data)) return;
  // Not had: the buffer is never lent again.
  if (!lock_.TryLock()) return;
  if (free_count_ < count_ + kReserveBuffers) free_[free_count_++] = data;
  lock_.Unlock();
}

uint32_t ActivityBuffers::TrimIdle() noexcept {
  // Out of the pool while their pages go: nobody may be lent one that loses what is written to it.
  uint8_t* idle[kTrimmedAtOnce];
  uint32_t idle_count = 0;
  if (!lock_.TryLock()) return 0;
  // The other half goes on serving meanwhile.
  const uint32_t most = std::min(kTrimmedAtOnce, free_count_ / 2);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < free_count_; ++i) {
    if (i < fewest_free_ && idle_count < most && touched_[IndexOf(free_[i])]) {
      idle[idle_count++] = free_[i];
    } else {
      free_[kept++] = free_[i];
    }
  }
  free_count_ = kept;
  fewest_free_ = kept;
  lock_.Unlock();
  if (idle_count == 0) return 0;
  for (uint32_t i = 0; i < idle_count; ++i) (void)madvise(idle[i], kBufferBytes, MADV_DONTNEED);
  // Not had: they are never lent again.
  if (!lock_.TryLock()) return idle_count;
  std::memmove(free_ + idle_count, free_, free_count_ * sizeof(free_[0]));
  for (uint32_t i = 0; i < idle_count; ++i) {
    free_[i] = idle[i];
    touched_[IndexOf(idle[i])] = false;
  }
  free_count_ += idle_count;
  fewest_free_ += idle_count;
  lock_.Unlock();
  return idle_count;
}

}  // namespace gx::inject
