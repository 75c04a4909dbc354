#include "inject/activity_buffers.h"

#include <sys/mman.h>

#include <algorithm>

namespace gx::inject {

bool ActivityBuffers::Allocate(uint64_t budget_bytes) noexcept {
  const uint64_t count = std::clamp<uint64_t>(budget_bytes / kBufferBytes, 4, kMaxBuffers);
  void* memory =
      mmap(nullptr, count * kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<uint8_t*>(memory);
  count_ = static_cast<uint32_t>(count);
  // The lowest buffer is handed out first and given out again first: a program that needs few touches few.
  for (uint32_t i = 0; i < count_; ++i) free_[i] = memory_ + (count_ - 1 - i) * kBufferBytes;
  free_count_ = count_;
  return true;
}

uint8_t* ActivityBuffers::Take(bool recycle_oldest, CompletedBuffer* discarded) noexcept {
  *discarded = {};
  if (!lock_.TryLock()) return nullptr;
  uint8_t* buffer = nullptr;
  if (free_count_ != 0) {
    buffer = free_[--free_count_];
  } else if (recycle_oldest && queue_size_ != 0) {
    *discarded = queue_[queue_begin_];
    queue_begin_ = (queue_begin_ + 1) % kMaxBuffers;
    --queue_size_;
    buffer = discarded->data;
  }
  lock_.Unlock();
  if (buffer != nullptr) lent_.fetch_add(1, std::memory_order_relaxed);
  return buffer;
}

bool ActivityBuffers::IsOurs(const uint8_t* data) const noexcept {
  return data >= memory_ && data < memory_ + uint64_t{count_} * kBufferBytes &&
         (data - memory_) % static_cast<ptrdiff_t>(kBufferBytes) == 0;
}

bool ActivityBuffers::Complete(const CompletedBuffer& buffer) noexcept {
  if (!IsOurs(buffer.data)) return false;
  // Its holder is only another callback or the writer: unless that thread is stopped for good, it goes on.
  if (!lock_.TryLock()) return false;
  const bool room = queue_size_ < count_;  // Always, unless a buffer came back twice.
  if (room) {
    queue_[(queue_begin_ + queue_size_) % kMaxBuffers] = buffer;
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
    queue_begin_ = (queue_begin_ + 1) % kMaxBuffers;
    --queue_size_;
  }
  lock_.Unlock();
  return any;
}

void ActivityBuffers::Release(uint8_t* data) noexcept {
  if (!IsOurs(data)) return;
  // Not had: the buffer is never lent again.
  if (!lock_.TryLock()) return;
  if (free_count_ < count_) free_[free_count_++] = data;
  lock_.Unlock();
}

}  // namespace gx::inject
