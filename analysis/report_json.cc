#include "analysis/report_json.h"

#include "analysis/json_writer.h"
#include "analysis/report_json_counters.h"
#include "analysis/report_names.h"
#include "analysis/stat_catalog.h"

namespace gx::analysis {
namespace {

void WriteFindings(const std::vector<Finding>& findings, JsonWriter* json) {
  json->BeginArray();
  for (const Finding& finding : findings) {
    json->BeginObject();
    json->Member("id", finding.id);
    json->Member("severity", SeverityWord(finding.severity));
    json->Member("value", finding.value);
    json->Member("text", finding.text);
    json->Member("advice", finding.advice);
    json->Key("details");
    json->BeginArray();
    for (const std::string& detail : finding.details) json->Value(detail);
    json->EndArray();
    json->EndObject();
  }
  json->EndArray();
}

void WriteSettings(const std::vector<std::pair<std::string, std::string>>& settings, JsonWriter* json) {
  // Pairs, not members: a name may come twice.
  json->BeginArray();
  for (const auto& [name, value] : settings) {
    json->BeginObject();
    json->Member("name", name);
    json->Member("value", value);
    json->EndObject();
  }
  json->EndArray();
}

void WriteAccounting(const AccountingSection& a, JsonWriter* json) {
  json->BeginObject();
  json->Member("launches", a.launches);
  json->Member("graph_launches", a.graph_launches);
  json->Member("untimed_launches", a.untimed_launches);
  json->Member("counter_window_launches", a.counter_window_launches);
  json->Member("kernel_records", a.kernel_records);
  json->Member("kernels_joined", a.kernels_joined);
  json->Member("kernels_joined_to_graphs", a.kernels_joined_to_graphs);
  json->Member("kernels_without_launch", a.kernels_without_launch);
  json->Member("kernels_device_launched", a.kernels_device_launched);
  json->Member("kernels_of_cupti", a.kernels_of_cupti);
  json->Member("kernels_untimed", a.kernels_untimed);
  json->Member("kernels_unfinished", a.kernels_unfinished);
  json->Member("kernels_invalid", a.kernels_invalid);
  json->Member("kernels_signature_from_activity", a.kernels_signature_from_activity);
  json->Member("launches_without_kernel", a.launches_without_kernel);
  json->Member("replays_complete", a.replays_complete);
  json->Member("replays_short", a.replays_short);
  json->Member("replays_long", a.replays_long);
  json->Member("replays_unchecked", a.replays_unchecked);
  json->Member("replay_kernels_missing", a.replay_kernels_missing);
  json->Member("signature_disagreements", a.signature_disagreements);
  json->Member("summarised_kernels", a.summarised_kernels);
  json->Member("summarised_launches", a.summarised_launches);
  json->EndObject();
}

void WriteProvenance(const ProvenanceSection& p, JsonWriter* json) {
  json->BeginObject();
  json->Member("header_known", p.header_known);
  json->Member("gpuexec_version", p.gpuexec_version);
  json->Member("source_revision", p.source_revision);
  json->Member("format", p.format);
  json->Member("command", p.command);
  json->Member("executable", p.executable);
  json->Member("host", p.host);
  json->Member("pid", p.pid);
  json->Member("parent_pid", p.parent_pid);
  json->Member("pid_namespace", p.pid_namespace);
  json->Member("started", p.started);
  json->Member("ended", p.ended);
  json->Key("rank_variables");
  WriteSettings(p.rank_variables, json);
  json->Key("configuration");
  WriteSettings(p.configuration, json);
  json->Member("driver_version", p.driver_version);
  json->Member("cuda_driver_api_version", p.cuda_driver_api_version);
  json->Member("cupti_version", p.cupti_version);
  json->Member("cupti_path", p.cupti_path);
  json->Member("libcuda_path", p.libcuda_path);
  json->Member("kernel_record_version", p.kernel_record_version);
  json->Member("kernel_release", p.kernel_release);
  json->Member("machine", p.machine);
  json->Member("clock_step_ns", p.clock_step_ns);
  json->Member("clock_pair_count", p.clock_pair_count);
  json->EndObject();
}

void WriteSpread(const char* key, const std::optional<MinMedianMax>& spread, JsonWriter* json) {
  json->Key(key);
  if (!spread.has_value()) {
    json->Null();
    return;
  }
  json->BeginObject();
  json->Member("min", spread->min);
  json->Member("median", spread->median);
  json->Member("max", spread->max);
  json->EndObject();
}

void WriteDevice(const DeviceSection& d, JsonWriter* json) {
  json->BeginObject();
  json->Key("device_id");
  if (d.unknown) {
    json->Null();
  } else {
    json->Value(d.device_id);
  }
  json->Member("name", d.name);
  json->Member("uuid", d.uuid);
  json->Member("pci_bus_id", d.pci_bus_id);
  json->Member("compute_capability_major", d.compute_capability_major);
  json->Member("compute_capability_minor", d.compute_capability_minor);
  json->Member("multiprocessor_count", d.multiprocessor_count);
  json->Member("total_memory_bytes", d.total_memory_bytes);
  json->Member("l2_cache_bytes", d.l2_cache_bytes);
  json->Member("max_sm_clock_hz", d.max_sm_clock_hz);
  json->Member("max_memory_clock_hz", d.max_memory_clock_hz);
  json->Member("power_limit_milliwatts", d.power_limit_milliwatts);
  json->Member("ecc_enabled", d.ecc_enabled);
  json->Member("mig_enabled", d.mig_enabled);
  json->Member("mps_enabled", d.mps_enabled);
  json->Member("virtualization_mode", d.virtualization_mode);
  json->Member("sample_count", d.sample_count);
  WriteSpread("sm_clock_hz", d.sm_clock_hz, json);
  WriteSpread("memory_clock_hz", d.memory_clock_hz, json);
  WriteSpread("power_milliwatts", d.power_milliwatts, json);
  WriteSpread("temperature_celsius", d.temperature_celsius, json);
  json->Member("throttle_sample_count", d.throttle_sample_count);
  json->Key("throttle_reasons");
  json->BeginArray();
  for (const ThrottleReason& reason : d.throttle_reasons) {
    json->BeginObject();
    json->Member("reason", reason.words);
    json->Member("sample_count", reason.sample_count);
    json->EndObject();
  }
  json->EndArray();
  json->Key("activity");
  if (d.active) {
    json->BeginObject();
    json->Member("kernel_busy_ns", d.kernel_busy_ns);
    json->Member("copy_busy_ns", d.copy_busy_ns);
    json->Member("busy_ns", d.busy_ns);
    json->Member("untimed_ns", d.untimed_ns);
    json->Member("idle_ns", d.idle_ns);
    json->Member("span_ns", d.span_ns);
    json->Member("busy_of_wall_ratio", d.busy_of_wall_ratio);
    json->Member("busy_of_timed_ratio", d.busy_of_timed_ratio);
    json->EndObject();
  } else {
    json->Null();
  }
  json->EndObject();
}

void WriteRun(const RunSection& run, JsonWriter* json) {
  json->BeginObject();
  json->Member("wall_ns", run.wall_ns);
  json->Member("wall_from_trailer", run.wall_from_trailer);
  json->Member("single_records_end_ns", run.single_records_end_ns);
  json->Member("kernel_launches", run.kernel_launches);
  json->Member("graph_launches", run.graph_launches);
  json->Member("refused_launches", run.refused_launches);
  json->Member("summarised_launches", run.summarised_launches);
  json->Member("summarised_kernels", run.summarised_kernels);
  json->Member("kernels", run.kernels);
  json->Member("launches_per_second", run.launches_per_second);
  json->Member("launch_span_ns", run.launch_span_ns);
  json->Member("off_windows_ns", run.off_windows_ns);
  json->Member("counter_windows_ns", run.counter_windows_ns);
  json->Member("timed_ns", run.timed_ns());
  json->Member("window_switch_ns", run.window_switch_ns);
  json->Key("copies");
  json->BeginArray();
  for (const CopySection& copy : run.copies) {
    json->BeginObject();
    json->Member("kind", copy.kind);
    json->Member("count", copy.count);
    json->Member("size_bytes", copy.size_bytes);
    json->Member("total_ns", copy.total_ns);
    json->EndObject();
  }
  json->EndArray();
  json->Member("synchronization_count", run.synchronization_count);
  json->Member("synchronization_ns", run.synchronization_ns);
  json->Member("overhead_count", run.overhead_count);
  json->Member("overhead_ns", run.overhead_ns);
  json->Member("nvtx_event_count", run.nvtx_event_count);
  json->EndObject();
}

void WriteProcess(const ProcessSection& process, JsonWriter* json) {
  json->BeginObject();
  json->Member("label", process.label);
  json->Member("path", process.path);
  json->Member("size_bytes", process.size_bytes);
  json->Member("frame_count", process.frame_count);
  json->Member("data_lost", process.data_lost);
  json->Member("nothing_recorded", process.nothing_recorded);
  json->Key("findings");
  WriteFindings(process.findings, json);
  json->Key("bookkeeping");
  WriteFindings(process.bookkeeping, json);
  json->Key("diagnostics");
  json->BeginArray();
  for (const std::string& diagnostic : process.diagnostics) json->Value(diagnostic);
  json->EndArray();
  json->Member("diagnostic_count", process.diagnostic_count);
  json->Key("accounting");
  WriteAccounting(process.accounting, json);
  json->Key("provenance");
  WriteProvenance(process.provenance, json);
  json->Key("devices");
  json->BeginArray();
  for (const DeviceSection& device : process.devices) WriteDevice(device, json);
  json->EndArray();
  json->Key("run");
  WriteRun(process.run, json);
  json->EndObject();
}

void WriteDim(const char* key, const std::optional<Dim>& dim, JsonWriter* json) {
  json->Key(key);
  if (!dim.has_value()) {
    json->Null();
    return;
  }
  json->BeginArray();
  json->Value(dim->x);
  json->Value(dim->y);
  json->Value(dim->z);
  json->EndArray();
}

void WriteResidency(const LaunchResidency& r, JsonWriter* json) {
  json->Key("residency");
  json->BeginObject();
  json->Member("blocks_per_sm", r.blocks_per_sm);
  json->Member("requested_blocks_per_sm", r.requested_blocks_per_sm);
  json->Member("occupancy_ratio", r.occupancy_ratio);
  json->Member("limiters", r.limiters);
  json->Member("next_limiters", r.next_limiters);
  json->Member("next_blocks_per_sm", r.next_blocks_per_sm);
  json->Member("slot_count", r.slot_count);
  json->Member("slots_are_upper_bound", r.slots_are_upper_bound);
  json->Member("waves", r.waves);
  json->Member("tail_fill_ratio", r.tail_fill_ratio);
  json->Member("unavailable", r.unavailable);
  json->EndObject();
}

void WriteGroup(const Report& report, const KernelGroup& g, JsonWriter* json) {
  json->BeginObject();
  json->Member("process", report.processes[g.process].label);
  json->Member("name", g.full_name);
  json->Member("short_name", g.short_name);
  json->Member("device_id", g.device_id);
  if (report.grouping.stream) json->Member("stream", g.stream);
  if (report.grouping.nvtx) {
    json->Member("nvtx", g.nvtx);
    json->Member("nvtx_at_capture", g.nvtx_at_capture);
  }
  json->Member("signature_count", g.signature_count);
  WriteDim("grid", g.launch.grid, json);
  WriteDim("block", g.launch.block, json);
  WriteDim("cluster", g.launch.cluster, json);
  json->Member("registers_per_thread", g.launch.registers_per_thread);
  json->Member("function_registers_per_thread", g.launch.function_registers_per_thread);
  json->Member("static_shared_memory_bytes", g.launch.static_shared_memory_bytes);
  json->Member("dynamic_shared_memory_bytes", g.launch.dynamic_shared_memory_bytes);
  json->Member("shared_memory_executed_bytes", g.launch.shared_memory_executed_bytes);
  json->Member("local_memory_per_thread_bytes", g.launch.local_memory_per_thread_bytes);
  json->Member("driver_occupancy_blocks_per_sm", g.launch.driver_occupancy_blocks_per_sm);
  WriteResidency(g.launch.residency, json);
  json->Member("graph_node", g.launch.graph_node);
  json->Member("cooperative", g.launch.cooperative);
  json->Member("programmatic", g.launch.programmatic);
  json->Member("signature_from_activity", g.launch.from_activity);
  json->Member("calls", g.calls);
  json->Member("total_ns", g.total_ns);
  json->Member("share_ratio", g.share_ratio);
  json->Member("verdict", VerdictWord(g));
  json->Member("basis", BasisWord(g.basis));
  const bool measured = g.basis != MedianBasis::kNone;
  const auto figure = [&](const char* key, auto value) {
    json->Key(key);
    if (measured) {
      json->Value(value);
    } else {
      json->Null();
    }
  };
  figure("median_ns", g.durations.median_ns);
  figure("p5_ns", g.durations.p5_ns);
  figure("p95_ns", g.durations.p95_ns);
  figure("min_ns", g.durations.min_ns);
  figure("max_ns", g.durations.max_ns);
  json->Member("sample_count", g.durations.sample_count);
  json->Member("clean_count", g.clean_count);
  json->Member("warm_up_count", g.warm_up_count);
  json->Member("overlapping_count", g.overlapping_count);
  json->Member("overlapped_ratio", g.overlapped_ratio);
  json->Member("late_count", g.late_count);
  json->Member("next_to_switch_count", g.next_to_switch_count);
  json->Member("untimed_count", g.untimed_count);
  json->Member("unfinished_count", g.unfinished_count);
  json->Member("invalid_count", g.invalid_count);
  json->Member("summarised_count", g.summarised_count);
  json->Member("launches_without_kernel", g.launches_without_kernel);
  json->Member("untimed_launch_count", g.untimed_launch_count);
  json->EndObject();
}

}  // namespace

std::string ReportJson(const Report& report) {
  JsonWriter json;
  json.BeginObject();
  // Raised when a key changes its meaning or goes away; new keys may come at any time.
  json.Member("report_version", uint64_t{1});
  json.Member("data_lost", report.data_lost);
  json.Key("grouping");
  json.BeginArray();
  for (const absl::string_view word : GroupingWords(report.grouping)) json.Value(word);
  json.EndArray();
  json.Member("sort", SortWord(report.sort));
  json.Member("filter", report.filter);
  json.Key("processes");
  json.BeginArray();
  for (const ProcessSection& process : report.processes) WriteProcess(process, &json);
  json.EndArray();
  json.Member("kernel_groups_total", uint64_t{report.kernel_groups_total});
  json.Member("kernel_groups_matched", uint64_t{report.kernel_groups_matched});
  json.Key("kernels");
  json.BeginArray();
  for (const KernelGroup& group : report.kernels) WriteGroup(report, group, &json);
  json.EndArray();
  // Where a trace says nothing of counters, as those of format 1.0, neither does its report.
  if (!report.counters.empty()) {
    json.Key("counters");
    json.BeginArray();
    for (const CountersSection& counters : report.counters) WriteCountersJson(report, counters, &json);
    json.EndArray();
  }
  json.EndObject();
  return json.Take();
}

}  // namespace gx::analysis
