// What contexts were seen doing that makes their kernels possible waiters for other devices or processes, or not to be
// counted (sampling_deny_list.h). Nothing is taken back before the context goes: memory may stay mapped where its
// unmapping was seen. [MT], lock-free, of fixed size; what cannot be kept of a context holds for all.
#ifndef GPUEXEC_INJECT_CONTEXT_BEHAVIOUR_H_
#define GPUEXEC_INJECT_CONTEXT_BEHAVIOUR_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "inject/sampling_deny_list.h"

namespace gx::inject {

enum class ContextTrait : uint8_t {
  kPeerAccess = 1,     // May read or write the memory of another device.
  kIpcMemory = 2,      // Shares memory with another process, in either direction.
  kSymmetricHeap = 4,  // A multicast object is mapped.
  kGreenContext = 8,   // The process has made one, and CUPTI cannot count there.
};

class ContextBehaviour {
 public:
  static constexpr uint32_t kContexts = 64;

  // `context` null: the call does not say which, so all of the process, for good.
  void Note(const void* context, ContextTrait trait) noexcept;
  // The context is about to be destroyed. What holds for the process stays.
  void Forget(const void* context) noexcept;
  // `cooperative` is a launch's own and stays false.
  LaunchBehaviour Of(const void* context) const noexcept;

 private:
  struct Entry {
    std::atomic<const void*> context{nullptr};  // Null: free.
    std::atomic<uint8_t> traits{0};
  };
  std::array<Entry, kContexts> entries_;
  std::atomic<uint8_t> process_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CONTEXT_BEHAVIOUR_H_
