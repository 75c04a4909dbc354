// Manifest and, where there is one, observation -> the report. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_MODEL_REPORT_H_
#define GPUEXEC_ANALYSIS_MANIFEST_MODEL_REPORT_H_

#include "analysis/model/products.h"
#include "gpuexec/v1/evidence.pb.h"
#include "gpuexec/v1/manifest.pb.h"
#include "gpuexec/v1/model_report.pb.h"

namespace gx::analysis {

struct ModelRequest {
  // Null: none was given.
  const gpuexec::v1::Observation* observation = nullptr;
  // Null: the manifest's own machine.
  const model::Product* device = nullptr;
};

gpuexec::v1::ModelReport BuildModelReport(const gpuexec::v1::Manifest& manifest, const ModelRequest& request);

// "illustrative".
std::string LabelWord(gpuexec::v1::ClaimLabel label);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_MODEL_REPORT_H_
