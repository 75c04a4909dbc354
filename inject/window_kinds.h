// The kind of each window by its number, as launches name it. Set by whoever opens windows, before the first launch can
// see the number; read by the writer, which may read that launch before it hears of the window. [MT], lock-free, of
// fixed size: the last kSize windows are known.
#ifndef GPUEXEC_INJECT_WINDOW_KINDS_H_
#define GPUEXEC_INJECT_WINDOW_KINDS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "inject/record.h"

namespace gx::inject {

class WindowKinds {
 public:
  // A program that switches a region around every kernel opens some 300 in the time that the writer sleeps.
  static constexpr uint32_t kSize = 4096;

  void Set(uint32_t window_id, WindowKind kind) noexcept {
    windows_[window_id % kSize].store(uint64_t{window_id} << 32 | static_cast<uint32_t>(kind),
                                      std::memory_order_release);
  }
  // kTiming where it is not known (any more): counter windows are few and long.
  WindowKind Find(uint32_t window_id) const noexcept {
    const uint64_t window = windows_[window_id % kSize].load(std::memory_order_acquire);
    return window >> 32 == window_id && window != 0 ? static_cast<WindowKind>(static_cast<uint32_t>(window))
                                                    : WindowKind::kTiming;
  }

 private:
  std::array<std::atomic<uint64_t>, kSize> windows_ = {};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_WINDOW_KINDS_H_
