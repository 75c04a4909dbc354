#include "analysis/manifest/evidence_record.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "analysis/manifest/extent.h"
#include "analysis/manifest/fault_log.h"

namespace gx::analysis {

namespace v1 = gpuexec::v1;

namespace {

// "32x32x1", as wherever a launch is described.
std::string SizeText(const v1::Extent& extent) {
  const model::GridDimensions size = DimensionsOf(extent);
  return absl::StrCat(size.x, "x", size.y, "x", size.z);
}

// "unmeasured" says that there is no figure: none may be there.
void CheckUnmeasured(const v1::Observation& observation, std::vector<std::string>* faults) {
  const auto refuse = [faults](absl::string_view what) {
    faults->push_back(absl::StrCat("label: unmeasured, but there ", what));
  };
  const v1::Result& result = observation.result();
  if (result.has_achieved_flops_per_second() || result.has_achieved_memory_bytes_per_second() ||
      result.has_achieved_occupancy_ratio() || !result.limiting_resource().empty() ||
      !result.dominant_stall().empty()) {
    refuse("is a result");
  }
  if (const int count = observation.profiler().counter_size(); count > 0) {
    refuse(count == 1 ? std::string("is a counter") : absl::StrCat("are ", count, " counters"));
  }
  if (observation.numerical_check().has_error()) refuse("is a numerical error");
}

void Compare(absl::string_view what, bool stated_by_both, const std::string& got, const std::string& expected,
             std::vector<std::string>* faults) {
  if (!stated_by_both || got == expected) return;
  faults->push_back(absl::StrCat(what, ": got ", Quoted(got), ", the case has ", Quoted(expected)));
}

// Of texts an empty one states nothing.
void CompareText(absl::string_view what, const std::string& got, const std::string& expected,
                 std::vector<std::string>* faults) {
  Compare(what, !got.empty() && !expected.empty(), got, expected, faults);
}

// How far the result may be off is a coordinate of the case: an observation cannot loosen it.
void CompareReference(const v1::NumericalReference& reference, const v1::NumericalCheck& check,
                      std::vector<std::string>* faults) {
  CompareText("numerical check: reference", check.reference(), reference.name(), faults);
  CompareText("numerical check: error metric", check.error_metric(), reference.error_metric(), faults);
  if (!reference.has_tolerance()) return;
  if (check.has_tolerance() && check.tolerance() > reference.tolerance()) {
    faults->push_back(absl::StrCat("numerical check: tolerance ", check.tolerance(), " is looser than the case's ",
                                   reference.tolerance()));
  }
  // An error above the observation's own tolerance is refused already.
  const bool refused = check.has_tolerance() && check.error() > check.tolerance();
  if (check.has_error() && check.error() > reference.tolerance() && !refused) {
    faults->push_back(absl::StrCat("numerical check: error ", check.error(), " is above the case's tolerance ",
                                   reference.tolerance()));
  }
}

void CompareSoftware(const v1::Dispatch& dispatch, const v1::Software& software, std::vector<std::string>* faults) {
  CompareText("software: driver version", software.driver_version(), dispatch.driver_version(), faults);
  CompareText("software: CUDA version", software.cuda_version(), dispatch.cuda_version(), faults);
  CompareText("software: framework version", software.framework_version(), dispatch.framework_version(), faults);
  CompareText("software: compiler", software.compiler(), dispatch.compiler(), faults);
  CompareText("software: compiler version", software.compiler_version(), dispatch.compiler_version(), faults);
}

}  // namespace

std::vector<std::string> CoordinateFaults(const v1::Manifest& manifest, const v1::Observation& observation) {
  std::vector<std::string> faults;
  if (observation.label() == v1::CLAIM_LABEL_UNMEASURED) CheckUnmeasured(observation, &faults);
  if (observation.label() != v1::CLAIM_LABEL_LOCALLY_MEASURED) return faults;
  const v1::Machine& machine = manifest.machine();
  const v1::Hardware& hardware = observation.hardware();
  if (manifest.label() != v1::CLAIM_LABEL_ILLUSTRATIVE) {
    CompareText("hardware: GPU model", hardware.gpu_model(), machine.gpu_model(), &faults);
    CompareText("hardware: compute capability", hardware.compute_capability(), machine.compute_capability(), &faults);
  }
  CompareText("hardware: clock policy", hardware.clock_policy(), machine.clock_policy(), &faults);
  CompareText("hardware: power policy", hardware.power_policy(), machine.power_policy(), &faults);
  CompareText("hardware: concurrency", hardware.concurrency(), machine.concurrency(), &faults);
  CompareSoftware(manifest.dispatch(), observation.software(), &faults);
  const v1::Schedule& schedule = manifest.schedule();
  const v1::Launch& launch = observation.launch();
  Compare("launch: grid", schedule.has_grid() && launch.has_grid(), SizeText(launch.grid()), SizeText(schedule.grid()),
          &faults);
  Compare("launch: block", schedule.has_block() && launch.has_block(), SizeText(launch.block()),
          SizeText(schedule.block()), &faults);
  Compare("launch: cluster", schedule.has_cluster() && launch.has_cluster(), SizeText(launch.cluster()),
          SizeText(schedule.cluster()), &faults);
  Compare("launch: registers per thread", schedule.has_registers_per_thread() && launch.has_registers_per_thread(),
          absl::StrCat(launch.registers_per_thread()), absl::StrCat(schedule.registers_per_thread()), &faults);
  Compare("launch: shared memory per block in bytes",
          schedule.has_shared_memory_per_block_bytes() && launch.has_shared_memory_per_block_bytes(),
          absl::StrCat(launch.shared_memory_per_block_bytes()), absl::StrCat(schedule.shared_memory_per_block_bytes()),
          &faults);
  CompareReference(manifest.operation().numerical_reference(), observation.numerical_check(), &faults);
  return faults;
}

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
    // A counter without a value was not collected.
    if (!std::isnan(counter.value())) evidence.counter_metrics.push_back(counter.metric());
  }
  return evidence;
}

}  // namespace gx::analysis
