// Manifest -> everything that the model derives of it: grid, occupancy (first order, and exact beside it), waves, and
// the cases that the manifest asks for. What the model refuses is a fault and the rest goes on. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_DERIVE_H_
#define GPUEXEC_ANALYSIS_MANIFEST_DERIVE_H_

#include "analysis/manifest/fault_log.h"
#include "analysis/manifest/machine_model.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

gpuexec::v1::Derived Derive(const gpuexec::v1::Manifest& manifest, MachineModel* machine, FaultLog* log);

// The name of the roofline case that an observation is compared with; "" where there is none.
std::string LowerBoundCase(const gpuexec::v1::Manifest& manifest);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_DERIVE_H_
