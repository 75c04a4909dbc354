#include "inject/counter_schedule.h"

#include <algorithm>
#include <utility>

namespace gx::inject {
namespace {

constexpr uint64_t kUnlimited = UINT64_MAX;
// How often a step is wanted at least.
constexpr uint64_t kInCountersNs = 20'000'000;
constexpr uint64_t kInTimingNs = 250'000'000;
// Ranges that a window should have room for, beside its rotation, to be worth one.
constexpr uint64_t kWorthwhileRanges = 16;
// Of a group that comes later in the first round.
constexpr uint64_t kReservedRanges = 8;

// Products of a count and a cost, without overflow.
uint64_t Times(uint64_t count, uint64_t cost) {
  return cost != 0 && count > kUnlimited / cost ? kUnlimited : count * cost;
}
uint64_t Plus(uint64_t a, uint64_t b) { return a > kUnlimited - b ? kUnlimited : a + b; }
uint64_t Minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Ranges of a group that make a window worth its opening, or a drain.
uint64_t WorthwhileRanges(const ScheduleObservation& observation, uint32_t group) {
  return std::min<uint64_t>(observation.needs.groups[group].ranges, kWorthwhileRanges);
}

}  // namespace

uint32_t SessionPlaces(uint32_t ranges) noexcept {
  constexpr uint32_t kLeast = 8;
  return ranges >= kMaxSessionPlaces ? kMaxSessionPlaces
                                     : std::clamp(ranges + ranges / 16 + 4, kLeast, kMaxSessionPlaces);
}

CounterSchedule::CounterSchedule(const ScheduleOptions& options, std::span<const GroupKind> kinds, uint64_t start_ns)
    : options_(options), start_ns_(start_ns) {
  group_count_ = static_cast<uint32_t>(std::min<size_t>(kinds.size(), kMaxSampledGroups));
  for (uint32_t group = 0; group < group_count_; ++group) groups_[group].kind = kinds[group];
}

uint64_t CounterSchedule::AllowanceNs(uint64_t now_ns) const noexcept {
  if (!options_.budget_ratio) return kUnlimited;
  const auto share = static_cast<uint64_t>(static_cast<double>(Minus(now_ns, start_ns_)) * *options_.budget_ratio);
  return first_round_over_ ? share : std::max(share, options_.first_round_ns);
}

uint64_t CounterSchedule::LeftNs(const ScheduleObservation& observation) const noexcept {
  const uint64_t allowance_ns = AllowanceNs(observation.now_ns);
  return allowance_ns == kUnlimited ? kUnlimited : Minus(allowance_ns, observation.cost_ns);
}

uint64_t CounterSchedule::WaitForNs(const ScheduleObservation& observation, uint64_t cost_ns) const noexcept {
  if (LeftNs(observation) >= cost_ns) return 0;
  if (*options_.budget_ratio <= 0) return kUnlimited;
  const double wall_ns = static_cast<double>(Plus(observation.cost_ns, cost_ns)) / *options_.budget_ratio;
  const double wait_ns = wall_ns - static_cast<double>(Minus(observation.now_ns, start_ns_));
  // Beyond a century it does not matter how long.
  if (wait_ns > 3e18) return kUnlimited;
  return wait_ns < 1 ? 1 : static_cast<uint64_t>(wait_ns) + 1;
}

uint64_t CounterSchedule::LongestWaitNs(const ScheduleObservation& observation, uint32_t group) const noexcept {
  const uint64_t session_ns = SessionNs(observation, group);
  const double paid_ns = static_cast<double>(session_ns) / *options_.budget_ratio;
  const uint64_t wait_ns = paid_ns > 3e18 ? kUnlimited : static_cast<uint64_t>(paid_ns);
  return observation.busy_ratio < options_.bound_ratio ? std::min(wait_ns, Times(2, session_ns)) : wait_ns;
}

uint64_t CounterSchedule::RotationNs(const ScheduleObservation& observation, uint32_t group) const noexcept {
  return observation.group_at_hand == group ? options_.pass_ns : SessionNs(observation, group);
}

uint64_t CounterSchedule::SessionNs(const ScheduleObservation& observation, uint32_t group) const noexcept {
  const uint32_t places = SessionPlaces(observation.needs.groups[group].ranges);
  if (observation.rotation_ns == 0) return options_.rotation_ns + places * options_.place_ns;
  // What was measured was of sessions of another size.
  if (places >= window_places_) return observation.rotation_ns + (places - window_places_) * options_.place_ns;
  const uint64_t less_ns = Minus(observation.rotation_ns, (window_places_ - places) * options_.place_ns);
  return std::max(less_ns, std::min(options_.rotation_ns, observation.rotation_ns));
}

uint64_t CounterSchedule::RangeNs(const ScheduleObservation& observation, uint32_t group) const noexcept {
  if (groups_[group].kind == GroupKind::kSass) {
    return observation.sass_range_ns != 0 ? observation.sass_range_ns : options_.sass_range_ns;
  }
  return observation.hardware_range_ns != 0 ? observation.hardware_range_ns : options_.hardware_range_ns;
}

uint64_t CounterSchedule::MaxWindowNs(const ScheduleObservation& observation) const noexcept {
  const bool slow = groups_[group_].kind == GroupKind::kSass && observation.busy_ratio < options_.bound_ratio;
  return slow ? options_.max_slow_window_ns : options_.max_window_ns;
}

uint64_t CounterSchedule::DrainNs(const ScheduleObservation& observation) const noexcept {
  return observation.drain_ns != 0 ? observation.drain_ns : options_.drain_ns;
}

bool CounterSchedule::AllGivenUp() const noexcept {
  for (uint32_t group = 0; group < group_count_; ++group) {
    if ((given_up_ >> group & 1u) == 0) return false;
  }
  return true;
}

bool CounterSchedule::IsPending(const ScheduleObservation& observation, uint32_t group) const noexcept {
  if ((given_up_ >> group & 1u) != 0) return false;
  const SamplingNeeds::GroupSummary& needs = observation.needs.groups[group];
  if (needs.signatures == 0) return false;
  const Group& own = groups_[group];
  return observation.now_ns >= own.not_before_ns || needs.share_ratio >= own.share_ratio + options_.worth_ratio;
}

ScheduleStep CounterSchedule::Step(const ScheduleObservation& observation) noexcept {
  ScheduleStep step;
  step.next_ns = Plus(observation.now_ns, kInTimingNs);
  if (stopped_) return step;
  // Not while nothing is launched: then nothing seems to be waited for.
  if (first_round_over_ && !most_is_done_ && (!observation.launches || observation.launches != launches_)) {
    most_is_done_ = true;
    for (uint32_t group = 0; group < group_count_; ++group) {
      const bool lacks = observation.needs.groups[group].share_ratio >= options_.worth_ratio;
      if (lacks && IsPending(observation, group)) most_is_done_ = false;
    }
  }
  // The first timings come with a whole buffer at once, and may just be read: those of the first launches alone are
  // known at that moment, and they are ranked anew.
  if (observation.needs.known_time_ns != 0 && !std::exchange(any_time_known_, true)) {
    most_ranked_ = 0;
    loop_begin_ns_ = observation.now_ns;
  }
  if (observation.needs.ranked > most_ranked_) {
    if (!first_seen_ns_) first_seen_ns_ = loop_begin_ns_ = observation.now_ns;
    most_ranked_ = observation.needs.ranked;
    last_seen_ns_ = observation.now_ns;
    quiet_ns_ = 0;
  }
  // The end of a session may fail as well, which is seen after its window was closed.
  if (!in_counters_ && rotations_ != 0 && observation.session_failures != seen_failures_) NoteFailure(observation);
  if (observation.capture_open) {
    step.next_ns = observation.now_ns + kInCountersNs;
    ranges_were_allowed_ = false;
    return step;
  }
  if (in_counters_) return InCounters(observation);
  if (observation.ending || AllGivenUp()) {
    stopped_ = true;
    step.action = ScheduleAction::kStop;
    return step;
  }
  return InTiming(observation);
}

// ---------------------------------------------------------------------------------------------- in a timing window

bool CounterSchedule::MayBegin(const ScheduleObservation& observation) noexcept {
  const uint64_t now_ns = observation.now_ns;
  double share_ratio = 0;
  uint32_t signatures = 0;
  for (uint32_t group = 0; group < group_count_; ++group) {
    if (!IsPending(observation, group)) continue;
    signatures = std::max(signatures, observation.needs.groups[group].signatures);
    share_ratio = std::max(share_ratio, observation.needs.groups[group].share_ratio);
  }
  if (signatures == 0) {
    pending_ns_.reset();
    return false;
  }
  if (!pending_ns_) {
    pending_ns_ = now_ns;
    pending_signatures_ = 0;
  }
  if (signatures > pending_signatures_) {
    pending_signatures_ = signatures;
    pending_grew_ns_ = now_ns;
  }
  if (now_ns < timing_until_ns_) return false;
  const uint64_t first_seen_ns = first_seen_ns_.value_or(now_ns);
  const bool late = Minus(now_ns, first_seen_ns) >= options_.max_wait_for_timings_ns;
  const bool timed = observation.needs.timed_ratio >= options_.timed_ratio &&
                     observation.needs.timed_launch_ratio >= options_.timed_launch_ratio;
  if (options_.timing && !timed && !late) return false;
  if (!first_round_over_) {
    return late || quiet_ns_ >= std::max(options_.min_quiet_ns, Minus(last_seen_ns_, loop_begin_ns_));
  }
  const uint64_t waited_ns = now_ns - *pending_ns_;
  round_worth_ratio_ = 0;
  if (waited_ns >= std::max(options_.max_wait_for_worth_ns, Minus(now_ns, start_ns_) / 4)) return true;
  round_worth_ratio_ = options_.worth_ratio;
  return share_ratio >= options_.worth_ratio &&
         (now_ns - pending_grew_ns_ >= options_.settle_ns || waited_ns >= options_.max_wait_for_worth_ns);
}

void CounterSchedule::EndRound(uint64_t now_ns) noexcept {
  in_round_ = false;
  first_round_over_ = rotations_ != 0;
  timing_until_ns_ = now_ns + std::clamp(round_counters_ns_, options_.min_timing_ns, options_.max_timing_ns);
  // What was not worth a window goes on waiting.
  if (round_worth_ratio_ == 0) pending_ns_.reset();
}

ScheduleStep CounterSchedule::InTiming(const ScheduleObservation& observation) noexcept {
  const uint64_t now_ns = observation.now_ns;
  ScheduleStep step;
  step.next_ns = now_ns + kInTimingNs;
  if (!observation.recording) return step;
  // A program that launches nothing just now has nothing to be sampled: it loads a library, or data.
  const bool launches = !observation.launches || observation.launches != std::exchange(launches_, observation.launches);
  if (!observation.launches) {
    quiet_ns_ = Minus(now_ns, last_seen_ns_);
  } else if (launches) {
    quiet_ns_ += std::min(Minus(now_ns, std::max(last_seen_ns_, launched_ns_)), options_.longest_gap_ns);
    launched_ns_ = now_ns;
  }
  if (!in_round_) {
    if (!MayBegin(observation) || !launches) {
      step.next_ns = now_ns + kInCountersNs;
      return step;
    }
    in_round_ = true;
    round_counters_ns_ = 0;
    for (Group& group : groups_) {
      group.visited = false;
      group.again = 0;
    }
  }
  if (!launches && !observation.group_at_hand) {
    step.next_ns = now_ns + kInCountersNs;
    return step;
  }
  uint32_t group = group_count_;
  const auto is_worth_it = [&](uint32_t candidate) {
    return IsPending(observation, candidate) && observation.needs.groups[candidate].share_ratio >= round_worth_ratio_;
  };
  const auto share_of = [&](uint32_t candidate) {
    const bool goes_on = (observation.can_go_on >> candidate & 1u) != 0 && is_worth_it(observation.next_group);
    return observation.needs.groups[candidate].share_ratio +
           (goes_on ? observation.needs.groups[observation.next_group].share_ratio : 0);
  };
  for (uint32_t candidate = 0; candidate < group_count_; ++candidate) {
    if (groups_[candidate].visited || !is_worth_it(candidate)) continue;
    // In the order of collection at first; afterwards the one that lacks most.
    if (group == group_count_ || (first_round_over_ && share_of(candidate) > share_of(group))) group = candidate;
  }
  const bool at_hand = observation.group_at_hand && is_worth_it(*observation.group_at_hand);
  if (at_hand) group = *observation.group_at_hand;
  if (group == group_count_) {
    EndRound(now_ns);
    return step;
  }
  // The rotation alone buys nothing; what is at hand is worth a single sample, and a wait with the session open.
  const uint64_t ranges = at_hand ? 1 : WorthwhileRanges(observation, group);
  const uint64_t wanted_ns = Plus(RotationNs(observation, group) + (runs_ahead_ ? DrainNs(observation) : 0),
                                  Times(ranges, RangeNs(observation, group)));
  const uint64_t wait_ns = WaitForNs(observation, wanted_ns);
  if (wait_ns != 0 && !(at_hand && wait_ns <= LongestWaitNs(observation, group))) {
    // What the first round had in advance is spent: by the time that there is more, another group may lack most.
    if (!first_round_over_ && rotations_ != 0) EndRound(now_ns);
    step.budget_spent = true;
    step.next_ns = now_ns + std::clamp(wait_ns, kInCountersNs, kInTimingNs);
    return step;
  }
  return Open(observation, group);
}

ScheduleStep CounterSchedule::Open(const ScheduleObservation& observation, uint32_t group) noexcept {
  const uint64_t now_ns = observation.now_ns;
  groups_[group].visited = true;
  in_counters_ = true;
  ++rotations_;
  last_group_ = std::exchange(group_, group);
  window_begin_ns_ = now_ns;
  last_places_ = window_places_;
  if (observation.group_at_hand != group) window_places_ = SessionPlaces(observation.needs.groups[group].ranges);
  window_samples_ = observation.samples;
  window_failures_ = observation.session_failures;
  window_share_ = observation.needs.groups[group].share_ratio;
  gain_samples_ = observation.samples;
  gain_skips_ = observation.busy_skips;
  gain_ns_ = now_ns;
  ranges_were_allowed_ = false;  // Opening takes its time.
  draining_ = runs_ahead_;
  bursting_ = false;
  window_reserve_ns_ = 0;
  if (!first_round_over_ && options_.budget_ratio) {
    for (uint32_t other = group + 1; other < group_count_; ++other) {
      const GroupKind kind = groups_[other].kind;
      // What a sass or tensor group has to do is known only after a hardware group.
      const bool expected = kind == GroupKind::kSass || IsPending(observation, other);
      if (groups_[other].visited || (given_up_ >> other & 1u) != 0 || !expected) continue;
      window_reserve_ns_ = Plus(window_reserve_ns_,
                                RotationNs(observation, other) + Times(kReservedRanges, RangeNs(observation, other)));
    }
    // Of what this window itself does not need: a session that is opened and has nothing left for ranges is the worst.
    const uint64_t own_ns =
        Plus(RotationNs(observation, group), Times(WorthwhileRanges(observation, group), RangeNs(observation, group)));
    window_reserve_ns_ = std::min(window_reserve_ns_, Minus(LeftNs(observation), own_ns) / 2);
  }
  ScheduleStep step;
  step.action = ScheduleAction::kToCounters;
  step.group = group;
  step.cost_limit_ns = LeftNs(observation);
  step.next_ns = now_ns;  // With the session open.
  return step;
}

// ---------------------------------------------------------------------------------------------- in a counter window

ScheduleStep CounterSchedule::InCounters(const ScheduleObservation& observation) noexcept {
  const uint64_t now_ns = observation.now_ns;
  if (observation.ending) return Close(observation, ScheduleAction::kStop);
  if (!observation.recording || observation.session_failures != window_failures_ || observation.session_full ||
      observation.needs.groups[group_].signatures == 0 || now_ns - window_begin_ns_ >= MaxWindowNs(observation)) {
    return Close(observation, ScheduleAction::kToTiming);
  }
  // No patience is used up while nothing may be sampled.
  if (observation.samples != gain_samples_ || !ranges_were_allowed_) {
    gain_samples_ = observation.samples;
    gain_skips_ = observation.busy_skips;
    gain_ns_ = now_ns;
  }
  ScheduleStep step;
  step.group = group_;
  step.next_ns = now_ns + kInCountersNs;
  const uint64_t left_ns = LeftNs(observation);
  const uint64_t range_ns = RangeNs(observation, group_);
  // What is left to do here costs less than to come back for it: then nothing is kept for others.
  if (Times(observation.needs.groups[group_].ranges, range_ns) <= RotationNs(observation, group_)) {
    window_reserve_ns_ = 0;
  }
  const uint64_t spendable_ns = left_ns == kUnlimited ? kUnlimited : Minus(left_ns, window_reserve_ns_);
  if (now_ns - gain_ns_ >= (draining_ ? options_.patience_ns + options_.max_drain_ns : options_.patience_ns)) {
    const bool busy = observation.busy_skips != gain_skips_;
    if (draining_ || !busy) return Close(observation, ScheduleAction::kToTiming);
    draining_ = true;
    gain_ns_ = now_ns;
  }
  uint64_t wanted_ns = range_ns;
  if (draining_ && !bursting_) {
    // One drain for many ranges: without a wait in between the device stays caught up with.
    wanted_ns = Plus(DrainNs(observation), Times(WorthwhileRanges(observation, group_), range_ns));
  }
  if (spendable_ns < wanted_ns) {
    bursting_ = false;
    const auto close = [&] {
      ScheduleStep closed = Close(observation, ScheduleAction::kToTiming);
      closed.budget_spent = true;
      return closed;
    };
    if (window_reserve_ns_ != 0) return close();
    // An open session costs little: rather wait here than come back.
    const uint64_t wait_ns = WaitForNs(observation, wanted_ns);
    if (wait_ns > LongestWaitNs(observation, group_)) return close();
    step.budget_spent = true;
    ranges_were_allowed_ = false;
    step.next_ns = now_ns + std::clamp<uint64_t>(wait_ns, 1, kInTimingNs);
    return step;
  }
  bursting_ = draining_;
  step.ranges_allowed = true;
  ranges_were_allowed_ = true;
  step.max_ranges = static_cast<uint32_t>(
      std::clamp<uint64_t>(spendable_ns / std::max<uint64_t>(range_ns, 1), 1, uint64_t{UINT32_MAX}));
  step.cost_limit_ns = spendable_ns;
  step.drain_allowed = draining_;
  if (draining_) step.drain_limit_ns = std::min(options_.max_drain_ns, spendable_ns);
  return step;
}

void CounterSchedule::NotOpened() noexcept {
  if (!in_counters_) return;
  in_counters_ = false;
  groups_[group_].visited = false;
  group_ = last_group_;
  window_places_ = last_places_;
  --rotations_;
}

// The session of the last window failed, however often.
void CounterSchedule::NoteFailure(const ScheduleObservation& observation) noexcept {
  seen_failures_ = observation.session_failures;
  Group& group = groups_[group_];
  group.failures = failures_before_ + 1;
  if (group.failures >= options_.max_session_failures) given_up_ |= 1u << group_;
}

ScheduleStep CounterSchedule::Close(const ScheduleObservation& observation, ScheduleAction action) noexcept {
  const uint64_t now_ns = observation.now_ns;
  in_counters_ = false;
  round_counters_ns_ += now_ns - window_begin_ns_;
  Group& group = groups_[group_];
  failures_before_ = std::exchange(group.failures, 0);
  seen_failures_ = observation.session_failures;
  if (observation.session_failures != window_failures_) NoteFailure(observation);
  if (observation.samples != window_samples_) {
    group.back_off_ns = 0;
    group.not_before_ns = 0;
    group.share_ratio = 0;
    runs_ahead_ = draining_;
    // More signatures came than there were when it was opened.
    if (observation.session_full && observation.needs.groups[group_].share_ratio >= options_.again_ratio &&
        group.again < options_.max_again) {
      ++group.again;
      group.visited = false;
    }
  } else if (observation.recording) {
    group.back_off_ns = std::clamp(group.back_off_ns * 2, options_.first_back_off_ns, options_.longest_back_off_ns);
    group.not_before_ns = now_ns + group.back_off_ns;
    group.share_ratio = window_share_;
  }
  ScheduleStep step;
  step.action = action;
  step.group = group_;
  step.next_ns = now_ns;  // Another group of the round may follow at once.
  if (action == ScheduleAction::kStop) stopped_ = true;
  return step;
}

}  // namespace gx::inject
