// What ran inside a range, and so whether its values belong to the one launch it was made for. A range counts
// everything that its context runs between push and pop, whoever launched it.
#ifndef GPUEXEC_INJECT_RANGE_VERDICT_H_
#define GPUEXEC_INJECT_RANGE_VERDICT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace gx::inject {

// Work that reaches a device.
enum class DeviceWork : uint8_t { kKernel, kGraph, kCopy, kMemset, kModuleLoad };
inline constexpr uint32_t kDeviceWorks = 5;

struct RangeFacts {
  // What the range was made for: a kernel, or a graph as a whole.
  DeviceWork target = DeviceWork::kKernel;
  // The launch it was made for: asked of the driver, and accepted by it.
  bool launched = false;
  bool launch_accepted = false;
  // Everything else in it, by whom.
  std::array<uint32_t, kDeviceWorks> own_extra = {};
  std::array<uint32_t, kDeviceWorks> foreign = {};
  bool capture_began = false;
  bool window_ended = false;  // The launch is in another window, or in none.
  bool completed_in_time = false;
  bool push_failed = false;
  bool pop_failed = false;
  bool first_of_session = false;
};

enum class RangeVerdict : uint8_t {
  kValid,
  kValidFirst,     // The first of its session: DRAM writes about 3 % high. Kept, flagged, not one of those needed.
  kCallFailed,     // Push or pop.
  kNoLaunch,       // The launch was never made, or refused.
  kNotCompleted,   // Abandoned at the deadline.
  kCaptureBegan,   // Or the recorded region ended.
  kForeignLaunch,  // Another thread's kernel or graph.
  kSeveralLaunches,
  kCopy,
  kMemset,
  kModuleLoad,
};
inline constexpr uint32_t kRangeVerdicts = 11;

std::string_view RangeVerdictName(RangeVerdict verdict);
constexpr bool IsValid(RangeVerdict verdict) {
  return verdict == RangeVerdict::kValid || verdict == RangeVerdict::kValidFirst;
}

// The first of the reasons in the order of the enumeration's void ones. Pure.
RangeVerdict JudgeRange(const RangeFacts& facts) noexcept;

// Watches one range at a time. Every thread reports the calls that bring work to the device, from before the driver's
// function to after it: a call that was under way when the range began may still send its work into it. [MT],
// lock-free. The order around a range: streams idle, Open, streams still idle, push, launch, completion, pop, Close.
class RangeContents {
 public:
  // Around a call, on the thread that makes it. The sampled launch itself is reported by neither.
  void EnterCall(DeviceWork work, uint64_t thread) noexcept;
  void LeaveCall() noexcept { under_way_.fetch_sub(1, std::memory_order_seq_cst); }

  // False: a call is under way (then nothing is open), or a range is open already.
  [[nodiscard]] bool Open(uint64_t owner) noexcept;
  void CaptureBegan() noexcept;
  bool is_open() const noexcept { return owner_.load(std::memory_order_seq_cst) != 0; }
  // Ends watching and fills own_extra, foreign and capture_began.
  void Close(RangeFacts* facts) noexcept;

 private:
  std::atomic<uint64_t> owner_{0};  // 0: no range.
  std::atomic<int32_t> under_way_{0};
  std::array<std::atomic<uint32_t>, kDeviceWorks> own_ = {};
  std::array<std::atomic<uint32_t>, kDeviceWorks> foreign_ = {};
  std::atomic<bool> capture_{false};
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_RANGE_VERDICT_H_
