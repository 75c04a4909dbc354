// What is wrong with the coordinates of a manifest by themselves, whether or not a derived value rests on them: numbers
// that no operation, launch or machine has, names that name nothing, enums of no meaning. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_CHECK_COORDINATES_H_
#define GPUEXEC_ANALYSIS_MANIFEST_CHECK_COORDINATES_H_

#include "analysis/manifest/fault_log.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

// One fault a field; the model may refuse what rests on it once more.
void CheckCoordinates(const gpuexec::v1::Manifest& manifest, FaultLog* log);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_CHECK_COORDINATES_H_
