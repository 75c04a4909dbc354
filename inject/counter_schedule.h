// When a run is in a timing window and when in a counter window, and of which group. A state machine over a clock that
// it is given: the same observations give the same steps.
//
// The rules, in this order:
//  1. Nothing starts or ends while a capture is open, and no counter window begins outside the recorded region.
//  2. Timings first: no counter window until the signatures that make up most of the GPU time, and most of the
//  launches,
//     have their clean timings and no new one has come for as long as the last one took to come (a loop has then been
//     through twice), or until that has taken too long. Time in which nothing is launched does not count, and no window
//     begins in it.
//  3. Rounds: the groups that lack samples, one window each, in the order of collection at first, afterwards the one
//     that lacks most, together with what its session can go on with. A change of group costs about 0.3 s, but for the
//     one at hand, which comes next: windows are few, and stay open until their group is done or nothing more comes,
//     also over waits for the budget. How long those may be depends: while kernels keep the device busy an open session
//     costs nothing, otherwise launches may take longer in it.
//  4. After a round a timing window about as long as the round; another round only when what it would sample is worth
//     it and has stopped growing, and then of the groups for which that holds; or when it has waited for a part of the
//     run.
//  5. What counters cost is at most the budget's share of wall time. Before the first round has ended, the budget is at
//     least 1.5 s; it ends where that does not suffice. A window is opened only if its expected cost fits. A program
//     that keeps its streams busy is drained, and then sampled as often as the budget allows before it is ahead again.
//  6. A window without a sample doubles the time until its group is tried again, unless more is to be sampled by then
//     than it was opened for. A group whose session fails twice in a row is given up; without groups the schedule
//     stops.
#ifndef GPUEXEC_INJECT_COUNTER_SCHEDULE_H_
#define GPUEXEC_INJECT_COUNTER_SCHEDULE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "inject/sampling_needs.h"

namespace gx::inject {

struct ScheduleOptions {
  // Whether kernels are timed at all; otherwise nothing is waited for.
  bool timing = true;
  // Share of wall time for counters; nothing: no limit.
  std::optional<double> budget_ratio = 0.05;
  uint64_t first_round_ns = 1'500'000'000;
  // Expected costs, until the run's own are known. Patched code: a guess between an empty kernel (0.03 ms) and an AXPY
  // of 0.23 ms (10 ms), both on an H200.
  // A change of group, and for each place for a range that its session has (measured on an H200: 0.64 s of 256 places).
  uint64_t rotation_ns = 200'000'000;
  uint64_t place_ns = 2'000'000;
  // The group at hand (measured on an H200: 7 ms to stop, no more than 2 to start).
  uint64_t pass_ns = 10'000'000;
  uint64_t hardware_range_ns = 1'500'000;
  uint64_t sass_range_ns = 4'000'000;
  uint64_t drain_ns = 100'000'000;
  // Rule 2: the share that must be timed, how long nothing new must have come at least, and how long all that may take.
  double timed_ratio = 0.90;
  double timed_launch_ratio = 0.90;  // And of launches: the share of which any timing is known.
  // More than the time between two looks at the signatures. Only time in which the program launches counts, a gap of at
  // most so long with it.
  uint64_t min_quiet_ns = 300'000'000;
  uint64_t longest_gap_ns = 250'000'000;
  uint64_t max_wait_for_timings_ns = 10'000'000'000;
  // Rule 3: a window ends when it brought nothing for so long; with busy streams, a drain is allowed after the first
  // such time.
  uint64_t patience_ns = 500'000'000;
  uint64_t max_window_ns = 30'000'000'000;
  // A drain that takes longer than this is not worth a sample.
  uint64_t max_drain_ns = 1'000'000'000;
  // With an open session launches may take twice as long once patched code has run (measured on an H200: 47 ms in place
  // of 30 for 600): with a device that is less busy than this, no window waits for its budget for longer than twice
  // what it takes to come back.
  double bound_ratio = 0.7;
  // Rule 4: a new round is worth it for this share of GPU time, once no signature has been added for so long; for less
  // after a quarter of the time that the run has taken, and no sooner than this.
  double worth_ratio = 0.02;
  uint64_t settle_ns = 1'000'000'000;
  uint64_t max_wait_for_worth_ns = 10'000'000'000;
  uint64_t min_timing_ns = 200'000'000;
  uint64_t max_timing_ns = 10'000'000'000;
  // And no window of patched code is longer then.
  uint64_t max_slow_window_ns = 2'000'000'000;
  // Rule 3: a group whose session was full with so much share left to be sampled comes again in the same round, so many
  // times.
  double again_ratio = 0.05;
  uint32_t max_again = 2;
  // Rule 6.
  uint64_t first_back_off_ns = 1'000'000'000;
  uint64_t longest_back_off_ns = 128'000'000'000;
  uint32_t max_session_failures = 2;
};

// What is known at a step. Totals since the start unless it says otherwise.
struct ScheduleObservation {
  uint64_t now_ns = 0;
  // Spent on counters: time in our calls and waits, and what sampled launches took longer.
  uint64_t cost_ns = 0;
  // Valid samples, and launches that were skipped because a stream was busy.
  uint64_t samples = 0;
  uint64_t busy_skips = 0;
  // Sessions that could not be started or gave nothing but errors.
  uint64_t session_failures = 0;
  // Mean costs so far; 0: not known yet.
  uint64_t rotation_ns = 0;
  uint64_t hardware_range_ns = 0;
  uint64_t sass_range_ns = 0;
  uint64_t drain_ns = 0;
  // The open session has no place left for another range.
  bool session_full = false;
  // A group that the open session, or the one that is about to end, can go on with: no other one has to be opened.
  std::optional<uint32_t> group_at_hand;
  // As bits: groups whose session, once opened, can go on with `next_group`.
  uint32_t can_go_on = 0;
  uint32_t next_group = 0;
  // Launches that the program made, where they are counted; and how busy its kernels keep the device.
  std::optional<uint64_t> launches;
  double busy_ratio = 0;
  // The program's recorded region, and whether any capture is open in the process.
  bool recording = true;
  bool capture_open = false;
  // No more launches are to be expected, or sampling was switched off.
  bool ending = false;
  SamplingNeeds::Summary needs;
};

enum class ScheduleAction : uint8_t {
  kStay,
  kToTiming,    // Ends the session, tracing on again.
  kToCounters,  // Tracing off, a session with `group`.
  kStop,        // kToTiming, and no more steps.
};

struct ScheduleStep {
  ScheduleAction action = ScheduleAction::kStay;
  uint32_t group = 0;
  // Whether launches may be sampled now, how many, and whether busy streams may be waited for beyond the idle deadline,
  // at most so long each.
  bool ranges_allowed = false;
  uint32_t max_ranges = 0;
  bool drain_allowed = false;
  uint64_t drain_limit_ns = 0;
  // A window is not opened yet, or its ranges wait, or it was closed: the budget is spent.
  bool budget_spent = false;
  // Spend no more than this before the next step, and take it at this time at the latest.
  uint64_t cost_limit_ns = 0;
  uint64_t next_ns = 0;
};

// Ranges of one session. The more, the longer cuptiRangeProfilerStart takes and the more memory it wants.
inline constexpr uint32_t kMaxSessionPlaces = 256;
// Places for a session that is to take so many samples: some are for ranges that turn out void. Pure.
uint32_t SessionPlaces(uint32_t ranges) noexcept;

class CounterSchedule {
 public:
  // `kinds` as given to SamplingNeeds. `start_ns`: when the wall time that the budget is a share of began.
  CounterSchedule(const ScheduleOptions& options, std::span<const GroupKind> kinds, uint64_t start_ns);

  // One thread. The caller does what the step says before it takes the next one.
  ScheduleStep Step(const ScheduleObservation& observation) noexcept;

  // Right after a step to counters that could not be followed: no session was tried, because the device was not quiet
  // or there was nothing to count in. As if the step had not been taken.
  void NotOpened() noexcept;

  // Groups that were given up, as bits: to be handed to SamplingNeeds::GiveUpGroup.
  uint32_t given_up_groups() const noexcept { return given_up_; }
  uint32_t rotations() const noexcept { return rotations_; }
  bool stopped() const noexcept { return stopped_; }
  // Whether a round has ended and, of what was to be sampled at the last step, no group lacked what is worth a round.
  bool most_is_done() const noexcept { return most_is_done_; }
  // What counters may have cost by then; UINT64_MAX: no limit.
  uint64_t AllowanceNs(uint64_t now_ns) const noexcept;

 private:
  struct Group {
    GroupKind kind = GroupKind::kHardware;
    uint32_t failures = 0;  // In a row.
    uint64_t back_off_ns = 0;
    uint64_t not_before_ns = 0;
    double share_ratio = 0;  // To be sampled when its window brought nothing.
    bool visited = false;    // In this round.
    uint32_t again = 0;      // How often it came again in it.
  };

  ScheduleStep InTiming(const ScheduleObservation& observation) noexcept;
  ScheduleStep InCounters(const ScheduleObservation& observation) noexcept;
  ScheduleStep Open(const ScheduleObservation& observation, uint32_t group) noexcept;
  ScheduleStep Close(const ScheduleObservation& observation, ScheduleAction action) noexcept;
  void NoteFailure(const ScheduleObservation& observation) noexcept;
  bool IsPending(const ScheduleObservation& observation, uint32_t group) const noexcept;
  bool MayBegin(const ScheduleObservation& observation) noexcept;
  void EndRound(uint64_t now_ns) noexcept;
  // Of a session of the group, and of a window: less where the group is at hand.
  uint64_t SessionNs(const ScheduleObservation& observation, uint32_t group) const noexcept;
  uint64_t RotationNs(const ScheduleObservation& observation, uint32_t group) const noexcept;
  uint64_t RangeNs(const ScheduleObservation& observation, uint32_t group) const noexcept;
  uint64_t DrainNs(const ScheduleObservation& observation) const noexcept;
  uint64_t MaxWindowNs(const ScheduleObservation& observation) const noexcept;
  // Of the allowance, what is not spent.
  uint64_t LeftNs(const ScheduleObservation& observation) const noexcept;
  // How long until so much more may be spent, if nothing is spent meanwhile; UINT64_MAX: never.
  uint64_t WaitForNs(const ScheduleObservation& observation, uint64_t cost_ns) const noexcept;
  // How long a window of the group waits for the budget: as long as that takes to pay for a session, less where the
  // device is not busy.
  uint64_t LongestWaitNs(const ScheduleObservation& observation, uint32_t group) const noexcept;
  bool AllGivenUp() const noexcept;

  ScheduleOptions options_;
  std::array<Group, kMaxSampledGroups> groups_ = {};
  uint32_t group_count_ = 0;
  uint64_t start_ns_ = 0;
  uint32_t given_up_ = 0;
  uint32_t rotations_ = 0;
  bool stopped_ = false;
  bool in_counters_ = false;
  bool in_round_ = false;
  bool first_round_over_ = false;
  bool most_is_done_ = false;
  std::optional<uint64_t> first_seen_ns_;  // Since when there is a signature,
  uint64_t loop_begin_ns_ = 0;             // since when signatures come as they do now,
  uint32_t most_ranked_ = 0;               // how many there were at most,
  uint64_t last_seen_ns_ = 0;              // since when,
  uint64_t quiet_ns_ = 0;                  // and for how long the program has launched since.
  bool any_time_known_ = false;
  std::optional<uint64_t> pending_ns_;  // Since when something is to be sampled,
  uint32_t pending_signatures_ = 0;     // how many signatures of the neediest group at most,
  uint64_t pending_grew_ns_ = 0;        // and since when not more.
  uint64_t round_counters_ns_ = 0;      // Time in counter windows of this round.
  double round_worth_ratio_ = 0;        // The groups of this round have at least this share to be sampled.
  uint64_t timing_until_ns_ = 0;
  // The open window, and the group of the one before.
  uint32_t group_ = 0;
  uint32_t last_group_ = 0;
  uint64_t window_begin_ns_ = 0;
  uint32_t window_places_ = 0;      // Of its session; of the last one, once it is closed.
  uint32_t last_places_ = 0;        // Of the one before.
  uint64_t window_reserve_ns_ = 0;  // Of the allowance, kept for the other groups of the first round.
  uint64_t window_samples_ = 0;
  uint64_t window_failures_ = 0;
  // As of the last window's end: failures seen, and of its group in a row before it.
  uint64_t seen_failures_ = 0;
  uint32_t failures_before_ = 0;
  double window_share_ = 0;
  std::optional<uint64_t> launches_;  // As of the last step in a timing window,
  uint64_t launched_ns_ = 0;          // and when there were more than before.
  uint64_t gain_samples_ = 0;
  uint64_t gain_skips_ = 0;
  uint64_t gain_ns_ = 0;
  bool ranges_were_allowed_ = false;
  bool draining_ = false;
  bool bursting_ = false;    // The budget for a drain and what follows it has come together.
  bool runs_ahead_ = false;  // The last window with samples needed drains.
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_COUNTER_SCHEDULE_H_
