#include "analysis/report_csv.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "analysis/format.h"
#include "analysis/report_names.h"

namespace gx::analysis {
namespace {

std::string Quoted(absl::string_view text) {
  if (text.find_first_of(",\"\r\n") == absl::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

constexpr int kDecimals = 6;

template <typename T>
std::string Number(const std::optional<T>& value) {
  return value.has_value() ? absl::StrCat(*value) : std::string();
}

std::string Decimal(const std::optional<double>& value) {
  return value.has_value() ? FormatDecimal(*value, kDecimals) : std::string();
}

std::string Text(const std::optional<Dim>& dim) {
  return dim.has_value() ? absl::StrCat(dim->x, "x", dim->y, "x", dim->z) : std::string();
}

}  // namespace

std::string ReportCsv(const Report& report) {
  std::string out =
      "process,name,short_name,device_id,stream,nvtx,nvtx_at_capture,signature_count,grid,block,cluster,"
      "registers_per_thread,function_registers_per_thread,static_shared_memory_bytes,dynamic_shared_memory_bytes,"
      "driver_occupancy_blocks_per_sm,model_blocks_per_sm,model_occupancy_ratio,model_limiters,model_waves,"
      "graph_node,cooperative,programmatic,signature_from_activity,calls,total_ns,share_ratio,verdict,basis,median_ns,"
      "p5_ns,p95_ns,min_ns,max_ns,sample_count,clean_count,warm_up_count,overlapping_count,overlapped_ratio,late_count,"
      "next_to_switch_count,"
      "untimed_count,unfinished_count,invalid_count,summarised_count,launches_without_kernel,untimed_launch_count\n";
  for (const KernelGroup& g : report.kernels) {
    const bool measured = g.basis != MedianBasis::kNone;
    const auto figure = [&](double ns) { return measured ? FormatDecimal(ns, kDecimals) : std::string(); };
    const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
    const std::vector<std::string> fields = {
        Quoted(report.processes[g.process].label),
        Quoted(g.full_name),
        Quoted(g.short_name),
        Number(g.device_id),
        Quoted(g.stream),
        Quoted(g.nvtx),
        flag(g.nvtx_at_capture),
        absl::StrCat(g.signature_count),
        Text(g.launch.grid),
        Text(g.launch.block),
        Text(g.launch.cluster),
        Number(g.launch.registers_per_thread),
        Number(g.launch.function_registers_per_thread),
        Number(g.launch.static_shared_memory_bytes),
        Number(g.launch.dynamic_shared_memory_bytes),
        Number(g.launch.driver_occupancy_blocks_per_sm),
        Number(g.launch.residency.blocks_per_sm),
        Decimal(g.launch.residency.occupancy_ratio),
        g.launch.residency.limiters.value_or(""),
        Decimal(g.launch.residency.waves),
        flag(g.launch.graph_node),
        flag(g.launch.cooperative),
        flag(g.launch.programmatic),
        flag(g.launch.from_activity),
        absl::StrCat(g.calls),
        absl::StrCat(g.total_ns),
        FormatDecimal(g.share_ratio, kDecimals),
        std::string(VerdictWord(g)),
        std::string(BasisWord(g.basis)),
        figure(g.durations.median_ns),
        figure(g.durations.p5_ns),
        figure(g.durations.p95_ns),
        figure(static_cast<double>(g.durations.min_ns)),
        figure(static_cast<double>(g.durations.max_ns)),
        absl::StrCat(g.durations.sample_count),
        absl::StrCat(g.clean_count),
        absl::StrCat(g.warm_up_count),
        absl::StrCat(g.overlapping_count),
        FormatDecimal(g.overlapped_ratio, kDecimals),
        absl::StrCat(g.late_count),
        absl::StrCat(g.next_to_switch_count),
        absl::StrCat(g.untimed_count),
        absl::StrCat(g.unfinished_count),
        absl::StrCat(g.invalid_count),
        absl::StrCat(g.summarised_count),
        absl::StrCat(g.launches_without_kernel),
        absl::StrCat(g.untimed_launch_count),
    };
    absl::StrAppend(&out, absl::StrJoin(fields, ","), "\n");
  }
  return out;
}

namespace {

// As they were counted: no digit is lost.
std::string Exact(const std::optional<double>& value) {
  return value.has_value() ? ShortestDouble(*value) : std::string();
}

// `fields` say whose counters these are.
void AddGroups(const std::vector<std::string>& fields, const std::vector<CounterGroupRow>& groups, std::string* out) {
  const std::string whose = absl::StrJoin(fields, ",");
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  for (const CounterGroupRow& group : groups) {
    for (const CounterMetricRow& metric : group.metrics) {
      const std::vector<std::string> rest = {Quoted(group.group),
                                             group.kind,
                                             absl::StrCat(group.sample_count),
                                             absl::StrCat(group.void_count),
                                             absl::StrCat(group.first_of_session_count),
                                             absl::StrCat(group.after_switch_count),
                                             absl::StrCat(group.replayed_count),
                                             Number(group.first_offset_ns),
                                             Exact(group.spacing_ns),
                                             Number(group.first_launch_number),
                                             Exact(group.launch_number_step),
                                             Quoted(metric.name),
                                             Exact(metric.median),
                                             Exact(metric.min),
                                             Exact(metric.max),
                                             Exact(metric.spread_ratio),
                                             absl::StrCat(metric.value_count),
                                             absl::StrCat(metric.unavailable_count),
                                             absl::StrCat(metric.kept_count),
                                             flag(metric.first_left_out),
                                             flag(metric.first_only)};
      absl::StrAppend(out, whose, ",", absl::StrJoin(rest, ","), "\n");
    }
  }
}

}  // namespace

std::string ReportCountersCsv(const Report& report) {
  std::string out =
      "process,counts_of,name,short_name,device_id,graph_exec_id,grid,block,cluster,dynamic_shared_memory_bytes,"
      "graph_node,launch_count,share_ratio,mixed_work,group,group_kind,sample_count,void_count,first_of_session_count,"
      "after_switch_count,replayed_count,first_offset_ns,spacing_ns,first_launch_number,launch_number_step,metric,"
      "median,"
      "min,max,spread_ratio,value_count,unavailable_count,kept_count,first_left_out,first_only\n";
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  for (const CountersSection& counters : report.counters) {
    const std::string process = Quoted(report.processes[counters.process].label);
    for (const SignatureCounters& s : counters.signatures) {
      AddGroups({process, "kernel", Quoted(s.full_name), Quoted(s.short_name), Number(s.device_id), "", Text(s.grid),
                 Text(s.block), Text(s.cluster), absl::StrCat(s.dynamic_shared_memory_bytes), flag(s.graph_node),
                 absl::StrCat(s.launch_count), Decimal(s.share_ratio), flag(!s.mixed_work.empty())},
                s.groups, &out);
    }
    for (const GraphCounters& g : counters.graphs) {
      AddGroups({process, "graph", "", "", "", absl::StrCat(g.graph_exec_id), "", "", "", "", "", "", "", ""}, g.groups,
                &out);
    }
  }
  return out;
}

namespace {

// `fields` say whose samples these are.
void AddSamples(const std::vector<std::string>& fields, const std::vector<CounterGroupRow>& groups, std::string* out) {
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  const auto known = [](uint64_t value) { return value == 0 ? std::string() : absl::StrCat(value); };
  const std::string whose = absl::StrJoin(fields, ",");
  for (const CounterGroupRow& group : groups) {
    for (const CounterSampleLine& sample : group.samples) {
      const std::vector<std::string> which = {Quoted(group.group),         group.kind,
                                              known(sample.session_id),    absl::StrCat(sample.range_order),
                                              known(sample.window_id),     known(sample.context_id),
                                              known(sample.launch_number), known(sample.correlation_id),
                                              known(sample.thread_id),     Number(sample.offset_ns),
                                              flag(sample.is_void),        flag(sample.first_of_session),
                                              flag(sample.after_switch),   flag(sample.replayed)};
      const std::string line = absl::StrCat(whose, ",", absl::StrJoin(which, ","), ",");
      for (size_t metric = 0; metric < std::min(group.metrics.size(), sample.values.size()); ++metric) {
        absl::StrAppend(out, line, Quoted(group.metrics[metric].name), ",", Exact(sample.values[metric]), "\n");
      }
    }
  }
}

}  // namespace

std::string ReportApiCsv(const Report& report) {
  std::string out = "process,domain,name,calls,failed_calls,total_ns,max_ns\n";
  for (const ProcessSection& process : report.processes) {
    for (const ApiUseRow& row : process.api_uses) {
      absl::StrAppend(&out, Quoted(process.label), ",", row.domain, ",", Quoted(row.name), ",", row.call_count, ",",
                      row.failed_count, ",", row.total_ns, ",", row.max_ns, "\n");
    }
  }
  return out;
}

std::string ReportSamplesCsv(const Report& report) {
  std::string out =
      "process,counts_of,name,short_name,device_id,graph_exec_id,grid,block,cluster,dynamic_shared_memory_bytes,"
      "graph_node,group,group_kind,session_id,range_order,window_id,context_id,launch_number,correlation_id,thread_id,"
      "offset_ns,void,first_of_session,after_switch,replayed,metric,value\n";
  const auto flag = [](bool value) { return std::string(value ? "1" : "0"); };
  for (const CountersSection& counters : report.counters) {
    const std::string process = Quoted(report.processes[counters.process].label);
    for (const SignatureCounters& s : counters.signatures) {
      AddSamples({process, "kernel", Quoted(s.full_name), Quoted(s.short_name), Number(s.device_id), "", Text(s.grid),
                  Text(s.block), Text(s.cluster), absl::StrCat(s.dynamic_shared_memory_bytes), flag(s.graph_node)},
                 s.groups, &out);
    }
    for (const GraphCounters& g : counters.graphs) {
      AddSamples({process, "graph", "", "", "", absl::StrCat(g.graph_exec_id), "", "", "", "", ""}, g.groups, &out);
    }
  }
  return out;
}

}  // namespace gx::analysis
