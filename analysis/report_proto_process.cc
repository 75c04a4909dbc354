// What is told of a process as a whole.
#include "analysis/report_proto_sections.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

void FillSettings(const std::vector<std::pair<std::string, std::string>>& settings,
                  google::protobuf::RepeatedPtrField<pb::ReportSetting>* messages) {
  // Pairs and no map: a name may come twice.
  for (const auto& [name, value] : settings) {
    pb::ReportSetting* message = messages->Add();
    message->set_name(name);
    message->set_value(value);
  }
}

void FillTrace(const ProcessSection& process, pb::ReportTrace* message) {
  const ProvenanceSection& p = process.provenance;
  message->set_path(process.path);
  message->set_size_bytes(process.size_bytes);
  message->set_frame_count(process.frame_count);
  if (p.header_known) message->set_gpuexec_version(p.gpuexec_version);
  message->set_source_revision(p.source_revision);
  message->set_trace_format(p.format);
  message->set_command_line(p.command);
  message->set_executable(p.executable);
  message->set_host(p.host);
  message->set_pid(p.pid);
  message->set_parent_pid(p.parent_pid);
  message->set_pid_namespace(p.pid_namespace);
  message->set_started(p.started);
  message->set_ended(p.ended);
  FillSettings(p.rank_variables, message->mutable_rank_variable());
  FillSettings(p.configuration, message->mutable_configuration());
  message->set_driver_version(p.driver_version);
  message->set_cuda_driver_api_version(p.cuda_driver_api_version);
  message->set_cupti_version(p.cupti_version);
  message->set_cupti_path(p.cupti_path);
  for (const ProvenanceSection::CuptiFault& fault : p.cupti_faults) {
    pb::ReportCuptiFault* to = message->add_cupti_fault();
    to->set_text(fault.text);
    to->set_acted_on(fault.acted_on);
  }
  message->set_libcuda_path(p.libcuda_path);
  message->set_kernel_record_version(p.kernel_record_version);
  message->set_kernel_release(p.kernel_release);
  message->set_machine(p.machine);
  if (p.clock_step_ns > 0) message->set_clock_step_ns(p.clock_step_ns);
  message->set_clock_pair_count(p.clock_pair_count);
}

void FillAccounting(const AccountingSection& a, pb::ReportAccounting* message) {
  message->set_launch_count(a.launches);
  message->set_graph_launch_count(a.graph_launches);
  message->set_untimed_launch_count(a.untimed_launches);
  message->set_counter_window_launch_count(a.counter_window_launches);
  message->set_kernel_record_count(a.kernel_records);
  message->set_joined_count(a.kernels_joined);
  message->set_joined_to_graphs_count(a.kernels_joined_to_graphs);
  message->set_without_launch_count(a.kernels_without_launch);
  message->set_device_launched_count(a.kernels_device_launched);
  message->set_of_cupti_count(a.kernels_of_cupti);
  message->set_untimed_count(a.kernels_untimed);
  message->set_unfinished_count(a.kernels_unfinished);
  message->set_invalid_count(a.kernels_invalid);
  message->set_signature_from_activity_count(a.kernels_signature_from_activity);
  message->set_launches_without_kernel_count(a.launches_without_kernel);
  message->set_taken_count(a.kernels_taken);
  message->set_replays_complete_count(a.replays_complete);
  message->set_replays_short_count(a.replays_short);
  message->set_replays_long_count(a.replays_long);
  message->set_replays_unchecked_count(a.replays_unchecked);
  message->set_replay_kernels_missing_count(a.replay_kernels_missing);
  message->set_signature_disagreement_count(a.signature_disagreements);
  message->set_summarised_kernel_count(a.summarised_kernels);
  message->set_summarised_launch_count(a.summarised_launches);
}

void FillRun(const RunSection& run, pb::RunReport* message) {
  message->set_wall_ns(run.wall_ns);
  message->set_wall_from_trailer(run.wall_from_trailer);
  if (run.single_records_end_ns.has_value()) message->set_single_records_end_ns(*run.single_records_end_ns);
  message->set_timed_ns(run.timed_ns());
  message->set_off_windows_ns(run.off_windows_ns);
  message->set_counter_windows_ns(run.counter_windows_ns);
  message->set_kernel_launch_count(run.kernel_launches);
  message->set_graph_launch_count(run.graph_launches);
  message->set_refused_launch_count(run.refused_launches);
  message->set_kernel_count(run.kernels);
  message->set_summarised_launch_count(run.summarised_launches);
  message->set_summarised_kernel_count(run.summarised_kernels);
  if (run.launches_per_second > 0) message->set_launches_per_second(run.launches_per_second);
  message->set_launch_span_ns(run.launch_span_ns);
  for (const CopySection& copy : run.copies) {
    pb::CopyReport* row = message->add_copy();
    row->set_kind(copy.kind);
    row->set_count(copy.count);
    row->set_size_bytes(copy.size_bytes);
    row->set_total_ns(copy.total_ns);
  }
  message->set_synchronization_count(run.synchronization_count);
  message->set_synchronization_ns(run.synchronization_ns);
  message->set_nvtx_event_count(run.nvtx_event_count);
}

}  // namespace

void FillFindings(const std::vector<Finding>& findings,
                  google::protobuf::RepeatedPtrField<pb::ReportFinding>* messages) {
  for (const Finding& finding : findings) {
    pb::ReportFinding* message = messages->Add();
    message->set_id(finding.id);
    message->set_severity(finding.severity);
    message->set_count(finding.value);
    message->set_text(finding.text);
    message->set_advice(finding.advice);
    for (const std::string& detail : finding.details) message->add_detail(detail);
  }
}

void FillProcess(const ProcessSection& process, const CountersSection* counters, pb::ReportProcess* message) {
  message->set_name(process.label);
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  FillTrace(process, message->mutable_trace());
  message->set_data_lost(process.data_lost);
  message->set_nothing_recorded(process.nothing_recorded);
  FillFindings(process.findings, message->mutable_finding());
  FillFindings(process.bookkeeping, message->mutable_bookkeeping());
  for (const std::string& diagnostic : process.diagnostics) message->add_diagnostic(diagnostic);
  message->set_diagnostic_count(process.diagnostic_count);
  FillAccounting(process.accounting, message->mutable_accounting());
  for (const DeviceSection& device : process.devices) FillDevice(device, message->add_device());
  FillRun(process.run, message->mutable_run());
  for (const ApiUseRow& row : process.api_uses) {
    pb::ApiUseReport* use = message->add_api_use();
    use->set_domain(row.domain);
    use->set_name(row.name);
    use->set_call_count(row.call_count);
    use->set_failed_count(row.failed_count);
    use->set_total_ns(row.total_ns);
    use->set_max_ns(row.max_ns);
  }
  pb::OverheadBill* bill = message->mutable_bill();
  if (process.run.overhead_count > 0) {
    bill->set_cupti_overhead_count(process.run.overhead_count);
    bill->set_cupti_overhead_ns(process.run.overhead_ns);
  }
  bill->set_window_switch_ns(process.run.window_switch_ns);
  if (counters != nullptr) {
    FillBill(*counters, bill->mutable_counters());
    FillCounters(*counters, message->mutable_counters());
  }
}

}  // namespace gx::analysis
