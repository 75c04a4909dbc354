// NVML's clocks event reasons as words. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_THROTTLE_REASONS_H_
#define GPUEXEC_ANALYSIS_THROTTLE_REASONS_H_

#include <cstddef>
#include <string>

namespace gx::analysis {

// Of one bit of nvmlDeviceGetCurrentClocksEventReasons (0 is the lowest).
std::string ThrottleReasonWords(size_t bit);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_THROTTLE_REASONS_H_
