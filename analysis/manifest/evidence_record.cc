#include "analysis/manifest/evidence_record.h"

namespace gx::analysis {

namespace v1 = gpuexec::v1;

model::ClaimLabel ClaimLabelFrom(v1::ClaimLabel label) {
  switch (label) {
    case v1::CLAIM_LABEL_ANALYTICAL:
      return model::ClaimLabel::kAnalytical;
    case v1::CLAIM_LABEL_ILLUSTRATIVE:
      return model::ClaimLabel::kIllustrative;
    case v1::CLAIM_LABEL_SOURCE_REPORTED:
      return model::ClaimLabel::kSourceReported;
    case v1::CLAIM_LABEL_LOCALLY_MEASURED:
      return model::ClaimLabel::kLocallyMeasured;
    case v1::CLAIM_LABEL_UNMEASURED:
      return model::ClaimLabel::kUnmeasured;
    default:
      return model::ClaimLabel::kUnspecified;
  }
}

v1::ClaimLabel ClaimLabelProto(model::ClaimLabel label) {
  switch (label) {
    case model::ClaimLabel::kAnalytical:
      return v1::CLAIM_LABEL_ANALYTICAL;
    case model::ClaimLabel::kIllustrative:
      return v1::CLAIM_LABEL_ILLUSTRATIVE;
    case model::ClaimLabel::kSourceReported:
      return v1::CLAIM_LABEL_SOURCE_REPORTED;
    case model::ClaimLabel::kLocallyMeasured:
      return v1::CLAIM_LABEL_LOCALLY_MEASURED;
    case model::ClaimLabel::kUnmeasured:
      return v1::CLAIM_LABEL_UNMEASURED;
    case model::ClaimLabel::kUnspecified:
      break;
  }
  return v1::CLAIM_LABEL_UNSPECIFIED;
}

v1::DispatchKey DispatchKeyOf(const v1::Manifest& manifest) {
  v1::DispatchKey key;
  const v1::Dispatch& dispatch = manifest.dispatch();
  key.set_framework(dispatch.framework());
  key.set_backend(dispatch.selected_backend());
  key.set_route(dispatch.route());
  key.set_kernel_symbol(dispatch.kernel_symbol());
  *key.mutable_flag() = dispatch.flag();
  for (const v1::Tensor& tensor : manifest.operation().tensor()) {
    v1::DispatchKey::TensorKey* part = key.add_tensor();
    part->set_name(tensor.name());
    *part->mutable_shape() = tensor.shape();
    *part->mutable_stride() = tensor.stride();
    part->set_dtype(tensor.dtype().empty() ? manifest.operation().storage_dtype() : tensor.dtype());
  }
  return key;
}

model::DispatchKey DispatchKeyFrom(const v1::DispatchKey& key) {
  model::DispatchKey result{.framework = key.framework(),
                            .backend = key.backend(),
                            .route = key.route(),
                            .kernel_symbol = key.kernel_symbol(),
                            .tensors = {},
                            .flags = {key.flag().begin(), key.flag().end()}};
  for (const v1::DispatchKey::TensorKey& tensor : key.tensor()) {
    result.tensors.push_back({.name = tensor.name(),
                              .shape = {tensor.shape().begin(), tensor.shape().end()},
                              .stride = {tensor.stride().begin(), tensor.stride().end()},
                              .dtype = tensor.dtype()});
  }
  return result;
}

model::Evidence EvidenceFrom(const v1::Observation& observation) {
  model::Evidence evidence;
  evidence.label = ClaimLabelFrom(observation.label());
  evidence.case_id = observation.case_id();
  evidence.dispatch_key = DispatchKeyFrom(observation.dispatch_key());
  evidence.selected_backend = observation.selected_backend();
  evidence.kernel_symbol = observation.kernel_symbol();
  const auto& samples = observation.timing().sample_seconds();
  evidence.sample_seconds.assign(samples.begin(), samples.end());
  const v1::NumericalCheck& check = observation.numerical_check();
  if (check.has_tolerance()) evidence.reference_tolerance = check.tolerance();
  if (check.has_error()) evidence.reference_error = check.error();
  evidence.profiler_command = observation.profiler().command();
  evidence.profiler_report = observation.profiler().report();
  for (const v1::Profiler::Counter& counter : observation.profiler().counter()) {
    evidence.counter_metrics.push_back(counter.metric());
  }
  return evidence;
}

}  // namespace gx::analysis
