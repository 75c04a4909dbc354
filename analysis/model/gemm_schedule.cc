#include "analysis/model/gemm_schedule.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"
#include "analysis/model/element.h"
#include "analysis/model/occupancy_exact.h"
#include "analysis/model/tile_stage.h"

namespace gx::model {
namespace {

// On 132 SMs, 65,536 waves of 128 x 128 tiles are a C of 10^11 elements; the sum over them takes a few milliseconds.
constexpr int64_t kMaxSummedWaves = int64_t{1} << 16;

// Steps along K, dealt to splits as evenly as they go: the first ones have one more.
struct KSplit {
  int64_t k = 0;
  int64_t block_k = 0;
  int64_t step_count = 0;
  int64_t split_count = 0;

  // First element of K of a split; k past the last one.
  int64_t Begin(int64_t split) const {
    const int64_t step = split * (step_count / split_count) + std::min(split, step_count % split_count);
    return step >= step_count ? k : step * block_k;  // below k: no overflow
  }
};

absl::Status CheckSchedule(const ScheduledGemm& operation, const GemmSchedule& schedule) {
  if (absl::Status status = CheckElementBytes("accumulator_element_bytes", operation.accumulator_element_bytes);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckNotNegative("pointwise_operation_count", operation.pointwise_operation_count);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckNotNegative("pointwise_side_input_bytes", operation.pointwise_side_input_bytes);
      !status.ok()) {
    return status;
  }
  if (operation.pointwise_operation_count == 0) {
    if (absl::Status status = CheckRange("pointwise_side_input_bytes", operation.pointwise_side_input_bytes, 0, 0,
                                         "there is no pointwise operation");
        !status.ok()) {
      return status;
    }
  }
  if (absl::Status status =
          CheckRange("other_registers_per_thread", schedule.other_registers_per_thread, 0, kMaxRegistersPerThreadCount);
      !status.ok()) {
    return status;
  }
  if (schedule.fused_pointwise && operation.pointwise_operation_count == 0) {
    return absl::InvalidArgumentError("fused_pointwise: got true, expected false (there is no pointwise operation)");
  }
  const int64_t step_count = CeilDivide(operation.gemm.k, schedule.block_k);
  return CheckRange("split_k", schedule.split_k, 1, step_count, "steps of block_k along k");
}

// C is not the buffer that splits add to.
bool NeedsConversion(const ScheduledGemm& operation) {
  return operation.gemm.c_element_bits != operation.accumulator_element_bytes * kBitsPerByte;
}

absl::Status FindBytes(const ScheduledGemm& operation, const GemmSchedule& schedule, ScheduleCost& cost) {
  const absl::StatusOr<TiledGemmTraffic> traffic =
      EvaluateTiledGemm(operation.gemm, schedule.block_m, schedule.block_n);
  if (!traffic.ok()) return traffic.status();
  cost.operand_read_bytes = traffic->read_bytes;
  cost.output_write_bytes = traffic->write_bytes;

  const bool split = schedule.split_k > 1;
  const bool atomics = schedule.reduction == SplitKReduction::kAtomics;
  const CheckedCount sums_bytes = CheckedCount(cost.grid.useful_element_count) * operation.accumulator_element_bytes;
  CheckedCount reduction(0);
  CheckedCount workspace(0);
  if (split && !atomics) {
    workspace = sums_bytes * schedule.split_k;
    reduction = workspace * 2;
    cost.launch_count += 1;
  } else if (split && NeedsConversion(operation)) {
    workspace = sums_bytes;
    reduction = sums_bytes * (CheckedCount(schedule.split_k) + 2);  // zeroed, added to, read
    cost.launch_count += 2;
  } else if (split) {
    reduction = sums_bytes * schedule.split_k;  // zeroed, and all additions but the one that counts as writing C
    cost.launch_count += 1;
  }
  const absl::StatusOr<int64_t> reduction_bytes = reduction.Value("reduction_bytes");
  if (!reduction_bytes.ok()) return reduction_bytes.status();
  cost.reduction_bytes = *reduction_bytes;
  cost.workspace_bytes = *workspace.Value("workspace_bytes");  // part of the reduction's bytes, which fit

  const absl::StatusOr<int64_t> round_trips =
      (CheckedCount(2) * operation.pointwise_operation_count * traffic->write_bytes).Value("pointwise_bytes");
  if (!round_trips.ok()) return round_trips.status();
  const CheckedCount pointwise =
      CheckedCount(schedule.fused_pointwise ? 0 : *round_trips) + operation.pointwise_side_input_bytes;
  cost.saved_round_trip_bytes = schedule.fused_pointwise ? *round_trips : 0;
  const absl::StatusOr<int64_t> total =
      (CheckedCount(traffic->total_bytes) + cost.reduction_bytes + pointwise).Value("schedule_total_bytes");
  if (!total.ok()) return total.status();
  cost.total_bytes = *total;
  cost.pointwise_bytes = *pointwise.Value("pointwise_bytes");  // part of the total, which fits
  if (!schedule.fused_pointwise) {
    const absl::StatusOr<int64_t> launches =
        (CheckedCount(cost.launch_count) + operation.pointwise_operation_count).Value("launch_count");
    if (!launches.ok()) return launches.status();
    cost.launch_count = *launches;
  }
  return absl::OkStatus();
}

// PTX ISA, "TensorCore 5th Generation Family Instructions": tcgen05 of sm_100, sm_103 and sm_110, not of sm_120.
bool HasTensorMemory(ComputeCapability capability) { return capability.major == 10 || capability.major == 11; }

absl::Status FindResources(const ScheduledGemm& operation, const GemmSchedule& schedule, const ScheduleMachine& machine,
                           ScheduleResources& resources) {
  const BlockTile tile{.block_m = schedule.block_m,
                       .block_n = schedule.block_n,
                       .block_k = schedule.block_k,
                       .a_element_bits = operation.gemm.a_element_bits,
                       .b_element_bits = operation.gemm.b_element_bits,
                       .accumulator_element_bytes = operation.accumulator_element_bytes,
                       .stage_count = schedule.stage_count};
  const absl::StatusOr<TileStage> stage = EvaluateTileStage(tile);
  if (!stage.ok()) return stage.status();
  const absl::StatusOr<int64_t> registers = AccumulatorRegistersPerThread(tile, schedule.threads_per_block);
  if (!registers.ok()) return registers.status();
  resources.staging_bytes = stage->staging_bytes;
  resources.accumulator_bytes = stage->accumulator_bytes;
  resources.accumulators_in_tensor_memory = machine.accumulators_in_tensor_memory.value_or(
      machine.exact_limits != nullptr && HasTensorMemory(machine.exact_limits->compute_capability));
  resources.accumulator_registers_per_thread = resources.accumulators_in_tensor_memory ? 0 : *registers;
  // A quarter of bytes that fit, and at most 255.
  const int64_t wanted = resources.accumulator_registers_per_thread + schedule.other_registers_per_thread;
  resources.registers_spill = wanted > kMaxRegistersPerThreadCount;
  resources.registers_per_thread = std::min(wanted, kMaxRegistersPerThreadCount);

  if (machine.exact_limits != nullptr) {
    const absl::StatusOr<ExactOccupancy> occupancy =
        ComputeExactOccupancy(*machine.exact_limits, {.threads_per_block_count = schedule.threads_per_block,
                                                      .registers_per_thread_count = resources.registers_per_thread,
                                                      .dynamic_shared_memory_bytes = resources.staging_bytes});
    if (!occupancy.ok()) return occupancy.status();
    resources.blocks_per_sm_count = occupancy->blocks_per_sm_count;
    resources.occupancy_ratio = occupancy->occupancy_ratio;
    resources.limiters = occupancy->limiters;
    return absl::OkStatus();
  }
  const absl::StatusOr<Occupancy> occupancy =
      FirstOrderOccupancy(machine.sm, {.threads_per_block_count = schedule.threads_per_block,
                                       .registers_per_thread_count = resources.registers_per_thread,
                                       .shared_memory_per_block_bytes = resources.staging_bytes});
  if (!occupancy.ok()) return occupancy.status();
  resources.blocks_per_sm_count = occupancy->blocks_per_sm_count;
  resources.occupancy_ratio = occupancy->occupancy_ratio;
  resources.limiters = occupancy->limiters;
  return absl::OkStatus();
}

// Bytes of A and B, each once, of tiles first to first + count - 1 over elements k_begin to k_end of K.
absl::StatusOr<int64_t> OperandBytes(const Gemm& gemm, const TileGrid& grid, const ProgramOrder& order, int64_t first,
                                     int64_t count, int64_t k_count) {
  const absl::StatusOr<PanelReuse> panels = DistinctPanels(grid, order, first, count);
  if (!panels.ok()) return panels.status();
  // No more elements than A and B have.
  return (PackedBytes(panels->row_count * k_count, gemm.a_element_bits) +
          PackedBytes(panels->column_count * k_count, gemm.b_element_bits))
      .Value("wave_operand_bytes");
}

// The same for work units first to first + count - 1, over as many splits as they reach into.
absl::StatusOr<int64_t> WaveOperandBytes(const Gemm& gemm, const TileGrid& grid, const ProgramOrder& order,
                                         const KSplit& splits, int64_t first, int64_t count) {
  const int64_t last = first + count - 1;
  const int64_t first_split = first / grid.tile_count;
  const int64_t last_split = last / grid.tile_count;
  const int64_t first_tile = first % grid.tile_count;
  const int64_t end_tile = last % grid.tile_count + 1;
  const auto k_count = [&splits](int64_t split, int64_t end_split) {
    return splits.Begin(end_split) - splits.Begin(split);
  };
  if (first_split == last_split) {
    return OperandBytes(gemm, grid, order, first_tile, end_tile - first_tile, k_count(first_split, first_split + 1));
  }
  const absl::StatusOr<int64_t> head =
      OperandBytes(gemm, grid, order, first_tile, grid.tile_count - first_tile, k_count(first_split, first_split + 1));
  if (!head.ok()) return head.status();
  const absl::StatusOr<int64_t> tail =
      OperandBytes(gemm, grid, order, 0, end_tile, k_count(last_split, last_split + 1));
  if (!tail.ok()) return tail.status();
  // Rounded up to whole bytes apart, parts of elements below a byte may be a little more than the whole.
  CheckedCount bytes = CheckedCount(*head) + *tail;
  if (last_split - first_split > 1) {
    const absl::StatusOr<int64_t> middle =
        OperandBytes(gemm, grid, order, 0, grid.tile_count, k_count(first_split + 1, last_split));
    if (!middle.ok()) return middle.status();
    bytes = bytes + *middle;
  }
  return bytes.Value("wave_operand_bytes");
}

// Program ids are flat: all blocks lie along the grid's x.
absl::Status CheckBlockCount(const ScheduleCost& cost) {
  return CheckRange("block_count", cost.block_count.value_or(1), 1, kMaxGridX, "blocks along a grid's x");
}

absl::Status FindWaves(const ScheduledGemm& operation, const GemmSchedule& schedule, const ScheduleMachine& machine,
                       const KSplit& splits, ScheduleCost& cost) {
  if (!schedule.persistent) cost.block_count = cost.work_unit_count;
  if (cost.resources.blocks_per_sm_count == 0) return CheckBlockCount(cost);
  const absl::StatusOr<int64_t> slots =
      CheckedProduct("slot_count", machine.sm_count, cost.resources.blocks_per_sm_count);
  if (!slots.ok()) return slots.status();
  if (schedule.persistent) cost.block_count = std::min(*slots, cost.work_unit_count);
  if (absl::Status status = CheckBlockCount(cost); !status.ok()) return status;
  absl::StatusOr<Waves> waves = ComputeWaves({.grid_block_count = *cost.block_count,
                                              .sm_count = machine.sm_count,
                                              .blocks_per_sm = cost.resources.blocks_per_sm_count,
                                              .max_active_cluster_count = std::nullopt});
  if (!waves.ok()) return waves.status();
  cost.waves = *waves;
  if (schedule.persistent) {
    absl::StatusOr<PersistentWaves> persistent = ComputePersistentWaves(
        {.tile_count = cost.work_unit_count, .cta_count = *cost.block_count, .slot_count = *slots});
    if (!persistent.ok()) return persistent.status();
    cost.persistent_waves = *persistent;
  }
  // Persistent blocks take every block_count-th unit, so that a round of them is a wave of neighbours, too.
  const int64_t wave_count = CeilDivide(cost.work_unit_count, *slots);
  CheckedCount sum(0);
  for (int64_t wave = 0; wave < wave_count; ++wave) {
    const int64_t first = wave * *slots;
    const absl::StatusOr<int64_t> bytes = WaveOperandBytes(operation.gemm, cost.grid, schedule.order, splits, first,
                                                           std::min(*slots, cost.work_unit_count - first));
    if (!bytes.ok()) return bytes.status();
    if (wave == 0) cost.first_wave_operand_bytes = *bytes;
    if (wave_count > kMaxSummedWaves) return absl::OkStatus();
    sum = sum + *bytes;
  }
  const absl::StatusOr<int64_t> all = sum.Value("wave_operand_bytes");
  if (!all.ok()) return all.status();
  cost.wave_operand_bytes = *all;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ScheduleCost> EvaluateGemmSchedule(const ScheduledGemm& operation, const GemmSchedule& schedule,
                                                  const ScheduleMachine& machine) {
  const absl::StatusOr<GemmWork> work = EvaluateGemm(operation.gemm);
  if (!work.ok()) return work.status();
  const absl::StatusOr<TileGrid> grid = MakeTileGrid(
      {.m = operation.gemm.m, .n = operation.gemm.n, .block_m = schedule.block_m, .block_n = schedule.block_n});
  if (!grid.ok()) return grid.status();
  if (absl::Status status = CheckPositive("block_k", schedule.block_k); !status.ok()) return status;
  if (absl::Status status = CheckPositive("sm_count", machine.sm_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("group_m", schedule.order.group_m); !status.ok()) return status;
  if (absl::Status status = CheckSchedule(operation, schedule); !status.ok()) return status;
  const bool sums_only_by_atomics =
      schedule.split_k > 1 && schedule.reduction == SplitKReduction::kAtomics && !NeedsConversion(operation);
  if (schedule.fused_pointwise && sums_only_by_atomics) {
    return absl::InvalidArgumentError(
        absl::StrCat("fused_pointwise: got true with split_k ", schedule.split_k,
                     ", expected false (atomics into C leave no kernel that sees the finished sums)"));
  }

  ScheduleCost cost;
  cost.grid = *grid;
  cost.launch_count = 1;
  const KSplit splits{.k = operation.gemm.k,
                      .block_k = schedule.block_k,
                      .step_count = CeilDivide(operation.gemm.k, schedule.block_k),
                      .split_count = schedule.split_k};
  cost.useful_flops = work->flops;
  const absl::StatusOr<int64_t> issued =
      (CheckedCount(2) * grid->issued_element_count * splits.step_count * schedule.block_k).Value("issued_flops");
  if (!issued.ok()) return issued.status();
  cost.issued_flops = *issued;
  cost.useful_flops_ratio = static_cast<double>(cost.useful_flops) / static_cast<double>(cost.issued_flops);
  const absl::StatusOr<int64_t> units = CheckedProduct("work_unit_count", grid->tile_count, schedule.split_k);
  if (!units.ok()) return units.status();
  cost.work_unit_count = *units;
  if (absl::Status status = FindBytes(operation, schedule, cost); !status.ok()) return status;
  if (absl::Status status = FindResources(operation, schedule, machine, cost.resources); !status.ok()) {
    return status;
  }
  if (absl::Status status = FindWaves(operation, schedule, machine, splits, cost); !status.ok()) return status;
  return cost;
}

}  // namespace gx::model
