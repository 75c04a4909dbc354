#include "inject/replay_sampler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "inject/boundary.h"
#include "inject/clock.h"
#include "inject/context_idle.h"
#include "inject/counter_records.h"
#include "inject/device_peaks.h"
#include "inject/log.h"

namespace gx::inject {
namespace {

// A program that launches everything within its first milliseconds has no plan yet: loading libnvperf and planning take
// some 0.5 s, once.
constexpr uint64_t kPlanWaitNs = 3'000'000'000;
// Calls of other threads return within microseconds, or wait for the device themselves.
constexpr uint64_t kQuiesceLimitNs = 500'000'000;
// A launch that came between would be replayed as well, which CUPTI does not survive: held as long as the watchdog is
// patient.
constexpr uint64_t kReplayHoldNs = 30'000'000'000;
constexpr uint64_t kContextEndWaitNs = 2'000'000'000;

}  // namespace

// ---------------------------------------------------------------------------------------------- the sampler's thread

void ReplaySampler::Attach(const Parts& parts, uint32_t places) {
  parts_ = parts;
  seen_ = std::make_unique<Seen[]>(places);
  places_ = places;
  off_.store(false, std::memory_order_release);
}

void ReplaySampler::SetPlan(Plan plan) {
  if (plan_state_.load(std::memory_order_relaxed) != PlanState::kNone) return;
  plan_ = std::move(plan);
  if (plan_.configs.empty()) return GiveUp();
  plan_state_.store(PlanState::kReady, std::memory_order_release);
}

void ReplaySampler::GiveUp() noexcept {
  off_.store(true, std::memory_order_release);
  PlanState none = PlanState::kNone;
  plan_state_.compare_exchange_strong(none, PlanState::kNever, std::memory_order_release);
}

void ReplaySampler::AddDevice(uint32_t device_id) noexcept {
  if (device_id < 64) devices_mask_.fetch_or(uint64_t{1} << device_id, std::memory_order_release);
}

std::optional<ReplaySampler::Failure> ReplaySampler::TakeFailure() noexcept {
  if (!failed_.exchange(false, std::memory_order_acquire)) return std::nullopt;
  return failure_;
}

// ---------------------------------------------------------------------------------------------- whether

bool ReplaySampler::IsCandidate(uint32_t place) noexcept {
  if (is_off() || place >= places_) return false;
  Seen& seen = seen_[place];
  const uint32_t earlier = seen.launches.fetch_add(1, std::memory_order_relaxed);
  const uint64_t now_ns = MonotonicNs();
  const uint64_t last_ns = seen.last_ns.exchange(now_ns, std::memory_order_relaxed);
  // The count has gone round.
  if (earlier == UINT32_MAX) seen.launches.store(kRareLaunches, std::memory_order_relaxed);
  return IsRare(earlier, last_ns == 0 || last_ns > now_ns ? 0 : now_ns - last_ns);
}

// Once in a run, and by one thread: what is launched meanwhile is not replayed.
bool ReplaySampler::WaitForPlan() noexcept {
  if (plan_state_.load(std::memory_order_acquire) == PlanState::kNone &&
      !plan_waited_.exchange(true, std::memory_order_relaxed)) {
    const uint64_t begin_ns = MonotonicNs();
    plan_wanted_.store(true, std::memory_order_release);
    (void)WaitUntil(
        [this] {
          return plan_state_.load(std::memory_order_acquire) != PlanState::kNone || is_off() ||
                 contexts_ending_.load(std::memory_order_seq_cst) != 0;
        },
        kPlanWaitNs);
    plan_wanted_.store(false, std::memory_order_release);
    parts_.tally->Spend(MonotonicNs() - begin_ns);
  }
  return plan_state_.load(std::memory_order_acquire) == PlanState::kReady;
}

// Whether something else can run while the launch does, that it may be waiting for: any other stream or context of its
// device. What is behind it in its only stream cannot; what the host writes would need memory that is refused.
bool ReplaySampler::OthersMayRun(const ThreadState* thread, const LaunchToSample& launch) const {
  if (launch.stream != nullptr && launch.stream != CU_STREAM_LEGACY) return true;
  const uint64_t thread_id = thread->thread_id.load(std::memory_order_relaxed);
  if (parts_.streams->DoubtOf(launch.context, thread_id) != IdleDoubt::kNone) return true;
  if (parts_.streams->Count(launch.context) != 0 || parts_.streams->UsesPerThread(launch.context, thread_id))
    return true;
  uint32_t contexts = 0;
  uint32_t device_id = 0;
  if (!parts_.contexts->Device(launch.context_id, &device_id)) return true;
  parts_.contexts->ForEachId([&](uint32_t, uint32_t device, void*) { contexts += device == device_id ? 1 : 0; });
  return contexts != 1;
}

ReplayFacts ReplaySampler::FactsOf(ThreadState* thread, const LaunchToSample& launch, uint32_t place, uint32_t function,
                                   const ReplayConfig& config) const {
  ReplayFacts facts;
  facts.plan_ready = true;
  facts.timing_window = parts_.recording->window_kind() == WindowKind::kTiming &&
                        parts_.tally->open_sessions.load(std::memory_order_acquire) == 0 &&
                        contexts_ending_.load(std::memory_order_seq_cst) == 0;
  facts.capture_open = parts_.captures->captures() != 0;
  LaunchBehaviour behaviour = parts_.behaviour->Of(launch.context);
  behaviour.cooperative = launch.parameters.cooperative != 0;
  facts.denied = DenyByBehaviour(behaviour) != DenyReason::kNone;
  facts.others_may_run = OthersMayRun(thread, launch);
  facts.graduated = parts_.needs->HasGraduated(function);
  facts.passes = config.passes;
  facts.longest_ns = parts_.needs->LongestNs(place);
  facts.session_ns = session_ns_.value();
  facts.spent_ns = spent_ns_.load(std::memory_order_relaxed);
  facts.counters_ns = parts_.tally->cost_ns.load(std::memory_order_relaxed);
  facts.wall_ns = MonotonicNs() - parts_.start_monotonic_ns;
  facts.budget_ratio = parts_.budget_ratio;
  return facts;
}

void ReplaySampler::Refuse(ReplayRefusal refusal) {
  if (refusal == ReplayRefusal::kNone || refusal == ReplayRefusal::kNotNow) return;
  Stats().Add(StatId::kCounterReplaysRefused);
  const uint32_t bit = 1u << static_cast<uint32_t>(refusal);
  if ((told_mask_.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  parts_.writer->Post(DiagnosticItem{StatId::kCounterReplaysRefused,
                                     "a launch was not replayed: " + std::string(ReplayRefusalText(refusal))});
}

bool ReplaySampler::MemoryAllows(uint64_t used_bytes) {
  const char* why = nullptr;
  if (parts_.memory->MayReplay(used_bytes, kReplayMemoryBytes, &why)) return true;
  Stats().Add(StatId::kCounterReplaysRefused);
  if (!memory_told_.exchange(true, std::memory_order_relaxed)) {
    parts_.writer->Post(
        DiagnosticItem{StatId::kCounterReplaysRefused, "launches are not replayed: " + std::string(why)});
  }
  return false;
}

bool ReplaySampler::Consider(ThreadState* thread, const LaunchToSample& launch, uint32_t place, uint32_t function) {
  // What needs no plan, first: a program whose launches cannot be replayed does not wait for one.
  if (parts_.captures->captures() != 0) return false;
  if (!MemoryAllows(1)) return false;
  if (OthersMayRun(thread, launch) && !parts_.needs->HasGraduated(function)) {
    Refuse(ReplayRefusal::kMayWait);
    return false;
  }
  if (!WaitForPlan()) return false;
  uint32_t device_id = 0;
  if (!parts_.contexts->Device(launch.context_id, &device_id) || !Has(devices_mask_, device_id)) return false;
  const ReplayConfig* const config = ChooseReplay(plan_.configs, [&](uint32_t group) -> std::optional<uint32_t> {
    if (!parts_.needs->Lacks(place, group)) return std::nullopt;
    return parts_.needs->Samples(place, group);
  });
  if (config == nullptr) return false;
  const ReplayRefusal refusal = JudgeReplay(FactsOf(thread, launch, place, function, *config));
  if (refusal != ReplayRefusal::kNone) {
    Refuse(refusal);
    return false;
  }
  open_.launch = launch;
  open_.place = place;
  open_.function = function;
  open_.device_id = device_id;
  open_.config = config;
  return true;
}

// ---------------------------------------------------------------------------------------------- before the launch

// Launches of others held, none under way, the context idle.
bool ReplaySampler::Quiesce(ThreadState* thread) {
  open_.in_gate = parts_.captures->Enter();
  if (!open_.in_gate) return false;
  // A capture that begins meanwhile waits until all passes have run.
  parts_.captures->WaitLonger(kReplayHoldNs);
  open_.hold_ticket = parts_.hold->HoldFor(kReplayHoldNs);
  if (open_.hold_ticket == 0) return false;
  open_.overrun_count = parts_.hold->overrun_count();
  CUcontext current = nullptr;
  if (parts_.cuda->cuCtxGetCurrent == nullptr || parts_.cuda->cuCtxGetCurrent(&current) != CUDA_SUCCESS ||
      current != open_.launch.context) {
    return false;
  }
  const uint64_t thread_id = thread->thread_id.load(std::memory_order_relaxed);
  const uint64_t begin_ns = MonotonicNs();
  bool interrupted = false;
  const uint32_t watched = parts_.watchdog->Enter(SamplingCall::kQueryStream, begin_ns);
  const bool idle = WaitUntil(
      [&] {
        interrupted = parts_.captures->captures() != 0 || contexts_ending_.load(std::memory_order_seq_cst) != 0;
        return interrupted ||
               (!parts_.hold->CallsUnderWay(*parts_.queues, thread) &&
                AskContext(*parts_.cuda, *parts_.streams, open_.launch.context, thread_id) == Readiness::kReady);
      },
      kQuiesceLimitNs);
  parts_.watchdog->Leave(watched);
  open_.idle_wait_ns = MonotonicNs() - begin_ns;
  if (!idle) Refuse(ReplayRefusal::kBusy);
  return idle && !interrupted && parts_.hold->overrun_count() == open_.overrun_count;
}

bool ReplaySampler::OpenSession() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  uint64_t used_bytes = 0;
  if (parts_.cuda->cuMemGetInfo_v2 != nullptr &&
      parts_.cuda->cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS && free_bytes < total_bytes) {
    used_bytes = total_bytes - free_bytes;
  }
  if (!MemoryAllows(used_bytes)) return false;
  open_.switched = parts_.recording->SwitchTo(WindowKind::kTiming, WindowKind::kCounters);
  if (!open_.switched) return false;
  open_.window_id = parts_.recording->window_id().load(std::memory_order_relaxed);
  open_.session = std::make_unique<RangeSession>(*plan_.host, *plan_.range, parts_.watchdog);
  RangeSession::Options options;
  options.context = open_.launch.context;
  options.chip = plan_.chip;
  options.metrics = open_.config->metrics;
  if (!has_peaks(open_.device_id)) options.extra_metrics = plan_.peak_metrics;
  options.max_ranges = 1;
  options.kernel_replay = true;
  Stats().Add(StatId::kCounterSessions);
  const RangeSession::Failure failure = open_.session->Open(options);
  if (!failure.failed()) {
    opened_mask_.fetch_or(uint64_t{1} << open_.device_id, std::memory_order_release);
    return true;
  }
  Fail(failure);
  return false;
}

bool ReplaySampler::Before(ThreadState* thread, const LaunchToSample& launch, uint32_t place,
                           uint32_t function) noexcept {
  if (is_off() || parts_.watchdog->off() || launch.work != DeviceWork::kKernel) return false;
  if (taken_.exchange(true, std::memory_order_seq_cst)) return false;
  bool opened = false;
  uint64_t begin_ns = 0;
  // A fault of ours ends it: nothing says that the next launch would fare better.
  bool whole = false;
  const auto body = [&] {
    open_ = {};
    // A context that is about to end, and Finish, wait for taken_, and this looks at them: one sees the other.
    if (off_.load(std::memory_order_seq_cst) || contexts_ending_.load(std::memory_order_seq_cst) != 0) return;
    if (!Consider(thread, launch, place, function)) return;
    begin_ns = MonotonicNs();
    open_.begin_ns = begin_ns;
    opened = Quiesce(thread) && OpenSession();
  };
  Guarded([&] {
    body();
    whole = true;
  });
  if (!whole) off_.store(true, std::memory_order_release);
  if (!opened) {
    if (begin_ns != 0) {
      parts_.tally->Spend(MonotonicNs() - begin_ns);
      spent_ns_.fetch_add(MonotonicNs() - begin_ns, std::memory_order_relaxed);
    }
    Leave();
    return false;
  }
  thread->replayed_correlation_id = launch.correlation_id;
  open_.launch_ns = MonotonicNs();
  open_.spent_ns = open_.launch_ns - begin_ns;
  open_.watched = parts_.watchdog->Enter(SamplingCall::kReplayedLaunch, open_.launch_ns);
  return true;
}

// ---------------------------------------------------------------------------------------------- after the launch

void ReplaySampler::After(ThreadState* thread, uint32_t result) noexcept {
  parts_.watchdog->Leave(open_.watched);
  thread->replayed_correlation_id = 0;
  const uint64_t begin_ns = MonotonicNs();
  open_.launch_took_ns = begin_ns - open_.launch_ns;
  bool whole = false;
  Guarded([&] {
    Read(thread, result);
    whole = true;
  });
  if (!whole) off_.store(true, std::memory_order_release);
  const uint64_t end_ns = MonotonicNs();
  // All passes but one are ours; how long one takes is not known.
  const uint64_t spent_ns = end_ns - open_.begin_ns;
  parts_.tally->Spend(spent_ns);
  spent_ns_.fetch_add(spent_ns, std::memory_order_relaxed);
  session_ns_.Add(open_.spent_ns + (end_ns - begin_ns));
  Leave();
}

void ReplaySampler::Read(ThreadState* thread, uint32_t result) {
  std::vector<RangeValues> values;
  std::vector<double> peaks;
  const RangeSession::Failure failure = open_.session->Close(&values, &peaks);
  if (failure.failed()) Fail(failure);
  // Exactly the one launch: another's would mean that it was held for too long, and went on.
  const bool alone = parts_.hold->IsHeldBy(open_.hold_ticket) && parts_.hold->overrun_count() == open_.overrun_count;
  const bool valid = result == 0 && values.size() == 1 && alone;
  if (!valid) {
    Stats().Add(StatId::kCounterVoidRanges);
    Stats().Add(result != 0 && !failure.failed() ? StatId::kCounterVoidLaunchRefused
                : values.size() == 1             ? StatId::kCounterVoidForeignLaunch
                                                 : StatId::kCounterVoidCallFailed);
    for (const ReplayConfig::Part& part : open_.config->parts) {
      (void)parts_.needs->Record(open_.place, part.group, SampleOutcome::kVoid);
    }
  }
  if (valid && !peaks.empty()) {
    peaks_mask_.fetch_or(uint64_t{1} << open_.device_id, std::memory_order_release);
    parts_.writer->PostCounters(MakeDevicePeaks(open_.device_id, MonotonicNs(), plan_.peak_metrics, peaks));
  }
  // It ended alone: nothing that came later was needed.
  if (valid) parts_.needs->Graduate(open_.function);
  Post(thread, valid ? &values.front().values : nullptr, failure.result);
}

// A session of the trace for each group, the costs with the first.
void ReplaySampler::Post(ThreadState* thread, const std::vector<double>* values, int cupti_result) {
  bool first = true;
  for (const ReplayConfig::Part& part : open_.config->parts) {
    CounterSessionRecord session;
    session.session_id = parts_.tally->last_session_id.fetch_add(1, std::memory_order_relaxed) + 1;
    session.window_id = open_.window_id;
    session.context_id = open_.launch.context_id;
    session.group_iid = CounterGroupIid(open_.device_id, part.group);
    session.begin_monotonic_ns = open_.begin_ns;
    session.end_monotonic_ns = MonotonicNs();
    session.outcome = cupti_result == 0 ? CounterOutcome::kComplete : CounterOutcome::kFailed;
    session.cupti_result = static_cast<uint64_t>(cupti_result);
    session.range_count = 1;
    if (std::exchange(first, false)) {
      const RangeSessionCosts& costs = open_.session->costs();
      session.idle_wait_ns = open_.idle_wait_ns;
      session.completion_wait_ns = open_.launch_took_ns;
      session.enable_ns = costs.enable_ns;
      session.start_ns = costs.start_ns;
      session.stop_ns = costs.stop_ns;
      session.decode_ns = costs.decode_ns;
      session.disable_ns = costs.disable_ns;
    }
    if (values != nullptr) {
      const std::vector<std::string>& metrics = plan_.groups[part.group].metrics;
      CounterRangeValues range;
      range.flags = kCounterReplayed;
      uint64_t unavailable = 0;
      for (size_t i = 0; i < part.columns.size(); ++i) {
        const double value = (*values)[part.columns[i]];
        if (std::isnan(value)) ++unavailable;
        if (value > 0 && metrics[i].starts_with("sm__pipe_tensor_cycles_active") && metrics[i].ends_with(".sum")) {
          parts_.needs->SetTensorActive(open_.place);
        }
        range.values.push_back(value);
      }
      if (unavailable != 0) Stats().Add(StatId::kCounterNanValues, unavailable);
      auto* event = thread->queue.Reserve<RangeEvent>(EventType::kRange);
      if (event == nullptr) {
        Stats().Add(StatId::kCounterSamplesDropped);
      } else {
        event->session_id = static_cast<uint32_t>(session.session_id);
        event->range_order = 0;
        event->correlation_id = open_.launch.correlation_id;
        event->flags = static_cast<uint32_t>(kCounterReplayed);
        thread->queue.Commit();
        CounterValuesItem item;
        item.session_id = static_cast<uint32_t>(session.session_id);
        item.group_iid = session.group_iid;
        item.window_id = open_.window_id;
        item.context_id = open_.launch.context_id;
        item.ranges.push_back(std::move(range));
        parts_.writer->PostCounters(std::move(item));
        Stats().Add(StatId::kCounterSamples);
        parts_.tally->samples.fetch_add(1, std::memory_order_relaxed);
        (void)parts_.needs->Record(open_.place, part.group, SampleOutcome::kValid);
      }
    }
    parts_.writer->PostCounters(session);
  }
}

void ReplaySampler::Fail(const RangeSession::Failure& failure) noexcept {
  // That counters are not to be had is no fault, and told by itself.
  if (!SaysAccess(failure.result)) Stats().Add(StatId::kCounterSessionsFailed);
  off_.store(true, std::memory_order_release);
  failure_ = {open_.device_id, failure.result, failure.call};
  failed_.store(true, std::memory_order_release);
}

void ReplaySampler::Leave() noexcept {
  // One that is open still, after a fault of ours: its memory stays.
  open_.session.reset();
  if (open_.switched) (void)parts_.recording->SwitchTo(WindowKind::kCounters, WindowKind::kTiming);
  if (open_.hold_ticket != 0) parts_.hold->Release(open_.hold_ticket);
  if (open_.in_gate) {
    parts_.captures->WaitLonger(0);
    parts_.captures->Leave();
  }
  open_.hold_ticket = 0;
  open_.switched = open_.in_gate = false;
  taken_.store(false, std::memory_order_seq_cst);
}

// ---------------------------------------------------------------------------------------------- ends

void ReplaySampler::BeforeContextEnds() noexcept {
  contexts_ending_.fetch_add(1, std::memory_order_seq_cst);
  if (!WaitUntil([this] { return !taken_.load(std::memory_order_seq_cst); }, kContextEndWaitNs)) {
    Stats().Add(StatId::kUnloadWaitTimedOut);
  }
}

void ReplaySampler::Finish(uint64_t timeout_ns) noexcept {
  off_.store(true, std::memory_order_seq_cst);
  (void)WaitUntil([this] { return !taken_.load(std::memory_order_seq_cst); }, timeout_ns);
}

}  // namespace gx::inject
