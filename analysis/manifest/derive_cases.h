// The cases of a manifest -> the model's answer to each. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_DERIVE_CASES_H_
#define GPUEXEC_ANALYSIS_MANIFEST_DERIVE_CASES_H_

#include "analysis/manifest/fault_log.h"
#include "analysis/manifest/machine_model.h"
#include "analysis/model/tile_grid.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

void DerivePrograms(const gpuexec::v1::Manifest& manifest, const model::TileGrid& grid, gpuexec::v1::Derived* derived,
                    FaultLog* log);

// Every case but programs. One that the model refuses has no answer in `derived` and a fault in `log`.
void DeriveCases(const gpuexec::v1::Manifest& manifest, MachineModel* machine, gpuexec::v1::Derived* derived,
                 FaultLog* log);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_DERIVE_CASES_H_
