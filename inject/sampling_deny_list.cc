#include "inject/sampling_deny_list.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "inject/checksum.h"

namespace gx::inject {
namespace {

// Whole identifiers where there is no star. README.md says where each name was seen.
constexpr auto kCommunicationKernels = std::to_array<std::string_view>({
    // Libraries.
    "nccl*",
    "nvshmem*",
    "*_on_stream_kernel*",  // NVSHMEM's barriers and waits.
    "deep_ep*",
    "mscclpp*",
    "nixl_*",
    "quickreduce*",
    "*userbuffers*",
    "symmetric_memory",
    "*symm_mem*",
    // Collectives by whatever library.
    "*allreduce*",
    "*all_reduce*",
    "*allgather*",
    "*all_gather*",
    "*reducescatter*",
    "*reduce_scatter*",
    "*alltoall*",
    "*all_to_all*",
    "*sendrecv*",
    "*cross_device_reduce*",
    "*oneshot*",
    "*one_shot*",
    "*twoshot*",
    "*two_shot*",
    "*multimem*",
    "*mnnvl*",
    "*lamport*",
    "*put_signal*",
    "*wait_signal*",
    "barrier_kernel*",
    "*multi_gpu_barrier*",
    "exchangeSplit*",
    // Expert parallelism inside one kernel.
    "moeA2A*",
    "*mega_moe*",
    "*megamoe*",
});

constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

uint64_t Identity(std::string_view name, uint64_t code_hash) {
  const uint64_t identity = Checksum(name) ^ (code_hash * 0x9E3779B97F4A7C15u);
  return identity == 0 ? 1 : identity;
}

constexpr uint8_t Stored(DenyReason reason) { return static_cast<uint8_t>(static_cast<uint8_t>(reason) + 1); }
constexpr DenyReason Reason(uint8_t stored) { return static_cast<DenyReason>(stored - 1); }

}  // namespace

std::string_view DenyReasonName(DenyReason reason) {
  switch (reason) {
    case DenyReason::kNone:
      return "none";
    case DenyReason::kName:
      return "communication kernel by name";
    case DenyReason::kUserPattern:
      return "named by GPUEXEC_COUNTERS_DENY";
    case DenyReason::kCooperative:
      return "cooperative launch";
    case DenyReason::kPeerAccess:
      return "peer access enabled in its context";
    case DenyReason::kIpcMemory:
      return "memory of another process mapped in its context";
    case DenyReason::kSymmetricHeap:
      return "symmetric heap mapped in its context";
    case DenyReason::kGreenContext:
      return "green contexts in the process";
    case DenyReason::kDeadline:
      return "a sampled launch did not complete in time";
    case DenyReason::kTableFull:
      return "no room to remember it";
  }
  return "unknown";
}

bool MatchesGlob(std::string_view glob, std::string_view text) noexcept {
  size_t g = 0;
  size_t t = 0;
  // Where to go on when the present try fails: behind the last star, one character further in the text.
  size_t star = std::string_view::npos;
  size_t retry = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      retry = t;
    } else if (g < glob.size() && (glob[g] == '?' || Lower(glob[g]) == Lower(text[t]))) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool MatchesFunction(std::string_view glob, std::string_view mangled_name) noexcept {
  if (MatchesGlob(glob, mangled_name)) return true;
  if (!mangled_name.starts_with("_Z")) return false;
  // It would have matched the whole name if it matched a part of it.
  if (glob.starts_with('*') && glob.ends_with('*')) return false;
  // Every number is tried as the length of an identifier: some are not (template arguments), and what follows those is
  // hardly a name of the list; to jump over one of them could hide a name.
  for (size_t i = 2; i < mangled_name.size();) {
    if (!IsDigit(mangled_name[i])) {
      ++i;
      continue;
    }
    size_t length = 0;
    while (i < mangled_name.size() && IsDigit(mangled_name[i])) {
      length = std::min<size_t>(length * 10 + static_cast<size_t>(mangled_name[i] - '0'), 1u << 20);
      ++i;
    }
    if (length != 0 && length <= mangled_name.size() - i && MatchesGlob(glob, mangled_name.substr(i, length))) {
      return true;
    }
  }
  return false;
}

std::span<const std::string_view> CommunicationKernelGlobs() { return kCommunicationKernels; }

bool SamplingDenyList::Allocate(uint32_t functions, std::vector<std::string> user_globs) {
  user_globs_ = std::move(user_globs);
  functions_.reset(new (std::nothrow) std::atomic<uint8_t>[functions]());
  function_count_ = functions_ == nullptr ? 0 : functions;
  return functions_ != nullptr;
}

bool SamplingDenyList::Find(uint32_t function, DenyReason* reason) const noexcept {
  if (function == 0 || function >= function_count_) {
    *reason = DenyReason::kTableFull;
    return true;
  }
  const uint8_t stored = functions_[function].load(std::memory_order_relaxed);
  if (stored == 0) return false;
  *reason = Reason(stored);
  return true;
}

DenyReason SamplingDenyList::Decide(uint32_t function, std::string_view mangled_name, uint64_t code_hash) noexcept {
  DenyReason reason = DenyReason::kNone;
  if (Find(function, &reason)) return reason;
  std::string_view glob;
  reason = ByName(mangled_name, &glob);
  if (reason == DenyReason::kNone && missed_.load(std::memory_order_acquire) != 0) {
    reason = ByIdentity(Identity(mangled_name, code_hash));
  }
  uint8_t expected = 0;
  if (functions_[function].compare_exchange_strong(expected, Stored(reason), std::memory_order_relaxed)) return reason;
  return Reason(expected);
}

void SamplingDenyList::Deny(uint32_t function, std::string_view mangled_name, uint64_t code_hash,
                            DenyReason reason) noexcept {
  if (function == 0 || function >= function_count_ || reason == DenyReason::kNone) return;
  uint8_t stored = functions_[function].load(std::memory_order_relaxed);
  do {
    if (stored > Stored(DenyReason::kNone)) return;
  } while (!functions_[function].compare_exchange_weak(stored, Stored(reason), std::memory_order_relaxed));
  // What its next launch shows again needs no memory beyond the index.
  if (reason != DenyReason::kDeadline) return;
  const uint64_t identity = Identity(mangled_name, code_hash);
  for (Missed& missed : denied_) {
    uint64_t held = missed.identity.load(std::memory_order_relaxed);
    if (held == 0 && missed.identity.compare_exchange_strong(held, identity, std::memory_order_relaxed)) {
      missed.reason.store(Stored(reason), std::memory_order_release);
      break;
    }
  }
  missed_.fetch_add(1, std::memory_order_release);
}

std::string_view SamplingDenyList::MatchingGlob(std::string_view mangled_name) const noexcept {
  std::string_view glob;
  ByName(mangled_name, &glob);
  return glob;
}

DenyReason SamplingDenyList::ByName(std::string_view mangled_name, std::string_view* glob) const noexcept {
  mangled_name = mangled_name.substr(0, kMaxNameBytes);
  for (const std::string_view candidate : kCommunicationKernels) {
    if (!MatchesFunction(candidate, mangled_name)) continue;
    *glob = candidate;
    return DenyReason::kName;
  }
  for (const std::string& candidate : user_globs_) {
    if (!MatchesFunction(candidate, mangled_name)) continue;
    *glob = candidate;
    return DenyReason::kUserPattern;
  }
  return DenyReason::kNone;
}

DenyReason SamplingDenyList::ByIdentity(uint64_t identity) const noexcept {
  for (const Missed& missed : denied_) {
    if (missed.identity.load(std::memory_order_relaxed) != identity) continue;
    const uint8_t stored = missed.reason.load(std::memory_order_acquire);
    return stored == 0 ? DenyReason::kDeadline : Reason(stored);
  }
  return DenyReason::kNone;
}

}  // namespace gx::inject
