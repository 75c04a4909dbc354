// The fake CUPTI's Profiler Host API: metric properties, configuration images, evaluation. Its rules are those that
// inject/metric_catalog.h found in CUPTI 13.0.
#include "tests/fakes/fake_profiler_host.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "tests/fakes/fake_client_call.h"
#include "tests/fakes/fake_log.h"
#include "tests/fakes/fake_range_profiler.h"

namespace gx::fakes {
namespace {

constexpr char kConfigMagic[] = "fake counter configuration";

struct ConfigImage {
  char magic[sizeof(kConfigMagic)] = {};
  uint64_t setup_id = 0;
};

struct HostObject {
  uint64_t id = 0;
  std::vector<std::vector<std::string>> calls;  // Metrics of each call of ConfigAddMetrics.
  bool is_spoilt = false;                       // Takes no more metrics.
  // Range profiler objects whose ranges it has evaluated: one, or the real library crashes.
  uint64_t range_object_id = 0;
};

class HostObjects {
 public:
  static HostObjects& Get() {
    static auto& objects = *new HostObjects();
    return objects;
  }

  CUpti_Profiler_Host_Object* Make() {
    std::lock_guard lock(mutex_);
    auto object = std::make_unique<HostObject>();
    object->id = ++next_id_;
    auto* handle = reinterpret_cast<CUpti_Profiler_Host_Object*>(object.get());
    objects_[handle] = std::move(object);
    return handle;
  }

  // Calls body(object) with the lock held; an object that does not live is a violation.
  template <typename Body>
  CUptiResult With(CUpti_Profiler_Host_Object* handle, const char* function, const Body& body) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) {
      LogViolation(std::string(function) + " with a host object that does not live");
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    return body(found->second.get());
  }

  CUptiResult Delete(CUpti_Profiler_Host_Object* handle) {
    std::lock_guard lock(mutex_);
    if (objects_.erase(handle) == 1) return CUPTI_SUCCESS;
    LogViolation("cuptiProfilerHostDeinitialize of a host object that does not live");
    return CUPTI_ERROR_INVALID_PARAMETER;
  }

  // Requires the lock, as inside With. Metrics of a later call have passes of their own.
  uint64_t MakeSetup(const HostObject& object) {
    auto setup = std::make_shared<CounterSetup>();
    setup->host_id = object.id;
    for (const std::vector<std::string>& call : object.calls) {
      size_t end = setup->pass_count;
      const std::vector<size_t> passes = PlanPasses(call);
      for (size_t i = 0; i < call.size(); ++i) {
        setup->metrics.push_back(call[i]);
        setup->passes.push_back(setup->pass_count + passes[i]);
        if (IsSassMetric(call[i])) {
          setup->has_sass = true;
          setup->sass_pass = setup->passes.back();
        }
        end = std::max(end, setup->pass_count + passes[i] + 1);
      }
      setup->pass_count = end;
    }
    setups_[++next_id_] = setup;
    return next_id_;
  }

  std::shared_ptr<const CounterSetup> FindSetup(uint64_t id) {
    std::lock_guard lock(mutex_);
    const auto found = setups_.find(id);
    return found == setups_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  uint64_t next_id_ = 0;
  std::map<CUpti_Profiler_Host_Object*, std::unique_ptr<HostObject>> objects_;
  std::map<uint64_t, std::shared_ptr<const CounterSetup>> setups_;
};

// The metric's value; NaN where its counter was not configured, or would have needed another pass.
double Evaluate(const std::string& metric, const DecodedRange& range) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  if (IsPeak(metric)) return MetricValue(metric, range.counted, range.first);
  if (range.void_values) return kNothing;
  const std::string counter = metric.substr(0, metric.find('.'));
  for (size_t i = 0; i < range.setup->metrics.size(); ++i) {
    const std::string& configured = range.setup->metrics[i];
    const bool missed = range.setup->passes[i] != range.pass && !range.replayed;
    if (missed || configured.substr(0, configured.find('.')) != counter || IsPeak(configured)) {
      continue;
    }
    return MetricValue(metric, range.counted, range.first);
  }
  return kNothing;
}

}  // namespace

std::shared_ptr<const CounterSetup> ReadConfigImage(const uint8_t* image, size_t image_bytes) {
  ConfigImage config;
  if (image == nullptr || image_bytes < sizeof(config)) return nullptr;
  std::memcpy(&config, image, sizeof(config));
  if (std::memcmp(config.magic, kConfigMagic, sizeof(kConfigMagic)) != 0) return nullptr;
  return HostObjects::Get().FindSetup(config.setup_id);
}

}  // namespace gx::fakes

using namespace gx::fakes;  // NOLINT: the rest of this file is the C interface.

#define GX_BEGIN_HOST(name, logged)                                                            \
  if (params == nullptr || params->structSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;      \
  if (const CUptiResult refused = BeginCountedCall(#name, logged); refused != CUPTI_SUCCESS) { \
    return refused;                                                                            \
  }

GX_EXPORT CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
  GX_BEGIN_HOST(cuptiProfilerHostInitialize, false);
  if (params->pChipName == nullptr || std::strcmp(params->pChipName, kChipName) != 0) {
    return CUPTI_ERROR_INVALID_CHIP_NAME;
  }
  const uint8_t* availability = params->pCounterAvailabilityImage;
  if (availability != nullptr && std::memcmp(availability, kAvailabilityImage, sizeof(kAvailabilityImage)) != 0) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  params->pHostObject = HostObjects::Get().Make();
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
  GX_BEGIN_HOST(cuptiProfilerHostDeinitialize, false);
  return HostObjects::Get().Delete(params->pHostObject);
}

GX_EXPORT CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* params) {
  static const char* const kChips[] = {kChipName};
  GX_BEGIN_HOST(cuptiProfilerHostGetSupportedChips, false);
  params->numChips = std::size(kChips);
  params->ppChipNames = kChips;
  return CUPTI_SUCCESS;
}

// Of a counter, with a rollup or without.
GX_EXPORT CUptiResult cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params* params) {
  GX_BEGIN_HOST(cuptiProfilerHostGetMetricProperties, false);
  return HostObjects::Get().With(params->pHostObject, "cuptiProfilerHostGetMetricProperties", [&](HostObject*) {
    if (!MetricExists(params->pMetricName) && !IsKnownCounter(params->pMetricName)) {
      return CUPTI_ERROR_INVALID_METRIC_NAME;
    }
    params->pDescription = "a counter of the fake";
    params->pHwUnit = "sm";
    params->pDimUnit = "";
    params->metricType = CUPTI_METRIC_TYPE_COUNTER;
    return CUPTI_SUCCESS;
  });
}

GX_EXPORT CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  GX_BEGIN_HOST(cuptiProfilerHostConfigAddMetrics, false);
  return HostObjects::Get().With(params->pHostObject, "cuptiProfilerHostConfigAddMetrics", [&](HostObject* object) {
    if (object->is_spoilt) return CUPTI_ERROR_UNKNOWN;
    std::vector<std::string> metrics(params->ppMetricNames, params->ppMetricNames + params->numMetrics);
    for (const std::string& metric : metrics) {
      if (MetricExists(metric)) continue;
      object->is_spoilt = true;
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    object->calls.push_back(std::move(metrics));
    return CUPTI_SUCCESS;
  });
}

GX_EXPORT CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  GX_BEGIN_HOST(cuptiProfilerHostGetConfigImageSize, false);
  return HostObjects::Get().With(params->pHostObject, "cuptiProfilerHostGetConfigImageSize", [&](HostObject* object) {
    if (object->calls.empty()) return CUPTI_ERROR_UNKNOWN;
    params->configImageSize = sizeof(ConfigImage);
    return CUPTI_SUCCESS;
  });
}

GX_EXPORT CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params) {
  GX_BEGIN_HOST(cuptiProfilerHostGetConfigImage, false);
  return HostObjects::Get().With(params->pHostObject, "cuptiProfilerHostGetConfigImage", [&](HostObject* object) {
    if (object->calls.empty()) return CUPTI_ERROR_UNKNOWN;
    if (params->configImageSize < sizeof(ConfigImage)) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    object->is_spoilt = true;
    ConfigImage image;
    std::memcpy(image.magic, kConfigMagic, sizeof(kConfigMagic));
    image.setup_id = HostObjects::Get().MakeSetup(*object);
    std::memcpy(params->pConfigImage, &image, sizeof(image));
    return CUPTI_SUCCESS;
  });
}

GX_EXPORT CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  GX_BEGIN_HOST(cuptiProfilerHostGetNumOfPasses, false);
  const auto setup = ReadConfigImage(params->pConfigImage, params->configImageSize);
  if (setup == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  params->numOfPasses = setup->pass_count;
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  GX_BEGIN_HOST(cuptiProfilerHostEvaluateToGpuValues, false);
  DecodedRange range;
  if (!ReadCounterData(params->pCounterDataImage, params->counterDataImageSize, params->rangeIndex, &range)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return HostObjects::Get().With(params->pHostObject, "cuptiProfilerHostEvaluateToGpuValues", [&](HostObject* object) {
    if (object->range_object_id == 0) object->range_object_id = range.object_id;
    if (object->range_object_id != range.object_id) {
      LogViolation("a host object of an earlier range profiler object evaluates");
      return CUPTI_ERROR_UNKNOWN;
    }
    for (size_t i = 0; i < params->numMetrics; ++i) {
      const std::string metric = params->ppMetricNames[i];
      if (!MetricExists(metric)) return CUPTI_ERROR_INVALID_METRIC_NAME;
      params->pMetricValues[i] = Evaluate(metric, range);
    }
    return CUPTI_SUCCESS;
  });
}
