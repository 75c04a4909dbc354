// The thread that takes hardware counters of the running program: plans groups once there is something to count,
// decides about four times a second what to do (counter_schedule.h), and changes between timing and counter windows.
// What happens around a single launch is in launch_sampler.h.
//
// A change of windows holds launches back, waits until calls under way have returned and every context is idle (all
// bounded; otherwise it is tried again later), and only then switches: CUPTI's calls wait for a busy context without a
// limit, and a kernel that waits for a later launch would never end.
//
// A fault ends sampling, with a counter and a note in the trace, and nothing else.
#ifndef GPUEXEC_INJECT_SAMPLER_H_
#define GPUEXEC_INJECT_SAMPLER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inject/config.h"
#include "inject/counter_planner.h"
#include "inject/counter_schedule.h"
#include "inject/cupti_api.h"
#include "inject/device_load.h"
#include "inject/launch_sampler.h"
#include "inject/metric_catalog.h"
#include "inject/range_session.h"
#include "inject/recording.h"
#include "inject/replay_sampler.h"
#include "inject/tensor_evidence.h"
#include "inject/writer.h"

namespace gx::inject {

class Sampler {
 public:
  struct Parts {
    const Config* config = nullptr;
    const CuptiApi* cupti = nullptr;
    const CudaApi* cuda = nullptr;
    ThreadQueues* queues = nullptr;
    const ContextTable* contexts = nullptr;
    const StreamTable* streams = nullptr;
    const ContextBehaviour* behaviour = nullptr;
    CaptureGate* captures = nullptr;
    LaunchHold* hold = nullptr;
    Recording* recording = nullptr;
    Writer* writer = nullptr;
    SamplingNeeds* needs = nullptr;
    SamplingDenyList* deny = nullptr;
    SamplingWatchdog* watchdog = nullptr;
    SamplingTally* tally = nullptr;
    LaunchSampler* launches = nullptr;
    // Fills both tables from the libcupti at a path; null: with what LoadProfilerHost and LoadRangeProfiler find there.
    bool (*load_apis)(const std::string& cupti_path, ProfilerHostApi* host, RangeProfilerApi* range,
                      std::vector<std::string>* problems) = nullptr;
    ReplaySampler* replay = nullptr;  // Null: GPUEXEC_REPLAY=off.
    uint64_t start_monotonic_ns = 0;
  };
  void Attach(const Parts& parts) { parts_ = parts; }

  // The thread's body: returns once Finish was called and the open session has been read.
  void Run();
  // [MT] Asks for the end.
  void Finish() noexcept;
  bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  // Whatever ended Run: nobody need wait for it any more.
  void MarkFinished() noexcept { finished_.store(true, std::memory_order_release); }

  // [watching thread] About ten times a second: notices calls of ours that do not come back, says so, and ends
  // sampling. A thread without any call of CUPTI or the driver: others may be stuck behind the same lock.
  void Watch();

  // [program] Around a call that may destroy a context: sessions in it are read and closed before it, bounded, and none
  // is opened until it returns. A session that could not be closed in time is given up only if its context is then
  // gone.
  void BeforeContextEnds(ContextEnd end = {}) noexcept;
  void AfterContextEnds(ContextEnd end = {}) noexcept;

 private:
  struct Slot {
    ArmedSession armed;
    std::unique_ptr<RangeSession> session;
    uint32_t window_id = 0;
    uint64_t begin_monotonic_ns = 0;
    uint32_t group = 0;
    bool pass_ended = false;              // Its first pass was read, and no second one has begun.
    RangeSession::Failure begin_failure;  // Of its second pass.
  };
  struct Device {
    uint32_t device_id = 0;
    bool usable = false;  // Its groups are those of the plan.
    bool peaks_read = false;
    bool access_told = false;  // Whether its counters may be read.
    bool held_told = false;    // That another tool has them.
  };
  enum class Stage { kWaiting, kSampling, kOff };
  // kFailed: a session was tried, and it is the group's fault.
  enum class Opened { kNo, kFailed, kYes };

  void Work();
  void LetGo() noexcept;
  // Each returns when the thread should look again.
  uint64_t StepOnce();
  uint64_t Decide();

  // Nothing: a capture is open, it has to be tried again.
  std::optional<bool> Prepare(uint32_t device_id);
  bool LoadApis(uint32_t device_id);
  bool CheckDevice(uint32_t device_id, std::string* chip);
  void PlanFor(uint32_t device_id, const std::string& chip);
  void AddDevice(uint32_t device_id);
  void TurnOff() noexcept;
  void NoteReplay();
  void NoteNoWindow();
  void NoteUncounted();
  std::string WhyNoContext() const;
  bool InContextEnd(const ArmedSession& armed) const noexcept;
  bool Lives(const ArmedSession& armed) const noexcept;
  void RefuseAccess(uint32_t device_id, int result, const char* call);

  // A context of each device that may be sampled now.
  std::vector<std::pair<uint32_t, void*>> EligibleContexts() const;
  bool MayHaveSession(uint32_t context_id, const void* context) const;
  bool HasOpenSession(uint32_t device_id) const;
  bool MustLetGo(uint64_t quiet_ns, uint64_t overrun_count) const noexcept;
  void NoteContexts();
  void NoteLoad(uint64_t now_ns);
  bool Quiesce(uint64_t limit_ns, bool patient, bool opens = false);
  void Resume() noexcept;
  void Spend(uint64_t ns) noexcept;
  void LetContextsGo() noexcept;
  bool AllIdle();
  template <typename Body>
  bool WithContext(uint32_t context_id, CUcontext context, Body&& body);

  ScheduleObservation Observe(uint64_t now_ns);
  uint64_t Follow(const ScheduleStep& step);
  Opened OpenWindow(uint32_t group, uint64_t cost_limit_ns);
  // What a session of the group can count after it.
  std::optional<uint32_t> NextOf(uint32_t group) const;
  bool AllSessionsWork() const;
  bool MayGoOn() const;
  Opened GoOnWith(uint32_t group, uint64_t cost_limit_ns);
  Opened BeginPass(Slot* slot, uint32_t group);
  Opened OpenSession(uint32_t context_id, void* context, uint32_t group);
  Opened Refused(Device* device, const RangeSession::Failure& failure, const Slot& slot);
  void NoteNotQuiet();
  void BackToTiming();
  void CloseWindow(bool back_to_timing);
  void CloseSession(Slot* slot, CounterOutcome outcome);
  void ReadSession(Slot* slot, std::vector<RangeValues> values, const std::vector<double>& peaks,
                   const RangeSession::Failure& failure, CounterOutcome outcome);
  void ReadValues(const Slot& slot, std::vector<RangeValues> values);
  void NoteSample(uint32_t place, uint32_t group, const std::vector<std::string>& metrics,
                  const std::vector<double>& values);
  // `in_use`: a launch has a range in it, and goes on writing what it costs.
  void PostSession(const Slot& slot, CounterOutcome outcome, int result, bool in_use = false);
  void Recover();
  void CloseEnding();
  void ForgetDead();
  void GiveUp(std::unique_ptr<Slot> slot, CounterOutcome outcome, bool in_use);
  void EndSessions();

  Parts parts_;
  Pulse wake_;
  std::atomic<bool> finish_{false};
  std::atomic<bool> finished_{false};
  std::atomic<int32_t> contexts_ending_{0};
  // Which, as keys (0: free), and how many that found no place here; how many calls began, and of these are seen to.
  std::array<std::atomic<uint64_t>, 16> ending_ = {};
  std::atomic<int32_t> ending_unnamed_{0};
  std::atomic<uint32_t> endings_begun_{0};
  std::atomic<uint32_t> endings_seen_to_{0};
  std::atomic<bool> touches_contexts_{false};

  // The thread's own.
  Stage stage_ = Stage::kWaiting;
  ProfilerHostApi host_;
  RangeProfilerApi range_;
  std::string chip_;
  CounterPlan plan_;
  std::vector<GroupPair> pairs_;
  std::vector<std::string> peak_metrics_;
  std::vector<ReplayConfig> replay_configs_;
  std::vector<Device> devices_;
  std::optional<CounterSchedule> schedule_;
  bool in_counters_ = false;
  bool window_is_lost_ = false;  // The schedule has to be told that its window is over.
  uint32_t group_ = 0;
  uint64_t hold_ticket_ = 0;                  // Not 0: launches are held and the gate of captures entered, by us.
  bool waits_for_budget_ = false;             // A window would be open, or ranges allowed, if there were more of it.
  uint64_t rotation_cost_ns_ = 0;             // Of the present window so far: what the program waited for it.
  std::vector<std::unique_ptr<Slot>> slots_;  // Armed.
  std::vector<std::unique_ptr<Slot>> left_open_;  // To be closed when the device is idle: abandoned, or it was busy.
  std::set<std::pair<uint32_t, CounterDenialReason>> noted_contexts_;  // Told as never sampled.
  uint64_t next_rank_ns_ = 0;
  DeviceLoad load_;
  // The last look at it: when, in which window, and what kernels had taken by then. Window 0: there was none.
  uint64_t load_seen_ns_ = 0;
  uint32_t load_window_id_ = 0;
  uint64_t load_kernels_ns_ = 0;
  uint32_t turn_ = 0;  // Several contexts of a device take turns.
  // Of each context, by its id: an event with which it is asked whether it is idle. Its context takes it along.
  std::unordered_map<uint32_t, CUevent> idle_events_;
  std::unordered_map<uint32_t, TensorEvidence> tensor_;  // By place in the needs.
  // How long launches are held for a change of windows, and when the next one may be tried.
  uint64_t hold_ns_ = 50'000'000;
  uint64_t quiet_pause_ns_ = 0;
  uint64_t next_quiet_ns_ = 0;
  bool was_busy_ = false;         // The last Quiesce waited in vain, and nobody wanted it to end.
  uint32_t unquiet_windows_ = 0;  // In a row.
  uint64_t held_pause_ns_ = 0;    // Another tool has the counters.
  uint32_t counters_window_id_ = 0;
  uint32_t unswitched_window_id_ = 0;  // A counter window of ours that has yet to be ended.
  // What is told where no window was opened.
  bool api_loaded_ = false;
  bool was_recording_ = false;
  bool had_context_ = false;
  uint32_t windows_opened_ = 0;
  std::string no_context_text_;
  uint64_t next_recovery_ns_ = 0;
  uint64_t recovery_pause_ns_ = 0;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_SAMPLER_H_
