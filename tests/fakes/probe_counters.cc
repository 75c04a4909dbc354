#include "tests/fakes/probe_counters.h"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace gx::fakes {
namespace {

#define GX_COUNTER_FUNCTIONS(X)                   \
  X(cuptiProfilerInitialize)                      \
  X(cuptiProfilerHostInitialize)                  \
  X(cuptiProfilerHostConfigAddMetrics)            \
  X(cuptiProfilerHostGetConfigImageSize)          \
  X(cuptiProfilerHostGetConfigImage)              \
  X(cuptiProfilerHostGetNumOfPasses)              \
  X(cuptiProfilerHostEvaluateToGpuValues)         \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerDecodeData)                 \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerGetCounterDataInfo)         \
  X(cuptiRangeProfilerCounterDataGetRangeInfo)

constexpr size_t kMaxRanges = 4;

struct Session {
#define GX_DECLARE(name) decltype(&::name) name = nullptr;
  GX_COUNTER_FUNCTIONS(GX_DECLARE)
#undef GX_DECLARE
  std::vector<std::string> metrics;
  std::vector<const char*> pointers;
  std::vector<uint8_t> config;
  std::vector<uint8_t> counter_data;
  CUcontext context = nullptr;
  CUpti_Profiler_Host_Object* host = nullptr;
  CUpti_RangeProfiler_Object* object = nullptr;
  int pushed = 0;
  bool open = false;
  bool failed = false;
  bool finishing = false;
};

Session& TheSession() {
  static auto& session = *new Session();
  return session;
}

std::string Misuse() {
  const char* text = std::getenv("PROBE_MISUSE");
  return text == nullptr ? "" : text;
}

#define GX_PARAMS(type, name) \
  type name{};                \
  name.structSize = type##_STRUCT_SIZE
// Reports the first call that fails, and gives up.
#define GX_TRY(name, params)                                                         \
  if (const CUptiResult result = session.name(&(params)); result != CUPTI_SUCCESS) { \
    report("counters failed=%s result=%d\n", #name, static_cast<int>(result));       \
    session.failed = true;                                                           \
    return;                                                                          \
  }

void Configure(Session& session, ReportFunction report) {
  GX_PARAMS(CUpti_RangeProfiler_SetConfig_Params, config);
  config.pRangeProfilerObject = session.object;
  config.configSize = session.config.size();
  config.pConfig = session.config.data();
  config.counterDataImageSize = session.counter_data.size();
  config.pCounterDataImage = session.counter_data.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = kMaxRanges;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  GX_TRY(cuptiRangeProfilerSetConfig, config);
}

void Open(void* cupti, CUcontext context, ReportFunction report) {
  Session& session = TheSession();
#define GX_GET(name) session.name = reinterpret_cast<decltype(session.name)>(dlsym(cupti, #name));
  GX_COUNTER_FUNCTIONS(GX_GET)
#undef GX_GET
  std::istringstream names(std::getenv("PROBE_COUNTERS"));
  for (std::string name; std::getline(names, name, ',');) session.metrics.push_back(name);
  for (const std::string& name : session.metrics) session.pointers.push_back(name.c_str());

  GX_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  if (Misuse() != "not_initialized") GX_TRY(cuptiProfilerInitialize, initialize);
  GX_PARAMS(CUpti_Profiler_Host_Initialize_Params, host);
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = "GH100";
  GX_TRY(cuptiProfilerHostInitialize, host);
  session.host = host.pHostObject;
  GX_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
  add.pHostObject = session.host;
  add.ppMetricNames = session.pointers.data();
  add.numMetrics = session.pointers.size();
  if (Misuse() == "two_calls") {
    add.numMetrics = 1;
    GX_TRY(cuptiProfilerHostConfigAddMetrics, add);
    add.ppMetricNames = session.pointers.data() + 1;
    add.numMetrics = session.pointers.size() - 1;
  }
  GX_TRY(cuptiProfilerHostConfigAddMetrics, add);
  GX_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = session.host;
  GX_TRY(cuptiProfilerHostGetConfigImageSize, size);
  session.config.resize(size.configImageSize);
  GX_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
  image.pHostObject = session.host;
  image.configImageSize = session.config.size();
  image.pConfigImage = session.config.data();
  GX_TRY(cuptiProfilerHostGetConfigImage, image);
  if (Misuse() == "after_image") GX_TRY(cuptiProfilerHostConfigAddMetrics, add);
  GX_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
  passes.configImageSize = session.config.size();
  passes.pConfigImage = session.config.data();
  GX_TRY(cuptiProfilerHostGetNumOfPasses, passes);
  report("counters passes=%zu\n", passes.numOfPasses);

  GX_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
  enable.ctx = session.context = context;
  GX_TRY(cuptiRangeProfilerEnable, enable);
  session.object = enable.pRangeProfilerObject;
  GX_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, data_size);
  data_size.pRangeProfilerObject = session.object;
  data_size.pMetricNames = session.pointers.data();
  data_size.numMetrics = session.pointers.size();
  data_size.maxNumOfRanges = kMaxRanges;
  data_size.maxNumRangeTreeNodes = kMaxRanges;
  GX_TRY(cuptiRangeProfilerGetCounterDataSize, data_size);
  session.counter_data.resize(data_size.counterDataSize);
  GX_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, data);
  data.pRangeProfilerObject = session.object;
  data.counterDataSize = session.counter_data.size();
  data.pCounterData = session.counter_data.data();
  GX_TRY(cuptiRangeProfilerCounterDataImageInitialize, data);
  Configure(session, report);
  if (Misuse() == "second_config") Configure(session, report);
  GX_PARAMS(CUpti_RangeProfiler_Start_Params, start);
  start.pRangeProfilerObject = session.object;
  GX_TRY(cuptiRangeProfilerStart, start);
}

void Read(Session& session, ReportFunction report) {
  GX_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = session.counter_data.data();
  info.counterDataImageSize = session.counter_data.size();
  GX_TRY(cuptiRangeProfilerGetCounterDataInfo, info);
  std::vector<double> values(session.metrics.size());
  for (size_t range = 0; range < info.numTotalRanges; ++range) {
    GX_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, name);
    name.pCounterDataImage = session.counter_data.data();
    name.counterDataImageSize = session.counter_data.size();
    name.rangeIndex = range;
    name.rangeDelimiter = "/";
    GX_TRY(cuptiRangeProfilerCounterDataGetRangeInfo, name);
    GX_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate);
    evaluate.pHostObject = session.host;
    evaluate.pCounterDataImage = session.counter_data.data();
    evaluate.counterDataImageSize = session.counter_data.size();
    evaluate.rangeIndex = range;
    evaluate.ppMetricNames = session.pointers.data();
    evaluate.numMetrics = session.pointers.size();
    evaluate.pMetricValues = values.data();
    GX_TRY(cuptiProfilerHostEvaluateToGpuValues, evaluate);
    for (size_t i = 0; i < values.size(); ++i) {
      report("value range=%s metric=%s value=%.17g\n", name.rangeName, session.pointers[i], values[i]);
    }
    std::free(const_cast<char*>(name.rangeName));
  }
}

}  // namespace

bool ProbeCountersWanted() { return std::getenv("PROBE_COUNTERS") != nullptr; }

void ProbePush(void* cupti, CUcontext context, const char* kernel, ReportFunction report) {
  Session& session = TheSession();
  const char* only = std::getenv("PROBE_ONLY");
  if (only != nullptr && (kernel == nullptr || std::strstr(kernel, only) == nullptr)) return;
  if (session.open) return;  // late_pop
  if (session.object == nullptr && !session.failed) Open(cupti, context, report);
  if (session.failed) return;
  const std::string name = Misuse() == "same_names" ? "same" : "r" + std::to_string(session.pushed++);
  GX_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
  push.pRangeProfilerObject = session.object;
  push.pRangeName = name.c_str();
  GX_TRY(cuptiRangeProfilerPushRange, push);
  session.open = true;
}

void ProbePop(ReportFunction report) {
  Session& session = TheSession();
  if (!session.open || (!session.finishing && Misuse() == "late_pop")) return;
  session.open = false;
  GX_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
  pop.pRangeProfilerObject = session.object;
  GX_TRY(cuptiRangeProfilerPopRange, pop);
}

void ProbeFinishCounters(ReportFunction report) {
  Session& session = TheSession();
  if (session.object == nullptr) return;
  session.finishing = true;
  ProbePop(report);
  GX_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
  stop.pRangeProfilerObject = session.object;
  GX_TRY(cuptiRangeProfilerStop, stop);
  GX_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
  decode.pRangeProfilerObject = session.object;
  GX_TRY(cuptiRangeProfilerDecodeData, decode);
  Read(session, report);
  GX_PARAMS(CUpti_RangeProfiler_Disable_Params, disable);
  disable.pRangeProfilerObject = session.object;
  GX_TRY(cuptiRangeProfilerDisable, disable);
  if (Misuse() != "host_again") return;
  GX_PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
  enable.ctx = session.context;
  GX_TRY(cuptiRangeProfilerEnable, enable);
  session.object = enable.pRangeProfilerObject;
  GX_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, data);
  data.pRangeProfilerObject = session.object;
  data.counterDataSize = session.counter_data.size();
  data.pCounterData = session.counter_data.data();
  GX_TRY(cuptiRangeProfilerCounterDataImageInitialize, data);
  Configure(session, report);
}

}  // namespace gx::fakes
