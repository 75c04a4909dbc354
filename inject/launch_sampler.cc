#include "inject/launch_sampler.h"

#include <algorithm>
#include <string_view>

#include "inject/clock.h"
#include "inject/context_idle.h"
#include "inject/counter_records.h"
#include "inject/replay_sampler.h"
#include "inject/self_stats.h"

namespace gx::inject {
namespace {

// Calls of other threads that have entered return within microseconds, or wait for the device themselves.
constexpr uint64_t kCallsLimitNs = 5'000'000;
// A capture that begins waits kCaptureWaitNs for us: we are gone before.
constexpr uint64_t kCaptureGraceNs = kCaptureWaitNs / 2;

void Nap(uint64_t ns) noexcept {
  if (ns == 0) return;
  // Not nanosleep, which is a cancellation point: a thread that is cancelled must not unwind through us.
  static const std::atomic<uint32_t> never{0};
  FutexWait(never, 0, ns);
}

std::string_view NameOf(const FunctionInfo& info) noexcept {
  return info.name == nullptr ? std::string_view() : std::string_view(info.name, info.name_bytes);
}

StatId SkipStat(DenyReason reason) noexcept {
  switch (reason) {
    case DenyReason::kName:
      return StatId::kCounterSkippedDeniedName;
    case DenyReason::kUserPattern:
      return StatId::kCounterSkippedDeniedUser;
    case DenyReason::kCooperative:
      return StatId::kCounterSkippedCooperative;
    case DenyReason::kPeerAccess:
    case DenyReason::kIpcMemory:
    case DenyReason::kSymmetricHeap:
      return StatId::kCounterSkippedPeerMemory;
    case DenyReason::kGreenContext:
      return StatId::kCounterSkippedGreenContext;
    case DenyReason::kDeadline:
      return StatId::kCounterSkippedDeniedDeadline;
    case DenyReason::kTableFull:
    case DenyReason::kNone:
      break;
  }
  return StatId::kCounterSkippedTableFull;
}

void Count(const RangeAccount& account) noexcept {
  for (const StatId stat : account.stats) Stats().Add(stat);
}

}  // namespace

// ---------------------------------------------------------------------------------------------- the sampler's thread

void LaunchSampler::Arm(uint32_t group, GroupKind kind, std::span<ArmedSession* const> sessions) noexcept {
  session_count_ = 0;
  for (ArmedSession* const session : sessions) {
    if (session_count_ < kMaxArmed) sessions_[session_count_++] = session;
  }
  group_ = group;
  kind_ = kind;
  back_off_ = SkipBackOff();
  // Calls that their threads did not live to leave: with them no range could be opened any more.
  for (uint32_t lost = parts_.queues->TakeLostCalls(); lost != 0; --lost) parts_.contents->LeaveCall();
  ranges_left_.store(0, std::memory_order_relaxed);
  needs_attention_.store(false, std::memory_order_relaxed);
  armed_.store(true, std::memory_order_seq_cst);
}

bool LaunchSampler::Disarm(uint64_t timeout_ns) noexcept {
  armed_.store(false, std::memory_order_seq_cst);
  // A range that is being opened has looked at armed_ before; one that is open ends by its own deadline.
  return WaitUntil([this] { return !range_taken_.load(std::memory_order_seq_cst); }, timeout_ns);
}

void LaunchSampler::Allow(uint32_t max_ranges, uint64_t cost_limit_ns, uint64_t drain_limit_ns,
                          uint32_t rank_limit) noexcept {
  const uint64_t spent_ns = parts_.tally->cost_ns.load(std::memory_order_relaxed);
  cost_limit_ns_.store(cost_limit_ns > UINT64_MAX - spent_ns ? UINT64_MAX : spent_ns + cost_limit_ns,
                       std::memory_order_relaxed);
  drain_limit_ns_.store(drain_limit_ns, std::memory_order_relaxed);
  rank_limit_.store(rank_limit, std::memory_order_relaxed);
  ranges_left_.store(max_ranges, std::memory_order_relaxed);
}

// ---------------------------------------------------------------------------------------------- before the launch

void LaunchSampler::Watch(ThreadState* thread, DeviceWork work) noexcept {
  parts_.contents->EnterCall(work, thread->thread_id.load(std::memory_order_relaxed));
  thread->watched_calls.fetch_add(1, std::memory_order_relaxed);
}

void LaunchSampler::BeforeOther(ThreadState* thread, DeviceWork work) noexcept {
  if (armed() || thread->call_is_sampled || thread->watched_calls != 0) Watch(thread, work);
}

void LaunchSampler::BeforeStranger(DeviceWork work) noexcept {
  if (!armed()) return;
  // Its end is not followed; that it is under way the hold knows. No thread has this number.
  constexpr uint64_t kStranger = UINT64_MAX - 1;
  parts_.contents->EnterCall(work, kStranger);
  parts_.contents->LeaveCall();
}

void LaunchSampler::Deny(ThreadState* thread, const LaunchToSample& launch, uint32_t function, DenyReason reason,
                         uint64_t waited_ns) noexcept {
  auto* event = thread->queue.Reserve<DenialEvent>(EventType::kDenial);
  if (event == nullptr) {
    Stats().Add(StatId::kDefinitionsDropped);
    return;
  }
  *event = MakeDenial(launch.work, function, launch.graph_exec_id, reason);
  event->monotonic_ns = MonotonicNs();
  event->waited_ns = waited_ns;
  thread->queue.Commit();
}

bool LaunchSampler::MayByName(ThreadState* thread, const LaunchToSample& launch, uint32_t function) noexcept {
  DenyReason reason = DenyReason::kNone;
  if (!parts_.deny->Find(function, &reason)) {
    const FunctionInfo& info = parts_.functions->Get(function);
    // First seen as a node of a graph: its name is not known, and so not whether it is denied.
    if (info.name == nullptr) {
      Stats().Add(StatId::kCounterSkippedTableFull);
      return false;
    }
    reason = parts_.deny->Decide(function, NameOf(info), info.has_code ? info.code.hash : 0);
    if (reason != DenyReason::kNone) Deny(thread, launch, function, reason, 0);
  }
  if (reason == DenyReason::kNone) return true;
  Stats().Add(SkipStat(reason));
  parts_.needs->GiveUpFunction(function);
  return false;
}

// A function's name is set before its index is given out, and stays.
uint64_t LaunchSampler::NameHash(uint32_t function) noexcept {
  uint64_t hash = name_hashes_[function].load(std::memory_order_relaxed);
  if (hash == 0) {
    hash = SamplingNameHash(NameOf(parts_.functions->Get(function)));
    name_hashes_[function].store(hash, std::memory_order_relaxed);
  }
  return hash;
}

ArmedSession* LaunchSampler::Eligible(ThreadState* thread, const LaunchToSample& launch, uint32_t* place,
                                      uint32_t* function) noexcept {
  const bool is_graph = launch.work == DeviceWork::kGraph;
  uint32_t device_id = 0;
  if (!parts_.contexts->Device(launch.context_id, &device_id)) return nullptr;
  uint64_t key = 0;
  if (is_graph) {
    if (launch.graph_exec_id == 0) return nullptr;
    *function = GraphFunction(launch.graph_exec_id);
    key = GraphSamplingKey(device_id, launch.graph_exec_id);
  } else {
    *function = launch.parameters.function_index;
    if (launch.parameters.readable == 0 || *function == 0) return nullptr;
    if (*function >= kSampledKernels) {
      if (armed()) Stats().Add(StatId::kCounterSkippedTableFull);
      return nullptr;
    }
    SamplingKeyParts parts;
    parts.name_hash = NameHash(*function);
    parts.device_id = device_id;
    parts.grid = launch.parameters.grid;
    parts.block = launch.parameters.block;
    parts.dynamic_shared_memory_bytes = launch.parameters.dynamic_shared_memory_bytes;
    key = SamplingKey(parts);
  }
  // Counted whether or not it is sampled: that is how a signature is known to be still in use.
  *place = parts_.needs->Find(key, *function);
  if (!armed() || *place == SamplingNeeds::kNone) return nullptr;
  if (!parts_.needs->Wants(*place, group_, rank_limit_.load(std::memory_order_relaxed))) {
    if (kind_ == GroupKind::kSass && !is_graph && !HasGraduated(*place, *function)) {
      Stats().Add(StatId::kCounterSkippedNotGraduated);
    }
    return nullptr;
  }

  if (is_graph) {
    // Code that was captured before a session began is not patched: such a graph shows 0 (CUPTI 13.0).
    if (kind_ == GroupKind::kSass) return nullptr;
    const GraphSampling sampling = parts_.graphs->Get(launch.graph_exec_id);
    // No window is to be opened for it again. Not by its function, which it shares with other graphs.
    if (sampling == GraphSampling::kNever) parts_.needs->GiveUp(*place);
    if (sampling != GraphSampling::kMay) return nullptr;
  } else if (kind_ == GroupKind::kSass && !HasGraduated(*place, *function)) {
    // Another function of that name may have it, which the needs do not tell apart.
    Stats().Add(StatId::kCounterSkippedNotGraduated);
    return nullptr;
  } else if (!MayByName(thread, launch, *function)) {
    return nullptr;
  }
  LaunchBehaviour behaviour = parts_.behaviour->Of(launch.context);
  behaviour.cooperative = launch.parameters.cooperative != 0;
  const DenyReason reason = DenyByBehaviour(behaviour);
  if (reason != DenyReason::kNone) {
    Stats().Add(SkipStat(reason));
    if (reason == DenyReason::kCooperative) {
      parts_.deny->Deny(*function, {}, 0, reason);
      parts_.needs->GiveUpFunction(*function);
      Deny(thread, launch, *function, reason, 0);
    }
    return nullptr;
  }
  for (uint32_t i = 0; i < session_count_; ++i) {
    if (sessions_[i]->context == launch.context) return sessions_[i];
  }
  Stats().Add(StatId::kCounterSkippedContext);
  return nullptr;
}

bool LaunchSampler::Replays(ThreadState* thread, const LaunchToSample& launch, uint32_t place,
                            uint32_t function) noexcept {
  if (parts_.replay == nullptr || place == SamplingNeeds::kNone || launch.work != DeviceWork::kKernel) return false;
  return parts_.replay->IsCandidate(place) && !armed() && MayByName(thread, launch, function) &&
         parts_.replay->Before(thread, launch, place, function);
}

bool LaunchSampler::HasGraduated(uint32_t place, uint32_t function) const noexcept {
  return parts_.needs->HasGraduated(function) && parts_.needs->HasCompleted(place);
}

bool LaunchSampler::Hold(Held* held) noexcept {
  held->ticket = parts_.hold->Hold();
  held->overrun_count = parts_.hold->overrun_count();
  return held->ticket != 0;
}

bool LaunchSampler::SkipBusy(uint64_t begin_ns) noexcept {
  back_off_.Skipped(MonotonicNs(), MonotonicNs() - begin_ns);
  parts_.tally->busy_skips.fetch_add(1, std::memory_order_relaxed);
  Stats().Add(StatId::kCounterSkippedBusy);
  return false;
}

bool LaunchSampler::BeginRange(ThreadState* thread, ArmedSession* session, uint64_t begin_ns) noexcept {
  Held held;
  // A drain holds launches from its beginning: where several threads launch, the context is never idle by itself.
  if (drain_limit_ns_.load(std::memory_order_relaxed) != 0 && !Hold(&held)) return SkipBusy(begin_ns);
  if (WaitForIdle(thread, session, begin_ns, held)) return PushAlone(thread, session, begin_ns, held);
  if (held.ticket != 0) parts_.hold->Release(held.ticket);
  return false;
}

bool LaunchSampler::WaitForIdle(ThreadState* thread, ArmedSession* session, uint64_t begin_ns,
                                const Held& held) noexcept {
  const uint64_t thread_id = thread->thread_id.load(std::memory_order_relaxed);
  const uint64_t drain_limit_ns = drain_limit_ns_.load(std::memory_order_relaxed);
  IdleWait wait(begin_ns, kIdleLimitNs, drain_limit_ns);
  uint64_t now_ns = begin_ns;
  WaitNext next = WaitNext::kSleep;
  const uint32_t watched = parts_.watchdog->Enter(SamplingCall::kQueryStream, begin_ns);
  while (parts_.captures->captures() == 0) {
    // What a call under way sends is still to come.
    const bool calls = held.ticket != 0 && parts_.hold->CallsUnderWay(*parts_.queues, thread);
    const WaitStep step = wait.Next(
        now_ns, calls ? Readiness::kNotReady
                      : AskContext(*parts_.cuda, *parts_.streams, session->context, thread_id, session->idle));
    next = step.next;
    if (next != WaitNext::kSleep) break;
    Nap(step.sleep_ns);
    now_ns = MonotonicNs();
  }
  parts_.watchdog->Leave(watched);
  const uint64_t waited_ns = MonotonicNs() - begin_ns;
  session->idle_wait_ns += waited_ns;
  open_.idle_wait_ns = waited_ns;
  if (drain_limit_ns != 0) {
    Stats().Add(StatId::kCounterDrains);
    // 0 would say that nothing is known.
    parts_.tally->drain_ns.Add(std::max<uint64_t>(parts_.tally->CostOfWait(waited_ns), 1));
  }
  if (next == WaitNext::kGo) return true;
  if (next == WaitNext::kSleep) {
    Stats().Add(StatId::kCounterSkippedCapture);
    return false;
  }
  if (next == WaitNext::kFail) {
    // An error or a doubt: a drain would not help.
    back_off_.Skipped(MonotonicNs(), waited_ns);
    Stats().Add(StatId::kCounterSkippedContext);
    return false;
  }
  return SkipBusy(begin_ns);
}

// With the launches of others held: none can come between the look at the streams and the push. Ends the hold.
bool LaunchSampler::PushAlone(ThreadState* thread, ArmedSession* session, uint64_t begin_ns, Held held) noexcept {
  const uint64_t thread_id = thread->thread_id.load(std::memory_order_relaxed);
  if (held.ticket == 0 && !Hold(&held)) return SkipBusy(begin_ns);
  bool alone = WaitUntil([&] { return !parts_.hold->CallsUnderWay(*parts_.queues, thread); }, kCallsLimitNs);
  alone = alone && parts_.contents->Open(thread_id);
  if (alone) {
    const uint32_t watched = parts_.watchdog->Enter(SamplingCall::kQueryStream, MonotonicNs());
    alone = AskContext(*parts_.cuda, *parts_.streams, session->context, thread_id, session->idle) == Readiness::kReady;
    parts_.watchdog->Leave(watched);
    // The watchdog may have broken the hold.
    alone = alone && parts_.hold->overrun_count() == held.overrun_count && parts_.hold->IsHeldBy(held.ticket);
    if (!alone) {
      RangeFacts unused;
      parts_.contents->Close(&unused);
    }
  }
  const bool pushes = alone;
  if (alone) {
    const uint64_t push_ns = MonotonicNs();
    const int result = session->session->Push();
    session->push_ns += MonotonicNs() - push_ns;
    if (result != 0) {
      session->failed_result = result;
      RangeFacts unused;
      parts_.contents->Close(&unused);
      alone = false;
    }
  }
  parts_.hold->Release(held.ticket);
  return pushes ? alone : SkipBusy(begin_ns);
}

// Whether what is launched now belongs to the window that the session was opened in: a region may end, and another one
// begin, with kernels traced again, before the sampler's thread comes to it.
bool LaunchSampler::MayRange(const ArmedSession& session) const noexcept {
  return parts_.window_id == nullptr || parts_.window_id->load(std::memory_order_relaxed) == session.window_id;
}

void LaunchSampler::LeaveRange() noexcept {
  parts_.captures->Leave();
  range_taken_.store(false, std::memory_order_seq_cst);
}

void LaunchSampler::Before(ThreadState* thread, const LaunchToSample& launch) noexcept {
  if (thread->call_is_sampled || thread->watched_calls != 0) return Watch(thread, launch.work);
  uint32_t place = SamplingNeeds::kNone;
  uint32_t function = 0;
  ArmedSession* const session = Eligible(thread, launch, &place, &function);
  if (session == nullptr) {
    if (!Replays(thread, launch, place, function)) BeforeOther(thread, launch.work);
    return;
  }

  const uint64_t begin_ns = MonotonicNs();
  const auto decline = [&] { Watch(thread, launch.work); };
  if (ranges_left_.load(std::memory_order_relaxed) <= 0 || parts_.watchdog->off() ||
      parts_.tally->cost_ns.load(std::memory_order_relaxed) >= cost_limit_ns_.load(std::memory_order_relaxed)) {
    return decline();
  }
  if (range_taken_.exchange(true, std::memory_order_seq_cst)) {
    Stats().Add(StatId::kCounterSkippedRangeOpen);
    return decline();
  }
  // Disarm may have come between.
  if (!armed() || session->abandoned.load(std::memory_order_relaxed) ||
      session->context_lost.load(std::memory_order_relaxed) || session->failed_result != 0 || !MayRange(*session) ||
      ranges_left_.load(std::memory_order_relaxed) <= 0 || !back_off_.MayTry(begin_ns)) {
    range_taken_.store(false, std::memory_order_seq_cst);
    return decline();
  }
  if (!session->session->HasRoom()) {
    needs_attention_.store(true, std::memory_order_release);
    range_taken_.store(false, std::memory_order_seq_cst);
    return decline();
  }
  if (!parts_.captures->Enter()) {
    Stats().Add(StatId::kCounterSkippedCapture);
    range_taken_.store(false, std::memory_order_seq_cst);
    return decline();
  }
  CUcontext current = nullptr;
  const bool is_current = parts_.cuda->cuCtxGetCurrent != nullptr &&
                          parts_.cuda->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == launch.context;
  const uint32_t order = session->session->next_order();
  open_ = {};
  if (!is_current || !BeginRange(thread, session, begin_ns)) {
    if (session->failed_result != 0) {
      const RangeAccount account = AccountOf(RangeVerdict::kCallFailed);
      if (order < kMaxSessionRanges) session->ranges[order] = {place, RangeVerdict::kCallFailed, account.flags};
      Count(account);
      needs_attention_.store(true, std::memory_order_release);
    } else if (!is_current) {
      Stats().Add(StatId::kCounterSkippedContext);
    }
    LeaveRange();
    const uint64_t spent_ns = MonotonicNs() - begin_ns;
    const uint64_t waited_ns = std::min(open_.idle_wait_ns, spent_ns);
    parts_.tally->Spend(spent_ns - waited_ns + parts_.tally->CostOfWait(waited_ns));
    return decline();
  }
  back_off_.Succeeded();
  ranges_left_.fetch_sub(1, std::memory_order_relaxed);
  open_.session = session;
  open_.order = order;
  open_.place = place;
  open_.function = function;
  open_.launch = launch;
  open_.begin_ns = begin_ns;
  open_.first = order == 0;
  open_.launch_ns = MonotonicNs();
  open_.spent_ns = open_.launch_ns - begin_ns;
  if (kind_ == GroupKind::kSass) {
    open_.patched_slot = parts_.watchdog->Enter(SamplingCall::kPatchedLaunch, open_.launch_ns);
  }
  thread->call_is_sampled = true;
}

// ---------------------------------------------------------------------------------------------- after the launch

Readiness LaunchSampler::AskDone(ArmedSession* session, bool recorded) const noexcept {
  if (!recorded) return AskStream(*parts_.cuda, open_.launch.stream);
  switch (parts_.cuda->cuEventQuery(session->done)) {
    case CUDA_SUCCESS:
      return Readiness::kReady;
    case CUDA_ERROR_NOT_READY:
      return Readiness::kNotReady;
    default:
      return Readiness::kError;
  }
}

// Whether a capture has waited for so long that it may go on at any moment: then no call of ours is made any more.
bool LaunchSampler::CaptureIsLate(uint64_t now_ns) const noexcept {
  return parts_.captures->OpenForNs(now_ns) >= kCaptureGraceNs;
}

uint64_t LaunchSampler::LaunchLimitNs(DeviceWork work, bool untimed, uint64_t longest_ns) noexcept {
  return work == DeviceWork::kGraph || untimed ? kMaxCompletionLimitNs : CompletionLimitNs(longest_ns);
}

WaitNext LaunchSampler::WaitForLaunch(ArmedSession* session, uint64_t begin_ns) noexcept {
  // An event, so that what other threads put behind the launch is not waited for.
  const bool recorded = session->done != nullptr && parts_.cuda->cuEventRecord != nullptr &&
                        parts_.cuda->cuEventRecord(session->done, open_.launch.stream) == CUDA_SUCCESS;
  CompletionWait wait(begin_ns,
                      LaunchLimitNs(open_.launch.work, parts_.count_launches, parts_.needs->LongestNs(open_.place)));
  uint64_t now_ns = begin_ns;
  // Another question to the device would break the capture.
  while (!CaptureIsLate(now_ns)) {
    const WaitStep step = wait.Next(now_ns, AskDone(session, recorded));
    if (step.next != WaitNext::kSleep) return step.next;
    Nap(step.sleep_ns);
    now_ns = MonotonicNs();
  }
  return WaitNext::kSleep;
}

// `begin_ns`: when the driver's function returned; `waited_ns`: from then on, for the launch to complete.
void LaunchSampler::Bill(const ArmedSession& session, bool completed, uint64_t begin_ns, uint64_t waited_ns) noexcept {
  const bool is_sass = kind_ == GroupKind::kSass;
  // Patched code runs inside the launch itself.
  const uint64_t patched_ns = is_sass ? begin_ns - open_.launch_ns : 0;
  uint64_t spent_ns = open_.spent_ns + patched_ns + (MonotonicNs() - begin_ns);
  // What the launch takes anyway is not ours.
  if (completed) spent_ns -= std::min(parts_.needs->MeanNs(open_.place), patched_ns + waited_ns);
  spent_ns -= std::min(open_.idle_wait_ns, spent_ns);
  parts_.tally->Spend(spent_ns + parts_.tally->CostOfWait(open_.idle_wait_ns));
  // A missed deadline is paid for once; it says nothing of the next range. Nor do idle waits, which are drains at worst
  // and have a mean of their own.
  if (!completed || session.failed_result != 0) return;
  (is_sass ? parts_.tally->sass_range_ns : parts_.tally->hardware_range_ns).Add(spent_ns);
}

void LaunchSampler::After(ThreadState* thread, uint32_t result) noexcept {
  if (thread->watched_calls.load(std::memory_order_relaxed) != 0) {
    thread->watched_calls.fetch_sub(1, std::memory_order_relaxed);
    parts_.contents->LeaveCall();
    return;
  }
  if (thread->replayed_correlation_id != 0) return parts_.replay->After(thread, result);
  if (!thread->call_is_sampled) return;
  thread->call_is_sampled = false;
  parts_.watchdog->Leave(open_.patched_slot);
  ArmedSession* const session = open_.session;
  const uint64_t begin_ns = MonotonicNs();
  RangeFacts facts;
  facts.target = open_.launch.work;
  facts.launched = true;
  facts.launch_accepted = result == 0;
  facts.first_of_session = open_.first;
  CompletionConsequence consequence;
  WaitNext next = WaitNext::kGo;
  if (CaptureIsLate(begin_ns)) {
    // Not one call more, whatever became of the launch.
    next = WaitNext::kSleep;
  } else if (facts.launch_accepted) {
    const uint32_t watched = parts_.watchdog->Enter(SamplingCall::kQueryEvent, begin_ns);
    next = WaitForLaunch(session, begin_ns);
    parts_.watchdog->Leave(watched);
  }
  const uint64_t waited_ns = MonotonicNs() - begin_ns;
  session->completion_wait_ns += waited_ns;
  consequence = AfterCompletion(next, kind_ != GroupKind::kSass, true);
  // A capture cut the wait short: that says nothing about the function.
  const bool cut_short = next == WaitNext::kSleep;
  if (cut_short) consequence.deny_function = false;
  facts.completed_in_time = next == WaitNext::kGo || cut_short;
  if (consequence.pop) {
    const uint64_t pop_ns = MonotonicNs();
    const int popped = session->session->Pop();
    session->pop_ns += MonotonicNs() - pop_ns;
    facts.pop_failed = popped != 0;
    if (popped != 0) session->failed_result = popped;
  }
  parts_.contents->Close(&facts);
  facts.capture_began = facts.capture_began || cut_short;
  facts.window_ended = !MayRange(*session);
  Finish(thread, facts, consequence, waited_ns);
  Bill(*session, consequence.pop, begin_ns, waited_ns);
  LeaveRange();
}

void LaunchSampler::Finish(ThreadState* thread, const RangeFacts& facts, const CompletionConsequence& consequence,
                           uint64_t waited_ns) noexcept {
  ArmedSession* const session = open_.session;
  const RangeVerdict verdict = JudgeRange(facts);
  const RangeAccount account = AccountOf(verdict);
  if (open_.order < kMaxSessionRanges) session->ranges[open_.order] = {open_.place, verdict, account.flags};
  Count(account);
  SampleOutcome outcome = SampleOutcome::kVoid;
  if (IsValid(verdict)) {
    outcome = verdict == RangeVerdict::kValid ? SampleOutcome::kValid : SampleOutcome::kFirstOfSession;
    parts_.tally->samples.fetch_add(1, std::memory_order_relaxed);
    if (open_.launch.work == DeviceWork::kGraph) Stats().Add(StatId::kCounterGraphSamples);
    if (consequence.graduate && open_.launch.work == DeviceWork::kKernel) parts_.needs->Graduate(open_.function);
  }
  (void)parts_.needs->Record(open_.place, group_, outcome);
  if (consequence.deny_function) {
    if (open_.launch.work == DeviceWork::kGraph) {
      parts_.deny->Deny(open_.function, {}, open_.launch.graph_exec_id, DenyReason::kDeadline);
    } else {
      const FunctionInfo& info = parts_.functions->Get(open_.function);
      parts_.deny->Deny(open_.function, NameOf(info), info.has_code ? info.code.hash : 0, DenyReason::kDeadline);
    }
    open_.launch.work == DeviceWork::kGraph ? parts_.needs->GiveUp(open_.place)
                                            : parts_.needs->GiveUpFunction(open_.function);
    Deny(thread, open_.launch, open_.function, DenyReason::kDeadline, waited_ns);
  }
  if (consequence.abandon_session) {
    session->abandoned_order = open_.order;
    session->abandoned.store(true, std::memory_order_release);
  }
  if (consequence.stop_sampling) session->context_lost.store(true, std::memory_order_release);
  if (consequence.abandon_session || session->failed_result != 0 || !session->session->HasRoom()) {
    needs_attention_.store(true, std::memory_order_release);
  }
  if (!facts.launch_accepted) return;
  auto* event = thread->queue.Reserve<RangeEvent>(EventType::kRange);
  // Its values will find no launch, and are counted then.
  if (event == nullptr) return;
  event->session_id = session->session_id;
  event->range_order = open_.order;
  event->correlation_id = open_.launch.correlation_id;
  event->flags = static_cast<uint32_t>(account.flags);
  thread->queue.Commit();
}

}  // namespace gx::inject
