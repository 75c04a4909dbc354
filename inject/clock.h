// Host clocks, in nanoseconds.
#ifndef GPUEXEC_INJECT_CLOCK_H_
#define GPUEXEC_INJECT_CLOCK_H_

#include <cstdint>
#include <ctime>

namespace gx::inject {

inline uint64_t ReadClockNs(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// The clock of every host time in a trace. CLOCK_MONOTONIC rather than ..._RAW: both come from the vDSO on current
// kernels, but before Linux 5.3 RAW is a system call, too dear for a launch path.
inline uint64_t MonotonicNs() noexcept { return ReadClockNs(CLOCK_MONOTONIC); }

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_CLOCK_H_
