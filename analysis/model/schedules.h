// The usual alternatives to a schedule of a matrix product, side by side with it: each changes one thing, and each
// moves another bottleneck.
//
//   larger tile     more reuse of A and B                  | fewer blocks, more accumulators, more waste at edges
//   smaller tile    more blocks, less waste                | less reuse
//   grouped order   fewer panels in a wave wide and flat   | more panels where a wave is about square already
//   split-K         blocks where m and n are small         | partial sums: workspace, bytes, another launch
//   persistent      blocks set up once                     | fewer blocks, tiles per block may not divide evenly
//   extra stage     more loads in flight                   | shared memory, and with it resident blocks
//   fused           round trips and launches of the operations after it | longer live ranges, which is not modelled
//
// Source: as gemm_schedule.h. Any thread. Nothing allocates but the message of an alternative that does not exist.
#ifndef GPUEXEC_ANALYSIS_MODEL_SCHEDULES_H_
#define GPUEXEC_ANALYSIS_MODEL_SCHEDULES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/model/gemm_schedule.h"

namespace gx::model {

enum class ScheduleKind : uint8_t {
  kBaseline,
  kLargerTile,    // the shorter of block_m and block_n doubled (block_n where they are equal)
  kSmallerTile,   // the longer one halved, rounded up (block_n where they are equal)
  kGroupedOrder,  // in groups of kGroupedOrderRows rows of tiles
  kSplitK,        // the fewest parts (twice the baseline's or more) that fill the slots of one wave, as far as k goes
  kPersistent,
  kExtraStage,
  kFusedPointwise,
};
inline constexpr size_t kScheduleKindCount = 8;

// Triton tutorial 03: GROUP_SIZE_M of all its configurations.
inline constexpr int64_t kGroupedOrderRows = 8;

// "baseline", "larger_tile", "smaller_tile", "grouped_order", "split_k", "persistent", "extra_stage",
// "fused_pointwise".
[[nodiscard]] absl::string_view ScheduleKindName(ScheduleKind kind);

struct ScheduleRow {
  ScheduleKind kind = ScheduleKind::kBaseline;
  GemmSchedule schedule;
  // An error where the alternative does not exist: it is the baseline again (InvalidArgument, "persistent: no
  // change to the baseline (every block is resident at once)"), or the model refuses it. A schedule of which no block
  // fits is a result.
  absl::StatusOr<ScheduleCost> cost;
};

struct ScheduleComparison {
  // In the order of ScheduleKind; the baseline first.
  std::array<ScheduleRow, kScheduleKindCount> rows;
};

// An error only where the baseline is refused.
[[nodiscard]] absl::StatusOr<ScheduleComparison> CompareSchedules(const ScheduledGemm& operation,
                                                                  const GemmSchedule& baseline,
                                                                  const ScheduleMachine& machine);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_SCHEDULES_H_
