#include "analysis/manifest/model_report.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/manifest/check_coordinates.h"
#include "analysis/manifest/compare_expected.h"
#include "analysis/manifest/derive.h"
#include "analysis/manifest/evidence_record.h"
#include "analysis/manifest/fault_log.h"
#include "analysis/manifest/machine_model.h"
#include "analysis/model/evidence.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

// What is wrong with the manifest as a claim, whatever its numbers are.
void CheckClaim(const v1::Manifest& manifest, FaultLog* log) {
  if (manifest.case_id().empty()) log->Fault("case_id", "not stated: an observation could not name its case");
  switch (manifest.label()) {
    case v1::CLAIM_LABEL_ANALYTICAL:
    case v1::CLAIM_LABEL_ILLUSTRATIVE:
    case v1::CLAIM_LABEL_SOURCE_REPORTED:
      return;
    case v1::CLAIM_LABEL_UNSPECIFIED:
      log->Fault("label", "not stated, expected analytical, illustrative or source_reported");
      return;
    default:
      log->Fault("label", absl::StrCat("got ",
                                       v1::ClaimLabel_IsValid(manifest.label())
                                           ? LabelWord(manifest.label())
                                           : absl::StrCat(static_cast<int>(manifest.label())),
                                       ", expected analytical, illustrative or source_reported: only an observation is "
                                       "measured or unmeasured"));
  }
}

void SetObserved(const model::SampleSummary& observed, v1::Reconciliation* out) {
  out->set_observed_median_seconds(observed.median);
  out->set_observed_min_seconds(observed.min);
  out->set_observed_max_seconds(observed.max);
  out->set_median_absolute_deviation_seconds(observed.median_absolute_deviation);
  out->set_interquartile_range_seconds(observed.interquartile_range);
  out->set_p95_seconds(observed.p95);
}

v1::Reconciliation Reconcile(const v1::Manifest& manifest, const v1::Observation& observation,
                             const v1::Derived& derived, bool other_machine) {
  v1::Reconciliation out;
  out.set_lower_bound_case(LowerBoundCase(manifest));
  std::optional<double> bound;
  if (derived.has_lower_bound_seconds()) {
    bound = derived.lower_bound_seconds();
    out.set_lower_bound_seconds(*bound);
  }
  const model::Evidence evidence = EvidenceFrom(observation);
  std::vector<std::string> faults =
      model::EvidenceFaults(evidence, {manifest.case_id(), DispatchKeyFrom(DispatchKeyOf(manifest))});
  for (std::string& fault : CoordinateFaults(manifest, observation)) faults.push_back(std::move(fault));
  // Another machine is another case.
  if (other_machine && evidence.label == model::ClaimLabel::kLocallyMeasured) {
    faults.emplace_back("machine: observed on the manifest's machine, but --device puts another in its place");
  }
  if (!faults.empty()) {
    for (std::string& fault : faults) out.add_refusal(std::move(fault));
    return out;
  }
  const model::Reconciliation result = model::Reconcile(evidence, bound);
  out.set_status(ClaimLabelProto(result.status));
  out.set_sample_count(static_cast<int64_t>(result.sample_count));
  if (result.observed_seconds.has_value()) SetObserved(*result.observed_seconds, &out);
  if (result.residual_seconds.has_value()) {
    out.set_residual_seconds(*result.residual_seconds);
    out.set_model_violation(result.model_violation);
  }
  return out;
}

}  // namespace

std::string LabelWord(v1::ClaimLabel label) { return std::string(model::ClaimLabelName(ClaimLabelFrom(label))); }

v1::ModelReport BuildModelReport(const v1::Manifest& manifest, const ModelRequest& request) {
  v1::ModelReport report;
  report.set_case_id(manifest.case_id());
  report.set_label(manifest.label());
  *report.mutable_dispatch_key() = DispatchKeyOf(manifest);
  FaultLog log;
  CheckClaim(manifest, &log);
  CheckCoordinates(manifest, &log);
  report.set_derived_label(v1::CLAIM_LABEL_ANALYTICAL);
  if (request.device != nullptr) {
    report.set_device(std::string(request.device->name));
    log.notes.emplace_back("--device: another machine than the manifest's case");
  }
  MachineModel machine(manifest.machine(), request.device, &log);
  *report.mutable_derived() = Derive(manifest, &machine, &log);
  if (request.observation != nullptr) {
    *report.mutable_reconciliation() =
        Reconcile(manifest, *request.observation, report.derived(), request.device != nullptr);
  }
  if (report.reconciliation().has_residual_seconds() && manifest.label() == v1::CLAIM_LABEL_ILLUSTRATIVE) {
    log.notes.emplace_back("the lower bound is of an illustrative machine: the residual says nothing about a GPU");
  }
  if (request.device == nullptr) {
    ExpectedComparison comparison = CompareExpected(manifest.expected(), report.derived());
    report.set_compared_count(comparison.compared_count);
    for (v1::Mismatch& mismatch : comparison.mismatches) *report.add_mismatch() = std::move(mismatch);
  } else if (manifest.has_expected()) {
    log.notes.emplace_back("expected values are of the manifest's own machine: not compared");
  }
  for (const ManifestFault& fault : log.faults) {
    v1::Fault* out = report.add_fault();
    out->set_where(fault.where);
    out->set_text(fault.text);
  }
  for (std::string& note : log.notes) report.add_note(std::move(note));
  for (const v1::Provenance& item : machine.provenance()) *report.add_provenance() = item;
  return report;
}

}  // namespace gx::analysis
