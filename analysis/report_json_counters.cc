#include "analysis/report_json_counters.h"

#include <optional>
#include <vector>

namespace gx::analysis {
namespace {

void WriteDim(const char* key, const std::optional<Dim>& dim, JsonWriter* json) {
  json->Key(key);
  if (!dim.has_value()) {
    json->Null();
    return;
  }
  json->BeginArray();
  for (const uint64_t value : {dim->x, dim->y, dim->z}) json->Value(value);
  json->EndArray();
}

void WriteStrings(const char* key, const std::vector<std::string>& strings, JsonWriter* json) {
  json->Key(key);
  json->BeginArray();
  for (const std::string& text : strings) json->Value(text);
  json->EndArray();
}

void WritePlans(const CountersSection& c, JsonWriter* json) {
  json->Key("plans");
  json->BeginArray();
  for (const CounterPlanRow& plan : c.plans) {
    json->BeginObject();
    json->Member("device_id", plan.device_id);
    json->Member("requested", plan.requested);
    json->Member("chip", plan.chip);
    WriteStrings("groups", plan.groups, json);
    json->Key("dropped");
    json->BeginArray();
    for (const auto& [metric, why] : plan.dropped) {
      json->BeginObject();
      json->Member("metric", metric);
      json->Member("why", why);
      json->EndObject();
    }
    json->EndArray();
    json->Member("failed", plan.failed);
    json->Member("planning_ns", plan.planning_ns);
    json->EndObject();
  }
  json->EndArray();
  json->Key("access");
  json->BeginArray();
  for (const CounterAccessRow& access : c.access) {
    json->BeginObject();
    json->Member("device_id", access.device_id);
    json->Member("state", access.state);
    json->Member("text", access.text);
    json->EndObject();
  }
  json->EndArray();
  json->Key("losses");
  json->BeginArray();
  for (const CounterLoss& loss : c.losses) {
    json->BeginObject();
    json->Member("id", loss.id);
    json->Member("count", loss.count);
    json->Member("text", loss.text);
    json->EndObject();
  }
  json->EndArray();
  json->Key("uncounted");
  json->BeginArray();
  for (const UncountedSignature& uncounted : c.uncounted) {
    json->BeginObject();
    json->Member("name", uncounted.short_name);
    WriteDim("grid", uncounted.grid, json);
    json->Member("share_ratio", uncounted.share_ratio);
    json->Member("reason", uncounted.reason);
    json->EndObject();
  }
  json->EndArray();
  json->Key("denied");
  json->BeginArray();
  for (const DeniedFunction& denied : c.denied) {
    json->BeginObject();
    json->Member("name", denied.name);
    json->Member("reason", denied.reason);
    json->Member("detail", denied.detail);
    json->Member("context_id", denied.context_id);
    json->Member("graph_exec_id", denied.graph_exec_id);
    json->Member("offset_ns", denied.offset_ns);
    json->EndObject();
  }
  json->EndArray();
}

void WriteDeviceFacts(const CountersSection& c, JsonWriter* json) {
  json->Key("peaks");
  json->BeginArray();
  for (const DevicePeakRow& peak : c.peaks) {
    json->BeginObject();
    json->Member("device_id", peak.device_id);
    json->Member("metric", peak.metric);
    json->ExactMember("per_cycle", peak.per_cycle);
    json->Member("clock_metric", peak.clock_metric);
    json->ExactMember("clock_hz", peak.clock_hz);
    json->EndObject();
  }
  json->EndArray();
  json->Key("window_clocks");
  json->BeginArray();
  for (const WindowClocksRow& clocks : c.window_clocks) {
    json->BeginObject();
    json->Member("window_id", clocks.window_id);
    json->Member("kind", clocks.kind);
    json->Member("device_id", clocks.device_id);
    json->Member("sm_clock_hz", clocks.sm_clock_hz);
    json->Member("l2_clock_hz", clocks.l2_clock_hz);
    json->Member("memory_clock_hz", clocks.memory_clock_hz);
    if (clocks.throttle_reasons.has_value()) {
      WriteStrings("throttle_reasons", *clocks.throttle_reasons, json);
    } else {
      json->Key("throttle_reasons");
      json->Null();
    }
    json->Member("reading_count", clocks.reading_count);
    json->EndObject();
  }
  json->EndArray();
}

void WriteBill(const CounterBill& bill, JsonWriter* json) {
  json->Key("bill");
  json->BeginObject();
  json->Member("budget", bill.budget);
  json->Member("window_count", bill.window_count);
  json->Member("windows_ns", bill.windows_ns);
  json->Member("switch_ns", bill.switch_ns);
  json->Member("session_count", bill.session_count);
  json->Member("failed_session_count", bill.failed_session_count);
  json->Member("abandoned_session_count", bill.abandoned_session_count);
  json->Member("rotation_count", bill.rotation_count);
  json->Member("drain_count", bill.drain_count);
  json->Member("range_count", bill.range_count);
  json->Member("push_ns", bill.push_ns);
  json->Member("pop_ns", bill.pop_ns);
  json->Member("idle_wait_ns", bill.idle_wait_ns);
  json->Member("completion_wait_ns", bill.completion_wait_ns);
  json->Member("enable_ns", bill.enable_ns);
  json->Member("start_ns", bill.start_ns);
  json->Member("stop_ns", bill.stop_ns);
  json->Member("decode_ns", bill.decode_ns);
  json->Member("disable_ns", bill.disable_ns);
  json->Member("calls_ns", bill.calls_ns());
  json->EndObject();
}

void WriteSample(const CounterSampleLine& sample, JsonWriter* json) {
  json->BeginObject();
  json->Member("session_id", sample.session_id);
  json->Member("range_order", sample.range_order);
  json->Member("window_id", sample.window_id);
  json->Member("context_id", sample.context_id);
  json->Member("launch_number", sample.launch_number);
  json->Member("correlation_id", sample.correlation_id);
  json->Member("thread_id", sample.thread_id);
  json->Member("offset_ns", sample.offset_ns);
  json->Member("void", sample.is_void);
  json->Member("first_of_session", sample.first_of_session);
  json->Member("after_switch", sample.after_switch);
  json->Member("replayed", sample.replayed);
  json->Key("values");
  json->BeginArray();
  for (const std::optional<double>& value : sample.values) {
    if (value.has_value()) {
      json->ExactValue(*value);
    } else {
      json->Null();
    }
  }
  json->EndArray();
  json->EndObject();
}

void WriteDisagreement(const std::optional<InstructionDisagreement>& found, JsonWriter* json) {
  json->Key("instruction_disagreement");
  if (!found.has_value()) {
    json->Null();
    return;
  }
  json->BeginObject();
  json->Member("hardware_metric", found->hardware_metric);
  json->ExactMember("hardware", found->hardware);
  json->Member("patched_metric", found->patched_metric);
  json->ExactMember("patched", found->patched);
  json->ExactMember("difference_ratio", found->difference_ratio);
  json->EndObject();
}

void WriteGroups(const std::vector<CounterGroupRow>& groups, JsonWriter* json) {
  json->Key("groups");
  json->BeginArray();
  for (const CounterGroupRow& group : groups) {
    json->BeginObject();
    json->Member("group", group.group);
    json->Member("kind", group.kind);
    json->Member("sample_count", group.sample_count);
    json->Member("void_count", group.void_count);
    json->Member("first_of_session_count", group.first_of_session_count);
    json->Member("after_switch_count", group.after_switch_count);
    json->Member("replayed_count", group.replayed_count);
    json->Member("first_offset_ns", group.first_offset_ns);
    json->Member("last_offset_ns", group.last_offset_ns);
    json->Member("spacing_ns", group.spacing_ns);
    json->Member("first_launch_number", group.first_launch_number);
    json->Member("launch_number_step", group.launch_number_step);
    json->Key("metrics");
    json->BeginArray();
    for (const CounterMetricRow& metric : group.metrics) {
      json->BeginObject();
      json->Member("metric", metric.name);
      json->ExactMember("median", metric.median);
      json->ExactMember("min", metric.min);
      json->ExactMember("max", metric.max);
      json->ExactMember("spread_ratio", metric.spread_ratio);
      json->Member("value_count", metric.value_count);
      json->Member("unavailable_count", metric.unavailable_count);
      json->Member("kept_count", metric.kept_count);
      json->Member("first_left_out", metric.first_left_out);
      json->Member("first_only", metric.first_only);
      json->EndObject();
    }
    json->EndArray();
    json->Key("samples");
    json->BeginArray();
    for (const CounterSampleLine& sample : group.samples) WriteSample(sample, json);
    json->EndArray();
    json->EndObject();
  }
  json->EndArray();
}

void WriteSignature(const SignatureCounters& s, JsonWriter* json) {
  json->BeginObject();
  json->Member("name", s.full_name);
  json->Member("short_name", s.short_name);
  json->Member("device_id", s.device_id);
  WriteDim("grid", s.grid, json);
  WriteDim("block", s.block, json);
  WriteDim("cluster", s.cluster, json);
  json->Member("dynamic_shared_memory_bytes", s.dynamic_shared_memory_bytes);
  json->Member("graph_node", s.graph_node);
  json->Member("launch_count", s.launch_count);
  json->Member("share_ratio", s.share_ratio);
  json->Key("mixed_work");
  json->BeginArray();
  for (const MixedWork& mixed : s.mixed_work) {
    json->BeginObject();
    json->Member("metric", mixed.metric);
    json->ExactMember("min", mixed.min);
    json->ExactMember("max", mixed.max);
    json->ExactMember("spread_ratio", mixed.spread_ratio);
    json->EndObject();
  }
  json->EndArray();
  WriteDisagreement(s.instruction_disagreement, json);
  WriteGroups(s.groups, json);
  json->EndObject();
}

}  // namespace

void WriteCountersJson(const Report& report, const CountersSection& c, JsonWriter* json) {
  json->BeginObject();
  json->Member("process", report.processes[c.process].label);
  WritePlans(c, json);
  WriteDeviceFacts(c, json);
  WriteBill(c.bill, json);
  json->Member("sample_count", c.sample_count);
  json->Member("void_count", c.void_count);
  json->Member("misplaced_count", c.misplaced_count);
  json->Member("unavailable_value_count", c.unavailable_value_count);
  json->Member("sampled_signature_count", c.sampled_signature_count);
  json->Member("sampled_share_ratio", c.sampled_share_ratio);
  json->Member("covered_share_ratio", c.covered_share_ratio);
  json->Member("graph_share_ratio", c.graph_share_ratio);
  json->Member("untimed_launch_count", c.untimed_launch_count);
  json->Member("mixed_work_count", c.mixed_work_count);
  json->Member("signatures_matched", uint64_t{c.signatures_matched});
  json->Key("signatures");
  json->BeginArray();
  for (const SignatureCounters& signature : c.signatures) WriteSignature(signature, json);
  json->EndArray();
  json->Key("graph_totals");
  json->BeginArray();
  for (const GraphCounters& graph : c.graphs) {
    json->BeginObject();
    json->Member("graph_exec_id", graph.graph_exec_id);
    json->Member("graph_id", graph.graph_id);
    json->Member("kernel_node_count", graph.kernel_node_count);
    json->Member("undescribed_node_count", graph.undescribed_node_count);
    json->Key("kernels");
    json->BeginArray();
    for (const GraphKernel& kernel : graph.kernels) {
      json->BeginObject();
      json->Member("name", kernel.full_name);
      json->Member("short_name", kernel.short_name);
      WriteDim("grid", kernel.grid, json);
      WriteDim("block", kernel.block, json);
      json->Member("node_count", kernel.node_count);
      json->EndObject();
    }
    json->EndArray();
    WriteGroups(graph.groups, json);
    json->EndObject();
  }
  json->EndArray();
  json->EndObject();
}

}  // namespace gx::analysis
