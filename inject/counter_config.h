// One group of metrics as CUPTI wants it: the configuration image of a session, and afterwards its values. A host
// object of its own for each session: one that was made under an earlier range profiler object crashes CUPTI 13.0.
//
// Not thread-safe; makes host calls only, no CUDA call.
#ifndef GPUEXEC_INJECT_COUNTER_CONFIG_H_
#define GPUEXEC_INJECT_COUNTER_CONFIG_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inject/profiler_host_api.h"
#include "inject/range_profiler_api.h"

namespace gx::inject {

class CounterConfig {
 public:
  // Null: a call failed; `result` is its CUptiResult, `failed_call` its name (static storage).
  static std::unique_ptr<CounterConfig> Make(const ProfilerHostApi& host, const RangeProfilerApi& range,
                                             const std::string& chip, std::vector<std::string> metrics, int* result,
                                             const char** failed_call);
  CounterConfig(const CounterConfig&) = delete;
  CounterConfig& operator=(const CounterConfig&) = delete;
  ~CounterConfig();

  std::span<const uint8_t> image() const { return image_; }
  const std::vector<std::string>& metrics() const { return metrics_; }
  // For the calls that take const char**.
  std::vector<const char*> MetricPointers() const;

  // Values of one range of a counter data image, in the order of `metrics` (any metrics whose counters were configured,
  // and those that need none, as X.sum.peak_sustained). NaN: unavailable. Returns a CUptiResult.
  int Evaluate(std::span<const uint8_t> counter_data, size_t range_index, const std::vector<const char*>& metrics,
               std::vector<double>* values) const;

 private:
  CounterConfig(const ProfilerHostApi& host, const RangeProfilerApi& range, std::vector<std::string> metrics)
      : host_(host), range_(range), metrics_(std::move(metrics)) {}

  const ProfilerHostApi& host_;
  const RangeProfilerApi& range_;
  std::vector<std::string> metrics_;
  std::vector<uint8_t> image_;
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_COUNTER_CONFIG_H_
