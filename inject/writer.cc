#include "inject/writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "inject/boundary.h"
#include "inject/clock.h"
#include "inject/import_patch.h"
#include "inject/log.h"
#include "inject/nvtx_handler.h"

namespace gx::inject {
namespace {

// A launch is in the file after half of a second at most, so that a killed process loses less than a second.
constexpr uint64_t kFramePeriodNs = 500'000'000;
// A frame is also written when it has grown to this size: the reader's memory is bounded by a packet.
constexpr size_t kFrameBytes = size_t{1} << 20;
// How often queues are looked at while nobody wakes us: at 5 us a launch a large queue (8,700 launches) fills in 44 ms,
// and it wakes us when half full.
constexpr uint64_t kIdleWaitNs = 20'000'000;
constexpr uint64_t kThreadCheckPeriodNs = 1'000'000'000;
constexpr uint64_t kTrimPeriodNs = 60'000'000'000;
constexpr uint64_t kSummaryPeriodNs = 10'000'000'000;
// Buffers decoded before queues are looked at again: queues are smaller than buffers.
constexpr int kBuffersPerRound = 4;
constexpr size_t kInboxRoom = 256;
constexpr size_t kCountersRoom = 1024;
constexpr size_t kWaitingBytes = size_t{64} << 10;
// A full disk or an unwritable folder may be mended while the program runs: look again this often, and keep so much.
constexpr uint64_t kOpenRetryNs = 1'000'000'000;
constexpr size_t kUnwrittenLimitBytes = size_t{16} << 20;

// Changes whenever a counter does; but the bytes written change with every frame.
uint64_t SumWithoutBytesWritten(const SelfStats& stats) {
  uint64_t sum = 0;
  for (uint32_t id = 0; id < SelfStats::kSize; ++id) {
    if (id != static_cast<uint32_t>(StatId::kBytesWritten)) sum += stats.Get(static_cast<StatId>(id));
  }
  return sum;
}

// What is known to be lost by other reasons: then records that do not come are no riddle.
uint64_t KnownLosses() noexcept {
  uint64_t count = 0;
  for (const StatId stat : {StatId::kActivityKindsRefused, StatId::kBuffersRefused, StatId::kRecordsDroppedByCupti,
                            StatId::kRecordsDiscarded, StatId::kFinalFlushTimedOut, StatId::kLaunchesInFlightAtExit,
                            StatId::kCuptiErrors}) {
    count += Stats().Get(stat);
  }
  return count;
}

template <typename Event>
bool ReadEvent(const uint8_t* data, uint32_t bytes, Event* event) {
  if (bytes < sizeof(Event)) return false;
  std::memcpy(event, data, sizeof(Event));
  return true;
}

// What launches and graph launches have in common.
template <typename Event>
LaunchRecord MakeLaunch(uint32_t thread_id, const Event& event, uint64_t track_iid) {
  LaunchRecord record;
  record.thread_id = thread_id;
  record.window_id = event.window_id;
  record.enter_monotonic_ns = event.enter_monotonic_ns;
  record.correlation_id = event.correlation_id;
  record.track_iid = track_iid;
  record.result = event.result;
  return record;
}

}  // namespace

uint32_t DurationBucket(uint64_t duration_ns) {
  if (duration_ns <= 1) return 0;
  // Rounding to double makes 2^64 of the largest durations.
  return std::min(511u, static_cast<uint32_t>(std::floor(8.0 * std::log2(static_cast<double>(duration_ns)))));
}

Writer::Writer(const Parts& parts, HeaderRecord header)
    : parts_(parts),
      header_(std::move(header)),
      interner_(&encoder_, parts.functions),
      api_functions_(parts.cupti, &encoder_) {
  if (parts_.cupti != nullptr) decoder_.emplace(parts_.cupti);
  // The two vectors change places and keep their room: a program that switches a region on and off (a callback) does
  // not allocate here.
  inbox_.reserve(kInboxRoom);
  inbox_read_.reserve(kInboxRoom);
  last_frame_ns_ = MonotonicNs();
  last_summary_ns_ = last_frame_ns_;
  if (header_.start.cupti_ns != 0) timed_launches_.SetClocks(header_.start.cupti_ns, header_.start.monotonic_ns);
}

void Writer::Post(InboxItem item) {
  bool half_full = false;
  {
    const std::lock_guard<std::mutex> lock(inbox_mutex_);
    if (inbox_.size() == kInboxRoom) {
      Stats().Add(StatId::kNotesDropped);
      return;
    }
    inbox_.push_back(std::move(item));
    half_full = inbox_.size() == kInboxRoom / 2;
  }
  // A program that switches recording on and off around every kernel: some 600 notes in the time that the thread
  // sleeps.
  if (half_full) Wake();
}

void Writer::PostCounters(CounterItem item) {
  {
    const std::lock_guard<std::mutex> lock(counters_mutex_);
    if (counters_.size() < kCountersRoom) {
      counters_.push_back(std::move(item));
      return;
    }
  }
  if (const auto* values = std::get_if<CounterValuesItem>(&item)) {
    Stats().Add(StatId::kCounterSamplesDropped, values->ranges.size());
  } else {
    Stats().Add(StatId::kNotesDropped);
  }
}

void Writer::Wake() noexcept { parts_.queues->half_full().Signal(); }

uint32_t Writer::RequestDrain() noexcept {
  const uint32_t ticket = drain_requested_.fetch_add(1, std::memory_order_acq_rel) + 1;
  Wake();
  return ticket;
}

void Writer::Finish(uint32_t reason, const ClockPairRecord& end) noexcept {
  finish_reason_ = reason;
  finish_end_ = end;
  finish_.store(true, std::memory_order_release);
  Wake();
}

void Writer::Run() {
  while (true) {
    const uint32_t seen = parts_.queues->half_full().count();
    const uint32_t drain_requested = drain_requested_.load(std::memory_order_acquire);
    const bool finish = finish_.load(std::memory_order_acquire);
    DrainInbox();
    TakeCounters();  // Before the queues: the launches that they are of are in them already.
    DrainQueues();
    DrainCounters();
    CountNewExecs();
    DrainBuffers();
    if (!finish) WatchRecords(false);
    std::vector<NewFunction> new_functions = interner_.TakeNewFunctions();
    for (const NewFunction& function : new_functions) {
      if (parts_.functions->Get(function.function_index).name == nullptr) {
        unnamed_functions_.emplace(function.iid, function.function_index);
      }
    }
    parts_.prober->Ask(new_functions, interner_.TakeNewSignatures());
    if (drain_requested != drain_marked_) {
      parts_.prober->Mark(drain_requested);
      drain_marked_ = drain_requested;
    }
    DrainAnswers();
    if (finish) break;
    WriteFrameIfDue(false);
    const uint64_t now_ns = MonotonicNs();
    if (now_ns - last_thread_check_ns_ >= kThreadCheckPeriodNs) {
      parts_.queues->CollectEndedThreads();
      for (const WindowClocksRecord& clocks : window_clocks_.TakeClosed()) encoder_.AddWindowClocks(clocks);
      last_thread_check_ns_ = now_ns;
      if (now_ns - last_trim_ns_ >= kTrimPeriodNs) {
        (void)parts_.buffers->TrimIdle();
        last_trim_ns_ = now_ns;
      }
    }
    parts_.queues->half_full().WaitFor(seen, kIdleWaitNs);
  }
  WatchRecords(true);
  samples_.EndAll();
  CountLostSamples();
  for (const WindowClocksRecord& clocks : window_clocks_.TakeAll()) encoder_.AddWindowClocks(clocks);
  AddSummaries();
  encoder_.SetTrailer(finish_reason_, finish_end_);
  WriteFrameIfDue(true);
  file_.Close();
  finished_.store(true, std::memory_order_release);
}

void Writer::WriteReasonOnly(uint32_t reason, const ClockPairRecord& end) {
  DrainInbox();
  TakeCounters();
  DrainCounters();
  work_seen_ = true;
  encoder_.SetTrailer(reason, end);
  WriteFrameIfDue(true);
  file_.Close();
  finished_.store(true, std::memory_order_release);
}

void Writer::DrainQueues() {
  parts_.queues->ForEach([this](ThreadState& thread) {
    const uint32_t thread_id = thread.thread_id.load(std::memory_order_relaxed);
    thread.queue.Drain(
        [&](EventType type, const uint8_t* data, uint32_t bytes) { OnEvent(thread_id, type, data, bytes); });
    if (encoder_.PendingBytes() >= kFrameBytes) WriteFrameIfDue(false);
  });
}

void Writer::DrainBuffers() {
  if (!decoder_) return;
  CompletedBuffer buffer;
  for (int i = 0;
       (finish_.load(std::memory_order_relaxed) || i < kBuffersPerRound) && parts_.buffers->NextCompleted(&buffer);
       ++i) {
    interner_.ForgetNamePointers();
    if (buffer.valid_bytes != 0 && !decoder_->Decode(buffer.data, buffer.valid_bytes, this)) {
      Stats().Add(StatId::kCuptiErrors);
    }
    TellTimes();
    CountDropped(buffer.context, buffer.stream_id);
    parts_.buffers->Release(buffer.data);
    if (encoder_.PendingBytes() >= kFrameBytes) WriteFrameIfDue(false);
  }
}

// A process that initialises CUDA and then launches nothing for hours: its clocks alone must not make a file. The
// header has the first reading, and readings go on with the first launch.
bool Writer::WaitsTooLong() const { return !work_seen_ && encoder_.PendingBytes() > kWaitingBytes; }

void Writer::DrainInbox() {
  {
    const std::lock_guard<std::mutex> lock(inbox_mutex_);
    inbox_.swap(inbox_read_);
  }
  for (const InboxItem& item : inbox_read_) {
    if (const auto* pair = std::get_if<ClockPairRecord>(&item)) {
      timed_launches_.SetClocks(pair->cupti_ns, pair->monotonic_ns);
      if (!WaitsTooLong()) encoder_.AddClockPair(*pair);
    } else if (const auto* window = std::get_if<WindowRecord>(&item)) {
      OnWindow(*window);
    } else if (const auto* diagnostic = std::get_if<DiagnosticItem>(&item)) {
      encoder_.AddDiagnostic(diagnostic->stat, diagnostic->text);
    } else if (const auto* refused = std::get_if<KindRefusedItem>(&item)) {
      const char* text = nullptr;
      if (parts_.cupti != nullptr && parts_.cupti->cuptiGetResultString != nullptr) {
        (void)parts_.cupti->cuptiGetResultString(static_cast<CUptiResult>(refused->result), &text);
      }
      const std::string problem = std::string("CUPTI refused the activity kind ") + refused->kind + ": error " +
                                  std::to_string(refused->result) +
                                  (text != nullptr ? " (" + std::string(text) + ")" : "");
      Log("%s", problem.c_str());
      encoder_.AddDiagnostic(StatId::kActivityKindsRefused, problem);
    }
  }
  inbox_read_.clear();
}

void Writer::OnWindow(const WindowRecord& window) {
  encoder_.AddWindow(window);
  window_clocks_.SetWindow(window);
  timed_launches_.SetWindow(window);
}

void Writer::DrainAnswers() {
  bool named = false;
  for (ProbeAnswer& answer : parts_.prober->TakeAnswers()) {
    if (const auto* function = std::get_if<FunctionAnswer>(&answer)) {
      if (!function->name.empty()) interner_.NameFunction(function->function_iid, function->name);
      if (const auto unnamed = unnamed_functions_.find(function->function_iid); unnamed != unnamed_functions_.end()) {
        if (!function->name.empty() && parts_.deny != nullptr && unnamed->second < kSampledKernels) {
          const FunctionInfo& info = parts_.functions->Get(unnamed->second);
          (void)parts_.deny->Decide(unnamed->second, function->name, info.has_code ? info.code.hash : 0);
          named = true;
        }
        unnamed_functions_.erase(unnamed);
      }
      FunctionRecord record;
      record.iid = function->function_iid;
      record.attributes = function->attributes;
      encoder_.AddFunction(record);
    } else if (const auto* occupancy = std::get_if<OccupancyAnswer>(&answer)) {
      SignatureRecord record;
      record.iid = occupancy->signature_iid;
      record.driver_occupancy = occupancy->occupancy;
      encoder_.AddSignature(record);
    } else if (const auto* device = std::get_if<DeviceRecord>(&answer)) {
      encoder_.AddDevice(*device);
      parts_.nvml->AddDevice(static_cast<uint32_t>(device->device_id), device->pci_bus_id);
    }
  }
  if (named && parts_.graphs != nullptr) {
    graph_nodes_.ForEachExec(0, [this](uint32_t graph_exec_id) {
      if (parts_.graphs->Get(graph_exec_id) == GraphSampling::kUnknown) JudgeGraph(graph_exec_id);
    });
  }
  for (const NvmlAnswer& answer : parts_.nvml->TakeAnswers()) {
    if (const auto* device = std::get_if<DeviceRecord>(&answer)) {
      encoder_.AddDevice(*device);
    } else if (const auto* sample = std::get_if<DeviceSampleRecord>(&answer)) {
      window_clocks_.AddReading(*sample);
      if (!WaitsTooLong()) encoder_.AddDeviceSample(*sample);
    } else if (const auto* text = std::get_if<std::string>(&answer)) {
      encoder_.AddDiagnostic(StatId::kNvmlUnavailable, *text);
    }
  }
}

uint32_t Writer::DeviceOf(uint32_t context_id) const {
  uint32_t device_id = 0;
  if (!parts_.contexts->Device(context_id, &device_id)) Stats().Add(StatId::kContextUnknown);
  return device_id;
}

uint64_t Writer::TrackOf(uint32_t context_id, uint32_t stream_id) {
  return interner_.Track(DeviceOf(context_id), context_id, stream_id);
}

void Writer::OnEvent(uint32_t thread_id, EventType type, const uint8_t* data, uint32_t bytes) {
  switch (type) {
    case EventType::kRange: {
      RangeEvent event;
      if (ReadEvent(data, bytes, &event)) OnRange(thread_id, event);
      break;
    }
    case EventType::kDenial: {
      DenialEvent event;
      if (ReadEvent(data, bytes, &event)) OnDenial(event);
      break;
    }
    case EventType::kLaunch: {
      LaunchEvent event;
      if (ReadEvent(data, bytes, &event)) OnLaunch(thread_id, event);
      break;
    }
    case EventType::kGraphLaunch: {
      GraphLaunchEvent event;
      if (ReadEvent(data, bytes, &event)) OnGraphLaunch(thread_id, event);
      break;
    }
    case EventType::kGraphNode: {
      GraphNodeEvent event;
      if (ReadEvent(data, bytes, &event)) OnGraphNode(thread_id, event);
      break;
    }
    case EventType::kGraphExec: {
      GraphExecEvent event;
      if (!ReadEvent(data, bytes, &event)) break;
      GraphExecRecord record;
      record.graph_exec_id = event.graph_exec_id;
      record.graph_id = event.graph_id;
      record.created_monotonic_ns = event.monotonic_ns;
      new_execs_.push_back(record);
      break;
    }
    case EventType::kContext: {
      ContextEvent event;
      if (!ReadEvent(data, bytes, &event)) break;
      ContextRecord record;
      record.context_id = event.context_id;
      record.device_id = event.device_id;
      if (event.destroyed != 0) {
        record.destroyed_monotonic_ns = event.monotonic_ns;
      } else {
        record.created_monotonic_ns = event.monotonic_ns;
        if (event.device_id >= devices_asked_.size()) devices_asked_.resize(event.device_id + 1);
        if (!devices_asked_[event.device_id]) {
          devices_asked_[event.device_id] = true;
          parts_.prober->AskDevice(event.device_id);
        }
      }
      encoder_.AddContext(record);
      break;
    }
    case EventType::kModule: {
      ModuleEvent event;
      if (!ReadEvent(data, bytes, &event)) break;
      ModuleRecord record;
      record.module_id = event.module_id;
      if (event.unloaded != 0) {
        record.unloaded_monotonic_ns = event.monotonic_ns;
      } else {
        record.cubin_bytes = event.cubin_bytes;
        record.cubin_hash = event.cubin_hash;
        record.loaded_monotonic_ns = event.monotonic_ns;
      }
      encoder_.AddModule(record);
      break;
    }
    case EventType::kGraphDestroyed: {
      GraphDestroyedEvent event;
      if (ReadEvent(data, bytes, &event)) OnGraphDestroyed(event.graph_id);
      break;
    }
    case EventType::kNvtx:
      OnNvtx(thread_id, data, bytes);
      break;
    case EventType::kSynchronization: {
      SynchronizationEvent event;
      if (ReadEvent(data, bytes, &event)) OnSynchronization(thread_id, event);
      break;
    }
    case EventType::kSkip:
      break;
  }
}

void Writer::OnLaunch(uint32_t thread_id, const LaunchEvent& event) {
  work_seen_ = true;
  interner_.Thread(thread_id);
  const uint64_t signature_iid =
      interner_.Signature(event.parameters, DeviceOf(event.context_id), false, event.context_id);
  if (event.result == 0 && window_kinds_.Find(event.window_id) != WindowKind::kCounters) {
    kernels_expected_.fetch_add(1, std::memory_order_relaxed);
    record_watch_.OnLaunch(thread_id, event.context_id, event.stream_id, event.enter_monotonic_ns, 1);
  }
  LaunchRecord record = MakeLaunch(thread_id, event, TrackOf(event.context_id, event.stream_id));
  record.signature_iid = signature_iid;
  JoinRange(thread_id, record, event.result == 0 ? NumberOfLaunch(signature_iid) : 0);
  if (SummariesOnly()) {
    if (event.result == 0) ++launch_summaries_[signature_iid];
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  encoder_.AddLaunch(record);
}

void Writer::OnGraphLaunch(uint32_t thread_id, const GraphLaunchEvent& event) {
  work_seen_ = true;
  interner_.Thread(thread_id);
  uint64_t launch_number = 0;
  if (event.result == 0) {
    if (window_kinds_.Find(event.window_id) != WindowKind::kCounters) {
      const uint64_t kernel_count = graph_nodes_.KernelsOf(event.graph_exec_id);
      kernels_expected_.fetch_add(kernel_count, std::memory_order_relaxed);
      record_watch_.OnLaunch(thread_id, event.context_id, event.stream_id, event.enter_monotonic_ns, kernel_count);
    }
    if (event.graph_exec_id != 0) launch_number = ++launches_of_graph_[event.graph_exec_id];
  }
  LaunchRecord record = MakeLaunch(thread_id, event, TrackOf(event.context_id, event.stream_id));
  record.graph_exec_id = event.graph_exec_id;
  JoinRange(thread_id, record, launch_number);
  if (SummariesOnly()) {
    if (event.result == 0) ++launch_summaries_[0];
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  encoder_.AddLaunch(record);
}

void Writer::OnGraphNode(uint32_t thread_id, const GraphNodeEvent& event) {
  constexpr uint32_t kKernelNode = 0;  // CU_GRAPH_NODE_TYPE_KERNEL, and what CUPTI 13.0 says of every node.
  interner_.Thread(thread_id);
  GraphNodeRecord record;
  record.node_id = event.node_id;
  record.original_node_id = event.original_node_id;
  record.graph_id = event.graph_id;
  record.thread_id = thread_id;
  record.created_monotonic_ns = event.monotonic_ns;
  record.updated = event.updated != 0;
  if (event.parameters.readable != 0) {
    record.signature_iid = interner_.Signature(event.parameters, DeviceOf(event.context_id), true, event.context_id);
  }
  const bool described = record.signature_iid != 0;
  if (described || event.node_type != kKernelNode) record.node_type = described ? kKernelNode : event.node_type;
  if (const uint32_t changed = graph_nodes_.AddNode(event); changed != 0) JudgeGraph(changed);
  if (SummariesOnly() && event.updated != 0) {
    // A program may update a graph before every replay: these are no fixed number of definitions.
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  encoder_.AddGraphNode(record);
}

void Writer::CountNewExecs() {
  for (GraphExecRecord& exec : new_execs_) {
    graph_nodes_.CountExec(&exec);
    encoder_.AddGraphExec(exec);
    JudgeGraph(static_cast<uint32_t>(exec.graph_exec_id));
  }
  new_execs_.clear();
}

void Writer::OnGraphDestroyed(uint32_t graph_id) {
  CountNewExecs();  // One made of this graph may still be waiting.
  graph_nodes_.Remove(graph_id);
  launches_of_graph_.erase(graph_id);
  if (parts_.graphs != nullptr && parts_.graphs->Get(graph_id) != GraphSampling::kUnknown) {
    parts_.graphs->Set(graph_id, GraphSampling::kUnknown);
  }
}

GraphSampling Writer::JudgeKernel(const GraphNodes::Kernel& kernel) {
  // Beyond kSampledKernels the deny list's entries are those of graphs.
  if (kernel.function_index == 0 || kernel.function_index >= kSampledKernels) return GraphSampling::kNever;
  DenyReason reason = DenyReason::kNone;
  if (!parts_.deny->Find(kernel.function_index, &reason)) {
    const FunctionInfo& info = parts_.functions->Get(kernel.function_index);
    if (info.name == nullptr) return GraphSampling::kUnknown;  // The prober may name it.
    reason =
        parts_.deny->Decide(kernel.function_index, {info.name, info.name_bytes}, info.has_code ? info.code.hash : 0);
  }
  return reason == DenyReason::kNone ? GraphSampling::kMay : GraphSampling::kNever;
}

void Writer::JudgeGraph(uint32_t graph_exec_id) {
  if (parts_.graphs == nullptr || parts_.deny == nullptr) return;
  parts_.graphs->Set(graph_exec_id,
                     graph_nodes_.MaySample(graph_exec_id, [this](const auto& kernel) { return JudgeKernel(kernel); }));
}

void Writer::OnRange(uint32_t thread_id, const RangeEvent& event) {
  std::vector<RangeEvent>& ranges = ranges_[thread_id];
  // Those of a launch whose own event found no room.
  if (!ranges.empty() && ranges.front().correlation_id != event.correlation_id) ranges.clear();
  if (ranges.size() < kMaxSampledGroups) ranges.push_back(event);
}

void Writer::JoinRange(uint32_t thread_id, const LaunchRecord& launch, uint64_t launch_number) {
  if (ranges_.empty()) return;
  const auto range = ranges_.find(thread_id);
  if (range == ranges_.end()) return;
  const std::vector<RangeEvent> events = std::move(range->second);
  ranges_.erase(range);
  SampleIdentity identity;
  identity.thread_id = launch.thread_id;
  identity.enter_monotonic_ns = launch.enter_monotonic_ns;
  identity.correlation_id = launch.correlation_id;
  identity.signature_iid = launch.signature_iid;
  identity.graph_exec_id = launch.graph_exec_id;
  identity.launch_number = launch_number;
  for (const RangeEvent& event : events) {
    // Else the launch's own event found no room in the queue; the values of the range will find no launch, and count.
    if (event.correlation_id != launch.correlation_id) continue;
    identity.session_id = event.session_id;
    identity.range_order = event.range_order;
    identity.flags = event.flags;
    if (const auto sample = samples_.AddIdentity(identity)) AddSample(*sample);
  }
}

void Writer::AddSample(const CounterSampleRecord& sample) {
  encoder_.AddCounterSample(sample);
  if (encoder_.PendingBytes() >= kFrameBytes) WriteFrameIfDue(false);
}

void Writer::TakeCounters() {
  const std::lock_guard<std::mutex> lock(counters_mutex_);
  counters_read_.swap(counters_);
}

void Writer::DrainCounters() {
  for (CounterItem& item : counters_read_) {
    if (const auto* access = std::get_if<CounterAccessRecord>(&item)) {
      encoder_.AddCounterAccess(*access);
    } else if (const auto* plan = std::get_if<CounterPlanRecord>(&item)) {
      encoder_.AddCounterPlan(*plan);
    } else if (const auto* group = std::get_if<CounterGroupRecord>(&item)) {
      encoder_.AddCounterGroup(*group);
    } else if (const auto* peaks = std::get_if<DevicePeaksRecord>(&item)) {
      encoder_.AddDevicePeaks(*peaks);
    } else if (const auto* session = std::get_if<CounterSessionRecord>(&item)) {
      encoder_.AddCounterSession(*session);
      if (session->end_monotonic_ns) samples_.EndSession(static_cast<uint32_t>(session->session_id));
    } else if (auto* values = std::get_if<CounterValuesItem>(&item)) {
      for (const CounterSampleRecord& sample : samples_.AddValues(std::move(*values))) AddSample(sample);
    }
  }
  counters_read_.clear();
  CountLostSamples();
}

void Writer::CountLostSamples() {
  if (const uint64_t lost = samples_.TakeLostIdentities(); lost != 0) Stats().Add(StatId::kCounterRangesLost, lost);
  if (const uint64_t lost = samples_.TakeLostValues(); lost != 0) Stats().Add(StatId::kCounterSamplesDropped, lost);
}

void Writer::OnDenial(const DenialEvent& event) {
  CounterDenialRecord record;
  record.reason = static_cast<CounterDenialReason>(event.reason);
  record.monotonic_ns = event.monotonic_ns;
  record.context_id = event.context_id;
  record.graph_exec_id = event.graph_exec_id;
  if (event.function_index != 0) {
    record.function_iid = interner_.Function(event.function_index, event.context_id);
    const FunctionInfo& info = parts_.functions->Get(event.function_index);
    const bool by_name = record.reason == CounterDenialReason::kName || record.reason == CounterDenialReason::kUser;
    if (by_name && parts_.deny != nullptr && info.name != nullptr) {
      record.detail = parts_.deny->MatchingGlob({info.name, info.name_bytes});
    }
  }
  if (record.reason == CounterDenialReason::kDeadline) {
    record.detail = "waited " + std::to_string(event.waited_ns / 1'000'000) + " ms";
  }
  encoder_.AddCounterDenial(record);
  if (event.function_index != 0 && parts_.graphs != nullptr) {
    graph_nodes_.ForEachExec(event.function_index, [this](uint32_t graph_exec_id) { JudgeGraph(graph_exec_id); });
  }
}

uint64_t Writer::NumberOfLaunch(uint64_t signature_iid) {
  if (signature_iid == 0) return 0;
  if (signature_iid >= launches_of_signature_.size()) launches_of_signature_.resize(signature_iid + 1);
  return ++launches_of_signature_[signature_iid];
}

// Device, grid and so on are of one kernel; the cluster is left out (see SamplingKeyParts).
void Writer::NoteTime(const KernelActivity& kernel, uint64_t attributes_iid) {
  if (parts_.needs == nullptr) return;
  TimedKernel timed;
  timed.device_id = kernel.device_id;
  timed.graph_id = kernel.graph_id;
  timed.correlation_id = kernel.correlation_id;
  timed.start_ns = kernel.start_ns;
  timed.end_ns = kernel.end_ns;
  if (kernel.graph_id != 0) {
    timed.key = GraphSamplingKey(kernel.device_id, kernel.graph_id);
  } else {
    if (attributes_iid >= sampling_keys_.size()) sampling_keys_.resize(attributes_iid + 1);
    AttributesSamplingKey& known = sampling_keys_[attributes_iid];
    if (known.key == 0 || known.device_id != kernel.device_id) {
      const KernelLaunchValues& values = kernel.values;
      SamplingKeyParts parts;
      parts.name_hash = SamplingNameHash(kernel.name == nullptr ? "" : kernel.name);
      parts.device_id = kernel.device_id;
      parts.grid = {values.grid[0], values.grid[1], values.grid[2]};
      parts.block = {values.block[0], values.block[1], values.block[2]};
      parts.dynamic_shared_memory_bytes = values.dynamic_shared_memory_bytes;
      known = {kernel.device_id, SamplingKey(parts)};
    }
    timed.key = known.key;
  }
  timed_launches_.Add(timed, &times_);
}

void Writer::TellTimes() {
  if (parts_.needs == nullptr) return;
  timed_launches_.Settle(&times_);
  for (const LaunchTime& time : times_) parts_.needs->AddTime(time.key, time.duration_ns, time.clean);
  times_.clear();
}

void Writer::OnNvtx(uint32_t thread_id, const uint8_t* data, uint32_t bytes) {
  NvtxEvent event;
  if (!ReadEvent(data, bytes, &event)) return;
  if (uint64_t{event.text_bytes} + event.payload_bytes > bytes - sizeof(event)) return;
  if (SummariesOnly()) {
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  interner_.Thread(thread_id);
  if (event.domain_index >= nvtx_domains_written_.size()) nvtx_domains_written_.resize(event.domain_index + 1);
  if (!nvtx_domains_written_[event.domain_index]) {
    nvtx_domains_written_[event.domain_index] = true;
    encoder_.AddNvtxDomain(event.domain_index, NvtxDomainName(event.domain_index));
  }
  const auto* text = reinterpret_cast<const char*>(data + sizeof(event));
  NvtxEventRecord record;
  record.thread_id = thread_id;
  record.kind = static_cast<NvtxKind>(event.kind);
  record.monotonic_ns = event.monotonic_ns;
  record.domain_iid = event.domain_index;
  if (event.text_bytes != 0) record.name_iid = interner_.RangeText(std::string_view(text, event.text_bytes));
  if (event.payload_bytes != 0) {
    record.payload_iid = interner_.RangeText(std::string_view(text + event.text_bytes, event.payload_bytes));
  }
  record.range_id = event.range_id;
  encoder_.AddNvtxEvent(record);
}

void Writer::OnKernel(const KernelActivity& kernel) {
  work_seen_ = true;
  Stats().Add(StatId::kKernelRecords);
  kernels_received_.fetch_add(1, std::memory_order_relaxed);
  record_watch_.OnKernel();
  KernelRecord record;
  record.start_ns = kernel.start_ns;
  record.end_ns = kernel.end_ns;
  record.correlation_id = kernel.correlation_id;
  record.track_iid = interner_.Track(kernel.device_id, kernel.context_id, kernel.stream_id);
  record.attributes_iid = interner_.KernelAttributes(kernel.values, kernel.name);
  record.graph_id = kernel.graph_id;
  record.graph_node_id = kernel.graph_node_id;
  if (record.start_ns == 0 && record.end_ns == 0) {
    Stats().Add(StatId::kKernelsUntimed);
  } else if (record.end_ns == 0) {
    Stats().Add(StatId::kKernelsUnfinished);
  } else if (record.end_ns < record.start_ns) {
    Stats().Add(StatId::kKernelsInvalidTime);
  }
  NoteTime(kernel, record.attributes_iid);
  if (!SummariesOnly()) {
    encoder_.AddKernel(record);
    return;
  }
  Stats().Add(StatId::kRecordsSummarised);
  if (record.end_ns < record.start_ns || record.start_ns == 0) return;
  const uint64_t duration_ns = record.end_ns - record.start_ns;
  Summary& summary = kernel_summaries_[{record.attributes_iid, kernel.device_id}];
  if (summary.count == 0) {
    summary.min_ns = duration_ns;
    summary.begin_ns = record.start_ns;
  }
  ++summary.count;
  summary.total_ns += duration_ns;
  summary.min_ns = std::min(summary.min_ns, duration_ns);
  summary.max_ns = std::max(summary.max_ns, duration_ns);
  summary.begin_ns = std::min(summary.begin_ns, record.start_ns);
  summary.end_ns = std::max(summary.end_ns, record.end_ns);
  ++summary.buckets[DurationBucket(duration_ns)];
}

void Writer::OnMemory(const MemoryActivity& memory) {
  work_seen_ = true;
  Stats().Add(StatId::kMemoryRecords);
  if (SummariesOnly()) {
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  MemoryRecord record = memory.record;
  record.track_iid = interner_.Track(memory.device_id, memory.context_id, memory.stream_id);
  encoder_.AddMemory(record);
}

void Writer::CountDropped(void* context, uint32_t stream_id) {
  size_t dropped = 0;
  if (parts_.cupti->cuptiActivityGetNumDroppedRecords(static_cast<CUcontext>(context), stream_id, &dropped) ==
          CUPTI_SUCCESS &&
      dropped != 0) {
    Stats().Add(StatId::kRecordsDroppedByCupti, dropped);
  }
}

void Writer::WatchRecords(bool at_end) {
  if (!decoder_ || !parts_.config->timing) return;
  // What was dropped before any buffer came back nobody has asked for yet.
  if (at_end) CountDropped(nullptr, 0);
  const uint64_t losses = KnownLosses();
  std::optional<RecordGapRecord> gap = at_end
                                           ? record_watch_.JudgeAtEnd(parts_.buffers->all_ended(), losses)
                                           : record_watch_.Judge(MonotonicNs(), parts_.buffers->flush_count(), losses);
  if (!gap) return;
  if (!gap->end_monotonic_ns && gap->gap_id != last_gap_id_) {
    last_gap_id_ = gap->gap_id;
    Stats().Add(StatId::kRecordGaps);
    gap->clients = ImportersOf("cuptiActivityRegisterCallbacks");
    const std::string text = DescribeRecordGap(*gap);
    Log("%s", text.c_str());
    encoder_.AddDiagnostic(StatId::kRecordGaps, text);
  } else if (gap->end_monotonic_ns) {
    Log("%s", DescribeRecordGap(*gap).c_str());
  }
  encoder_.AddRecordGap(*gap);
}

void Writer::OnSynchronization(uint32_t thread_id, const SynchronizationEvent& event) {
  if (event.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE ||
      event.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE) {
    record_watch_.OnWait(thread_id, event.context_id, event.stream_id,
                         event.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
  }
  if (SummariesOnly()) {
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  SynchronizationRecord record;
  record.start_ns = event.start_ns;
  record.end_ns = event.end_ns;
  record.correlation_id = event.correlation_id;
  record.type = event.type;
  record.track_iid = TrackOf(event.context_id, event.stream_id);
  encoder_.AddSynchronization(record);
}

void Writer::OnOverhead(const OverheadRecord& overhead) {
  if (SummariesOnly()) {
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  encoder_.AddOverhead(overhead);
}

void Writer::OnApiCall(ApiDomain domain, uint32_t cbid, const ApiCallRecord& call) {
  if (parts_.own_threads != nullptr && parts_.own_threads->Has(call.thread_id)) return;
  Stats().Add(StatId::kApiCalls);
  if (SummariesOnly()) {
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  interner_.Thread(static_cast<uint32_t>(call.thread_id));
  ApiCallRecord record = call;
  record.function_iid = api_functions_.Find(domain, cbid);
  encoder_.AddApiCall(record);
}

void Writer::OnUnknown(uint32_t) { Stats().Add(StatId::kActivityUnknownKind); }

bool Writer::OpenFile() {
  if (file_.is_open()) return true;
  const uint64_t now_ns = MonotonicNs();
  if (now_ns < next_open_ns_) return false;
  next_open_ns_ = now_ns + kOpenRetryNs;
  const std::string path = ExpandOutputPattern(parts_.config->output, header_.pid, header_.host_name, parts_.rank);
  std::string problem;
  if (!file_.Open(path, header_.pid, &problem)) {
    if (problem != last_open_problem_) Log("%s", problem.c_str());
    last_open_problem_ = problem;
    return false;
  }
  if (!problem.empty()) encoder_.AddDiagnostic(StatId::kOutputNameTaken, problem);
  Log("trace is written to %s", file_.path().c_str());
  return true;
}

void Writer::WriteFrameIfDue(bool force) {
  const uint64_t now_ns = MonotonicNs();
  // The file is made at the first launch: what was gathered before (contexts, modules, clocks, ranges) waits for it,
  // unless it is so much that memory and frames would grow without end.
  work_seen_ = work_seen_ || encoder_.PendingBytes() >= kFrameBytes;
  if (!work_seen_) return;
  if (!force && now_ns - last_frame_ns_ < kFramePeriodNs && encoder_.PendingBytes() < kFrameBytes) return;
  if (summaries_only_ && now_ns - last_summary_ns_ >= kSummaryPeriodNs) AddSummaries();
  last_frame_ns_ = now_ns;
  WriteFrame(force);
}

void Writer::WriteFrame(bool last) {
  if (last) next_open_ns_ = 0;  // The last chance.
  if (!header_written_) {
    header_.driver_version = parts_.nvml->driver_version();
    encoder_.SetHeader(header_);
    header_written_ = true;
  }
  const uint64_t stats_sum = SumWithoutBytesWritten(Stats());
  const bool stats_changed = stats_sum != written_stats_sum_;
  if (last || stats_changed || encoder_.PendingBytes() != 0) {
    written_stats_sum_ = stats_sum;
    (void)OpenFile();  // First: it may have something to say.
    encoder_.SetStats(Stats());
    const std::string_view frame = encoder_.FinishFrame();
    if (unwritten_frames_.empty() && file_.is_open() && file_.Write(frame, true)) {
      Stats().Add(StatId::kBytesWritten, frame.size());
      return;
    }
    KeepUnwritten(frame);
  }
  if (WriteUnwritten() || !(last || file_.given_up())) return;
  for (const std::string& frame : unwritten_frames_) file_.CountLost(frame.size());
  unwritten_frames_.clear();
  unwritten_bytes_ = 0;
}

void Writer::KeepUnwritten(std::string_view frame) {
  // The oldest are kept: they hold the header and the definitions.
  if (unwritten_bytes_ + frame.size() > kUnwrittenLimitBytes) {
    file_.CountLost(frame.size());
    return;
  }
  unwritten_frames_.emplace_back(frame);
  unwritten_bytes_ += frame.size();
}

bool Writer::WriteUnwritten() {
  while (!unwritten_frames_.empty()) {
    const std::string& frame = unwritten_frames_.front();
    if (!OpenFile() || !file_.Write(frame, true)) return false;
    Stats().Add(StatId::kBytesWritten, frame.size());
    unwritten_bytes_ -= frame.size();
    unwritten_frames_.pop_front();
  }
  return true;
}

bool Writer::SummariesOnly() {
  if (summaries_only_) return true;
  const uint64_t limit = parts_.config->max_bytes;
  if (limit == 0 || file_.size_bytes() + encoder_.PendingBytes() < limit) return false;
  summaries_only_ = true;
  last_summary_ns_ = MonotonicNs();
  Stats().Add(StatId::kSizeLimitReached);
  encoder_.AddDiagnostic(StatId::kSizeLimitReached,
                         "the trace reached GPUEXEC_MAX_BYTES (" + std::to_string(limit) +
                             " bytes); single launches and kernels are no longer written, only summaries");
  return true;
}

void Writer::AddSummaries() {
  last_summary_ns_ = MonotonicNs();
  for (const auto& [key, summary] : kernel_summaries_) {
    KernelSummaryRecord record;
    record.attributes_iid = key.first;
    record.device_id = key.second;
    record.count = summary.count;
    record.total_ns = summary.total_ns;
    record.min_ns = summary.min_ns;
    record.max_ns = summary.max_ns;
    record.begin_ns = summary.begin_ns;
    record.end_ns = summary.end_ns;
    record.buckets.assign(summary.buckets.begin(), summary.buckets.end());
    encoder_.AddKernelSummary(record);
    if (encoder_.PendingBytes() >= kFrameBytes) WriteFrame(false);
  }
  kernel_summaries_.clear();
  for (const auto& [signature_iid, count] : launch_summaries_) encoder_.AddLaunchSummary(signature_iid, count);
  launch_summaries_.clear();
}

}  // namespace gx::inject
