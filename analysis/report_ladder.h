// Ladders of a report as plain data: what report_ladder.cc computes (report_sections.h) and report_text_ladder writes.
#ifndef GPUEXEC_ANALYSIS_REPORT_LADDER_H_
#define GPUEXEC_ANALYSIS_REPORT_LADDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/model/ladder.h"
#include "analysis/model/ladder_factors.h"
#include "analysis/model/ladder_interval.h"
#include "analysis/model/ladder_stalls.h"
#include "analysis/model/ladder_terms.h"
#include "analysis/model/ladder_top.h"
#include "analysis/model/ladder_what_if.h"

namespace gx::analysis {

// What a term stands on, or would: one metric, or one part of the machine file.
struct TermEvidence {
  // False: it is missing, and `source` says what would supply it.
  bool is_measured = false;
  // "dram__bytes.sum", "machine file", "window clocks".
  std::string source = {};
  // Of a metric: its group, the windows of its samples in ascending order, and how many samples there are.
  std::string group = {};
  std::vector<uint64_t> window_ids = {};
  uint64_t sample_count = 0;
};

// One change, recomputed (analysis/model/ladder_changes.h): never a term subtracted.
struct LadderWhatIf {
  // Stable, for programs: "coalesced", "no_conflicts", "no_spills", "no_divergence", "no_write_back_excess",
  // "full_last_wave", "filled_device", "one_more_block", "other_occupancy",
  // "loads_in_flight", "barriers_split", "atomics_spread",
  // "no_throttling".
  std::string change = {};
  // What is changed, with what it needs: "2 blocks an SM instead of 1: 113 KiB of shared memory a block at most".
  std::string text = {};
  // Why there is no prediction; empty: there is one, and the figures below are set.
  std::string no_prediction = {};
  std::optional<double> time_ns = std::nullopt;
  std::optional<model::Interval> interval_ns = std::nullopt;
  // Of a launch, and times the launches of the run; negative where the change makes it longer.
  std::optional<double> saved_ns = std::nullopt;
  std::optional<double> saved_run_ns = std::nullopt;
  // "dram": what binds afterwards; empty: waiting for latency does.
  std::string binding = {};
  bool without_latency = false;
  bool other_regime = false;
};

// One line in plain words, with its figures, and what can be done.
struct LadderFinding {
  // Stable, for programs: "ladder.excess.uncoalesced", "ladder.at_roof".
  std::string id = {};
  std::string text = {};
  // Empty: nothing.
  std::string advice = {};
  // What it is worth over the run, as predicted: what findings are ordered by. Absent: no prediction.
  std::optional<double> saved_run_ns = std::nullopt;
};

// One ladder, of all clean launches of a signature or of one mode of them.
struct LadderFigures {
  // Clean timings that the time is the median of.
  uint64_t clean_count = 0;
  model::Ladder ladder;
  // Of ladder.terms, in their order: they sum to the time, which is whole here.
  std::array<int64_t, model::kTermCount> whole_ns = {};
  int64_t time_ns = 0;
  // sm__cycles_active.max; 0: not counted.
  double active_cycles = 0;
  // 95 % interval of the median, wider by a step of the clock and by what is not known of tracing; then of the terms,
  // from the corners (model/ladder_interval.h). Absent: a corner is no figure of a launch.
  std::optional<model::Interval> time_interval_ns;
  std::optional<model::LadderIntervals> intervals;
  std::optional<model::Excess> excess;
  // Of uneven SMs and idle SMs together; absent where the launch or the active SMs are not known.
  std::optional<model::IdleCauses> idle_causes;
  // What a latency term consists of; absent without stall reasons.
  std::optional<model::LatencyParts> latency_parts;
  // Of ladder.terms, in their order; empty for terms that this ladder does not have.
  std::array<std::vector<TermEvidence>, model::kTermCount> evidence;
  // Most time saved first; those without a prediction last.
  std::vector<LadderWhatIf> what_ifs;
  // Most valuable first.
  std::vector<LadderFinding> findings;
  // One line each.
  std::vector<std::string> unmeasured;
  std::vector<std::string> notes;
};

// Launches of one signature that took about as long, where there are several such modes.
struct LadderMode : LadderFigures {
  // Of the signature's clean launches.
  double launch_ratio = 0;
  // False: no counter sample is of this mode, and all its terms are unmeasured.
  bool is_counted = false;
};

// The figures are those of all launches; where there are modes, of the counted mode that takes most time.
struct LadderRow : LadderFigures {
  // Index in TraceModel::signatures, as KernelGroup::signature and SignatureCounters::signature.
  uint32_t signature = 0;
  std::string full_name;
  std::string short_name;
  // "64x256".
  std::string grid;
  std::string block;
  // What R0 is of: "manifest 'gemm-4096': dram". Empty: no manifest is of this signature, and the ladder has no R0. Its
  // gap to R1 is the term TermKind::kAlgorithm.
  std::string compulsory_source;
  // Of the process's kernel time.
  double share_ratio = 0;
  // Kernels of this signature with a record, and their time together: what savings of the run are of.
  uint64_t kernel_count = 0;
  uint64_t total_ns = 0;
  bool is_communication = false;
  // Shortest first; empty where the launches took about as long. `mode` is the one that the figures are of.
  std::vector<LadderMode> modes;
  size_t mode = 0;
};

// The ladders of a process together: each signature's terms times its share of the time.
struct LadderRun {
  // Kernel time of the process, and of the signatures with a ladder.
  uint64_t kernel_ns = 0;
  uint64_t ladder_ns = 0;
  // Sums of terms over all launches: as ladder.terms, scaled to the signature's total time; they sum to ladder_ns.
  std::array<double, model::kTermCount> terms_ns = {};
  // Time of communication kernels; of ladders that stop at a violation, or whose closure fails.
  uint64_t communication_ns = 0;
  uint64_t violation_ns = 0;
  uint64_t other_regime_ns = 0;
  // Unexplained and unmeasured; with what is only attributed.
  double unexplained_ns = 0;
  double weak_ns = 0;
};

// A what-if or finding of one row, for the run's own lists.
struct RankedWhatIf {
  size_t row = 0;  // Index in LadderSection::rows.
  size_t what_if = 0;
};
struct RankedFinding {
  size_t row = 0;
  size_t finding = 0;
};

struct LadderSection {
  size_t process = 0;  // Index in Report::processes.
  // The machine file of each device, or that there is none; how they differ.
  std::vector<std::string> machine_lines;
  // Of a manifest: its bound on each kernel that it is of, and what that rests on.
  std::vector<std::string> manifest_lines;
  // Heaviest first, filtered, cut to the number asked for.
  std::vector<LadderRow> rows;
  size_t matched_count = 0;
  // Of all that match the filter, before the cut.
  LadderRun run;
  // Over the rows, but for what power costs, which nobody can change: most time saved first, without what saves less
  // than kLeastSaving of kernel time; most valuable first.
  std::vector<RankedWhatIf> what_ifs;
  std::vector<RankedFinding> findings;
  // Why others have no ladder; signatures that match the filter.
  uint64_t few_clean_count = 0;
  uint64_t uncounted_count = 0;
  // One line each: signatures whose figures are none of a launch.
  std::vector<std::string> refused;
};

// Of the process's kernel time.
inline constexpr double kLeastSaving = 0.001;

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_LADDER_H_
