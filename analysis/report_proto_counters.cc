// Hardware counters: of a process, of its signatures and graphs, and what they cost.
#include <cmath>
#include <limits>

#include "analysis/report_proto.h"
#include "analysis/report_proto_sections.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

void FillPlans(const CountersSection& counters, pb::CounterReport* message) {
  for (const CounterPlanRow& plan : counters.plans) {
    pb::CounterPlanReport* row = message->add_plan();
    row->set_device_id(plan.device_id);
    row->set_requested(plan.requested);
    row->set_chip(plan.chip);
    for (const std::string& group : plan.groups) row->add_group(group);
    for (const auto& [metric, why] : plan.dropped) {
      pb::DroppedMetricReport* dropped = row->add_dropped();
      dropped->set_metric(metric);
      dropped->set_reason(why);
    }
    row->set_failed(plan.failed);
    row->set_planning_ns(plan.planning_ns);
  }
  for (const CounterAccessRow& access : counters.access) {
    pb::CounterAccessReport* row = message->add_access();
    row->set_device_id(access.device_id);
    row->set_state(access.state);
    row->set_text(access.text);
  }
}

void FillDeviceFacts(const CountersSection& counters, pb::CounterReport* message) {
  for (const DevicePeakRow& peak : counters.peaks) {
    pb::DevicePeakReport* row = message->add_peak();
    row->set_label(peak.per_cycle ? pb::CLAIM_LABEL_SOURCE_REPORTED : pb::CLAIM_LABEL_UNMEASURED);
    row->set_device_id(peak.device_id);
    row->set_metric(peak.metric);
    if (peak.per_cycle) row->set_per_cycle(*peak.per_cycle);
    row->set_clock_metric(peak.clock_metric);
    if (peak.clock_hz) row->set_clock_hz(*peak.clock_hz);
  }
  message->set_window_clocks_count(counters.window_clocks.size());
  for (const WindowClocksRow& clocks : counters.window_clocks) {
    if (static_cast<size_t>(message->window_clocks_size()) == kMaxReportWindows) break;
    pb::WindowClocksReport* row = message->add_window_clocks();
    row->set_window_id(clocks.window_id);
    row->set_device_id(clocks.device_id);
    row->set_kind(clocks.kind);
    if (clocks.sm_clock_hz) row->set_sm_clock_hz(*clocks.sm_clock_hz);
    if (clocks.l2_clock_hz) row->set_l2_clock_hz(*clocks.l2_clock_hz);
    if (clocks.memory_clock_hz) row->set_memory_clock_hz(*clocks.memory_clock_hz);
    row->set_throttle_reasons_known(clocks.throttle_reasons.has_value());
    if (clocks.throttle_reasons.has_value()) {
      for (const std::string& reason : *clocks.throttle_reasons) row->add_throttle_reason(reason);
    }
    row->set_reading_count(clocks.reading_count);
  }
}

void FillMissing(const CountersSection& counters, pb::CounterReport* message) {
  message->set_denied_count(counters.denied.size());
  for (const DeniedFunction& denied : counters.denied) {
    if (static_cast<size_t>(message->denied_size()) == kMaxReportDenials) break;
    pb::CounterDenialReport* row = message->add_denied();
    row->set_name(ReportName(denied.name));
    row->set_reason(denied.reason);
    row->set_detail(denied.detail);
    row->set_context_id(denied.context_id);
    row->set_graph_exec_id(denied.graph_exec_id);
    if (denied.offset_ns) row->set_offset_ns(*denied.offset_ns);
  }
  for (const CounterLoss& loss : counters.losses) {
    pb::CounterLossReport* row = message->add_loss();
    row->set_id(loss.id);
    row->set_count(loss.count);
    row->set_text(loss.text);
  }
  for (const UncountedSignature& uncounted : counters.uncounted) {
    pb::UncountedSignatureReport* row = message->add_uncounted();
    row->set_name(ReportName(uncounted.short_name));
    if (uncounted.grid) FillDim(*uncounted.grid, row->mutable_grid());
    row->set_share_ratio(uncounted.share_ratio);
    row->set_reason(uncounted.reason);
  }
}

void FillMetric(const CounterMetricRow& metric, pb::MetricReport* row) {
  row->set_metric(metric.name);
  if (metric.median) row->set_median(*metric.median);
  if (metric.min) row->set_min(*metric.min);
  if (metric.max) row->set_max(*metric.max);
  if (metric.spread_ratio) row->set_spread_ratio(*metric.spread_ratio);
  row->set_value_count(metric.value_count);
  row->set_unavailable_count(metric.unavailable_count);
  row->set_kept_count(metric.kept_count);
  row->set_first_left_out(metric.first_left_out);
  row->set_first_only(metric.first_only);
}

void FillSample(const CounterSampleLine& sample, pb::CounterSampleReport* row) {
  row->set_session_id(sample.session_id);
  row->set_window_id(sample.window_id);
  row->set_context_id(sample.context_id);
  row->set_range_order(sample.range_order);
  row->set_launch_number(sample.launch_number);
  row->set_correlation_id(sample.correlation_id);
  row->set_thread_id(sample.thread_id);
  if (sample.offset_ns) row->set_offset_ns(*sample.offset_ns);
  row->set_is_void(sample.is_void);
  row->set_first_of_session(sample.first_of_session);
  row->set_after_switch(sample.after_switch);
  row->set_replayed(sample.replayed);
  for (const std::optional<double>& value : sample.values) {
    row->add_value(value.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
}

void FillGroupRow(const CounterGroupRow& group, pb::CounterGroupReport* row) {
  row->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  row->set_group(group.group);
  row->set_kind(group.kind);
  row->set_sample_count(group.sample_count);
  row->set_void_count(group.void_count);
  row->set_first_of_session_count(group.first_of_session_count);
  row->set_after_switch_count(group.after_switch_count);
  row->set_replayed_count(group.replayed_count);
  if (group.first_offset_ns) row->set_first_offset_ns(*group.first_offset_ns);
  if (group.last_offset_ns) row->set_last_offset_ns(*group.last_offset_ns);
  if (group.spacing_ns) row->set_spacing_ns(*group.spacing_ns);
  if (group.first_launch_number) row->set_first_launch_number(*group.first_launch_number);
  if (group.launch_number_step) row->set_launch_number_step(*group.launch_number_step);
  for (const CounterMetricRow& metric : group.metrics) FillMetric(metric, row->add_metric());
  for (const CounterSampleLine& sample : group.samples) {
    if (static_cast<size_t>(row->sample_size()) == kMaxReportSamples) break;
    FillSample(sample, row->add_sample());
  }
}

}  // namespace

void FillCounters(const CountersSection& counters, pb::CounterReport* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  FillPlans(counters, message);
  FillDeviceFacts(counters, message);
  FillMissing(counters, message);
  message->set_sample_count(counters.sample_count);
  message->set_void_count(counters.void_count);
  message->set_misplaced_count(counters.misplaced_count);
  message->set_unavailable_value_count(counters.unavailable_value_count);
  message->set_sampled_signature_count(counters.sampled_signature_count);
  if (counters.sampled_share_ratio) message->set_sampled_share_ratio(*counters.sampled_share_ratio);
  if (counters.covered_share_ratio) message->set_covered_share_ratio(*counters.covered_share_ratio);
  if (counters.graph_share_ratio) message->set_graph_share_ratio(*counters.graph_share_ratio);
  message->set_mixed_work_count(counters.mixed_work_count);
}

void FillBill(const CountersSection& counters, pb::CounterBillReport* message) {
  const CounterBill& bill = counters.bill;
  message->set_budget(bill.budget);
  message->set_window_count(bill.window_count);
  message->set_windows_ns(bill.windows_ns);
  message->set_switch_ns(bill.switch_ns);
  message->set_untimed_launch_count(counters.untimed_launch_count);
  message->set_session_count(bill.session_count);
  message->set_failed_session_count(bill.failed_session_count);
  message->set_abandoned_session_count(bill.abandoned_session_count);
  message->set_rotation_count(bill.rotation_count);
  message->set_drain_count(bill.drain_count);
  message->set_range_count(bill.range_count);
  message->set_push_ns(bill.push_ns);
  message->set_pop_ns(bill.pop_ns);
  message->set_idle_wait_ns(bill.idle_wait_ns);
  message->set_completion_wait_ns(bill.completion_wait_ns);
  message->set_enable_ns(bill.enable_ns);
  message->set_start_ns(bill.start_ns);
  message->set_stop_ns(bill.stop_ns);
  message->set_decode_ns(bill.decode_ns);
  message->set_disable_ns(bill.disable_ns);
  message->set_calls_ns(bill.calls_ns());
}

void FillSignatureCounters(const SignatureCounters& counters, pb::SignatureReport* message) {
  for (const CounterGroupRow& group : counters.groups) FillGroupRow(group, message->add_counter_group());
  for (const MixedWork& mixed : counters.mixed_work) {
    pb::MixedWorkReport* row = message->add_mixed_work();
    row->set_metric(mixed.metric);
    row->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
    row->set_min(mixed.min);
    row->set_max(mixed.max);
    row->set_spread_ratio(mixed.spread_ratio);
  }
  if (!counters.instruction_disagreement.has_value()) return;
  const InstructionDisagreement& found = *counters.instruction_disagreement;
  pb::InstructionDisagreementReport* row = message->mutable_instruction_disagreement();
  row->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  row->set_hardware_metric(found.hardware_metric);
  row->set_hardware_count(found.hardware);
  row->set_patched_metric(found.patched_metric);
  row->set_patched_count(found.patched);
  row->set_difference_ratio(found.difference_ratio);
}

void FillGraph(const GraphCounters& graph, pb::GraphReport* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  message->set_graph_exec_id(graph.graph_exec_id);
  message->set_graph_id(graph.graph_id);
  if (graph.kernel_node_count) message->set_kernel_node_count(*graph.kernel_node_count);
  if (graph.undescribed_node_count) message->set_undescribed_node_count(*graph.undescribed_node_count);
  message->set_distinct_kernel_count(graph.kernels.size());
  for (const GraphKernel& kernel : graph.kernels) {
    if (static_cast<size_t>(message->kernel_size()) == kMaxReportGraphKernels) break;
    pb::GraphKernelReport* row = message->add_kernel();
    row->set_name(ReportName(kernel.full_name));
    row->set_short_name(ReportName(kernel.short_name));
    if (kernel.grid) FillDim(*kernel.grid, row->mutable_grid());
    if (kernel.block) FillDim(*kernel.block, row->mutable_block());
    row->set_node_count(kernel.node_count);
  }
  for (const CounterGroupRow& group : graph.groups) FillGroupRow(group, message->add_counter_group());
}

}  // namespace gx::analysis
