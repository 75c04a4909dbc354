// Which activity kinds are on, and whether launches are recorded now: windows of the trace. Switched by the flusher
// thread (GPUEXEC_START_AFTER, GPUEXEC_DURATION) or by the program's own cudaProfilerStart and Stop.
#ifndef GPUEXEC_INJECT_RECORDING_H_
#define GPUEXEC_INJECT_RECORDING_H_

#include <atomic>
#include <cstdint>

#include "inject/cupti_api.h"
#include "inject/spin_lock.h"
#include "inject/writer.h"

namespace gx::inject {

class Recording {
 public:
  void Attach(const CuptiApi* cupti, Writer* writer, bool timing) noexcept {
    cupti_ = cupti;
    writer_ = writer;
    timing_ = timing;
  }
  // [MT] Opens or closes a window; nothing where it is so already. Takes about 10 us a kind.
  void Switch(bool on);
  // The present window; 0: nothing is recorded.
  const std::atomic<uint32_t>& window_id() const noexcept { return window_id_; }

 private:
  void EnableKinds();
  void DisableKinds();

  const CuptiApi* cupti_ = nullptr;
  Writer* writer_ = nullptr;
  bool timing_ = true;
  std::atomic<bool> switching_{false};
  bool on_ = false;
  bool any_window_ = false;
  uint32_t enabled_mask_ = 0;
  uint32_t last_window_id_ = 0;
  WindowRecord window_;
  std::atomic<uint32_t> window_id_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_RECORDING_H_
