// What counters a chip has, and what shares a pass, as CUPTI's host API says: the answers that the planner asks for.
//
// Rules of the API, found with CUPTI 13.0 and kept here alone:
//   - one unknown name fails the whole configuration (cuptiProfilerHostConfigAddMetrics returns
//     CUPTI_ERROR_INVALID_PARAMETER), so that names are looked up one by one first;
//   - metrics added in a second call are given passes of their own: all go into one call;
//   - after a failed call, and after the image was made, an object takes no more metrics (CUPTI_ERROR_UNKNOWN): every
//     question is asked of a new one.
// A look-up takes some microseconds, a question about passes 1 to 2 ms; the first of a process also loads
// libnvperf_host.
//
// Not thread-safe. Names a chip, not a device: a device can have less (MIG, vGPU), which its counter availability image
// tells.
#ifndef GPUEXEC_INJECT_METRIC_CATALOG_H_
#define GPUEXEC_INJECT_METRIC_CATALOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inject/counter_planner.h"
#include "inject/profiler_host_api.h"

namespace gx::inject {

// The chips that this CUPTI knows by name.
std::vector<std::string> SupportedChips(const ProfilerHostApi& api);

class MetricCatalog {
 public:
  // Null where CUPTI does not know the chip; `problem` then says so. `availability` is the device's counter
  // availability image, empty for the chip in general. `api` has to live as long as the catalog.
  static std::unique_ptr<MetricCatalog> Open(const ProfilerHostApi& api, const std::string& chip,
                                             std::vector<uint8_t> availability, std::string* problem);

  MetricCatalog(const MetricCatalog&) = delete;
  MetricCatalog& operator=(const MetricCatalog&) = delete;
  ~MetricCatalog();

  // Whether the chip has the metric, rollup included. A counter's name alone is no metric.
  bool Exists(const std::string& metric) const;

  // Passes that the metrics need together. Nothing: CUPTI does not configure them.
  std::optional<int> Passes(const std::vector<std::string>& metrics) const;

  // The two as the planner takes them; valid as long as the catalog.
  ChipOracle Oracle() const;

 private:
  MetricCatalog(const ProfilerHostApi& api, std::string chip, std::vector<uint8_t> availability);

  // Zero: CUPTI_SUCCESS.
  int NewHostObject(CUpti_Profiler_Host_Object** object) const;
  void Delete(CUpti_Profiler_Host_Object* object) const;

  const ProfilerHostApi& api_;
  const std::string chip_;
  const std::vector<uint8_t> availability_;
  CUpti_Profiler_Host_Object* names_ = nullptr;  // Asked for properties only.
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_METRIC_CATALOG_H_
