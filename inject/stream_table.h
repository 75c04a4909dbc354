// The streams of each context, by handle, so that all of them can be asked whether they are idle. Filled in callbacks
// (stream created, about to be destroyed; threads that use their own default stream), read by any thread, lock-free, of
// fixed size: a context with more streams than fit is marked, and never sampled.
#ifndef GPUEXEC_INJECT_STREAM_TABLE_H_
#define GPUEXEC_INJECT_STREAM_TABLE_H_

#include <atomic>
#include <cstdint>

namespace gx::inject {

class StreamTable {
 public:
  static constexpr uint32_t kSize = 1024;  // Living streams of the process.

  // [MT]
  void Add(const void* context, void* stream) noexcept;
  void Remove(const void* context, void* stream) noexcept;
  void RemoveContext(const void* context) noexcept;
  // [MT] Some stream found no place: idle is not known any more, of any context.
  bool overflowed() const noexcept { return overflowed_.load(std::memory_order_acquire); }
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

 private:
  struct Entry {
    std::atomic<const void*> context{nullptr};  // Null: free.
    std::atomic<void*> stream{nullptr};
  };
  Entry entries_[kSize];
  std::atomic<uint32_t> used_{0};
  std::atomic<bool> overflowed_{false};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_STREAM_TABLE_H_
