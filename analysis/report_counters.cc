// Section 5 of the report: hardware counters.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/kernel_name.h"
#include "analysis/model/quantile.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"
#include "analysis/stat_catalog.h"
#include "analysis/throttle_reasons.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

std::optional<double> Finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::optional<double> MedianStep(std::vector<double> values) {
  if (values.size() < 2) return std::nullopt;
  std::vector<double> steps;
  for (size_t i = 1; i < values.size(); ++i) steps.push_back(values[i] - values[i - 1]);
  std::sort(steps.begin(), steps.end());
  return model::SortedQuantile(steps, 0.5);
}

Dim DimOf(uint64_t x, uint64_t y, uint64_t z) { return {x, y, z}; }

class ProcessCounters {
 public:
  ProcessCounters(const TraceModel& model, size_t process, const ReportRequest& request)
      : model_(model), counters_(model.counters), request_(request) {
    section_.process = process;
    begin_ns_ = model.header.has_value() ? model.header->start().monotonic_ns() : 0;
    if (begin_ns_ == 0 && model.first_monotonic_ns != UINT64_MAX) begin_ns_ = model.first_monotonic_ns;
    for (const Cell& cell : model.cells) {
      const uint64_t total_ns = cell.clean.total_ns() + cell.not_clean.total_ns();
      kernel_ns_ += total_ns;
      if (cell.key.signature != kNone) ns_by_signature_[cell.key.signature] += total_ns;
    }
    for (const SummarisedKernels& summarised : model.summarised) kernel_ns_ += summarised.total_ns;
  }

  CountersSection Build() {
    BuildPlans();
    BuildDeviceFacts();
    BuildDenied();
    BuildBill();
    BuildLosses();
    BuildSignatures();
    BuildGraphs();
    BuildUncounted();
    section_.sample_count = counters_.sample_count;
    section_.misplaced_count = counters_.misplaced_count;
    section_.unavailable_value_count = counters_.unavailable_value_count;
    for (const CounterSeries& series : counters_.series) section_.void_count += series.samples.void_count();
    return std::move(section_);
  }

 private:
  std::string GroupName(uint64_t iid) const {
    const auto group = counters_.groups.find(iid);
    if (group == counters_.groups.end()) return absl::StrCat("group ", iid);
    return Printable(group->second.name());
  }

  void BuildPlans() {
    for (const auto& [device_id, plan] : counters_.plans) {
      CounterPlanRow& row = section_.plans.emplace_back();
      row.device_id = device_id;
      row.requested = Printable(plan.requested());
      row.chip = Printable(plan.chip());
      for (const uint64_t iid : plan.group_iid()) row.groups.push_back(GroupName(iid));
      for (const pb::DroppedMetric& dropped : plan.dropped()) {
        if (IsAskedForByName(plan, dropped)) ++row.dropped_by_name_count;
        row.dropped.emplace_back(Printable(dropped.name()), dropped.text().empty() ? DroppedMetricWord(dropped.reason())
                                                                                   : Printable(dropped.text()));
      }
      row.failed = plan.failed();
      row.planning_ns = plan.planning_ns();
    }
    for (const auto& [device_id, access] : counters_.access) {
      section_.access.push_back(
          {device_id, CounterAccessWord(access.state()), access.state() == pb::CounterAccess::STATE_ALLOWED,
           Printable(access.text()),
           access.state() != pb::CounterAccess::STATE_ALLOWED && access.state() != pb::CounterAccess::STATE_OFF});
    }
  }

  void BuildDeviceFacts() {
    for (const auto& [device_id, peaks] : counters_.peaks) {
      for (const pb::DevicePeaks::Peak& peak : peaks.peak()) {
        section_.peaks.push_back({device_id, Printable(peak.metric()), Finite(peak.value()),
                                  Printable(peak.clock_metric()),
                                  peak.has_clock_hz() ? Finite(peak.clock_hz()) : std::nullopt});
      }
    }
    for (const auto& [key, clocks] : counters_.window_clocks) {
      WindowClocksRow& row = section_.window_clocks.emplace_back();
      row.window_id = clocks.window_id();
      row.device_id = clocks.device_id();
      if (const auto window = model_.windows.find(clocks.window_id()); window != model_.windows.end()) {
        row.kind = window->second.kind() == pb::Window::KIND_TIMING     ? "timing"
                   : window->second.kind() == pb::Window::KIND_COUNTERS ? "counters"
                   : window->second.kind() == pb::Window::KIND_OFF      ? "off"
                                                                        : "";
      }
      if (clocks.has_sm_clock_hz()) row.sm_clock_hz = clocks.sm_clock_hz();
      if (clocks.has_l2_clock_hz()) row.l2_clock_hz = clocks.l2_clock_hz();
      if (clocks.has_memory_clock_hz()) row.memory_clock_hz = clocks.memory_clock_hz();
      if (clocks.has_throttle_reasons_mask()) {
        std::vector<std::string>& reasons = row.throttle_reasons.emplace();
        for (size_t bit = 0; bit < 64; ++bit) {
          if ((clocks.throttle_reasons_mask() >> bit & 1) != 0) reasons.push_back(ThrottleReasonWords(bit));
        }
      }
      row.reading_count = clocks.reading_count();
    }
  }

  void BuildDenied() {
    for (const auto& [key, denial] : counters_.denials) {
      section_.denied.push_back({DeniedName(model_, denial), CounterDenialWord(denial.reason()),
                                 Printable(denial.detail()), denial.context_id(), denial.graph_exec_id(),
                                 OffsetOf(denial.monotonic_ns())});
    }
  }

  void BuildBill() {
    CounterBill& bill = section_.bill;
    if (model_.header.has_value()) {
      for (const pb::Setting& setting : model_.header->configuration()) {
        if (setting.name() == "GPUEXEC_BUDGET") bill.budget = Printable(setting.value());
      }
    }
    bill.drain_count = StatValue(pb::STAT_COUNTER_DRAINS);
    bool after_counters = false;
    for (const auto& [id, window] : model_.windows) {
      const bool counters = window.kind() == pb::Window::KIND_COUNTERS;
      // There, and back again.
      if (counters || after_counters) bill.switch_ns += window.switch_cost_ns();
      after_counters = counters;
      if (!counters) continue;
      ++bill.window_count;
      const uint64_t end_ns = window.has_end_monotonic_ns() ? window.end_monotonic_ns() : model_.last_monotonic_ns;
      if (end_ns > window.begin_monotonic_ns()) bill.windows_ns += end_ns - window.begin_monotonic_ns();
    }
    // By number, which is their order.
    std::map<uint64_t, uint64_t> group_by_context;
    for (const auto& [id, session] : counters_.sessions) {
      ++bill.session_count;
      if (session.outcome() == pb::CounterSession::OUTCOME_FAILED) ++bill.failed_session_count;
      if (session.outcome() == pb::CounterSession::OUTCOME_ABANDONED) ++bill.abandoned_session_count;
      const auto [before, is_first] = group_by_context.try_emplace(session.context_id(), session.group_iid());
      if (!is_first && before->second != session.group_iid()) ++bill.rotation_count;
      before->second = session.group_iid();
      bill.range_count += session.range_count();
      bill.push_ns += session.push_ns();
      bill.pop_ns += session.pop_ns();
      bill.idle_wait_ns += session.idle_wait_ns();
      bill.completion_wait_ns += session.completion_wait_ns();
      bill.enable_ns += session.enable_ns();
      bill.start_ns += session.start_ns();
      bill.stop_ns += session.stop_ns();
      bill.decode_ns += session.decode_ns();
      bill.disable_ns += session.disable_ns();
    }
  }

  uint64_t StatValue(pb::StatId id) const {
    const auto found = model_.stats.find(static_cast<uint32_t>(id));
    return found == model_.stats.end() ? 0 : found->second;
  }

  std::optional<uint64_t> OffsetOf(uint64_t monotonic_ns) const {
    if (monotonic_ns == 0 || begin_ns_ == 0) return std::nullopt;
    return monotonic_ns - std::min(monotonic_ns, begin_ns_);
  }

  void BuildLosses() {
    section_.untimed_launch_count = model_.accounting.counter_window_launches;
    for (const auto& [id, value] : model_.stats) {
      if (value == 0) continue;
      const StatDescription description = DescribeStat(id);
      const bool by_reason = absl::StartsWith(description.name, "STAT_COUNTER_SKIPPED_") ||
                             absl::StartsWith(description.name, "STAT_COUNTER_VOID_");
      switch (id) {
        case pb::STAT_COUNTER_COMPLETION_DEADLINES:
        case pb::STAT_COUNTER_RANGES_LOST:
        case pb::STAT_COUNTER_SAMPLES_DROPPED:
        case pb::STAT_COUNTER_BUDGET_SPENT:
        case pb::STAT_COUNTER_REPLAYS_REFUSED:
        case pb::STAT_COUNTER_GIVEN_UP:
        case pb::STAT_COUNTER_NOT_QUIET:
        case pb::STAT_COUNTER_NO_CONTEXT:
        case pb::STAT_COUNTER_REGION_OFF:
        case pb::STAT_COUNTER_RUN_TOO_SHORT:
        case pb::STAT_COUNTER_WITHOUT_PLACE:
        case pb::STAT_COUNTER_CAPTURES_UNTRACKED:
          break;
        default:
          if (!by_reason) continue;
      }
      section_.losses.push_back({std::string(description.name), std::string(description.meaning), value,
                                 description.severity != pb::SEVERITY_INFO});
    }
  }

  CounterSampleLine SampleLine(const CounterSamples::Sample& sample) const {
    const auto has = [&sample](pb::CounterBatch::Flag flag) {
      return (sample.flags & static_cast<uint64_t>(flag)) != 0;
    };
    CounterSampleLine line;
    line.session_id = sample.session_id;
    line.window_id = sample.window_id;
    line.context_id = sample.context_id;
    line.range_order = sample.range_order;
    line.launch_number = sample.launch_number;
    line.correlation_id = sample.correlation_id;
    line.thread_id = sample.thread_id;
    line.offset_ns = OffsetOf(sample.enter_monotonic_ns);
    line.first_of_session = has(pb::CounterBatch::FLAG_FIRST_OF_SESSION);
    line.after_switch = has(pb::CounterBatch::FLAG_AFTER_SWITCH);
    line.is_void = has(pb::CounterBatch::FLAG_VOID);
    line.replayed = has(pb::CounterBatch::FLAG_REPLAYED);
    for (const double value : sample.values) line.values.push_back(Finite(value));
    return line;
  }

  CounterGroupRow GroupRow(const CounterSeries& series) const {
    const CounterSamples& samples = series.samples;
    CounterGroupRow row;
    row.sample_count = samples.count();
    row.void_count = samples.void_count();
    row.first_of_session_count = samples.first_of_session_count();
    row.after_switch_count = samples.after_switch_count();
    row.replayed_count = samples.replayed_count();
    if (samples.first_monotonic_ns() > 0 && begin_ns_ > 0) {
      row.first_offset_ns = samples.first_monotonic_ns() - std::min(samples.first_monotonic_ns(), begin_ns_);
      row.last_offset_ns = samples.last_monotonic_ns() - std::min(samples.last_monotonic_ns(), begin_ns_);
    }
    std::vector<double> times_ns;
    std::vector<double> numbers;
    for (const CounterSamples::Sample* sample : samples.Kept()) {
      row.samples.push_back(SampleLine(*sample));
      if (row.samples.back().is_void) continue;
      if (sample->enter_monotonic_ns > 0) times_ns.push_back(static_cast<double>(sample->enter_monotonic_ns));
      if (sample->launch_number == 0) continue;
      numbers.push_back(static_cast<double>(sample->launch_number));
      row.first_launch_number =
          std::min(row.first_launch_number.value_or(sample->launch_number), sample->launch_number);
    }
    std::sort(numbers.begin(), numbers.end());
    // What was drawn from more samples says nothing of the step from one to the next.
    if (samples.kept_count() == samples.usable_count()) {
      row.spacing_ns = MedianStep(std::move(times_ns));
      row.launch_number_step = MedianStep(std::move(numbers));
    }
    const auto group = counters_.groups.find(series.group_iid);
    row.group = GroupName(series.group_iid);
    // Samples are of groups that are defined: see CounterImporter.
    if (group == counters_.groups.end()) return row;
    row.kind = CounterGroupKindWord(group->second.kind());
    const size_t metric_count = std::min(samples.metric_count(), static_cast<size_t>(group->second.metric_size()));
    for (size_t metric = 0; metric < metric_count; ++metric) {
      const std::string& name = group->second.metric(static_cast<int>(metric));
      const CounterFigures figures = samples.Figures(metric);
      CounterMetricRow& metric_row = row.metrics.emplace_back();
      metric_row.name = Printable(name);
      metric_row.median = figures.median;
      metric_row.min = figures.min;
      metric_row.max = figures.max;
      metric_row.spread_ratio = figures.spread_ratio;
      metric_row.value_count = figures.value_count;
      metric_row.unavailable_count = figures.unavailable_count;
      metric_row.kept_count = figures.kept_count;
      metric_row.first_left_out = figures.first_left_out;
      metric_row.first_only = figures.first_only;
    }
    // A group that was defined again with fewer metrics.
    for (CounterSampleLine& sample : row.samples) sample.values.resize(row.metrics.size());
    return row;
  }

  // In the order of collection: that of the definitions.
  std::vector<CounterGroupRow> GroupRows(std::vector<const CounterSeries*> series) const {
    std::sort(series.begin(), series.end(),
              [](const CounterSeries* a, const CounterSeries* b) { return a->group_iid < b->group_iid; });
    std::vector<CounterGroupRow> rows;
    for (const CounterSeries* one : series) rows.push_back(GroupRow(*one));
    return rows;
  }

  // Groups for all signatures of that device of which this one does not have its samples. Unset: it is not known which
  // groups were to be sampled.
  std::optional<std::vector<std::string>> MissingGroups(uint64_t device_id,
                                                        const std::vector<const CounterSeries*>& series) const {
    const auto plan = counters_.plans.find(device_id);
    if (plan == counters_.plans.end()) return std::nullopt;
    bool any = false;
    std::vector<std::string> missing;
    for (const uint64_t iid : plan->second.group_iid()) {
      const auto group = counters_.groups.find(iid);
      if (group == counters_.groups.end()) return std::nullopt;
      const pb::CounterGroup::Kind kind = group->second.kind();
      if (kind != pb::CounterGroup::KIND_HARDWARE && kind != pb::CounterGroup::KIND_SASS) continue;
      if (group->second.spare()) continue;
      any = true;
      const bool enough = std::any_of(series.begin(), series.end(), [iid = iid](const CounterSeries* one) {
        const CounterSamples& samples = one->samples;
        return one->group_iid == iid && samples.usable_count() - samples.first_of_session_count() >= kWantedSamples;
      });
      if (!enough) missing.push_back(GroupName(iid));
    }
    if (!any) return std::nullopt;
    return missing;
  }

  bool IsCovered(uint64_t device_id, const std::vector<const CounterSeries*>& series) const {
    const auto missing = MissingGroups(device_id, series);
    return missing.has_value() && missing->empty();
  }

  std::optional<double> ShareOf(uint64_t total_ns) const {
    if (kernel_ns_ == 0 || !model_.dimensions.signature) return std::nullopt;
    return static_cast<double>(total_ns) / static_cast<double>(kernel_ns_);
  }

  void BuildSignatures() {
    uint64_t sampled_ns = 0;
    uint64_t covered_ns = 0;
    // Sorted before the costly part.
    std::vector<std::pair<uint64_t, SignatureCounters>> rows;
    const auto by_signature = SeriesBySignature(counters_);
    std::vector<std::vector<const CounterSeries*>> series_of_row;
    for (const auto& [signature, series] : by_signature) {
      const bool usable = std::any_of(series.begin(), series.end(),
                                      [](const CounterSeries* one) { return one->samples.usable_count() > 0; });
      const auto known_ns = ns_by_signature_.find(signature);
      const uint64_t total_ns = known_ns == ns_by_signature_.end() ? 0 : known_ns->second;
      SignatureCounters row = RowOf(signature, total_ns);
      if (signature != CounterSeries::kNoSignature) {
        row.mixed_work = MixedWorkOf(counters_, series);
        row.instruction_disagreement = InstructionDisagreementOf(counters_, series);
      }
      if (usable) ++section_.sampled_signature_count;
      if (usable) sampled_ns += total_ns;
      if (IsCovered(row.device_id.value_or(UINT64_MAX), series)) covered_ns += total_ns;
      if (!row.mixed_work.empty()) ++section_.mixed_work_count;
      if (!request_.filter.matches_all() && !request_.filter.Matches(row.full_name)) continue;
      series_of_row.push_back(series);
      rows.emplace_back(total_ns, std::move(row));
    }
    section_.sampled_share_ratio = ShareOf(sampled_ns);
    if (!counters_.plans.empty()) section_.covered_share_ratio = ShareOf(covered_ns);
    uint64_t graph_ns = 0;
    for (const auto& [signature, total_ns] : ns_by_signature_) {
      if (model_.signatures[signature].definition.graph_node()) graph_ns += total_ns;
    }
    section_.graph_share_ratio = ShareOf(graph_ns);

    std::vector<size_t> order(rows.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](size_t i) {
      const SignatureCounters& row = rows[i].second;
      const Dim grid = row.grid.value_or(Dim{});
      return std::tuple(UINT64_MAX - rows[i].first, row.full_name, row.device_id.value_or(UINT64_MAX), grid.x, grid.y,
                        grid.z, i);
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    section_.signatures_matched = order.size();
    if (request_.top > 0 && order.size() > request_.top) order.resize(request_.top);
    for (const size_t i : order) {
      SignatureCounters& row = rows[i].second;
      row.groups = GroupRows(series_of_row[i]);
      section_.signatures.push_back(std::move(row));
    }
  }

  // Why a signature has no usable sample, as far as the trace tells.
  std::string WhyNotSampled(const SignatureEntry& entry, const std::vector<const CounterSeries*>& series) const {
    if (entry.definition.graph_node()) return "only in graphs, which are sampled as a whole";
    for (const auto& [key, denial] : counters_.denials) {
      const bool of_function = denial.function_iid() != 0 && denial.function_iid() == entry.definition.function_iid();
      if (of_function) return CounterDenialWord(denial.reason());
    }
    for (const auto& [key, denial] : counters_.denials) {
      const bool of_all = denial.function_iid() == 0 && denial.graph_exec_id() == 0;
      if (of_all) return absl::StrCat(DeniedName(model_, denial), ": ", CounterDenialWord(denial.reason()));
    }
    if (!series.empty()) return "all its samples are void";
    if (entry.untimed_launch_count == 0) return "not launched in a counter window";
    return "launched in counter windows and left out each time";
  }

  void BuildUncounted() {
    if (counters_.sample_count == 0 || kernel_ns_ == 0 || !model_.dimensions.signature) return;
    const auto by_signature = SeriesBySignature(counters_);
    std::vector<std::pair<uint64_t, uint32_t>> heaviest;
    for (const auto& [signature, total_ns] : ns_by_signature_) {
      if (static_cast<double>(total_ns) > kUncountedShare * static_cast<double>(kernel_ns_)) {
        heaviest.emplace_back(UINT64_MAX - total_ns, signature);
      }
    }
    std::sort(heaviest.begin(), heaviest.end());
    for (const auto& [order, signature] : heaviest) {
      const SignatureEntry& entry = model_.signatures[signature];
      const auto found = by_signature.find(signature);
      const std::vector<const CounterSeries*> series =
          found == by_signature.end() ? std::vector<const CounterSeries*>{} : found->second;
      const bool usable = std::any_of(series.begin(), series.end(),
                                      [](const CounterSeries* one) { return one->samples.usable_count() > 0; });
      std::string reason;
      if (!usable) {
        reason = WhyNotSampled(entry, series);
      } else if (const auto missing = MissingGroups(entry.definition.device_id(), series);
                 missing.has_value() && !missing->empty()) {
        reason = absl::StrCat("fewer than three samples of ", absl::StrJoin(*missing, ", "));
      } else {
        continue;
      }
      const SignatureCounters row = RowOf(signature, UINT64_MAX - order);
      section_.uncounted.push_back({row.short_name, row.grid, row.share_ratio.value_or(0), std::move(reason)});
    }
  }

  SignatureCounters RowOf(uint32_t signature, uint64_t total_ns) const {
    SignatureCounters row;
    if (signature == CounterSeries::kNoSignature) {
      row.full_name = "(launch parameters unknown)";
      row.short_name = row.full_name;
      return row;
    }
    row.signature = signature;
    const SignatureEntry& entry = model_.signatures[signature];
    row.full_name = FullKernelName(model_.FunctionName(entry));
    if (row.full_name.empty()) row.full_name = "(name unknown)";
    row.short_name = ShortKernelName(row.full_name);
    row.launch_count = entry.launch_count;
    row.share_ratio = ShareOf(total_ns);
    if (!entry.defined) return row;
    const pb::Signature& definition = entry.definition;
    row.device_id = definition.device_id();
    row.grid = DimOf(definition.grid_x(), definition.grid_y(), definition.grid_z());
    row.block = DimOf(definition.block_x(), definition.block_y(), definition.block_z());
    if (definition.cluster_x() > 0) {
      row.cluster = DimOf(definition.cluster_x(), definition.cluster_y(), definition.cluster_z());
    }
    row.dynamic_shared_memory_bytes = definition.dynamic_shared_memory_bytes();
    row.graph_node = definition.graph_node();
    return row;
  }

  std::vector<GraphKernel> GraphKernels(const std::map<uint32_t, uint64_t>& node_count_by_signature) const {
    std::vector<GraphKernel> kernels;
    for (const auto& [signature, node_count] : node_count_by_signature) {
      GraphKernel& kernel = kernels.emplace_back();
      kernel.node_count = node_count;
      if (signature != kNone) kernel.full_name = FullKernelName(model_.FunctionName(model_.signatures[signature]));
      if (kernel.full_name.empty()) kernel.full_name = "(name unknown)";
      kernel.short_name = ShortKernelName(kernel.full_name);
      if (signature == kNone || !model_.signatures[signature].defined) continue;
      const pb::Signature& definition = model_.signatures[signature].definition;
      kernel.grid = DimOf(definition.grid_x(), definition.grid_y(), definition.grid_z());
      kernel.block = DimOf(definition.block_x(), definition.block_y(), definition.block_z());
    }
    const auto key = [](const GraphKernel& k) {
      const Dim grid = k.grid.value_or(Dim{});
      const Dim block = k.block.value_or(Dim{});
      return std::tuple(UINT64_MAX - k.node_count, k.full_name, grid.x, grid.y, grid.z, block.x, block.y, block.z);
    };
    std::stable_sort(kernels.begin(), kernels.end(),
                     [&](const GraphKernel& a, const GraphKernel& b) { return key(a) < key(b); });
    return kernels;
  }

  void BuildGraphs() {
    for (const auto& [graph_exec_id, series] : SeriesByGraph(counters_)) {
      GraphCounters& row = section_.graphs.emplace_back();
      row.graph_exec_id = graph_exec_id;
      const auto exec = model_.counted_graphs.find(graph_exec_id);
      if (exec != model_.counted_graphs.end() && exec->second.graph_exec_id() != 0) {
        row.graph_id = exec->second.graph_id();
        row.kernel_node_count = exec->second.kernel_node_count();
        row.undescribed_node_count = exec->second.undescribed_node_count();
      }
      if (const auto nodes = model_.counted_graph_nodes.find(graph_exec_id);
          nodes != model_.counted_graph_nodes.end()) {
        row.kernels = GraphKernels(nodes->second);
      }
      row.groups = GroupRows(series);
    }
  }

  const TraceModel& model_;
  const CounterModel& counters_;
  const ReportRequest& request_;
  CountersSection section_;
  uint64_t begin_ns_ = 0;
  uint64_t kernel_ns_ = 0;
  absl::flat_hash_map<uint32_t, uint64_t> ns_by_signature_;
};

}  // namespace

void AddCounters(const TraceModel& model, size_t process, const ReportRequest& request, Report* report) {
  if (model.counters.any()) report->counters.push_back(ProcessCounters(model, process, request).Build());
}

}  // namespace gx::analysis
