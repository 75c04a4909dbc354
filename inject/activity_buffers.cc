#include "inject/activity_buffers.h"

#include <sys/mman.h>

#include <algorithm>
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

}  // namespace gx::inject
