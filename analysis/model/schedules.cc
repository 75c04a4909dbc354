#include "analysis/model/schedules.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

// Doubles as far as 63 bits go; what is too large is refused where it is evaluated.
int64_t Doubled(int64_t value) {
  return value > std::numeric_limits<int64_t>::max() / 2 ? std::numeric_limits<int64_t>::max() : value * 2;
}

// The fewest parts of K that give every slot a block, at least twice the baseline's.
int64_t SplitThatFills(const ScheduledGemm& operation, const GemmSchedule& baseline, const ScheduleCost& cost) {
  const int64_t step_count = CeilDivide(operation.gemm.k, baseline.block_k);
  const int64_t slot_count = cost.waves.has_value() ? cost.waves->slot_count : 0;
  return std::min(step_count, std::max(Doubled(baseline.split_k), CeilDivide(slot_count, cost.grid.tile_count)));
}

// Same tiles in the same order, whatever the group's height says: it is cut at the grid's, and of one row or one column
// of tiles there is only one order.
bool SameOrder(const TileGrid& grid, const ProgramOrder& a, const ProgramOrder& b) {
  return grid.tile_n_count == 1 || std::min(a.group_m, grid.tile_m_count) == std::min(b.group_m, grid.tile_m_count);
}

// Every work unit has a slot of its own, so that a persistent block would work through one, too.
bool AllUnitsAreResident(const ScheduleCost& cost) {
  return cost.waves.has_value() && cost.work_unit_count <= cost.waves->slot_count;
}

// Changes the baseline into the alternative; false where that is the baseline again.
bool Change(ScheduleKind kind, const ScheduledGemm& operation, const ScheduleCost& baseline_cost,
            GemmSchedule& schedule) {
  const GemmSchedule baseline = schedule;
  switch (kind) {
    case ScheduleKind::kBaseline:
      return true;
    case ScheduleKind::kLargerTile: {
      int64_t& edge = schedule.block_m < schedule.block_n ? schedule.block_m : schedule.block_n;
      edge = Doubled(edge);
      return true;
    }
    case ScheduleKind::kSmallerTile: {
      int64_t& edge = schedule.block_m > schedule.block_n ? schedule.block_m : schedule.block_n;
      edge = CeilDivide(edge, 2);
      return schedule.block_m != baseline.block_m || schedule.block_n != baseline.block_n;
    }
    case ScheduleKind::kGroupedOrder:
      schedule.order.group_m = kGroupedOrderRows;
      return !SameOrder(baseline_cost.grid, baseline.order, schedule.order);
    case ScheduleKind::kSplitK:
      schedule.split_k = SplitThatFills(operation, baseline, baseline_cost);
      return schedule.split_k != baseline.split_k;
    case ScheduleKind::kPersistent:
      schedule.persistent = true;
      return !baseline.persistent && !AllUnitsAreResident(baseline_cost);
    case ScheduleKind::kExtraStage:
      schedule.stage_count += 1;  // the baseline's staging bytes fit, so this does
      return true;
    case ScheduleKind::kFusedPointwise:
      schedule.fused_pointwise = true;
      return !baseline.fused_pointwise;
  }
  return false;
}

// In brackets, where the schedules are written differently and are the same all the same.
absl::string_view WhyNoChange(ScheduleKind kind, const GemmSchedule& baseline, const ScheduleCost& cost) {
  if (kind == ScheduleKind::kPersistent && !baseline.persistent) return " (every block is resident at once)";
  if (kind != ScheduleKind::kGroupedOrder || baseline.order.group_m == kGroupedOrderRows) return "";
  if (cost.grid.tile_m_count == 1) return " (there is one row of tiles)";
  if (cost.grid.tile_n_count == 1) return " (there is one column of tiles)";
  return " (a group holds all rows of tiles)";
}

}  // namespace

absl::string_view ScheduleKindName(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kBaseline:
      return "baseline";
    case ScheduleKind::kLargerTile:
      return "larger_tile";
    case ScheduleKind::kSmallerTile:
      return "smaller_tile";
    case ScheduleKind::kGroupedOrder:
      return "grouped_order";
    case ScheduleKind::kSplitK:
      return "split_k";
    case ScheduleKind::kPersistent:
      return "persistent";
    case ScheduleKind::kExtraStage:
      return "extra_stage";
    case ScheduleKind::kFusedPointwise:
      return "fused_pointwise";
  }
  return "unknown";
}

absl::StatusOr<ScheduleComparison> CompareSchedules(const ScheduledGemm& operation, const GemmSchedule& baseline,
                                                    const ScheduleMachine& machine) {
  const absl::StatusOr<ScheduleCost> baseline_cost = EvaluateGemmSchedule(operation, baseline, machine);
  if (!baseline_cost.ok()) return baseline_cost.status();
  ScheduleComparison comparison;
  for (size_t i = 0; i < comparison.rows.size(); ++i) {
    ScheduleRow& row = comparison.rows[i];
    row.kind = static_cast<ScheduleKind>(i);
    row.schedule = baseline;
    if (!Change(row.kind, operation, *baseline_cost, row.schedule)) {
      row.cost = absl::InvalidArgumentError(absl::StrCat(ScheduleKindName(row.kind), ": no change to the baseline",
                                                         WhyNoChange(row.kind, baseline, *baseline_cost)));
      continue;
    }
    row.cost =
        row.kind == ScheduleKind::kBaseline ? baseline_cost : EvaluateGemmSchedule(operation, row.schedule, machine);
  }
  return comparison;
}

}  // namespace gx::model
