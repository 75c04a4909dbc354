// Model report -> text for a terminal: what does not fit first, then the case, what is derived, the observation, where
// each value is from. Formatting only; pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_MODEL_TEXT_H_
#define GPUEXEC_ANALYSIS_MANIFEST_MODEL_TEXT_H_

#include <string>

#include "gpuexec/v1/manifest.pb.h"
#include "gpuexec/v1/model_report.pb.h"

namespace gx::analysis {

// `manifest` is the one that the report is of: its coordinates are shown. No control bytes but line feeds and, with
// `colour`, ANSI colours.
std::string ModelReportText(const gpuexec::v1::Manifest& manifest, const gpuexec::v1::ModelReport& report, bool colour);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_MODEL_TEXT_H_
