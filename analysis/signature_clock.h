// The SM clock that a signature's timed launches ran at. NVML reads a clock a few times a window, of whatever runs
// then, and power limits hold some kernels lower than others; counters tell the clock of the counted launches of the
// signature itself, in windows of other kinds. Together: the signature's own clock, by as much as timing windows ran
// slower or faster than counter windows.
//
// On an H200, beside cycles over time of the same kernels: three products of a throttled training step 1.5 to 2.7 % off
// (median of timing windows alone 12 to 15 %), a product by itself 1.4 % (6.3 %), kernels bound by DRAM up to 3.1 %
// (3.8 %), some of them worse than before. Medians were chosen on these traces (means: 8 to 9 % in the training step,
// of three timing windows), and cycles over time is what closure compares: that it holds there confirms nothing. Other
// traces have to.
//
// Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_SIGNATURE_CLOCK_H_
#define GPUEXEC_ANALYSIS_SIGNATURE_CLOCK_H_

#include <optional>
#include <vector>

namespace gx::analysis {

struct SignatureClockInput {
  // Of the counted launches (gpc__cycles_elapsed.avg.per_second). Absent or not above 0: not counted.
  std::optional<double> counted_hz;
  // Means of the device's windows, as NVML read them; those not above 0 are left out.
  std::vector<double> timing_windows_hz;
  std::vector<double> counter_windows_hz;
  // The estimate is not above it, what was read may be. Not above 0: not known.
  double max_hz = 0;
};

// How far off the estimate may be: the largest of the differences above, rounded.
inline constexpr double kSignatureClockErrorRatio = 0.03;

// Absent: no timing window has a clock. Without a counted clock, or without a clock of a counter window, the median of
// timing windows, which is of the device and not of the signature.
std::optional<double> SignatureClockHz(const SignatureClockInput& input);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_SIGNATURE_CLOCK_H_
