// GPUEXEC_REPLAY: runs a rare launch several times for its counters, inside its own callbacks: a session of CUPTI's
// kernel replay (range_session.h) is opened in the one before the driver's function and read in the one after it. That
// takes some 0.4 s and 15 ms a pass, during which launches of other threads are held and activities are off. Which
// launches: replay_decision.h.
//
// Unlike everything else in launch callbacks this allocates and waits: who asks for replay has accepted that. Every
// wait has a deadline but for CUPTI's own calls and the launch, which the watchdog sees. A call that fails ends replay
// for the run; the launch goes on.
//
// Threads: Before and After are called by the program's threads, one of which replays at a time; the rest says so.
#ifndef GPUEXEC_INJECT_REPLAY_SAMPLER_H_
#define GPUEXEC_INJECT_REPLAY_SAMPLER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inject/launch_sampler.h"
#include "inject/recording.h"
#include "inject/replay_decision.h"
#include "inject/replay_memory.h"
#include "inject/writer.h"

namespace gx::inject {

class ReplaySampler {
 public:
  struct Parts {
    const CudaApi* cuda = nullptr;
    const ThreadQueues* queues = nullptr;
    const ContextTable* contexts = nullptr;
    const StreamTable* streams = nullptr;
    const ContextBehaviour* behaviour = nullptr;
    const ReplayMemory* memory = nullptr;
    CaptureGate* captures = nullptr;
    LaunchHold* hold = nullptr;
    Recording* recording = nullptr;
    Writer* writer = nullptr;
    SamplingNeeds* needs = nullptr;
    SamplingWatchdog* watchdog = nullptr;
    SamplingTally* tally = nullptr;
    std::optional<double> budget_ratio;
    uint64_t start_monotonic_ns = 0;
  };
  // A call that failed, for the trace.
  struct Failure {
    uint32_t device_id = 0;
    int result = 0;
    const char* call = nullptr;
  };
  // What sessions are made of; `host` and `range` live as long as the process.
  struct Plan {
    const ProfilerHostApi* host = nullptr;
    const RangeProfilerApi* range = nullptr;
    std::string chip;
    std::vector<ReplayConfig> configs;
    std::vector<PlannedGroup> groups;
    std::vector<std::string> peak_metrics;
  };

  // Before any launch is seen. `places`: of the needs. Not called inside a
  // callback.
  void Attach(const Parts& parts, uint32_t places);

  // ------------------------------------------------------------------------------------------- the sampler's thread
  // Once: the plan, or that there will be none.
  void SetPlan(Plan plan);
  void GiveUp() noexcept;
  // The groups of a device are in the trace.
  void AddDevice(uint32_t device_id) noexcept;
  // A launch waits for the plan.
  bool plan_wanted() const noexcept { return plan_wanted_.load(std::memory_order_acquire); }
  // Once for each failure.
  std::optional<Failure> TakeFailure() noexcept;
  // Whether a session was opened on the device, and whether its peaks were read.
  bool has_opened(uint32_t device_id) const noexcept { return Has(opened_mask_, device_id); }
  bool has_peaks(uint32_t device_id) const noexcept { return Has(peaks_mask_, device_id); }

  // ------------------------------------------------------------------------------------------- the program's threads
  // Counts the launch; whether it is rare, and replay not over.
  bool IsCandidate(uint32_t place) noexcept;
  // For a candidate whose function's name is not denied: opens the session, or says no. `function`: its index in the
  // needs.
  bool Before(ThreadState* thread, const LaunchToSample& launch, uint32_t place, uint32_t function) noexcept;
  // After the launch that Before said yes to; `result`: CUresult of the launch.
  void After(ThreadState* thread, uint32_t result) noexcept;
  // Around a call that may destroy a context.
  void BeforeContextEnds() noexcept;
  void AfterContextEnds() noexcept { contexts_ending_.fetch_sub(1, std::memory_order_seq_cst); }

  // [MT] No more replay; waits, bounded, for the one under way.
  void Finish(uint64_t timeout_ns) noexcept;
  // [MT]
  bool is_off() const noexcept { return off_.load(std::memory_order_acquire); }

 private:
  enum class PlanState : uint32_t { kNone, kReady, kNever };
  // Of a signature.
  struct Seen {
    std::atomic<uint32_t> launches{0};
    std::atomic<uint64_t> last_ns{0};
  };
  // The replay under way; whoever has `taken_` set uses it.
  struct Open {
    LaunchToSample launch;
    uint32_t place = SamplingNeeds::kNone;
    uint32_t function = 0;
    uint32_t device_id = 0;
    const ReplayConfig* config = nullptr;
    std::unique_ptr<RangeSession> session;
    uint64_t begin_ns = 0;
    uint64_t spent_ns = 0;        // Before the launch.
    uint64_t launch_ns = 0;       // When the driver's function began.
    uint64_t launch_took_ns = 0;  // With all passes.
    uint64_t idle_wait_ns = 0;
    uint64_t overrun_count = 0;
    uint32_t window_id = 0;
    uint32_t watched = SamplingWatchdog::kNone;
    // What is to be undone.
    bool in_gate = false;
    uint64_t hold_ticket = 0;
    bool switched = false;
  };

  static bool Has(const std::atomic<uint64_t>& mask, uint32_t device_id) noexcept {
    return device_id < 64 && (mask.load(std::memory_order_acquire) >> device_id & 1u) != 0;
  }
  bool WaitForPlan() noexcept;
  bool Consider(ThreadState* thread, const LaunchToSample& launch, uint32_t place, uint32_t function);
  ReplayFacts FactsOf(ThreadState* thread, const LaunchToSample& launch, uint32_t place, uint32_t function,
                      const ReplayConfig& config) const;
  bool OthersMayRun(const ThreadState* thread, const LaunchToSample& launch) const;
  bool Quiesce(ThreadState* thread);
  bool MemoryAllows(uint64_t used_bytes);
  bool OpenSession();
  void Refuse(ReplayRefusal refusal);
  void Fail(const RangeSession::Failure& failure) noexcept;
  void Read(ThreadState* thread, uint32_t result);
  void Post(ThreadState* thread, const std::vector<double>* values, int cupti_result);
  void Leave() noexcept;

  Parts parts_;
  std::unique_ptr<Seen[]> seen_;
  uint32_t places_ = 0;
  std::atomic<bool> off_{true};
  std::atomic<PlanState> plan_state_{PlanState::kNone};
  std::atomic<bool> plan_wanted_{false};
  std::atomic<bool> plan_waited_{false};
  Plan plan_;
  // Bits of devices.
  std::atomic<uint64_t> devices_mask_{0};
  std::atomic<uint64_t> opened_mask_{0};
  std::atomic<uint64_t> peaks_mask_{0};
  std::atomic<bool> taken_{false};
  std::atomic<int32_t> contexts_ending_{0};
  std::atomic<uint64_t> spent_ns_{0};
  RunningMean session_ns_;
  std::atomic<uint32_t> told_mask_{0};  // Refusals that the trace knows of.
  std::atomic<bool> memory_told_{false};
  std::atomic<bool> failed_{false};
  Failure failure_;
  // Of whoever has taken_ set.
  Open open_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_REPLAY_SAMPLER_H_
