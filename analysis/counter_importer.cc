#include "analysis/counter_importer.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

// A definition that comes again adds what was unknown; lists that are present replace.
void MergeGroup(const pb::CounterGroup& later, pb::CounterGroup* group) {
  if (later.metric_size() > 0) group->clear_metric();
  group->MergeFrom(later);
}

}  // namespace

void CounterImporter::ImportDefinitions(const pb::Packet& packet) {
  for (const pb::CounterGroup& group : packet.counter_group()) MergeGroup(group, &model_->groups[group.iid()]);
  for (const pb::CounterPlan& plan : packet.counter_plan()) model_->plans[plan.device_id()] = plan;
  for (const pb::CounterAccess& access : packet.counter_access()) model_->access[access.device_id()] = access;
  for (const pb::DevicePeaks& peaks : packet.device_peaks()) model_->peaks[peaks.device_id()] = peaks;
  for (const pb::CounterSession& session : packet.counter_session()) {
    model_->sessions[session.session_id()].MergeFrom(session);
  }
  for (const pb::WindowClocks& clocks : packet.window_clocks()) {
    model_->window_clocks[{clocks.window_id(), clocks.device_id()}] = clocks;
  }
  for (const pb::CounterDenial& denial : packet.counter_denial()) {
    model_->denials[{denial.function_iid(), denial.graph_exec_id(), denial.context_id(),
                     static_cast<uint32_t>(denial.reason())}] = denial;
  }
}

DecodedBatch CounterImporter::ImportSamples(const pb::CounterBatch& batch, const Context& context) {
  const auto group = model_->groups.find(batch.group_iid());
  if (group == model_->groups.end()) {
    // Numbers without names.
    if (batch.count() > 0) context.count_undefined("counter group");
    return ForEachCounterSample(batch, [&](const CounterSampleRow&) { ++model_->sample_count; });
  }
  const auto metric_count = static_cast<uint64_t>(group->second.metric_size());
  if (batch.count() > 0 && batch.metric_count() != metric_count) {
    DecodedBatch refused;
    refused.lost_count = batch.count();
    refused.problem =
        absl::DataLossError(absl::StrCat("CounterBatch.metric_count: expected ", metric_count, " (metrics of group ",
                                         batch.group_iid(), "), got ", batch.metric_count()));
    return refused;
  }
  const bool misplaced = context.is_other_window(batch.window_id());
  return ForEachCounterSample(batch, [&](const CounterSampleRow& row) {
    context.note_host_time(row.enter_monotonic_ns);
    ++model_->sample_count;
    if (misplaced) {
      ++model_->misplaced_count;
      return;
    }
    // A graph launch has no signature: where a damaged record has both, it is the graph's.
    uint32_t signature = CounterSeries::kNoSignature;
    if (row.graph_exec_id == 0 && row.signature_iid != 0) signature = context.signature_index(row.signature_iid);
    CounterSeries* series = SeriesOf(signature, row.graph_exec_id, row.group_iid, row.values.size());
    if (series == nullptr) {
      ++model_->beyond_limit_count;
      return;
    }
    if ((row.flags & static_cast<uint64_t>(pb::CounterBatch::FLAG_VOID)) == 0) {
      for (const double value : row.values) model_->unavailable_value_count += std::isfinite(value) ? 0 : 1;
    }
    kept_values_ += series->samples.Add(
        row, kept_values_ + row.values.size() + CounterSamples::kOverheadValues <= limits_.kept_values);
  });
}

CounterSeries* CounterImporter::SeriesOf(uint32_t signature, uint64_t graph_exec_id, uint64_t group_iid,
                                         size_t metric_count) {
  const std::tuple key(signature, graph_exec_id, group_iid);
  if (const auto found = series_by_key_.find(key); found != series_by_key_.end()) {
    CounterSeries* series = &model_->series[found->second];
    // A group that was defined again with other metrics: its samples are not those of before.
    return series->samples.metric_count() == metric_count ? series : nullptr;
  }
  if (metric_slots_ + metric_count > limits_.metric_slots) return nullptr;
  metric_slots_ += metric_count;
  series_by_key_.emplace(key, model_->series.size());
  model_->series.push_back({signature, graph_exec_id, group_iid, CounterSamples(metric_count)});
  return &model_->series.back();
}

}  // namespace gx::analysis
