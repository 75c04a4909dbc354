// The ladder of each signature with enough clean timings and a usable counter sample.
#include "analysis/report_ladder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/kernel_name.h"
#include "analysis/ladder_input.h"
#include "analysis/launch_configuration.h"
#include "analysis/model/ladder_rounding.h"
#include "analysis/model/quantile.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "analysis/usual_records.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

std::string GridText(const std::optional<Dim>& dim) {
  if (!dim.has_value()) return "unknown";
  std::string text = absl::StrCat(dim->x);
  if (dim->y > 1 || dim->z > 1) absl::StrAppend(&text, "x", dim->y);
  if (dim->z > 1) absl::StrAppend(&text, "x", dim->z);
  return text;
}

// Absent: beyond 64 bits, or not known.
std::optional<uint64_t> Volume(const std::optional<Dim>& dim) {
  if (!dim.has_value()) return std::nullopt;
  uint64_t plane = 0;
  uint64_t volume = 0;
  if (__builtin_mul_overflow(dim->x, dim->y, &plane) || __builtin_mul_overflow(plane, dim->z, &volume)) {
    return std::nullopt;
  }
  return volume;
}

class ProcessLadders {
 public:
  ProcessLadders(const TraceModel& model, size_t process, const ReportRequest& request)
      : model_(model), request_(request), records_(model) {
    section_.process = process;
  }

  LadderSection Build() {
    BuildMachines();
    std::map<uint32_t, std::vector<const DurationSamples*>> clean_by_signature;
    std::map<uint32_t, uint64_t> ns_by_signature;
    uint64_t all_ns = 0;
    for (const Cell& cell : model_.cells) {
      const uint64_t total_ns = cell.clean.total_ns() + cell.not_clean.total_ns();
      all_ns += total_ns;
      if (cell.key.signature == kNone) continue;
      clean_by_signature[cell.key.signature].push_back(&cell.clean);
      ns_by_signature[cell.key.signature] += total_ns;
    }
    for (const SummarisedKernels& summarised : model_.summarised) all_ns += summarised.total_ns;

    const auto series_by_signature = SeriesBySignature(model_.counters);
    std::vector<std::pair<uint64_t, LadderRow>> rows;
    for (const auto& [signature, clean] : clean_by_signature) {
      const SignatureEntry& entry = model_.signatures[signature];
      LadderRow row;
      row.signature = signature;
      row.full_name = FullKernelName(model_.FunctionName(entry));
      if (row.full_name.empty()) row.full_name = "(name unknown)";
      if (!request_.filter.matches_all() && !request_.filter.Matches(row.full_name)) continue;
      for (const DurationSamples* samples : clean) row.clean_count += samples->count();
      if (row.clean_count < kMinCleanSamples) {
        ++section_.few_clean_count;
        continue;
      }
      const auto found = series_by_signature.find(signature);
      LadderFacts facts = FactsOf(entry, DurationSamples::Summarise(clean).median_ns);
      if (found != series_by_signature.end()) facts.counters = CountersOf(found->second);
      if (facts.counters.empty() && !facts.is_communication) {
        ++section_.uncounted_count;
        continue;
      }
      if (found != series_by_signature.end() && !MixedWorkOf(model_.counters, found->second).empty()) {
        row.notes.emplace_back("mixed work: launches of this signature differ; medians of all of them are compared");
      }
      if (all_ns > 0) row.share_ratio = static_cast<double>(ns_by_signature[signature]) / static_cast<double>(all_ns);
      if (Fill(entry, facts, &row)) rows.emplace_back(ns_by_signature[signature], std::move(row));
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return std::tuple(b.first, a.second.full_name, a.second.grid, a.second.block) <
             std::tuple(a.first, b.second.full_name, b.second.grid, b.second.block);
    });
    section_.matched_count = rows.size();
    if (request_.top > 0 && rows.size() > request_.top) rows.resize(request_.top);
    for (auto& [total_ns, row] : rows) section_.rows.push_back(std::move(row));
    return std::move(section_);
  }

 private:
  void BuildMachines() {
    for (const auto& [device_id, device] : model_.devices) {
      const std::string name = absl::StrCat("device ", device_id, ": ");
      const auto found = request_.ladder_machines->find({section_.process, device_id});
      if (found == request_.ladder_machines->end() || !found->second.machine.has_value()) {
        section_.machine_lines.push_back(
            absl::StrCat(name,
                         "no machine file matches it: what the device sustains, launches, tracing and latencies are "
                         "unmeasured (gx-kernels --ceilings measures them)"));
      } else {
        const bool same = found->second.match == MachineMatch::kSameDevice;
        section_.machine_lines.push_back(absl::StrCat(name, Printable(found->second.path),
                                                      same ? ", of this device" : ", of another device of this kind"));
        for (const std::string& line : MachineDifferences(*found->second.machine, device, DriverVersion())) {
          section_.machine_lines.push_back(absl::StrCat("differs: ", Printable(line)));
        }
      }
      if (found == request_.ladder_machines->end()) continue;
      for (const std::string& note : found->second.notes) section_.machine_lines.push_back(Printable(note));
    }
  }

  std::string DriverVersion() const { return BuildProvenance(model_).driver_version; }

  std::vector<CountedMetric> CountersOf(std::vector<const CounterSeries*> series) const {
    std::sort(series.begin(), series.end(),
              [](const CounterSeries* a, const CounterSeries* b) { return a->group_iid < b->group_iid; });
    std::vector<CountedMetric> counters;
    for (const CounterSeries* one : series) {
      const auto group = model_.counters.groups.find(one->group_iid);
      if (group == model_.counters.groups.end() || one->samples.usable_count() == 0) continue;
      const size_t metric_count =
          std::min(one->samples.metric_count(), static_cast<size_t>(group->second.metric_size()));
      for (size_t metric = 0; metric < metric_count; ++metric) {
        const CounterFigures figures = one->samples.Figures(metric);
        if (!figures.median.has_value() || !figures.min.has_value()) continue;
        counters.push_back(
            {one->group_iid, group->second.metric(static_cast<int>(metric)), *figures.median, *figures.min});
      }
    }
    return counters;
  }

  LadderFacts FactsOf(const SignatureEntry& entry, double time_ns) const {
    const uint64_t device_id = entry.definition.device_id();
    LadderFacts facts;
    facts.time_ns = time_ns;
    if (const auto peaks = model_.counters.peaks.find(device_id); peaks != model_.counters.peaks.end()) {
      for (const pb::DevicePeaks::Peak& peak : peaks->second.peak()) {
        if (std::isfinite(peak.value())) facts.peaks[peak.metric()] = peak.value();
      }
    }
    if (const auto device = model_.devices.find(device_id); device != model_.devices.end()) {
      const pb::Device& about = device->second;
      if (about.max_sm_clock_hz() > 0) facts.max_sm_clock_hz = static_cast<double>(about.max_sm_clock_hz());
      if (about.attributes().multiprocessor_count() > 0) {
        facts.multiprocessor_count = about.attributes().multiprocessor_count();
      }
      if (about.attributes().l2_cache_bytes() > 0) facts.l2_cache_bytes = about.attributes().l2_cache_bytes();
    }
    facts.timed_sm_clock_hz = TimedClockHz(device_id);
    const auto machine = request_.ladder_machines->find({section_.process, device_id});
    if (machine != request_.ladder_machines->end() && machine->second.machine.has_value()) {
      facts.machine = &*machine->second.machine;
    }
    const LaunchConfiguration launch = ConfigurationOf(model_, entry, records_.Of(entry));
    facts.shape = {.grid_blocks = Volume(launch.grid).value_or(1),
                   .block_threads = Volume(launch.block).value_or(1),
                   .dynamic_shared_memory_bytes = launch.dynamic_shared_memory_bytes.value_or(0),
                   .cluster_blocks = launch.cluster.has_value() ? Volume(launch.cluster).value_or(0) : 0};
    if (launch.residency.waves.has_value()) {
      facts.waves = static_cast<uint64_t>(std::clamp(std::ceil(*launch.residency.waves), 1.0, 1e15));
    }
    facts.is_communication = IsCommunication(entry);
    return facts;
  }

  bool IsCommunication(const SignatureEntry& entry) const {
    for (const auto& [key, denial] : model_.counters.denials) {
      if (denial.function_iid() != 0 && denial.function_iid() == entry.definition.function_iid() &&
          denial.reason() == pb::CounterDenial::REASON_NAME) {
        return true;
      }
    }
    return IsCommunicationName(model_.FunctionName(entry));
  }

  // Median over windows with timings.
  std::optional<double> TimedClockHz(uint64_t device_id) const {
    std::vector<double> clocks_hz;
    for (const auto& [key, clocks] : model_.counters.window_clocks) {
      const auto window = model_.windows.find(clocks.window_id());
      if (clocks.device_id() != device_id || !clocks.has_sm_clock_hz() || clocks.sm_clock_hz() == 0 ||
          window == model_.windows.end() || window->second.kind() != pb::Window::KIND_TIMING) {
        continue;
      }
      clocks_hz.push_back(static_cast<double>(clocks.sm_clock_hz()));
    }
    if (clocks_hz.empty()) return std::nullopt;
    std::sort(clocks_hz.begin(), clocks_hz.end());
    return model::SortedQuantile(clocks_hz, 0.5);
  }

  bool Fill(const SignatureEntry& entry, const LadderFacts& facts, LadderRow* row) {
    row->short_name = ShortKernelName(row->full_name);
    const LaunchConfiguration launch = ConfigurationOf(model_, entry, records_.Of(entry));
    row->grid = GridText(launch.grid);
    row->block = GridText(launch.block);
    const auto refuse = [&](const absl::Status& status) {
      section_.refused.push_back(
          absl::StrCat(row->short_name, ", grid ", row->grid, ": ", Printable(status.message())));
      return false;
    };
    absl::StatusOr<LadderEvidence> evidence = BuildLadderInput(facts);
    if (!evidence.ok()) return refuse(evidence.status());
    absl::StatusOr<model::Ladder> ladder = model::ComputeLadder(evidence->input);
    if (!ladder.ok()) return refuse(ladder.status());
    row->ladder = *std::move(ladder);
    row->excess = std::move(evidence->excess);
    for (const std::string& line : evidence->unmeasured) row->unmeasured.push_back(Printable(line));
    // Some name metrics of the trace.
    for (const std::string& note : evidence->notes) row->notes.push_back(Printable(note));
    std::array<double, model::kTermCount> terms_ns = {};
    for (size_t i = 0; i < terms_ns.size(); ++i) terms_ns[i] = row->ladder.terms[i].ns;
    const auto whole_ns = model::RoundParts(terms_ns);
    if (!whole_ns.ok()) return refuse(whole_ns.status());
    std::copy(whole_ns->begin(), whole_ns->end(), row->whole_ns.begin());
    for (const int64_t ns : row->whole_ns) row->time_ns += ns;
    return true;
  }

  const TraceModel& model_;
  const ReportRequest& request_;
  const UsualRecords records_;
  LadderSection section_;
};

}  // namespace

LadderSection BuildLadders(const TraceModel& model, size_t process, const ReportRequest& request) {
  return ProcessLadders(model, process, request).Build();
}

}  // namespace gx::analysis
