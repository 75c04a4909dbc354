// The contexts of the process, by CUPTI's id: which device each is on, and whether it lives. Filled in callbacks, read
// by every thread, lock-free, of fixed size.
#ifndef GPUEXEC_INJECT_CONTEXT_TABLE_H_
#define GPUEXEC_INJECT_CONTEXT_TABLE_H_

#include <atomic>
#include <cstdint>

namespace gx::inject {

// A call that may destroy a context: its name, or the device whose primary context it is; neither: any.
struct ContextEnd {
  const void* context = nullptr;
  int device = -1;
};

class ContextTable {
 public:
  static constexpr uint32_t kSize = 256;

  // [MT] A destroyed context's entry is used again before a living one's is lost: that happens only with more than
  // kSize living contexts.
  void Add(uint32_t context_id, uint32_t device_id, void* context) noexcept;
  // [MT] The context is about to go. Device() goes on answering for a while: its launches may still be queued.
  void Remove(uint32_t context_id) noexcept;
  // [MT] False: not known.
  bool Device(uint32_t context_id, uint32_t* device_id) const noexcept;
  // [MT] The CUcontext of an id; null: it does not live.
  void* Living(uint32_t context_id) const noexcept;
  bool IsLiving(const void* context) const noexcept;
  // Calls visit(CUcontext) for every context that lives.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const Entry& entry : entries_) {
      void* context = entry.context.load(std::memory_order_acquire);
      if (context != nullptr) visit(context);
    }
  }
  // Calls visit(context id, device id, CUcontext) for every context that lives.
  template <typename Visit>
  void ForEachId(Visit&& visit) const {
    for (const Entry& entry : entries_) {
      void* context = entry.context.load(std::memory_order_acquire);
      const uint64_t value = entry.id_and_device.load(std::memory_order_acquire);
      if (context != nullptr) visit(static_cast<uint32_t>((value >> 32) - 1), static_cast<uint32_t>(value), context);
    }
  }

 private:
  struct Entry {
    std::atomic<uint64_t> id_and_device{0};  // (context id + 1) << 32 | device id; 0: free.
    std::atomic<void*> context{nullptr};     // CUcontext; null: destroyed.
  };
  Entry entries_[kSize];
  std::atomic<uint32_t> next_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CONTEXT_TABLE_H_
