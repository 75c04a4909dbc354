#include "inject/counter_config.h"

#include <limits>
#include <utility>

#include "inject/cupti_params.h"

namespace gx::inject {

std::unique_ptr<CounterConfig> CounterConfig::Make(const ProfilerHostApi& host, const RangeProfilerApi& range,
                                                   const std::string& chip, std::vector<std::string> metrics,
                                                   int* result, const char** failed_call) {
  std::unique_ptr<CounterConfig> config(new CounterConfig(host, range, std::move(metrics)));
  const auto failed = [&](CUptiResult code, const char* call) {
    if (code == CUPTI_SUCCESS) return false;
    *result = code;
    *failed_call = call;
    return true;
  };
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, initialize);
  initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  initialize.pChipName = chip.c_str();
  if (failed(host.cuptiProfilerHostInitialize(&initialize), "cuptiProfilerHostInitialize")) return nullptr;
  config->object_ = initialize.pHostObject;

  std::vector<const char*> names = config->MetricPointers();
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
  add.pHostObject = config->object_;
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  if (failed(host.cuptiProfilerHostConfigAddMetrics(&add), "cuptiProfilerHostConfigAddMetrics")) return nullptr;

  GX_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = config->object_;
  if (failed(host.cuptiProfilerHostGetConfigImageSize(&size), "cuptiProfilerHostGetConfigImageSize")) return nullptr;
  config->image_.resize(size.configImageSize);
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
  image.pHostObject = config->object_;
  image.configImageSize = config->image_.size();
  image.pConfigImage = config->image_.data();
  if (failed(host.cuptiProfilerHostGetConfigImage(&image), "cuptiProfilerHostGetConfigImage")) return nullptr;
  return config;
}

CounterConfig::~CounterConfig() {
  if (object_ == nullptr) return;
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
  params.pHostObject = object_;
  // Its failure would leak an object of some kilobytes.
  (void)host_.cuptiProfilerHostDeinitialize(&params);
}

std::vector<const char*> CounterConfig::MetricPointers() const {
  std::vector<const char*> names;
  names.reserve(metrics_.size());
  for (const std::string& metric : metrics_) names.push_back(metric.c_str());
  return names;
}

int CounterConfig::Evaluate(std::span<const uint8_t> counter_data, size_t range_index,
                            const std::vector<const char*>& metrics, std::vector<double>* values) const {
  values->assign(metrics.size(), std::numeric_limits<double>::quiet_NaN());
  if (metrics.empty()) return CUPTI_SUCCESS;
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
  params.pHostObject = object_;
  params.pCounterDataImage = counter_data.data();
  params.counterDataImageSize = counter_data.size();
  params.rangeIndex = range_index;
  // The parameter is not const, and CUPTI only reads it.
  params.ppMetricNames = const_cast<const char**>(metrics.data());
  params.numMetrics = metrics.size();
  params.pMetricValues = values->data();
  return range_.cuptiProfilerHostEvaluateToGpuValues(&params);
}

}  // namespace gx::inject
