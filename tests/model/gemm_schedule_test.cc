#include "analysis/model/gemm_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/check.h"
#include "analysis/model/fusion.h"

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// The illustrative machine of the worked examples.
ScheduleMachine WorkedMachine() {
  return {.sm_count = 108,
          .sm = {.max_blocks_count = 32,
                 .max_threads_count = 2048,
                 .max_warps_count = 64,
                 .registers_count = 65'536,
                 .shared_memory_bytes = 164 * 1024}};
}

ScheduledGemm Square4096() { return {.gemm = {.m = 4096, .n = 4096, .k = 4096}}; }

TEST(EvaluateGemmSchedule, TheWorkedExampleOf1024BlocksOn108SmsWithThreeResident) {
  // Three stages of 16 KiB: 48 KiB a block, 256 threads, 64 accumulator registers.
  const auto cost = EvaluateGemmSchedule(Square4096(), {.stage_count = 3}, WorkedMachine());
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->useful_flops, 137'438'953'472);
  EXPECT_EQ(cost->issued_flops, cost->useful_flops);
  EXPECT_EQ(cost->operand_read_bytes, 2'147'483'648);
  EXPECT_EQ(cost->output_write_bytes, 33'554'432);
  EXPECT_EQ(cost->total_bytes, 2'147'483'648 + 33'554'432);
  EXPECT_EQ(cost->work_unit_count, 1024);
  EXPECT_EQ(cost->block_count, 1024);
  EXPECT_EQ(cost->launch_count, 1);
  EXPECT_EQ(cost->resources.staging_bytes, 48 * 1024);
  EXPECT_EQ(cost->resources.accumulator_bytes, 64 * 1024);
  EXPECT_EQ(cost->resources.accumulator_registers_per_thread, 64);
  EXPECT_EQ(cost->resources.registers_per_thread, 64);
  EXPECT_FALSE(cost->resources.registers_spill);
  EXPECT_EQ(cost->resources.blocks_per_sm_count, 3);
  EXPECT_EQ(cost->resources.limiters, LimiterSet{OccupancyLimiter::kSharedMemory});
  EXPECT_DOUBLE_EQ(cost->resources.occupancy_ratio, 0.375);
  ASSERT_TRUE(cost->waves.has_value());
  EXPECT_EQ(cost->waves->slot_count, 324);
  EXPECT_EQ(cost->waves->wave_count, 4);
  EXPECT_EQ(cost->waves->last_wave_block_count, 52);
  EXPECT_FALSE(cost->persistent_waves.has_value());
}

TEST(EvaluateGemmSchedule, EdgesAndTheLastStepAreIssuedWhole) {
  const auto cost = EvaluateGemmSchedule({.gemm = {.m = 129, .n = 129, .k = 33}}, {}, WorkedMachine());
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->useful_flops, 2 * 129 * 129 * 33);
  EXPECT_EQ(cost->issued_flops, 2 * 256 * 256 * 64);
  EXPECT_DOUBLE_EQ(cost->useful_flops_ratio, cost->grid.tile_efficiency_ratio() * 33 / 64);
}

TEST(EvaluateGemmSchedule, SplitKByWorkspaceWritesAndReadsEverySplitsSums) {
  const ScheduledGemm operation{.gemm = {.m = 128, .n = 128, .k = 4096}};
  const auto whole = EvaluateGemmSchedule(operation, {}, WorkedMachine());
  const auto split = EvaluateGemmSchedule(operation, {.split_k = 16}, WorkedMachine());
  ASSERT_TRUE(whole.ok() && split.ok());
  EXPECT_EQ(whole->block_count, 1);
  EXPECT_EQ(split->block_count, 16);
  EXPECT_EQ(split->workspace_bytes, 16 * 128 * 128 * 4);
  EXPECT_EQ(split->reduction_bytes, 2 * split->workspace_bytes);
  EXPECT_EQ(split->launch_count, 2);
  EXPECT_EQ(split->operand_read_bytes, whole->operand_read_bytes);
  EXPECT_EQ(split->total_bytes, whole->total_bytes + split->reduction_bytes);
  EXPECT_EQ(whole->reduction_bytes, 0);
  EXPECT_EQ(whole->workspace_bytes, 0);
}

TEST(EvaluateGemmSchedule, SplitKByAtomicsNeedsAWorkspaceOnlyToConvertFrom) {
  const GemmSchedule schedule{.split_k = 4, .reduction = SplitKReduction::kAtomics};
  const int64_t sums_bytes = 128 * 128 * 4;
  const auto into_c =
      EvaluateGemmSchedule({.gemm = {.m = 128, .n = 128, .k = 4096, .c_element_bits = 32}}, schedule, WorkedMachine());
  ASSERT_TRUE(into_c.ok()) << into_c.status();
  EXPECT_EQ(into_c->workspace_bytes, 0);
  // Zeroed once and added to four times, of which one is the writing of C.
  EXPECT_EQ(into_c->reduction_bytes + into_c->output_write_bytes, 5 * sums_bytes);
  EXPECT_EQ(into_c->launch_count, 2);
  const auto converted = EvaluateGemmSchedule({.gemm = {.m = 128, .n = 128, .k = 4096}}, schedule, WorkedMachine());
  ASSERT_TRUE(converted.ok());
  EXPECT_EQ(converted->workspace_bytes, sums_bytes);
  EXPECT_EQ(converted->reduction_bytes, 6 * sums_bytes);
  EXPECT_EQ(converted->launch_count, 3);
}

TEST(EvaluateGemmSchedule, PersistentBlocksFillTheSlotsAndShareTheTiles) {
  const auto cost = EvaluateGemmSchedule(Square4096(), {.stage_count = 3, .persistent = true}, WorkedMachine());
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->block_count, 324);
  EXPECT_EQ(cost->work_unit_count, 1024);
  EXPECT_TRUE(cost->waves->one_wave);
  ASSERT_TRUE(cost->persistent_waves.has_value());
  EXPECT_EQ(cost->persistent_waves->busiest_cta_tile_count, 4);
  EXPECT_EQ(cost->persistent_waves->last_wave_tile_count, 52);
  // Fewer tiles than slots: no block without one.
  const auto few = EvaluateGemmSchedule({.gemm = {.m = 256, .n = 256, .k = 64}}, {.persistent = true}, WorkedMachine());
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(few->block_count, 4);
}

TEST(EvaluateGemmSchedule, AFusedOperationSparesItsRoundTripAndItsLaunch) {
  ScheduledGemm operation = Square4096();
  operation.pointwise_operation_count = 1;
  operation.pointwise_side_input_bytes = 8192;
  const auto unfused = EvaluateGemmSchedule(operation, {}, WorkedMachine());
  const auto fused = EvaluateGemmSchedule(operation, {.fused_pointwise = true}, WorkedMachine());
  ASSERT_TRUE(unfused.ok() && fused.ok());
  EXPECT_EQ(fused->saved_round_trip_bytes, 67'108'864);
  EXPECT_EQ(fused->saved_round_trip_bytes, *SavedRoundTripBytes(4096 * 4096, 2));
  EXPECT_EQ(unfused->saved_round_trip_bytes, 0);
  EXPECT_EQ(unfused->pointwise_bytes, 67'108'864 + 8192);
  EXPECT_EQ(fused->pointwise_bytes, 8192);
  EXPECT_EQ(unfused->total_bytes - fused->total_bytes, 67'108'864);
  EXPECT_EQ(unfused->launch_count, 2);
  EXPECT_EQ(fused->launch_count, 1);
}

TEST(EvaluateGemmSchedule, ABlockThatDoesNotFitIsAResultWithItsReason) {
  const auto cost = EvaluateGemmSchedule(Square4096(), {.stage_count = 11}, WorkedMachine());
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->resources.staging_bytes, 176 * 1024);
  EXPECT_EQ(cost->resources.blocks_per_sm_count, 0);
  EXPECT_EQ(cost->resources.limiters, LimiterSet{OccupancyLimiter::kSharedMemory});
  EXPECT_EQ(cost->block_count, 1024);
  EXPECT_FALSE(cost->waves.has_value());
  EXPECT_FALSE(cost->first_wave_operand_bytes.has_value());
  EXPECT_FALSE(cost->wave_operand_bytes.has_value());
  const auto persistent = EvaluateGemmSchedule(Square4096(), {.stage_count = 11, .persistent = true}, WorkedMachine());
  ASSERT_TRUE(persistent.ok());
  EXPECT_FALSE(persistent->block_count.has_value());
}

TEST(EvaluateGemmSchedule, AccumulatorsBeyondTheRegistersOfAThreadSpill) {
  // 256 x 128 FP32 sums on 128 threads: 256 registers each.
  const auto cost = EvaluateGemmSchedule(Square4096(), {.block_m = 256, .threads_per_block = 128}, WorkedMachine());
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->resources.accumulator_registers_per_thread, 256);
  EXPECT_EQ(cost->resources.registers_per_thread, 255);
  EXPECT_TRUE(cost->resources.registers_spill);
  // Accumulators fit, together with the rest they do not.
  const auto more = EvaluateGemmSchedule(Square4096(), {.threads_per_block = 128, .other_registers_per_thread = 128},
                                         WorkedMachine());
  ASSERT_TRUE(more.ok());
  EXPECT_TRUE(more->resources.registers_spill);
  const auto just = EvaluateGemmSchedule(Square4096(), {.threads_per_block = 128, .other_registers_per_thread = 127},
                                         WorkedMachine());
  ASSERT_TRUE(just.ok());
  EXPECT_EQ(just->resources.registers_per_thread, 255);
  EXPECT_FALSE(just->resources.registers_spill);
}

TEST(EvaluateGemmSchedule, ExactAllocationRulesReplaceTheFirstOrderOnes) {
  const auto limits = FindSmLimits({9, 0});
  ASSERT_TRUE(limits.ok());
  ScheduleMachine first_order{.sm_count = 132, .sm = FirstOrderBudget(**limits)};
  ScheduleMachine exact{.sm_count = 132, .sm = {}, .exact_limits = *limits};
  // 57 KiB: four in 228 KiB, but each with a reserve of 1 KiB, and 227 KiB are the most of one block.
  const GemmSchedule schedule{.block_m = 64, .block_n = 50, .block_k = 128, .stage_count = 2, .threads_per_block = 128};
  const auto rough = EvaluateGemmSchedule(Square4096(), schedule, first_order);
  const auto fine = EvaluateGemmSchedule(Square4096(), schedule, exact);
  ASSERT_TRUE(rough.ok() && fine.ok()) << rough.status() << fine.status();
  EXPECT_EQ(rough->resources.staging_bytes, 57 * 1024);
  EXPECT_EQ(rough->resources.blocks_per_sm_count, 4);
  EXPECT_EQ(fine->resources.blocks_per_sm_count, 3);
  EXPECT_EQ(fine->resources.limiters, LimiterSet{OccupancyLimiter::kSharedMemory});
  EXPECT_DOUBLE_EQ(fine->resources.occupancy_ratio, 3 * 4 / 64.0);
  // 255 registers a thread: two blocks of 128 threads out of 65,536.
  const auto wide = EvaluateGemmSchedule(
      Square4096(), {.block_k = 16, .threads_per_block = 128, .other_registers_per_thread = 127}, exact);
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ(wide->resources.registers_per_thread, 255);
  EXPECT_EQ(wide->resources.blocks_per_sm_count, 2);
  EXPECT_EQ(wide->resources.limiters, LimiterSet{OccupancyLimiter::kRegisters});
  EXPECT_DOUBLE_EQ(wide->resources.occupancy_ratio, 2 * 4 / 64.0);
}

TEST(EvaluateGemmSchedule, GroupedOrderTouchesFewerPanelsInAWaveOf108) {
  // One block an SM. Row-major, 108 programs: 4 rows of tiles and all 32 columns; in groups of 8: 8 and 14.
  const auto rows = EvaluateGemmSchedule(Square4096(), {.stage_count = 6}, WorkedMachine());
  const auto grouped = EvaluateGemmSchedule(Square4096(), {.stage_count = 6, .order = {.group_m = 8}}, WorkedMachine());
  ASSERT_TRUE(rows.ok() && grouped.ok());
  ASSERT_EQ(rows->waves->slot_count, 108);
  const int64_t panel_bytes = 128 * 4096 * 2;
  EXPECT_EQ(rows->first_wave_operand_bytes, 36 * panel_bytes);
  EXPECT_EQ(grouped->first_wave_operand_bytes, 22 * panel_bytes);
  EXPECT_LT(*grouped->wave_operand_bytes, *rows->wave_operand_bytes);
  EXPECT_EQ(grouped->operand_read_bytes, rows->operand_read_bytes);
}

TEST(EvaluateGemmSchedule, MoreThan65536WavesAreNotSummed) {
  ScheduleMachine one_slot = WorkedMachine();
  one_slot.sm_count = 1;
  one_slot.sm.max_blocks_count = 1;
  for (const int64_t wave_count : {65'536, 65'537}) {
    const auto cost = EvaluateGemmSchedule({.gemm = {.m = wave_count, .n = 1, .k = 1}},
                                           {.block_m = 1, .block_n = 1, .block_k = 1}, one_slot);
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(cost->waves->wave_count, wave_count);
    EXPECT_TRUE(cost->first_wave_operand_bytes.has_value());
    EXPECT_EQ(cost->wave_operand_bytes.has_value(), wave_count == 65'536);
  }
}

// Every unit of every wave, its rows and columns in maps.
int64_t BruteForceWaveBytes(const Gemm& gemm, const GemmSchedule& schedule, const TileGrid& grid, int64_t slots,
                            int64_t only_wave) {
  const int64_t steps = CeilDivide(gemm.k, schedule.block_k);
  std::vector<int64_t> k_begin;
  for (int64_t split = 0, step = 0; split <= schedule.split_k; ++split) {
    k_begin.push_back(std::min(gemm.k, step * schedule.block_k));
    step += steps / schedule.split_k + (split < steps % schedule.split_k ? 1 : 0);
  }
  int64_t bytes = 0;
  const int64_t units = grid.tile_count * schedule.split_k;
  for (int64_t wave = 0; wave * slots < units; ++wave) {
    if (only_wave >= 0 && wave != only_wave) continue;
    std::map<std::pair<int64_t, int64_t>, int64_t> rows;
    std::map<std::pair<int64_t, int64_t>, int64_t> columns;
    for (int64_t unit = wave * slots; unit < std::min(units, (wave + 1) * slots); ++unit) {
      const int64_t split = unit / grid.tile_count;
      const auto tile = DecodeProgramId(grid, unit % grid.tile_count, schedule.order);
      const int64_t k = k_begin[static_cast<size_t>(split) + 1] - k_begin[static_cast<size_t>(split)];
      rows[{split, tile->pid_m}] = tile->valid_m * k * gemm.a_element_bits / 8;
      columns[{split, tile->pid_n}] = tile->valid_n * k * gemm.b_element_bits / 8;
    }
    for (const auto& [panel, size] : rows) bytes += size;
    for (const auto& [panel, size] : columns) bytes += size;
  }
  return bytes;
}

TEST(EvaluateGemmSchedule, BytesOfWavesEqualSetsOfPanelsForRandomSchedules) {
  std::mt19937_64 random(9);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int64_t split_cases = 0;
  for (int i = 0; i < 3000; ++i) {
    const ScheduledGemm operation{.gemm = {.m = pick(1, 150),
                                           .n = pick(1, 150),
                                           .k = pick(1, 150),
                                           .a_element_bits = 8 * pick(1, 4),
                                           .b_element_bits = 8 * pick(1, 4),
                                           .c_element_bits = 8 * pick(1, 4)}};
    GemmSchedule schedule{.block_m = pick(1, 40),
                          .block_n = pick(1, 40),
                          .block_k = pick(1, 40),
                          .stage_count = pick(1, 3),
                          .threads_per_block = 32 * pick(1, 8),
                          .order = {.group_m = pick(1, 6)},
                          .persistent = pick(0, 1) == 1};
    schedule.split_k = pick(1, std::min<int64_t>(6, CeilDivide(operation.gemm.k, schedule.block_k)));
    split_cases += schedule.split_k > 1 ? 1 : 0;
    ScheduleMachine machine = WorkedMachine();
    machine.sm_count = pick(1, 9);
    const auto cost = EvaluateGemmSchedule(operation, schedule, machine);
    ASSERT_TRUE(cost.ok()) << cost.status();
    if (cost->resources.blocks_per_sm_count == 0) continue;
    const int64_t slots = machine.sm_count * cost->resources.blocks_per_sm_count;
    ASSERT_EQ(*cost->first_wave_operand_bytes, BruteForceWaveBytes(operation.gemm, schedule, cost->grid, slots, 0))
        << i;
    ASSERT_EQ(*cost->wave_operand_bytes, BruteForceWaveBytes(operation.gemm, schedule, cost->grid, slots, -1)) << i;
    const auto work = EvaluateGemm(operation.gemm);
    ASSERT_GE(*cost->wave_operand_bytes, work->a_bytes + work->b_bytes);
    ASSERT_LE(*cost->wave_operand_bytes, cost->operand_read_bytes);
    ASSERT_LE(cost->useful_flops, cost->issued_flops);
    ASSERT_GE(cost->total_bytes, work->compulsory_bytes);
  }
  EXPECT_GT(split_cases, 500);
}

TEST(EvaluateGemmSchedule, RefusalsNameFieldValueAndLimit) {
  const ScheduleMachine machine = WorkedMachine();
  const ScheduledGemm operation = Square4096();
  const auto refusal = [&machine](const ScheduledGemm& op, const GemmSchedule& schedule) {
    return std::string(EvaluateGemmSchedule(op, schedule, machine).status().message());
  };
  EXPECT_EQ(refusal({.gemm = {.m = 0}}, {}), "m: got 0, expected 1 or more");
  EXPECT_EQ(refusal(operation, {.block_m = 0}), "block_m: got 0, expected 1 or more");
  EXPECT_EQ(refusal(operation, {.block_n = -1}), "block_n: got -1, expected 1 or more");
  EXPECT_EQ(refusal(operation, {.block_k = 0}), "block_k: got 0, expected 1 or more");
  EXPECT_EQ(refusal(operation, {.stage_count = 0}), "stage_count: got 0, expected 1 or more");
  EXPECT_EQ(refusal(operation, {.threads_per_block = 1025}), "threads_per_block: got 1025, expected 1 to 1024");
  EXPECT_EQ(refusal(operation, {.order = {.group_m = 0}}), "group_m: got 0, expected 1 or more");
  EXPECT_EQ(refusal(operation, {.split_k = 0}), "split_k: got 0, expected 1 to 128 (steps of block_k along k)");
  EXPECT_EQ(refusal(operation, {.split_k = 129}), "split_k: got 129, expected 1 to 128 (steps of block_k along k)");
  EXPECT_EQ(refusal(operation, {.other_registers_per_thread = 256}),
            "other_registers_per_thread: got 256, expected 0 to 255");
  EXPECT_EQ(refusal(operation, {.fused_pointwise = true}),
            "fused_pointwise: got true, expected false (there is no pointwise operation)");
  EXPECT_EQ(refusal({.accumulator_element_bytes = 0}, {}), "accumulator_element_bytes: got 0, expected 1 to 16");
  EXPECT_EQ(refusal({.pointwise_operation_count = -1}, {}), "pointwise_operation_count: got -1, expected 0 or more");
  EXPECT_EQ(refusal({.pointwise_side_input_bytes = -1}, {}), "pointwise_side_input_bytes: got -1, expected 0 or more");
  EXPECT_EQ(refusal({.pointwise_side_input_bytes = 5}, {}),
            "pointwise_side_input_bytes: got 5, expected 0 (there is no pointwise operation)");
  EXPECT_EQ(refusal({.gemm = {.k = 64, .c_element_bits = 32}, .pointwise_operation_count = 1},
                    {.split_k = 2, .reduction = SplitKReduction::kAtomics, .fused_pointwise = true}),
            "fused_pointwise: got true with split_k 2, expected false (atomics into C leave no kernel that sees the "
            "finished sums)");
  EXPECT_EQ(refusal({.pointwise_operation_count = kMax}, {}),
            "pointwise_bytes: about 3.68935e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(refusal({.gemm = {.k = kMax / 8}}, {.block_k = 1, .split_k = kMax / 8}),
            "issued_flops: about 3.77789e+22, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(EvaluateGemmSchedule(operation, {}, {.sm_count = 0, .sm = machine.sm}).status().message(),
            "sm_count: got 0, expected 1 or more");
  EXPECT_EQ(EvaluateGemmSchedule(operation, {}, {.sm_count = 1, .sm = {}}).status().message(),
            "max_blocks_count: got 0, expected 1 or more");
}

TEST(EvaluateGemmSchedule, EveryOperandIsCountedByItsOwnWidthAndItsOwnEdge) {
  // A in 8 bits by tiles of 64 rows, B in 32 bits by tiles of 128 columns.
  const ScheduledGemm operation{.gemm = {.m = 128, .n = 128, .k = 32, .a_element_bits = 8, .b_element_bits = 32}};
  const auto cost = EvaluateGemmSchedule(operation, {.block_m = 64, .stage_count = 1}, WorkedMachine());
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->resources.staging_bytes, 64 * 32 * 1 + 128 * 32 * 4);
  EXPECT_EQ(cost->operand_read_bytes, 128 * 32 * 1 + 2 * 128 * 32 * 4);
  EXPECT_EQ(cost->first_wave_operand_bytes, 128 * 32 * 1 + 128 * 32 * 4);
}

TEST(EvaluateGemmSchedule, WeightsOfFourBitsAreReadPacked) {
  const ScheduledGemm operation{.gemm = {.m = 128, .n = 4096, .k = 4096, .b_element_bits = 4}};
  const auto cost = EvaluateGemmSchedule(operation, {.split_k = 2}, WorkedMachine());
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->useful_flops, 2 * int64_t{128} * 4096 * 4096);
  EXPECT_EQ(cost->resources.staging_bytes, 2 * (128 * 32 * 2 + 32 * 128 / 2));
  EXPECT_EQ(cost->operand_read_bytes, 32 * int64_t{128 * 4096 * 2} + 4096 * 4096 / 2);
  EXPECT_EQ(cost->wave_operand_bytes, 128 * 4096 * 2 + 4096 * 4096 / 2);
  // Odd parts of 4-bit rows are rounded up, by the wave.
  const auto odd = EvaluateGemmSchedule({.gemm = {.m = 3, .n = 1, .k = 1, .a_element_bits = 4, .b_element_bits = 8}},
                                        {.block_m = 1, .block_n = 1, .block_k = 1}, WorkedMachine());
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->wave_operand_bytes, 2 + 1);
}

TEST(EvaluateGemmSchedule, PartialSumsHaveTheAccumulatorsWidthAndTheMatrixesEdges) {
  // 130 x 70: the tiles cover 256 x 128.
  const Gemm gemm{.m = 130, .n = 70, .k = 64};
  const auto wide = EvaluateGemmSchedule({.gemm = gemm}, {.split_k = 2}, WorkedMachine());
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->workspace_bytes, 2 * 130 * 70 * 4);
  EXPECT_EQ(wide->resources.accumulator_bytes, 128 * 128 * 4);
  const ScheduledGemm half{.gemm = gemm, .accumulator_element_bytes = 2};
  const auto narrow = EvaluateGemmSchedule(half, {.split_k = 2}, WorkedMachine());
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->workspace_bytes, 2 * 130 * 70 * 2);
  EXPECT_EQ(narrow->resources.accumulator_bytes, 128 * 128 * 2);
  EXPECT_EQ(narrow->resources.accumulator_registers_per_thread, 32);
  // As wide as C: atomics need no buffer, and no kernel that converts.
  const auto atomics =
      EvaluateGemmSchedule(half, {.split_k = 2, .reduction = SplitKReduction::kAtomics}, WorkedMachine());
  ASSERT_TRUE(atomics.ok());
  EXPECT_EQ(atomics->workspace_bytes, 0);
  EXPECT_EQ(atomics->reduction_bytes, 2 * 130 * 70 * 2);
  EXPECT_EQ(atomics->launch_count, 2);
  const auto converted =
      EvaluateGemmSchedule({.gemm = gemm}, {.split_k = 2, .reduction = SplitKReduction::kAtomics}, WorkedMachine());
  ASSERT_TRUE(converted.ok());
  EXPECT_EQ(converted->workspace_bytes, 130 * 70 * 4);
  EXPECT_EQ(converted->reduction_bytes, 4 * 130 * 70 * 4);
  EXPECT_EQ(converted->launch_count, 3);
}

TEST(EvaluateGemmSchedule, EveryPointwiseOperationIsALaunchUnlessFused) {
  const ScheduledGemm three{.gemm = {.m = 256, .n = 256, .k = 256, .c_element_bits = 32},
                            .pointwise_operation_count = 3};
  const int64_t round_trip = 2 * 256 * 256 * 4;
  const auto cost = [&three](const GemmSchedule& schedule) {
    return *EvaluateGemmSchedule(three, schedule, WorkedMachine());
  };
  EXPECT_EQ(cost({}).launch_count, 4);
  EXPECT_EQ(cost({}).pointwise_bytes, 3 * round_trip);
  EXPECT_EQ(cost({.split_k = 2}).launch_count, 5);
  EXPECT_EQ(cost({.fused_pointwise = true}).launch_count, 1);
  EXPECT_EQ(cost({.fused_pointwise = true}).saved_round_trip_bytes, 3 * round_trip);
  EXPECT_EQ(cost({.split_k = 2, .fused_pointwise = true}).launch_count, 2);
  // One part of K adds nothing by atomics, so that its kernel sees the finished sums.
  EXPECT_EQ(cost({.reduction = SplitKReduction::kAtomics, .fused_pointwise = true}).launch_count, 1);
}

TEST(EvaluateGemmSchedule, AccumulatorsInTensorMemoryTakeNoRegisters) {
  const ScheduledGemm operation = Square4096();
  const GemmSchedule schedule{
      .block_m = 256, .block_n = 256, .threads_per_block = 128, .other_registers_per_thread = 64};
  const auto on = [&](ComputeCapability capability, std::optional<bool> tensor_memory) {
    return EvaluateGemmSchedule(operation, schedule,
                                {.sm_count = 132,
                                 .exact_limits = *FindSmLimits(capability),
                                 .accumulators_in_tensor_memory = tensor_memory})
        ->resources;
  };
  for (const ComputeCapability capability : {ComputeCapability{10, 0}, {10, 3}, {11, 0}}) {
    const ScheduleResources resources = on(capability, std::nullopt);
    EXPECT_TRUE(resources.accumulators_in_tensor_memory);
    EXPECT_FALSE(resources.registers_spill);
    EXPECT_EQ(resources.accumulator_registers_per_thread, 0);
    EXPECT_EQ(resources.registers_per_thread, 64);
    EXPECT_EQ(resources.accumulator_bytes, 256 * 1024);
    // As mma.sync has it.
    EXPECT_TRUE(on(capability, false).registers_spill);
    EXPECT_EQ(on(capability, false).accumulator_registers_per_thread, 512);
  }
  for (const ComputeCapability capability : {ComputeCapability{9, 0}, {12, 0}}) {
    EXPECT_FALSE(on(capability, std::nullopt).accumulators_in_tensor_memory);
    EXPECT_TRUE(on(capability, std::nullopt).registers_spill);
  }
  EXPECT_FALSE(on({9, 0}, true).registers_spill);
  // Without exact limits the capability is not known.
  EXPECT_TRUE(EvaluateGemmSchedule(operation, schedule, WorkedMachine())->resources.registers_spill);
}

TEST(EvaluateGemmSchedule, AGridHasNoMoreBlocksThanCudaAllows) {
  const GemmSchedule single{.block_m = 1, .block_n = 1, .block_k = 1};
  const auto blocks = [&single](int64_t m, bool persistent) {
    GemmSchedule schedule = single;
    schedule.persistent = persistent;
    return EvaluateGemmSchedule({.gemm = {.m = m}}, schedule, WorkedMachine());
  };
  EXPECT_TRUE(blocks(2'147'483'647, false).ok());
  EXPECT_EQ(blocks(2'147'483'648, false).status().message(),
            "block_count: got 2147483648, expected 1 to 2147483647 (blocks along a grid's x)");
  // As many as are resident.
  EXPECT_TRUE(blocks(2'147'483'648, true).ok());
  // Where not one fits the grid is as impossible.
  GemmSchedule too_large = single;
  too_large.stage_count = 1 << 20;
  EXPECT_EQ(EvaluateGemmSchedule({.gemm = {.m = 2'147'483'648}}, too_large, WorkedMachine()).status().message(),
            "block_count: got 2147483648, expected 1 to 2147483647 (blocks along a grid's x)");
}

TEST(EvaluateGemmSchedule, AStepAlongKThatDoesNotFitIsRefused) {
  EXPECT_EQ(EvaluateGemmSchedule({}, {.block_k = kMax / 2}, WorkedMachine()).status().message(),
            "issued_flops: about 1.51116e+23, expected -9223372036854775808 to 9223372036854775807");
}

}  // namespace
}  // namespace gx::model
