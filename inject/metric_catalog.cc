#include "inject/metric_catalog.h"

#include <utility>

#include "inject/cupti_params.h"
#include "inject/metric_name.h"

namespace gx::inject {

std::vector<std::string> SupportedChips(const ProfilerHostApi& api) {
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params, params);
  std::vector<std::string> chips;
  if (api.cuptiProfilerHostGetSupportedChips(&params) != CUPTI_SUCCESS) return chips;
  for (size_t i = 0; i < params.numChips; ++i) chips.emplace_back(params.ppChipNames[i]);
  return chips;
}

MetricCatalog::MetricCatalog(const ProfilerHostApi& api, std::string chip, std::vector<uint8_t> availability)
    : api_(api), chip_(std::move(chip)), availability_(std::move(availability)) {}

MetricCatalog::~MetricCatalog() { Delete(names_); }

std::unique_ptr<MetricCatalog> MetricCatalog::Open(const ProfilerHostApi& api, const std::string& chip,
                                                   std::vector<uint8_t> availability, std::string* problem) {
  std::unique_ptr<MetricCatalog> catalog(new MetricCatalog(api, chip, std::move(availability)));
  const int result = catalog->NewHostObject(&catalog->names_);
  if (result == CUPTI_SUCCESS) return catalog;
  *problem = "no hardware counters: this CUPTI does not profile the chip " + chip +
             " (cuptiProfilerHostInitialize returned " + std::to_string(result) + ")";
  if (result == CUPTI_ERROR_NOT_INITIALIZED) {
    *problem =
        "no hardware counters: CUPTI does not find libnvperf_host.so, which belongs beside libcupti "
        "(cuptiProfilerHostInitialize returned " +
        std::to_string(result) + ")";
  }
  return nullptr;
}

int MetricCatalog::NewHostObject(CUpti_Profiler_Host_Object** object) const {
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
  params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  params.pChipName = chip_.c_str();
  params.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
  const CUptiResult result = api_.cuptiProfilerHostInitialize(&params);
  *object = result == CUPTI_SUCCESS ? params.pHostObject : nullptr;
  return result;
}

void MetricCatalog::Delete(CUpti_Profiler_Host_Object* object) const {
  if (object == nullptr) return;
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
  params.pHostObject = object;
  // Its failure would leak an object of some kilobytes.
  (void)api_.cuptiProfilerHostDeinitialize(&params);
}

bool MetricCatalog::Exists(const std::string& metric) const {
  // The properties of a counter are told for its name alone as well.
  if (RollupOfMetric(metric).empty()) return false;
  GX_CUPTI_PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, params);
  params.pHostObject = names_;
  params.pMetricName = metric.c_str();
  return api_.cuptiProfilerHostGetMetricProperties(&params) == CUPTI_SUCCESS;
}

std::optional<int> MetricCatalog::Passes(const std::vector<std::string>& metrics) const {
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());

  CUpti_Profiler_Host_Object* object = nullptr;
  if (names.empty() || NewHostObject(&object) != CUPTI_SUCCESS) return std::nullopt;
  const auto ask = [&]() -> std::optional<int> {
    GX_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
    add.pHostObject = object;
    add.ppMetricNames = names.data();
    add.numMetrics = names.size();
    if (api_.cuptiProfilerHostConfigAddMetrics(&add) != CUPTI_SUCCESS) return std::nullopt;
    GX_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = object;
    if (api_.cuptiProfilerHostGetConfigImageSize(&size) != CUPTI_SUCCESS) return std::nullopt;
    std::vector<uint8_t> bytes(size.configImageSize);
    GX_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
    image.pHostObject = object;
    image.configImageSize = bytes.size();
    image.pConfigImage = bytes.data();
    if (api_.cuptiProfilerHostGetConfigImage(&image) != CUPTI_SUCCESS) return std::nullopt;
    GX_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
    passes.configImageSize = bytes.size();
    passes.pConfigImage = bytes.data();
    if (api_.cuptiProfilerHostGetNumOfPasses(&passes) != CUPTI_SUCCESS) return std::nullopt;
    return static_cast<int>(passes.numOfPasses);
  };
  const std::optional<int> passes = ask();
  Delete(object);
  return passes;
}

ChipOracle MetricCatalog::Oracle() const {
  return {[this](const std::string& metric) { return Exists(metric); },
          [this](const std::vector<std::string>& metrics) { return Passes(metrics); }};
}

}  // namespace gx::inject
