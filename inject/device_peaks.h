// What the units of a device can do in a cycle, as metrics that cost no counter: read with the first session of a
// device and written as gpuexec.v1.DevicePeaks. Pure.
#ifndef GPUEXEC_INJECT_DEVICE_PEAKS_H_
#define GPUEXEC_INJECT_DEVICE_PEAKS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inject/record.h"

namespace gx::inject {

// Metrics to read, of those that the chip has: the peaks, then the clocks that they are per cycle of.
std::vector<std::string> PeakMetrics(const std::function<bool(const std::string& metric)>& exists);

// `values` in the order of `metrics`, as PeakMetrics gave them. What is no number is left out.
DevicePeaksRecord MakeDevicePeaks(uint64_t device_id, uint64_t monotonic_ns, std::span<const std::string> metrics,
                                  std::span<const double> values);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_DEVICE_PEAKS_H_
