#include "analysis/trace_importer.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "absl/strings/str_cat.h"
#include "analysis/columns.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;
namespace {

// Devices of kernels that name none: not a CUDA ordinal.
constexpr uint64_t kUnknownDevice = UINT64_MAX;

// A kernel that CUPTI 13.0 launches by itself where a range of counters is pushed or popped (seen on an H200: one block
// of one thread, about 80 us, on CUPTI's own stream).
constexpr absl::string_view kCuptiKernel = "WaitNs";

// CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, and CUPTI_ACTIVITY_MEMCPY_KIND_DTOH.
constexpr uint64_t kStreamWaitEvent = 2;
constexpr uint64_t kCopyToHost = 2;

// Settings of the capture that say: no kernel record is to be expected.
bool IsTimingOff(const pb::Header& header) {
  return std::any_of(header.configuration().begin(), header.configuration().end(), [](const pb::Setting& setting) {
    return setting.name() == "GPUEXEC_TIMING" && setting.value() == "off";
  });
}

}  // namespace

TraceImporter::TraceImporter(const ImportOptions& options)
    : options_(options), counters_(&model_.counters), join_(this, &clocks_) {
  model_.dimensions = options.dimensions;
}

void TraceImporter::Import(const pb::Packet& packet) {
  // Pairs and definitions first: what follows in this packet refers to them.
  for (const pb::ClockPair& pair : packet.clock_pair()) {
    clocks_.Add(pair.cupti_ns(), pair.monotonic_ns());
    NoteHostTime(pair.monotonic_ns());
  }
  ImportDefinitions(packet);
  // Ranges before the launches made inside them.
  for (const pb::NvtxEventBatch& batch : packet.nvtx_event_batch()) {
    NoteBatch(ForEachNvtxEvent(batch, [this](const NvtxEventRow& event) {
      ++model_.nvtx_event_count;
      if (options_.dimensions.nvtx) model_.nvtx.Add(event);
    }));
  }
  for (const pb::LaunchBatch& batch : packet.launch_batch()) ImportLaunches(batch);
  for (const pb::KernelBatch& batch : packet.kernel_batch()) ImportKernels(batch);
  for (const pb::MemoryBatch& batch : packet.memory_batch()) ImportMemory(batch);
  for (const pb::SynchronizationBatch& batch : packet.synchronization_batch()) {
    NoteBatch(ForEachSynchronization(batch, [this](const SynchronizationRow& row) {
      ++model_.synchronization_count;
      model_.synchronization_ns += row.duration_ns;
      // The host does not wait in cuStreamWaitEvent.
      if (row.type != kStreamWaitEvent) host_waits_.Add(row.start_ns, row.start_ns + row.duration_ns);
    }));
  }
  for (const pb::OverheadBatch& batch : packet.overhead_batch()) {
    NoteBatch(ForEachOverhead(batch, [this](const OverheadRow& row) {
      ++model_.overhead_count;
      model_.overhead_ns += row.duration_ns;
    }));
  }
  for (const pb::ApiCallBatch& batch : packet.api_call_batch()) {
    NoteBatch(ForEachApiCall(batch, [this](const ApiCallRow& row) { ImportApiCall(row); }));
  }
  for (const pb::CounterBatch& batch : packet.counter_batch()) ImportCounters(batch);
  for (const pb::DeviceSample& sample : packet.device_sample()) ImportSample(sample);
  for (const pb::KernelSummary& summary : packet.kernel_summary()) ImportSummary(summary);
  for (const pb::LaunchSummary& summary : packet.launch_summary()) {
    model_.accounting.summarised_launches += summary.count();
  }
  if (packet.has_stats()) {
    model_.stats.clear();
    for (const pb::Stats::Counter& counter : packet.stats().counter()) {
      model_.stats[static_cast<uint32_t>(counter.id())] = counter.value();
    }
  }
  for (const pb::Diagnostic& diagnostic : packet.diagnostic()) {
    ++model_.diagnostic_count;
    if (model_.diagnostics.size() < kMaxTexts) model_.diagnostics.push_back(diagnostic);
  }
}

void TraceImporter::ImportApiCall(const ApiCallRow& row) {
  auto use = model_.api_uses.find(row.function_iid);
  if (use == model_.api_uses.end()) {
    if (model_.api_uses.size() >= kMaxApiFunctions) {
      ++model_.api_calls_left_out;
      return;
    }
    use = model_.api_uses.emplace(row.function_iid, ApiUse()).first;
  }
  ++use->second.call_count;
  if (row.result != 0) ++use->second.failed_count;
  use->second.total_ns += std::min(row.duration_ns, UINT64_MAX - use->second.total_ns);
  use->second.max_ns = std::max(use->second.max_ns, row.duration_ns);
}

void TraceImporter::ImportDefinitions(const pb::Packet& packet) {
  if (packet.has_header()) {
    if (!model_.header.has_value()) {
      model_.header = packet.header();
      timing_off_ = IsTimingOff(packet.header());
    }
    const pb::ClockPair& start = packet.header().start();
    if (packet.header().has_start()) {
      clocks_.Add(start.cupti_ns(), start.monotonic_ns());
      NoteHostTime(start.monotonic_ns());
    }
  }
  if (packet.has_trailer()) {
    model_.trailer = packet.trailer();
    if (packet.trailer().has_end()) {
      clocks_.Add(packet.trailer().end().cupti_ns(), packet.trailer().end().monotonic_ns());
      NoteHostTime(packet.trailer().end().monotonic_ns());
    }
  }
  for (const pb::Name& name : packet.name()) model_.names[name.iid()] = name.value();
  for (const pb::Device& device : packet.device()) model_.devices[device.device_id()].MergeFrom(device);
  for (const pb::Context& context : packet.context()) model_.contexts[context.context_id()].MergeFrom(context);
  for (const pb::Thread& thread : packet.thread()) model_.thread_names[thread.thread_id()] = thread.name();
  for (const pb::Track& track : packet.track()) model_.tracks.Merge(track.iid(), track);
  for (const pb::Function& function : packet.function()) model_.functions.Merge(function.iid(), function);
  for (const pb::KernelAttributes& attributes : packet.kernel_attributes()) {
    model_.attributes.Merge(attributes.iid(), attributes);
  }
  for (const pb::Signature& signature : packet.signature()) {
    SignatureEntry& entry = model_.signatures[SignatureIndex(signature.iid())];
    entry.definition.MergeFrom(signature);
    entry.defined = true;
  }
  for (const pb::NvtxDomain& domain : packet.nvtx_domain()) model_.nvtx_domains[domain.iid()] = domain.name();
  for (const pb::GraphNode& node : packet.graph_node()) graph_nodes_.Add(node);
  for (const pb::GraphExec& exec : packet.graph_exec()) graph_execs_.Merge(exec.graph_exec_id(), exec);
  for (const pb::Window& window : packet.window()) {
    model_.windows[window.window_id()].MergeFrom(window);
    untimed_spans_stale_ = true;
  }
  for (const pb::RecordGap& gap : packet.record_gap()) {
    // The first definition alone has the clients.
    pb::RecordGap& known = model_.record_gaps[gap.gap_id()];
    const auto clients = known.client();
    known = gap;
    if (known.client().empty()) *known.mutable_client() = clients;
    untimed_spans_stale_ = true;
  }
  for (const pb::ApiFunction& function : packet.api_function()) {
    if (model_.api_functions.size() < kMaxApiFunctions || model_.api_functions.contains(function.iid())) {
      model_.api_functions[function.iid()] = function;
    }
  }
  counters_.ImportDefinitions(packet);
  for (const pb::Module& module : packet.module()) {
    if (module.loaded_monotonic_ns() == 0) continue;
    const auto [place, inserted] = module_loads_.try_emplace(module.module_id(), module.loaded_monotonic_ns());
    if (!inserted && place->second == module.loaded_monotonic_ns()) continue;
    place->second = module.loaded_monotonic_ns();
    const std::optional<uint64_t> loaded_ns = clocks_.ToCupti(module.loaded_monotonic_ns());
    if (!loaded_ns.has_value()) continue;
    module_load_cupti_ns_.push_back(*loaded_ns);
    // A module belongs to a context, which the trace does not name: every device is taken to be concerned.
    for (auto& [device_id, activity] : timelines_) activity->timeline.AddModuleLoad(*loaded_ns);
  }
}

void TraceImporter::ImportLaunches(const pb::LaunchBatch& batch) {
  const auto window = model_.windows.find(batch.window_id());
  if (batch.window_id() != 0 && window == model_.windows.end()) CountUndefined("window");
  // Unknown windows are taken for timing windows: a missing kernel is better reported than overlooked.
  const bool known = window != model_.windows.end();
  const bool timing_window = !known || window->second.kind() == pb::Window::KIND_TIMING ||
                             window->second.kind() == pb::Window::KIND_UNSPECIFIED;
  const bool timed = timing_window && !timing_off_;
  const bool counted = known && window->second.kind() == pb::Window::KIND_COUNTERS;
  Accounting& accounting = model_.accounting;
  NoteBatch(ForEachLaunch(batch, [&](const LaunchRow& row) {
    NoteHostTime(row.enter_monotonic_ns);
    model_.first_launch_ns = std::min(model_.first_launch_ns, row.enter_monotonic_ns);
    model_.last_launch_ns = std::max(model_.last_launch_ns, row.enter_monotonic_ns);
    if (row.result != 0) {
      ++accounting.refused_launches;
      return;
    }
    LaunchFacts launch;
    launch.enter_monotonic_ns = row.enter_monotonic_ns;
    launch.correlation_id = row.correlation_id;
    launch.window_id = batch.window_id();
    launch.timed = timed;
    if (row.graph_exec_id != 0) {
      ++accounting.graph_launches;
      // Graphs that were instantiated before the capture are not defined: their replays are not checked.
      launch.graph_exec = graph_execs_.IndexOf(row.graph_exec_id);
      const pb::GraphExec& exec = graph_execs_.at(launch.graph_exec);
      if (exec.graph_exec_id() != 0 && !exec.has_conditional_nodes()) {
        const auto clamped = [](uint64_t count) { return static_cast<uint32_t>(std::min<uint64_t>(count, kNone - 1)); };
        launch.min_kernel_count = clamped(exec.kernel_node_count());
        launch.max_kernel_count = clamped(uint64_t{launch.min_kernel_count} + clamped(exec.undescribed_node_count()));
      }
    } else {
      ++accounting.launches;
      if (row.signature_iid != 0) {
        launch.signature = SignatureIndex(row.signature_iid);
        SignatureEntry& entry = model_.signatures[launch.signature];
        if (!entry.defined) CountUndefined("signature");
        ++entry.launch_count;
        if (!timed) ++entry.untimed_launch_count;
      }
    }
    if (!timed) ++accounting.untimed_launches;
    if (counted) ++accounting.counter_window_launches;
    if (options_.dimensions.nvtx) launch.nvtx_path = model_.nvtx.PathAt(row.thread_id, row.enter_monotonic_ns);
    join_.AddLaunch(launch);
  }));
}

void TraceImporter::ImportKernels(const pb::KernelBatch& batch) {
  Accounting& accounting = model_.accounting;
  NoteBatch(ForEachKernel(batch, [&](const KernelRow& row) {
    KernelFacts kernel;
    switch (row.timing) {
      case pb::KernelBatch::TIMING_MISSING:
        ++accounting.kernels_untimed;
        break;
      case pb::KernelBatch::TIMING_UNFINISHED:
        ++accounting.kernels_unfinished;
        break;
      case pb::KernelBatch::TIMING_INVALID:
        ++accounting.kernels_invalid;
        break;
      case pb::KernelBatch::TIMING_COMPLETE:
        ++accounting.kernels_complete;
        break;
      default:
        // A timing class of a later format: its times mean something that is not known here.
        ++accounting.kernels_untimed;
        break;
    }
    kernel.timing = static_cast<uint32_t>(row.timing);
    kernel.start_ns = row.start_ns;
    kernel.end_ns = row.end_ns;
    kernel.correlation_id = row.correlation_id;
    kernel.graph_node_id = row.graph_node_id;
    kernel.track = TrackIndex(row.track_iid);
    kernel.attributes = AttributesIndex(row.attributes_iid);
    join_.AddKernel(kernel);
  }));
}

void TraceImporter::OnJoinedKernel(const KernelFacts& kernel, const LaunchFacts* launch) {
  Accounting& accounting = model_.accounting;
  if (launch == nullptr && IsOfCupti(kernel)) {
    ++accounting.kernels_of_cupti;
    return;
  }
  uint32_t signature = kNone;
  GraphNodes::Capture capture;
  if (kernel.graph_node_id != 0) {
    const GraphNodes::Resolved resolved =
        graph_nodes_.Resolve(kernel.graph_node_id, launch == nullptr ? UINT64_MAX : launch->enter_monotonic_ns);
    if (resolved.signature_iid != 0) signature = SignatureIndex(resolved.signature_iid);
    capture = resolved.capture;
  } else if (launch != nullptr && !launch->is_graph()) {
    signature = launch->signature;
  }
  if (launch != nullptr) {
    ++accounting.kernels_joined;
    if (launch->is_graph()) ++accounting.kernels_joined_to_graphs;
  } else if (kernel.attributes != kNone && model_.attributes.at(kernel.attributes).device_launched()) {
    ++accounting.kernels_device_launched;
  } else {
    ++accounting.kernels_without_launch;
  }
  if (signature != kNone && !model_.signatures[signature].defined) {
    // A launch's own use was counted when the launch came.
    if (kernel.graph_node_id != 0) CountUndefined("signature");
    signature = kNone;
  }
  const uint64_t device_id = DeviceOf(kernel, signature);
  if (signature == kNone) {
    ++accounting.kernels_signature_from_activity;
    signature = ActivitySignature(kernel.attributes, device_id);
  } else if (kernel.attributes != kNone) {
    SignatureEntry& entry = model_.signatures[signature];
    if (entry.attributes != kernel.attributes) {
      FlushAttributes(signature);
      entry.attributes = kernel.attributes;
    }
    ++entry.same_attributes_count;
  }

  CellKey key;
  if (options_.dimensions.signature) key.signature = signature;
  if (options_.dimensions.track) key.track = kernel.track;
  if (options_.dimensions.nvtx) {
    if (kernel.graph_node_id != 0 && capture.thread_id != 0) {
      const auto [place, inserted] = capture_path_by_node_.try_emplace(kernel.graph_node_id, NvtxRanges::kNoRange);
      if (inserted) place->second = model_.nvtx.PathAt(capture.thread_id, capture.created_monotonic_ns);
      key.nvtx_path = place->second;
      key.nvtx_at_capture = key.nvtx_path != NvtxRanges::kNoRange;
    } else if (launch != nullptr && kernel.graph_node_id == 0) {
      key.nvtx_path = launch->nvtx_path;
    }
  }
  const uint32_t cell_index = CellOf(key);
  Cell& cell = model_.cells[cell_index];
  ++cell.kernel_count;
  switch (kernel.timing) {
    case pb::KernelBatch::TIMING_COMPLETE:
      short_durations_.Add(kernel.end_ns - kernel.start_ns);
      TimelineOf(device_id)->Add({.start_ns = kernel.start_ns,
                                  .end_ns = kernel.end_ns,
                                  .cell = cell_index,
                                  .signature = signature,
                                  .is_graph_node = kernel.graph_node_id != 0,
                                  .lane = LaneOf(kernel.track, launch),
                                  .launch_monotonic_ns = launch == nullptr ? 0 : launch->enter_monotonic_ns});
      break;
    case pb::KernelBatch::TIMING_UNFINISHED:
      ++cell.unfinished_count;
      break;
    case pb::KernelBatch::TIMING_INVALID:
      ++cell.invalid_count;
      break;
    default:
      ++cell.untimed_count;
      break;
  }
}

// Without a launch, and only where there are counters: a program's own kernel of that name has a launch.
bool TraceImporter::IsOfCupti(const KernelFacts& kernel) const {
  if (model_.counters.groups.empty() || kernel.graph_node_id != 0 || kernel.attributes == kNone) return false;
  const pb::KernelAttributes& record = model_.attributes.at(kernel.attributes);
  const auto is_one = [](uint64_t x, uint64_t y, uint64_t z) { return x <= 1 && y <= 1 && z <= 1; };
  return is_one(record.grid_x(), record.grid_y(), record.grid_z()) &&
         is_one(record.block_x(), record.block_y(), record.block_z()) &&
         model_.NameOf(record.name_iid()) == kCuptiKernel;
}

void TraceImporter::OnSettledLaunch(const LaunchFacts& launch, uint32_t kernel_count) {
  if (!launch.timed) return;
  Accounting& accounting = model_.accounting;
  if (!launch.is_graph()) {
    if (kernel_count > 0) return;
    ++accounting.launches_without_kernel;
    if (launch.signature != kNone) ++model_.signatures[launch.signature].launches_without_kernel;
  } else if (!launch.is_graph_known()) {
    ++accounting.replays_unchecked;
  } else if (kernel_count < launch.min_kernel_count) {
    ++accounting.replays_short;
    accounting.replay_kernels_missing += launch.min_kernel_count - kernel_count;
  } else if (kernel_count > launch.max_kernel_count) {
    ++accounting.replays_long;
  } else {
    ++accounting.replays_complete;
  }
}

void TraceImporter::OnOrderedKernel(const TimelineItem& kernel, TimelineClass timeline_class, bool first_after_load) {
  const uint64_t duration_ns = kernel.end_ns - kernel.start_ns;
  Cell& cell = model_.cells[kernel.cell];
  const bool warm_up = ++model_.signatures[kernel.signature].ordered_count <= kWarmUpLaunches || first_after_load;
  if (timeline_class == TimelineClass::kOverlapped) ++cell.overlapping_count;
  if (timeline_class == TimelineClass::kLate) {
    // Nobody's neighbour: its place in the order is not known.
    ++cell.late_count;
    cell.not_clean.Add(duration_ns);
    return;
  }
  const Lane& lane = lanes_[kernel.lane];
  const size_t place = lane.track == kNone ? 0 : size_t{lane.track} + 1;
  if (place >= neighbours_.size()) neighbours_.resize(model_.tracks.size() + 1);
  Neighbour& before = neighbours_[place];
  bool after_switch = lane.untimed;
  if (lane.window_id != 0) {
    // The first on its stream: a switch came before, unless this is the run's first window.
    const bool other_window = before.window_id != 0
                                  ? before.window_id != lane.window_id
                                  : !model_.windows.empty() && model_.windows.begin()->first < lane.window_id;
    Settle(&before, before.window_id != 0 && other_window);
    if (before.window_id == lane.window_id) NoteNeighbours(before.signature, kernel.signature);
    before.window_id = lane.window_id;
    after_switch = after_switch || other_window;
  } else {
    Settle(&before, false);
    NoteNeighbours(before.signature, kernel.signature);
  }
  before.signature = lane.track == kNone ? kNone : kernel.signature;
  if (warm_up) {
    ++cell.warm_up_count;
  } else if (timeline_class == TimelineClass::kOverlapped) {
    ++cell.overlapped_count;
  } else if (after_switch) {
    ++cell.next_to_switch_count;
  } else {
    before.waiting = true;
    before.cell = kernel.cell;
    before.duration_ns = duration_ns;
    return;
  }
  cell.not_clean.Add(duration_ns);
}

void TraceImporter::NoteNeighbours(uint32_t before, uint32_t after) {
  if (before == kNone) return;
  const auto found = model_.neighbours.find({before, after});
  if (found != model_.neighbours.end()) {
    ++found->second;
  } else if (model_.neighbours.size() < kMaxNeighbours) {
    model_.neighbours.emplace(std::pair(before, after), 1);
  } else {
    ++model_.neighbours_left_out;
  }
}

void TraceImporter::Activity::OnGap(const TimelineItem& before, const TimelineItem& after) {
  TraceImporter& importer = *importer_;
  if (importer.untimed_spans_stale_) {
    importer.untimed_spans_ = importer.UntimedSpans();
    importer.untimed_spans_stale_ = false;
  }
  Gap gap{.begin_ns = before.end_ns,
          .end_ns = after.start_ns,
          .after_copy_to_host = before.is_copy_to_host,
          .before_copy = after.is_copy,
          .before_graph_node = after.is_graph_node,
          .inside_launch = after.is_graph_node && before.is_graph_node && after.launch_monotonic_ns != 0 &&
                           after.launch_monotonic_ns == before.launch_monotonic_ns};
  if (after.launch_monotonic_ns != 0) gap.launch_ns = importer.clocks_.ToCupti(after.launch_monotonic_ns);
  gaps.Add(gap, importer.host_waits_, importer.untimed_spans_);
}

void TraceImporter::Settle(Neighbour* neighbour, bool before_switch) {
  if (!neighbour->waiting) return;
  neighbour->waiting = false;
  Cell& cell = model_.cells[neighbour->cell];
  if (before_switch) ++cell.next_to_switch_count;
  (before_switch ? cell.not_clean : cell.clean).Add(neighbour->duration_ns);
}

void TraceImporter::ImportMemory(const pb::MemoryBatch& batch) {
  NoteBatch(ForEachMemory(batch, [&](const MemoryRow& row) {
    CopyTotals& totals =
        model_.copies[{static_cast<uint32_t>(row.kind), static_cast<uint32_t>(std::min<uint64_t>(row.copy_kind, 255))}];
    ++totals.count;
    totals.size_bytes += row.size_bytes;
    totals.total_ns += row.duration_ns;
    const uint32_t track = TrackIndex(row.track_iid);
    if (track == kNone || row.start_ns == 0) return;
    TimelineOf(model_.tracks.at(track).device_id())
        ->Add({.start_ns = row.start_ns,
               .end_ns = row.end_ns,
               .is_copy = true,
               .is_copy_to_host = row.kind == pb::MemoryBatch::KIND_MEMCPY && row.copy_kind == kCopyToHost,
               .is_graph_node = row.graph_node_id != 0});
  }));
}

void TraceImporter::ImportCounters(const pb::CounterBatch& batch) {
  const auto signature_index = [this](uint64_t iid) {
    const uint32_t index = SignatureIndex(iid);
    if (!model_.signatures[index].defined) CountUndefined("signature");
    return index;
  };
  const auto is_other_window = [this](uint64_t window_id) {
    const auto window = model_.windows.find(window_id);
    return window != model_.windows.end() && window->second.kind() != pb::Window::KIND_COUNTERS &&
           window->second.kind() != pb::Window::KIND_UNSPECIFIED;
  };
  const auto count_undefined = [this](const char* what) { CountUndefined(what); };
  const auto note_host_time = [this](uint64_t monotonic_ns) { NoteHostTime(monotonic_ns); };
  const CounterImporter::Context context{signature_index, is_other_window, count_undefined, note_host_time};
  NoteBatch(counters_.ImportSamples(batch, context));
}

void TraceImporter::ImportSample(const pb::DeviceSample& sample) {
  NoteHostTime(sample.monotonic_ns());
  ClockSamples& samples = model_.clocks_by_device[sample.device_id()];
  ++samples.sample_count;
  if (sample.has_sm_clock_hz()) samples.sm_clock_hz.Add(sample.sm_clock_hz());
  if (sample.has_memory_clock_hz()) samples.memory_clock_hz.Add(sample.memory_clock_hz());
  if (sample.has_power_milliwatts()) samples.power_milliwatts.Add(sample.power_milliwatts());
  if (sample.has_temperature_celsius()) {
    samples.temperature_celsius.Add(static_cast<uint64_t>(std::max<int64_t>(0, sample.temperature_celsius())));
  }
  if (!sample.has_throttle_reasons_mask()) return;
  ++samples.throttle_sample_count;
  for (uint64_t mask = sample.throttle_reasons_mask(); mask != 0; mask &= mask - 1) {
    ++samples.throttle_count_by_bit[static_cast<size_t>(std::countr_zero(mask))];
  }
}

void TraceImporter::ImportSummary(const pb::KernelSummary& summary) {
  const uint32_t attributes = AttributesIndex(summary.attributes_iid());
  const auto [place, inserted] = summary_by_key_.try_emplace(std::pair(attributes, summary.device_id()),
                                                             static_cast<uint32_t>(model_.summarised.size()));
  if (inserted) {
    model_.summarised.emplace_back();
    model_.summarised.back().attributes = attributes;
    model_.summarised.back().device_id = summary.device_id();
  }
  SummarisedKernels& total = model_.summarised[place->second];
  total.count += summary.count();
  total.total_ns += summary.total_ns();
  total.min_ns = std::min(total.min_ns, summary.min_ns());
  total.max_ns = std::max(total.max_ns, summary.max_ns());
  if (summary.begin_ns() > 0) summaries_begin_ns_ = std::min(summaries_begin_ns_, summary.begin_ns());
  NoteBatch(ForEachDurationBucket(
      summary, [&total](const DurationBucketRow& row) { total.buckets.Add(row.bucket, row.count); }));
  model_.accounting.summarised_kernels += summary.count();
}

TraceModel TraceImporter::Finish() {
  join_.Finish();
  untimed_spans_ = UntimedSpans();
  untimed_spans_stale_ = false;
  for (auto& [device_id, device] : timelines_) {
    DeviceTimeline& timeline = device->timeline;
    timeline.Finish();
    DeviceActivity& activity = model_.activity_by_device[device_id];
    activity = {timeline.kernel_busy_ns(), timeline.copy_busy_ns(), timeline.busy_ns(),   timeline.first_start_ns(),
                timeline.last_end_ns(),    /*untimed_ns=*/0,        device->gaps.Finish()};
    for (const auto& [begin_ns, end_ns] : untimed_spans_) {
      const uint64_t from_ns = std::max(begin_ns, activity.first_start_ns);
      const uint64_t to_ns = std::min(end_ns, activity.last_end_ns);
      if (to_ns > from_ns) activity.untimed_ns += to_ns - from_ns;
    }
    model_.accounting.kernels_late += timeline.late_count();
  }
  for (Neighbour& neighbour : neighbours_) {
    const bool others_follow = !model_.windows.empty() && model_.windows.rbegin()->first > neighbour.window_id;
    Settle(&neighbour, neighbour.window_id != 0 && others_follow);
  }
  for (uint32_t i = 0; i < model_.signatures.size(); ++i) FlushAttributes(i);
  model_.accounting.repeated_correlation_ids = join_.repeated_id_count();
  model_.clock_pair_count = clocks_.pair_count();
  model_.clock_step_ns = EstimateClockStep(short_durations_.Distinct());
  if (summaries_begin_ns_ != UINT64_MAX) {
    model_.summaries_begin_monotonic_ns = clocks_.ToMonotonic(summaries_begin_ns_).value_or(0);
  }
  model_.module_count = module_loads_.size();
  model_.graph_exec_count = graph_execs_.size();
  NoteCountedGraphs();
  model_.graph_node_count = graph_nodes_.node_count();
  return std::move(model_);
}

std::vector<std::pair<uint64_t, uint64_t>> TraceImporter::UntimedSpans() const {
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const auto& [id, window] : model_.windows) {
    if (window.kind() != pb::Window::KIND_COUNTERS && window.kind() != pb::Window::KIND_OFF) continue;
    const uint64_t end_ns = window.has_end_monotonic_ns() ? window.end_monotonic_ns() : model_.last_monotonic_ns;
    const std::optional<uint64_t> from_ns = clocks_.ToCupti(window.begin_monotonic_ns());
    const std::optional<uint64_t> to_ns = clocks_.ToCupti(end_ns);
    if (from_ns.has_value() && to_ns.has_value()) spans.emplace_back(*from_ns, *to_ns);
  }
  for (const auto& [id, gap] : model_.record_gaps) {
    if (gap.kernel_count() == 0) continue;
    const std::optional<uint64_t> from_ns = clocks_.ToCupti(gap.begin_monotonic_ns());
    const std::optional<uint64_t> to_ns =
        clocks_.ToCupti(gap.has_end_monotonic_ns() ? gap.end_monotonic_ns() : model_.last_monotonic_ns);
    if (from_ns.has_value() && to_ns.has_value() && *from_ns < *to_ns) spans.emplace_back(*from_ns, *to_ns);
  }
  return MergedSpans(std::move(spans));
}

void TraceImporter::NoteCountedGraphs() {
  // Executable graph -> time of its last sample.
  absl::flat_hash_map<uint64_t, uint64_t> sampled_ns;
  for (const CounterSeries& series : model_.counters.series) {
    if (!series.is_graph()) continue;
    uint64_t& at_ns = sampled_ns[series.graph_exec_id];
    at_ns = std::max(at_ns, series.samples.last_monotonic_ns());
    const pb::GraphExec* exec = graph_execs_.Get(series.graph_exec_id);
    if (exec != nullptr) model_.counted_graphs[series.graph_exec_id] = *exec;
  }
  if (sampled_ns.empty()) return;
  graph_nodes_.ForEach([&](uint64_t node_id, uint64_t graph_id) {
    const auto sampled = sampled_ns.find(graph_id);
    if (sampled == sampled_ns.end()) return;
    const uint64_t at_ns = sampled->second == 0 ? UINT64_MAX : sampled->second;
    const uint64_t signature_iid = graph_nodes_.Resolve(node_id, at_ns).signature_iid;
    // Without parameters it need not be a kernel: GraphExec counts those.
    if (signature_iid == 0) return;
    const uint32_t index = signature_by_iid_.Find(signature_iid);
    ++model_.counted_graph_nodes[graph_id][index];
  });
}

void TraceImporter::FlushAttributes(uint32_t signature) {
  SignatureEntry& entry = model_.signatures[signature];
  if (entry.same_attributes_count == 0) return;
  model_.kernels_by_signature_and_attributes[{signature, entry.attributes}] += entry.same_attributes_count;
  entry.same_attributes_count = 0;
}

void TraceImporter::NoteBatch(const DecodedBatch& decoded) {
  if (decoded.problem.ok()) return;
  model_.undecodable_record_count += decoded.lost_count;
  if (model_.undecodable_reasons.size() < kMaxTexts) {
    model_.undecodable_reasons.emplace_back(decoded.problem.message());
  }
}

void TraceImporter::NoteHostTime(uint64_t monotonic_ns) {
  if (monotonic_ns == 0) return;
  model_.first_monotonic_ns = std::min(model_.first_monotonic_ns, monotonic_ns);
  model_.last_monotonic_ns = std::max(model_.last_monotonic_ns, monotonic_ns);
}

void TraceImporter::CountUndefined(absl::string_view what) { ++model_.undefined_count[std::string(what)]; }

uint32_t TraceImporter::SignatureIndex(uint64_t iid) {
  uint32_t index = signature_by_iid_.Find(iid);
  if (index == kNone) {
    index = static_cast<uint32_t>(model_.signatures.size());
    model_.signatures.emplace_back();
    signature_by_iid_.Set(iid, index);
  }
  return index;
}

uint32_t TraceImporter::ActivitySignature(uint32_t attributes, uint64_t device_id) {
  const auto [place, inserted] = signature_by_attributes_.try_emplace(std::pair(attributes, device_id),
                                                                      static_cast<uint32_t>(model_.signatures.size()));
  if (!inserted) return place->second;
  SignatureEntry& entry = model_.signatures.emplace_back();
  entry.from_activity = true;
  entry.attributes = attributes;
  entry.definition.set_device_id(device_id);
  if (attributes == kNone) return place->second;
  const pb::KernelAttributes& record = model_.attributes.at(attributes);
  entry.defined = true;
  entry.definition.set_grid_x(record.grid_x());
  entry.definition.set_grid_y(record.grid_y());
  entry.definition.set_grid_z(record.grid_z());
  entry.definition.set_block_x(record.block_x());
  entry.definition.set_block_y(record.block_y());
  entry.definition.set_block_z(record.block_z());
  entry.definition.set_cluster_x(record.cluster_x());
  entry.definition.set_cluster_y(record.cluster_y());
  entry.definition.set_cluster_z(record.cluster_z());
  entry.definition.set_dynamic_shared_memory_bytes(record.dynamic_shared_memory_bytes());
  entry.definition.set_cooperative(record.launch_type() == 1 || record.launch_type() == 2);
  return place->second;
}

uint32_t TraceImporter::TrackIndex(uint64_t iid) {
  if (iid == 0) return kNone;
  const uint32_t index = model_.tracks.Find(iid);
  if (index == kNone) CountUndefined("track");
  return index;
}

uint32_t TraceImporter::AttributesIndex(uint64_t iid) {
  if (iid == 0) return kNone;
  const uint32_t index = model_.attributes.Find(iid);
  if (index == kNone) CountUndefined("kernel attributes");
  return index;
}

uint64_t TraceImporter::DeviceOf(const KernelFacts& kernel, uint32_t signature) const {
  if (kernel.track != kNone) return model_.tracks.at(kernel.track).device_id();
  if (signature != kNone) return model_.signatures[signature].definition.device_id();
  return kUnknownDevice;
}

uint32_t TraceImporter::LaneOf(uint32_t track, const LaunchFacts* launch) {
  const Lane lane{track, launch == nullptr ? 0 : launch->window_id, launch != nullptr && !launch->timed};
  if (last_lane_ < lanes_.size() && lanes_[last_lane_] == lane) return last_lane_;
  const auto [place, inserted] = lane_by_key_.try_emplace(lane, static_cast<uint32_t>(lanes_.size()));
  if (inserted) lanes_.push_back(lane);
  last_lane_ = place->second;
  return last_lane_;
}

DeviceTimeline* TraceImporter::TimelineOf(uint64_t device_id) {
  if (last_timeline_ != nullptr && device_id == last_device_id_) return last_timeline_;
  std::unique_ptr<Activity>& activity = timelines_[device_id];
  if (activity == nullptr) {
    activity = std::make_unique<Activity>(this);
    for (const uint64_t loaded_ns : module_load_cupti_ns_) activity->timeline.AddModuleLoad(loaded_ns);
  }
  last_device_id_ = device_id;
  last_timeline_ = &activity->timeline;
  return last_timeline_;
}

uint32_t TraceImporter::CellOf(const CellKey& key) {
  const bool by_signature_only = key.signature != kNone && key.track == kNone && key.nvtx_path == NvtxRanges::kNoRange;
  if (by_signature_only) {
    if (key.signature >= cell_by_signature_.size()) cell_by_signature_.resize(model_.signatures.size(), kNone);
    if (const uint32_t known = cell_by_signature_[key.signature]; known != kNone) return known;
  }
  CellKey wanted = key;
  const auto found = cell_by_key_.find(wanted);
  if (found != cell_by_key_.end()) return found->second;
  if (model_.cells.size() >= options_.max_cells) {
    model_.cells_limited = true;
    wanted = CellKey{};
    const auto rest = cell_by_key_.find(wanted);
    if (rest != cell_by_key_.end()) return rest->second;
  }
  const auto index = static_cast<uint32_t>(model_.cells.size());
  model_.cells.emplace_back().key = wanted;
  cell_by_key_.emplace(wanted, index);
  if (by_signature_only && wanted == key) cell_by_signature_[key.signature] = index;
  return index;
}

absl::StatusOr<TraceModel> ImportTrace(TraceReader* reader, const ImportOptions& options,
                                       absl::FunctionRef<void(uint64_t, uint64_t)> progress) {
  TraceImporter importer(options);
  pb::Packet packet;
  while (true) {
    const absl::StatusOr<bool> more = reader->Next(&packet);
    if (!more.ok()) return more.status();
    if (!*more) break;
    importer.Import(packet);
    progress(reader->offset_bytes(), reader->size_bytes());
  }
  TraceModel model = importer.Finish();
  model.path = reader->path();
  model.size_bytes = reader->size_bytes();
  model.frame_count = reader->frames_read();
  model.missing_frame_count = reader->missing_frames();
  model.damages = reader->damages();
  model.damage_count = reader->damage_count();
  model.sequence_gap_count = reader->sequence_gap_count();
  model.damaged_bytes = reader->damaged_bytes();
  return model;
}

}  // namespace gx::analysis
