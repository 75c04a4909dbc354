#include "inject/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "inject/boundary.h"
#include "inject/clock.h"
#include "inject/context_idle.h"
#include "inject/counter_records.h"
#include "inject/cupti_params.h"
#include "inject/cupti_traps.h"
#include "inject/device_peaks.h"
#include "inject/keep_alive.h"
#include "inject/log.h"
#include "inject/state.h"

namespace gx::inject {
namespace {

constexpr uint64_t kRankPeriodNs = 250'000'000;
constexpr uint64_t kLongestSleepNs = 250'000'000;
constexpr uint64_t kShortestSleepNs = 1'000'000;
// A launch may be waiting for the plan.
constexpr uint64_t kReplayWaitSleepNs = 5'000'000;
// How long launches are held for a change of windows, at the first try and at most; between tries they run.
constexpr uint64_t kFirstHoldNs = 50'000'000;
constexpr uint64_t kLongestHoldNs = 1'000'000'000;
constexpr uint32_t kHoldTries = 2;
constexpr uint64_t kBetweenHoldsNs = 50'000'000;
// Less time than that is not worth a hold.
constexpr uint64_t kShortestHoldNs = 100'000;
// Several devices are armed and closed one after another; a capture that begins waits a second for all of them.
constexpr uint64_t kOneHoldNs = 300'000'000;
// Windows in a row for which the device was not quiet in time, over one and a half minutes: then there is no use.
constexpr uint32_t kMaxUnquietWindows = 10;
// Another tool has the counters.
constexpr uint64_t kFirstHeldPauseNs = 64'000'000'000;
// A sampled launch that is under way when a window is to end has its own deadline; sessions are not touched before.
constexpr uint64_t kRangeEndNs = kMaxCompletionLimitNs + 1'000'000'000;
// Tries to end a session that was left open: each holds launches for a moment, so they become rarer.
constexpr uint64_t kFirstRecoveryPauseNs = 50'000'000;
constexpr uint64_t kLongestRecoveryPauseNs = 3'600'000'000'000;
constexpr uint64_t kLongestRecoveryHoldNs = 50'000'000;
constexpr uint64_t kFirstQuietPauseNs = 250'000'000;
constexpr uint64_t kLongestQuietPauseNs = 32'000'000'000;
constexpr uint64_t kContextEndWaitNs = 2'000'000'000;
// Of GPU time, what the first round is for.
constexpr double kFirstSharePercent = 98.5;
// Of patched code in a session that counts something else first: each takes 2 ms of its opening, and a budget seldom
// allows more of them at a time. Fewer in the first window, which is paid for in advance.
constexpr uint32_t kMaxFirstNextPlaces = 48;
constexpr uint32_t kMaxNextPlaces = 128;
// At the end of the program, and before a context goes.
constexpr uint64_t kLastHoldNs = 300'000'000;

std::string ReadSmallFile(const char* path) {
  std::string content;
  FILE* file = std::fopen(path, "re");
  if (file == nullptr) return content;
  char chunk[4096];
  size_t length = 0;
  while (content.size() < 65536 && (length = std::fread(chunk, 1, sizeof(chunk), file)) != 0) {
    content.append(chunk, length);
  }
  std::fclose(file);
  return content;
}

// In the current context. Null: the driver has none for us; then streams are asked instead.
CUevent NewEvent(const CudaApi& cuda) {
  CUevent event = nullptr;
  if (cuda.cuEventCreate == nullptr || cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    return nullptr;
  return event;
}

// Of a context, or of a device. Never 0.
uint64_t KeyOf(const ContextEnd& end) noexcept {
  if (end.context != nullptr) return reinterpret_cast<uintptr_t>(end.context);
  return end.device < 0 ? UINT64_MAX : uint64_t{static_cast<uint32_t>(end.device)} * 2 + 1;
}

static_assert(kMaxSessionPlaces == kMaxSessionRanges);

}  // namespace

// ---------------------------------------------------------------------------------------------- the thread

void Sampler::Finish() noexcept {
  finish_.store(true, std::memory_order_release);
  wake_.Signal();
}

void Sampler::Run() {
  try {
    Work();
  } catch (...) {
    // No memory, as a rule. Recording goes on without counters.
    LetGo();
  }
}

// After a fault: nobody waits for us, timings come back, and sessions stay as they are.
void Sampler::LetGo() noexcept {
  parts_.watchdog->TurnOff();
  parts_.launches->Forbid();
  parts_.launches->CountLaunches(false);
  (void)parts_.launches->Disarm(0);
  if (hold_ticket_ != 0) Resume();
  Stats().Add(StatId::kCounterSessionsFailed);
  // A launch callback, and CUPTI, may still look at them.
  for (auto* slots : {&slots_, &left_open_}) {
    for (auto& slot : *slots) KeepAlive(std::move(slot));
    slots->clear();
  }
  touches_contexts_.store(false, std::memory_order_seq_cst);
  try {
    (void)parts_.recording->SwitchTo(WindowKind::kCounters, WindowKind::kTiming);
    parts_.writer->Post(DiagnosticItem{StatId::kCounterSessionsFailed, "counters are off from here on: no memory"});
  } catch (...) {
  }
}

void Sampler::Work() {
  // What CUPTI calls for us is not the program's.
  if (ThreadState* const own = parts_.queues->Current(); own != nullptr) own->inside = true;
  parts_.launches->CountLaunches(true);
  while (!finish_.load(std::memory_order_acquire)) {
    const uint32_t seen = wake_.count();
    const uint64_t next_ns = StepOnce();
    const uint64_t now_ns = MonotonicNs();
    const uint64_t sleep_ns = next_ns > now_ns ? next_ns - now_ns : 0;
    wake_.WaitFor(seen, std::clamp(sleep_ns, kShortestSleepNs, kLongestSleepNs));
  }
  if (waits_for_budget_) Stats().Add(StatId::kCounterBudgetSpent);
  if (in_counters_) CloseWindow(false);
  EndSessions();
  NoteReplay();
  NoteNoWindow();
  NoteUncounted();
}

// A run without counters, and nothing else says why.
void Sampler::NoteNoWindow() {
  const uint64_t launches = Stats().Get(StatId::kLaunchesSeen) + Stats().Get(StatId::kGraphLaunchesSeen);
  if (windows_opened_ != 0 || stage_ == Stage::kOff || launches == 0) return;
  for (const StatId told : {StatId::kCounterSamples, StatId::kCounterSessionsFailed, StatId::kCounterUnsupported,
                            StatId::kCounterBudgetSpent}) {
    if (Stats().Get(told) != 0) return;
  }
  StatId stat = StatId::kCounterRunTooShort;
  std::string text = "no hardware counters: ";
  if (unquiet_windows_ != 0) {
    stat = StatId::kCounterNotQuiet;  // Each time was counted.
    text += "the device was not idle in time, " + std::to_string(unquiet_windows_) +
            " times: the program stays ahead of it, or a kernel runs for long";
  } else if (stage_ == Stage::kWaiting) {
    text += "the run ended before the groups of counters were planned";
  } else if (!had_context_) {
    stat = StatId::kCounterNoContext;
    text += no_context_text_.empty() ? "no context to count in lived long enough" : no_context_text_;
  } else if (!was_recording_) {
    stat = StatId::kCounterRegionOff;
    text += "the recorded region was never open while they could be taken";
  } else {
    const SamplingNeeds::Summary needs = parts_.needs->Summarise();
    char facts[200];
    (void)std::snprintf(facts, sizeof(facts),
                        "launches are timed first, %.0f %% of the known GPU time had its timings and %.0f %% of the "
                        "launches any when the run ended after %.1f s (90 %% are waited for, 10 s at most)",
                        needs.timed_ratio * 100, needs.timed_launch_ratio * 100,
                        static_cast<double>(MonotonicNs() - parts_.start_monotonic_ns) / 1e9);
    text += facts;
  }
  if (stat != StatId::kCounterNotQuiet) Stats().Add(stat);
  Log("%s", text.c_str());
  parts_.writer->Post(DiagnosticItem{stat, std::move(text)});
}

// What the parts count by themselves.
void Sampler::NoteUncounted() {
  if (const uint64_t count = parts_.needs->without_place(); count != 0)
    Stats().Add(StatId::kCounterWithoutPlace, count);
  if (const uint64_t count = parts_.captures->untracked(); count != 0) {
    Stats().Add(StatId::kCounterCapturesUntracked, count);
  }
  if (const uint64_t count = parts_.watchdog->unwatched(); count != 0) {
    Stats().Add(StatId::kCounterCallsUnwatched, count);
  }
}

// What replay, on the program's threads, leaves to be told.
void Sampler::NoteReplay() {
  if (parts_.replay == nullptr) return;
  for (Device& device : devices_) {
    if (parts_.replay->has_opened(device.device_id) && !std::exchange(device.access_told, true)) {
      parts_.writer->PostCounters(MakeCounterAccess(device.device_id, {}, {}, MonotonicNs()));
    }
  }
  const std::optional<ReplaySampler::Failure> failure = parts_.replay->TakeFailure();
  if (!failure) return;
  if (SaysAccess(failure->result)) {
    for (Device& device : devices_) {
      if (device.device_id == failure->device_id && !std::exchange(device.access_told, true)) {
        RefuseAccess(device.device_id, failure->result, failure->call);
      }
    }
    return;
  }
  parts_.writer->Post(DiagnosticItem{
      StatId::kCounterSessionsFailed,
      "no more launches are replayed: " + std::string(failure->call) + " returned " + std::to_string(failure->result)});
}

void Sampler::TurnOff() noexcept {
  parts_.watchdog->TurnOff();
  parts_.launches->Forbid();
  parts_.launches->CountLaunches(false);
  stage_ = Stage::kOff;
}

void Sampler::Watch() {
  const std::optional<StuckCall> stuck = parts_.watchdog->Check(MonotonicNs());
  if (!stuck) return;
  Stats().Add(StatId::kCounterWatchdogFired);
  // Whoever is stuck may hold launches and captures back. Its own release, should it ever come, then finds nothing
  // held.
  parts_.launches->Forbid();
  parts_.hold->Release();
  parts_.captures->StopWaiting();
  const std::string text = "counters are off from here on: " + std::string(SamplingCallName(stuck->call)) +
                           " has not come back after " + std::to_string((MonotonicNs() - stuck->since_ns) / 1'000'000) +
                           " ms";
  Log("%s", text.c_str());
  parts_.writer->Post(DiagnosticItem{StatId::kCounterWatchdogFired, text});
  // The sampler's thread may be the one that is stuck: nobody else brings timings back. If this call gets stuck as
  // well, it is on the watch's own thread.
  (void)parts_.recording->SwitchTo(WindowKind::kCounters, WindowKind::kTiming);
}

uint64_t Sampler::StepOnce() {
  const uint64_t now_ns = MonotonicNs();
  if (!Capturing()) return now_ns + kLongestSleepNs;
  NoteReplay();
  if (contexts_ending_.load(std::memory_order_seq_cst) != 0) {
    const uint32_t begun = endings_begun_.load(std::memory_order_seq_cst);
    if (endings_seen_to_.load(std::memory_order_relaxed) != begun) {
      const bool is_armed =
          std::any_of(slots_.begin(), slots_.end(), [this](const auto& slot) { return InContextEnd(slot->armed); });
      if (in_counters_ && is_armed) {
        CloseWindow(true);
        window_is_lost_ = true;
      }
      CloseEnding();
      endings_seen_to_.store(begun, std::memory_order_seq_cst);
    }
    return now_ns + kShortestSleepNs;
  }
  if (unswitched_window_id_ != 0) BackToTiming();
  if (stage_ == Stage::kWaiting) {
    const uint64_t launches = Stats().Get(StatId::kLaunchesSeen) + Stats().Get(StatId::kGraphLaunchesSeen);
    const bool is_wanted = parts_.replay != nullptr && parts_.replay->plan_wanted();
    if (launches == 0 && !is_wanted) return now_ns + (parts_.replay == nullptr ? kLongestSleepNs : kReplayWaitSleepNs);
    std::optional<uint32_t> device_id;
    parts_.contexts->ForEachId([&](uint32_t, uint32_t device, void*) {
      if (!device_id || device < *device_id) device_id = device;
    });
    // The context that launched may be gone again: another one will come, or nothing.
    if (!device_id) return now_ns + kLongestSleepNs;
    const std::optional<bool> prepared = Prepare(*device_id);
    if (!prepared) return now_ns + kReplayWaitSleepNs;
    stage_ = *prepared ? Stage::kSampling : Stage::kOff;
    if (stage_ == Stage::kOff) {
      parts_.launches->CountLaunches(false);
      if (parts_.replay != nullptr) parts_.replay->GiveUp();
    }
    return now_ns;
  }
  if (parts_.watchdog->off() || parts_.deny->exhausted()) {
    // Whatever the stage: one device may have been armed when another one's refusal switched off.
    if (in_counters_) CloseWindow(true);
    if (stage_ == Stage::kSampling && parts_.deny->exhausted()) {
      parts_.writer->Post(DiagnosticItem{StatId::kCounterCompletionDeadlines,
                                         "counters are off from here on: launches of " +
                                             std::to_string(SamplingDenyList::kMaxMissedDeadlines) +
                                             " functions did not complete in time while they were sampled"});
    }
    TurnOff();
  }
  ForgetDead();
  if (!left_open_.empty() && now_ns >= next_recovery_ns_) Recover();
  if (stage_ == Stage::kOff) return now_ns + kLongestSleepNs;
  return Decide();
}

ScheduleObservation Sampler::Observe(uint64_t now_ns) {
  ScheduleObservation observation;
  observation.now_ns = now_ns;
  observation.cost_ns = parts_.tally->cost_ns.load(std::memory_order_relaxed);
  observation.samples = parts_.tally->samples.load(std::memory_order_relaxed);
  observation.busy_skips = parts_.tally->busy_skips.load(std::memory_order_relaxed);
  observation.session_failures = parts_.tally->session_failures.load(std::memory_order_relaxed);
  observation.rotation_ns = parts_.tally->rotation_ns.value();
  observation.hardware_range_ns = parts_.tally->hardware_range_ns.value();
  observation.sass_range_ns = parts_.tally->sass_range_ns.value();
  observation.drain_ns = parts_.tally->drain_ns.value();
  const WindowKind kind = parts_.recording->window_kind();
  was_recording_ = was_recording_ || kind != WindowKind::kOff;
  observation.recording = kind == (in_counters_ ? WindowKind::kCounters : WindowKind::kTiming) && !window_is_lost_;
  observation.capture_open = parts_.captures->captures() != 0;
  observation.launches = Stats().Get(StatId::kLaunchesSeen) + Stats().Get(StatId::kGraphLaunchesSeen);
  observation.busy_ratio = parts_.tally->busy_permille.load(std::memory_order_relaxed) / 1000.0;
  observation.session_full = std::any_of(slots_.begin(), slots_.end(), [](const std::unique_ptr<Slot>& slot) {
    return slot->session->is_open() && !slot->session->HasRoom();
  });
  if (MayGoOn()) observation.group_at_hand = NextOf(group_);
  for (const GroupPair& pair : pairs_) {
    observation.can_go_on |= 1u << pair.first;
    observation.next_group = pair.second;
  }
  observation.needs = parts_.needs->Summarise();
  return observation;
}

uint64_t Sampler::Decide() {
  const uint64_t now_ns = MonotonicNs();
  if (parts_.replay != nullptr) {
    parts_.contexts->ForEachId([&](uint32_t, uint32_t device_id, void*) { AddDevice(device_id); });
  }
  if (now_ns >= next_rank_ns_) {
    // With a budget the signatures that matter most get every group before others get any.
    const bool most_first = parts_.config->sampling.budget_ratio.has_value() && !schedule_->most_is_done();
    parts_.needs->SetSharePercent(most_first ? kFirstSharePercent : SamplingNeeds::Options().share_percent);
    parts_.needs->SetForAll(!most_first);
    parts_.needs->Rank();
    NoteLoad(now_ns);
    next_rank_ns_ = now_ns + kRankPeriodNs;
    if (!had_context_) no_context_text_ = WhyNoContext();
  }
  // Failed or abandoned: whichever it was, the window ends; what is still to be sampled gets another. One that is full
  // ends as well, as the schedule sees, but may have another group at hand.
  if (in_counters_ && parts_.launches->needs_attention() && !AllSessionsWork()) window_is_lost_ = true;
  if (in_counters_ && parts_.recording->window_id().load(std::memory_order_acquire) != counters_window_id_) {
    // The program closed its region, perhaps only for a moment.
    parts_.launches->Forbid();
    window_is_lost_ = true;
  }
  NoteContexts();
  if (!in_counters_ && !window_is_lost_) {
    const bool has_context = !EligibleContexts().empty();
    had_context_ = had_context_ || has_context;
    if (now_ns < next_quiet_ns_ || !has_context) return now_ns + kLongestSleepNs;
  }
  const ScheduleStep step = schedule_->Step(Observe(now_ns));
  if (step.budget_spent && step.action == ScheduleAction::kToTiming) Stats().Add(StatId::kCounterBudgetSpent);
  waits_for_budget_ = step.budget_spent && step.action == ScheduleAction::kStay;
  for (uint32_t group = 0; group < plan_.groups.size(); ++group) {
    if ((schedule_->given_up_groups() >> group & 1u) != 0) parts_.needs->GiveUpGroup(group);
  }
  if (step.action != ScheduleAction::kToTiming) return Follow(step);
  if (!MayGoOn()) {
    if (in_counters_) CloseWindow(true);
    window_is_lost_ = false;
    return MonotonicNs();
  }
  // The open session has another group at hand: if that is wanted now, nothing is closed.
  const ScheduleStep next = schedule_->Step(Observe(MonotonicNs()));
  waits_for_budget_ = next.budget_spent && next.action == ScheduleAction::kStay;
  if (next.action != ScheduleAction::kToCounters || next.group != NextOf(group_)) {
    CloseWindow(true);
    if (next.action != ScheduleAction::kToCounters) return Follow(next);
    // Decided before the window was closed: once more, with what that has cost and brought.
    schedule_->NotOpened();
    return MonotonicNs();
  }
  const Opened opened = GoOnWith(next.group, next.cost_limit_ns);
  if (opened == Opened::kNo) schedule_->NotOpened();
  window_is_lost_ = opened == Opened::kFailed;
  if (opened != Opened::kYes) CloseWindow(true);
  return MonotonicNs();
}

// Does what a step says, but for the end of a window.
uint64_t Sampler::Follow(const ScheduleStep& step) {
  switch (step.action) {
    case ScheduleAction::kStay:
    case ScheduleAction::kToTiming:
      break;
    case ScheduleAction::kToCounters: {
      const Opened opened = OpenWindow(step.group, step.cost_limit_ns);
      if (opened == Opened::kNo) schedule_->NotOpened();
      window_is_lost_ = opened == Opened::kFailed;
      return MonotonicNs();
    }
    case ScheduleAction::kStop:
      if (in_counters_) CloseWindow(true);
      window_is_lost_ = false;
      TurnOff();
      return MonotonicNs() + kLongestSleepNs;
  }
  if (in_counters_) {
    if (step.ranges_allowed) {
      parts_.launches->Allow(step.max_ranges, step.cost_limit_ns, step.drain_limit_ns,
                             parts_.needs->RankLimit(group_, step.max_ranges));
    } else {
      parts_.launches->Forbid();
    }
  }
  return step.next_ns;
}

// ---------------------------------------------------------------------------------------------- what there is to count

void Sampler::RefuseAccess(uint32_t device_id, int result, const char* call) {
  const char* text = nullptr;
  if (parts_.cupti->cuptiGetResultString != nullptr) {
    (void)parts_.cupti->cuptiGetResultString(static_cast<CUptiResult>(result), &text);
  }
  CounterAccessRecord access = MakeCounterAccess(
      device_id, {.name = call, .result = result, .result_text = text == nullptr ? "" : text},
      ReadCounterPermissions(ReadSmallFile("/proc/driver/nvidia/params"), ReadSmallFile("/proc/self/status")),
      MonotonicNs());
  if (const std::optional<StatId> stat = StatOf(access.state)) Stats().Add(*stat);
  Log("%s", access.text.c_str());
  parts_.writer->PostCounters(std::move(access));
}

bool Sampler::LoadApis(uint32_t device_id) {
  std::vector<std::string> problems;
  const bool loaded = parts_.load_apis != nullptr ? parts_.load_apis(parts_.cupti->path, &host_, &range_, &problems)
                                                  : LoadProfilerHost(parts_.cupti->path, &host_, &problems) &&
                                                        LoadRangeProfiler(parts_.cupti->path, &range_, &problems);
  if (loaded) return true;
  CounterAccessRecord access =
      MakeNoLibrary(device_id, problems.empty() ? std::string_view() : problems.front(), MonotonicNs());
  Stats().Add(StatId::kCounterUnsupported);
  Log("%s", access.text.c_str());
  parts_.writer->PostCounters(std::move(access));
  return false;
}

bool Sampler::CheckDevice(uint32_t device_id, std::string* chip) {
  GX_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, name);
  name.deviceIndex = device_id;
  CUptiResult result = range_.cuptiDeviceGetChipName(&name);
  if (result != CUPTI_SUCCESS || name.pChipName == nullptr) {
    RefuseAccess(device_id, result == CUPTI_SUCCESS ? CUPTI_ERROR_UNKNOWN : result, "cuptiDeviceGetChipName");
    return false;
  }
  *chip = name.pChipName;
  GX_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params, supported);
  supported.cuDevice = static_cast<CUdevice>(device_id);
  supported.api = CUPTI_PROFILER_RANGE_PROFILING;
  result = range_.cuptiProfilerDeviceSupported(&supported);
  if (result != CUPTI_SUCCESS) {
    RefuseAccess(device_id, result, "cuptiProfilerDeviceSupported");
    return false;
  }
  if (supported.isSupported == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ||
      supported.isSupported == CUPTI_PROFILER_CONFIGURATION_DISABLED) {
    const std::string_view why = supported.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED      ? "vGPU without profiling"
                                 : supported.vGpu == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ? "vGPU"
                                 : supported.confidentialCompute == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
                                     ? "confidential computing"
                                 : supported.wsl == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ? "WSL"
                                 : supported.sli == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ? "SLI"
                                                                                             : "";
    CounterAccessRecord access = MakeDeviceUnsupported(device_id, why, MonotonicNs());
    Stats().Add(StatId::kCounterUnsupported);
    Log("%s", access.text.c_str());
    parts_.writer->PostCounters(std::move(access));
    return false;
  }
  return true;
}

void Sampler::PlanFor(uint32_t device_id, const std::string& chip) {
  const uint64_t begin_ns = MonotonicNs();
  std::string problem;
  const std::unique_ptr<MetricCatalog> catalog = MetricCatalog::Open(host_, chip, {}, &problem);
  if (catalog == nullptr) {
    plan_ = {};
    plan_.failed = true;
    parts_.writer->Post(DiagnosticItem{StatId::kCounterPlansFailed, problem});
    return;
  }
  ChipOracle oracle = catalog->Oracle();
  // The program's end waits for this thread.
  oracle.passes = [this, passes = oracle.passes](const std::vector<std::string>& metrics) -> std::optional<int> {
    return finish_.load(std::memory_order_acquire) ? std::nullopt : passes(metrics);
  };
  plan_ = PlanCounters(parts_.config->sampling.counters, oracle);
  if (finish_.load(std::memory_order_acquire)) {
    plan_ = {};
    return;
  }
  if (plan_.groups.size() > kMaxSampledGroups) plan_.groups.resize(kMaxSampledGroups);
  peak_metrics_ = PeakMetrics(catalog->Oracle().exists);
  pairs_ = PairsOf(plan_.groups, catalog->Oracle().passes);
  replay_configs_ = PlanReplay(parts_.config->sampling.replay, plan_.groups, catalog->Oracle().passes);
  chip_ = chip;
  std::vector<uint64_t> iids;
  for (uint32_t group = 0; group < plan_.groups.size(); ++group) {
    iids.push_back(CounterGroupIid(device_id, group));
    parts_.writer->PostCounters(MakeCounterGroup(iids.back(), plan_.groups[group], device_id, chip));
  }
  Stats().Add(StatId::kCounterMetricsDropped, plan_.dropped.size());
  std::string requested;
  for (const auto& [variable, value] : DescribeSamplingSettings(parts_.config->sampling)) {
    if (variable == "GPUEXEC_COUNTERS") requested = value;
  }
  parts_.writer->PostCounters(MakeCounterPlan(plan_, iids, device_id, requested, chip, MonotonicNs() - begin_ns));
}

std::optional<bool> Sampler::Prepare(uint32_t device_id) {
  if (parts_.cupti->version < kMinCounterCuptiVersion) {
    CounterAccessRecord access =
        MakeCuptiTooOld(device_id, CuptiVersionText(parts_.cupti->version), parts_.cupti->path, MonotonicNs());
    Stats().Add(StatId::kCounterUnsupported);
    Log("%s", access.text.c_str());
    parts_.writer->PostCounters(std::move(access));
    return false;
  }
  if (Avoids(parts_.cupti->version, CuptiAvoidance::kCounters)) {
    CounterAccessRecord access =
        MakeCuptiFaulty(device_id, CuptiVersionText(parts_.cupti->version), parts_.cupti->path, MonotonicNs());
    Stats().Add(StatId::kCounterUnsupported);
    Log("%s", access.text.c_str());
    parts_.writer->PostCounters(std::move(access));
    return false;
  }
  // What these load and make at first use is destroyed at the program's end: the watch keeps our end before that.
  const uint32_t loading = parts_.watchdog->Enter(SamplingCall::kInitialize, MonotonicNs());
  const bool loaded = api_loaded_ || LoadApis(device_id);
  parts_.watchdog->Leave(loading);
  if (!loaded) return false;
  api_loaded_ = true;
  // It is written nowhere that these calls leave a capture alone.
  if (!parts_.captures->Enter()) return std::nullopt;
  GX_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  const uint32_t watched = parts_.watchdog->Enter(SamplingCall::kInitialize, MonotonicNs());
  const CUptiResult result = range_.cuptiProfilerInitialize(&initialize);
  parts_.watchdog->Leave(watched);
  std::string chip;
  const bool usable = result == CUPTI_SUCCESS && CheckDevice(device_id, &chip);
  parts_.captures->Leave();
  if (result != CUPTI_SUCCESS) RefuseAccess(device_id, result, "cuptiProfilerInitialize");
  if (!usable) return false;
  const uint32_t planning = parts_.watchdog->Enter(SamplingCall::kInitialize, MonotonicNs());
  PlanFor(device_id, chip);
  parts_.watchdog->Leave(planning);
  if (finish_.load(std::memory_order_acquire)) return std::nullopt;
  devices_.push_back({.device_id = device_id, .usable = true});
  if (plan_.failed || plan_.groups.empty()) {
    Stats().Add(StatId::kCounterPlansFailed);
    return false;
  }
  std::vector<GroupKind> kinds;
  for (const PlannedGroup& group : plan_.groups) kinds.push_back(group.kind);
  uint32_t for_all = 0;
  for (size_t group = 0; group < plan_.groups.size(); ++group) {
    if (plan_.groups[group].is_for_all) for_all |= 1u << group;
  }
  (void)parts_.needs->SetGroups(kinds, for_all);
  ScheduleOptions options;
  options.timing = parts_.config->timing;
  options.budget_ratio = parts_.config->sampling.budget_ratio;
  schedule_.emplace(options, kinds, parts_.start_monotonic_ns);
  if (parts_.replay != nullptr) {
    parts_.replay->AddDevice(device_id);
    parts_.replay->SetPlan({.host = &host_,
                            .range = &range_,
                            .chip = chip_,
                            .configs = std::move(replay_configs_),
                            .groups = plan_.groups,
                            .peak_metrics = peak_metrics_});
  }
  return true;
}

// A device that comes later: the same groups, if it is the same chip.
void Sampler::AddDevice(uint32_t device_id) {
  for (const Device& device : devices_) {
    if (device.device_id == device_id) return;
  }
  if (!parts_.captures->Enter()) return;  // Asked again.
  devices_.push_back({.device_id = device_id});
  std::string chip;
  const bool usable = CheckDevice(device_id, &chip);
  parts_.captures->Leave();
  if (!usable) return;
  if (chip != chip_) {
    Stats().Add(StatId::kCounterUnsupported);
    parts_.writer->PostCounters(MakeDeviceUnsupported(
        device_id, "a " + chip + " beside a " + chip_ + ", whose groups of metrics were planned", MonotonicNs()));
    return;
  }
  devices_.back().usable = true;
  if (parts_.replay != nullptr) parts_.replay->AddDevice(device_id);
  for (uint32_t group = 0; group < plan_.groups.size(); ++group) {
    parts_.writer->PostCounters(
        MakeCounterGroup(CounterGroupIid(device_id, group), plan_.groups[group], device_id, chip));
  }
}

// ---------------------------------------------------------------------------------------------- a quiet device

// One that was left open.
bool Sampler::HasOpenSession(uint32_t device_id) const {
  return std::any_of(left_open_.begin(), left_open_.end(),
                     [&](const auto& slot) { return slot->armed.device_id == device_id; });
}

// An address may be another context's by now.
bool Sampler::Lives(const ArmedSession& armed) const noexcept {
  return parts_.contexts->Living(armed.context_id) == armed.context;
}

bool Sampler::InContextEnd(const ArmedSession& armed) const noexcept {
  if (ending_unnamed_.load(std::memory_order_seq_cst) != 0) return true;
  return std::any_of(ending_.begin(), ending_.end(), [&](const std::atomic<uint64_t>& key) {
    const uint64_t ends = key.load(std::memory_order_seq_cst);
    return ends == UINT64_MAX || ends == reinterpret_cast<uintptr_t>(armed.context) ||
           ends == uint64_t{armed.device_id} * 2 + 1;
  });
}

// Of several sessions no other one is opened, or closed, in this hold.
bool Sampler::MustLetGo(uint64_t quiet_ns, uint64_t overrun_count) const noexcept {
  return parts_.captures->captures() != 0 || !parts_.hold->held() || parts_.hold->overrun_count() != overrun_count ||
         MonotonicNs() - quiet_ns > kOneHoldNs;
}

std::string Sampler::WhyNoContext() const {
  std::string text;
  parts_.contexts->ForEachId([&](uint32_t context_id, uint32_t, void* context) {
    if (!text.empty()) return;
    const LaunchBehaviour behaviour = parts_.behaviour->Of(context);
    const std::string name = "context " + std::to_string(context_id);
    if (DenyByBehaviour(behaviour) != DenyReason::kNone) {
      text = name + " is not sampled, because it " +
             (behaviour.symmetric_heap ? "has a symmetric heap"
              : behaviour.ipc_memory   ? "shares memory with another process"
              : behaviour.peer_access  ? "may use another device's memory"
                                       : "belongs to a process with green contexts, which this CUPTI cannot count in");
    } else if (!IdleIsKnown(*parts_.cuda, *parts_.streams, context, 0, true)) {
      text = "of " + name +
             " it cannot be told whether it is idle (threads with a default stream of their own, green "
             "contexts, or streams that were destroyed while in use)";
    }
  });
  return text;
}

// Contexts that are never sampled are told, once for each reason: nothing else would say why they have no counters.
void Sampler::NoteContexts() {
  parts_.contexts->ForEachId([&](uint32_t context_id, uint32_t, void* context) {
    const LaunchBehaviour behaviour = parts_.behaviour->Of(context);
    for (const auto& [holds, reason] : {std::pair(behaviour.symmetric_heap, CounterDenialReason::kSymmetricHeap),
                                        std::pair(behaviour.ipc_memory, CounterDenialReason::kIpcMemory),
                                        std::pair(behaviour.peer_access, CounterDenialReason::kPeerMemory),
                                        std::pair(behaviour.green_context, CounterDenialReason::kGreenContext)}) {
      if (!holds || !noted_contexts_.emplace(context_id, reason).second) continue;
      ThreadState* const thread = parts_.queues->Current();
      auto* event = thread == nullptr ? nullptr : thread->queue.Reserve<DenialEvent>(EventType::kDenial);
      if (event == nullptr) {
        Stats().Add(StatId::kDefinitionsDropped);
        continue;
      }
      event->monotonic_ns = MonotonicNs();
      event->context_id = context_id;
      event->reason = static_cast<uint32_t>(reason);
      thread->queue.Commit();
    }
  });
}

// Only over whole pieces of a timing window: what comes in a counter window was launched before it.
void Sampler::NoteLoad(uint64_t now_ns) {
  const bool is_timing = parts_.recording->window_kind() == WindowKind::kTiming;
  const uint32_t window_id = is_timing ? parts_.recording->window_id().load(std::memory_order_acquire) : 0;
  const uint64_t kernels_ns = parts_.needs->Summarise().known_time_ns;
  if (window_id != 0 && window_id == load_window_id_ && load_kernels_ns_ != 0 && kernels_ns >= load_kernels_ns_) {
    const auto devices =
        std::count_if(devices_.begin(), devices_.end(), [](const Device& known) { return known.usable; });
    load_.Add(now_ns - load_seen_ns_, kernels_ns - load_kernels_ns_, static_cast<uint32_t>(devices));
    parts_.tally->busy_permille.store(load_.busy_permille(), std::memory_order_relaxed);
  }
  load_window_id_ = window_id;
  load_seen_ns_ = now_ns;
  load_kernels_ns_ = kernels_ns;
}

bool Sampler::MayHaveSession(uint32_t context_id, const void* context) const {
  if (DenyByBehaviour(parts_.behaviour->Of(context)) != DenyReason::kNone) return false;
  if (!IdleIsKnown(*parts_.cuda, *parts_.streams, context, 0, true)) return false;
  return std::none_of(left_open_.begin(), left_open_.end(),
                      [&](const auto& slot) { return slot->armed.context_id == context_id; });
}

std::vector<std::pair<uint32_t, void*>> Sampler::EligibleContexts() const {
  std::vector<std::pair<uint32_t, void*>> found;
  for (const Device& device : devices_) {
    // One session at a time on a device: a second one's start fails (CUPTI 13.0).
    if (!device.usable || HasOpenSession(device.device_id)) continue;
    std::vector<std::pair<uint32_t, void*>> candidates;
    parts_.contexts->ForEachId([&](uint32_t context_id, uint32_t device_id, void* context) {
      if (device_id == device.device_id && MayHaveSession(context_id, context)) {
        candidates.emplace_back(context_id, context);
      }
    });
    if (!candidates.empty() && found.size() < LaunchSampler::kMaxArmed) {
      found.push_back(candidates[turn_ % candidates.size()]);
    }
  }
  return found;
}

template <typename Body>
bool Sampler::WithContext(uint32_t context_id, CUcontext context, Body&& body) {
  const CudaApi& cuda = *parts_.cuda;
  if (cuda.cuCtxPushCurrent_v2 == nullptr || cuda.cuCtxPopCurrent_v2 == nullptr) return false;
  // Once capturing has ended nobody tells any more which contexts live.
  const State state = g_state.load(std::memory_order_acquire);
  if (state == State::kDisabled || state == State::kForked || parts_.contexts->Living(context_id) != context) {
    return false;
  }
  if (cuda.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return false;
  // Whatever leaves the body, the context does not stay.
  struct Popped {
    const CudaApi& cuda;
    ~Popped() {
      CUcontext popped = nullptr;
      (void)cuda.cuCtxPopCurrent_v2(&popped);
    }
  } const popped{cuda};
  body();
  return true;
}

bool Sampler::AllIdle() {
  bool idle = true;
  const auto has_session = [](const auto& slots, uint32_t context_id) {
    return std::any_of(slots.begin(), slots.end(),
                       [&](const auto& slot) { return slot->armed.context_id == context_id; });
  };
  parts_.contexts->ForEachId([&](uint32_t context_id, uint32_t, void* pointer) {
    auto* const context = static_cast<CUcontext>(pointer);
    // Nothing of ours waits for a context that has no session and gets none.
    if (!idle || (!MayHaveSession(context_id, context) && !has_session(slots_, context_id) &&
                  !has_session(left_open_, context_id))) {
      return;
    }
    const uint32_t watched = parts_.watchdog->Enter(SamplingCall::kQueryStream, MonotonicNs());
    idle = WithContext(context_id, context,
                       [&] {
                         const auto [event, is_new] = idle_events_.try_emplace(context_id, nullptr);
                         if (is_new) event->second = NewEvent(*parts_.cuda);
                         idle =
                             AskContext(*parts_.cuda, *parts_.streams, context, 0, event->second) == Readiness::kReady;
                       }) &&
           idle;
    parts_.watchdog->Leave(watched);
  });
  return idle;
}

// Launches held, no call under way, every context idle, no capture open: until Resume. Everything it waited for is paid
// for by the program. `patient`: several tries, with the program running in between. `limit_ns`: of all of them.
bool Sampler::Quiesce(uint64_t limit_ns, bool patient, bool opens) {
  uint64_t hold_ns = std::min(limit_ns, hold_ns_);
  uint64_t held_ns = 0;
  was_busy_ = false;
  // Nothing can be asked of a context any more (WithContext).
  if (g_state.load(std::memory_order_acquire) == State::kDisabled) return false;
  // A window need not be opened while a context goes, or the program ends: both wait for us.
  const auto is_in_vain = [this, opens = opens || (patient && slots_.empty())] {
    return opens && (contexts_ending_.load(std::memory_order_seq_cst) != 0 || finish_.load(std::memory_order_acquire));
  };
  for (uint32_t attempt = 0; attempt < (patient ? kHoldTries : 1); ++attempt) {
    if (attempt != 0) {
      (void)WaitUntil([&] { return is_in_vain() || contexts_ending_.load(std::memory_order_seq_cst) != 0; },
                      kBetweenHoldsNs);
      if (is_in_vain()) {
        was_busy_ = false;
        return false;
      }
      hold_ns = std::min({hold_ns * 2, limit_ns - std::min(held_ns, limit_ns), kLongestHoldNs});
      if (hold_ns < kShortestHoldNs) break;
    } else if (!patient) {
      hold_ns = limit_ns;
    }
    if (!parts_.captures->Enter()) return false;
    hold_ticket_ = parts_.hold->Hold();
    if (hold_ticket_ == 0) {
      parts_.captures->Leave();
      continue;
    }
    const uint64_t begin_ns = MonotonicNs();
    const uint64_t overrun_count = parts_.hold->overrun_count();
    bool interrupted = false;
    const bool quiet = WaitUntil(
        [&] {
          interrupted = parts_.captures->captures() != 0 || is_in_vain();
          return interrupted || (!parts_.hold->CallsUnderWay(*parts_.queues, nullptr) && AllIdle());
        },
        hold_ns);
    // The watchdog may have broken the hold.
    if (quiet && !interrupted && parts_.hold->held() && parts_.hold->overrun_count() == overrun_count) {
      held_ns = MonotonicNs() - begin_ns;
      Spend(parts_.tally->CostOfWait(held_ns));
      if (patient) hold_ns_ = std::clamp(held_ns * 2, kFirstHoldNs, kLongestHoldNs);
      return true;
    }
    Resume();
    held_ns += MonotonicNs() - begin_ns;
    Spend(parts_.tally->CostOfWait(MonotonicNs() - begin_ns));
    was_busy_ = !interrupted;
    if (interrupted) return false;
  }
  // A program that runs far ahead of its device is held longer the next time.
  if (patient) hold_ns_ = std::min(hold_ns_ * 2, kLongestHoldNs);
  return false;
}

void Sampler::Resume() noexcept {
  parts_.hold->Release(std::exchange(hold_ticket_, 0));
  parts_.captures->Leave();
}

// What the program waited for us, for a change of windows.
void Sampler::Spend(uint64_t ns) noexcept {
  parts_.tally->Spend(ns);
  rotation_cost_ns_ += ns;
}

// ---------------------------------------------------------------------------------------------- windows and sessions

Sampler::Opened Sampler::OpenSession(uint32_t context_id, void* context, uint32_t group) {
  auto slot = std::make_unique<Slot>();
  uint32_t device_id = 0;
  (void)parts_.contexts->Device(context_id, &device_id);
  slot->group = group;
  slot->window_id = counters_window_id_;
  slot->begin_monotonic_ns = MonotonicNs();
  slot->session = std::make_unique<RangeSession>(host_, range_, parts_.watchdog);
  ArmedSession& armed = slot->armed;
  armed.context = static_cast<CUcontext>(context);
  armed.context_id = context_id;
  armed.device_id = device_id;
  armed.window_id = counters_window_id_;
  armed.session_id = parts_.tally->last_session_id.fetch_add(1, std::memory_order_relaxed) + 1;
  armed.group_iid = CounterGroupIid(device_id, group);
  armed.session = slot->session.get();
  RangeSession::Options options;
  options.context = armed.context;
  options.chip = chip_;
  options.metrics = plan_.groups[group].metrics;
  const auto device =
      std::find_if(devices_.begin(), devices_.end(), [&](const Device& known) { return known.device_id == device_id; });
  const bool has_peaks = parts_.replay != nullptr && parts_.replay->has_peaks(device_id);
  if (device != devices_.end() && !device->peaks_read && !has_peaks && HasAnchors(plan_.groups[group].kind)) {
    options.extra_metrics = peak_metrics_;
  }
  const std::optional<uint32_t> next = NextOf(group);
  const uint32_t next_lacks = next ? parts_.needs->WillLack(*next) : 0;
  if (next_lacks != 0) options.next_metrics = plan_.groups[*next].metrics;
  // A place for a range costs more than the range: about 2 ms of starting and stopping (measured on an H200).
  options.max_ranges = SessionPlaces(parts_.needs->Summarise().groups[group].ranges);
  options.max_next_ranges =
      std::min(SessionPlaces(next_lacks), windows_opened_ == 0 ? kMaxFirstNextPlaces : kMaxNextPlaces);
  RangeSession::Failure failure;
  const bool entered = WithContext(context_id, armed.context, [&] {
    failure = slot->session->Open(options);
    if (failure.failed()) return;
    armed.done = NewEvent(*parts_.cuda);
    armed.idle = NewEvent(*parts_.cuda);
  });
  if (!entered) {
    // The context goes: no fault of the group.
    PostSession(*slot, CounterOutcome::kContextGone, 0);
    return Opened::kNo;
  }
  if (!failure.failed()) {
    Stats().Add(StatId::kCounterSessions);
    if (device != devices_.end() && !std::exchange(device->access_told, true)) {
      parts_.writer->PostCounters(MakeCounterAccess(device_id, {}, {}, MonotonicNs()));
    }
    PostSession(*slot, CounterOutcome::kOpen, 0);
    parts_.tally->open_sessions.fetch_add(1, std::memory_order_release);
    held_pause_ns_ = 0;
    slots_.push_back(std::move(slot));
    return Opened::kYes;
  }
  return Refused(device == devices_.end() ? nullptr : &*device, failure, *slot);
}

// The session could not be opened: the device's counters are not to be had, which is told once and is nobody's fault,
// or something is wrong.
Sampler::Opened Sampler::Refused(Device* device, const RangeSession::Failure& failure, const Slot& slot) {
  if (device != nullptr && SaysAccess(failure.result)) {
    switch (AccessStateOf(failure.result)) {
      case CounterAccessState::kHeldByOther:
        // It may let go of them.
        if (!std::exchange(device->held_told, true)) RefuseAccess(device->device_id, failure.result, failure.call);
        held_pause_ns_ = std::clamp(held_pause_ns_ * 2, kFirstHeldPauseNs, kLongestRecoveryPauseNs);
        return Opened::kNo;
      case CounterAccessState::kNotPermitted:
        if (!std::exchange(device->access_told, true)) RefuseAccess(device->device_id, failure.result, failure.call);
        TurnOff();
        return Opened::kNo;
      default:
        if (!std::exchange(device->access_told, true)) RefuseAccess(device->device_id, failure.result, failure.call);
        device->usable = false;
        if (std::none_of(devices_.begin(), devices_.end(), [](const Device& known) { return known.usable; })) TurnOff();
        return Opened::kNo;
    }
  }
  Stats().Add(StatId::kCounterSessionsFailed);
  parts_.tally->session_failures.fetch_add(1, std::memory_order_relaxed);
  PostSession(slot, CounterOutcome::kFailed, failure.result);
  parts_.writer->Post(
      DiagnosticItem{StatId::kCounterSessionsFailed, "no counters of group " + plan_.groups[slot.group].name + ": " +
                                                         failure.call + " returned " + std::to_string(failure.result)});
  return Opened::kFailed;
}

// Contexts with a session of ours wait for it when they go.
void Sampler::LetContextsGo() noexcept {
  touches_contexts_.store(!slots_.empty() || !left_open_.empty(), std::memory_order_seq_cst);
}

Sampler::Opened Sampler::OpenWindow(uint32_t group, uint64_t cost_limit_ns) {
  parts_.contexts->ForEachId([&](uint32_t, uint32_t device_id, void*) { AddDevice(device_id); });
  touches_contexts_.store(true, std::memory_order_seq_cst);
  rotation_cost_ns_ = 0;
  Opened opened = Opened::kNo;
  was_busy_ = false;
  const bool quiet =
      contexts_ending_.load(std::memory_order_seq_cst) == 0 && Quiesce(std::min(cost_limit_ns, kLongestHoldNs), true);
  if (quiet) {
    const uint64_t quiet_ns = MonotonicNs();
    const uint64_t overrun_count = parts_.hold->overrun_count();
    const auto is_in_vain = [this] {
      return stage_ == Stage::kOff || contexts_ending_.load(std::memory_order_seq_cst) != 0 ||
             finish_.load(std::memory_order_acquire);
    };
    auto contexts = EligibleContexts();
    // Where time does not suffice for all devices, another one comes first the next time.
    if (!contexts.empty()) std::rotate(contexts.begin(), contexts.begin() + turn_ % contexts.size(), contexts.end());
    ++turn_;
    if (!contexts.empty() && !is_in_vain() && parts_.recording->SwitchTo(WindowKind::kTiming, WindowKind::kCounters)) {
      counters_window_id_ = parts_.recording->window_id().load(std::memory_order_acquire);
      unswitched_window_id_ = counters_window_id_;
      for (size_t i = 0; i < contexts.size() && !is_in_vain(); ++i) {
        if (i != 0 && MustLetGo(quiet_ns, overrun_count)) break;
        opened = std::max(opened, OpenSession(contexts[i].first, contexts[i].second, group));
      }
      // The program may have switched its region meanwhile.
      const bool is_present = counters_window_id_ != 0 && parts_.recording->window_kind() == WindowKind::kCounters &&
                              parts_.recording->window_id().load(std::memory_order_acquire) == counters_window_id_;
      if (opened == Opened::kYes && is_present) {
        ++windows_opened_;
        parts_.launches->CountLaunches(false);
        unquiet_windows_ = 0;
        unswitched_window_id_ = 0;
        group_ = group;
        in_counters_ = true;
        std::vector<ArmedSession*> armed;
        for (const auto& slot : slots_) armed.push_back(&slot->armed);
        parts_.launches->Arm(group, plan_.groups[group].kind, armed);
      } else {
        for (auto& slot : slots_) CloseSession(slot.get(), CounterOutcome::kComplete);
        slots_.clear();
        BackToTiming();
        if (opened == Opened::kYes) opened = Opened::kNo;
      }
    }
    Resume();
    Spend(MonotonicNs() - quiet_ns);
  }
  // After a device that was not quiet in time the next try has to wait, longer every time.
  quiet_pause_ns_ =
      opened != Opened::kNo ? 0 : std::clamp(quiet_pause_ns_ * 2, kFirstQuietPauseNs, kLongestQuietPauseNs);
  next_quiet_ns_ = MonotonicNs() + std::max(quiet_pause_ns_, held_pause_ns_);
  if (!quiet && was_busy_) NoteNotQuiet();
  if (opened != Opened::kYes) LetContextsGo();
  return opened;
}

void Sampler::NoteNotQuiet() {
  Stats().Add(StatId::kCounterNotQuiet);
  if (++unquiet_windows_ < kMaxUnquietWindows) return;
  const std::string text = "counters are off from here on: the device was not idle in time, " +
                           std::to_string(kMaxUnquietWindows) + " times in a row";
  Log("%s", text.c_str());
  parts_.writer->Post(DiagnosticItem{StatId::kCounterNotQuiet, text});
  TurnOff();
}

// From the counter window that is ours. Where that cannot be now, it is tried again.
void Sampler::BackToTiming() {
  if (unswitched_window_id_ == 0) return;
  const auto is_ours = [this] {
    return parts_.recording->window_kind() == WindowKind::kCounters &&
           parts_.recording->window_id().load(std::memory_order_acquire) == unswitched_window_id_;
  };
  const bool holds = hold_ticket_ != 0;
  if (is_ours()) {
    // Kinds are enabled: not while a capture is open.
    if (!holds && !parts_.captures->Enter()) return;
    (void)parts_.recording->SwitchTo(WindowKind::kCounters, WindowKind::kTiming);
    if (!holds) parts_.captures->Leave();
  }
  if (!is_ours()) unswitched_window_id_ = 0;
}

void Sampler::NoteSample(uint32_t place, uint32_t group, const std::vector<std::string>& metrics,
                         const std::vector<double>& values) {
  double pipe_cycles = 0;
  double pipe_percent = 0;
  double packed_half_threads = 0;
  double path_operations = 0;
  for (size_t i = 0; i < metrics.size() && i < values.size(); ++i) {
    if (!(values[i] > 0)) continue;
    if (IsTensorPipeCycles(metrics[i])) pipe_cycles = values[i];
    if (IsTensorPipePercent(metrics[i])) pipe_percent = values[i];
    if (IsPackedHalfThreads(metrics[i])) packed_half_threads += values[i];
    if (IsTensorPath(metrics[i])) path_operations += values[i];
    if (metrics[i] == "smsp__inst_executed.sum") parts_.needs->SetWarpInstructions(place, values[i]);
  }
  if (pipe_cycles > 0 || packed_half_threads > 0) {
    TensorEvidence& evidence = tensor_[place];
    evidence.pipe_cycles = std::max(evidence.pipe_cycles, pipe_cycles);
    evidence.pipe_percent = std::max(evidence.pipe_percent, pipe_percent);
    evidence.packed_half_threads = std::max(evidence.packed_half_threads, packed_half_threads);
    parts_.needs->SetTensorActive(place, evidence.UsesTensorCores(), evidence.IsCertain());
  }
  // Not by the first range of a session, which is no sample: the group would never get any of this signature.
  if (plan_.groups[group].kind == GroupKind::kTensor && path_operations > 0 &&
      parts_.needs->Samples(place, group) != 0) {
    parts_.needs->SetTensorPathKnown(place);
  }
}

void Sampler::ReadValues(const Slot& slot, std::vector<RangeValues> values) {
  const std::vector<std::string>& metrics = plan_.groups[slot.group].metrics;
  CounterValuesItem item;
  item.session_id = slot.armed.session_id;
  item.group_iid = slot.armed.group_iid;
  item.window_id = slot.window_id;
  item.context_id = slot.armed.context_id;
  std::sort(values.begin(), values.end(), [](const RangeValues& a, const RangeValues& b) { return a.order < b.order; });
  for (RangeValues& read : values) {
    if (read.order >= kMaxSessionRanges) continue;
    const PushedRange& range = slot.armed.ranges[read.order];
    // A launch that was refused: there is nothing that values could belong to.
    if (range.verdict == RangeVerdict::kNoLaunch) continue;
    const auto unavailable = static_cast<uint64_t>(
        std::count_if(read.values.begin(), read.values.end(), [](double value) { return std::isnan(value); }));
    if (IsValid(range.verdict)) NoteSample(range.place, slot.group, metrics, read.values);
    if (unavailable != 0) Stats().Add(StatId::kCounterNanValues, unavailable);
    item.ranges.push_back({.order = read.order, .flags = range.flags, .values = std::move(read.values)});
  }
  if (!item.ranges.empty()) parts_.writer->PostCounters(std::move(item));
}

void Sampler::PostSession(const Slot& slot, CounterOutcome outcome, int result, bool in_use) {
  CounterSessionRecord record;
  record.session_id = slot.armed.session_id;
  record.window_id = slot.window_id;
  record.context_id = slot.armed.context_id;
  record.group_iid = slot.armed.group_iid;
  record.begin_monotonic_ns = slot.begin_monotonic_ns;
  if (outcome != CounterOutcome::kOpen) record.end_monotonic_ns = MonotonicNs();
  record.outcome = outcome;
  record.cupti_result = static_cast<uint64_t>(result);
  record.range_count = slot.session->next_order();
  if (in_use) return parts_.writer->PostCounters(record);
  record.push_ns = slot.armed.push_ns;
  record.pop_ns = slot.armed.pop_ns;
  record.idle_wait_ns = slot.armed.idle_wait_ns;
  record.completion_wait_ns = slot.armed.completion_wait_ns;
  const RangeSessionCosts& costs = slot.session->costs();
  record.enable_ns = costs.enable_ns;
  record.start_ns = costs.start_ns;
  record.stop_ns = costs.stop_ns;
  record.decode_ns = costs.decode_ns;
  record.disable_ns = costs.disable_ns;
  parts_.writer->PostCounters(record);
}

// The device is quiet, or nothing of the session can be waited for.
void Sampler::CloseSession(Slot* slot, CounterOutcome outcome) {
  std::vector<RangeValues> values;
  std::vector<double> peaks;
  RangeSession::Failure failure;
  const bool entered = WithContext(slot->armed.context_id, slot->armed.context, [&] {
    // The range of an abandoned launch, which has ended by now.
    if (slot->armed.abandoned.load(std::memory_order_acquire)) (void)slot->session->Pop();
    failure = slot->session->Close(&values, &peaks);
    if (!failure.failed()) failure = slot->begin_failure;
    for (const CUevent event : {slot->armed.done, slot->armed.idle}) {
      if (event != nullptr && parts_.cuda->cuEventDestroy_v2 != nullptr) (void)parts_.cuda->cuEventDestroy_v2(event);
    }
  });
  if (!entered) {
    slot->session->Abandon();
    outcome = CounterOutcome::kContextGone;
  }
  parts_.tally->open_sessions.fetch_sub(1, std::memory_order_release);
  // What its only pass counted was read, and told.
  if (!slot->pass_ended) ReadSession(slot, std::move(values), peaks, failure, outcome);
}

// What a session, or its first pass, counted: into the trace.
void Sampler::ReadSession(Slot* slot, std::vector<RangeValues> values, const std::vector<double>& peaks,
                          const RangeSession::Failure& failure, CounterOutcome outcome) {
  const uint32_t pushed = slot->session->next_order();
  if (values.size() < pushed) Stats().Add(StatId::kCounterRangesLost, pushed - values.size());
  if (!peaks.empty()) {
    for (Device& device : devices_) {
      if (device.device_id == slot->armed.device_id) device.peaks_read = true;
    }
    parts_.writer->PostCounters(MakeDevicePeaks(slot->armed.device_id, MonotonicNs(), peak_metrics_, peaks));
  }
  ReadValues(*slot, std::move(values));
  const int result = failure.failed() ? failure.result : slot->armed.failed_result.load(std::memory_order_relaxed);
  if (result != 0 && outcome == CounterOutcome::kComplete) {
    outcome = CounterOutcome::kFailed;
    Stats().Add(StatId::kCounterSessionsFailed);
    parts_.tally->session_failures.fetch_add(1, std::memory_order_relaxed);
    parts_.writer->Post(
        DiagnosticItem{StatId::kCounterSessionsFailed,
                       "counters of group " + plan_.groups[slot->group].name + ": " +
                           (failure.failed() ? failure.call : "cuptiRangeProfilerPushRange or PopRange") +
                           " returned " + std::to_string(result)});
  }
  PostSession(*slot, outcome, result);
}

std::optional<uint32_t> Sampler::NextOf(uint32_t group) const {
  for (const GroupPair& pair : pairs_) {
    if (pair.first == group) return pair.second;
  }
  return std::nullopt;
}

bool Sampler::AllSessionsWork() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const std::unique_ptr<Slot>& slot) {
    return slot->armed.failed_result == 0 && !slot->armed.abandoned.load(std::memory_order_acquire) &&
           !slot->armed.context_lost.load(std::memory_order_acquire);
  });
}

// Whether every open session has another group at hand, and nothing stands in its way.
bool Sampler::MayGoOn() const {
  return in_counters_ && !window_is_lost_ && NextOf(group_) && !slots_.empty() &&
         !finish_.load(std::memory_order_acquire) && contexts_ending_.load(std::memory_order_seq_cst) == 0 &&
         AllSessionsWork() && std::all_of(slots_.begin(), slots_.end(), [](const std::unique_ptr<Slot>& slot) {
           return slot->session->HasNextPass();
         });
}

// The window's sessions count their other group from here on; in the trace each becomes another session. kNo: no fault
// of that group (no quiet moment, a context that goes, a first pass that could not be read). After anything but kYes
// the window has to be closed.
Sampler::Opened Sampler::GoOnWith(uint32_t group, uint64_t cost_limit_ns) {
  parts_.launches->Forbid();
  // A program that its GPU bounds would have waited for most of it: the budget is charged with less.
  const uint64_t limit_ns = std::clamp(cost_limit_ns, kFirstHoldNs, kLongestHoldNs);
  if (!parts_.launches->Disarm(kOneHoldNs) || !Quiesce(limit_ns, true, true)) return Opened::kNo;
  const uint64_t quiet_ns = MonotonicNs();
  const uint64_t overrun_count = parts_.hold->overrun_count();
  Opened opened = MayGoOn() ? Opened::kYes : Opened::kNo;
  for (size_t i = 0; i < slots_.size() && opened == Opened::kYes; ++i) {
    const bool must_let_go = i != 0 && MustLetGo(quiet_ns, overrun_count);
    opened = must_let_go ? Opened::kNo : BeginPass(slots_[i].get(), group);
  }
  if (opened == Opened::kYes) {
    group_ = group;
    std::vector<ArmedSession*> armed;
    for (const auto& slot : slots_) armed.push_back(&slot->armed);
    parts_.launches->Arm(group, plan_.groups[group].kind, armed);
    // What the first pass counted says which launches are dear.
    next_rank_ns_ = 0;
  }
  Resume();
  Spend(MonotonicNs() - quiet_ns);
  return opened;
}

Sampler::Opened Sampler::BeginPass(Slot* slot, uint32_t group) {
  ArmedSession& armed = slot->armed;
  std::vector<RangeValues> values;
  std::vector<double> peaks;
  RangeSession::Failure failure;
  if (!WithContext(armed.context_id, armed.context, [&] { failure = slot->session->EndPass(&values, &peaks); })) {
    return Opened::kNo;
  }
  const bool nothing_counted =
      !values.empty() && std::all_of(values.begin(), values.end(), [](const RangeValues& read) {
        return std::all_of(read.values.begin(), read.values.end(), [](double value) { return std::isnan(value); });
      });
  ReadSession(slot, std::move(values), peaks, failure, CounterOutcome::kComplete);
  slot->pass_ended = true;
  // Another CUPTI may have the passes in another order: each group has a session of its own from here on.
  if (nothing_counted) pairs_.clear();
  if (failure.failed() || nothing_counted) return Opened::kNo;
  const bool entered = WithContext(armed.context_id, armed.context, [&] {
    slot->group = group;
    slot->begin_monotonic_ns = MonotonicNs();
    armed.BeginAnew(parts_.tally->last_session_id.fetch_add(1, std::memory_order_relaxed) + 1,
                    CounterGroupIid(armed.device_id, group));
    slot->begin_failure = slot->session->BeginPass();
    slot->pass_ended = false;
  });
  if (!entered) return Opened::kNo;
  if (slot->begin_failure.failed()) return Opened::kFailed;  // Told when the window is closed.
  Stats().Add(StatId::kCounterSessions);
  PostSession(*slot, CounterOutcome::kOpen, 0);
  return Opened::kYes;
}

void Sampler::CloseWindow(bool back_to_timing) {
  const bool ending = finish_.load(std::memory_order_acquire) || contexts_ending_.load(std::memory_order_seq_cst) != 0;
  parts_.launches->Forbid();
  const bool no_range = parts_.launches->Disarm(ending ? kLastHoldNs : kRangeEndNs);
  in_counters_ = false;
  // Left by its launch, or by us: both wait for a quiet device.
  const auto leave_open = [&](std::unique_ptr<Slot> slot) {
    if (slot->armed.abandoned.load(std::memory_order_acquire)) Stats().Add(StatId::kCounterSessionsAbandoned);
    recovery_pause_ns_ = 0;
    next_recovery_ns_ = 0;
    left_open_.push_back(std::move(slot));
  };
  const bool quiet = no_range && Quiesce(ending ? kLastHoldNs : kLongestHoldNs, !ending);
  const uint64_t quiet_ns = MonotonicNs();
  const uint64_t overrun_count = parts_.hold->overrun_count();
  uint32_t closed = 0;
  for (auto& slot : slots_) {
    const bool abandoned = slot->armed.abandoned.load(std::memory_order_acquire);
    // What must end now is closed in any case.
    const bool may = quiet && (ending || closed == 0 || !MustLetGo(quiet_ns, overrun_count));
    if (may && !abandoned && !slot->armed.context_lost.load(std::memory_order_acquire)) {
      CloseSession(slot.get(), CounterOutcome::kComplete);
      ++closed;
    } else {
      leave_open(std::move(slot));
    }
  }
  slots_.clear();
  if (back_to_timing) {
    // Also where the device stays busy: an open session without ranges changes no timing (measured), and a program
    // without timings would be worse off.
    unswitched_window_id_ = counters_window_id_;
    BackToTiming();
  }
  if (quiet) {
    Resume();
    Spend(MonotonicNs() - quiet_ns);
  }
  parts_.tally->rotation_ns.Add(rotation_cost_ns_);
  LetContextsGo();
}

// Sessions that were left open are ended once the device is quiet; until then their contexts get no other. Within the
// budget, as everything for which launches are held.
void Sampler::Recover() {
  const uint64_t now_ns = MonotonicNs();
  const auto is_lost = [](const auto& slot) { return slot->armed.context_lost.load(std::memory_order_acquire); };
  // A launch that was abandoned may never end; a session that only found no quiet moment is worth more.
  const bool only_abandoned = std::all_of(left_open_.begin(), left_open_.end(), [](const auto& slot) {
    return slot->armed.abandoned.load(std::memory_order_acquire);
  });
  const uint64_t pause_ns = std::clamp(recovery_pause_ns_ * 2, kFirstRecoveryPauseNs, kLongestRecoveryPauseNs);
  const uint64_t hold_ns = std::min(pause_ns / (only_abandoned ? 160 : 8), kLongestRecoveryHoldNs);
  next_recovery_ns_ = now_ns + pause_ns;
  // Until its context goes, nothing can be asked of such a one.
  if (std::all_of(left_open_.begin(), left_open_.end(), is_lost)) return;
  const uint64_t spent_ns = parts_.tally->cost_ns.load(std::memory_order_relaxed);
  const uint64_t allowance_ns = schedule_->AllowanceNs(now_ns);
  if (allowance_ns < hold_ns || spent_ns > allowance_ns - hold_ns) return;
  recovery_pause_ns_ = pause_ns;
  touches_contexts_.store(true, std::memory_order_seq_cst);
  if (contexts_ending_.load(std::memory_order_seq_cst) == 0 && Quiesce(hold_ns, false)) {
    const uint64_t quiet_ns = MonotonicNs();
    const uint64_t overrun_count = parts_.hold->overrun_count();
    uint32_t closed = 0;
    std::erase_if(left_open_, [&](const std::unique_ptr<Slot>& slot) {
      if (is_lost(slot) || (closed != 0 && MustLetGo(quiet_ns, overrun_count))) return false;
      ++closed;
      CloseSession(slot.get(), slot->armed.abandoned.load(std::memory_order_acquire) ? CounterOutcome::kAbandoned
                                                                                     : CounterOutcome::kComplete);
      return true;
    });
    Resume();
    Spend(MonotonicNs() - quiet_ns);
  }
  LetContextsGo();
}

// Before a context goes: what is left open in it. What cannot be closed now is looked at again when it is known whether
// the context has gone.
void Sampler::CloseEnding() {
  const auto is_ending = [this](const std::unique_ptr<Slot>& slot) {
    return InContextEnd(slot->armed) && !slot->armed.context_lost.load(std::memory_order_acquire);
  };
  if (std::none_of(left_open_.begin(), left_open_.end(), is_ending)) return;
  if (Quiesce(kLastHoldNs, false)) {
    const uint64_t quiet_ns = MonotonicNs();
    std::erase_if(left_open_, [&](const std::unique_ptr<Slot>& slot) {
      if (!is_ending(slot)) return false;
      CloseSession(slot.get(), slot->armed.abandoned.load(std::memory_order_acquire) ? CounterOutcome::kAbandoned
                                                                                     : CounterOutcome::kComplete);
      return true;
    });
    Resume();
    Spend(MonotonicNs() - quiet_ns);
  }
  LetContextsGo();
}

// Sessions whose context has gone with them open.
void Sampler::ForgetDead() {
  if (std::all_of(left_open_.begin(), left_open_.end(), [this](const auto& slot) { return Lives(slot->armed); }))
    return;
  const bool in_use = parts_.launches->range_open();
  std::vector<std::unique_ptr<Slot>> kept;
  for (auto& slot : left_open_) {
    if (Lives(slot->armed)) {
      kept.push_back(std::move(slot));
      continue;
    }
    parts_.tally->open_sessions.fetch_sub(1, std::memory_order_release);
    GiveUp(std::move(slot), CounterOutcome::kContextGone, in_use);
  }
  left_open_ = std::move(kept);
  LetContextsGo();
}

// `in_use`: a launch has a range, and goes on writing to its session.
void Sampler::GiveUp(std::unique_ptr<Slot> slot, CounterOutcome outcome, bool in_use) {
  if (!slot->pass_ended) Stats().Add(StatId::kCounterRangesLost, slot->session->next_order());
  if (!in_use) slot->session->Abandon();
  if (!slot->pass_ended) PostSession(*slot, outcome, 0, in_use);
  // A launch callback may still look at it: its memory stays.
  KeepAlive(std::move(slot));
}

// The last chance: what cannot be read now is lost.
void Sampler::EndSessions() {
  if (left_open_.empty()) return;
  const bool quiet = Quiesce(kLastHoldNs, false);
  const uint64_t quiet_ns = MonotonicNs();
  const bool in_use = parts_.launches->range_open();
  for (auto& slot : left_open_) {
    const bool abandoned = slot->armed.abandoned.load(std::memory_order_acquire);
    if (quiet && !slot->armed.context_lost.load(std::memory_order_acquire)) {
      CloseSession(slot.get(), abandoned ? CounterOutcome::kAbandoned : CounterOutcome::kComplete);
    } else {
      GiveUp(std::move(slot), abandoned || in_use ? CounterOutcome::kAbandoned : CounterOutcome::kContextGone, in_use);
    }
  }
  left_open_.clear();
  if (quiet) {
    Resume();
    Spend(MonotonicNs() - quiet_ns);
  }
}

void Sampler::BeforeContextEnds(ContextEnd end) noexcept {
  const uint64_t key = KeyOf(end);
  const bool named = std::any_of(ending_.begin(), ending_.end(), [key](std::atomic<uint64_t>& place) {
    uint64_t free = 0;
    return place.compare_exchange_strong(free, key, std::memory_order_seq_cst);
  });
  if (!named) ending_unnamed_.fetch_add(1, std::memory_order_seq_cst);
  contexts_ending_.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t own = endings_begun_.fetch_add(1, std::memory_order_seq_cst) + 1;
  wake_.Signal();
  const auto may_go = [&] {
    return !touches_contexts_.load(std::memory_order_seq_cst) || finished() ||
           static_cast<int32_t>(endings_seen_to_.load(std::memory_order_seq_cst) - own) >= 0;
  };
  if (!WaitUntil(may_go, kContextEndWaitNs)) Stats().Add(StatId::kUnloadWaitTimedOut);
}

void Sampler::AfterContextEnds(ContextEnd end) noexcept {
  const uint64_t key = KeyOf(end);
  contexts_ending_.fetch_sub(1, std::memory_order_seq_cst);
  const bool named = std::any_of(ending_.begin(), ending_.end(), [key](std::atomic<uint64_t>& place) {
    uint64_t held = key;
    return place.compare_exchange_strong(held, 0, std::memory_order_seq_cst);
  });
  if (!named) ending_unnamed_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace gx::inject
