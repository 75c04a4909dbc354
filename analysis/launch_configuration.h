// A signature, with what its function and its kernel records say -> the launch columns of a row. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_LAUNCH_CONFIGURATION_H_
#define GPUEXEC_ANALYSIS_LAUNCH_CONFIGURATION_H_

#include <cstdint>

#include "analysis/report.h"
#include "analysis/trace_model.h"

namespace gx::analysis {

// `attributes`: index of the kernel record's own values; kNone: no kernel of this signature has a record.
LaunchConfiguration ConfigurationOf(const TraceModel& model, const SignatureEntry& entry, uint32_t attributes);

// The residency of the same launch with other registers a thread.
LaunchResidency ResidencyWith(const TraceModel& model, const SignatureEntry& entry, uint32_t attributes,
                              uint64_t registers_per_thread);

// Forgets what the two do not have in common.
void KeepCommon(LaunchConfiguration* kept, const LaunchConfiguration& other);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LAUNCH_CONFIGURATION_H_
