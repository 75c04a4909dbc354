// The hardware counters of the probe (probe_injection.cc): one session, a range around each launch, as simply as can
// be. PROBE_COUNTERS: metrics, separated by commas; without it nothing happens. PROBE_ONLY: of kernels with that in
// their names. PROBE_MISUSE: what is done wrong.
#ifndef GPUEXEC_TESTS_FAKES_PROBE_COUNTERS_H_
#define GPUEXEC_TESTS_FAKES_PROBE_COUNTERS_H_

#include <cuda.h>

namespace gx::fakes {

using ReportFunction = void (*)(const char* format, ...);

bool ProbeCountersWanted();
// In a launch callback. The first one starts the session.
void ProbePush(void* cupti, CUcontext context, const char* kernel, ReportFunction report);
void ProbePop(ReportFunction report);
// Reports a line `value` for each range and metric.
void ProbeFinishCounters(ReportFunction report);

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_PROBE_COUNTERS_H_
