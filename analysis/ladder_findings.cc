#include "analysis/ladder_findings.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/format.h"
#include "analysis/ladder_explain.h"
#include "analysis/model/ladder_resource.h"

namespace gx::analysis {
namespace {

using model::ExcessFactor;
using model::Rung;
using model::TermKind;

// Shares of the time below which nothing is said of a term.
constexpr double kWorthALine = 0.05;
// R4 or R5 at this share of the time or more: at its roof.
constexpr double kAtRoof = 0.9;
// An unexplained share that is a finding by itself.
constexpr double kMuchUnexplained = 0.2;
// How far off the clock of timed launches may be, as a factor (signature_clock.h).
constexpr double kClockError = 1.03;
// A change that saves less is worth nothing.
constexpr double kNothing = 0.01;

std::string Percent(double ratio) { return FormatRatio(std::max(0.0, ratio)); }

class Finder {
 public:
  Finder(const FindingsInput& input, const LadderFigures& figures) : in_(input), of_(figures) {}

  std::vector<LadderFinding> Find() {
    if (in_.facts.is_communication) {
      Add("ladder.communication",
          "communication: the time is waiting for other devices; no resource of this one explains it",
          "see which rank comes last; overlap it with independent work", nullptr);
      return std::move(findings_);
    }
    if (of_.ladder.violation.has_value()) {
      AddViolation();
      return std::move(findings_);
    }
    if (!of_.ladder.rungs.at(Rung::kWork).has_value()) return {};
    AddRoof();
    AddExcess();
    AddClock();
    AddUneven();
    AddLaunch();
    // In another regime these terms count as unexplained: nothing is said of them.
    if (!of_.ladder.other_regime) {
      AddIdle();
      AddWaits();
      AddOccupancy();
    }
    AddUnexplained();
    std::stable_sort(findings_.begin(), findings_.end(), [](const LadderFinding& a, const LadderFinding& b) {
      if (a.saved_run_ns.has_value() != b.saved_run_ns.has_value()) return a.saved_run_ns.has_value();
      return a.saved_run_ns.value_or(0) > b.saved_run_ns.value_or(0);
    });
    return std::move(findings_);
  }

 private:
  double TermNs(TermKind kind) const { return of_.ladder.Term(kind).ns; }
  double Share(double ns) const { return ns / of_.ladder.time_ns; }

  // "; predicted 12.1 us (10.4 us to 14.0 us) instead of 31.2 us, 3.20 ms of the run".
  std::string Worth(const LadderWhatIf* what_if) const {
    if (what_if == nullptr) return "";
    if (!what_if->time_ns.has_value()) return absl::StrCat("; no prediction: ", what_if->no_prediction);
    if (*what_if->saved_ns < kNothing * of_.ladder.time_ns) {
      return absl::StrCat("; worth nothing",
                          what_if->binding.empty() ? "" : absl::StrCat(": ", what_if->binding, " binds"));
    }
    std::string text =
        absl::StrCat("; predicted: ", FormatNs(*what_if->time_ns), " (", FormatNs(what_if->interval_ns->low), " to ",
                     FormatNs(what_if->interval_ns->high), ") instead of ", FormatNs(of_.ladder.time_ns), ", ",
                     FormatNs(*what_if->saved_run_ns), " over the run");
    if (!what_if->binding.empty()) absl::StrAppend(&text, "; then ", what_if->binding, " binds");
    return text;
  }

  // With the worth of a what-if, where there is one.
  void Add(absl::string_view id, absl::string_view text, absl::string_view advice, const LadderWhatIf* what_if) {
    LadderFinding finding{
        .id = std::string(id), .text = absl::StrCat(text, Worth(what_if)), .advice = std::string(advice)};
    if (what_if != nullptr) finding.saved_run_ns = what_if->saved_run_ns;
    findings_.push_back(std::move(finding));
  }
  const LadderWhatIf* WhatIf(absl::string_view change) const { return FindWhatIf(of_.what_ifs, change); }

  void AddViolation() {
    const model::Violation& violation = *of_.ladder.violation;
    const std::optional<model::RungValue>& rung = of_.ladder.rungs.at(violation.rung);
    const bool needs_clock = violation.rung == Rung::kClock || violation.rung == Rung::kBusiest;
    const double longest_ns = of_.time_interval_ns.has_value() ? of_.time_interval_ns->high : of_.ladder.time_ns;
    const bool certain = of_.intervals.has_value() && of_.intervals->violation_is_certain &&
                         (!needs_clock || rung->ns / kClockError > longest_ns);
    std::string binding;
    if (rung->binding.has_value()) binding = absl::StrCat(" (", model::ResourceName(*rung->binding), ")");
    Add("ladder.violation",
        absl::StrCat(model::RungName(violation.rung), binding, ", ", FormatNs(rung->ns), ", is ",
                     FormatNs(violation.ns), " above the time, which cannot be",
                     certain ? ", whatever samples and timings are taken"
                             : "; within what samples and timings vary, it may be none"),
        "counted launches did other work, met a warmer or colder cache or another clock than timed ones, or a peak is "
        "wrong; the ladder stops there",
        nullptr);
  }

  void AddRoof() {
    for (const Rung rung : {Rung::kBusiest, Rung::kCeiling}) {
      const std::optional<model::RungValue>& value = of_.ladder.rungs.at(rung);
      if (!value.has_value() || !value->binding.has_value() || Share(value->ns) < kAtRoof) continue;
      const bool sustained = rung == Rung::kCeiling;
      Add("ladder.at_roof",
          absl::StrCat("at its roof: ", model::ResourceName(*value->binding), sustained ? " at sustained rates" : "",
                       " takes ", Percent(std::min(1.0, Share(value->ns))), " of the time"),
          TermNs(TermKind::kExcess) > kWorthALine * of_.ladder.time_ns ? "less excess work, see there"
          : TermNs(TermKind::kUneven) > kWorthALine * of_.ladder.time_ns
              ? "work spread evenly: the busiest instance has more than the mean one, see there"
              : "only less work makes it faster: fusion, another algorithm or format",
          nullptr);
      return;
    }
  }

  std::string ExcessEvidence(ExcessFactor factor) const {
    const auto count = [](double value) {
      return FormatCount(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
    };
    const model::RequestedWork& requested = *in_.evidence.requested;
    const model::CountedWork& counted = *in_.evidence.counted;
    constexpr double kSectorBytes = 32;
    switch (factor) {
      case ExcessFactor::kUncoalesced:
        return absl::StrCat(
            count(requested.global_data_bytes), " bytes asked for in ", count(requested.global_sectors),
            " sectors, which are ",
            Percent(requested.global_data_bytes / std::max(1.0, kSectorBytes * requested.global_sectors)), " full");
      case ExcessFactor::kConflicts:
        return absl::StrCat(count(requested.shared_wavefronts), " wavefronts of shared memory for ",
                            count(requested.shared_instructions), " instructions");
      case ExcessFactor::kSpills:
        return absl::StrCat(count(requested.local_instructions), " loads and stores of local memory, ",
                            Percent(requested.local_instructions / std::max(1.0, requested.warp_instructions)),
                            " of instructions");
      case ExcessFactor::kDivergence:
        return absl::StrCat(
            FormatDecimal(requested.thread_instructions / std::max(1.0, requested.warp_instructions), 1),
            " of 32 lanes work in an instruction");
      case ExcessFactor::kWriteBack:
        return absl::StrCat(count(counted.dram_write_bytes), " bytes written to DRAM, ", count(requested.stored_bytes),
                            " stored");
    }
    return "";
  }

  void AddExcess() {
    if (!of_.excess.has_value() || !in_.evidence.requested.has_value()) return;
    static constexpr absl::string_view kChanges[] = {"coalesced", "no_conflicts", "no_spills", "no_divergence",
                                                     "no_write_back_excess"};
    for (const model::ExcessShare& share : of_.excess->shares) {
      if (Share(share.ns) < kWorthALine) continue;
      const LadderExplanation& words = ExplanationOf(share.factor);
      const bool of_others =
          share.factor == ExcessFactor::kWriteBack &&
          !model::WriteBackMayBeOwn(in_.evidence.counted->dram_write_bytes, in_.evidence.requested->stored_bytes);
      Add(absl::StrCat("ladder.excess.", words.key),
          absl::StrCat(words.word, ": ", ExcessEvidence(share.factor), "; ", FormatNs(share.ns), ", ",
                       Percent(Share(share.ns)), " of the time"),
          of_others
              ? "what launches before left in L2 is written back meanwhile; no change of this kernel's code by itself"
              : words.cure,
          of_others ? nullptr : WhatIf(kChanges[static_cast<size_t>(share.factor)]));
    }
  }

  void AddClock() {
    const double ns = TermNs(TermKind::kClock);
    const model::LadderClocks& clocks = in_.evidence.input.clocks;
    if (Share(ns) < kWorthALine || !clocks.timed_hz.has_value()) return;
    Add("ladder.clock",
        absl::StrCat("the SM clock was ", FormatHz(*clocks.timed_hz), " of ", FormatHz(clocks.max_hz), ": ",
                     FormatNs(ns), ", ", Percent(Share(ns)), " of the time"),
        "power or heat; no change of this kernel's code by itself", WhatIf("no_throttling"));
  }

  std::string Grid() const {
    std::string text = absl::StrCat(FormatCount(in_.launch.block_count.value_or(0)), " blocks");
    const LaunchResidency& residency = in_.launch.configuration.residency;
    if (residency.slot_count.has_value()) absl::StrAppend(&text, " on ", FormatCount(*residency.slot_count), " slots");
    if (residency.waves.has_value()) absl::StrAppend(&text, ", ", FormatDecimal(*residency.waves, 2), " waves");
    return text;
  }

  static absl::string_view SpreadAdvice(model::ResourceScope scope) {
    switch (scope) {
      case model::ResourceScope::kSm:
        return "blocks of equal work, a grid that fills whole waves";
      case model::ResourceScope::kSlice:
        return "spread atomics and hot addresses";
      default:
        return "strides that are no power of two";
    }
  }

  void AddUneven() {
    const double ns = TermNs(TermKind::kUneven);
    const std::optional<model::RungValue>& value = of_.ladder.rungs.at(Rung::kBusiest);
    if (Share(ns) < kWorthALine || !value.has_value() || !value->binding.has_value()) return;
    const model::ResourceScope scope = model::ScopeOf(*value->binding);
    // Said with idle SMs.
    if (scope == model::ResourceScope::kSm && of_.idle_causes.has_value()) return;
    Add("ladder.uneven",
        absl::StrCat("the busiest ", model::ScopeName(scope), " has more ", model::ResourceName(*value->binding),
                     " work than the mean one: ", FormatNs(ns), ", ", Percent(Share(ns)), " of the time"),
        SpreadAdvice(scope), *value->binding == model::ResourceKind::kL2Atomics ? WhatIf("atomics_spread") : nullptr);
  }

  void AddIdle() {
    if (!of_.idle_causes.has_value()) return;
    const model::IdleCauses& causes = *of_.idle_causes;
    const auto add = [this](absl::string_view id, double ns, absl::string_view what, absl::string_view advice,
                            absl::string_view change) {
      if (Share(ns) < kWorthALine) return;
      Add(id, absl::StrCat(what, " (", Grid(), "): ", FormatNs(ns), ", ", Percent(Share(ns)), " of the time"), advice,
          WhatIf(change));
    };
    add("ladder.unfilled", causes.unfilled_ns, "the grid does not reach every SM",
        "more, smaller blocks; split-K for products with few rows", "filled_device");
    add("ladder.tail", causes.tail_ns, "the last wave of blocks leaves SMs idle",
        "a grid of whole waves, smaller blocks, or a persistent grid", "full_last_wave");
    add("ladder.imbalance", causes.imbalance_ns, "SMs end at different times, beyond what the last wave explains",
        "blocks of equal work, the longest first, or a queue of tiles", "");
  }

  void AddLaunch() {
    const double ns = TermNs(TermKind::kLaunch);
    // A small kernel, whatever else it does.
    constexpr double kTinyShare = 0.2;
    if (Share(ns) < kTinyShare) return;
    Add("ladder.tiny",
        absl::StrCat("an empty kernel of this shape takes ", FormatNs(ns), ", ", Percent(Share(ns)), " of the time"),
        "fuse it with a neighbour; a CUDA graph shortens the gaps between kernels only", nullptr);
  }

  void AddWaits() {
    const double sync_ns = TermNs(TermKind::kSync);
    if (Share(sync_ns) >= kWorthALine) {
      Add("ladder.sync",
          absl::StrCat("warps wait at barriers or fences: ", FormatNs(sync_ns), ", ", Percent(Share(sync_ns)),
                       " of the time at most"),
          ExplanationOf(TermKind::kSync).cure, WhatIf("barriers_split"));
    }
    const double latency_ns = TermNs(TermKind::kLatency);
    if (Share(latency_ns) >= kWorthALine) {
      std::string parts;
      if (of_.latency_parts.has_value()) {
        const model::LatencyParts& of = *of_.latency_parts;
        parts = absl::StrCat(" (memory ", Percent(of.memory), ", arithmetic ", Percent(of.dependency),
                             ", shared memory ", Percent(of.shared), ", instruction fetch ", Percent(of.fetch), ")");
      }
      Add("ladder.latency",
          absl::StrCat("the warps at hand do not hide latency", parts, ": ", FormatNs(latency_ns), ", ",
                       Percent(Share(latency_ns)), " of the time"),
          ExplanationOf(TermKind::kLatency).cure, WhatIf("loads_in_flight"));
    }
    const double queue_ns = TermNs(TermKind::kQueue);
    if (Share(queue_ns) >= kWorthALine && of_.ladder.queue_resource.has_value()) {
      Add("ladder.queue",
          absl::StrCat("warps queue for ", model::ResourceName(*of_.ladder.queue_resource), ": ", FormatNs(queue_ns),
                       ", ", Percent(Share(queue_ns)), " of the time"),
          ExplanationOf(TermKind::kQueue).cure, nullptr);
    }
  }

  // What one more block takes, and what it is worth: only where latency was measured, else nobody knows.
  void AddOccupancy() {
    const LadderWhatIf* one = WhatIf("one_more_block");
    const LadderWhatIf* limit = WhatIf("other_occupancy");
    const LadderWhatIf* what_if = one != nullptr ? one : limit;
    if (what_if == nullptr || what_if->without_latency || !of_.ladder.uncontended_ns.has_value()) return;
    if (limit != nullptr && limit->saved_ns.value_or(0) > what_if->saved_ns.value_or(0)) what_if = limit;
    const std::optional<double>& occupancy = in_.launch.configuration.residency.occupancy_ratio;
    Add("ladder.occupancy",
        absl::StrCat("occupancy ", occupancy.has_value() ? Percent(*occupancy) : "unknown", ", limited by ",
                     in_.launch.configuration.residency.limiters.value_or("what is not known"), "; ", what_if->text),
        "", what_if);
  }

  void AddUnexplained() {
    const double ns = of_.ladder.UnexplainedNs();
    if (Share(ns) < kMuchUnexplained) return;
    std::string why;
    if (of_.ladder.other_regime) {
      why = absl::StrCat("; counted launches ran ", FormatNs(std::fabs(of_.ladder.closure_ns.value_or(0))),
                         of_.ladder.closure_ns.value_or(0) > 0 ? " shorter" : " longer", " than timed ones");
    }
    const bool no_stalls = of_.ladder.Term(TermKind::kSync).term_class == model::TermClass::kUnmeasured;
    Add("ladder.unexplained", absl::StrCat(FormatNs(ns), ", ", Percent(Share(ns)), " of the time, is unexplained", why),
        no_stalls ? "stall reasons were not counted: GPUEXEC_COUNTERS=lean" : "", nullptr);
  }

  const FindingsInput& in_;
  const LadderFigures& of_;
  std::vector<LadderFinding> findings_;
};

}  // namespace

std::vector<LadderFinding> LadderFindings(const FindingsInput& input, const LadderFigures& figures) {
  return Finder(input, figures).Find();
}

}  // namespace gx::analysis
