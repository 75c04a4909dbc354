// What is said of a run as a whole: idle time, launches, fusion, tensor use, coverage.
#include "analysis/report_proto_sections.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

void FillIdle(const DeviceIdle& idle, pb::DeviceIdleReport* message) {
  // Times are measured; what caused them is inferred.
  message->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  message->set_device_id(idle.device_id);
  message->set_span_ns(idle.span_ns);
  message->set_busy_ns(idle.busy_ns);
  message->set_idle_ns(idle.idle_ns);
  for (const IdleCauseRow& cause : idle.causes) {
    pb::IdleCauseReport* row = message->add_cause();
    row->set_id(cause.id);
    row->set_text(cause.text);
    row->set_gap_count(cause.gap_count);
    row->set_total_ns(cause.total_ns);
    row->set_longest_ns(cause.longest_ns);
    row->set_span_ratio(cause.span_ratio);
  }
  if (idle.launch_delay_ns) message->set_launch_delay_ns(*idle.launch_delay_ns);
}

pb::LaunchVerdictReport::Verdict VerdictOf(LaunchBound verdict) {
  switch (verdict) {
    case LaunchBound::kNo:
      return pb::LaunchVerdictReport::VERDICT_NOT_BOUND;
    case LaunchBound::kPartly:
      return pb::LaunchVerdictReport::VERDICT_PARTLY;
    case LaunchBound::kYes:
      return pb::LaunchVerdictReport::VERDICT_LAUNCH_BOUND;
    case LaunchBound::kUnknown:
      break;
  }
  return pb::LaunchVerdictReport::VERDICT_UNKNOWN;
}

void FillLaunches(const LaunchVerdict& launches, pb::LaunchVerdictReport* message) {
  // Inferred from the causes of gaps.
  message->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  message->set_verdict(VerdictOf(launches.verdict));
  message->set_device_id(launches.device_id);
  message->set_host_late_ns(launches.host_late_ns);
  message->set_host_late_ratio(launches.host_late_ratio);
  if (launches.launch_period_ns) message->set_launch_period_ns(*launches.launch_period_ns);
  if (launches.kernel_ns) message->set_kernel_ns(*launches.kernel_ns);
  if (launches.graph.has_value()) {
    pb::GraphSavingReport* graph = message->mutable_graph();
    graph->set_label(pb::CLAIM_LABEL_ANALYTICAL);
    graph->set_low_ns(launches.graph->low_ns);
    graph->set_high_ns(launches.graph->high_ns);
    graph->set_gap_count(launches.graph->gap_count);
    graph->set_node_ns(launches.graph->node_ns);
  }
  message->set_no_graph(launches.no_graph);
}

// Of a pair or a chain.
template <typename Fusable>
void FillSaving(const Fusable& fusable, pb::FusionSavingReport* message) {
  message->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  message->set_dram_bytes(fusable.saved_dram_bytes);
  if (fusable.saved_ns) message->set_ns(*fusable.saved_ns);
  if (fusable.saved_run_ns) message->set_run_ns(*fusable.saved_run_ns);
  if (fusable.fused_time_ns) message->set_fused_time_ns(*fusable.fused_time_ns);
}

void FillPair(const FusablePair& pair, const std::map<uint32_t, uint32_t>& index_by_signature,
              pb::FusablePairReport* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  if (const auto found = index_by_signature.find(pair.producer_signature); found != index_by_signature.end()) {
    message->set_producer_index(found->second);
  }
  if (const auto found = index_by_signature.find(pair.consumer_signature); found != index_by_signature.end()) {
    message->set_consumer_index(found->second);
  }
  message->set_producer_name(ReportName(pair.producer_name));
  message->set_consumer_name(ReportName(pair.consumer_name));
  message->set_producer_grid(pair.producer_grid);
  message->set_consumer_grid(pair.consumer_grid);
  message->set_pair_count(pair.pair_count);
  message->set_producer_count(pair.producer_count);
  message->set_stored_bytes(pair.stored_bytes);
  message->set_loaded_bytes(pair.loaded_bytes);
  message->set_loaded_multiple(pair.loaded_multiple);
  message->set_dram_bytes(pair.dram_bytes);
  if (pair.producer_dram_ratio) message->set_producer_dram_ratio(*pair.producer_dram_ratio);
  if (pair.consumer_dram_ratio) message->set_consumer_dram_ratio(*pair.consumer_dram_ratio);
  FillSaving(pair, message->mutable_saving());
}

void FillChain(const FusableChain& chain, const std::map<uint32_t, uint32_t>& index_by_signature,
               pb::FusableChainReport* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  for (const uint32_t signature : chain.signatures) {
    const auto found = index_by_signature.find(signature);
    if (found == index_by_signature.end()) {
      message->clear_index();
      break;
    }
    message->add_index(found->second);
  }
  for (const std::string& name : chain.names) message->add_name(ReportName(name));
  for (const std::string& grid : chain.grids) message->add_grid(grid);
  message->set_chain_count(chain.chain_count);
  for (const double bytes : chain.stored_bytes) message->add_stored_bytes(bytes);
  message->set_time_ns(chain.time_ns);
  message->set_dram_bytes(chain.dram_bytes);
  message->set_shares_kernel(chain.shares_kernel);
  FillSaving(chain, message->mutable_saving());
}

void FillRoof(std::optional<double> per_second, pb::ClaimLabel label, const char* source, pb::RoofReport* message) {
  message->set_label(per_second.has_value() ? label : pb::CLAIM_LABEL_UNMEASURED);
  if (!per_second.has_value()) return;
  message->set_per_second(*per_second);
  message->set_source(source);
}

void FillTensor(const TensorUse& tensor, bool other_device, pb::TensorUseReport* message) {
  // Counts of a few launches, times all of them.
  message->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  for (const TensorPathUse& path : tensor.paths) {
    pb::TensorPathReport* row = message->add_path();
    row->set_path(path.path);
    row->set_flops(path.flops);
    row->set_low_flops(path.low_flops);
    row->set_high_flops(path.high_flops);
    FillRoof(path.theoretical_flops_per_second, pb::CLAIM_LABEL_SOURCE_REPORTED, "NVIDIA", row->mutable_theoretical());
    FillRoof(path.empirical_flops_per_second,
             other_device ? pb::CLAIM_LABEL_SOURCE_REPORTED : pb::CLAIM_LABEL_LOCALLY_MEASURED, "machine file",
             row->mutable_empirical());
  }
  message->set_flops(tensor.flops);
  message->set_busy_ns(tensor.busy_ns);
  message->set_timed_ns(tensor.timed_ns);
  message->set_unmeasured_ratio(tensor.unmeasured_ratio);
  pb::TensorUtilizationReport* use = message->mutable_utilization();
  use->set_label(pb::CLAIM_LABEL_ANALYTICAL);
  if (tensor.theoretical_busy_ratio) use->set_theoretical_busy_ratio(*tensor.theoretical_busy_ratio);
  if (tensor.theoretical_timed_ratio) use->set_theoretical_timed_ratio(*tensor.theoretical_timed_ratio);
  if (tensor.empirical_busy_ratio) use->set_empirical_busy_ratio(*tensor.empirical_busy_ratio);
  if (tensor.empirical_timed_ratio) use->set_empirical_timed_ratio(*tensor.empirical_timed_ratio);
}

void FillCoverage(const SignatureCoverage& coverage, pb::SignatureCoverageReport* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  message->set_signature_count(coverage.signature_count);
  message->set_main_count(coverage.main_count);
  message->set_main_ratio(coverage.main_ratio);
  message->set_counted_ratio(coverage.counted_ratio);
  message->set_main_counted_count(coverage.main_counted_count);
}

}  // namespace

void FillExplanation(const RunExplanation& explanation, const std::map<uint32_t, uint32_t>& index_by_signature,
                     bool other_device, pb::RunExplanationReport* message) {
  for (const DeviceIdle& idle : explanation.idle) FillIdle(idle, message->add_idle());
  FillLaunches(explanation.launches, message->mutable_launches());
  for (const FusablePair& pair : explanation.fusable) FillPair(pair, index_by_signature, message->add_fusable());
  message->set_fusable_count(explanation.fusable_count);
  for (const FusableChain& chain : explanation.chains) {
    FillChain(chain, index_by_signature, message->add_fusable_chain());
  }
  message->set_fusable_chain_count(explanation.chain_count);
  if (explanation.unjudged_neighbours_ratio) {
    message->set_unjudged_neighbours_ratio(*explanation.unjudged_neighbours_ratio);
  }
  if (explanation.tensor.has_value()) FillTensor(*explanation.tensor, other_device, message->mutable_tensor());
  if (explanation.coverage.has_value()) FillCoverage(*explanation.coverage, message->mutable_coverage());
  for (const RunFinding& finding : explanation.findings) {
    pb::RunFindingReport* row = message->add_finding();
    row->set_label(pb::CLAIM_LABEL_ANALYTICAL);
    row->set_id(finding.id);
    row->set_text(finding.text);
    row->set_advice(finding.advice);
    if (finding.saved_ns) row->set_saved_ns(*finding.saved_ns);
  }
}

}  // namespace gx::analysis
