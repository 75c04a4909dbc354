// What is taken from the top of a kernel's time, in this order, each capped by what is left above the floor: tracing,
// launch and drain, idle SMs. ns. Any thread; plain arithmetic on checked input (ladder.h checks).
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_TOP_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_TOP_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace gx::model {

struct LadderTopInput {
  double time_ns = 0;
  // min(R5, time).
  double floor_ns = 0;
  double tracing_ns = 0;
  double launch_ns = 0;
  // Longest-active SM less the mean SM.
  double idle_ns = 0;
  // What of that is in the rungs already: R4 - R3 where R4 is of an SM, else 0.
  double uneven_sm_ns = 0;
};

struct LadderTop {
  double tracing_ns = 0;
  double launch_ns = 0;
  double idle_ns = 0;
  // What the cap took from idle.
  double hidden_idle_ns = 0;
  // Time less the three: floor_ns or more.
  double active_ns = 0;
};

LadderTop ComputeLadderTop(const LadderTopInput& input) noexcept;

// Why SMs were idle, of uneven SMs and idle SMs together.
struct IdleCauses {
  // The grid (or its clusters) does not reach every SM.
  double unfilled_ns = 0;
  // The last wave does not; at most a block's time times the empty share of that wave.
  double tail_ns = 0;
  // Blocks differ.
  double imbalance_ns = 0;
};

struct IdleCauseInput {
  double idle_ns = 0;  // 0 or more
  // Blocks, or clusters in units of which SMs fill.
  int64_t unit_count = 0;
  // SMs, or the clusters that are resident at once.
  int64_t place_count = 0;
  // Mean life of a block: sm__warps_active.sum over warps launched, in ns. 0 or more.
  double block_ns = 0;
  // 1 less the fill of the last wave, 0 to 1.
  double last_wave_empty_ratio = 0;
};
[[nodiscard]] absl::StatusOr<IdleCauses> SplitIdle(const IdleCauseInput& input);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_TOP_H_
