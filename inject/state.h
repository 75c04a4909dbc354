// What the library is doing in this process, readable from any callback with one relaxed load.
#ifndef GPUEXEC_INJECT_STATE_H_
#define GPUEXEC_INJECT_STATE_H_

#include <atomic>
#include <cstdint>

namespace gx::inject {

enum class State : uint32_t {
  // Not initialised: CUDA has not been (or was told not to). NVTX events may already be queued.
  kOff = 0,
  kStarting = 1,
  kCapturing = 2,
  // The process is ending; records are being written.
  kDraining = 3,
  // Switched off for good: by a fault of ours, by a refusal, or at the end.
  kDisabled = 4,
  // A forked child of a process that was capturing: owns nothing, records nothing.
  kForked = 5,
};

extern std::atomic<State> g_state;

inline bool Capturing() noexcept { return g_state.load(std::memory_order_relaxed) == State::kCapturing; }

// [MT] Ends capturing for good; the writer notices and writes what there is.
inline void DisableCapture() noexcept {
  State expected = State::kCapturing;
  if (!g_state.compare_exchange_strong(expected, State::kDisabled)) {
    expected = State::kStarting;
    g_state.compare_exchange_strong(expected, State::kDisabled);
  }
}

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_STATE_H_
