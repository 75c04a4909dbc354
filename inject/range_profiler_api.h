// The functions of CUPTI that counter sessions call: Range Profiler API, what it needs of the Profiler API, and the
// host API's evaluation. A table filled at run time, and only where counters are wanted: opening libnvperf takes a
// fraction of a second and some 200 MiB.
#ifndef GPUEXEC_INJECT_RANGE_PROFILER_API_H_
#define GPUEXEC_INJECT_RANGE_PROFILER_API_H_

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>
#include <vector>

#define GX_RANGE_PROFILER_FUNCTIONS(X)            \
  X(cuptiProfilerInitialize)                      \
  X(cuptiProfilerDeviceSupported)                 \
  X(cuptiProfilerGetCounterAvailability)          \
  X(cuptiDeviceGetChipName)                       \
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
  X(cuptiRangeProfilerCounterDataGetRangeInfo)    \
  X(cuptiProfilerHostEvaluateToGpuValues)

namespace gx::inject {

struct RangeProfilerApi {
#define GX_DECLARE(name) decltype(&::name) name = nullptr;
  GX_RANGE_PROFILER_FUNCTIONS(GX_DECLARE)
#undef GX_DECLARE
};

// Fills `api` from the libcupti at `cupti_path`, the one that is in use (CuptiApi::path); opens the libnvperf_target
// beside it. False: it is not there or lacks a function, as before CUPTI 12.6; `problems` then says which.
[[nodiscard]] bool LoadRangeProfiler(const std::string& cupti_path, RangeProfilerApi* api,
                                     std::vector<std::string>* problems);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_RANGE_PROFILER_API_H_
