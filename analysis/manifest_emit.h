// A kernel of a trace as a manifest and an observation for gx-model: what the trace knows is filled in, what it does
// not know is left out and named. Pure; any thread.
//
// The manifest is accepted as it is. Its work is the counted one: replace it with what the operation needs, or the
// bound is that of this implementation. The observation says locally measured and holds samples, counters and launch;
// it is refused, with what is missing named, until a person adds what no trace knows: the result against a reference,
// and the operation's tensors and dispatch.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_EMIT_H_
#define GPUEXEC_ANALYSIS_MANIFEST_EMIT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/manifest_kernel.h"
#include "analysis/trace_model.h"
#include "gpuexec/v1/evidence.pb.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

// Clean durations in an observation: all, or as many that stand for them (DurationSamples::Pick).
inline constexpr size_t kMaxEmittedSamples = 1000;

struct EmittedKernel {
  gpuexec::v1::Manifest manifest;
  gpuexec::v1::Observation observation;
  // What is left out, one line each, printable: of the manifest, and of the observation.
  std::vector<std::string> manifest_notes;
  std::vector<std::string> observation_notes;
};

EmittedKernel EmitKernel(const TraceModel& model, const TracedKernel& kernel);

// As textproto, the notes as comments on top.
std::string ManifestText(const EmittedKernel& emitted);
std::string ObservationText(const EmittedKernel& emitted);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_EMIT_H_
