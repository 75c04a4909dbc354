// Objects that others may still use when nobody of ours does any more: CUPTI writes to the image of a session that was
// left open, a launch callback may look at its state. They stay until the process ends, and stay reachable, so that no
// leak checker takes them for lost.
#ifndef GPUEXEC_INJECT_KEEP_ALIVE_H_
#define GPUEXEC_INJECT_KEEP_ALIVE_H_

#include <atomic>
#include <memory>
#include <new>

namespace gx::inject {

// [MT] Never destroyed. Nothing for null.
template <typename Object>
void KeepAlive(std::unique_ptr<Object> object) noexcept {
  struct Node {
    Object* object;
    Node* next;
  };
  static std::atomic<Node*> kept{nullptr};
  if (object == nullptr) return;
  Object* const raw = object.release();
  auto* node = new (std::nothrow) Node{raw, nullptr};
  if (node == nullptr) return;  // Kept all the same.
  node->next = kept.load(std::memory_order_relaxed);
  while (!kept.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_KEEP_ALIVE_H_
