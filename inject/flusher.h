// A thread of ours that asks CUPTI for finished buffers while the program runs, reads the clocks once a second, and
// opens and closes windows at set times. It exists because cuptiActivityFlushAll may take long: neither the program nor
// the writer waits for it.
#ifndef GPUEXEC_INJECT_FLUSHER_H_
#define GPUEXEC_INJECT_FLUSHER_H_

#include <atomic>
#include <cstdint>

#include "inject/activity_buffers.h"
#include "inject/callback_router.h"
#include "inject/config.h"
#include "inject/cuda_api.h"
#include "inject/futex.h"
#include "inject/recording.h"
#include "inject/writer.h"

namespace gx::inject {

class Flusher {
 public:
  struct Parts {
    const Config* config = nullptr;
    const CuptiApi* cupti = nullptr;
    const CudaApi* cuda = nullptr;
    const ContextTable* contexts = nullptr;
    ProbeGate* gate = nullptr;
    ActivityBuffers* buffers = nullptr;
    Recording* recording = nullptr;
    Writer* writer = nullptr;
    uint64_t start_monotonic_ns = 0;
    // Called about ten times a second; null: nothing.
    void (*tick)() = nullptr;
  };
  void Attach(const Parts& parts) { parts_ = parts; }

  // The thread's body: returns after the last flush, once Finish was called.
  void Run();
  // [MT] Asks for the end: waits for the device where kernels are still owed, then flushes everything.
  void Finish() noexcept;
  // The device was waited for (or nothing was owed); the forced flush has begun.
  bool device_idle() const noexcept { return device_idle_.load(std::memory_order_acquire); }
  bool flushed() const noexcept { return flushed_.load(std::memory_order_acquire); }
  // [MT] The wait for the device ran out: do not wait for it, flush what there is.
  void StopWaiting() noexcept;
  // The forced flush, also when the thread still waits for the device: called by the ending thread then. `all_ended`:
  // the device is known to be idle.
  void ForcedFlush(bool all_ended = false) noexcept;

 private:
  void Flush(uint32_t flag) noexcept;
  void SwitchWindows(uint64_t now_ns);
  bool KernelsOwed() const noexcept;

  Parts parts_;
  Pulse wake_;
  std::atomic<bool> finish_{false};
  std::atomic<bool> give_up_{false};
  std::atomic<bool> device_idle_{false};
  std::atomic<bool> flushed_{false};
  bool duration_over_ = false;
  bool started_ = false;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_FLUSHER_H_
