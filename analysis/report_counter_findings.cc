// Section 1 of the report, as far as hardware counters are concerned.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/format.h"
#include "analysis/kernel_name.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

constexpr size_t kMaxDetails = 10;

class CounterFindings {
 public:
  CounterFindings(const TraceModel& model, std::vector<Finding>* findings) : model_(model), findings_(findings) {}

  void AddAll() {
    const CounterModel& counters = model_.counters;
    AddMixedWork();
    AddDisagreements();
    AddDenials();
    AddAccess();
    AddFailedPlans();
    AddFailedSessions();
    AddNoSamples();
    AddDroppedMetrics();
    Add(pb::SEVERITY_DATA_LOSS, "counters.misplaced_samples", counters.misplaced_count,
        "samples taken outside counter windows, where tracing adds instructions: not used", {});
    Add(pb::SEVERITY_NOTICE, "counters.beyond_limit", counters.beyond_limit_count,
        "samples of further signatures and groups than are kept apart: not used", {});
    // Counted by the library as well, where it could write its counters.
    if (Find("STAT_COUNTER_NAN_VALUES") == nullptr) {
      Add(pb::SEVERITY_NOTICE, "counters.unavailable_values", counters.unavailable_value_count,
          "values that CUPTI could not give (NaN): shown as unavailable", {});
    }
    uint64_t void_count = 0;
    for (const CounterSeries& series : counters.series) void_count += series.samples.void_count();
    if (Find("STAT_COUNTER_VOID_RANGES") == nullptr) {
      Add(pb::SEVERITY_NOTICE, "counters.void_samples", void_count,
          "samples void: their range did not hold their one launch and nothing else; not used", {});
    }
  }

 private:
  Finding* Find(absl::string_view id) {
    const auto found =
        std::find_if(findings_->begin(), findings_->end(), [id](const Finding& finding) { return finding.id == id; });
    return found == findings_->end() ? nullptr : &*found;
  }

  // Nothing where the count is 0.
  void Add(pb::Severity severity, absl::string_view id, uint64_t value, absl::string_view text,
           std::vector<std::string> details) {
    if (value == 0) return;
    if (details.size() > kMaxDetails) {
      const size_t more = details.size() - kMaxDetails;
      details.resize(kMaxDetails);
      details.push_back(absl::StrCat("... and ", more, " more"));
    }
    Finding finding;
    finding.severity = severity;
    finding.id = std::string(id);
    finding.value = value;
    finding.text = std::string(text);
    finding.details = std::move(details);
    findings_->push_back(std::move(finding));
  }

  void AddMixedWork() {
    std::vector<std::string> details;
    for (const auto& [signature, series] : SeriesBySignature(model_.counters)) {
      if (signature == CounterSeries::kNoSignature) continue;
      const std::vector<MixedWork> mixed = MixedWorkOf(model_.counters, series);
      if (mixed.empty()) continue;
      std::string line = absl::StrCat(NameOf(signature), ": ");
      for (size_t i = 0; i < mixed.size(); ++i) {
        absl::StrAppend(&line, i == 0 ? "" : "; ", mixed[i].metric, " ", FormatCounterValue(mixed[i].min), " to ",
                        FormatCounterValue(mixed[i].max), " (", FormatRatio(mixed[i].spread_ratio), ")");
      }
      details.push_back(std::move(line));
    }
    const uint64_t count = details.size();
    Add(pb::SEVERITY_NOTICE, "counters.mixed_work", count,
        "signatures whose launches did different work (instructions or bytes spread by more than 2 %): their medians "
        "are of a mixture",
        std::move(details));
  }

  void AddDisagreements() {
    std::vector<std::string> details;
    const auto look = [&](const std::string& name, const std::vector<const CounterSeries*>& series) {
      const std::optional<InstructionDisagreement> found = InstructionDisagreementOf(model_.counters, series);
      if (!found.has_value()) return;
      details.push_back(absl::StrCat(name, ": ", found->hardware_metric, " ", FormatCounterValue(found->hardware), ", ",
                                     found->patched_metric, " ", FormatCounterValue(found->patched), " (",
                                     FormatRatio(found->difference_ratio), " apart)"));
    };
    for (const auto& [signature, series] : SeriesBySignature(model_.counters)) {
      if (signature != CounterSeries::kNoSignature) look(NameOf(signature), series);
    }
    for (const auto& [graph_exec_id, series] : SeriesByGraph(model_.counters)) {
      look(absl::StrCat("graph ", graph_exec_id), series);
    }
    const uint64_t count = details.size();
    Add(pb::SEVERITY_NOTICE, "counters.instruction_disagreements", count,
        "signatures whose instructions by the hardware and by patched code are more than 0.1 % apart: their launches "
        "did other work at other times, or something added instructions to them",
        std::move(details));
  }

  void AddFailedPlans() {
    std::vector<std::string> details;
    for (const auto& [device_id, plan] : model_.counters.plans) {
      // Without access there is nothing to plan: that is told by itself.
      const auto access = model_.counters.access.find(device_id);
      const bool refused =
          access != model_.counters.access.end() && access->second.state() != pb::CounterAccess::STATE_ALLOWED;
      if (!plan.failed() || refused) continue;
      details.push_back(absl::StrCat("device ", device_id, plan.chip().empty() ? "" : ", ", Printable(plan.chip()),
                                     ": ", plan.requested().empty() ? "unknown" : Printable(plan.requested()),
                                     " was asked for"));
    }
    Attach("STAT_COUNTER_PLANS_FAILED", pb::SEVERITY_ERROR, "counters.failed_plans",
           "devices for which no group of metrics could be planned", std::move(details));
  }

  void AddFailedSessions() {
    std::vector<std::string> details;
    for (const auto& [id, session] : model_.counters.sessions) {
      if (session.outcome() != pb::CounterSession::OUTCOME_FAILED) continue;
      const auto group = model_.counters.groups.find(session.group_iid());
      details.push_back(absl::StrCat(
          "session ", id, ", ",
          group == model_.counters.groups.end() ? absl::StrCat("group ", session.group_iid())
                                                : Printable(group->second.name()),
          ", ", Plural(session.range_count(), "range"),
          session.cupti_result() == 0 ? std::string() : absl::StrCat(": CUptiResult ", session.cupti_result())));
    }
    Attach("STAT_COUNTER_SESSIONS_FAILED", pb::SEVERITY_ERROR, "counters.failed_sessions",
           "sessions of hardware counters in which a call of CUPTI failed", std::move(details));
  }

  // Counters could be had, and there are none: the report would say so with nothing but an empty table.
  void AddNoSamples() {
    const CounterModel& counters = model_.counters;
    const bool planned = std::any_of(counters.plans.begin(), counters.plans.end(), [](const auto& entry) {
      return !entry.second.failed() && entry.second.group_iid_size() > 0;
    });
    const bool refused = std::any_of(counters.access.begin(), counters.access.end(), [](const auto& entry) {
      return entry.second.state() != pb::CounterAccess::STATE_ALLOWED;
    });
    const bool launched = model_.accounting.launches + model_.accounting.graph_launches > 0;
    if (counters.sample_count > 0 || !planned || refused || !launched) return;
    Add(pb::SEVERITY_NOTICE, "counters.no_samples", 1,
        "hardware counters were planned and no launch was sampled: other findings say why, or the program ended before "
        "its first counter window",
        {});
  }

  // To what the library counted, or as a finding of its own where it could not write its counters.
  void Attach(absl::string_view stat, pb::Severity severity, absl::string_view id, absl::string_view text,
              std::vector<std::string> details) {
    const uint64_t count = details.size();
    if (Finding* finding = Find(stat); finding != nullptr) {
      if (details.size() > kMaxDetails) details.resize(kMaxDetails);
      finding->details = std::move(details);
      return;
    }
    Add(severity, id, count, text, std::move(details));
  }

  std::string NameOf(uint32_t signature) const {
    const SignatureEntry& entry = model_.signatures[signature];
    const std::string name = ShortKernelName(FullKernelName(model_.FunctionName(entry)));
    return absl::StrCat(name.empty() ? "(name unknown)" : name, ", grid ", entry.definition.grid_x(), "x",
                        entry.definition.grid_y(), "x", entry.definition.grid_z());
  }

  void AddDenials() {
    std::vector<std::string> details;
    for (const auto& [key, denial] : model_.counters.denials) {
      const std::string name = DeniedName(model_, denial);
      details.push_back(absl::StrCat(denial.function_iid() == 0 ? name : ShortKernelName(name), ": ",
                                     CounterDenialWord(denial.reason()), denial.detail().empty() ? "" : " (",
                                     Printable(denial.detail()), denial.detail().empty() ? "" : ")"));
    }
    Add(pb::SEVERITY_NOTICE, "counters.denied_functions", model_.counters.denials.size(),
        "kernels, graphs and contexts that are not sampled: no hardware counters of them", std::move(details));
  }

  void AddAccess() {
    std::vector<std::string> details;
    for (const auto& [device_id, access] : model_.counters.access) {
      // Off is what was asked for.
      if (access.state() == pb::CounterAccess::STATE_ALLOWED || access.state() == pb::CounterAccess::STATE_OFF)
        continue;
      details.push_back(absl::StrCat("device ", device_id, ": ", CounterAccessWord(access.state()),
                                     access.text().empty() ? "" : ": ", Printable(access.text())));
    }
    for (const absl::string_view id : {"STAT_COUNTER_PERMISSION_REFUSED", "STAT_COUNTER_UNSUPPORTED"}) {
      if (Finding* finding = Find(id); finding != nullptr) {
        finding->details = std::move(details);
        return;
      }
    }
    const uint64_t count = details.size();
    Add(pb::SEVERITY_NOTICE, "counters.access", count, "devices without hardware counters", std::move(details));
  }

  void AddDroppedMetrics() {
    std::vector<std::string> details;
    for (const auto& [device_id, plan] : model_.counters.plans) {
      for (const pb::DroppedMetric& dropped : plan.dropped()) {
        details.push_back(
            absl::StrCat(Printable(dropped.name()), ": ",
                         dropped.text().empty() ? DroppedMetricWord(dropped.reason()) : Printable(dropped.text())));
      }
    }
    Attach("STAT_COUNTER_METRICS_DROPPED", pb::SEVERITY_NOTICE, "counters.dropped_metrics",
           "metrics asked for that the chip does not have or cannot count in one pass", std::move(details));
  }

  const TraceModel& model_;
  std::vector<Finding>* findings_;
};

}  // namespace

void AddCounterFindings(const TraceModel& model, std::vector<Finding>* findings) {
  if (model.counters.any()) CounterFindings(model, findings).AddAll();
}

}  // namespace gx::analysis
