// The thread that turns what was seen into the trace file: drains the queues of host threads, decodes completed
// activity buffers, interns, encodes, and appends a frame at least every half second. It calls CUPTI only to walk
// buffers and to ask for dropped records, and never the driver.
//
// After the size limit (GPUEXEC_MAX_BYTES) launches and kernels are kept as additive summaries only.
#ifndef GPUEXEC_INJECT_WRITER_H_
#define GPUEXEC_INJECT_WRITER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "inject/activity_buffers.h"
#include "inject/activity_decoder.h"
#include "inject/api_functions.h"
#include "inject/callback_router.h"
#include "inject/config.h"
#include "inject/graph_nodes.h"
#include "inject/graph_sampling.h"
#include "inject/interner.h"
#include "inject/nvml_sampler.h"
#include "inject/own_threads.h"
#include "inject/prober.h"
#include "inject/record_watch.h"
#include "inject/sample_join.h"
#include "inject/sampling_deny_list.h"
#include "inject/sampling_needs.h"
#include "inject/thread_queue.h"
#include "inject/timed_launches.h"
#include "inject/trace_encoder.h"
#include "inject/trace_file.h"
#include "inject/window_clocks.h"
#include "inject/window_kinds.h"

namespace gx::inject {

struct DiagnosticItem {
  StatId stat = StatId::kUnspecified;
  std::string text;
};
// What other threads of ours give to the writer.
struct KindRefusedItem {
  const char* kind = nullptr;  // "MEMCPY"; static storage.
  int result = 0;              // CUptiResult
};
// What the sampler gives to the writer; a definition comes before what uses it.
using CounterItem = std::variant<CounterAccessRecord, CounterPlanRecord, CounterGroupRecord, DevicePeaksRecord,
                                 CounterSessionRecord, CounterValuesItem>;
using InboxItem = std::variant<ClockPairRecord, WindowRecord, DiagnosticItem, KindRefusedItem>;

class Writer final : private ActivityVisitor {
 public:
  struct Parts {
    const Config* config = nullptr;
    std::string rank;                 // For %r in the output's name; empty: none.
    const CuptiApi* cupti = nullptr;  // Null: no activity records (CUPTI could not be used).
    ThreadQueues* queues = nullptr;
    FunctionTable* functions = nullptr;
    ContextTable* contexts = nullptr;
    ActivityBuffers* buffers = nullptr;
    Prober* prober = nullptr;
    NvmlSampler* nvml = nullptr;
    // Of sampling; null: none. Told what kernels take, asked what denied a function, told which graphs may be sampled.
    SamplingNeeds* needs = nullptr;
    SamplingDenyList* deny = nullptr;
    GraphSamplingTable* graphs = nullptr;
    // Threads whose calls are not the program's; null: none.
    const OwnThreads* own_threads = nullptr;
  };
  // `header` is completed (driver version) when the first frame is written.
  Writer(const Parts& parts, HeaderRecord header);

  // [MT] Hands over an item. Allocates nothing: beyond 256 that wait, items are dropped and counted; the thread is
  // woken at the half of them.
  void Post(InboxItem item);
  // [MT] Hands over what counters gave; meant for one thread, which may wait for a mutex. Beyond 1,024 that wait they
  // are dropped and counted: values as samples (STAT_COUNTER_SAMPLES_DROPPED), others as notes. A launch's RangeEvent
  // has to be in its thread's queue before its values are posted, and a session's values before its end. Ranges that
  // could not be read (STAT_COUNTER_RANGES_LOST) are counted by who ends the session; of sessions that never end, here.
  void PostCounters(CounterItem item);
  // [MT] Kinds of windows: set by whoever opens one, before launches can name it.
  WindowKinds& window_kinds() noexcept { return window_kinds_; }
  // [MT] Wakes the thread: something is waiting.
  void Wake() noexcept;
  // [MT] Asks that everything queued by now be read and that what it raises be asked of the prober; the prober's
  // done_ticket() reaches the returned number then.
  uint32_t RequestDrain() noexcept;

  // The thread's body: returns after Finish.
  void Run();
  // Whatever ended Run: nobody need wait for it any more.
  void MarkFinished() noexcept { finished_.store(true, std::memory_order_release); }
  // [MT] Asks for the end: all that is queued is read and written, then the trailer. `reason` is a Trailer.Reason.
  void Finish(uint32_t reason, const ClockPairRecord& end) noexcept;
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

  // Without a thread: writes a file that holds the header, what was posted and a trailer. For processes in which
  // nothing can be recorded.
  void WriteReasonOnly(uint32_t reason, const ClockPairRecord& end);

  // [MT] Kernel records and graph-expanded launches so far: what the device still owes. Launches in counter windows
  // have no record and are not among them.
  uint64_t kernels_expected() const noexcept { return kernels_expected_.load(std::memory_order_relaxed); }
  uint64_t kernels_received() const noexcept { return kernels_received_.load(std::memory_order_relaxed); }

  // Forked child: the descriptor is closed, nothing is written.
  void AbandonInChild() noexcept { file_.AbandonInChild(); }

 private:
  void DrainQueues();
  void DrainBuffers();
  void DrainInbox();
  void OnWindow(const WindowRecord& window);
  bool WaitsTooLong() const;
  void DrainAnswers();
  void OnEvent(uint32_t thread_id, EventType type, const uint8_t* data, uint32_t bytes);
  void OnLaunch(uint32_t thread_id, const LaunchEvent& event);
  void OnGraphLaunch(uint32_t thread_id, const GraphLaunchEvent& event);
  void OnSynchronization(uint32_t thread_id, const SynchronizationEvent& event);
  // Records of a stream that CUPTI had no room for; null and 0: of no stream in particular.
  void CountDropped(void* context, uint32_t stream_id);
  void WatchRecords(bool at_end);
  void OnGraphNode(uint32_t thread_id, const GraphNodeEvent& event);
  void OnGraphDestroyed(uint32_t graph_id);
  void CountNewExecs();
  void OnRange(uint32_t thread_id, const RangeEvent& event);
  void OnDenial(const DenialEvent& event);
  // The launch of the thread whose event is at hand: the range it had, if any, is joined with its values.
  void JoinRange(uint32_t thread_id, const LaunchRecord& launch, uint64_t launch_number);
  void AddSample(const CounterSampleRecord& sample);
  void TakeCounters();
  void DrainCounters();
  void CountLostSamples();
  void TellTimes();
  void NoteTime(const KernelActivity& kernel, uint64_t attributes_iid);
  void JudgeGraph(uint32_t graph_exec_id);
  GraphSampling JudgeKernel(const GraphNodes::Kernel& kernel);
  uint64_t NumberOfLaunch(uint64_t signature_iid);
  void OnNvtx(uint32_t thread_id, const uint8_t* data, uint32_t bytes);
  uint64_t TrackOf(uint32_t context_id, uint32_t stream_id);
  uint32_t DeviceOf(uint32_t context_id) const;

  void OnKernel(const KernelActivity& kernel) override;
  void OnMemory(const MemoryActivity& memory) override;
  void OnOverhead(const OverheadRecord& overhead) override;
  void OnApiCall(ApiDomain domain, uint32_t cbid, const ApiCallRecord& call) override;
  void OnUnknown(uint32_t kind) override;

  bool OpenFile();
  void WriteFrame(bool last);
  bool WriteUnwritten();
  void KeepUnwritten(std::string_view frame);
  void WriteFrameIfDue(bool force);
  void AddSummaries();
  bool SummariesOnly();

  Parts parts_;
  HeaderRecord header_;
  TraceEncoder encoder_;
  TraceFile file_;
  Interner interner_;
  ApiFunctions api_functions_;
  std::optional<ActivityDecoder> decoder_;  // Without CUPTI: none.

  std::mutex inbox_mutex_;
  std::vector<InboxItem> inbox_;
  std::vector<InboxItem> inbox_read_;
  std::atomic<uint32_t> drain_requested_{0};
  uint32_t drain_marked_ = 0;

  std::atomic<bool> finish_{false};
  std::atomic<bool> finished_{false};
  uint32_t finish_reason_ = 0;
  ClockPairRecord finish_end_;

  std::atomic<uint64_t> kernels_expected_{0};
  std::atomic<uint64_t> kernels_received_{0};
  RecordWatch record_watch_;
  uint64_t last_gap_id_ = 0;
  GraphNodes graph_nodes_;
  std::vector<GraphExecRecord> new_execs_;  // To be counted once every queue has been read.

  // Counters.
  WindowKinds window_kinds_;
  WindowClocks window_clocks_;
  std::mutex counters_mutex_;
  std::vector<CounterItem> counters_;
  std::vector<CounterItem> counters_read_;  // Taken before the queues were read, joined after.
  SampleJoin samples_;
  // By thread: its next launch has these ranges; several where it was replayed for several groups.
  std::unordered_map<uint32_t, std::vector<RangeEvent>> ranges_;
  std::vector<uint64_t> launches_of_signature_;  // So far, by iid.
  std::unordered_map<uint32_t, uint64_t> launches_of_graph_;
  TimedLaunches timed_launches_;
  std::vector<LaunchTime> times_;
  struct AttributesSamplingKey {
    uint32_t device_id = 0;
    uint64_t key = 0;  // 0: not made yet.
  };
  std::vector<AttributesSamplingKey> sampling_keys_;          // By attributes iid.
  std::unordered_map<uint64_t, uint32_t> unnamed_functions_;  // Index by iid: the prober may still name them.

  bool work_seen_ = false;     // A launch or an activity record: the file is wanted.
  uint64_t next_open_ns_ = 0;  // The file could not be had: when it is tried again.
  std::string last_open_problem_;
  // Frames that could not be written, in order: they hold definitions that later frames use.
  std::deque<std::string> unwritten_frames_;
  size_t unwritten_bytes_ = 0;
  uint64_t written_stats_sum_ = 0;
  bool header_written_ = false;
  uint64_t last_frame_ns_ = 0;
  uint64_t last_thread_check_ns_ = 0;
  uint64_t last_trim_ns_ = 0;
  std::vector<bool> devices_asked_;
  std::vector<bool> nvtx_domains_written_;

  bool summaries_only_ = false;
  uint64_t last_summary_ns_ = 0;
  struct Summary {
    uint64_t count = 0, total_ns = 0, min_ns = 0, max_ns = 0, begin_ns = 0, end_ns = 0;
    std::map<uint32_t, uint64_t> buckets;
  };
  std::map<std::pair<uint64_t, uint64_t>, Summary> kernel_summaries_;  // By (attributes, device).
  std::unordered_map<uint64_t, uint64_t> launch_summaries_;
};

// The bucket of a duration in gpuexec.v1.KernelSummary: floor(8 * log2(ns)), 0 for 0 ns. Pure.
uint32_t DurationBucket(uint64_t duration_ns);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_WRITER_H_
