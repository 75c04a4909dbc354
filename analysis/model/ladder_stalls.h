// What warps waited for, as the shares that the ladder's middle takes (ladder.h): the part of a warp's life that it
// would spend alone (phi), and the parts of no-issue cycles that are synchronisation and queues (b).
//
// Phi is Little's law: with the warps at hand and measured latencies, the mean of active cycles times phi is what the
// kernel takes where nothing queues. A warp's wait for memory counts by lambda: unloaded over observed latency.
//
// A reason that was not counted makes no share larger: it stays in the denominator. Where one that decides is missing,
// the share is absent.
//
// Ratios 0 to 1; cycles. Any thread; nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_STALLS_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_STALLS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gx::model {

// smsp__warps_issue_stalled_*, on compute capability 9.0.
enum class StallReason : uint8_t {
  kLongScoreboard,
  kShortScoreboard,
  kBarrier,
  kLgThrottle,
  kMioThrottle,
  kMathPipeThrottle,
  kWait,
  kNotSelected,
  kNoInstruction,
  kGmma,
  kMembar,
  kBranchResolving,
  kDispatchStall,
  kDrain,
  kImcMiss,
  kMisc,
  kSleeping,
  kTexThrottle,
};
inline constexpr size_t kStallReasonCount = 18;

// "long_scoreboard": as in the metric's name.
absl::string_view StallReasonName(StallReason reason) noexcept;

// Per reason, absent where it was not counted.
struct StallShares {
  std::array<std::optional<double>, kStallReasonCount> values = {};

  std::optional<double>& operator[](StallReason reason) { return values[static_cast<size_t>(reason)]; }
  const std::optional<double>& operator[](StallReason reason) const { return values[static_cast<size_t>(reason)]; }
};

// Shares of active warps: each reason's .sum over sm__warps_active.sum of its own pass.
struct WarpShares {
  // smsp__inst_executed.sum over sm__warps_active.sum.
  double selected = 0;
  StallShares stalled = {};
};

// Each 0 to 1.
[[nodiscard]] absl::Status CheckWarpShares(const WarpShares& shares);

// Unloaded latency of a load and how much of the observed one it is.
struct LatencyInput {
  // Pending over executed loads: sm__inst_pending_pipe_lsu_mem_lg_cmd_read.sum over the same of executed. Above 0.
  double observed_cycles = 0;
  // Of the machine file, unloaded; L2 is the mean of near and far.
  double l1_cycles = 0;
  double l2_cycles = 0;
  double dram_cycles = 0;
  // Further sectors of a request, one after the other.
  double serialisation_cycles = 0;
  // l1tex__t_sectors_lookup_hit over l1tex__t_sectors.
  double l1_hit_ratio = 0;
  // min(1, dram__bytes_read over 32 x lts__t_sectors_srcunit_tex_op_read).
  double l2_miss_ratio = 0;
};
struct LatencyRatio {
  double unloaded_cycles = 0;
  // Lambda: min(1, unloaded / observed).
  double ratio = 1;
};
[[nodiscard]] absl::StatusOr<LatencyRatio> ComputeLatencyRatio(const LatencyInput& input);
// Lambda where no latency was counted, or loads do not go through the load/store unit (TMA): point and low end. Say so
// to the ladder (assumes_unloaded_latency): it does not take it where a memory resource is busy.
inline constexpr double kAssumedLatencyRatio = 1;
inline constexpr double kAssumedLatencyRatioLow = 0.7;

// What a change does to a warp's life; the defaults change nothing.
struct UncontendedChange {
  // Wait for shared memory: ideal over actual wavefronts without conflicts.
  double short_scoreboard_ratio = 1;
  // What is left of waits for memory without those of spills: 0 to 1.
  double long_scoreboard_ratio = 1;
  // Independent loads in flight where there was one: 1 or more.
  double loads_in_flight = 1;
  // Time at barriers, fences and asleep goes, and is no more taken out of the warp's life.
  bool drops_sync = false;
};

// Phi, at most 1. Absent where long scoreboard, short scoreboard or barrier were not counted (one group), or all of a
// warp's life is waiting for others.
[[nodiscard]] std::optional<double> UncontendedRatio(const WarpShares& shares, double latency_ratio,
                                                     const UncontendedChange& change = {});

// b: shares of no-issue cycles, as if a scheduler without an issue waits for what its warps wait for: each reason over
// all reasons but `not_selected`. Where some were not counted they are taken as all of the rest.
[[nodiscard]] StallShares NoIssueShares(const WarpShares& shares);
// The same from program counter samples (smsp__pcsamp_warps_issue_stalled_*_not_issued): better, where there are some.
// Counts are 0 or more; absent ones were not sampled. All absent, or all 0: no shares.
[[nodiscard]] StallShares NoIssueSharesOfSamples(const StallShares& sample_counts);

// barrier + membar + sleeping. Absent where barrier was not counted.
[[nodiscard]] std::optional<double> SyncRatio(const StallShares& no_issue_shares);
// lg + mio + math pipe + tex throttle + (1 - lambda) long scoreboard, and gmma where a tensor resource binds. Absent
// where none of lg, mio and math pipe throttle was counted.
[[nodiscard]] std::optional<double> QueueRatio(const StallShares& no_issue_shares, double latency_ratio,
                                               bool tensor_binds);

// What a latency term consists of, as shares that sum to 1: by the b of its reasons.
struct LatencyParts {
  double memory = 0;      // long scoreboard (by lambda), drain
  double dependency = 0;  // wait, dispatch stall, branch resolving: fixed latencies of arithmetic and control
  double shared = 0;      // short scoreboard
  double fetch = 0;       // no instruction, imc miss
};
// Absent where all of them are 0.
[[nodiscard]] std::optional<LatencyParts> SplitLatency(const StallShares& no_issue_shares, double latency_ratio);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_STALLS_H_
