// Tables of the range profiler, the profiler host API and the driver whose functions keep the rules that CUPTI 13.0 was
// seen to have: for tests of what takes counters. One of each per process, reset by MakeFake...; calls may come from
// several threads. What breaks a rule (a range inside a range, a name used twice, a second configuration of an object)
// is written down as a violation; tests end with none.
#ifndef GPUEXEC_TESTS_INJECT_FAKE_RANGE_PROFILER_TABLE_H_
#define GPUEXEC_TESTS_INJECT_FAKE_RANGE_PROFILER_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inject/cuda_api.h"
#include "inject/profiler_host_api.h"
#include "inject/range_profiler_api.h"

namespace gx::inject {

// ---------------------------------------------------------------------------------------------- the range profiler

// What the range with this number counts of a metric.
inline double FakeCounterValue(uint32_t order, std::string_view metric) {
  return static_cast<double>(order) * 1000 + static_cast<double>(metric.size());
}

struct FakeProfiler {
  struct Object {
    CUcontext context = nullptr;
    uint64_t number = 0;  // How many objects there were before.
    bool configured = false;
    bool started = false;
    bool range_open = false;
    bool replays = false;
    size_t max_ranges = 0;
    size_t pass = 0;  // Of the next start, or of the session that is started.
    size_t ranges_in_pass = 0;
    std::vector<std::string> names;
    const uint8_t* image = nullptr;
  };

  std::mutex mutex;
  // Calls of the range profiler and of its host objects, in order, without their common "cupti".
  std::vector<std::string> calls;
  std::vector<std::string> violations;
  // Results of calls, by the same name; success of those not named.
  std::map<std::string, CUptiResult> results;
  // Throws std::bad_alloc inside this call.
  std::string throws_in;
  // Runs inside every call, without a lock.
  std::function<void(const std::string& call)> inside;

  std::set<std::string> nan_metrics;
  std::set<std::string> refused_metrics;  // Evaluation fails where one of them is asked for.
  std::set<std::string> unknown_metrics;
  std::function<double(uint32_t order, std::string_view metric)> value = FakeCounterValue;
  bool last_range_first = false;  // In the image.
  size_t dropped = 0;
  std::map<uint32_t, std::string> chips;  // By device; "GH100" of those not named.
  CUpti_Profiler_Support_Level support = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  size_t passes = 1;  // Of metrics of one kind; of patched code and others together one more.
  bool added_both_kinds = false;

  std::map<uintptr_t, Object> objects;
  // Host objects: how many range profiler objects had been enabled when each was made.
  std::map<uintptr_t, uint64_t> host_objects;
  // Ranges of images, kept after their object is gone. The pass of a range is what its name begins with.
  std::map<const uint8_t*, std::vector<std::string>> images;
  // The pass of a metric, where a configuration has two: patched code comes last.
  static bool IsOfSecondPass(std::string_view metric) { return metric.find("__sass_") != std::string_view::npos; }
  bool HasTwoPasses() const {
    const auto second = std::count_if(last_metrics.begin(), last_metrics.end(), IsOfSecondPass);
    return second != 0 && second != std::ssize(last_metrics);
  }
  uint64_t enabled = 0;
  uint64_t pushes = 0;
  size_t last_max_ranges = 0;
  std::vector<std::string> last_metrics;
  uintptr_t next_handle = 0x1000;

  // [MT]
  std::vector<std::string> Violations() {
    const std::lock_guard lock(mutex);
    return violations;
  }
  std::vector<std::string> Calls() {
    const std::lock_guard lock(mutex);
    return calls;
  }
  size_t Count(std::string_view call) {
    const std::lock_guard lock(mutex);
    return static_cast<size_t>(std::count(calls.begin(), calls.end(), call));
  }
  size_t OpenObjects() {
    const std::lock_guard lock(mutex);
    return objects.size();
  }
  size_t HostObjects() {
    const std::lock_guard lock(mutex);
    return host_objects.size();
  }
  void Fail(const std::string& call, CUptiResult result) {
    const std::lock_guard lock(mutex);
    results[call] = result;
  }
  void Succeed() {
    const std::lock_guard lock(mutex);
    results.clear();
    throws_in.clear();
  }
};

inline FakeProfiler& TheFakeProfiler() {
  static FakeProfiler* fake = new FakeProfiler;
  return *fake;
}

namespace fake_profiler_internal {

// Notes a call, and answers what a test wants of it. `lock` is held afterwards.
inline CUptiResult Begin(const char* call, std::unique_lock<std::mutex>* lock) {
  FakeProfiler& fake = TheFakeProfiler();
  std::function<void(const std::string&)> inside;
  {
    const std::lock_guard brief(fake.mutex);
    fake.calls.emplace_back(call);
    inside = fake.inside;
  }
  if (inside) inside(call);
  *lock = std::unique_lock(fake.mutex);
  if (fake.throws_in == call) throw std::bad_alloc();
  const auto found = fake.results.find(call);
  return found == fake.results.end() ? CUPTI_SUCCESS : found->second;
}

inline FakeProfiler::Object* Find(CUpti_RangeProfiler_Object* handle, const char* call) {
  FakeProfiler& fake = TheFakeProfiler();
  const auto found = fake.objects.find(reinterpret_cast<uintptr_t>(handle));
  if (found != fake.objects.end()) return &found->second;
  fake.violations.push_back(std::string(call) + " of an object that is not enabled");
  return nullptr;
}

inline void CheckHost(const CUpti_Profiler_Host_Object* handle, const char* call) {
  FakeProfiler& fake = TheFakeProfiler();
  if (fake.host_objects.count(reinterpret_cast<uintptr_t>(handle)) == 0) {
    fake.violations.push_back(std::string(call) + " of a host object that does not live");
  }
}

inline uint32_t DeviceOf(CUcontext context) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) / 100);
}

}  // namespace fake_profiler_internal

inline RangeProfilerApi MakeFakeRangeProfiler() {
  using namespace fake_profiler_internal;
  FakeProfiler& fake = TheFakeProfiler();
  {
    const std::lock_guard lock(fake.mutex);
    fake.calls.clear();
    fake.violations.clear();
    fake.results.clear();
    fake.throws_in.clear();
    fake.inside = nullptr;
    fake.nan_metrics.clear();
    fake.refused_metrics.clear();
    fake.unknown_metrics.clear();
    fake.value = FakeCounterValue;
    fake.last_range_first = false;
    fake.dropped = 0;
    fake.chips.clear();
    fake.support = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    fake.passes = 1;
    fake.added_both_kinds = false;
    fake.objects.clear();
    fake.host_objects.clear();
    fake.images.clear();
    fake.enabled = 0;
    fake.pushes = 0;
    fake.last_max_ranges = 0;
    fake.last_metrics.clear();
  }
  RangeProfilerApi api;
  api.cuptiProfilerInitialize = [](CUpti_Profiler_Initialize_Params*) {
    std::unique_lock<std::mutex> lock;
    return Begin("ProfilerInitialize", &lock);
  };
  api.cuptiProfilerDeviceSupported = [](CUpti_Profiler_DeviceSupported_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("ProfilerDeviceSupported", &lock);
    params->isSupported = TheFakeProfiler().support;
    params->vGpu = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->confidentialCompute = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->wsl = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    params->sli = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return result;
  };
  api.cuptiDeviceGetChipName = [](CUpti_Device_GetChipName_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("DeviceGetChipName", &lock);
    std::string& chip = TheFakeProfiler().chips[static_cast<uint32_t>(params->deviceIndex)];
    if (chip.empty()) chip = "GH100";
    params->pChipName = chip.c_str();
    return result;
  };
  api.cuptiRangeProfilerEnable = [](CUpti_RangeProfiler_Enable_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerEnable", &lock);
    if (result != CUPTI_SUCCESS) return result;
    FakeProfiler& profiler = TheFakeProfiler();
    const uintptr_t handle = profiler.next_handle++;
    profiler.objects[handle].context = params->ctx;
    profiler.objects[handle].number = profiler.enabled++;
    params->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(handle);
    return result;
  };
  api.cuptiRangeProfilerDisable = [](CUpti_RangeProfiler_Disable_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerDisable", &lock);
    const FakeProfiler::Object* object = Find(params->pRangeProfilerObject, "Disable");
    if (object == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (object->range_open) TheFakeProfiler().violations.emplace_back("Disable with an open range");
    if (result == CUPTI_SUCCESS) {
      TheFakeProfiler().objects.erase(reinterpret_cast<uintptr_t>(params->pRangeProfilerObject));
    }
    return result;
  };
  api.cuptiRangeProfilerSetConfig = [](CUpti_RangeProfiler_SetConfig_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerSetConfig", &lock);
    FakeProfiler& profiler = TheFakeProfiler();
    FakeProfiler::Object* object = Find(params->pRangeProfilerObject, "SetConfig");
    if (object == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (object->configured) profiler.violations.emplace_back("a second configuration of one object");
    object->replays = params->replayMode == CUPTI_KernelReplay;
    if (params->range != (object->replays ? CUPTI_AutoRange : CUPTI_UserRange) ||
        params->replayMode != (object->replays ? CUPTI_KernelReplay : CUPTI_UserReplay)) {
      profiler.violations.emplace_back("SetConfig with ranges and replay that do not go together");
    }
    if (result != CUPTI_SUCCESS) return result;
    object->configured = true;
    object->max_ranges = params->maxRangesPerPass;
    object->image = params->pCounterDataImage;
    return result;
  };
  api.cuptiRangeProfilerStart = [](CUpti_RangeProfiler_Start_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerStart", &lock);
    FakeProfiler& profiler = TheFakeProfiler();
    FakeProfiler::Object* object = Find(params->pRangeProfilerObject, "Start");
    if (object == nullptr || !object->configured) return CUPTI_ERROR_INVALID_PARAMETER;
    if (result != CUPTI_SUCCESS) return result;
    for (const auto& [handle, other] : profiler.objects) {
      // One at a time on a device.
      if (other.started && DeviceOf(other.context) == DeviceOf(object->context)) return CUPTI_ERROR_INVALID_OPERATION;
    }
    object->started = true;
    return result;
  };
  api.cuptiRangeProfilerStop = [](CUpti_RangeProfiler_Stop_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerStop", &lock);
    FakeProfiler::Object* object = Find(params->pRangeProfilerObject, "Stop");
    if (object == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (!object->started) TheFakeProfiler().violations.emplace_back("Stop without Start");
    object->started = false;
    object->pass = TheFakeProfiler().HasTwoPasses() ? 1 - object->pass : 0;
    object->ranges_in_pass = 0;
    params->passIndex = object->pass;
    params->isAllPassSubmitted = object->pass == 0;
    return result;
  };
  api.cuptiRangeProfilerPushRange = [](CUpti_RangeProfiler_PushRange_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerPushRange", &lock);
    FakeProfiler& profiler = TheFakeProfiler();
    FakeProfiler::Object* object = Find(params->pRangeProfilerObject, "Push");
    if (object == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (!object->started) profiler.violations.emplace_back("Push before Start");
    if (object->range_open) profiler.violations.emplace_back("a range inside a range");
    if (object->replays) profiler.violations.emplace_back("Push in a session of kernel replay");
    if (std::find(object->names.begin(), object->names.end(), params->pRangeName) != object->names.end()) {
      profiler.violations.push_back("the name " + std::string(params->pRangeName) + " a second time");
    }
    if (result != CUPTI_SUCCESS) return result;
    if (object->ranges_in_pass >= object->max_ranges) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    if (params->pRangeName[0] != (object->pass == 0 ? 'r' : 's'))
      profiler.violations.emplace_back("a name of another pass");
    ++object->ranges_in_pass;
    ++profiler.pushes;
    object->range_open = true;
    object->names.emplace_back(params->pRangeName);
    return result;
  };
  api.cuptiRangeProfilerPopRange = [](CUpti_RangeProfiler_PopRange_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerPopRange", &lock);
    FakeProfiler::Object* object = Find(params->pRangeProfilerObject, "Pop");
    if (object == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (!object->range_open) TheFakeProfiler().violations.emplace_back("Pop without Push");
    object->range_open = false;
    return result;
  };
  api.cuptiRangeProfilerDecodeData = [](CUpti_RangeProfiler_DecodeData_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerDecodeData", &lock);
    FakeProfiler& profiler = TheFakeProfiler();
    const FakeProfiler::Object* object = Find(params->pRangeProfilerObject, "DecodeData");
    if (object == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (object->started) profiler.violations.emplace_back("DecodeData before Stop");
    params->numOfRangeDropped = profiler.dropped;
    if (result == CUPTI_SUCCESS) profiler.images[object->image] = object->names;
    return result;
  };
  api.cuptiRangeProfilerGetCounterDataSize = [](CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerGetCounterDataSize", &lock);
    (void)Find(params->pRangeProfilerObject, "GetCounterDataSize");
    TheFakeProfiler().last_max_ranges = params->maxNumOfRanges;
    TheFakeProfiler().last_metrics.assign(params->pMetricNames, params->pMetricNames + params->numMetrics);
    params->counterDataSize = 64 + params->maxNumOfRanges * 8;
    return result;
  };
  api.cuptiRangeProfilerCounterDataImageInitialize =
      [](CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
        std::unique_lock<std::mutex> lock;
        const CUptiResult result = Begin("RangeProfilerCounterDataImageInitialize", &lock);
        (void)Find(params->pRangeProfilerObject, "CounterDataImageInitialize");
        std::fill_n(params->pCounterData, params->counterDataSize, uint8_t{1});
        TheFakeProfiler().images[params->pCounterData] = {};
        return result;
      };
  api.cuptiRangeProfilerGetCounterDataInfo = [](CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerGetCounterDataInfo", &lock);
    if (result == CUPTI_SUCCESS) params->numTotalRanges = TheFakeProfiler().images[params->pCounterDataImage].size();
    return result;
  };
  api.cuptiRangeProfilerCounterDataGetRangeInfo = [](CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("RangeProfilerCounterDataGetRangeInfo", &lock);
    FakeProfiler& profiler = TheFakeProfiler();
    const std::vector<std::string>& names = profiler.images[params->pCounterDataImage];
    if (params->rangeIndex >= names.size()) return CUPTI_ERROR_INVALID_PARAMETER;
    const size_t index = profiler.last_range_first ? names.size() - 1 - params->rangeIndex : params->rangeIndex;
    params->rangeName = names[index].c_str();
    return result;
  };
  api.cuptiProfilerGetCounterAvailability = [](CUpti_Profiler_GetCounterAvailability_Params*) {
    std::unique_lock<std::mutex> lock;
    return Begin("ProfilerGetCounterAvailability", &lock);
  };
  api.cuptiProfilerHostEvaluateToGpuValues = [](CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("ProfilerHostEvaluateToGpuValues", &lock);
    FakeProfiler& profiler = TheFakeProfiler();
    CheckHost(params->pHostObject, "Evaluate");
    if (profiler.host_objects[reinterpret_cast<uintptr_t>(params->pHostObject)] != profiler.enabled) {
      profiler.violations.emplace_back("evaluation with a host object of an earlier session");
    }
    if (result != CUPTI_SUCCESS) return result;
    const std::vector<std::string>& names = profiler.images[params->pCounterDataImage];
    if (params->rangeIndex >= names.size()) return CUPTI_ERROR_INVALID_PARAMETER;
    const size_t index = profiler.last_range_first ? names.size() - 1 - params->rangeIndex : params->rangeIndex;
    for (size_t i = 0; i < params->numMetrics; ++i) {
      const std::string metric = params->ppMetricNames[i];
      if (profiler.refused_metrics.count(metric) != 0) return CUPTI_ERROR_INVALID_METRIC_NAME;
      const bool other_pass =
          profiler.HasTwoPasses() && FakeProfiler::IsOfSecondPass(metric) != (names[index][0] == 's');
      params->pMetricValues[i] =
          profiler.nan_metrics.count(metric) != 0 || other_pass
              ? std::numeric_limits<double>::quiet_NaN()
              : profiler.value(static_cast<uint32_t>(std::stoul(names[index].substr(1))), metric);
    }
    return result;
  };
  return api;
}

// A launch, as a session of kernel replay sees it: the range has a name that CUPTI makes up.
inline void FakeReplayedLaunch() {
  FakeProfiler& profiler = TheFakeProfiler();
  const std::lock_guard lock(profiler.mutex);
  for (auto& [handle, object] : profiler.objects) {
    if (!object.replays || !object.started) continue;
    if (!object.names.empty()) profiler.violations.emplace_back("a second launch in a session of kernel replay");
    object.names.push_back("#" + std::to_string(object.names.size()));
  }
}

// After MakeFakeRangeProfiler, which resets both.
inline ProfilerHostApi MakeFakeProfilerHost() {
  using namespace fake_profiler_internal;
  ProfilerHostApi api;
  api.cuptiProfilerHostInitialize = [](CUpti_Profiler_Host_Initialize_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("ProfilerHostInitialize", &lock);
    if (result != CUPTI_SUCCESS) return result;
    FakeProfiler& profiler = TheFakeProfiler();
    const uintptr_t handle = profiler.next_handle++;
    profiler.host_objects[handle] = profiler.enabled;
    params->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(handle);
    return result;
  };
  api.cuptiProfilerHostDeinitialize = [](CUpti_Profiler_Host_Deinitialize_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("ProfilerHostDeinitialize", &lock);
    CheckHost(params->pHostObject, "Deinitialize");
    TheFakeProfiler().host_objects.erase(reinterpret_cast<uintptr_t>(params->pHostObject));
    return result;
  };
  api.cuptiProfilerHostGetSupportedChips = [](CUpti_Profiler_Host_GetSupportedChips_Params* params) {
    params->numChips = 0;
    return CUPTI_SUCCESS;
  };
  api.cuptiProfilerHostGetMetricProperties = [](CUpti_Profiler_Host_GetMetricProperties_Params* params) {
    FakeProfiler& profiler = TheFakeProfiler();
    const std::lock_guard lock(profiler.mutex);
    return profiler.unknown_metrics.count(params->pMetricName) != 0 ? CUPTI_ERROR_INVALID_METRIC_NAME : CUPTI_SUCCESS;
  };
  api.cuptiProfilerHostConfigAddMetrics = [](CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("ProfilerHostConfigAddMetrics", &lock);
    CheckHost(params->pHostObject, "ConfigAddMetrics");
    size_t second = 0;
    for (size_t i = 0; i < params->numMetrics; ++i) {
      if (TheFakeProfiler().unknown_metrics.count(params->ppMetricNames[i]) != 0) return CUPTI_ERROR_INVALID_PARAMETER;
      second += FakeProfiler::IsOfSecondPass(params->ppMetricNames[i]) ? 1 : 0;
    }
    TheFakeProfiler().added_both_kinds = second != 0 && second != params->numMetrics;
    return result;
  };
  api.cuptiProfilerHostGetConfigImageSize = [](CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("ProfilerHostGetConfigImageSize", &lock);
    CheckHost(params->pHostObject, "GetConfigImageSize");
    params->configImageSize = 32;
    return result;
  };
  api.cuptiProfilerHostGetConfigImage = [](CUpti_Profiler_Host_GetConfigImage_Params* params) {
    std::unique_lock<std::mutex> lock;
    const CUptiResult result = Begin("ProfilerHostGetConfigImage", &lock);
    CheckHost(params->pHostObject, "GetConfigImage");
    std::fill_n(params->pConfigImage, params->configImageSize, uint8_t{7});
    return result;
  };
  api.cuptiProfilerHostGetNumOfPasses = [](CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
    FakeProfiler& profiler = TheFakeProfiler();
    const std::lock_guard lock(profiler.mutex);
    params->numOfPasses = profiler.passes + (profiler.added_both_kinds ? 1 : 0);
    return CUPTI_SUCCESS;
  };
  return api;
}

// ---------------------------------------------------------------------------------------------- the driver

struct FakeSamplingDriver {
  std::mutex mutex;
  // What cuStreamQuery says of streams; CUDA_SUCCESS of those not named. What cuEventQuery says.
  std::map<CUstream, CUresult> streams;
  CUresult event = CUDA_SUCCESS;
  CUresult event_create = CUDA_SUCCESS;
  CUresult event_record = CUDA_SUCCESS;
  CUresult push_current = CUDA_SUCCESS;
  // Runs inside cuStreamQuery and cuEventQuery, without a lock.
  std::function<void(const char* call)> inside_query;
  int64_t events_living = 0;
  uint64_t queries = 0;

  // [MT]
  void Answer(CUstream stream, CUresult result) {
    const std::lock_guard lock(mutex);
    streams[stream] = result;
  }
  void AnswerEvent(CUresult result) {
    const std::lock_guard lock(mutex);
    event = result;
  }
  int64_t EventsLiving() {
    const std::lock_guard lock(mutex);
    return events_living;
  }
};

inline FakeSamplingDriver& TheFakeDriver() {
  static FakeSamplingDriver* fake = new FakeSamplingDriver;
  return *fake;
}

// The contexts that are current on the calling thread, the last one on top.
inline std::vector<CUcontext>& FakeCurrentContexts() {
  static thread_local std::vector<CUcontext> current;
  return current;
}

inline CudaApi MakeFakeSamplingDriver() {
  FakeSamplingDriver& fake = TheFakeDriver();
  {
    const std::lock_guard lock(fake.mutex);
    fake.streams.clear();
    fake.event = CUDA_SUCCESS;
    fake.event_create = CUDA_SUCCESS;
    fake.event_record = CUDA_SUCCESS;
    fake.push_current = CUDA_SUCCESS;
    fake.inside_query = nullptr;
    fake.events_living = 0;
    fake.queries = 0;
  }
  FakeCurrentContexts().clear();
  CudaApi cuda;
  cuda.cuCtxGetCurrent = [](CUcontext* context) {
    *context = FakeCurrentContexts().empty() ? nullptr : FakeCurrentContexts().back();
    return CUDA_SUCCESS;
  };
  cuda.cuCtxPushCurrent_v2 = [](CUcontext context) {
    FakeSamplingDriver& driver = TheFakeDriver();
    const std::lock_guard lock(driver.mutex);
    if (driver.push_current == CUDA_SUCCESS) FakeCurrentContexts().push_back(context);
    return driver.push_current;
  };
  cuda.cuCtxPopCurrent_v2 = [](CUcontext* context) {
    if (FakeCurrentContexts().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *context = FakeCurrentContexts().back();
    FakeCurrentContexts().pop_back();
    return CUDA_SUCCESS;
  };
  cuda.cuStreamQuery = [](CUstream stream) {
    FakeSamplingDriver& driver = TheFakeDriver();
    std::function<void(const char*)> inside;
    {
      const std::lock_guard lock(driver.mutex);
      ++driver.queries;
      inside = driver.inside_query;
    }
    if (inside) inside("cuStreamQuery");
    const std::lock_guard lock(driver.mutex);
    const auto found = driver.streams.find(stream);
    return found == driver.streams.end() ? CUDA_SUCCESS : found->second;
  };
  cuda.cuEventCreate = [](CUevent* event, unsigned int) {
    FakeSamplingDriver& driver = TheFakeDriver();
    const std::lock_guard lock(driver.mutex);
    if (driver.event_create != CUDA_SUCCESS) return driver.event_create;
    ++driver.events_living;
    *event = reinterpret_cast<CUevent>(uintptr_t{0xE0});
    return CUDA_SUCCESS;
  };
  cuda.cuEventRecord = [](CUevent, CUstream) {
    FakeSamplingDriver& driver = TheFakeDriver();
    const std::lock_guard lock(driver.mutex);
    return driver.event_record;
  };
  cuda.cuEventQuery = [](CUevent) {
    FakeSamplingDriver& driver = TheFakeDriver();
    std::function<void(const char*)> inside;
    {
      const std::lock_guard lock(driver.mutex);
      ++driver.queries;
      inside = driver.inside_query;
    }
    if (inside) inside("cuEventQuery");
    const std::lock_guard lock(driver.mutex);
    return driver.event;
  };
  cuda.cuEventDestroy_v2 = [](CUevent) {
    FakeSamplingDriver& driver = TheFakeDriver();
    const std::lock_guard lock(driver.mutex);
    --driver.events_living;
    return CUDA_SUCCESS;
  };
  return cuda;
}

}  // namespace gx::inject

#endif  // GPUEXEC_TESTS_INJECT_FAKE_RANGE_PROFILER_TABLE_H_
