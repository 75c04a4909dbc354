// The functions of CUPTI's Profiler Host API that the library calls, as a table filled at run time. They work on chip
// names and need neither a GPU nor libcuda, but libnvperf_host, which takes a fraction of a second and much memory to
// load: nothing here is called before counters are wanted.
#ifndef GPUEXEC_INJECT_PROFILER_HOST_API_H_
#define GPUEXEC_INJECT_PROFILER_HOST_API_H_

#include <cupti_profiler_host.h>

#include <string>
#include <vector>

#define GX_PROFILER_HOST_FUNCTIONS(X)     \
  X(cuptiProfilerHostInitialize)          \
  X(cuptiProfilerHostDeinitialize)        \
  X(cuptiProfilerHostGetSupportedChips)   \
  X(cuptiProfilerHostGetMetricProperties) \
  X(cuptiProfilerHostConfigAddMetrics)    \
  X(cuptiProfilerHostGetConfigImageSize)  \
  X(cuptiProfilerHostGetConfigImage)      \
  X(cuptiProfilerHostGetNumOfPasses)

namespace gx::inject {

struct ProfilerHostApi {
#define GX_DECLARE(name) decltype(&::name) name = nullptr;
  GX_PROFILER_HOST_FUNCTIONS(GX_DECLARE)
#undef GX_DECLARE
};

// Fills `api` from the libcupti at `cupti_path`, the one that is in use (CuptiApi::path), since state is per copy;
// opens the libnvperf_host beside it. False: it is not there or lacks a function, as before CUPTI 12.6; `problems` then
// says which.
[[nodiscard]] bool LoadProfilerHost(const std::string& cupti_path, ProfilerHostApi* api,
                                    std::vector<std::string>* problems);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_PROFILER_HOST_API_H_
