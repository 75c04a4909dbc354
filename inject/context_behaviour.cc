#include "inject/context_behaviour.h"

namespace gx::inject {
namespace {

// An entry that is being emptied: no context has this address.
const char kTaken = 0;

}  // namespace

void ContextBehaviour::Note(const void* context, ContextTrait trait) noexcept {
  const auto bit = static_cast<uint8_t>(trait);
  if (context != nullptr) {
    for (Entry& entry : entries_) {
      const void* expected = nullptr;
      if (entry.context.load(std::memory_order_acquire) == context ||
          entry.context.compare_exchange_strong(expected, context, std::memory_order_acq_rel) || expected == context) {
        entry.traits.fetch_or(bit, std::memory_order_acq_rel);
        return;
      }
    }
  }
  process_.fetch_or(bit, std::memory_order_acq_rel);
}

void ContextBehaviour::Forget(const void* context) noexcept {
  if (context == nullptr) return;
  for (Entry& entry : entries_) {
    const void* expected = context;
    if (!entry.context.compare_exchange_strong(expected, &kTaken, std::memory_order_acq_rel)) continue;
    entry.traits.store(0, std::memory_order_relaxed);
    entry.context.store(nullptr, std::memory_order_release);
  }
}

LaunchBehaviour ContextBehaviour::Of(const void* context) const noexcept {
  uint8_t traits = process_.load(std::memory_order_acquire);
  if (context != nullptr) {
    // A context may have two entries, of threads that noted it at once.
    for (const Entry& entry : entries_) {
      if (entry.context.load(std::memory_order_acquire) == context) {
        traits |= entry.traits.load(std::memory_order_acquire);
      }
    }
  }
  const auto has = [traits](ContextTrait trait) { return (traits & static_cast<uint8_t>(trait)) != 0; };
  LaunchBehaviour behaviour;
  behaviour.peer_access = has(ContextTrait::kPeerAccess);
  behaviour.ipc_memory = has(ContextTrait::kIpcMemory);
  behaviour.symmetric_heap = has(ContextTrait::kSymmetricHeap);
  behaviour.green_context = has(ContextTrait::kGreenContext);
  return behaviour;
}

}  // namespace gx::inject
