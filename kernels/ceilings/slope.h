// Time against work: the figures of a ceiling and the samples that they follow from. Pure; any thread.
//
// A slope between two large sizes holds neither the launch nor the ramp at the beginning nor the tail at the end, and
// with the clock of each sample it is per clock whatever the power limit did meanwhile.
#ifndef GPUEXEC_KERNELS_CEILINGS_SLOPE_H_
#define GPUEXEC_KERNELS_CEILINGS_SLOPE_H_

#include <optional>
#include <vector>

namespace gx::kernels {

struct SlopePoint {
  // In the unit of whoever measures; above 0.
  double work = 0;
  // One a sample, in the order in which they were taken.
  std::vector<double> duration_ns;
  // As many, or none.
  std::vector<double> sm_clock_hz;
};

// Two points or more, by ascending work, each with a sample at least.
using SlopePoints = std::vector<SlopePoint>;

struct Slope {
  double work_per_second = 0;
  // Absent where a sample has no clock.
  std::optional<double> work_per_sm_cycle;
  double fixed_ns = 0;
};

// The mean of the middle two of an even number. Values: one at least.
double Median(std::vector<double> values);

// From the medians of the first and the last point. Absent where time does not grow with work: nothing was measured.
std::optional<Slope> FitSlope(const SlopePoints& points);

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_SLOPE_H_
