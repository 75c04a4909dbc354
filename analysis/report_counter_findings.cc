// Section 1 of the report, as far as hardware counters are concerned.
#include <algorithm>
#include <array>
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
// Of instructions by two means. Waiting GEMMs on an H200 are below 1 % apart, kernels that do nothing but wait above 90
// %.
constexpr double kUsualDisagreement = 0.05;

// Readings of the same clock by two means.
constexpr double kSlowClock = 0.05;

class CounterFindings {
 public:
  CounterFindings(const TraceModel& model, std::vector<Finding>* findings, std::vector<Finding>* bookkeeping)
      : model_(model), findings_(findings), bookkeeping_(bookkeeping) {}

  void AddAll() {
    const CounterModel& counters = model_.counters;
    AddMixedWork();
    AddDisagreements();
    AddSlowClocks();
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
    (severity == pb::SEVERITY_INFO ? bookkeeping_ : findings_)->push_back(std::move(finding));
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

  // Patched code runs longer, so that a kernel that waits in a loop goes round more often: a little of that is usual
  // for kernels with barriers or pipelines.
  void AddDisagreements() {
    std::vector<std::string> small;
    std::vector<std::string> large;
    const auto look = [&](const std::string& name, const std::vector<const CounterSeries*>& series) {
      const std::optional<InstructionDisagreement> found = InstructionDisagreementOf(model_.counters, series);
      if (!found.has_value()) return;
      (found->difference_ratio < kUsualDisagreement ? small : large)
          .push_back(absl::StrCat(name, ": ", FormatCounterValue(found->hardware), " by the hardware, ",
                                  FormatCounterValue(found->patched), " by patched code (",
                                  FormatRatio(found->difference_ratio), " apart)"));
    };
    for (const auto& [signature, series] : SeriesBySignature(model_.counters)) {
      if (signature != CounterSeries::kNoSignature) look(NameOf(signature), series);
    }
    for (const auto& [graph_exec_id, series] : SeriesByGraph(model_.counters)) {
      look(absl::StrCat("graph ", graph_exec_id), series);
    }
    const uint64_t large_count = large.size();
    Add(pb::SEVERITY_NOTICE, "counters.instruction_disagreements", large_count,
        "signatures whose instructions differ by 5 % or more between the hardware's count and patched code's: they "
        "wait "
        "in a loop, did other work at other times, or were added to",
        std::move(large));
    const uint64_t small_count = small.size();
    Add(pb::SEVERITY_INFO, "counters.small_instruction_disagreements", small_count,
        "signatures whose instructions differ by less than 5 % there: usual for kernels that wait at barriers or in "
        "pipelines",
        std::move(small));
  }

  // NVML reads once a second what the clock is meant to be; counters tell what it was while the kernel ran.
  void AddSlowClocks() {
    std::vector<std::string> details;
    for (const auto& [signature, series] : SeriesBySignature(model_.counters)) {
      if (signature == CounterSeries::kNoSignature) continue;
      const auto nvml = model_.clocks_by_device.find(model_.signatures[signature].definition.device_id());
      if (nvml == model_.clocks_by_device.end() || nvml->second.sm_clock_hz.count() == 0) continue;
      const std::array<const DurationSamples*, 1> readings = {&nvml->second.sm_clock_hz};
      const double nvml_hz = DurationSamples::Summarise(readings).median_ns;
      const std::optional<double> counted_hz = CountedClockHz(model_.counters, series);
      if (!counted_hz.has_value() || !(*counted_hz < nvml_hz * (1 - kSlowClock))) continue;
      details.push_back(
          absl::StrCat(NameOf(signature), ": ", FormatHz(*counted_hz), " counted, ", FormatHz(nvml_hz), " by NVML"));
    }
    const uint64_t count = details.size();
    Add(pb::SEVERITY_NOTICE, "counters.slow_clocks", count,
        "signatures counted at an SM clock more than 5 % below NVML's median, as a power limit does within kernels",
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
    // The library said it.
    for (const absl::string_view why :
         {"STAT_COUNTER_NO_CONTEXT", "STAT_COUNTER_REGION_OFF", "STAT_COUNTER_RUN_TOO_SHORT"}) {
      if (Find(why) != nullptr) return;
    }
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
    bool is_explained = false;
    for (const auto& [device_id, access] : model_.counters.access) {
      // Off is what was asked for.
      if (access.state() == pb::CounterAccess::STATE_ALLOWED || access.state() == pb::CounterAccess::STATE_OFF)
        continue;
      is_explained = is_explained || !access.text().empty();
      details.push_back(absl::StrCat("device ", device_id, ": ", CounterAccessWord(access.state()),
                                     access.text().empty() ? "" : ": ", Printable(access.text())));
    }
    for (const absl::string_view id : {"STAT_COUNTER_PERMISSION_REFUSED", "STAT_COUNTER_UNSUPPORTED"}) {
      if (Finding* finding = Find(id); finding != nullptr) {
        finding->details = std::move(details);
        // What to do on this very machine is among the details.
        if (is_explained) finding->advice.clear();
        return;
      }
    }
    const uint64_t count = details.size();
    Add(pb::SEVERITY_NOTICE, "counters.access", count, "devices without hardware counters", std::move(details));
  }

  // Sets name what any chip may have, in the spellings of all: what this one lacks is no news, and stands in the table
  // of counters. A metric that the user named is missed.
  void AddDroppedMetrics() {
    constexpr absl::string_view kStat = "STAT_COUNTER_METRICS_DROPPED";
    uint64_t dropped_count = 0;
    std::vector<std::string> details;
    for (const auto& [device_id, plan] : model_.counters.plans) {
      dropped_count += static_cast<uint64_t>(plan.dropped_size());
      for (const pb::DroppedMetric& dropped : plan.dropped()) {
        if (IsAskedForByName(plan, dropped)) details.push_back(DroppedMetricText(dropped));
      }
    }
    const auto counted =
        std::find_if(findings_->begin(), findings_->end(), [&](const Finding& finding) { return finding.id == kStat; });
    // Without the plans nobody knows which ones.
    if (counted != findings_->end() && dropped_count > 0) findings_->erase(counted);
    const uint64_t count = details.size();
    Add(pb::SEVERITY_NOTICE, "counters.dropped_metrics", count,
        "metrics that GPUEXEC_COUNTERS names and that the chip does not have or cannot count in one pass",
        std::move(details));
    Add(pb::SEVERITY_INFO, "counters.dropped_set_metrics", dropped_count - count,
        "metrics of the set that this chip does not have or cannot count in one pass (--section counters names them)",
        {});
  }

  const TraceModel& model_;
  std::vector<Finding>* findings_;
  std::vector<Finding>* bookkeeping_;
};

}  // namespace

void AddCounterFindings(const TraceModel& model, std::vector<Finding>* findings, std::vector<Finding>* bookkeeping) {
  if (model.counters.any()) CounterFindings(model, findings, bookkeeping).AddAll();
}

}  // namespace gx::analysis
