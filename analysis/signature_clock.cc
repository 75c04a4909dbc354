#include "analysis/signature_clock.h"

#include <algorithm>
#include <cmath>

#include "analysis/model/quantile.h"

namespace gx::analysis {
namespace {

// Means of windows with few readings stray: the median and not the mean.
std::optional<double> MedianHz(std::vector<double> hz) {
  std::erase_if(hz, [](double one) { return !(one > 0) || !std::isfinite(one); });
  if (hz.empty()) return std::nullopt;
  std::sort(hz.begin(), hz.end());
  return model::SortedQuantile(hz, 0.5);
}

}  // namespace

std::optional<double> SignatureClockHz(const SignatureClockInput& input) {
  const std::optional<double> timing_hz = MedianHz(input.timing_windows_hz);
  if (!timing_hz.has_value()) return std::nullopt;
  const std::optional<double> counter_hz = MedianHz(input.counter_windows_hz);
  if (!counter_hz.has_value() || !(input.counted_hz.value_or(0) > 0) || !std::isfinite(*input.counted_hz)) {
    return timing_hz;
  }
  const double hz = *input.counted_hz * *timing_hz / *counter_hz;
  return input.max_hz > 0 ? std::min(hz, input.max_hz) : hz;
}

}  // namespace gx::analysis
