// The ladder of each signature with enough clean timings and a usable counter sample.
#include "analysis/report_ladder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "analysis/format.h"
#include "analysis/kernel_name.h"
#include "analysis/ladder_figures.h"
#include "analysis/ladder_input.h"
#include "analysis/ladder_run.h"
#include "analysis/ladder_samples.h"
#include "analysis/ladder_what_ifs.h"
#include "analysis/launch_configuration.h"
#include "analysis/model/ladder_modes.h"
#include "analysis/model/quantile.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "analysis/usual_records.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

// Durations that modes and the interval of the median are looked for in: all where there are no more.
constexpr size_t kMaxDurations = 4096;

// Of these, the ones that modes are looked for in: a straggler in a hundred is no bridge between two modes.
constexpr size_t kModeDurations = 100;

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
    std::map<uint32_t, uint64_t> count_by_signature;
    uint64_t all_ns = 0;
    for (const Cell& cell : model_.cells) {
      const uint64_t total_ns = cell.clean.total_ns() + cell.not_clean.total_ns();
      all_ns += total_ns;
      if (cell.key.signature == kNone) continue;
      clean_by_signature[cell.key.signature].push_back(&cell.clean);
      ns_by_signature[cell.key.signature] += total_ns;
      count_by_signature[cell.key.signature] += cell.kernel_count;
    }
    for (const SummarisedKernels& summarised : model_.summarised) all_ns += summarised.total_ns;

    section_.run.kernel_ns = all_ns;
    const auto series_by_signature = SeriesBySignature(model_.counters);
    for (const auto& [signature, clean] : clean_by_signature) {
      const SignatureEntry& entry = model_.signatures[signature];
      LadderRow row;
      row.signature = signature;
      row.full_name = FullKernelName(model_.FunctionName(entry));
      if (row.full_name.empty()) row.full_name = "(name unknown)";
      if (!request_.filter.matches_all() && !request_.filter.Matches(row.full_name)) continue;
      if (request_.ladders_of.has_value() && request_.ladders_of->count({section_.process, signature}) == 0) continue;
      for (const DurationSamples* samples : clean) row.clean_count += samples->count();
      if (row.clean_count < kMinCleanSamples) {
        ++section_.few_clean_count;
        continue;
      }
      const auto found = series_by_signature.find(signature);
      const bool is_sampled = found != series_by_signature.end();
      row.is_communication = IsCommunication(entry);
      if (!row.is_communication && (!is_sampled || CountersOf(model_.counters, found->second).empty())) {
        ++section_.uncounted_count;
        continue;
      }
      row.kernel_count = count_by_signature[signature];
      row.total_ns = ns_by_signature[signature];
      if (all_ns > 0) row.share_ratio = static_cast<double>(row.total_ns) / static_cast<double>(all_ns);
      const std::vector<uint64_t> picked_ns = DurationSamples::Pick(clean, kMaxDurations);
      const std::vector<double> sorted_ns(picked_ns.begin(), picked_ns.end());
      const std::vector<const CounterSeries*> series = is_sampled ? found->second : std::vector<const CounterSeries*>();
      if (!Fill(entry, series, sorted_ns, &row)) continue;
      if (without_bound_.count(signature) > 0) {
        row.notes.emplace_back("R0 left out: launches of this signature differ in work, the manifest states one");
      }
      section_.rows.push_back(std::move(row));
    }
    std::sort(section_.rows.begin(), section_.rows.end(), [](const LadderRow& a, const LadderRow& b) {
      return std::tuple(b.total_ns, a.full_name, a.grid, a.block) <
             std::tuple(a.total_ns, b.full_name, b.grid, b.block);
    });
    section_.matched_count = section_.rows.size();
    for (const LadderRow& row : section_.rows) AddToRun(row, &section_.run);
    if (request_.top > 0 && section_.rows.size() > request_.top) section_.rows.resize(request_.top);
    RankLadders(&section_);
    AddManifestLines();
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

  void AddManifestLines() {
    for (const auto& [key, bound] : request_.manifest_bounds) {
      if (key.first != section_.process) continue;
      const bool has_ladder = std::any_of(section_.rows.begin(), section_.rows.end(),
                                          [id = key.second](const LadderRow& row) { return row.signature == id; });
      section_.manifest_lines.push_back(
          absl::StrCat(ManifestLine(bound),
                       without_bound_.count(key.second) > 0
                           ? ". Not applied: launches of this kernel differ in work, and which of them the manifest "
                             "is of is not known"
                           : "",
                       has_ladder ? "" : ". No ladder of this kernel is shown, for the reasons below or --top"));
    }
  }

  std::string DriverVersion() const { return BuildProvenance(model_).driver_version; }

  // All but time and counters.
  LadderFacts FactsOf(const SignatureEntry& entry, const LaunchConfiguration& launch) const {
    const uint64_t device_id = entry.definition.device_id();
    LadderFacts facts;
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
      if (about.attributes().has_compute_capability_major() && about.attributes().compute_capability_major() < 1000) {
        facts.compute_capability =
            model::ComputeCapability{static_cast<int>(about.attributes().compute_capability_major()),
                                     static_cast<int>(about.attributes().compute_capability_minor() % 1000)};
      }
      if (about.attributes().l2_cache_bytes() > 0) facts.l2_cache_bytes = about.attributes().l2_cache_bytes();
    }
    facts.timed_sm_clock_hz = WindowClockHz(device_id, pb::Window::KIND_TIMING);
    facts.counter_window_sm_clock_hz = WindowClockHz(device_id, pb::Window::KIND_COUNTERS);
    const auto machine = request_.ladder_machines->find({section_.process, device_id});
    if (machine != request_.ladder_machines->end() && machine->second.machine.has_value()) {
      facts.machine = &*machine->second.machine;
    }
    facts.shape = {.grid_blocks = Volume(launch.grid).value_or(1),
                   .block_threads = Volume(launch.block).value_or(1),
                   .dynamic_shared_memory_bytes = launch.dynamic_shared_memory_bytes.value_or(0),
                   .cluster_blocks = launch.cluster.has_value() ? Volume(launch.cluster).value_or(0) : 0};
    if (launch.residency.waves.has_value()) {
      facts.waves = static_cast<uint64_t>(std::clamp(std::ceil(*launch.residency.waves), 1.0, 1e15));
    }
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

  // Median over windows of the kind.
  std::optional<double> WindowClockHz(uint64_t device_id, pb::Window::Kind kind) const {
    std::vector<double> clocks_hz;
    for (const auto& [key, clocks] : model_.counters.window_clocks) {
      const auto window = model_.windows.find(clocks.window_id());
      if (clocks.device_id() != device_id || !clocks.has_sm_clock_hz() || clocks.sm_clock_hz() == 0 ||
          window == model_.windows.end() || window->second.kind() != kind) {
        continue;
      }
      clocks_hz.push_back(static_cast<double>(clocks.sm_clock_hz()));
    }
    if (clocks_hz.empty()) return std::nullopt;
    std::sort(clocks_hz.begin(), clocks_hz.end());
    return model::SortedQuantile(clocks_hz, 0.5);
  }

  // Blocks an SM holds where what the kernel spills (its local memory, which may hold more than that) is in registers.
  std::optional<uint64_t> BlocksWithoutSpills(const SignatureEntry& entry, const LaunchConfiguration& launch) const {
    constexpr uint64_t kBytesPerRegister = 4;
    constexpr uint64_t kMaxRegisters = 255;
    if (launch.local_memory_per_thread_bytes.value_or(0) == 0 || !launch.registers_per_thread.has_value()) {
      return std::nullopt;
    }
    const uint64_t local = std::min(*launch.local_memory_per_thread_bytes / kBytesPerRegister, kMaxRegisters);
    return ResidencyWith(model_, entry, records_.Of(entry),
                         std::min(kMaxRegisters, *launch.registers_per_thread + local))
        .blocks_per_sm;
  }

  // False: refused, with a line that says why.
  bool Fill(const SignatureEntry& entry, const std::vector<const CounterSeries*>& series,
            const std::vector<double>& sorted_ns, LadderRow* row) {
    row->short_name = ShortKernelName(row->full_name);
    LadderLaunch launch;
    launch.configuration = ConfigurationOf(model_, entry, records_.Of(entry));
    row->grid = GridText(launch.configuration.grid);
    row->block = GridText(launch.configuration.block);
    launch.block_count = Volume(launch.configuration.grid);
    launch.blocks_per_sm_without_spills = BlocksWithoutSpills(entry, launch.configuration);
    LadderFacts facts = FactsOf(entry, launch.configuration);
    launch.sm_count = facts.multiprocessor_count;
    facts.is_communication = row->is_communication;
    const auto bound = request_.manifest_bounds.find({section_.process, row->signature});
    const bool is_mixed = !row->is_communication && !MixedWorkOf(model_.counters, series).empty();
    absl::StatusOr<std::vector<model::TimeMode>> modes = ModesOf(sorted_ns);
    // A manifest states one work: of launches that differ it is a bound of some alone, and nothing says which.
    if (bound != request_.manifest_bounds.end() && (is_mixed || (modes.ok() && modes->size() > 1))) {
      without_bound_.insert(row->signature);
    } else if (bound != request_.manifest_bounds.end()) {
      facts.compulsory_ns = bound->second.ns;
      row->compulsory_source = ManifestSource(bound->second);
    }
    facts.counters = CountersOf(model_.counters, series);
    const auto refuse = [&](const absl::Status& status) {
      section_.refused.push_back(
          absl::StrCat(row->short_name, ", grid ", row->grid, ": ", Printable(status.message())));
      return false;
    };
    const auto clock_step_ns = static_cast<double>(model_.clock_step_ns);
    const auto kernels = static_cast<double>(row->kernel_count);
    const uint64_t clean_count = row->clean_count;
    absl::Status status = FillFigures({facts, launch, sorted_ns, clock_step_ns, kernels}, row);
    if (!status.ok()) return refuse(status);
    row->clean_count = clean_count;
    const double launch_ns = row->ladder.idle_launch_ns;
    double ns_per_cycle = NsPerCycle(facts, *row);
    if (modes.ok() && modes->size() > 1) {
      ns_per_cycle = FitNsPerCycle(model_.counters, series, *modes, ns_per_cycle, launch_ns);
    }
    if (modes.ok() && is_mixed) {
      modes =
          model::SplitModesByWork(sorted_ns, *modes, WorkDurations(model_.counters, series, ns_per_cycle, launch_ns));
    }
    if (row->is_communication || !modes.ok() || modes->size() < 2) {
      if (is_mixed) {
        row->notes.emplace_back(
            "mixed work: launches of this signature differ, and their durations do not tell them apart; intervals hold "
            "all of them");
      }
      return true;
    }
    const ModeCounters counters = CountersByMode(model_.counters, series, *modes, ns_per_cycle, launch_ns);
    return FillModes(facts, launch, counters, sorted_ns, *modes, row);
  }

  // Modes of some of the durations, so that stragglers between two do not join them.
  static absl::StatusOr<std::vector<model::TimeMode>> ModesOf(const std::vector<double>& sorted_ns) {
    if (sorted_ns.size() <= kModeDurations) return model::FindTimeModes(sorted_ns);
    std::vector<double> some_ns;
    for (size_t i = 0; i < kModeDurations; ++i) {
      some_ns.push_back(sorted_ns[(2 * i + 1) * sorted_ns.size() / (2 * kModeDurations)]);
    }
    absl::StatusOr<std::vector<model::TimeMode>> modes = model::FindTimeModes(some_ns);
    if (!modes.ok()) return modes;
    size_t begin = 0;
    for (model::TimeMode& mode : *modes) {
      size_t end = sorted_ns.size();
      if (mode.end < some_ns.size()) {
        const double between_ns = std::sqrt(some_ns[mode.end - 1] * some_ns[mode.end]);
        end = static_cast<size_t>(std::lower_bound(sorted_ns.begin(), sorted_ns.end(), between_ns) - sorted_ns.begin());
      }
      mode.begin = begin;
      mode.end = end;
      begin = end;
    }
    return modes;
  }

  // At the clock that all launches together were explained with.
  static double NsPerCycle(const LadderFacts& facts, const LadderFigures& all) {
    constexpr double kNsPerSecond = 1e9;
    if (all.ladder.active_cycles_ns.has_value() && all.active_cycles > 0) {
      return all.ladder.active_cycles_ns->max / all.active_cycles;
    }
    const std::optional<double> hz =
        facts.timed_sm_clock_hz.has_value() ? facts.timed_sm_clock_hz : facts.max_sm_clock_hz;
    return hz.has_value() ? kNsPerSecond / *hz : 0;
  }

  bool FillModes(LadderFacts facts, const LadderLaunch& launch, const ModeCounters& counters,
                 const std::vector<double>& sorted_ns, const std::vector<model::TimeMode>& modes, LadderRow* row) {
    std::vector<LadderMode> filled;
    std::optional<size_t> heaviest;
    double most_ns = 0;
    for (size_t i = 0; i < modes.size(); ++i) {
      const size_t count = modes[i].end - modes[i].begin;
      const std::vector<double> of_mode(sorted_ns.begin() + static_cast<std::ptrdiff_t>(modes[i].begin),
                                        sorted_ns.begin() + static_cast<std::ptrdiff_t>(modes[i].end));
      LadderMode mode;
      mode.launch_ratio = static_cast<double>(count) / static_cast<double>(sorted_ns.size());
      mode.is_counted = !counters.by_mode[i].empty();
      facts.counters = counters.by_mode[i];
      const double kernels = static_cast<double>(row->kernel_count) * mode.launch_ratio;
      const absl::Status status =
          FillFigures({facts, launch, of_mode, static_cast<double>(model_.clock_step_ns), kernels}, &mode);
      if (!status.ok()) {
        section_.refused.push_back(
            absl::StrCat(row->short_name, ", grid ", row->grid, ", mode ", i + 1, ": ", Printable(status.message())));
        return false;
      }
      mode.clean_count = static_cast<uint64_t>(std::llround(static_cast<double>(row->clean_count) * mode.launch_ratio));
      const double total_ns = modes[i].median_ns * static_cast<double>(count);
      if (mode.is_counted && total_ns > most_ns) {
        heaviest = i;
        most_ns = total_ns;
      }
      filled.push_back(std::move(mode));
    }
    // Without any that was counted: the first, which says so.
    row->mode = heaviest.value_or(0);
    static_cast<LadderFigures&>(*row) = filled[row->mode];
    row->notes.push_back(
        absl::StrCat("mixed work: ", modes.size(), " modes of durations; these figures are of mode ", row->mode + 1));
    if (counters.unplaced_count > 0) {
      row->notes.push_back(absl::StrCat(Plural(counters.unplaced_count, "counter sample"), " of no mode, left out"));
    }
    row->modes = std::move(filled);
    return true;
  }

  const TraceModel& model_;
  const ReportRequest& request_;
  const UsualRecords records_;
  // Signatures that a manifest is of and whose launches differ in work.
  std::set<uint32_t> without_bound_;
  LadderSection section_;
};

}  // namespace

LadderSection BuildLadders(const TraceModel& model, size_t process, const ReportRequest& request) {
  return ProcessLadders(model, process, request).Build();
}

}  // namespace gx::analysis
