// Which values of a counter are counts. A trace is not trusted: sums and products of larger ones, or of what is no
// number, would be figures of nothing. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_COUNT_BOUND_H_
#define GPUEXEC_ANALYSIS_COUNT_BOUND_H_

namespace gx::analysis {

// A counter of 64 bits that counted since the start of a launch is far below it.
inline constexpr double kCountEnd = 0x1p63;

// Not for NaN.
inline bool IsCount(double value) { return value >= 0 && value < kCountEnd; }

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_COUNT_BOUND_H_
