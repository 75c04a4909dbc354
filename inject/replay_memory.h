// Whether kernel replay could put back everything that a launch may have written. Replay saves and restores device
// memory of the context that was allocated in the usual ways; what a kernel writes elsewhere stays written once per
// pass. Flags are never taken back: which allocation a kernel writes to is not known. [MT], lock-free.
#ifndef GPUEXEC_INJECT_REPLAY_MEMORY_H_
#define GPUEXEC_INJECT_REPLAY_MEMORY_H_

#include <atomic>
#include <cstdint>

namespace gx::inject {

enum class ReplayObstacle : uint8_t {
  kManaged = 1,     // cuMemAllocManaged, __managed__ variables.
  kHostMapped = 2,  // Pinned or registered host memory: with unified addressing every kernel may write it.
  kIpc = 4,         // Memory shared with another process or API.
  kPool = 8,        // Stream-ordered allocations.
  kPeer = 16,       // Memory of another device.
  kUnknown = 32,    // Something else that a kernel may write, or calls that could not be followed.
};

class ReplayMemory {
 public:
  void Note(ReplayObstacle obstacle) noexcept {
    obstacles_.fetch_or(static_cast<uint8_t>(obstacle), std::memory_order_acq_rel);
  }
  bool Has(ReplayObstacle obstacle) const noexcept {
    return (obstacles_.load(std::memory_order_acquire) & static_cast<uint8_t>(obstacle)) != 0;
  }
  // `used_bytes`: of device memory, all of which may have to be saved; 0: not known. False: `why` (may be null) is the
  // reason, in static storage: the first that holds.
  bool MayReplay(uint64_t used_bytes, uint64_t limit_bytes, const char** why) const noexcept;

 private:
  std::atomic<uint8_t> obstacles_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_REPLAY_MEMORY_H_
