// The ladder of a signature, and which signatures have none.
#include <algorithm>

#include "analysis/report_proto.h"
#include "analysis/report_proto_sections.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

// Enumerations of the model are those of report.proto without its zero.
static_assert(model::kRungCount == pb::LadderReport::Rung_ARRAYSIZE - 1);
static_assert(model::kTermCount == pb::LadderTermReport::Kind_ARRAYSIZE - 1);
static_assert(model::kTermClassCount == pb::LadderTermReport::EvidenceClass_ARRAYSIZE);

pb::LadderReport::Rung RungOf(model::Rung rung) {
  return static_cast<pb::LadderReport::Rung>(static_cast<int>(rung) + 1);
}

std::string NameOf(model::ResourceKind kind) { return std::string(model::ResourceName(kind)); }

bool HasOwnMeasurement(const model::Rungs& rungs, model::Rung rung) {
  switch (rung) {
    case model::Rung::kClock:
      return rungs.clock_measured;
    case model::Rung::kBusiest:
      return rungs.busiest_measured;
    case model::Rung::kCeiling:
      return rungs.ceiling_measured;
    default:
      return rungs.at(rung).has_value();
  }
}

void FillRungs(const model::Rungs& rungs, pb::LadderReport* message) {
  for (size_t i = 0; i < model::kRungCount; ++i) {
    const auto rung = static_cast<model::Rung>(i);
    const std::optional<model::RungValue>& value = rungs.at(rung);
    if (rung == model::Rung::kCompulsory && !value.has_value()) continue;
    pb::LadderRungReport* row = message->add_rung();
    row->set_rung(RungOf(rung));
    row->set_measured(value.has_value() && HasOwnMeasurement(rungs, rung));
    if (!value.has_value()) continue;
    row->set_at_least_ns(value->ns);
    if (value->binding.has_value()) row->set_binding(NameOf(*value->binding));
    for (size_t k = 0; k < model::kResourceKindCount; ++k) {
      const auto kind = static_cast<model::ResourceKind>(k);
      if (kind != value->binding && value->co_limiters.Contains(kind)) row->add_co_limiter(NameOf(kind));
    }
  }
}

// R0 where there is one, else R1; nothing where useful work was not counted.
void FillBound(const model::Ladder& ladder, pb::LadderReport* message) {
  if (!ladder.residual_ns.has_value()) return;
  const bool compulsory = ladder.rungs.at(model::Rung::kCompulsory).has_value();
  const model::Rung rung = compulsory ? model::Rung::kCompulsory : model::Rung::kUseful;
  const std::optional<model::RungValue>& value = ladder.rungs.at(rung);
  if (!value.has_value()) return;
  message->set_lower_bound_ns(value->ns);
  message->set_bound_rung(RungOf(rung));
  if (value->binding.has_value()) message->set_bound_resource(NameOf(*value->binding));
  message->set_residual_ns(*ladder.residual_ns);
}

void FillInterval(const model::Interval& interval, pb::IntervalReport* message) {
  message->set_low_ns(interval.low);
  message->set_high_ns(interval.high);
}

void FillEvidence(const TermEvidence& evidence, pb::TermEvidenceReport* message) {
  message->set_label(evidence.is_measured ? pb::CLAIM_LABEL_LOCALLY_MEASURED : pb::CLAIM_LABEL_UNMEASURED);
  message->set_source(evidence.source);
  message->set_group(evidence.group);
  const size_t window_count = std::min(evidence.window_ids.size(), kMaxReportSamples);
  for (size_t i = 0; i < window_count; ++i) message->add_window_id(evidence.window_ids[i]);
  message->set_sample_count(evidence.sample_count);
}

void FillTerms(const LadderFigures& figures, pb::LadderReport* message) {
  for (size_t i = 0; i < model::kTermCount; ++i) {
    const model::LadderTerm& term = figures.ladder.terms[i];
    if (term.term_class == model::TermClass::kNone) continue;
    pb::LadderTermReport* out = message->add_term();
    out->set_kind(static_cast<pb::LadderTermReport::Kind>(i + 1));
    out->set_evidence_class(static_cast<pb::LadderTermReport::EvidenceClass>(static_cast<int>(term.term_class) + 1));
    for (const TermEvidence& evidence : figures.evidence[i]) FillEvidence(evidence, out->add_evidence());
    // Unmeasured time is a figure only where it is what is left.
    if (term.term_class == model::TermClass::kUnmeasured && !(term.ns > 0)) continue;
    out->set_ns(term.ns);
    out->set_whole_ns(figures.whole_ns[i]);
    if (figures.intervals.has_value()) FillInterval(figures.intervals->terms[i], out->mutable_interval_ns());
  }
}

void FillExcess(const model::Excess& excess, pb::ExcessReport* message) {
  message->set_ns(excess.ns);
  for (const model::ExcessShare& share : excess.shares) {
    pb::ExcessShareReport* row = message->add_share();
    row->set_factor(std::string(model::ExcessFactorName(share.factor)));
    row->set_ns(share.ns);
    row->set_solo_ns(share.solo_ns);
  }
}

void FillIdleCauses(const model::IdleCauses& causes, pb::IdleCausesReport* message) {
  message->set_unfilled_ns(causes.unfilled_ns);
  message->set_tail_ns(causes.tail_ns);
  message->set_imbalance_ns(causes.imbalance_ns);
}

void FillLatencyParts(const model::LatencyParts& parts, pb::LatencyPartsReport* message) {
  message->set_memory_ratio(parts.memory);
  message->set_dependency_ratio(parts.dependency);
  message->set_shared_ratio(parts.shared);
  message->set_fetch_ratio(parts.fetch);
}

void FillFigures(const LadderFigures& figures, pb::LadderReport* message) {
  const model::Ladder& ladder = figures.ladder;
  message->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  message->set_time_ns(ladder.time_ns);
  if (figures.time_interval_ns) FillInterval(*figures.time_interval_ns, message->mutable_time_interval_ns());
  message->set_clean_count(figures.clean_count);
  FillBound(ladder, message);
  if (figures.intervals.has_value() && figures.intervals->residual_ns.has_value()) {
    FillInterval(*figures.intervals->residual_ns, message->mutable_residual_interval_ns());
  }
  if (ladder.above_work_ns) message->set_above_work_ns(*ladder.above_work_ns);
  FillRungs(ladder.rungs, message);
  FillTerms(figures, message);
  if (figures.excess.has_value()) FillExcess(*figures.excess, message->mutable_excess());
  message->set_ceiling_beaten_ns(ladder.ceiling_beaten_ns);
  message->set_clock_above_max(ladder.clock_above_max);
  message->set_unexplained_ns(ladder.UnexplainedNs());
  message->set_weak_ns(ladder.WeakNs());
  for (const std::string& line : figures.unmeasured) message->add_unmeasured(line);
  for (const std::string& line : figures.notes) message->add_note(line);
  if (ladder.violation.has_value()) {
    pb::LadderViolationReport* violation = message->mutable_violation();
    violation->set_rung(RungOf(ladder.violation->rung));
    violation->set_ns(ladder.violation->ns);
    if (figures.intervals.has_value()) violation->set_certain(figures.intervals->violation_is_certain);
    return;
  }
  if (ladder.closure_ns) message->set_closure_ns(*ladder.closure_ns);
  message->set_other_regime(ladder.other_regime);
  message->set_hidden_idle_ns(ladder.hidden_idle_ns);
  if (figures.idle_causes) FillIdleCauses(*figures.idle_causes, message->mutable_idle_causes());
  if (figures.latency_parts) FillLatencyParts(*figures.latency_parts, message->mutable_latency_parts());
  if (ladder.uncontended_ns) message->set_uncontended_ns(*ladder.uncontended_ns);
  if (ladder.queue_resource) message->set_queue_resource(NameOf(*ladder.queue_resource));
}

void FillWhatIf(const LadderWhatIf& what_if, pb::WhatIfReport* message) {
  message->set_label(what_if.no_prediction.empty() ? pb::CLAIM_LABEL_ANALYTICAL : pb::CLAIM_LABEL_UNMEASURED);
  message->set_change(what_if.change);
  message->set_text(what_if.text);
  message->set_no_prediction(what_if.no_prediction);
  if (!what_if.no_prediction.empty()) return;
  if (what_if.time_ns) message->set_time_ns(*what_if.time_ns);
  if (what_if.interval_ns) FillInterval(*what_if.interval_ns, message->mutable_interval_ns());
  if (what_if.saved_ns) message->set_saved_ns(*what_if.saved_ns);
  if (what_if.saved_run_ns) message->set_saved_run_ns(*what_if.saved_run_ns);
  if (!what_if.binding.empty()) message->set_binding(what_if.binding);
  message->set_without_latency(what_if.without_latency);
  message->set_other_regime(what_if.other_regime);
}

void FillFinding(const LadderFinding& finding, pb::LadderFindingReport* message) {
  message->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  message->set_id(finding.id);
  message->set_text(finding.text);
  message->set_advice(finding.advice);
  if (finding.saved_run_ns) message->set_saved_run_ns(*finding.saved_run_ns);
}

// What stands beside a ladder: of a signature, or of one mode.
template <typename Message>
void FillAdvice(const LadderFigures& figures, Message* message) {
  for (const LadderWhatIf& what_if : figures.what_ifs) FillWhatIf(what_if, message->add_what_if());
  for (const LadderFinding& finding : figures.findings) FillFinding(finding, message->add_finding());
}

void FillRun(const LadderRun& run, pb::LadderRunReport* message) {
  message->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  message->set_kernel_ns(run.kernel_ns);
  message->set_ladder_ns(run.ladder_ns);
  for (size_t i = 0; i < model::kTermCount; ++i) {
    if (!(run.terms_ns[i] > 0)) continue;
    pb::LadderRunTermReport* term = message->add_term();
    term->set_kind(static_cast<pb::LadderTermReport::Kind>(i + 1));
    term->set_ns(run.terms_ns[i]);
  }
  message->set_communication_ns(run.communication_ns);
  message->set_violation_ns(run.violation_ns);
  message->set_other_regime_ns(run.other_regime_ns);
  message->set_unexplained_ns(run.unexplained_ns);
  message->set_weak_ns(run.weak_ns);
}

}  // namespace

void FillLadder(const LadderRow& row, pb::SignatureReport* signature) {
  pb::LadderReport* message = signature->mutable_ladder();
  FillFigures(row, message);
  message->set_is_communication(row.is_communication);
  for (const LadderMode& mode : row.modes) {
    pb::LadderModeReport* out = message->add_mode();
    out->set_launch_ratio(mode.launch_ratio);
    out->set_is_counted(mode.is_counted);
    FillFigures(mode, out->mutable_ladder());
    FillAdvice(mode, out);
  }
  if (!row.modes.empty()) message->set_mode_index(static_cast<uint32_t>(row.mode));
  FillAdvice(row, signature);
}

void FillCoverage(const LadderSection& section, const std::map<uint32_t, uint32_t>& index_by_signature,
                  pb::LadderCoverage* message) {
  message->set_ladder_count(section.matched_count);
  message->set_few_clean_count(section.few_clean_count);
  message->set_uncounted_count(section.uncounted_count);
  for (const std::string& line : section.refused) message->add_refused(line);
  if (section.run.kernel_ns > 0) FillRun(section.run, message->mutable_run());
  const auto rank = [&](size_t row, size_t index, auto* ranked) {
    const auto found = index_by_signature.find(section.rows[row].signature);
    if (found == index_by_signature.end()) return;
    pb::RankedReport* out = ranked->Add();
    out->set_signature_index(found->second);
    out->set_index(static_cast<uint32_t>(index));
  };
  for (const RankedWhatIf& one : section.what_ifs) rank(one.row, one.what_if, message->mutable_what_if());
  for (const RankedFinding& one : section.findings) rank(one.row, one.finding, message->mutable_finding());
}

}  // namespace gx::analysis
