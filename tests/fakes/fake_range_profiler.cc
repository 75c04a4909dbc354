// The fake CUPTI's Range Profiler API, and what it needs of the Profiler API.
#include "tests/fakes/fake_range_profiler.h"

#include <cupti.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/fake_client_call.h"
#include "tests/fakes/fake_log.h"
#include "tests/fakes/fake_scenario.h"

namespace gx::fakes {
namespace {

constexpr char kCounterDataMagic[] = "fake counter data";
constexpr size_t kRangeNameBytes = 64;

struct CounterDataHeader {
  char magic[sizeof(kCounterDataMagic)] = {};
  uint64_t object_id = 0;
  uint64_t max_range_count = 0;
  uint64_t range_count = 0;
};

struct CounterDataRange {
  char name[kRangeNameBytes] = {};
  CountedWork counted;
  bool first = false;
  bool void_values = false;
  bool replayed = false;
  size_t pass = 0;
};

size_t CounterDataBytes(uint64_t max_range_count) {
  return sizeof(CounterDataHeader) + max_range_count * sizeof(CounterDataRange);
}

bool ReadHeader(const uint8_t* image, size_t image_bytes, CounterDataHeader* header) {
  if (image == nullptr || image_bytes < sizeof(*header)) return false;
  std::memcpy(header, image, sizeof(*header));
  return std::memcmp(header->magic, kCounterDataMagic, sizeof(kCounterDataMagic)) == 0 &&
         header->max_range_count <= image_bytes && CounterDataBytes(header->max_range_count) <= image_bytes &&
         header->range_count <= header->max_range_count;
}

bool ReadRange(const uint8_t* image, size_t image_bytes, size_t index, CounterDataRange* range) {
  CounterDataHeader header;
  if (!ReadHeader(image, image_bytes, &header) || index >= header.range_count) return false;
  std::memcpy(range, image + CounterDataBytes(index), sizeof(*range));
  return true;
}

void SpendTime(uint64_t microseconds) {
  timespec pause{static_cast<time_t>(microseconds / 1'000'000), static_cast<long>(microseconds % 1'000'000 * 1000)};
  nanosleep(&pause, nullptr);
}

// As the real library does, the first session to start registers what is destroyed at the program's end: later than a
// tool that is loaded with it registered its own. A call that is then under way, or comes later, would crash.
std::atomic<bool> library_ended{false};
std::atomic<int> calls_under_way{0};

void RegisterEnd() {
  static const int registered = std::atexit([] {
    library_ended.store(true);
    // A call that never returns cannot be waited for.
    if (calls_under_way.load() != 0 && GetScenario().hangs.empty())
      LogViolation("the library's end under a call of its Range Profiler API");
  });
  if (registered != 0) LogViolation("atexit failed");
}

class CallUnderWay {
 public:
  explicit CallUnderWay(const char* function) {
    calls_under_way.fetch_add(1);
    if (library_ended.load()) LogViolation(std::string(function) + " after the library's end");
  }
  ~CallUnderWay() { calls_under_way.fetch_sub(1); }
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;
};

struct Range {
  std::string name;
  CountedWork counted;
  size_t pass = 0;
};

// What stands behind a CUpti_RangeProfiler_Object.
struct RangeObject {
  uint64_t id = 0;
  CUcontext context = nullptr;
  uint32_t context_id = 0;
  std::shared_ptr<const CounterSetup> setup;  // Null: not configured.
  bool reconfigured = false;
  bool replays = false;  // Ranges of its own around single kernels, which it runs once for each pass.
  uint8_t* image = nullptr;
  size_t image_bytes = 0;
  size_t max_range_count = 0;
  bool started = false;
  size_t pass = 0;  // That is counted, or would be next.
  bool range_open = false;
  std::deque<Range> ranges;  // Of the session; names differ.

  bool has_several_passes() const { return setup != nullptr && setup->pass_count > 1 && !replays; }
  // Whether launches run patched code.
  bool is_patched() const {
    return setup != nullptr && setup->has_sass && (!has_several_passes() || pass == setup->sass_pass);
  }
  size_t open_index = 0;
  // Ranges of sessions that were stopped, until they are decoded.
  std::vector<Range> stopped;
  std::atomic<int> calls_under_way{0};
};

std::vector<std::string> MetricsOfPass(const RangeObject& object) {
  if (!object.has_several_passes()) return object.setup->metrics;
  std::vector<std::string> metrics;
  for (size_t i = 0; i < object.setup->metrics.size(); ++i) {
    if (object.setup->passes[i] == object.pass) metrics.push_back(object.setup->metrics[i]);
  }
  return metrics;
}

std::string FirstOf(const std::vector<std::string>& metrics) { return metrics.empty() ? "" : metrics.front(); }

CUptiResult Denied() { return GetScenario().counters_denied ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_SUCCESS; }

// A violation, unless a call that was made to fail is the reason.
void LogDisorder(const char* what) {
  if (!AnyCountedCallFailed()) LogViolation(what);
}

class RangeProfilers {
 public:
  static RangeProfilers& Get() {
    static auto& profilers = *new RangeProfilers();
    return profilers;
  }

  std::atomic<bool> initialized{false};

  CUptiResult Enable(CUpti_RangeProfiler_Enable_Params* params) {
    CUcontext context = params->ctx;
    if (context == nullptr) context = FindDriver()->current_context();
    uint32_t context_id = 0;
    if (!FindDriver()->context_id(context, &context_id)) return CUPTI_ERROR_INVALID_CONTEXT;
    std::lock_guard lock(mutex_);
    for (const auto& [handle, object] : objects_) {
      if (object->context_id == context_id) return CUPTI_ERROR_INVALID_OPERATION;
    }
    // The memory of an object is never used again, so that a stale handle is seen.
    auto* object = &storage_.emplace_back();
    object->id = ++next_id_;
    object->context = context;
    object->context_id = context_id;
    params->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(object);
    objects_[params->pRangeProfilerObject] = object;
    enabled_count_.fetch_add(1);
    LogLine("counters").Add("does", "enable").Add("object", object->id).Add("context", context_id);
    return CUPTI_SUCCESS;
  }

  CUptiResult Disable(RangeObject* object) {
    if (object->range_open) LogDisorder("cuptiRangeProfilerDisable with an open range");
    if (object->started) LogDisorder("cuptiRangeProfilerDisable before cuptiRangeProfilerStop");
    LogLine("counters").Add("does", "disable").Add("object", object->id).Add("context", object->context_id);
    std::lock_guard lock(mutex_);
    objects_.erase(reinterpret_cast<CUpti_RangeProfiler_Object*>(object));
    enabled_count_.fetch_sub(1);
    return CUPTI_SUCCESS;
  }

  CUptiResult SetConfig(RangeObject* object, const CUpti_RangeProfiler_SetConfig_Params& params) {
    const auto setup = ReadConfigImage(params.pConfig, params.configSize);
    CounterDataHeader header;
    if (setup == nullptr || !ReadHeader(params.pCounterDataImage, params.counterDataImageSize, &header) ||
        header.object_id != object->id || params.maxRangesPerPass == 0 || params.numNestingLevels != 1 ||
        !((params.range == CUPTI_UserRange && params.replayMode == CUPTI_UserReplay) ||
          (params.range == CUPTI_AutoRange && params.replayMode == CUPTI_KernelReplay))) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (object->started) return CUPTI_ERROR_INVALID_OPERATION;
    std::lock_guard lock(mutex_);
    uint64_t& user = host_users_[setup->host_id];
    if (user != 0 && user != object->id) {
      LogViolation("a host object of an earlier range profiler object is configured again");
      return CUPTI_ERROR_UNKNOWN;
    }
    user = object->id;
    if (object->setup != nullptr) {
      LogViolation("a second configuration of a range profiler object: every value is NaN");
      object->reconfigured = true;
    }
    object->replays = params.replayMode == CUPTI_KernelReplay;
    if (setup->pass_count > 2 && !object->replays) LogViolation("a configuration of many passes in user replay");
    object->pass = 0;
    object->setup = setup;
    object->image = params.pCounterDataImage;
    object->image_bytes = params.counterDataImageSize;
    object->max_range_count = std::min<size_t>(params.maxRangesPerPass, header.max_range_count);
    return CUPTI_SUCCESS;
  }

  CUptiResult Start(RangeObject* object) {
    if (object->setup == nullptr || object->started) return CUPTI_ERROR_INVALID_OPERATION;
    FindDriver()->wait_context_idle(object->context);
    SpendTime(GetScenario().counter_start_us / 2);
    RegisterEnd();
    SpendTime(GetScenario().counter_start_us / 2);
    std::lock_guard lock(mutex_);
    object->started = true;
    object->ranges.clear();
    LogLine("counters")
        .Add("does", "start")
        .Add("object", object->id)
        .Add("context", object->context_id)
        .Add("sass", uint64_t{object->is_patched()})
        .Add("metrics", MetricsOfPass(*object).size())
        .Add("first_metric", FirstOf(MetricsOfPass(*object)))
        .Add("time", GpuNowNs());
    return CUPTI_SUCCESS;
  }

  CUptiResult Stop(RangeObject* object, CUpti_RangeProfiler_Stop_Params* params) {
    if (!object->started) return CUPTI_ERROR_INVALID_OPERATION;
    if (object->range_open) {
      LogDisorder("cuptiRangeProfilerStop with an open range");
      return CUPTI_ERROR_INVALID_OPERATION;
    }
    FindDriver()->wait_context_idle(object->context);
    std::lock_guard lock(mutex_);
    object->started = false;
    object->stopped.assign(object->ranges.begin(), object->ranges.end());
    for (Range& range : object->stopped) range.pass = object->pass;
    if (object->has_several_passes()) object->pass = (object->pass + 1) % object->setup->pass_count;
    params->passIndex = object->pass;
    params->targetNestingLevel = 1;
    params->isAllPassSubmitted = object->pass == 0;
    LogLine("counters")
        .Add("does", "stop")
        .Add("object", object->id)
        .Add("context", object->context_id)
        .Add("ranges", object->stopped.size())
        .Add("time", GpuNowNs());
    return CUPTI_SUCCESS;
  }

  CUptiResult Push(RangeObject* object, const char* name) {
    if (!object->started || name == nullptr || std::strlen(name) >= kRangeNameBytes) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (object->replays) {
      LogViolation("cuptiRangeProfilerPushRange in a session of kernel replay");
      return CUPTI_ERROR_INVALID_OPERATION;
    }
    if (object->range_open) {
      LogDisorder("cuptiRangeProfilerPushRange inside a range");
      return CUPTI_ERROR_INVALID_OPERATION;
    }
    {
      std::lock_guard lock(mutex_);
      if (object->ranges.size() >= object->max_range_count) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    if (!object->is_patched()) {
      FindDriver()->wait_context_idle(object->context);
      SpendTime(GetScenario().counter_range_us);
    }
    std::lock_guard lock(mutex_);
    const auto same = std::find_if(object->ranges.begin(), object->ranges.end(),
                                   [name](const Range& range) { return range.name == name; });
    object->open_index = static_cast<size_t>(same - object->ranges.begin());
    if (same == object->ranges.end()) object->ranges.push_back({name, {}, 0});
    object->range_open = true;
    return CUPTI_SUCCESS;
  }

  CUptiResult Pop(RangeObject* object) {
    if (!object->range_open) {
      LogDisorder("cuptiRangeProfilerPopRange without a range");
      return CUPTI_ERROR_INVALID_OPERATION;
    }
    if (!object->is_patched()) FindDriver()->wait_context_idle(object->context);
    std::lock_guard lock(mutex_);
    object->range_open = false;
    const Range& range = object->ranges[object->open_index];
    LogLine("range")
        .Add("object", object->id)
        .Add("context", object->context_id)
        .Add("index", object->open_index)
        .Add("name", range.name)
        .Add("sass", uint64_t{object->is_patched()})
        .Add("first_metric", FirstOf(MetricsOfPass(*object)))
        .Add("kernels", range.counted.kernel_count)
        .Add("copies", range.counted.copy_count)
        .Add("contaminated", range.counted.contaminated_count)
        .Add("threads", range.counted.thread_count)
        .Add("warps", range.counted.warp_count)
        .Add("instructions", range.counted.instruction_count);
    return CUPTI_SUCCESS;
  }

  CUptiResult Decode(RangeObject* object, size_t* dropped_count) {
    std::lock_guard lock(mutex_);
    CounterDataHeader header;
    if (object->started || object->setup == nullptr || !ReadHeader(object->image, object->image_bytes, &header)) {
      return CUPTI_ERROR_INVALID_OPERATION;
    }
    *dropped_count = 0;
    for (const Range& range : object->stopped) {
      if (header.range_count >= header.max_range_count) {
        ++*dropped_count;
        continue;
      }
      CounterDataRange decoded;
      std::strncpy(decoded.name, range.name.c_str(), kRangeNameBytes - 1);
      decoded.counted = range.counted;
      decoded.first = header.range_count == 0 && !object->replays;
      decoded.pass = range.pass;
      decoded.replayed = object->replays;
      decoded.void_values = object->reconfigured;
      std::memcpy(object->image + CounterDataBytes(header.range_count), &decoded, sizeof(decoded));
      ++header.range_count;
    }
    object->stopped.clear();
    std::memcpy(object->image, &header, sizeof(header));
    return CUPTI_SUCCESS;
  }

  void Count(const Work& work, bool contaminated) {
    if (enabled_count_.load() == 0) return;
    std::lock_guard lock(mutex_);
    for (const auto& [handle, object] : objects_) {
      if (object->context_id != work.context_id) continue;
      if (object->replays && object->started && work.kind == WorkKind::kKernel)
        CountReplayed(object, work, contaminated);
      if (!object->range_open) continue;
      CountedWork* counted = &object->ranges[object->open_index].counted;
      if (work.kind == WorkKind::kKernel) {
        // What comes later into a range that was given up on (its kernel did not end) harms nobody.
        if (contaminated && counted->kernel_count == 0) {
          LogViolation("a kernel is counted while kernel activity is on");
        }
        CountKernel(work.name, work.shape.grid, work.shape.block, work.attributes.duration_ns, contaminated, counted);
      } else {
        CountCopy(work.size_bytes, counted);
      }
    }
  }

  bool BlocksLaunches(uint32_t context_id) {
    if (enabled_count_.load() == 0) return false;
    std::lock_guard lock(mutex_);
    return std::any_of(objects_.begin(), objects_.end(), [context_id](const auto& entry) {
      const RangeObject& object = *entry.second;
      return object.context_id == context_id &&
             ((object.replays && object.started) || (object.range_open && object.is_patched()));
    });
  }

  void CheckNone(uint32_t context_id) {
    if (enabled_count_.load() == 0) return;
    std::lock_guard lock(mutex_);
    for (const auto& [handle, object] : objects_) {
      // A range that was given up on leaves its object behind: nobody may touch it any more.
      if (object->context_id == context_id && !object->range_open) {
        LogDisorder("a context goes while counters are enabled in it");
      }
    }
  }

  std::shared_ptr<const CounterSetup> SetupOf(uint64_t object_id) {
    std::lock_guard lock(mutex_);
    for (const RangeObject& object : storage_) {
      if (object.id == object_id) return object.setup;
    }
    return nullptr;
  }

  // Calls body(object), for calls that need the device. One call at a time for each object.
  template <typename Body>
  CUptiResult With(CUpti_RangeProfiler_Object* handle, const char* function, const Body& body) {
    RangeObject* object = nullptr;
    {
      std::lock_guard lock(mutex_);
      const auto found = objects_.find(handle);
      if (found == objects_.end()) {
        LogViolation(std::string(function) + " with an object that is not enabled");
        return CUPTI_ERROR_INVALID_PARAMETER;
      }
      object = found->second;
    }
    if (object->calls_under_way.fetch_add(1) != 0) {
      LogViolation(std::string(function) + " while another call uses the object");
    }
    const CUptiResult result = body(object);
    object->calls_under_way.fetch_sub(1);
    return result;
  }

 private:
  // Requires the lock. The real library did not survive a second launch in such a session.
  static void CountReplayed(RangeObject* object, const Work& work, bool contaminated) {
    if (object->ranges.size() >= object->max_range_count) {
      LogViolation("a second launch in a session of kernel replay");
      return;
    }
    if (contaminated) LogViolation("a kernel is replayed while kernel activity is on");
    Range& range = object->ranges.emplace_back();
    range.name = std::to_string(object->ranges.size() - 1);
    CountKernel(work.name, work.shape.grid, work.shape.block, work.attributes.duration_ns, contaminated,
                &range.counted);
    LogLine("replay")
        .Add("object", object->id)
        .Add("context", object->context_id)
        .Add("kernel", work.name)
        .Add("passes", object->setup->pass_count)
        .Add("metrics", object->setup->metrics.size());
  }

  std::mutex mutex_;
  uint64_t next_id_ = 0;
  std::atomic<int> enabled_count_{0};
  std::deque<RangeObject> storage_;
  std::map<CUpti_RangeProfiler_Object*, RangeObject*> objects_;  // Enabled.
  std::map<uint64_t, uint64_t> host_users_;                      // Host object -> range profiler object.
};

// Counters are no business of an open capture: the real calls wait for the device, which makes it invalid.
void CheckCapture(const char* function) {
  if (FindDriver()->any_capture()) FindDriver()->invalidate_captures(function);
}

}  // namespace

void CountInOpenRanges(const Work& work, bool contaminated) { RangeProfilers::Get().Count(work, contaminated); }

bool RangeBlocksLaunches(uint32_t context_id) { return RangeProfilers::Get().BlocksLaunches(context_id); }

void CheckNoSession(uint32_t context_id) { RangeProfilers::Get().CheckNone(context_id); }

bool ReadCounterData(const uint8_t* image, size_t image_bytes, size_t range_index, DecodedRange* range) {
  CounterDataHeader header;
  CounterDataRange stored;
  if (!ReadHeader(image, image_bytes, &header) || !ReadRange(image, image_bytes, range_index, &stored)) return false;
  range->object_id = header.object_id;
  range->setup = RangeProfilers::Get().SetupOf(header.object_id);
  range->counted = stored.counted;
  range->first = stored.first;
  range->void_values = stored.void_values;
  range->replayed = stored.replayed;
  range->pass = stored.pass;
  return range->setup != nullptr;
}

}  // namespace gx::fakes

using namespace gx::fakes;  // NOLINT: the rest of this file is the C interface.

#define GX_BEGIN_COUNTERS(name, type)                                                                      \
  const CallUnderWay under_way(#name);                                                                     \
  if (params == nullptr || params->structSize != type##_STRUCT_SIZE) return CUPTI_ERROR_INVALID_PARAMETER; \
  if (const CUptiResult refused = BeginCountedCall(#name, true); refused != CUPTI_SUCCESS) return refused; \
  if (FindDriver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
#define GX_NEEDS_PROFILER() \
  if (!RangeProfilers::Get().initialized.load()) return CUPTI_ERROR_NOT_INITIALIZED;
#define GX_NEEDS_PERMISSION() \
  if (const CUptiResult denied = Denied(); denied != CUPTI_SUCCESS) return denied;

GX_EXPORT CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* params) {
  GX_BEGIN_COUNTERS(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params);
  RangeProfilers::Get().initialized.store(true);
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* params) {
  GX_BEGIN_COUNTERS(cuptiProfilerDeviceSupported, CUpti_Profiler_DeviceSupported_Params);
  GX_NEEDS_PROFILER();
  if (params->cuDevice < 0 || params->cuDevice >= GetScenario().device_count) return CUPTI_ERROR_INVALID_DEVICE;
  const bool refused = GetScenario().counters_unsupported;
  params->isSupported = refused ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  params->architecture = params->sli = params->confidentialCompute = params->cmp = params->wsl =
      CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  params->vGpu = refused ? CUPTI_PROFILER_CONFIGURATION_DISABLED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  return CUPTI_SUCCESS;
}

// Twice, as the real one: first for the size.
GX_EXPORT CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* params) {
  GX_BEGIN_COUNTERS(cuptiProfilerGetCounterAvailability, CUpti_Profiler_GetCounterAvailability_Params);
  GX_NEEDS_PROFILER();
  GX_NEEDS_PERMISSION();
  CUcontext context = params->ctx == nullptr ? FindDriver()->current_context() : params->ctx;
  uint32_t context_id = 0;
  if (!FindDriver()->context_id(context, &context_id)) return CUPTI_ERROR_INVALID_CONTEXT;
  CheckCapture("cuptiProfilerGetCounterAvailability");
  if (params->pCounterAvailabilityImage != nullptr) {
    if (params->counterAvailabilityImageSize < sizeof(kAvailabilityImage)) {
      return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    }
    std::memcpy(params->pCounterAvailabilityImage, kAvailabilityImage, sizeof(kAvailabilityImage));
  }
  params->counterAvailabilityImageSize = sizeof(kAvailabilityImage);
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  GX_BEGIN_COUNTERS(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params);
  if (params->deviceIndex >= static_cast<size_t>(GetScenario().device_count)) return CUPTI_ERROR_INVALID_DEVICE;
  params->pChipName = kChipName;
  return CUPTI_SUCCESS;
}

GX_EXPORT CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerEnable, CUpti_RangeProfiler_Enable_Params);
  GX_NEEDS_PROFILER();
  GX_NEEDS_PERMISSION();
  CheckCapture("cuptiRangeProfilerEnable");
  return RangeProfilers::Get().Enable(params);
}

#define GX_WITH_OBJECT(name, body) RangeProfilers::Get().With(params->pRangeProfilerObject, #name, body)

GX_EXPORT CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable_Params);
  CheckCapture("cuptiRangeProfilerDisable");
  return GX_WITH_OBJECT(cuptiRangeProfilerDisable,
                        [](RangeObject* object) { return RangeProfilers::Get().Disable(object); });
}

GX_EXPORT CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig_Params);
  GX_NEEDS_PERMISSION();
  CheckCapture("cuptiRangeProfilerSetConfig");
  return GX_WITH_OBJECT(cuptiRangeProfilerSetConfig,
                        [&](RangeObject* object) { return RangeProfilers::Get().SetConfig(object, *params); });
}

GX_EXPORT CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerStart, CUpti_RangeProfiler_Start_Params);
  GX_NEEDS_PERMISSION();
  CheckCapture("cuptiRangeProfilerStart");
  return GX_WITH_OBJECT(cuptiRangeProfilerStart,
                        [](RangeObject* object) { return RangeProfilers::Get().Start(object); });
}

GX_EXPORT CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerStop, CUpti_RangeProfiler_Stop_Params);
  CheckCapture("cuptiRangeProfilerStop");
  return GX_WITH_OBJECT(cuptiRangeProfilerStop,
                        [&](RangeObject* object) { return RangeProfilers::Get().Stop(object, params); });
}

GX_EXPORT CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerPushRange, CUpti_RangeProfiler_PushRange_Params);
  CheckCapture("cuptiRangeProfilerPushRange");
  return GX_WITH_OBJECT(cuptiRangeProfilerPushRange,
                        [&](RangeObject* object) { return RangeProfilers::Get().Push(object, params->pRangeName); });
}

GX_EXPORT CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerPopRange, CUpti_RangeProfiler_PopRange_Params);
  CheckCapture("cuptiRangeProfilerPopRange");
  return GX_WITH_OBJECT(cuptiRangeProfilerPopRange,
                        [](RangeObject* object) { return RangeProfilers::Get().Pop(object); });
}

GX_EXPORT CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params);
  return GX_WITH_OBJECT(cuptiRangeProfilerDecodeData, [&](RangeObject* object) {
    return RangeProfilers::Get().Decode(object, &params->numOfRangeDropped);
  });
}

GX_EXPORT CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params);
  return GX_WITH_OBJECT(cuptiRangeProfilerGetCounterDataSize, [&](RangeObject*) {
    if (params->maxNumOfRanges == 0 || params->maxNumRangeTreeNodes < params->maxNumOfRanges) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    for (size_t i = 0; i < params->numMetrics; ++i) {
      if (!MetricExists(params->pMetricNames[i])) return CUPTI_ERROR_INVALID_METRIC_NAME;
    }
    params->counterDataSize = CounterDataBytes(params->maxNumOfRanges);
    return CUPTI_SUCCESS;
  });
}

GX_EXPORT CUptiResult
cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerCounterDataImageInitialize,
                    CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  return GX_WITH_OBJECT(cuptiRangeProfilerCounterDataImageInitialize, [&](RangeObject* object) {
    CounterDataHeader header;
    if (params->pCounterData == nullptr || params->counterDataSize < CounterDataBytes(1)) {
      return CUPTI_ERROR_INVALID_PARAMETER;
    }
    std::memcpy(header.magic, kCounterDataMagic, sizeof(kCounterDataMagic));
    header.object_id = object->id;
    header.max_range_count = (params->counterDataSize - sizeof(header)) / sizeof(CounterDataRange);
    std::memcpy(params->pCounterData, &header, sizeof(header));
    return CUPTI_SUCCESS;
  });
}

GX_EXPORT CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerGetCounterDataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params);
  CounterDataHeader header;
  if (!ReadHeader(params->pCounterDataImage, params->counterDataImageSize, &header)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  params->numTotalRanges = header.range_count;
  return CUPTI_SUCCESS;
}

// The name belongs to the caller, as the host API's does.
GX_EXPORT CUptiResult
cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* params) {
  GX_BEGIN_COUNTERS(cuptiRangeProfilerCounterDataGetRangeInfo, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
  CounterDataRange range;
  if (params->rangeDelimiter == nullptr ||
      !ReadRange(params->pCounterDataImage, params->counterDataImageSize, params->rangeIndex, &range)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  params->rangeName = strdup(range.name);
  return CUPTI_SUCCESS;
}
