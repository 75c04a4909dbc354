// What sampling does inside launch callbacks: whether this launch gets a range, the range around it, and what became of
// it. In between stands the sampler's thread (sampler.h), which arms sessions and takes their ranges away.
//
// A range is one launch at a time in the whole process. Order: deny list, needs, gate of captures, every stream idle
// (bounded), launches of others held, no call of theirs under way, streams still idle, push, release; the launch;
// completion polled with a deadline, pop. No allocation; no wait without a deadline but for CUPTI's push and pop, which
// return at once when those conditions hold, and which the watchdog sees.
//
// Threads: Before and After are called by the program's threads, everything else by the sampler's.
#ifndef GPUEXEC_INJECT_LAUNCH_SAMPLER_H_
#define GPUEXEC_INJECT_LAUNCH_SAMPLER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "inject/capture_gate.h"
#include "inject/context_behaviour.h"
#include "inject/context_table.h"
#include "inject/cuda_api.h"
#include "inject/function_table.h"
#include "inject/graph_sampling.h"
#include "inject/launch_hold.h"
#include "inject/range_session.h"
#include "inject/range_verdict.h"
#include "inject/sampling_deny_list.h"
#include "inject/sampling_needs.h"
#include "inject/sampling_tally.h"
#include "inject/sampling_wait.h"
#include "inject/sampling_watchdog.h"
#include "inject/stream_table.h"
#include "inject/thread_queue.h"

namespace gx::inject {

class ReplaySampler;

// Ranges of one session. The more, the longer cuptiRangeProfilerStart takes and the more memory it wants.
inline constexpr uint32_t kMaxSessionRanges = 256;

// A launch as its callback shows it.
struct LaunchToSample {
  DeviceWork work = DeviceWork::kKernel;  // Or kGraph.
  CUcontext context = nullptr;
  uint32_t context_id = 0;
  uint32_t correlation_id = 0;
  CUstream stream = nullptr;  // As cuStreamQuery wants it on this thread.
  LaunchParameters parameters;
  uint32_t graph_exec_id = 0;
};

// A range that was pushed, by its order in the session.
struct PushedRange {
  uint32_t place = SamplingNeeds::kNone;
  RangeVerdict verdict = RangeVerdict::kCallFailed;
  uint64_t flags = 0;  // Bits kCounter* of record.h.
};

// One armed session.
struct ArmedSession {
  CUcontext context = nullptr;
  uint32_t context_id = 0;
  uint32_t device_id = 0;
  uint32_t session_id = 0;
  uint32_t window_id = 0;  // Of the counter window it was opened in: no range in another.
  uint64_t group_iid = 0;
  RangeSession* session = nullptr;
  // Of the context, used by whoever has the range. Null: streams are asked instead.
  CUevent done = nullptr;
  CUevent idle = nullptr;
  // Set inside callbacks, read after Disarm.
  std::array<PushedRange, kMaxSessionRanges> ranges;
  uint64_t push_ns = 0;
  uint64_t pop_ns = 0;
  uint64_t idle_wait_ns = 0;
  uint64_t completion_wait_ns = 0;
  std::atomic<int> failed_result{0};      // Of push or pop; 0: none failed. Read at any time.
  std::atomic<bool> abandoned{false};     // Its last range was left open.
  std::atomic<bool> context_lost{false};  // The device reported an error.
  // The abandoned range's launch; for the recovery once the device is idle.
  uint32_t abandoned_order = 0;

  // The session's second pass, which is another session of the trace. While it is not armed.
  void BeginAnew(uint32_t new_session_id, uint64_t new_group_iid) noexcept {
    session_id = new_session_id;
    group_iid = new_group_iid;
    ranges.fill({});
    push_ns = pop_ns = idle_wait_ns = completion_wait_ns = 0;
    failed_result = 0;
  }
};

class LaunchSampler {
 public:
  static constexpr uint32_t kMaxArmed = 8;

  struct Parts {
    const CudaApi* cuda = nullptr;
    ThreadQueues* queues = nullptr;
    const FunctionTable* functions = nullptr;
    const ContextTable* contexts = nullptr;
    const StreamTable* streams = nullptr;
    const ContextBehaviour* behaviour = nullptr;
    const GraphSamplingTable* graphs = nullptr;
    CaptureGate* captures = nullptr;
    RangeContents* contents = nullptr;
    LaunchHold* hold = nullptr;
    SamplingNeeds* needs = nullptr;
    SamplingDenyList* deny = nullptr;
    SamplingWatchdog* watchdog = nullptr;
    SamplingTally* tally = nullptr;
    // Of the recording. Null: not looked at.
    const std::atomic<uint32_t>* window_id = nullptr;
    // Launches stand for time where kernels are not timed: then every launch is counted.
    bool count_launches = false;
    // GPUEXEC_REPLAY; null: off.
    ReplaySampler* replay = nullptr;
  };
  void Attach(const Parts& parts) noexcept { parts_ = parts; }

  // ------------------------------------------------------------------------------------------- the program's threads
  // Whether Before wants the parameters of launches now.
  bool wants_launches() const noexcept {
    return armed_.load(std::memory_order_acquire) || counts_launches_.load(std::memory_order_relaxed) ||
           parts_.count_launches || parts_.replay != nullptr;
  }
  // Whether launches are counted outside counter windows as well: until it is known that timings have come of most.
  void CountLaunches(bool on) noexcept { counts_launches_.store(on, std::memory_order_relaxed); }
  // Whether calls that bring work have to be reported.
  bool armed() const noexcept { return armed_.load(std::memory_order_acquire); }
  // Before the driver's function, after LaunchHold::Enter.
  void Before(ThreadState* thread, const LaunchToSample& launch) noexcept;
  void BeforeOther(ThreadState* thread, DeviceWork work) noexcept;
  // How long a sampled launch may take. `untimed`: kernels are not timed, so none is known to be short. Pure.
  static uint64_t LaunchLimitNs(DeviceWork work, bool untimed, uint64_t longest_ns) noexcept;
  // Of a thread without a queue.
  void BeforeStranger(DeviceWork work) noexcept;
  // After it, before the launch's own event is queued. `result`: CUresult of the launch.
  void After(ThreadState* thread, uint32_t result) noexcept;

  // ------------------------------------------------------------------------------------------- the sampler's thread
  // While launches are held, none is under way, and the device is idle.
  void Arm(uint32_t group, GroupKind kind, std::span<ArmedSession* const> sessions) noexcept;
  // From now on no range begins; false: one is still open after `timeout_ns`.
  bool Disarm(uint64_t timeout_ns) noexcept;
  // Whether a launch has a range, or is about to get one: its thread uses its session.
  bool range_open() const noexcept { return range_taken_.load(std::memory_order_seq_cst); }
  // What the schedule allows until the next call.
  void Allow(uint32_t max_ranges, uint64_t cost_limit_ns, uint64_t drain_limit_ns, uint32_t rank_limit) noexcept;
  void Forbid() noexcept { ranges_left_.store(0, std::memory_order_relaxed); }
  // An armed session has no room for another range, or failed, or was abandoned.
  bool needs_attention() const noexcept { return needs_attention_.load(std::memory_order_acquire); }

 private:
  // The launch whose range is open; whoever has `range_taken_` set uses it.
  struct Open {
    ArmedSession* session = nullptr;
    uint32_t order = 0;
    uint32_t place = SamplingNeeds::kNone;
    uint32_t function = 0;
    LaunchToSample launch;
    uint64_t begin_ns = 0;      // Of everything we did for it.
    uint64_t spent_ns = 0;      // Before the launch.
    uint64_t idle_wait_ns = 0;  // Of that.
    uint64_t launch_ns = 0;     // When the driver's function began.
    uint32_t patched_slot = SamplingWatchdog::kNone;
    bool first = false;
  };

  void Watch(ThreadState* thread, DeviceWork work) noexcept;
  // Every reason not to sample the launch that needs no waiting. Fills open_'s place and function.
  ArmedSession* Eligible(ThreadState* thread, const LaunchToSample& launch, uint32_t* place,
                         uint32_t* function) noexcept;
  // May run as patched code.
  bool HasGraduated(uint32_t place, uint32_t function) const noexcept;
  bool MayByName(ThreadState* thread, const LaunchToSample& launch, uint32_t function) noexcept;
  bool Replays(ThreadState* thread, const LaunchToSample& launch, uint32_t place, uint32_t function) noexcept;
  void Deny(ThreadState* thread, const LaunchToSample& launch, uint32_t function, DenyReason reason,
            uint64_t waited_ns) noexcept;
  // Launches of others are held.
  struct Held {
    uint64_t ticket = 0;
    uint64_t overrun_count = 0;
  };
  bool Hold(Held* held) noexcept;
  bool MayRange(const ArmedSession& session) const noexcept;
  uint64_t NameHash(uint32_t function) noexcept;
  bool BeginRange(ThreadState* thread, ArmedSession* session, uint64_t begin_ns) noexcept;
  bool WaitForIdle(ThreadState* thread, ArmedSession* session, uint64_t begin_ns, const Held& held) noexcept;
  bool PushAlone(ThreadState* thread, ArmedSession* session, uint64_t begin_ns, Held held) noexcept;
  bool SkipBusy(uint64_t begin_ns) noexcept;
  bool CaptureIsLate(uint64_t now_ns) const noexcept;
  WaitNext WaitForLaunch(ArmedSession* session, uint64_t begin_ns) noexcept;
  void Bill(const ArmedSession& session, bool completed, uint64_t begin_ns, uint64_t waited_ns) noexcept;
  Readiness AskDone(ArmedSession* session, bool recorded) const noexcept;
  void Finish(ThreadState* thread, const RangeFacts& facts, const CompletionConsequence& consequence,
              uint64_t waited_ns) noexcept;
  void LeaveRange() noexcept;

  Parts parts_;
  std::atomic<bool> armed_{false};
  std::atomic<bool> range_taken_{false};
  std::atomic<bool> needs_attention_{false};
  std::atomic<bool> counts_launches_{false};
  std::array<ArmedSession*, kMaxArmed> sessions_ = {};
  uint32_t session_count_ = 0;
  uint32_t group_ = 0;
  GroupKind kind_ = GroupKind::kHardware;
  std::atomic<int64_t> ranges_left_{0};
  std::atomic<uint64_t> cost_limit_ns_{0};
  std::atomic<uint64_t> drain_limit_ns_{0};
  std::atomic<uint32_t> rank_limit_{UINT32_MAX};
  // Of functions by their index, taken once: names have up to 64 KiB. 0: not known yet.
  std::array<std::atomic<uint64_t>, kSampledKernels> name_hashes_ = {};
  // Of whoever has range_taken_ set.
  SkipBackOff back_off_;
  Open open_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_LAUNCH_SAMPLER_H_
