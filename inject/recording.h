// Which activity kinds are on, and whether launches are recorded now: windows of the trace. A region is switched by the
// flusher thread (GPUEXEC_START_AFTER, GPUEXEC_DURATION) or by the program's own cudaProfilerStart and Stop; inside it
// the sampler changes between timing and counter windows.
//
// In a counter window every activity kind is off. Kernel records instrument kernels: 32 % more instructions (measured,
// CUPTI 13.0 on an H200). What records of copies, memsets and synchronisation do to counters was not measured, so they
// are off as well, and with them what CUPTI says of its own overhead, which is about those records.
//
// Calls of the runtime and driver are recorded only where they are asked for: with both kinds a launch took 6.8 us in
// place of 4.5 (measured before this was written, on an H200). The overhead kind is on only where it is asked for: it
// adds 0.1 to 0.3 us to every launch (CUPTI 13.0 on an H200, tests/bench/README.md), a fifth of what timing costs
// altogether, for some hundred records a run.
#ifndef GPUEXEC_INJECT_RECORDING_H_
#define GPUEXEC_INJECT_RECORDING_H_

#include <atomic>
#include <cstdint>

#include "inject/activity_buffers.h"
#include "inject/cupti_api.h"
#include "inject/spin_lock.h"
#include "inject/writer.h"

namespace gx::inject {

class Recording {
 public:
  struct Kinds {
    bool timing = true;
    // Calls of the runtime and the driver; what CUPTI says of its own overhead. Nothing of both without timing.
    bool api = false;
    bool overhead = false;
  };
  // `buffers` may be null: then a change to counters does not ask CUPTI for the records of the window that ends.
  void Attach(const CuptiApi* cupti, Writer* writer, Kinds kinds, const ActivityBuffers* buffers = nullptr) noexcept {
    cupti_ = cupti;
    writer_ = writer;
    timing_ = kinds.timing;
    api_ = kinds.api;
    overhead_ = kinds.overhead;
    buffers_ = buffers;
  }
  // [MT] Opens or closes the region: on is a timing window, off ends whatever window is open. Nothing where it is so
  // already. Takes about 10 us a kind. While another thread switches, that one does it, right after: the last wish
  // holds.
  void Switch(bool on);
  // [MT] Inside the region: from a timing window to a counter window, or back. Meant to be called while the device is
  // idle and launches are held back. To counters: CUPTI is asked for the records of the kernels that have ended, then
  // all kinds are switched off, so that nothing of them is left for the next window. False: nothing was done, because
  // the present window is not of the kind `from` (the region was switched meanwhile), another switch is under way, or
  // one of the two is kOff.
  bool SwitchTo(WindowKind from, WindowKind to);
  // [MT] The present window; 0: nothing is recorded.
  const std::atomic<uint32_t>& window_id() const noexcept { return window_id_; }
  // [MT] Its kind; kOff before the first one.
  WindowKind window_kind() const noexcept { return kind_.load(std::memory_order_acquire); }

 private:
  // `kind`: a CUpti_ActivityKind.
  bool IsWanted(uint32_t kind) const noexcept;
  void EnableKinds();
  void DisableKinds();
  void ReplaceWindow(WindowKind kind);
  void FollowWishes();

  const CuptiApi* cupti_ = nullptr;
  Writer* writer_ = nullptr;
  const ActivityBuffers* buffers_ = nullptr;
  bool timing_ = true;
  bool api_ = false;
  bool overhead_ = false;
  enum class Wish : uint32_t { kNone, kOn, kOff };
  std::atomic<Wish> wish_{Wish::kNone};
  std::atomic<bool> switching_{false};
  // Whoever has set `switching_` alone:
  bool any_window_ = false;
  uint32_t enabled_mask_ = 0;
  uint32_t last_window_id_ = 0;
  WindowRecord window_;
  std::atomic<WindowKind> kind_{WindowKind::kOff};
  std::atomic<uint32_t> window_id_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_RECORDING_H_
