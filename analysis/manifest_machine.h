// The device of a trace as the machine of a manifest: its limits and clocks, and the theoretical rate of its memory.
// Rates of instructions follow from compute capability, SMs and clock (model/peaks.h). Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_MACHINE_H_
#define GPUEXEC_ANALYSIS_MANIFEST_MACHINE_H_

#include <optional>
#include <string>
#include <vector>

#include "analysis/ladder_input.h"
#include "analysis/trace_model.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

// What is not known of the device is not stated. `counters` are of a signature on it, for the clock of its memory while
// counted; may be empty, then the device's maximum counts.
gpuexec::v1::Machine TracedMachine(const TraceModel& model, uint64_t device_id,
                                   const std::vector<CountedMetric>& counters);

// What a manifest states of its machine and the device is not: "machine.gpu_model: the manifest has 'A', the device of
// the trace is 'B'". Rates and clocks are not compared: the device's own count.
std::vector<std::string> MachineContradictions(const gpuexec::v1::Machine& stated, const gpuexec::v1::Machine& traced);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_MACHINE_H_
