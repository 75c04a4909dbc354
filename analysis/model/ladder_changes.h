// The changes that a report asks about, each as input of ComputeWhatIf. None is a promise that the change can be made.
//
// Whoever asks has to know what the kernel is: that blocks may be split, that a tensor path of another type is accurate
// enough. A change of occupancy takes the warps that the grid really gives an SM, from occupancy and waves.
//
// ns, ratios. `input` and `ladder` belong together (ComputeLadder). Any thread; nothing allocates where nothing is
// wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_CHANGES_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_CHANGES_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/model/ladder.h"
#include "analysis/model/ladder_factors.h"
#include "analysis/model/ladder_stalls.h"
#include "analysis/model/ladder_what_if.h"

namespace gx::model {

// X of another phi (UncontendedRatio with an UncontendedChange), at the active cycles as they are. Absent where the
// ladder has no X or there is no other phi: then X stays what it is.
[[nodiscard]] std::optional<double> UncontendedNs(const Ladder& ladder, std::optional<double> uncontended_ratio);

// Perfect coalescing, no conflicts, no divergence, no write-back excess, no spills. Spills gone may cost occupancy:
// give uncontended_ns (of a phi without their waits, times warps before over warps after) with `costs_occupancy`.
[[nodiscard]] LadderChange WithoutFactors(const LadderInput& input, const UsefulRatios& without,
                                          std::optional<double> uncontended_ns, bool costs_occupancy = false);

// As many blocks as fill whole waves: work of `kept_block_count` of `block_count` blocks, spread evenly, no idle SMs.
// 1 <= kept <= all.
[[nodiscard]] absl::StatusOr<LadderChange> FullLastWave(const LadderInput& input, const Ladder& ladder,
                                                        int64_t block_count, int64_t kept_block_count);
// The same work in enough blocks for every slot: `block_count` now, `filled_block_count` then (at most the slots).
[[nodiscard]] absl::StatusOr<LadderChange> FilledDevice(const LadderInput& input, const Ladder& ladder,
                                                        int64_t block_count, int64_t filled_block_count);

// More warps at a time, or fewer: achieved warps per SM now and then, above 0.
[[nodiscard]] absl::StatusOr<LadderChange> OtherOccupancy(const Ladder& ladder, double warps, double warps_then);

// Independent loads in flight, where there was one: 1 or more.
[[nodiscard]] absl::StatusOr<LadderChange> LoadsInFlight(const Ladder& ladder, const WarpShares& shares,
                                                         double latency_ratio, double loads);

// Nobody waits at barriers, fences or asleep.
[[nodiscard]] LadderChange BarriersSplit(const Ladder& ladder, const WarpShares& shares, double latency_ratio);

// Work of L2 slices spread evenly, and atomics privatised: fewer of them by this factor, 1 or more.
[[nodiscard]] absl::StatusOr<LadderChange> AtomicsSpread(const LadderInput& input, double privatisation_factor);

// Tensor work on a path whose peak is this many times that of now (above 0), with its own sustained ratio (absent:
// unmeasured).
[[nodiscard]] absl::StatusOr<LadderChange> OtherTensorPath(const LadderInput& input, double peak_factor,
                                                           std::optional<double> eta_ratio);

// What power or heat costs; no fix.
[[nodiscard]] LadderChange NoThrottling();

// One kernel instead of one and its consumer: resources add up, less the round trip of what is no longer written and
// read, one launch, and X between the longer of the two and their sum (the ends of the interval; in the middle the
// point). The time before is the sum of both.
struct FusedInput {
  const LadderInput* producer = nullptr;
  const Ladder* producer_ladder = nullptr;
  const LadderInput* consumer = nullptr;
  const Ladder* consumer_ladder = nullptr;
  // Work of DRAM and of L2 lookups that the round trip was, 0 or more.
  double saved_dram_ns = 0;
  double saved_l2_ns = 0;
};
[[nodiscard]] absl::StatusOr<WhatIf> ComputeFused(const FusedInput& input);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_CHANGES_H_
