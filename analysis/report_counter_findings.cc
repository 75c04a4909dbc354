// Section 1 of the report, as far as hardware counters are concerned.
#include <algorithm>
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
    AddDenials();
    AddAccess();
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
          "samples void: something else than their one launch was in the range; not used", {});
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
      const std::vector<MixedWork> mixed = MixedWorkOf(model_, signature, series);
      if (mixed.empty()) continue;
      const SignatureEntry& entry = model_.signatures[signature];
      const std::string name = ShortKernelName(FullKernelName(model_.FunctionName(entry)));
      std::string line = absl::StrCat(name.empty() ? "(name unknown)" : name, ", grid ", entry.definition.grid_x(), "x",
                                      entry.definition.grid_y(), "x", entry.definition.grid_z(), ": ");
      for (size_t i = 0; i < mixed.size(); ++i) {
        absl::StrAppend(&line, i == 0 ? "" : "; ", mixed[i].metric, " ", FormatCounterValue(mixed[i].min), " to ",
                        FormatCounterValue(mixed[i].max), " (", FormatRatio(mixed[i].spread_ratio), ")");
      }
      details.push_back(std::move(line));
    }
    const uint64_t count = details.size();
    Add(pb::SEVERITY_NOTICE, "counters.mixed_work", count,
        "signatures whose launches did different work (instructions or bytes spread by more than 2 %): their medians "
        "are "
        "of a mixture",
        std::move(details));
  }

  void AddDenials() {
    std::vector<std::string> details;
    for (const auto& [key, denial] : model_.counters.denials) {
      details.push_back(absl::StrCat(ShortKernelName(DeniedFunctionName(model_, denial.function_iid())), ": ",
                                     CounterDenialWord(denial.reason()), denial.detail().empty() ? "" : " (",
                                     Printable(denial.detail()), denial.detail().empty() ? "" : ")"));
    }
    Add(pb::SEVERITY_NOTICE, "counters.denied_functions", model_.counters.denials.size(),
        "kernels that are not sampled: no hardware counters of them", std::move(details));
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
    const uint64_t count = details.size();
    if (Finding* finding = Find("STAT_COUNTER_METRICS_DROPPED"); finding != nullptr) {
      if (details.size() > kMaxDetails) details.resize(kMaxDetails);
      finding->details = std::move(details);
      return;
    }
    Add(pb::SEVERITY_NOTICE, "counters.dropped_metrics", count,
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
