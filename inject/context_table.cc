#include "inject/context_table.h"

namespace gx::inject {
namespace {

uint64_t Tag(uint32_t context_id) noexcept { return uint64_t{context_id} + 1; }

}  // namespace

void ContextTable::Add(uint32_t context_id, uint32_t device_id, void* context) noexcept {
  // In a ring, so that the entry that was freed longest ago comes first; living ones are passed over.
  uint32_t at = next_.fetch_add(1, std::memory_order_relaxed) % kSize;
  for (uint32_t i = 0; i < kSize && entries_[at].context.load(std::memory_order_acquire) != nullptr; ++i) {
    at = next_.fetch_add(1, std::memory_order_relaxed) % kSize;
  }
  entries_[at].id_and_device.store(Tag(context_id) << 32 | device_id, std::memory_order_release);
  entries_[at].context.store(context, std::memory_order_release);
}

void ContextTable::Remove(uint32_t context_id) noexcept {
  for (Entry& entry : entries_) {
    if (entry.id_and_device.load(std::memory_order_acquire) >> 32 == Tag(context_id)) {
      entry.context.store(nullptr, std::memory_order_release);
    }
  }
}

bool ContextTable::Device(uint32_t context_id, uint32_t* device_id) const noexcept {
  for (const Entry& entry : entries_) {
    const uint64_t value = entry.id_and_device.load(std::memory_order_acquire);
    if (value >> 32 != Tag(context_id)) continue;
    *device_id = static_cast<uint32_t>(value);
    return true;
  }
  return false;
}

void* ContextTable::Living(uint32_t context_id) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.id_and_device.load(std::memory_order_acquire) >> 32 == Tag(context_id)) {
      return entry.context.load(std::memory_order_acquire);
    }
  }
  return nullptr;
}

bool ContextTable::IsLiving(const void* context) const noexcept {
  for (const Entry& entry : entries_) {
    if (context != nullptr && entry.context.load(std::memory_order_acquire) == context) return true;
  }
  return false;
}

}  // namespace gx::inject
