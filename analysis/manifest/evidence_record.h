// Evidence as protobuf messages <-> as the model's plain structs (analysis/model/evidence.h). Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_EVIDENCE_RECORD_H_
#define GPUEXEC_ANALYSIS_MANIFEST_EVIDENCE_RECORD_H_

#include <string>
#include <vector>

#include "analysis/model/evidence.h"
#include "gpuexec/v1/evidence.pb.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

model::ClaimLabel ClaimLabelFrom(gpuexec::v1::ClaimLabel label);
gpuexec::v1::ClaimLabel ClaimLabelProto(model::ClaimLabel label);

// What the coordinates of a manifest state of the exact dispatch key: of Dispatch and of the operation's tensors.
gpuexec::v1::DispatchKey DispatchKeyOf(const gpuexec::v1::Manifest& manifest);

// What model::EvidenceFaults does not know of, one line each. Measured: another machine, software, launch or numerical
// reference than the manifest states, or an error beyond its tolerance; what one of both does not state agrees with
// anything, and an illustrative machine is no GPU that could be named. Unmeasured: figures nevertheless.
std::vector<std::string> CoordinateFaults(const gpuexec::v1::Manifest& manifest,
                                          const gpuexec::v1::Observation& observation);

model::DispatchKey DispatchKeyFrom(const gpuexec::v1::DispatchKey& key);
model::Evidence EvidenceFrom(const gpuexec::v1::Observation& observation);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_EVIDENCE_RECORD_H_
