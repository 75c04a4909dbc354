// What the name of a counter metric says by itself. A name is UNIT__EVENT.ROLLUP[.SUBMETRIC], for example
// "dram__bytes.sum.peak_sustained"; some units have a prefix with a dot in it ("CTC.TriageCompute.ctc__rx_bytes.sum").
// CUPTI documentation, "Metrics Decoder" and cuptiProfilerHostGetSubMetrics. Pure. [MT]
#ifndef GPUEXEC_INJECT_METRIC_NAME_H_
#define GPUEXEC_INJECT_METRIC_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gx::inject {

// How a metric is collected, and so with what it can share a pass.
enum class MetricKind : uint8_t {
  kHardware,  // Counters of the running context.
  kSass,      // Counted by code that CUPTI patches into the kernel: slow, and a pass of its own.
  kPcie,      // Counters of the device: CUPTI refuses them beside those of a context (cuptiProfilerHostConfigAddMetrics
  kNvlink,    // returns CUPTI_ERROR_NOT_SUPPORTED, 13.0).
  kDevice,    // The same for the rest: chip-to-chip links, memory of integrated chips.
};

// "pcie" for "pcie__read_bytes.sum"; "" where there is none.
std::string_view UnitOfMetric(std::string_view name);

// Without rollup and submetric: "dram__bytes" for "dram__bytes.sum.peak_sustained".
std::string_view CounterOfMetric(std::string_view name);

// ".sum.peak_sustained" for "dram__bytes.sum.peak_sustained"; "" for a counter's name alone, which is not a metric.
std::string_view RollupOfMetric(std::string_view name);

MetricKind KindOfMetric(std::string_view name);

// Metrics of raw counters that say the same as a throughput, a hit rate or an average, which often need several passes:
// candidates, because not every chip has them. Empty where nothing is known.
std::vector<std::string> RawMetricsFor(std::string_view name);

// For messages: bytes that are not printable ASCII as \xHH, cut at 160 bytes, more than any name of CUPTI 13.0 has.
std::string PrintableMetricName(std::string_view name);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_METRIC_NAME_H_
