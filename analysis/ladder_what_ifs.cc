#include "analysis/ladder_what_ifs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analysis/format.h"
#include "analysis/model/ladder_changes.h"
#include "analysis/model/ladder_resource.h"
#include "analysis/model/ladder_rungs.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

using model::ExcessFactor;
using model::StallReason;
using model::TermKind;

// A term below this share of the time is not asked about.
constexpr double kLeastTerm = 0.01;
// Waits for memory below this share of a warp's life are no reason to ask for more of them at a time.
constexpr double kLeastWait = 0.05;
// Without latency the calibration would scale all unexplained time with the busiest resource: it has to be busy for
// this share of the active time.
constexpr double kBusyEnough = model::kCoLimiterRatio;
// Beyond so many waves the last one is a detail.
constexpr double kManyWaves = 20;
// A slice that does so much more than the mean is a hot one.
constexpr double kHotSlice = 1.2;

int64_t Signed(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
}

class Asker {
 public:
  Asker(const LadderEvidence& evidence, const model::Ladder& ladder, const LadderLaunch& launch, double launch_count)
      : evidence_(evidence), ladder_(ladder), launch_(launch), launch_count_(launch_count) {}

  std::vector<LadderWhatIf> Ask() {
    AskExcess();
    AskGrid();
    AskOccupancy();
    AskWaits();
    SortWhatIfs(&what_ifs_);
    return std::move(what_ifs_);
  }

 private:
  // Without X a change of the grid would be told from busy time alone, which of a small kernel is next to nothing.
  enum class Latency { kNotNeeded, kNeeded };

  // work_ratio: of the work that the launch does afterwards; a saving is of the same work.
  void Add(absl::string_view change, std::string text, const absl::StatusOr<model::LadderChange>& how,
           double work_ratio = 1, Latency needs_latency = Latency::kNotNeeded) {
    if (!how.ok()) return;
    const absl::StatusOr<model::WhatIf> result = model::ComputeWhatIf(evidence_.input, ladder_, *how);
    LadderWhatIf what_if{.change = std::string(change), .text = std::move(text)};
    if (!result.ok()) {
      what_if.no_prediction = Printable(result.status().message());
    } else if (result->no_prediction != model::NoPrediction::kNone) {
      what_if.no_prediction = std::string(model::NoPredictionReason(result->no_prediction));
    } else if (needs_latency == Latency::kNeeded && result->without_latency) {
      what_if.no_prediction = "latency is unmeasured, and other blocks may just wait as long";
    } else if (result->without_latency && ladder_.floor_ns < kBusyEnough * ladder_.active_ns) {
      what_if.no_prediction = "latency is unmeasured, and no resource is busy for most of the time";
    } else {
      what_if.time_ns = result->time_ns;
      what_if.interval_ns = result->interval_ns;
      what_if.saved_ns = ladder_.time_ns - result->time_ns / work_ratio;
      what_if.saved_run_ns = *what_if.saved_ns * launch_count_;
      if (result->binding.has_value()) what_if.binding = std::string(model::ResourceName(*result->binding));
      what_if.without_latency = result->without_latency;
      what_if.other_regime = result->other_regime;
    }
    what_ifs_.push_back(std::move(what_if));
  }

  bool Has(ExcessFactor factor) const {
    if (!evidence_.excess.has_value()) return false;
    return std::any_of(evidence_.excess->shares.begin(), evidence_.excess->shares.end(),
                       [factor](const model::ExcessShare& share) { return share.factor == factor; });
  }

  // X with waits changed; absent without stall reasons.
  std::optional<double> UncontendedWith(const model::UncontendedChange& change) const {
    if (!evidence_.warp_shares.has_value()) return std::nullopt;
    return model::UncontendedNs(
        ladder_, model::UncontendedRatio(*evidence_.warp_shares, evidence_.latency_ratio.value_or(1), change));
  }

  void AddWithout(absl::string_view change, std::string text, ExcessFactor factor,
                  std::optional<double> uncontended_ns = std::nullopt, bool costs_occupancy = false) {
    const model::UsefulRatios ratios =
        model::RatiosWithout(*evidence_.counted, *evidence_.requested, model::FactorSet::Of(factor));
    Add(change, std::move(text), model::WithoutFactors(evidence_.input, ratios, uncontended_ns, costs_occupancy));
  }

  void AskExcess() {
    if (!evidence_.counted.has_value() || !evidence_.requested.has_value()) return;
    const model::RequestedWork& requested = *evidence_.requested;
    if (Has(ExcessFactor::kUncoalesced)) {
      AddWithout("coalesced", "every sector that global loads and stores move is full of bytes that are asked for",
                 ExcessFactor::kUncoalesced);
    }
    if (Has(ExcessFactor::kConflicts)) {
      const double ideal = std::max(requested.shared_instructions, requested.shared_data_bytes / 128);
      model::UncontendedChange change;
      if (requested.shared_wavefronts > 0) {
        change.short_scoreboard_ratio = std::min(1.0, ideal / requested.shared_wavefronts);
      }
      AddWithout("no_conflicts", "no bank conflicts in shared memory", ExcessFactor::kConflicts,
                 UncontendedWith(change));
    }
    if (Has(ExcessFactor::kSpills)) AskSpills(requested);
    if (Has(ExcessFactor::kDivergence)) {
      AddWithout("no_divergence", "all 32 lanes work in every instruction", ExcessFactor::kDivergence,
                 UncontendedUndiverged(requested));
    }
    if (Has(ExcessFactor::kWriteBack) &&
        model::WriteBackMayBeOwn(evidence_.counted->dram_write_bytes, requested.stored_bytes)) {
      AddWithout("no_write_back_excess", "DRAM is written no more than the kernel stores", ExcessFactor::kWriteBack);
    }
  }

  // Paths that warps take one after the other are taken once.
  std::optional<double> UncontendedUndiverged(const model::RequestedWork& requested) const {
    if (!ladder_.uncontended_ns.has_value() || !(requested.warp_instructions > 0)) return std::nullopt;
    constexpr double kLanes = 32;
    const double lanes = requested.thread_instructions / (kLanes * requested.warp_instructions);
    return *ladder_.uncontended_ns * std::clamp(lanes, 0.0, 1.0);
  }

  void AskSpills(const model::RequestedWork& requested) {
    const double all = requested.global_instructions + requested.local_instructions;
    model::UncontendedChange change;
    if (all > 0) change.long_scoreboard_ratio = requested.global_instructions / all;
    std::optional<double> uncontended_ns = UncontendedWith(change);
    const std::optional<uint64_t>& blocks = launch_.configuration.residency.blocks_per_sm;
    const std::optional<uint64_t>& then = launch_.blocks_per_sm_without_spills;
    bool costs_occupancy = false;
    std::string text = "what is spilled stays in registers";
    if (blocks.value_or(0) > 0 && then.value_or(0) > 0) {
      const double ratio = BlocksThere(*blocks) / BlocksThere(*then);
      if (uncontended_ns.has_value()) *uncontended_ns *= ratio;
      costs_occupancy = ratio > 1;
      if (*then != *blocks) absl::StrAppend(&text, "; an SM holds ", *then, " blocks then, not ", *blocks);
    }
    AddWithout("no_spills", std::move(text), ExcessFactor::kSpills, uncontended_ns, costs_occupancy);
  }

  // Blocks an SM really has, of those that it could hold: the grid may be smaller. 0 without a known grid.
  double BlocksThere(uint64_t blocks_per_sm) const {
    if (!launch_.block_count.has_value() || launch_.sm_count.value_or(0) == 0)
      return static_cast<double>(blocks_per_sm);
    return std::min(static_cast<double>(blocks_per_sm),
                    static_cast<double>(*launch_.block_count) / static_cast<double>(*launch_.sm_count));
  }

  void AskGrid() {
    const LaunchResidency& residency = launch_.configuration.residency;
    if (launch_.block_count.value_or(0) == 0 || residency.slot_count.value_or(0) == 0) return;
    const uint64_t blocks = *launch_.block_count;
    const uint64_t slots = *residency.slot_count;
    if (blocks < slots) {
      if (blocks == 0 || ladder_.Term(TermKind::kIdle).ns + ladder_.hidden_idle_ns < kLeastTerm * ladder_.time_ns)
        return;
      Add("filled_device",
          absl::StrCat("the same work in ", FormatCount(slots), " blocks, which is every slot, instead of ",
                       FormatCount(blocks)),
          model::FilledDevice(evidence_.input, ladder_, Signed(blocks), Signed(slots)), 1, Latency::kNeeded);
      return;
    }
    const uint64_t kept = blocks / slots * slots;
    if (kept == blocks || residency.waves.value_or(0) > kManyWaves) return;
    Add("full_last_wave",
        absl::StrCat(FormatCount(kept), " blocks, which fill whole waves, instead of ", FormatCount(blocks),
                     "; saved for the same work"),
        model::FullLastWave(evidence_.input, ladder_, Signed(blocks), Signed(kept)),
        static_cast<double>(kept) / static_cast<double>(blocks), Latency::kNeeded);
  }

  // More blocks than an SM has warps or slots for do not exist, whatever else they are given.
  static bool IsHardLimit(absl::string_view limiters) {
    for (const absl::string_view limiter : absl::StrSplit(limiters, " + ")) {
      if (limiter == "warps" || limiter == "blocks") return true;
    }
    return false;
  }

  double WarpsPerBlock() const {
    constexpr uint64_t kLanes = 32;
    const std::optional<Dim>& block = launch_.configuration.block;
    if (!block.has_value()) return 1;
    const double threads =
        static_cast<double>(block->x) * static_cast<double>(block->y) * static_cast<double>(block->z);
    return std::max(1.0, std::ceil(threads / kLanes));
  }

  void AskOccupancy() {
    const LaunchResidency& residency = launch_.configuration.residency;
    if (residency.blocks_per_sm.value_or(0) == 0) return;
    const std::string limiters = residency.limiters.value_or("");
    if (IsHardLimit(limiters) || residency.occupancy_ratio.value_or(0) >= 1) return;
    const uint64_t blocks = *residency.blocks_per_sm;
    const double warps_per_block = WarpsPerBlock();
    // Of the SM; unknown: any number.
    double warps_at_most = std::numeric_limits<double>::infinity();
    if (residency.occupancy_ratio.value_or(0) > 0) {
      warps_at_most = static_cast<double>(blocks) * warps_per_block / *residency.occupancy_ratio;
    }
    const double now = BlocksThere(blocks) * warps_per_block;
    const auto add = [&](absl::string_view change, uint64_t then, const std::string& needs) {
      // Occupancy is a quotient: half a warp is no further one.
      if (static_cast<double>(then) * warps_per_block > warps_at_most + 0.5) return;
      const double warps_then = BlocksThere(then) * warps_per_block;
      // The grid has no blocks for it.
      if (warps_then <= now) return;
      Add(change, absl::StrCat(then, " blocks an SM instead of ", blocks, needs),
          model::OtherOccupancy(ladder_, now, warps_then));
    };
    if (residency.one_more_block.has_value() && residency.one_more_block->is_possible) {
      std::vector<std::string> needs;
      if (std::string text = OneMoreBlockText(*residency.one_more_block); !text.empty()) needs.push_back(text);
      // Their numbers are not in the report.
      if (absl::StrContains(limiters, "barriers")) needs.emplace_back("fewer barriers a block");
      if (absl::StrContains(limiters, "virtual")) needs.emplace_back("fewer virtual resources a block");
      add("one_more_block", blocks + 1, needs.empty() ? "" : absl::StrCat(": ", absl::StrJoin(needs, " and ")));
    }
    const bool further = residency.next_blocks_per_sm.value_or(0) > blocks + 1;
    if (further) {
      add("other_occupancy", *residency.next_blocks_per_sm,
          absl::StrCat(": without the limit by ", residency.limiters.value_or("what limits now")));
    }
  }

  void AskWaits() {
    if (evidence_.warp_shares.has_value() && ladder_.uncontended_ns.has_value()) {
      const model::WarpShares& shares = *evidence_.warp_shares;
      const double lambda = evidence_.latency_ratio.value_or(1);
      if (shares.stalled[StallReason::kLongScoreboard].value_or(0) > kLeastWait) {
        Add("loads_in_flight",
            absl::StrCat(FormatDecimal(kLoadsInFlight, 0), " independent loads in flight where there is one"),
            model::LoadsInFlight(ladder_, shares, lambda, kLoadsInFlight));
      }
      if (ladder_.Term(TermKind::kSync).ns > kLeastTerm * ladder_.time_ns) {
        Add("barriers_split", "no waiting at barriers and fences", model::BarriersSplit(ladder_, shares, lambda));
      }
    }
    const model::LadderResource* atomics = evidence_.input.resources.Find(model::ResourceKind::kL2Atomics);
    if (atomics != nullptr && atomics->busiest_ns.value_or(0) > kHotSlice * atomics->work_ns &&
        *atomics->busiest_ns > kLeastTerm * ladder_.time_ns) {
      Add("atomics_spread", "atomics spread evenly over the slices of L2", model::AtomicsSpread(evidence_.input, 1));
    }
    if (ladder_.Term(TermKind::kClock).ns > kLeastTerm * ladder_.time_ns) {
      Add("no_throttling", "the device's maximum SM clock: what power or heat costs, and no fix",
          model::NoThrottling());
    }
  }

  const LadderEvidence& evidence_;
  const model::Ladder& ladder_;
  const LadderLaunch& launch_;
  const double launch_count_;
  std::vector<LadderWhatIf> what_ifs_;
};

}  // namespace

void SortWhatIfs(std::vector<LadderWhatIf>* what_ifs) {
  std::stable_sort(what_ifs->begin(), what_ifs->end(), [](const LadderWhatIf& a, const LadderWhatIf& b) {
    if (a.saved_run_ns.has_value() != b.saved_run_ns.has_value()) return a.saved_run_ns.has_value();
    return a.saved_run_ns.value_or(0) > b.saved_run_ns.value_or(0);
  });
}

std::vector<LadderWhatIf> LadderWhatIfs(const LadderEvidence& evidence, const model::Ladder& ladder,
                                        const LadderLaunch& launch, double launch_count) {
  if (evidence.input.resources.empty()) return {};
  return Asker(evidence, ladder, launch, launch_count).Ask();
}

const LadderWhatIf* FindWhatIf(const std::vector<LadderWhatIf>& what_ifs, absl::string_view change) {
  for (const LadderWhatIf& what_if : what_ifs) {
    if (what_if.change == change) return &what_if;
  }
  return nullptr;
}

std::string OneMoreBlockText(const OneMoreBlock& step) {
  if (!step.is_possible) return "";
  std::vector<std::string> needs;
  if (step.registers_per_thread.has_value()) {
    needs.push_back(absl::StrCat("at most ", *step.registers_per_thread, " registers a thread"));
  }
  if (step.shared_memory_bytes.has_value()) {
    needs.push_back(absl::StrCat("at most ", FormatBytes(*step.shared_memory_bytes), " of shared memory a block",
                                 step.carveout_bytes.has_value()
                                     ? absl::StrCat(" (or a carve-out of ", FormatBytes(*step.carveout_bytes), ")")
                                     : std::string()));
  } else if (step.carveout_bytes.has_value()) {
    needs.push_back(absl::StrCat("a carve-out of ", FormatBytes(*step.carveout_bytes)));
  }
  // With registers it is another way out, and not what is recomputed.
  if (step.threads_per_block.has_value() && !step.registers_per_thread.has_value()) {
    needs.push_back(absl::StrCat("at most ", *step.threads_per_block, " threads a block"));
  }
  return absl::StrJoin(needs, " and ");
}

}  // namespace gx::analysis
