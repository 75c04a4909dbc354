// The ladder of a signature, and which signatures have none.
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

void FillTerms(const LadderRow& row, pb::LadderReport* message) {
  for (size_t i = 0; i < model::kTermCount; ++i) {
    const model::LadderTerm& term = row.ladder.terms[i];
    if (term.term_class == model::TermClass::kNone) continue;
    pb::LadderTermReport* out = message->add_term();
    out->set_kind(static_cast<pb::LadderTermReport::Kind>(i + 1));
    out->set_evidence_class(static_cast<pb::LadderTermReport::EvidenceClass>(static_cast<int>(term.term_class) + 1));
    // Unmeasured time is a figure only where it is what is left.
    if (term.term_class == model::TermClass::kUnmeasured && !(term.ns > 0)) continue;
    out->set_ns(term.ns);
    out->set_whole_ns(row.whole_ns[i]);
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

}  // namespace

void FillLadder(const LadderRow& row, pb::SignatureReport* signature) {
  const model::Ladder& ladder = row.ladder;
  pb::LadderReport* message = signature->mutable_ladder();
  message->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  message->set_time_ns(ladder.time_ns);
  message->set_clean_count(row.clean_count);
  FillBound(ladder, message);
  if (ladder.above_work_ns) message->set_above_work_ns(*ladder.above_work_ns);
  FillRungs(ladder.rungs, message);
  FillTerms(row, message);
  if (row.excess.has_value()) FillExcess(*row.excess, message->mutable_excess());
  message->set_ceiling_beaten_ns(ladder.ceiling_beaten_ns);
  message->set_clock_above_max(ladder.clock_above_max);
  message->set_unexplained_ns(ladder.UnexplainedNs());
  message->set_weak_ns(ladder.WeakNs());
  for (const std::string& line : row.unmeasured) message->add_unmeasured(line);
  for (const std::string& line : row.notes) message->add_note(line);
  if (ladder.violation.has_value()) {
    message->mutable_violation()->set_rung(RungOf(ladder.violation->rung));
    message->mutable_violation()->set_ns(ladder.violation->ns);
    return;
  }
  if (ladder.closure_ns) message->set_closure_ns(*ladder.closure_ns);
  message->set_other_regime(ladder.other_regime);
  message->set_hidden_idle_ns(ladder.hidden_idle_ns);
  if (ladder.uncontended_ns) message->set_uncontended_ns(*ladder.uncontended_ns);
  if (ladder.queue_resource) message->set_queue_resource(NameOf(*ladder.queue_resource));
}

void FillCoverage(const LadderSection& section, pb::LadderCoverage* message) {
  message->set_ladder_count(section.matched_count);
  message->set_few_clean_count(section.few_clean_count);
  message->set_uncounted_count(section.uncounted_count);
  for (const std::string& line : section.refused) message->add_refused(line);
}

}  // namespace gx::analysis
