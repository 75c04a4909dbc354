// Notices calls of ours to CUPTI or the driver that do not come back. The thread that makes a call says so before and
// after; another thread looks now and then. A call beyond its limit is named once, and turns sampling off for good.
// Nothing can be done about the call itself.
#ifndef GPUEXEC_INJECT_SAMPLING_WATCHDOG_H_
#define GPUEXEC_INJECT_SAMPLING_WATCHDOG_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "inject/futex.h"

namespace gx::inject {

enum class SamplingCall : uint8_t {
  kInitialize,  // What is asked before there is a plan.
  kEnable,
  kConfigure,
  kStart,
  kPush,
  kPatchedLaunch,   // The launch itself under a sass group: it returns when the kernel has ended.
  kReplayedLaunch,  // The launch itself under kernel replay: it returns when the kernel has run once for each pass.
  kPop,
  kStop,
  kDecode,
  kEvaluate,
  kDisable,
  kQueryStream,
  kQueryEvent,
};
inline constexpr uint32_t kSamplingCalls = 14;

std::string_view SamplingCallName(SamplingCall call);
// Sessions are built and torn down in up to half a second; what runs inside a launch must be over sooner.
uint64_t SamplingCallLimitNs(SamplingCall call);

struct StuckCall {
  SamplingCall call = SamplingCall::kEnable;
  uint64_t since_ns = 0;
  uint32_t slot = 0;
};

class SamplingWatchdog {
 public:
  static constexpr uint32_t kSlots = 64;
  static constexpr uint32_t kNone = UINT32_MAX;

  // [MT] Before a call. kNone: every slot is taken, the call is not watched (counted).
  uint32_t Enter(SamplingCall call, uint64_t now_ns) noexcept;
  // [MT] After it, with what Enter returned.
  void Leave(uint32_t slot) noexcept;
  // [watching thread] The next call beyond its limit that was not named before; from the first one on, off() is true.
  std::optional<StuckCall> Check(uint64_t now_ns) noexcept;
  // [MT] Sampling is over. Also settable by others.
  bool off() const noexcept { return off_.load(std::memory_order_acquire); }
  void TurnOff() noexcept { off_.store(true, std::memory_order_release); }
  // Signalled when a call begins for which building() is true. Before threads run.
  void SetWake(Pulse* wake) noexcept { wake_ = wake; }
  // Whether a call that builds a session, takes one down or prepares for that is under way. [MT]
  bool building() const noexcept;
  // Whether any call is under way. [MT]
  bool busy() const noexcept;
  uint64_t unwatched() const noexcept { return unwatched_.load(std::memory_order_relaxed); }

 private:
  // since_ns << 8, the call << 2, 2 once it was named, 1; 0: free. 56 bits of nanoseconds are two years.
  std::array<std::atomic<uint64_t>, kSlots> slots_ = {};
  std::atomic<uint64_t> unwatched_{0};
  std::atomic<bool> off_{false};
  Pulse* wake_ = nullptr;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SAMPLING_WATCHDOG_H_
