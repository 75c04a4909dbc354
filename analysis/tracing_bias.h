// What tracing adds to a kernel, from three measurements of the same kernels of gx-kernels: without a profiler, under
// one, and as the trace of the second shows them. Pure; any thread.
//
//   gx-kernels --ceilings -o machine.pb
//   CUDA_INJECTION64_PATH=... GPUEXEC_COUNTERS=off GPUEXEC_OUTPUT=bias.pb gx-kernels --ceilings=kernels -o traced.pb
//   AddTracingBias(traced, &machine); AddRecordedDurations(bias, &machine);      (gx-machine merge)
//
// How the figures are used: FitTracingCost and EmptyKernelNs (machine_ceilings.h).
#ifndef GPUEXEC_ANALYSIS_TRACING_BIAS_H_
#define GPUEXEC_ANALYSIS_TRACING_BIAS_H_

#include "absl/status/status.h"
#include "analysis/trace_model.h"
#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

// Sets machine's tracing_bias anew: kernels of both files, matched by shape, with their periods; it is unmeasured no
// more. `traced` is the file of a run under injection on the same device, `machine` of one without. FailedPrecondition:
// not two such files, or no shape in both; `machine` is as it was.
absl::Status AddTracingBias(const gpuexec::v1::MachineFile& traced, gpuexec::v1::MachineFile* machine);

// Sets `recorded` of each of machine's tracing_bias whose kernel the trace has clean records of, by name, grid, block,
// shared memory and cluster; others stay as they are. FailedPrecondition: of none.
absl::Status AddRecordedDurations(const TraceModel& trace, gpuexec::v1::MachineFile* machine);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_TRACING_BIAS_H_
