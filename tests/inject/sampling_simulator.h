// A program with launches, a device and a clock, all simulated, driven by CounterSchedule and SamplingNeeds as the
// library would drive them. Costs are those seen on an H200 unless a program says otherwise.
#ifndef GPUEXEC_TESTS_INJECT_SAMPLING_SIMULATOR_H_
#define GPUEXEC_TESTS_INJECT_SAMPLING_SIMULATOR_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "inject/counter_schedule.h"
#include "inject/sampling_needs.h"
#include "inject/sampling_wait.h"

namespace gx::inject {

struct SimulatedSignature {
  uint64_t duration_ns = 10'000;
  uint32_t launches_a_step = 1;
  // Part of the program's steps from here on, up to there.
  uint64_t begin_ns = 0;
  uint64_t end_ns = UINT64_MAX;
  bool tensor = false;
  // Every range of it holds something else as well.
  bool always_void = false;
  // Warp instructions of a launch; 0: not known, and a range of patched code costs what the program says.
  double warp_instructions = 0;
  // The thread that launches it: each has buffers of records of its own.
  uint32_t thread = 0;
};

struct SimulatedProgram {
  std::vector<SimulatedSignature> signatures;
  std::vector<GroupKind> kinds = {GroupKind::kHardware, GroupKind::kSass};
  uint64_t length_ns = 60'000'000'000;
  uint64_t phases = 1;  // Of equal length; for the reader of the results.
  // The host runs ahead of the device by so much: a launch finds its streams busy unless they are drained.
  uint64_t runs_ahead_ns = 0;
  double busy_ratio = 0.95;  // Of the device.
  uint64_t rotation_ns = 300'000'000;
  uint64_t hardware_range_ns = 1'400'000;
  uint64_t sass_range_ns = 13'000'000;
  // Groups whose sessions never start.
  uint32_t failing_groups = 0;
  // Records come by the buffer of so many; 0: at once.
  uint32_t records_a_buffer = 0;
  // Sessions have places, of place_ns each beside rotation_ns, and groups (as bits) whose session goes on with
  // `next_group`, for pass_ns; signatures for the first rounds are chosen as the library does.
  bool has_places = false;
  uint64_t place_ns = 2'000'000;
  uint64_t pass_ns = 12'000'000;
  uint32_t can_go_on = 0;
  uint32_t next_group = 0;
  double sass_ns_per_instruction = 0.25;
  // Nothing is recorded, a capture is open: from, to.
  std::optional<std::pair<uint64_t, uint64_t>> off_region;
  std::optional<std::pair<uint64_t, uint64_t>> capture;
};

struct SimulatedRun {
  uint64_t cost_ns = 0;
  uint64_t length_ns = 0;
  uint32_t rotations = 0;
  uint64_t launches = 0;
  uint64_t samples = 0;
  uint64_t counters_ns = 0;           // In counter windows.
  uint64_t worst_over_budget_ns = 0;  // Beyond max(1.5 s, share of wall time), at any moment.
  uint64_t first_counters_ns = 0;     // When the first window opened; 0: never.
  uint64_t first_round_done_ns = 0;   // When nothing was missing for the first time; 0: never.
  double timed_ratio_at_first = 0;
  uint32_t given_up_groups = 0;
  bool broke_a_rule = false;  // A switch in a capture, a range outside a window, ...
  bool stopped = false;
  SamplingNeeds::Summary needs;                   // At the end.
  std::vector<std::vector<uint32_t>> samples_of;  // [signature][group]
  std::string history;                            // The groups in the order of their windows, as letters.
};

class Simulator {
 public:
  Simulator(const SimulatedProgram& program, const ScheduleOptions& options)
      : program_(program), options_(options), schedule_(options, program.kinds, 0) {
    SamplingNeeds::Options needs_options;
    needs_options.capacity = 512;
    needs_options.functions = 1024;
    broke_ = !needs_.Allocate(needs_options, program.kinds);
  }

  SimulatedRun Run() {
    SimulatedRun run;
    while (now_ns_ < program_.length_ns) {
      bool any = false;
      for (uint32_t i = 0; i < program_.signatures.size(); ++i) {
        const SimulatedSignature& signature = program_.signatures[i];
        if (now_ns_ < signature.begin_ns || now_ns_ >= signature.end_ns) continue;
        any = true;
        for (uint32_t n = 0; n < signature.launches_a_step && now_ns_ < program_.length_ns; ++n) Launch(i, &run);
      }
      if (!any) Pass(10'000'000, &run);
    }
    Observe(true, &run);
    run.cost_ns = cost_ns_;
    run.length_ns = now_ns_;
    run.rotations = schedule_.rotations();
    run.given_up_groups = schedule_.given_up_groups();
    run.stopped = schedule_.stopped();
    needs_.Rank();
    run.needs = needs_.Summarise();
    for (uint32_t i = 0; i < program_.signatures.size(); ++i) {
      const uint32_t place = needs_.Find(Key(i), i + 1);
      std::vector<uint32_t>& samples = run.samples_of.emplace_back();
      for (uint32_t group = 0; group < program_.kinds.size(); ++group) samples.push_back(needs_.Samples(place, group));
    }
    run.broke_a_rule = broke_;
    return run;
  }

 private:
  static uint64_t Key(uint32_t signature) { return 0x9E3779B97F4A7C15u * (signature + 1); }
  bool CaptureOpen() const {
    return program_.capture && now_ns_ >= program_.capture->first && now_ns_ < program_.capture->second;
  }
  bool Recording() const {
    return !program_.off_region || now_ns_ < program_.off_region->first || now_ns_ >= program_.off_region->second;
  }
  uint64_t RangeNs(const SimulatedSignature& signature) const {
    if (program_.kinds[group_] != GroupKind::kSass) return program_.hardware_range_ns;
    if (signature.warp_instructions == 0) return program_.sass_range_ns;
    return program_.hardware_range_ns +
           static_cast<uint64_t>(signature.warp_instructions * program_.sass_ns_per_instruction);
  }

  void Spend(uint64_t ns) {
    cost_ns_ += ns;
    spent_in_step_ns_ += ns;
    now_ns_ += ns;
  }

  void Launch(uint32_t signature, SimulatedRun* run) {
    ++run->launches;
    const SimulatedSignature& what = program_.signatures[signature];
    // As the library does: outside counter windows until the first one.
    const bool counts_launches =
        (program_.records_a_buffer != 0 && schedule_.rotations() == 0) || (in_counters_ && Recording());
    const uint32_t place = counts_launches ? needs_.Find(Key(signature), signature + 1) : SamplingNeeds::kNone;
    if (in_counters_ && Recording()) {
      if (step_.ranges_allowed && HasPlace() && !CaptureOpen() && ranges_in_step_ < step_.max_ranges &&
          spent_in_step_ns_ < step_.cost_limit_ns && needs_.Wants(place, group_, rank_limit_) &&
          back_off_.MayTry(now_ns_)) {
        Sample(signature, place, run);
      }
    } else if (Recording() && program_.records_a_buffer == 0) {
      needs_.AddTime(Key(signature), what.duration_ns, true);
    } else if (Recording()) {
      std::vector<uint32_t>& buffer = buffers_[what.thread];
      buffer.push_back(signature);
      if (buffer.size() >= program_.records_a_buffer) {
        for (const uint32_t record : buffer) needs_.AddTime(Key(record), program_.signatures[record].duration_ns, true);
        buffer.clear();
      }
    }
    Pass(what.duration_ns, run);
  }

  void Sample(uint32_t signature, uint32_t place, SimulatedRun* run) {
    ++ranges_in_step_;
    // The device is behind again after so many launches as it takes to run ahead.
    const uint64_t busy_ns = now_ns_ >= busy_again_ns_ ? program_.runs_ahead_ns : 0;
    const uint64_t limit_ns = std::max(kIdleLimitNs, step_.drain_allowed ? step_.drain_limit_ns : 0);
    Spend(std::min(busy_ns, limit_ns));
    if (busy_ns > limit_ns) {
      ++skips_;
      back_off_.Skipped(now_ns_, limit_ns);
      return;
    }
    back_off_.Succeeded();
    if (busy_ns != 0) {
      drain_total_ns_ += busy_ns;
      ++drains_;
    }
    if (busy_ns != 0) busy_again_ns_ = now_ns_ + 2 * program_.runs_ahead_ns;
    const SimulatedSignature& what = program_.signatures[signature];
    Spend(RangeNs(what));
    range_total_ns_[is_sass()] += RangeNs(what);
    ++range_count_[is_sass()];
    ++places_used_;
    if (what.always_void) {
      needs_.Record(place, group_, SampleOutcome::kVoid);
      return;
    }
    const bool first = program_.has_places && places_used_ == 1;
    needs_.Record(place, group_, first ? SampleOutcome::kFirstOfSession : SampleOutcome::kValid);
    if (!first) ++run->samples;
    if (!is_sass()) {
      needs_.Graduate(signature + 1);
      if (what.tensor) needs_.SetTensorActive(place, true, program_.has_places);
      needs_.SetWarpInstructions(place, what.warp_instructions);
    } else if (!needs_.HasGraduated(signature + 1)) {
      broke_ = true;
    }
  }

  bool is_sass() const { return program_.kinds[group_] == GroupKind::kSass; }
  bool HasPlace() const { return !program_.has_places || places_used_ < places_; }
  bool MayGoOn() const { return in_counters_ && next_places_ != 0; }

  // As the library does (sampler.cc).
  void Rank() {
    if (program_.has_places) {
      needs_.SetSharePercent(options_.budget_ratio && !schedule_.most_is_done() ? 98.5 : 99);
    }
    needs_.Rank();
    known_ = needs_.signatures();
    next_rank_ns_ = now_ns_ + 250'000'000;
  }
  uint64_t OpenPlaces() {
    if (!program_.has_places) return 0;
    const uint32_t lacks = needs_.Summarise().groups[group_].ranges;
    const bool first = schedule_.rotations() == 1;
    places_ = SessionPlaces(lacks);
    const bool goes_on = (program_.can_go_on >> group_ & 1u) != 0;
    const uint32_t next_lacks = goes_on ? needs_.WillLack(program_.next_group) : 0;
    next_places_ = next_lacks == 0 ? 0 : std::min(SessionPlaces(next_lacks), first ? 48u : 128u);
    places_used_ = 0;
    return (places_ + next_places_) * program_.place_ns;
  }

  // The program's own time goes by.
  void Pass(uint64_t ns, SimulatedRun* run) {
    now_ns_ += ns;
    if (in_counters_) run->counters_ns += ns;
    if (now_ns_ >= step_.next_ns || ranges_in_step_ != 0) Observe(false, run);
  }

  void Observe(bool ending, SimulatedRun* run) {
    if (now_ns_ >= next_rank_ns_ || (needs_.signatures() != known_ && program_.records_a_buffer == 0)) Rank();
    ScheduleObservation seen;
    if (program_.records_a_buffer != 0) seen.launches = run->launches;
    seen.session_full = in_counters_ && !HasPlace();
    seen.can_go_on = program_.can_go_on;
    seen.next_group = program_.next_group;
    if (MayGoOn()) seen.group_at_hand = program_.next_group;
    seen.now_ns = now_ns_;
    seen.cost_ns = cost_ns_;
    seen.samples = run->samples;
    seen.busy_skips = skips_;
    seen.session_failures = failures_;
    seen.recording = Recording();
    seen.capture_open = CaptureOpen();
    seen.ending = ending;
    seen.rotation_ns = rotations_ != 0 ? rotation_total_ns_ / rotations_ : 0;
    seen.hardware_range_ns = range_count_[0] != 0 ? range_total_ns_[0] / range_count_[0] : 0;
    seen.sass_range_ns = range_count_[1] != 0 ? range_total_ns_[1] / range_count_[1] : 0;
    seen.busy_ratio = program_.busy_ratio;
    seen.drain_ns = drains_ != 0 ? drain_total_ns_ / drains_ : 0;
    seen.needs = needs_.Summarise();
    const bool was_in_counters = in_counters_;
    const uint64_t allowance_ns = schedule_.AllowanceNs(now_ns_);
    NoteNeeds(seen.needs, run);
    step_ = schedule_.Step(seen);
    if (step_.action == ScheduleAction::kToTiming && MayGoOn()) {
      const ScheduleStep next = schedule_.Step(seen);
      if (next.action == ScheduleAction::kToCounters && next.group == program_.next_group) {
        group_ = next.group;
        places_ = std::exchange(next_places_, 0);
        places_used_ = 0;
        run->history += static_cast<char>('A' + group_);
        Rotate(program_.pass_ns);
        Rank();
        step_ = {.group = group_, .next_ns = now_ns_};
      } else if (next.action == ScheduleAction::kToCounters) {
        schedule_.NotOpened();
      }
    }
    ranges_in_step_ = 0;
    spent_in_step_ns_ = 0;
    for (uint32_t group = 0; group < program_.kinds.size(); ++group) {
      if ((schedule_.given_up_groups() >> group & 1u) != 0) needs_.GiveUpGroup(group);
    }
    if (allowance_ns != UINT64_MAX && options_.budget_ratio) {
      const auto share_ns = static_cast<uint64_t>(static_cast<double>(now_ns_) * *options_.budget_ratio);
      const uint64_t most_ns = std::max(share_ns, options_.first_round_ns);
      run->worst_over_budget_ns = std::max(run->worst_over_budget_ns, cost_ns_ > most_ns ? cost_ns_ - most_ns : 0);
    }
    switch (step_.action) {
      case ScheduleAction::kStay:
        if (step_.ranges_allowed && !was_in_counters) broke_ = true;
        break;
      case ScheduleAction::kToCounters:
        if (was_in_counters || seen.capture_open || !seen.recording) broke_ = true;
        if (run->first_counters_ns == 0) {
          run->first_counters_ns = now_ns_;
          run->timed_ratio_at_first = seen.needs.timed_ratio;
        }
        group_ = step_.group;
        in_counters_ = true;
        run->history += static_cast<char>('a' + group_);
        Rotate(program_.rotation_ns * 9 / 10 + OpenPlaces());
        if ((program_.failing_groups >> group_ & 1u) != 0) ++failures_;
        break;
      case ScheduleAction::kToTiming:
      case ScheduleAction::kStop:
        if (seen.capture_open) broke_ = true;
        if (was_in_counters) {
          in_counters_ = false;
          next_places_ = 0;
          Rotate(program_.rotation_ns / 10);
          ++rotations_;
        } else if (step_.action == ScheduleAction::kToTiming) {
          broke_ = true;
        }
        break;
    }
    rank_limit_ = in_counters_ && step_.ranges_allowed ? needs_.RankLimit(group_, step_.max_ranges) : UINT32_MAX;
  }

  void Rotate(uint64_t ns) {
    Spend(ns);
    rotation_total_ns_ += ns;
  }

  void NoteNeeds(const SamplingNeeds::Summary& needs, SimulatedRun* run) const {
    if (run->first_round_done_ns != 0 || run->samples == 0) return;
    for (uint32_t group = 0; group < program_.kinds.size(); ++group) {
      if (needs.groups[group].signatures != 0) return;
    }
    run->first_round_done_ns = now_ns_;
  }

  SimulatedProgram program_;
  ScheduleOptions options_;
  SamplingNeeds needs_;
  CounterSchedule schedule_;
  ScheduleStep step_;
  SkipBackOff back_off_;
  bool broke_ = false;
  bool in_counters_ = false;
  uint32_t group_ = 0;
  uint32_t rank_limit_ = UINT32_MAX;
  uint32_t ranges_in_step_ = 0;
  uint32_t known_ = 0;
  uint64_t now_ns_ = 0;
  uint64_t cost_ns_ = 0;
  uint64_t spent_in_step_ns_ = 0;
  uint64_t next_rank_ns_ = 0;
  uint64_t busy_again_ns_ = 0;
  uint64_t skips_ = 0;
  uint64_t failures_ = 0;
  uint64_t rotations_ = 0;
  uint64_t rotation_total_ns_ = 0;
  uint64_t drains_ = 0;
  uint64_t drain_total_ns_ = 0;
  uint64_t range_total_ns_[2] = {};
  uint64_t range_count_[2] = {};
  std::map<uint32_t, std::vector<uint32_t>> buffers_;  // Records of each thread, as signatures.
  uint32_t places_ = 0;                                // Of the open session, and of its other group.
  uint32_t next_places_ = 0;
  uint32_t places_used_ = 0;
};

}  // namespace gx::inject

#endif  // GPUEXEC_TESTS_INJECT_SAMPLING_SIMULATOR_H_
