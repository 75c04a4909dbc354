// What sampling has done and cost so far, as the schedule wants to know it. [MT]: additions are relaxed.
#ifndef GPUEXEC_INJECT_SAMPLING_TALLY_H_
#define GPUEXEC_INJECT_SAMPLING_TALLY_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gx::inject {

// The mean of what was added, the last values counting most: costs change with the program's phases.
class RunningMean {
 public:
  void Add(uint64_t value) noexcept {
    const uint64_t before = mean_.load(std::memory_order_relaxed);
    mean_.store(before == 0 ? value : before - before / 4 + value / 4, std::memory_order_relaxed);
  }
  // 0: nothing was added.
  uint64_t value() const noexcept { return mean_.load(std::memory_order_relaxed); }

 private:
  // Two writers at a time lose one value.
  std::atomic<uint64_t> mean_{0};
};

struct SamplingTally {
  std::atomic<uint64_t> cost_ns{0};     // Time in our calls and waits, on whatever thread the program waited.
  std::atomic<uint64_t> samples{0};     // Valid ones.
  std::atomic<uint64_t> busy_skips{0};  // Launches that were skipped because a stream was busy.
  std::atomic<uint64_t> session_failures{0};
  std::atomic<uint32_t> last_session_id{0};  // Sessions of the trace, whoever opens them.
  std::atomic<uint32_t> open_sessions{0};    // Of counter windows; those that were given up stay.
  RunningMean rotation_ns;
  RunningMean hardware_range_ns;
  RunningMean sass_range_ns;
  RunningMean drain_ns;

  // Of a second in which the program runs, the part in which its kernels do, in thousandths (device_load.h).
  std::atomic<uint32_t> busy_permille{0};

  void Spend(uint64_t ns) noexcept { cost_ns.fetch_add(ns, std::memory_order_relaxed); }
  // What a wait for the device costs the program: while kernels run that were launched before, a program that its GPU
  // bounds would have waited anyway, one that the GPU waits for loses the time.
  uint64_t CostOfWait(uint64_t ns) const noexcept {
    // Never nothing: kernels that overlap, or other phases, make the load look larger, and nothing would end the waits.
    constexpr uint32_t kMostPermille = 900;
    const uint64_t idle_permille = 1000 - std::min(busy_permille.load(std::memory_order_relaxed), kMostPermille);
    return ns / 1000 * idle_permille + ns % 1000 * idle_permille / 1000;
  }
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SAMPLING_TALLY_H_
