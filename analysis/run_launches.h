// Whether launches bound a run, and what a CUDA graph in place of single launches would save. ns; pure; any thread.
#ifndef GPUEXEC_ANALYSIS_RUN_LAUNCHES_H_
#define GPUEXEC_ANALYSIS_RUN_LAUNCHES_H_

#include <cstdint>
#include <optional>

#include "analysis/report_run.h"
#include "analysis/run_gaps.h"
#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

// Of the time with timings: a device that waits for launches this much of it is launch-bound, or partly. A convention:
// the figures stand beside the verdict.
inline constexpr double kLaunchBoundRatio = 0.2;
inline constexpr double kPartlyLaunchBoundRatio = 0.05;
// Fewer kernels give no verdict.
inline constexpr uint64_t kMinVerdictKernels = 100;
// What recording adds to a launch call, at most (tests/gpu/evidence: 1.6 to 3.4 us on the host of an H200). Part of
// that is idle time which the program has only while it is recorded.
inline constexpr double kRecordingPerLaunchNs = 3400;

struct DeviceLaunches {
  uint64_t device_id = 0;
  // First start to last end, less windows without records.
  uint64_t span_ns = 0;
  IdleTime idle;
  // Kernels with a timing, and those of them in graphs.
  uint64_t kernel_count = 0;
  uint64_t graph_kernel_count = 0;
  // Sum of their durations.
  uint64_t kernel_ns = 0;
  // Null: none matches the device.
  const gpuexec::v1::MachineFile* machine = nullptr;
};

// launch_period_ns is left to the caller, who knows all launches.
LaunchVerdict JudgeLaunches(const DeviceLaunches& launches);

// Time of the device for one node where a graph of empty kernels has many: of the largest measured graph. Absent: no
// graph of ten nodes or more was measured.
std::optional<double> GraphNodeNs(const gpuexec::v1::MachineFile& machine);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_RUN_LAUNCHES_H_
