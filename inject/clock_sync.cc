#include "inject/clock_sync.h"

#include <limits>

#include "inject/clock.h"

namespace gx::inject {

ClockPairRecord ReadClockPair(const CuptiApi* cupti) noexcept {
  constexpr int kTries = 3;
  ClockPairRecord best;
  uint64_t best_width_ns = std::numeric_limits<uint64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    ClockPairRecord pair;
    const uint64_t before_ns = MonotonicNs();
    if (cupti != nullptr && cupti->cuptiGetTimestamp != nullptr &&
        cupti->cuptiGetTimestamp(&pair.cupti_ns) != CUPTI_SUCCESS) {
      pair.cupti_ns = 0;
    }
    pair.monotonic_raw_ns = ReadClockNs(CLOCK_MONOTONIC_RAW);
    pair.realtime_ns = ReadClockNs(CLOCK_REALTIME);
    const uint64_t after_ns = MonotonicNs();
    pair.monotonic_ns = before_ns + (after_ns - before_ns) / 2;
    if (after_ns - before_ns < best_width_ns) {
      best_width_ns = after_ns - before_ns;
      best = pair;
    }
  }
  return best;
}

}  // namespace gx::inject
