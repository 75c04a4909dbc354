// Keeps our own driver calls (function attributes, occupancy) away from the moments in which they could do harm: while
// a module or context is being torn down (a handle could die under the call) and while a stream capture is open (a
// driver call of another thread can invalidate a capture in the global mode).
//
// The host's side runs inside callbacks of its own call, holds nothing, and waits for a bounded time only; the prober's
// side never starts a call while the gate is shut.
#ifndef GPUEXEC_INJECT_PROBE_GATE_H_
#define GPUEXEC_INJECT_PROBE_GATE_H_

#include <atomic>
#include <cstdint>

#include "inject/futex.h"

namespace gx::inject {

class ProbeGate {
 public:
  // [host] Shuts the gate (it counts: shut as often as opened) and waits until no call of ours is under way. False: the
  // wait ran out; the gate is shut all the same.
  bool Shut(uint64_t timeout_ns) noexcept {
    shut_.fetch_add(1, std::memory_order_seq_cst);
    return WaitUntil([this] { return busy_.load(std::memory_order_seq_cst) == 0; }, timeout_ns);
  }
  void Open() noexcept {
    int32_t now = shut_.load(std::memory_order_relaxed);
    while (now > 0 && !shut_.compare_exchange_weak(now, now - 1, std::memory_order_seq_cst)) {
    }
  }

  // [prober] True: the gate is open, and Shut will wait until Leave.
  [[nodiscard]] bool Enter() noexcept {
    busy_.fetch_add(1, std::memory_order_seq_cst);
    if (shut_.load(std::memory_order_seq_cst) == 0) return true;
    Leave();
    return false;
  }
  void Leave() noexcept { busy_.fetch_sub(1, std::memory_order_seq_cst); }

  bool is_shut() const noexcept { return shut_.load(std::memory_order_seq_cst) != 0; }

 private:
  std::atomic<int32_t> shut_{0};
  std::atomic<int32_t> busy_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_PROBE_GATE_H_
