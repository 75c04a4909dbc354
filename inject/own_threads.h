// Which threads of the process are gpuexec's: what CUPTI records of their calls is not the program's.
#ifndef GPUEXEC_INJECT_OWN_THREADS_H_
#define GPUEXEC_INJECT_OWN_THREADS_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace gx::inject {

class OwnThreads {
 public:
  // [MT] A thread of ours, by the system's number, before its first call of CUDA. There are fewer than places.
  void Add(uint32_t thread_id) noexcept {
    for (std::atomic<uint32_t>& place : places_) {
      uint32_t free = 0;
      if (place.compare_exchange_strong(free, thread_id, std::memory_order_release)) return;
    }
  }
  // [MT]
  bool Has(uint64_t thread_id) const noexcept {
    for (const std::atomic<uint32_t>& place : places_) {
      const uint32_t held = place.load(std::memory_order_acquire);
      if (held == 0) return false;
      if (held == thread_id) return true;
    }
    return false;
  }

 private:
  std::array<std::atomic<uint32_t>, 16> places_{};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_OWN_THREADS_H_
