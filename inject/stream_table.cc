#include "inject/stream_table.h"

#include <iterator>

namespace gx::inject {
namespace {

// An entry that is being filled or emptied: no context has this address.
const char kTaken = 0;

// Null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD.
bool IsDefaultStream(const void* stream) noexcept { return reinterpret_cast<uintptr_t>(stream) <= 2; }

void RaiseTo(std::atomic<uint32_t>* value, uint32_t least) noexcept {
  uint32_t now = value->load(std::memory_order_relaxed);
  while (now < least && !value->compare_exchange_weak(now, least, std::memory_order_acq_rel)) {
  }
}

}  // namespace

void StreamTable::Add(const void* context, const void* stream) noexcept {
  if (context == nullptr || IsDefaultStream(stream)) return;
  Remove(stream);
  for (uint32_t i = 0; i < kSize; ++i) {
    const void* expected = nullptr;
    if (entries_[i].context.load(std::memory_order_relaxed) != nullptr ||
        !entries_[i].context.compare_exchange_strong(expected, &kTaken, std::memory_order_acq_rel)) {
      continue;
    }
    entries_[i].stream.store(const_cast<void*>(stream), std::memory_order_release);
    entries_[i].context.store(context, std::memory_order_release);
    RaiseTo(&used_, i + 1);
    return;
  }
  overflowed_.store(true, std::memory_order_release);
}

void StreamTable::Remove(const void* stream) noexcept {
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    if (entries_[i].stream.load(std::memory_order_acquire) != stream || stream == nullptr) continue;
    const void* context = entries_[i].context.load(std::memory_order_acquire);
    if (context == nullptr || context == &kTaken ||
        !entries_[i].context.compare_exchange_strong(context, &kTaken, std::memory_order_acq_rel)) {
      continue;  // Somebody else removes it.
    }
    if (entries_[i].stream.load(std::memory_order_acquire) != stream) {
      // It was removed meanwhile, and the entry given to another stream.
      entries_[i].context.store(context, std::memory_order_release);
      continue;
    }
    entries_[i].stream.store(nullptr, std::memory_order_release);
    entries_[i].context.store(nullptr, std::memory_order_release);
  }
}

void StreamTable::RemoveContext(const void* context) noexcept {
  if (context == nullptr) return;
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    const void* expected = context;
    if (!entries_[i].context.compare_exchange_strong(expected, &kTaken, std::memory_order_acq_rel)) continue;
    entries_[i].stream.store(nullptr, std::memory_order_release);
    entries_[i].context.store(nullptr, std::memory_order_release);
  }
  // Its events end with it.
  for (EventEntry& entry : events_) {
    if (entry.context.load(std::memory_order_acquire) != context) continue;
    entry.event.store(nullptr, std::memory_order_release);
    entry.context.store(nullptr, std::memory_order_release);
  }
  for (ContextEntry& entry : contexts_) {
    const void* expected = context;
    if (!entry.context.compare_exchange_strong(expected, &kTaken, std::memory_order_acq_rel)) continue;
    entry.per_thread.store(0, std::memory_order_relaxed);
    entry.left_busy.store(0, std::memory_order_relaxed);
    entry.settled.store(0, std::memory_order_relaxed);
    entry.context.store(nullptr, std::memory_order_release);
  }
}

void StreamTable::NotePerThread(const void* context, uint64_t thread) noexcept {
  ContextEntry* entry = FindOrAdd(context);
  if (entry == nullptr) return;
  if (thread == 0) thread = kSeveral;
  uint64_t owner = entry->per_thread.load(std::memory_order_relaxed);
  if (owner == thread || owner == kSeveral) return;
  // The first thread that comes is the one; a second one makes them several, for good.
  if (owner == 0 && entry->per_thread.compare_exchange_strong(owner, thread, std::memory_order_acq_rel)) return;
  if (owner != thread) entry->per_thread.store(kSeveral, std::memory_order_release);
}

bool StreamTable::KeepEvent(const void* context, void* event) noexcept {
  if (context == nullptr) return false;
  for (EventEntry& entry : events_) {
    if (entry.context.load(std::memory_order_acquire) != nullptr ||
        entry.taken.exchange(true, std::memory_order_acq_rel)) {
      continue;
    }
    const bool is_free = entry.context.load(std::memory_order_acquire) == nullptr;
    if (is_free) {
      entry.event.store(event, std::memory_order_release);
      entry.context.store(context, std::memory_order_release);
    }
    entry.taken.store(false, std::memory_order_release);
    if (is_free) return true;
  }
  return false;
}

void StreamTable::NoteLeftBusy(const void* context) noexcept {
  if (ContextEntry* entry = FindOrAdd(context)) entry->left_busy.fetch_add(1, std::memory_order_acq_rel);
}

uint32_t StreamTable::LeftBusy(const void* context) const noexcept {
  const ContextEntry* entry = Find(context);
  return entry == nullptr ? 0 : entry->left_busy.load(std::memory_order_acquire);
}

void StreamTable::Synchronised(const void* context, uint32_t before) noexcept {
  if (before == 0 || Find(context) == nullptr) return;
  if (ContextEntry* entry = FindOrAdd(context)) RaiseTo(&entry->settled, before);
}

IdleDoubt StreamTable::DoubtOf(const void* context, uint64_t thread) const noexcept {
  if (overflowed_.load(std::memory_order_acquire)) return IdleDoubt::kTableFull;
  if (green_.load(std::memory_order_acquire)) return IdleDoubt::kGreenContext;
  // All entries: two threads that note a context for the first time may make one each while another context goes.
  for (const ContextEntry& entry : contexts_) {
    if (context == nullptr || entry.context.load(std::memory_order_acquire) != context) continue;
    const uint64_t owner = entry.per_thread.load(std::memory_order_acquire);
    if (owner != 0 && owner != thread) return IdleDoubt::kPerThread;
    if (entry.settled.load(std::memory_order_acquire) < entry.left_busy.load(std::memory_order_acquire)) {
      return IdleDoubt::kLeftBusy;
    }
  }
  return IdleDoubt::kNone;
}

bool StreamTable::UsesPerThread(const void* context, uint64_t thread) const noexcept {
  const ContextEntry* entry = Find(context);
  if (entry == nullptr || thread == 0) return false;
  const uint64_t owner = entry->per_thread.load(std::memory_order_acquire);
  return owner == thread || owner == kSeveral;
}

uint32_t StreamTable::Count(const void* context) const noexcept {
  uint32_t count = 0;
  ForEach(context, [&](void*) {
    ++count;
    return true;
  });
  return count;
}

const void* StreamTable::ContextOf(const void* stream) const noexcept {
  if (stream == nullptr) return nullptr;
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    const void* context = entries_[i].context.load(std::memory_order_acquire);
    if (context == nullptr || context == &kTaken) continue;
    if (entries_[i].stream.load(std::memory_order_acquire) == stream) return context;
  }
  return nullptr;
}

const StreamTable::ContextEntry* StreamTable::Find(const void* context) const noexcept {
  if (context == nullptr) return nullptr;
  for (const ContextEntry& entry : contexts_) {
    if (entry.context.load(std::memory_order_acquire) == context) return &entry;
  }
  return nullptr;
}

StreamTable::ContextEntry* StreamTable::FindOrAdd(const void* context) noexcept {
  if (context == nullptr) return nullptr;
  if (const ContextEntry* found = Find(context)) return &contexts_[found - std::begin(contexts_)];
  for (ContextEntry& entry : contexts_) {
    const void* expected = nullptr;
    if (entry.context.compare_exchange_strong(expected, context, std::memory_order_acq_rel) || expected == context) {
      return &entry;
    }
  }
  overflowed_.store(true, std::memory_order_release);
  return nullptr;
}

}  // namespace gx::inject
