// What the analytical model says of a launch before it runs: how many of its blocks an SM holds at a time, what limits
// that, and how the grid fills the device. Facts of the trace in, model/ does the arithmetic. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_LAUNCH_RESIDENCY_H_
#define GPUEXEC_ANALYSIS_LAUNCH_RESIDENCY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/report.h"
#include "gpuexec/v1/device.pb.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::analysis {

// What is known of a launch. `launch` as the report shows it; the others null where the trace does not have them, and
// `function` also where its attributes could not be read.
struct ResidencyInput {
  const LaunchConfiguration* launch = nullptr;
  const gpuexec::v1::Signature* signature = nullptr;
  const gpuexec::v1::FunctionAttributes* function = nullptr;
  const gpuexec::v1::KernelAttributes* record = nullptr;
  const gpuexec::v1::DeviceAttributes* device = nullptr;
};

// Members are absent where something that the model needs is not known or cannot be; `unavailable` then says what.
LaunchResidency ResidencyOf(const ResidencyInput& facts);

// "the driver holds 3 blocks an SM, the model 4"; absent where they agree or one of them is not known.
std::optional<std::string> DriverDisagreement(const LaunchConfiguration& launch);

// Forgets what the two do not have in common.
void KeepCommon(LaunchResidency* kept, const LaunchResidency& other);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LAUNCH_RESIDENCY_H_
