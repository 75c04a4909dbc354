#include "inject/writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "inject/boundary.h"
#include "inject/clock.h"
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
constexpr uint64_t kSummaryPeriodNs = 10'000'000'000;
// Buffers decoded before queues are looked at again: queues are smaller than buffers.
constexpr int kBuffersPerRound = 4;
constexpr size_t kInboxRoom = 256;
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
    : parts_(parts), header_(std::move(header)), interner_(&encoder_, parts.functions) {
  if (parts_.cupti != nullptr) decoder_.emplace(parts_.cupti);
  // The two vectors change places and keep their room: a program that switches a region on and off (a callback) does
  // not allocate here.
  inbox_.reserve(kInboxRoom);
  inbox_read_.reserve(kInboxRoom);
  last_frame_ns_ = MonotonicNs();
  last_summary_ns_ = last_frame_ns_;
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
    DrainQueues();
    CountNewExecs();
    DrainBuffers();
    parts_.prober->Ask(interner_.TakeNewFunctions(), interner_.TakeNewSignatures());
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
      last_thread_check_ns_ = now_ns;
    }
    parts_.queues->half_full().WaitFor(seen, kIdleWaitNs);
  }
  AddSummaries();
  encoder_.SetTrailer(finish_reason_, finish_end_);
  WriteFrameIfDue(true);
  file_.Close();
  finished_.store(true, std::memory_order_release);
}

void Writer::WriteReasonOnly(uint32_t reason, const ClockPairRecord& end) {
  DrainInbox();
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
    size_t dropped = 0;
    if (parts_.cupti->cuptiActivityGetNumDroppedRecords(static_cast<CUcontext>(buffer.context), buffer.stream_id,
                                                        &dropped) == CUPTI_SUCCESS &&
        dropped != 0) {
      Stats().Add(StatId::kRecordsDroppedByCupti, dropped);
    }
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
      if (!WaitsTooLong()) encoder_.AddClockPair(*pair);
    } else if (const auto* window = std::get_if<WindowRecord>(&item)) {
      encoder_.AddWindow(*window);
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

void Writer::DrainAnswers() {
  for (ProbeAnswer& answer : parts_.prober->TakeAnswers()) {
    if (const auto* function = std::get_if<FunctionAnswer>(&answer)) {
      if (!function->name.empty()) interner_.NameFunction(function->function_iid, function->name);
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
  for (const NvmlAnswer& answer : parts_.nvml->TakeAnswers()) {
    if (const auto* device = std::get_if<DeviceRecord>(&answer)) {
      encoder_.AddDevice(*device);
    } else if (const auto* sample = std::get_if<DeviceSampleRecord>(&answer)) {
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
    case EventType::kRange:
    case EventType::kDenial:
      break;
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
    case EventType::kSkip:
      break;
  }
}

void Writer::OnLaunch(uint32_t thread_id, const LaunchEvent& event) {
  work_seen_ = true;
  interner_.Thread(thread_id);
  const uint64_t signature_iid =
      interner_.Signature(event.parameters, DeviceOf(event.context_id), false, event.context_id);
  if (event.result == 0) kernels_expected_.fetch_add(1, std::memory_order_relaxed);
  if (SummariesOnly()) {
    if (event.result == 0) ++launch_summaries_[signature_iid];
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  LaunchRecord record = MakeLaunch(thread_id, event, TrackOf(event.context_id, event.stream_id));
  record.signature_iid = signature_iid;
  encoder_.AddLaunch(record);
}

void Writer::OnGraphLaunch(uint32_t thread_id, const GraphLaunchEvent& event) {
  work_seen_ = true;
  interner_.Thread(thread_id);
  if (event.result == 0) {
    const auto graph = graphs_.find(event.graph_exec_id);
    if (graph != graphs_.end()) kernels_expected_.fetch_add(graph->second.kernels, std::memory_order_relaxed);
  }
  if (SummariesOnly()) {
    if (event.result == 0) ++launch_summaries_[0];
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  LaunchRecord record = MakeLaunch(thread_id, event, TrackOf(event.context_id, event.stream_id));
  record.graph_exec_id = event.graph_exec_id;
  encoder_.AddLaunch(record);
}

void Writer::OnGraphNode(uint32_t thread_id, const GraphNodeEvent& event) {
  constexpr uint32_t kKernelNode = 0;        // CU_GRAPH_NODE_TYPE_KERNEL, and what CUPTI 13.0 says of every node.
  constexpr uint32_t kConditionalNode = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL
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
  Graph& graph = graphs_[event.graph_id];
  graph.conditional = graph.conditional || event.node_type == kConditionalNode;
  if (described && event.updated == 0) {
    graph.kernel_nodes.insert(event.node_id);
    graph_of_node_[event.node_id] = event.graph_id;
  }
  if (event.original_node_id != 0 && event.updated == 0) {
    graph.clones.emplace_back(event.node_id, event.original_node_id);
  }
  if (SummariesOnly() && event.updated != 0) {
    // A program may update a graph before every replay: these are no fixed number of definitions.
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  encoder_.AddGraphNode(record);
}

bool Writer::IsKernelNode(uint64_t node_id) const {
  const auto home = graph_of_node_.find(node_id);
  if (home == graph_of_node_.end()) return false;
  const auto graph = graphs_.find(home->second);
  return graph != graphs_.end() && graph->second.kernel_nodes.contains(node_id);
}

void Writer::CountNewExecs() {
  for (GraphExecRecord& exec : new_execs_) {
    Graph& graph = graphs_[exec.graph_exec_id];
    for (const auto& [node_id, original_id] : graph.clones) {
      if (IsKernelNode(original_id)) {
        ++graph.kernels;
        graph.kernel_nodes.insert(node_id);
        graph_of_node_[node_id] = exec.graph_exec_id;
      } else {
        ++graph.undescribed;
      }
    }
    graph.clones = {};
    exec.kernel_node_count = graph.kernels;
    exec.undescribed_node_count = graph.undescribed;
    exec.has_conditional_nodes = graph.conditional;
    if (graph.conditional) graph.kernels = 0;  // For the accounting at exit: how many run is not known.
    encoder_.AddGraphExec(exec);
  }
  new_execs_.clear();
}

void Writer::OnGraphDestroyed(uint64_t graph_id) {
  CountNewExecs();  // One made of this graph may still be waiting.
  const auto graph = graphs_.find(graph_id);
  if (graph == graphs_.end()) return;
  for (const uint64_t node_id : graph->second.kernel_nodes) graph_of_node_.erase(node_id);
  graphs_.erase(graph);
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

void Writer::OnSynchronization(const SynchronizationActivity& synchronization) {
  if (SummariesOnly()) {
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  SynchronizationRecord record = synchronization.record;
  record.track_iid = TrackOf(synchronization.context_id, synchronization.stream_id);
  encoder_.AddSynchronization(record);
}

void Writer::OnOverhead(const OverheadRecord& overhead) {
  if (SummariesOnly()) {
    Stats().Add(StatId::kRecordsSummarised);
    return;
  }
  encoder_.AddOverhead(overhead);
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
