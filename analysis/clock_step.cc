#include "analysis/clock_step.h"

#include <set>

namespace gx::analysis {
namespace {

// Below 4 every number is near a multiple.
uint64_t ToleranceNs(uint64_t step_ns) { return step_ns >= 4 ? 1 : 0; }

}  // namespace

uint64_t EstimateClockStep(std::span<const uint64_t> distinct_durations_ns) {
  for (uint64_t step_ns = kMaxClockStepNs; step_ns > 0; step_ns /= 2) {
    const uint64_t tolerance_ns = ToleranceNs(step_ns);
    uint64_t considered = 0;
    uint64_t near = 0;
    std::set<uint64_t> multiples;
    for (const uint64_t duration_ns : distinct_durations_ns) {
      if (duration_ns == 0 || duration_ns >= kMaxStepDurationNs) continue;
      ++considered;
      const uint64_t multiple = (duration_ns + tolerance_ns) / step_ns;
      // 1 ns is no multiple of 32 ns.
      if (multiple == 0 || (duration_ns + tolerance_ns) % step_ns > 2 * tolerance_ns) continue;
      ++near;
      multiples.insert(multiple);
    }
    if (near * 100 < considered * 95) continue;
    return multiples.size() >= kMinStepMultiples ? step_ns : 0;
  }
  return 0;
}

std::vector<uint64_t> ShortDurations::Distinct() const {
  std::vector<uint64_t> durations_ns;
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i]) durations_ns.push_back(i);
  }
  return durations_ns;
}

}  // namespace gx::analysis
