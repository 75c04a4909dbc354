// Rows of kernels: launch, times, occupancy, waves.
#include "analysis/report_proto.h"
#include "analysis/report_proto_sections.h"
#include "analysis/text_table.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

void FillLaunch(const LaunchConfiguration& launch, pb::LaunchReport* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  if (launch.grid) FillDim(*launch.grid, message->mutable_grid());
  if (launch.block) FillDim(*launch.block, message->mutable_block());
  if (launch.cluster) FillDim(*launch.cluster, message->mutable_cluster());
  if (launch.registers_per_thread) message->set_registers_per_thread(*launch.registers_per_thread);
  if (launch.function_registers_per_thread) {
    message->set_function_registers_per_thread(*launch.function_registers_per_thread);
  }
  if (launch.static_shared_memory_bytes) message->set_static_shared_memory_bytes(*launch.static_shared_memory_bytes);
  if (launch.dynamic_shared_memory_bytes) {
    message->set_dynamic_shared_memory_bytes(*launch.dynamic_shared_memory_bytes);
  }
  if (launch.shared_memory_executed_bytes) {
    message->set_shared_memory_executed_bytes(*launch.shared_memory_executed_bytes);
  }
  if (launch.local_memory_per_thread_bytes) {
    message->set_local_memory_per_thread_bytes(*launch.local_memory_per_thread_bytes);
  }
  message->set_graph_node(launch.graph_node);
  message->set_cooperative(launch.cooperative);
  message->set_programmatic(launch.programmatic);
  message->set_signature_from_activity(launch.from_activity);
}

pb::TimingReport::Basis BasisOf(MedianBasis basis) {
  switch (basis) {
    case MedianBasis::kClean:
      return pb::TimingReport::BASIS_CLEAN;
    case MedianBasis::kFewClean:
      return pb::TimingReport::BASIS_FEW_CLEAN;
    case MedianBasis::kNotClean:
      return pb::TimingReport::BASIS_NOT_CLEAN;
    case MedianBasis::kBuckets:
      return pb::TimingReport::BASIS_BUCKETS;
    case MedianBasis::kNone:
      break;
  }
  return pb::TimingReport::BASIS_NONE;
}

void FillTiming(const KernelGroup& group, pb::TimingReport* message) {
  const bool measured = group.basis != MedianBasis::kNone;
  message->set_label(measured ? pb::CLAIM_LABEL_LOCALLY_MEASURED : pb::CLAIM_LABEL_UNMEASURED);
  message->set_call_count(group.calls);
  message->set_total_ns(group.total_ns);
  message->set_share_ratio(group.share_ratio);
  message->set_basis(BasisOf(group.basis));
  if (measured) {
    message->set_median_ns(group.durations.median_ns);
    message->set_p5_ns(group.durations.p5_ns);
    message->set_p95_ns(group.durations.p95_ns);
    message->set_min_ns(group.durations.min_ns);
    message->set_max_ns(group.durations.max_ns);
    message->set_population_count(group.durations.count);
  }
  for (const uint64_t duration_ns : group.picked_ns) message->add_sample_ns(duration_ns);
  message->set_clean_count(group.clean_count);
  message->set_warm_up_count(group.warm_up_count);
  message->set_overlapping_count(group.overlapping_count);
  message->set_overlapped_ratio(group.overlapped_ratio);
  message->set_late_count(group.late_count);
  message->set_next_to_switch_count(group.next_to_switch_count);
  message->set_untimed_count(group.untimed_count);
  message->set_unfinished_count(group.unfinished_count);
  message->set_invalid_count(group.invalid_count);
  message->set_summarised_count(group.summarised_count);
  message->set_launches_without_kernel_count(group.launches_without_kernel);
  message->set_untimed_launch_count(group.untimed_launch_count);
}

void FillFigures(pb::ClaimLabel label, const std::optional<uint64_t>& blocks_per_sm, pb::OccupancyFigures* message) {
  message->set_label(blocks_per_sm.has_value() ? label : pb::CLAIM_LABEL_UNMEASURED);
  if (blocks_per_sm) message->set_blocks_per_sm(*blocks_per_sm);
}

void FillOneMoreBlock(const OneMoreBlock& needs, pb::OneMoreBlockReport* message) {
  message->set_is_possible(needs.is_possible);
  if (needs.threads_per_block) message->set_threads_per_block(*needs.threads_per_block);
  if (needs.registers_per_thread) message->set_registers_per_thread(*needs.registers_per_thread);
  if (needs.shared_memory_bytes) message->set_shared_memory_bytes(*needs.shared_memory_bytes);
  if (needs.carveout_bytes) message->set_carveout_bytes(*needs.carveout_bytes);
}

void FillOccupancy(const LaunchConfiguration& launch, pb::OccupancyReport* message) {
  const LaunchResidency& r = launch.residency;
  pb::OccupancyFigures* first = message->mutable_first_order();
  FillFigures(pb::CLAIM_LABEL_ANALYTICAL, r.first_order_blocks_per_sm, first);
  if (r.first_order_occupancy_ratio) first->set_occupancy_ratio(*r.first_order_occupancy_ratio);
  if (r.first_order_limiters) first->set_limiters(*r.first_order_limiters);
  pb::OccupancyFigures* exact = message->mutable_exact();
  FillFigures(pb::CLAIM_LABEL_ANALYTICAL, r.blocks_per_sm, exact);
  if (r.occupancy_ratio) exact->set_occupancy_ratio(*r.occupancy_ratio);
  if (r.limiters) exact->set_limiters(*r.limiters);
  if (r.next_limiters) exact->set_next_limiters(*r.next_limiters);
  if (r.next_blocks_per_sm) exact->set_next_blocks_per_sm(*r.next_blocks_per_sm);
  exact->set_unavailable(r.unavailable);
  if (r.one_more_block) FillOneMoreBlock(*r.one_more_block, exact->mutable_one_more_block());
  FillFigures(pb::CLAIM_LABEL_ANALYTICAL, r.requested_blocks_per_sm, message->mutable_exact_as_preferred());
  FillFigures(pb::CLAIM_LABEL_SOURCE_REPORTED, launch.driver_occupancy_blocks_per_sm, message->mutable_driver());
}

void FillWaves(const LaunchResidency& r, pb::WavesReport* message) {
  message->set_label(r.waves.has_value() ? pb::CLAIM_LABEL_ANALYTICAL : pb::CLAIM_LABEL_UNMEASURED);
  if (r.slot_count) message->set_slot_count(*r.slot_count);
  message->set_slots_are_upper_bound(r.slots_are_upper_bound);
  if (r.waves) message->set_waves(*r.waves);
  if (r.tail_fill_ratio) message->set_tail_fill_ratio(*r.tail_fill_ratio);
}

template <typename Row, typename Message>
void FillRoofs(const Row& row, bool other_device, Message* message) {
  const auto fill = [](const Roof& roof, pb::ClaimLabel label, pb::RoofReport* out) {
    out->set_label(label);
    out->set_per_second(roof.per_second);
    out->set_source(roof.source);
  };
  if (row.theoretical) fill(*row.theoretical, pb::CLAIM_LABEL_SOURCE_REPORTED, message->mutable_theoretical());
  if (row.empirical) {
    fill(*row.empirical, other_device ? pb::CLAIM_LABEL_SOURCE_REPORTED : pb::CLAIM_LABEL_LOCALLY_MEASURED,
         message->mutable_empirical());
  }
}

void FillRoofline(const RooflineRow& roofline, pb::RooflineReport* message) {
  message->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  message->set_time_ns(roofline.time_ns);
  for (const RooflinePathRow& path : roofline.paths) {
    pb::RooflinePath* row = message->add_path();
    row->set_path(path.path);
    row->set_flops(path.flops);
    row->set_flops_per_second(path.flops_per_second);
    FillRoofs(path, roofline.other_device, row);
  }
  for (const RooflineLevelRow& level : roofline.levels) {
    pb::RooflineLevel* row = message->add_level();
    row->set_level(level.level);
    row->set_metric(level.metric);
    row->set_bytes(level.bytes);
    row->set_bytes_per_second(level.bytes_per_second);
    if (level.intensity_flops_per_byte) row->set_intensity_flops_per_byte(*level.intensity_flops_per_byte);
    FillRoofs(level, roofline.other_device, row);
  }
}

// What signatures and other groups have in common.
template <typename Message>
void FillRow(const KernelGroup& group, Message* message) {
  message->set_name(ReportName(group.full_name));
  message->set_short_name(ReportName(group.short_name));
  if (group.device_id.has_value()) message->set_device_id(*group.device_id);
  FillLaunch(group.launch, message->mutable_launch());
  FillTiming(group, message->mutable_timing());
  FillOccupancy(group.launch, message->mutable_occupancy());
  FillWaves(group.launch.residency, message->mutable_waves());
}

}  // namespace

std::string ReportName(const std::string& name) { return CutText(name, kMaxReportNameLength); }

void FillDim(const Dim& dim, pb::LaunchDim* message) {
  message->set_x(dim.x);
  message->set_y(dim.y);
  message->set_z(dim.z);
}

void FillSignature(const KernelGroup& group, pb::SignatureReport* message) {
  FillRow(group, message);
  if (group.roofline.has_value()) FillRoofline(*group.roofline, message->mutable_roofline());
}

void FillCountedOnly(const SignatureCounters& counters, pb::SignatureReport* message) {
  message->set_name(ReportName(counters.full_name));
  message->set_short_name(ReportName(counters.short_name));
  if (counters.device_id.has_value()) message->set_device_id(*counters.device_id);
  pb::LaunchReport* launch = message->mutable_launch();
  launch->set_label(pb::CLAIM_LABEL_LOCALLY_MEASURED);
  if (counters.grid) FillDim(*counters.grid, launch->mutable_grid());
  if (counters.block) FillDim(*counters.block, launch->mutable_block());
  if (counters.cluster) FillDim(*counters.cluster, launch->mutable_cluster());
  if (counters.grid) launch->set_dynamic_shared_memory_bytes(counters.dynamic_shared_memory_bytes);
  launch->set_graph_node(counters.graph_node);
  message->mutable_timing()->set_label(pb::CLAIM_LABEL_UNMEASURED);
  message->mutable_timing()->set_basis(pb::TimingReport::BASIS_NONE);
}

void FillGroup(const Grouping& grouping, const KernelGroup& group, pb::KernelGroupReport* message) {
  FillRow(group, message);
  if (grouping.stream) message->set_stream(group.stream);
  if (grouping.nvtx) message->set_nvtx(ReportName(group.nvtx));
  message->set_nvtx_at_capture(group.nvtx_at_capture);
  message->set_signature_count(group.signature_count);
}

}  // namespace gx::analysis
