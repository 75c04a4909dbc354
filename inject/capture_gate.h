// Keeps counter work away from stream captures: while any capture is open in the process nothing of ours may call CUDA
// or CUPTI in a way that could disturb it (an illegal call of another thread invalidates a capture in the global mode).
// Captures are counted from the callbacks of their begin and end.
//
// A piece of counter work (a range, a start or stop of a session) enters and leaves; a capture that begins meanwhile is
// told so, and its thread waits in the callback, bounded, until the work has left:
//
//   if (gate.Begin(key)) WaitUntil([&] { return !gate.busy(); }, kCaptureWaitNs);   // on entry of cuStreamBeginCapture
//
// Every function is [MT], lock-free and without allocation.
#ifndef GPUEXEC_INJECT_CAPTURE_GATE_H_
#define GPUEXEC_INJECT_CAPTURE_GATE_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "inject/clock.h"

namespace gx::inject {

// How long a capture that begins waits. A change of groups takes 0.3 s for each session; a range looks at captures and
// is gone before (launch_sampler.h); what takes longer says so (WaitLonger).
inline constexpr uint64_t kCaptureWaitNs = 1'000'000'000;

class CaptureGate {
 public:
  // Captures that are open at a time; more close the gate until all are over and ForgetAll is called.
  static constexpr uint32_t kSize = 128;

  // Names a stream: handles are told apart by context, and those that every thread has its own stream for
  // (CU_STREAM_PER_THREAD) by thread. Never 0. Pure.
  static uint64_t StreamKey(const void* context, const void* stream, uint64_t thread_of_per_thread_stream) noexcept;

  // ---------------------------------------------------------------------------------------- the program's captures
  // Before the driver begins the capture. True: counter work is under way, wait for it (bounded) before
  // returning.
  bool Begin(uint64_t stream, uint64_t now_ns = MonotonicNs()) noexcept;
  // The driver refused to begin it, or it has ended: by cuStreamEndCapture, whether that succeeded or found the capture
  // invalidated. Not to be called where the driver says that the capture goes on
  // (CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD).
  void End(uint64_t stream) noexcept;
  // From now on no capture is told to wait: the work under way may never leave.
  void StopWaiting() noexcept { waits_.store(false, std::memory_order_relaxed); }
  // A stream is about to be destroyed: a capture on it has no other end. Nothing where it had none.
  void StreamDestroyed(uint64_t stream) noexcept { End(stream); }
  // The device was reset, or the last context is gone: no capture can be open.
  void ForgetAll() noexcept;

  // ---------------------------------------------------------------------------------------------- our work
  // True: no capture is open; one that begins from now on waits until Leave.
  [[nodiscard]] bool Enter() noexcept;
  void Leave() noexcept { busy_.fetch_sub(1, std::memory_order_seq_cst); }
  // Inside: a capture that begins from now on waits for `ns`, if that is longer than usual. 0: as usual again.
  void WaitLonger(uint64_t ns) noexcept { longer_wait_ns_.store(ns, std::memory_order_relaxed); }
  uint64_t longer_wait_ns() const noexcept { return longer_wait_ns_.load(std::memory_order_relaxed); }
  // For how long a capture has been open, or waiting for us; 0: none is. Never too short.
  uint64_t OpenForNs(uint64_t now_ns) const noexcept;

  bool is_open() const noexcept { return captures_.load(std::memory_order_seq_cst) == 0; }
  bool busy() const noexcept { return busy_.load(std::memory_order_seq_cst) != 0; }
  int32_t captures() const noexcept { return captures_.load(std::memory_order_relaxed); }
  // Captures that began while counter work was under way, and those that found no place.
  uint32_t met_work() const noexcept { return met_work_.load(std::memory_order_relaxed); }
  uint32_t untracked() const noexcept { return untracked_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<uint64_t>, kSize> open_ = {};
  std::atomic<int32_t> captures_{0};
  std::atomic<int32_t> busy_{0};
  std::atomic<uint64_t> first_begin_ns_{0};  // Of those that are open.
  std::atomic<uint64_t> longer_wait_ns_{0};
  std::atomic<bool> waits_{true};
  std::atomic<uint32_t> met_work_{0};
  std::atomic<uint32_t> untracked_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CAPTURE_GATE_H_
