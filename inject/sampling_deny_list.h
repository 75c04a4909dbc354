// Which functions are never sampled. A range around a launch waits for it, and makes others wait: a kernel that itself
// waits for a peer (collectives, communication kernels) would then wait for ever. Three sources: names, behaviour, and
// what happened when a launch was sampled.
//
// A name is looked at once per function; a launch asks with one relaxed load. Names are matched as CUPTI gives them,
// mangled: a pattern holds where it matches the whole name or one of the identifiers in it, so that "nccl*" finds
// ncclDevKernel_Generic in _Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE. Letter case is ignored.
//
// Sources of the names: README.md, "How launches are sampled".
#ifndef GPUEXEC_INJECT_SAMPLING_DENY_LIST_H_
#define GPUEXEC_INJECT_SAMPLING_DENY_LIST_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gx::inject {

enum class DenyReason : uint8_t {
  kNone,
  kName,           // A communication kernel by the built-in list.
  kUserPattern,    // GPUEXEC_COUNTERS_DENY.
  kCooperative,    // Its blocks wait for each other.
  kPeerAccess,     // The context may read or write the memory of another device.
  kIpcMemory,      // Memory of another process is mapped in the context.
  kSymmetricHeap,  // A multicast object or a symmetric heap is mapped in the context.
  kGreenContext,   // The process has made one, which CUPTI cannot count in (cupti_traps.h).
  kDeadline,       // A sampled launch did not end in time: it may have waited for something that the range held back.
  kTableFull,      // What cannot be remembered must not be tried.
};

std::string_view DenyReasonName(DenyReason reason);

// What a launch and its context show, name aside.
struct LaunchBehaviour {
  bool cooperative = false;
  bool peer_access = false;
  bool ipc_memory = false;
  bool symmetric_heap = false;
  bool green_context = false;
};

// The first reason that holds; kNone: by its behaviour it may be sampled. Pure.
constexpr DenyReason DenyByBehaviour(const LaunchBehaviour& behaviour) noexcept {
  if (behaviour.cooperative) return DenyReason::kCooperative;
  if (behaviour.symmetric_heap) return DenyReason::kSymmetricHeap;
  if (behaviour.ipc_memory) return DenyReason::kIpcMemory;
  if (behaviour.peer_access) return DenyReason::kPeerAccess;
  if (behaviour.green_context) return DenyReason::kGreenContext;
  return DenyReason::kNone;
}

// "*" stands for any number of characters, "?" for one; letter case is ignored. Time is the product of the lengths at
// most. Pure.
bool MatchesGlob(std::string_view glob, std::string_view text) noexcept;
// The whole name, or one of the identifiers of a mangled one (length, then so many characters). Pure.
bool MatchesFunction(std::string_view glob, std::string_view mangled_name) noexcept;

// The globs that are always in force.
std::span<const std::string_view> CommunicationKernelGlobs();

class SamplingDenyList {
 public:
  // After so many missed deadlines in a process the fault is not with the functions.
  static constexpr uint32_t kMaxMissedDeadlines = 64;
  // Of a name that are looked at: what a kernel is stands at the front, and a launch waits for the answer (some 30 us
  // for a usual name, 3 ms for this much).
  static constexpr size_t kMaxNameBytes = 16 * 1024;

  // Not called inside a callback. `functions`: one more than the largest index of a function (function_table.h).
  // False: no memory; then every function is denied.
  [[nodiscard]] bool Allocate(uint32_t functions, std::vector<std::string> user_globs);

  // [MT] Whether the function is known already; `reason` then says whether it may be sampled.
  bool Find(uint32_t function, DenyReason* reason) const noexcept;
  // [MT] Looks at the name, once per function; later calls answer as the first. `code_hash` may be 0. No allocation.
  DenyReason Decide(uint32_t function, std::string_view mangled_name, uint64_t code_hash) noexcept;
  // [MT] For good, also for the same code under an index that is seen later (its module was loaded again). A function
  // that was denied before keeps its reason.
  void Deny(uint32_t function, std::string_view mangled_name, uint64_t code_hash, DenyReason reason) noexcept;
  // [MT] The glob that denies a name, for the trace; "" for none.
  std::string_view MatchingGlob(std::string_view mangled_name) const noexcept;
  // [MT] Too many functions missed their deadline: sampling should end.
  bool exhausted() const noexcept { return missed_.load(std::memory_order_relaxed) >= kMaxMissedDeadlines; }

 private:
  DenyReason ByName(std::string_view mangled_name, std::string_view* glob) const noexcept;
  DenyReason ByIdentity(uint64_t identity) const noexcept;

  struct Missed {
    std::atomic<uint64_t> identity{0};  // 0: free.
    std::atomic<uint8_t> reason{0};
  };

  std::vector<std::string> user_globs_;
  // 0: not looked at; else 1 + DenyReason.
  std::unique_ptr<std::atomic<uint8_t>[]> functions_;
  uint32_t function_count_ = 0;
  // What was denied after it had been allowed, by name and code.
  Missed denied_[kMaxMissedDeadlines];
  std::atomic<uint32_t> missed_{0};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SAMPLING_DENY_LIST_H_
