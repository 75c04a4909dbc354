// The run explained: from one process's trace, counters and machine files to report_run.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/count_bound.h"
#include "analysis/format.h"
#include "analysis/kernel_name.h"
#include "analysis/launch_configuration.h"
#include "analysis/machine_ceilings.h"
#include "analysis/report_sections.h"
#include "analysis/run_coverage.h"
#include "analysis/run_findings.h"
#include "analysis/run_launches.h"
#include "analysis/run_neighbours.h"
#include "analysis/run_tensor.h"
#include "analysis/usual_records.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

struct CauseWords {
  const char* id;
  const char* text;
};
// By GapCause.
constexpr CauseWords kCauses[kGapCauseCount] = {
    {"synchronization", "after the host waited for the device"},
    {"host_late", "the launch came late"},
    {"graph_late", "the launch of a graph came late"},
    {"after_copy_to_host", "after a copy to the host"},
    {"before_copy", "before a copy or fill"},
    {"queued", "launched in time: stream order, an event or the start of a kernel"},
    {"inside_graph", "between nodes of a graph"},
    {"window_switch", "at the switch of recording windows, not the program's"},
    {"unknown", "cause unknown: no launch call is known"},
};

std::string GridText(const std::optional<Dim>& dim) {
  if (!dim.has_value()) return "unknown";
  std::string text = absl::StrCat(dim->x);
  if (dim->y > 1 || dim->z > 1) absl::StrAppend(&text, "x", dim->y);
  if (dim->z > 1) absl::StrAppend(&text, "x", dim->z);
  return text;
}

// Absent: not known, or no launch's.
std::optional<uint64_t> Volume(const std::optional<Dim>& dim) {
  if (!dim.has_value() || dim->x > UINT32_MAX || dim->y > UINT16_MAX || dim->z > UINT16_MAX) return std::nullopt;
  return std::max<uint64_t>(1, dim->x) * std::max<uint64_t>(1, dim->y) * std::max<uint64_t>(1, dim->z);
}

// What one signature took.
struct Times {
  uint64_t kernel_count = 0;
  uint64_t total_ns = 0;
  uint64_t clean_count = 0;
  uint64_t clean_ns = 0;
};

class Builder {
 public:
  Builder(const TraceModel& model, size_t process, const ReportRequest& request, const ProcessSection& section)
      : model_(model), process_(process), request_(request), section_(section), records_(model) {}

  RunExplanation Build() {
    AddTimes();
    AddIdle();
    AddLaunches();
    AddCounted();
    AddFusable();
    AddTensor();
    std::vector<SignatureTime> signatures;
    for (const auto& [signature, times] : times_) {
      signatures.push_back({times.total_ns, counters_.find(signature) != counters_.end()});
    }
    run_.coverage = CoverageOf(std::move(signatures), kernel_ns_);
    run_.findings = RunFindings(run_);
    return std::move(run_);
  }

 private:
  void AddTimes() {
    for (const Cell& cell : model_.cells) {
      const uint64_t total_ns = cell.clean.total_ns() + cell.not_clean.total_ns();
      kernel_ns_ += total_ns;
      if (cell.key.signature == kNone) continue;
      Times& times = times_[cell.key.signature];
      times.kernel_count += cell.clean.count() + cell.not_clean.count();
      times.total_ns += total_ns;
      times.clean_count += cell.clean.count();
      times.clean_ns += cell.clean.total_ns();
    }
  }

  const pb::MachineFile* MachineOf(uint64_t device_id) const {
    if (!request_.ladder_machines.has_value()) return nullptr;
    const auto found = request_.ladder_machines->find({process_, device_id});
    if (found == request_.ladder_machines->end() || !found->second.machine.has_value()) return nullptr;
    return &*found->second.machine;
  }

  void AddIdle() {
    for (const auto& [device_id, activity] : model_.activity_by_device) {
      DeviceIdle idle;
      idle.device_id = device_id;
      const uint64_t span_ns = activity.last_end_ns - std::min(activity.last_end_ns, activity.first_start_ns);
      idle.span_ns = span_ns - std::min(span_ns, activity.untimed_ns);
      idle.busy_ns = activity.busy_ns;
      idle.launch_delay_ns = activity.idle.launch_delay_ns;
      for (size_t cause = 0; cause < kGapCauseCount; ++cause) {
        const IdleSum& sum = activity.idle.by_cause[cause];
        if (sum.gap_count == 0) continue;
        idle.idle_ns += sum.total_ns;
        const double ratio =
            idle.span_ns > 0 ? static_cast<double>(sum.total_ns) / static_cast<double>(idle.span_ns) : 0;
        idle.causes.push_back(
            {kCauses[cause].id, kCauses[cause].text, sum.gap_count, sum.total_ns, sum.longest_ns, ratio});
      }
      std::stable_sort(idle.causes.begin(), idle.causes.end(),
                       [](const IdleCauseRow& a, const IdleCauseRow& b) { return a.total_ns > b.total_ns; });
      if (idle.span_ns > 0) run_.idle.push_back(std::move(idle));
    }
  }

  void AddLaunches() {
    std::map<uint64_t, DeviceLaunches> by_device;
    for (const auto& [signature, times] : times_) {
      const SignatureEntry& entry = model_.signatures[signature];
      DeviceLaunches& launches = by_device[entry.definition.device_id()];
      launches.kernel_count += times.kernel_count;
      launches.kernel_ns += times.total_ns;
      if (entry.definition.graph_node()) launches.graph_kernel_count += times.kernel_count;
    }
    bool first = true;
    for (const DeviceIdle& idle : run_.idle) {
      DeviceLaunches& launches = by_device[idle.device_id];
      launches.device_id = idle.device_id;
      launches.span_ns = idle.span_ns;
      launches.idle = model_.activity_by_device.at(idle.device_id).idle;
      launches.machine = MachineOf(idle.device_id);
      LaunchVerdict verdict = JudgeLaunches(launches);
      if (first || verdict.host_late_ns > run_.launches.host_late_ns) run_.launches = std::move(verdict);
      first = false;
    }
    if (section_.run.launches_per_second > 0) run_.launches.launch_period_ns = 1e9 / section_.run.launches_per_second;
  }

  void AddCounted() {
    for (const auto& [signature, series] : SeriesBySignature(model_.counters)) {
      if (signature == CounterSeries::kNoSignature || times_.find(signature) == times_.end()) continue;
      std::vector<CountedRange> counters = CountersOf(series);
      if (!counters.empty()) counters_.emplace(signature, std::move(counters));
    }
  }

  // Of several groups with the same metric the first one counts.
  std::vector<CountedRange> CountersOf(std::vector<const CounterSeries*> series) const {
    std::sort(series.begin(), series.end(),
              [](const CounterSeries* a, const CounterSeries* b) { return a->group_iid < b->group_iid; });
    std::vector<CountedRange> counters;
    for (const CounterSeries* one : series) {
      const auto group = model_.counters.groups.find(one->group_iid);
      if (group == model_.counters.groups.end() || one->samples.usable_count() == 0) continue;
      const size_t count = std::min(one->samples.metric_count(), static_cast<size_t>(group->second.metric_size()));
      for (size_t metric = 0; metric < count; ++metric) {
        const CounterFigures figures = one->samples.Figures(metric);
        if (!figures.median.has_value() || !figures.min.has_value() || !figures.max.has_value()) continue;
        if (!IsCount(*figures.min) || !IsCount(*figures.max)) continue;
        counters.push_back(
            {group->second.metric(static_cast<int>(metric)), *figures.median, *figures.min, *figures.max});
      }
    }
    return counters;
  }

  RooflineFacts FactsOf(uint32_t signature, const std::vector<CountedRange>& counters) const {
    const uint64_t device_id = model_.signatures[signature].definition.device_id();
    RooflineFacts facts;
    facts.time_ns = MeanNs(times_.at(signature));
    for (const CountedRange& counter : counters) facts.counters.emplace(counter.name, counter.median);
    facts.machine = MachineOf(device_id);
    for (const DeviceSection& device : section_.devices) {
      if (device.device_id != device_id) continue;
      facts.compute_capability_major = device.compute_capability_major.value_or(0);
      facts.compute_capability_minor = device.compute_capability_minor.value_or(0);
      facts.multiprocessor_count = device.multiprocessor_count;
      if (device.max_sm_clock_hz) facts.max_sm_clock_hz = static_cast<double>(*device.max_sm_clock_hz);
      if (device.max_memory_clock_hz) facts.max_memory_clock_hz = static_cast<double>(*device.max_memory_clock_hz);
    }
    return facts;
  }

  // Of clean launches where there are any.
  static double MeanNs(const Times& times) {
    if (times.clean_count > 0) return static_cast<double>(times.clean_ns) / static_cast<double>(times.clean_count);
    return times.kernel_count > 0 ? static_cast<double>(times.total_ns) / static_cast<double>(times.kernel_count) : 0;
  }

  void AddFusable() {
    if (counters_.empty()) return;
    std::map<uint32_t, NeighbourKernel> kernels;
    for (const auto& [signature, counters] : counters_) {
      const SignatureEntry& entry = model_.signatures[signature];
      const LaunchConfiguration launch = ConfigurationOf(model_, entry, records_.Of(entry));
      const auto find = [&counters = counters](absl::string_view name) -> std::optional<double> {
        for (const CountedRange& counter : counters) {
          if (counter.name == name) return counter.median;
        }
        return std::nullopt;
      };
      NeighbourKernel kernel;
      kernel.name = FullKernelName(model_.FunctionName(entry));
      kernel.name = kernel.name.empty() ? "(name unknown)" : ShortKernelName(kernel.name);
      kernel.grid = GridText(launch.grid);
      kernel.device_id = entry.definition.device_id();
      kernel.kernel_count = times_.at(signature).kernel_count;
      kernel.time_ns = MeanNs(times_.at(signature));
      kernel.stored_bytes = find("smsp__sass_data_bytes_mem_global_op_st.sum");
      kernel.loaded_bytes = find("smsp__sass_data_bytes_mem_global_op_ld.sum");
      kernel.dram_read_bytes = find("dram__bytes_read.sum");
      kernel.dram_write_bytes = find("dram__bytes_write.sum");
      const std::optional<uint64_t>& fixed = launch.static_shared_memory_bytes;
      const std::optional<uint64_t>& dynamic = launch.dynamic_shared_memory_bytes;
      kernel.is_elementwise = fixed == uint64_t{0} && dynamic == uint64_t{0} &&
                              TensorWorkOf(FactsOf(signature, counters), counters).paths.empty();
      kernel.machine = MachineOf(kernel.device_id);
      const std::optional<uint64_t> blocks = Volume(launch.grid);
      const std::optional<uint64_t> threads = Volume(launch.block);
      if (kernel.machine != nullptr && blocks.has_value() && threads.has_value()) {
        kernel.launch_ns = EmptyKernelNs(
            *kernel.machine,
            {.grid_blocks = *blocks, .block_threads = *threads, .dynamic_shared_memory_bytes = dynamic.value_or(0)});
      }
      kernels.emplace(signature, std::move(kernel));
    }
    std::vector<NeighbourCount> neighbours;
    for (const auto& [pair, count] : model_.neighbours) neighbours.push_back({pair.first, pair.second, count});
    // Equal traces give equal reports.
    std::sort(neighbours.begin(), neighbours.end(), [](const NeighbourCount& a, const NeighbourCount& b) {
      return std::tuple(a.producer, a.consumer) < std::tuple(b.producer, b.consumer);
    });
    FusableNeighbours found = FindFusable(kernels, neighbours);
    run_.fusable = std::move(found.pairs);
    run_.fusable_count = run_.fusable.size();
    run_.unjudged_neighbours_ratio = found.unjudged_ratio;
    if (run_.fusable.size() > kMaxFusablePairs) run_.fusable.resize(kMaxFusablePairs);
    run_.chains = std::move(found.chains);
    run_.chain_count = run_.chains.size();
    if (run_.chains.size() > kMaxFusablePairs) run_.chains.resize(kMaxFusablePairs);
  }

  void AddTensor() {
    if (counters_.empty()) return;
    std::vector<TensorSignature> signatures;
    for (const auto& [signature, counters] : counters_) {
      TensorSignature work = TensorWorkOf(FactsOf(signature, counters), counters);
      work.kernel_count = times_.at(signature).kernel_count;
      work.total_ns = times_.at(signature).total_ns;
      signatures.push_back(std::move(work));
    }
    TensorTime time{.kernel_ns = kernel_ns_};
    for (const DeviceIdle& idle : run_.idle) {
      time.busy_ns += idle.busy_ns;
      time.timed_ns += section_.run.timed_ns();
    }
    run_.tensor = AddUpTensorUse(signatures, time);
  }

  const TraceModel& model_;
  const size_t process_;
  const ReportRequest& request_;
  const ProcessSection& section_;
  const UsualRecords records_;
  RunExplanation run_;
  uint64_t kernel_ns_ = 0;
  std::map<uint32_t, Times> times_;
  // Signatures with a timing and a usable sample.
  std::map<uint32_t, std::vector<CountedRange>> counters_;
};

}  // namespace

RunExplanation ExplainRun(const TraceModel& model, size_t process, const ReportRequest& request,
                          const ProcessSection& section) {
  return Builder(model, process, request, section).Build();
}

}  // namespace gx::analysis
