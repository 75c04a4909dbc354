#include "kernels/ceilings/slope.h"

#include <algorithm>

namespace gx::kernels {
namespace {

constexpr double kNsPerSecond = 1e9;

bool HasClocks(const SlopePoint& point) { return point.sm_clock_hz.size() == point.duration_ns.size(); }

double MedianCycles(const SlopePoint& point) {
  std::vector<double> cycles;
  for (size_t i = 0; i < point.duration_ns.size(); ++i) {
    cycles.push_back(point.duration_ns[i] / kNsPerSecond * point.sm_clock_hz[i]);
  }
  return Median(cycles);
}

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<Slope> FitSlope(const SlopePoints& points) {
  if (points.size() < 2 || points.front().duration_ns.empty() || points.back().duration_ns.empty()) return std::nullopt;
  const SlopePoint& first = points.front();
  const SlopePoint& last = points.back();
  const double first_ns = Median(first.duration_ns);
  const double work = last.work - first.work;
  const double duration_ns = Median(last.duration_ns) - first_ns;
  if (!(work > 0 && duration_ns > 0)) return std::nullopt;
  Slope slope;
  slope.work_per_second = work / duration_ns * kNsPerSecond;
  slope.fixed_ns = first_ns - first.work * duration_ns / work;
  if (HasClocks(first) && HasClocks(last)) {
    const double cycles = MedianCycles(last) - MedianCycles(first);
    if (cycles > 0) slope.work_per_sm_cycle = work / cycles;
  }
  return slope;
}

}  // namespace gx::kernels
