#include "analysis/ladder_evidence.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analysis/ladder_explain.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

using model::Rung;
using model::TermClass;
using model::TermKind;

// The rung whose resource a term is of.
Rung RungOf(TermKind kind) {
  switch (kind) {
    case TermKind::kUseful:
      return Rung::kUseful;
    case TermKind::kWork:
    case TermKind::kExcess:
      return Rung::kWork;
    case TermKind::kUneven:
      return Rung::kBusiest;
    default:
      return Rung::kCeiling;
  }
}

const CountedMetric* Find(const LadderFacts& facts, absl::string_view name) {
  for (const CountedMetric& metric : facts.counters) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

// Of a tensor path: the one that was counted above 0, with "(binding).sum" in place of its end.
std::string MetricOf(const LadderFacts& facts, model::ResourceKind kind, absl::string_view end) {
  if (kind != model::ResourceKind::kTensorOperations) return absl::StrCat(ResourceMetric(kind), end);
  for (const CountedMetric& metric : facts.counters) {
    if (absl::StartsWith(metric.name, "sm__ops_path_tensor_") && absl::EndsWith(metric.name, ".sum") &&
        metric.median > 0) {
      return absl::StrCat(absl::StripSuffix(metric.name, ".sum"), end);
    }
  }
  return absl::StrCat("sm__ops_path_tensor_*", end);
}

TermEvidence OfMetric(const LadderFacts& facts, const std::string& name, absl::string_view group) {
  const CountedMetric* metric = Find(facts, name);
  // Of several groups with the metric it is used from the term's own.
  for (const CountedMetric& of_group : facts.counters) {
    if (of_group.name != name || of_group.group_name != group) continue;
    metric = &of_group;
    break;
  }
  if (metric == nullptr) return {.is_measured = false, .source = Printable(name), .group = std::string(group)};
  return {.is_measured = true,
          .source = Printable(name),
          .group = Printable(metric->group_name),
          .window_ids = metric->window_ids,
          .sample_count = metric->sample_count};
}

// Of a source that is no metric.
bool IsThere(const LadderFacts& facts, TermKind kind, const model::Ladder& ladder, absl::string_view source) {
  if (absl::StartsWith(source, "window clocks")) return facts.timed_sm_clock_hz.has_value();
  if (absl::StartsWith(source, "device")) return facts.max_sm_clock_hz.has_value();
  if (absl::StartsWith(source, "machine file: unloaded")) return facts.machine != nullptr;
  return ladder.Term(kind).term_class != TermClass::kUnmeasured;
}

}  // namespace

std::array<std::vector<TermEvidence>, model::kTermCount> LadderTermEvidence(const LadderFacts& facts,
                                                                            const model::Ladder& ladder) {
  std::array<std::vector<TermEvidence>, model::kTermCount> evidence;
  if (facts.is_communication) return evidence;
  for (size_t i = 0; i < model::kTermCount; ++i) {
    const auto kind = static_cast<TermKind>(i);
    if (ladder.terms[i].term_class == TermClass::kNone) continue;
    const std::optional<model::RungValue>& rung = ladder.rungs.at(RungOf(kind));
    for (const ExplainedSource& source : ExplanationOf(kind).sources) {
      if (source.group.empty()) {
        evidence[i].push_back(
            {.is_measured = IsThere(facts, kind, ladder, source.source), .source = std::string(source.source)});
        continue;
      }
      absl::string_view end = source.source;
      if (!absl::ConsumePrefix(&end, "(binding)")) {
        evidence[i].push_back(OfMetric(facts, std::string(source.source), source.group));
      } else if (rung.has_value() && rung->binding.has_value()) {
        evidence[i].push_back(OfMetric(facts, MetricOf(facts, *rung->binding, end), source.group));
      }
    }
  }
  return evidence;
}

}  // namespace gx::analysis
