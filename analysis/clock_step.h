// The step in which a device's clock counts, estimated from kernel durations. CUPTI converts ticks to nanoseconds and
// rounds, so that durations are multiples of the step plus or minus 1 ns (895, 896, 928, 993 ns on an H200, whose step
// is 32 ns): their greatest common divisor says nothing. EstimateClockStep is pure; a ShortDurations is owned by one
// thread.
#ifndef GPUEXEC_ANALYSIS_CLOCK_STEP_H_
#define GPUEXEC_ANALYSIS_CLOCK_STEP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gx::analysis {

// Beyond this the drift of the clock conversion (some parts in a million) comes near 1 ns.
inline constexpr uint64_t kMaxStepDurationNs = 100'000;
inline constexpr uint64_t kMaxClockStepNs = 1024;
// Of a wrong step that is twice the right one, all multiples must be even by chance: 2^-8.
inline constexpr size_t kMinStepMultiples = 8;

// The largest power of two up to kMaxClockStepNs of which at least 95 % of the durations are within 1 ns of a multiple;
// 2 and 1 count exactly, as every number is within 1 ns of a multiple of 2. 0, not known: fewer than kMinStepMultiples
// different multiples. Durations of kMaxStepDurationNs and more, and 0, are left out. Give each duration once: a kernel
// that takes the same time in every call would outvote all others.
uint64_t EstimateClockStep(std::span<const uint64_t> distinct_durations_ns);

// Which short durations there were: 12.5 KB, whatever the number of kernels.
class ShortDurations {
 public:
  void Add(uint64_t duration_ns) {
    if (duration_ns < kMaxStepDurationNs) seen_[duration_ns] = true;
  }
  std::vector<uint64_t> Distinct() const;

 private:
  std::vector<bool> seen_ = std::vector<bool>(kMaxStepDurationNs);
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLOCK_STEP_H_
