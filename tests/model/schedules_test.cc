#include "analysis/model/schedules.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace gx::model {
namespace {

ScheduleMachine WorkedMachine() {
  return {.sm_count = 108,
          .sm = {.max_blocks_count = 32,
                 .max_threads_count = 2048,
                 .max_warps_count = 64,
                 .registers_count = 65'536,
                 .shared_memory_bytes = 164 * 1024}};
}

const ScheduleRow& Row(const ScheduleComparison& comparison, ScheduleKind kind) {
  return comparison.rows[static_cast<size_t>(kind)];
}

TEST(CompareSchedules, EveryAlternativeMovesWhatItIsKnownToMove) {
  const ScheduledGemm operation{.gemm = {.m = 4096, .n = 4096, .k = 4096}, .pointwise_operation_count = 1};
  const auto comparison = CompareSchedules(operation, {.stage_count = 2}, WorkedMachine());
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  for (size_t i = 0; i < kScheduleKindCount; ++i) {
    EXPECT_EQ(comparison->rows[i].kind, static_cast<ScheduleKind>(i));
    ASSERT_TRUE(comparison->rows[i].cost.ok()) << comparison->rows[i].cost.status();
    EXPECT_EQ(comparison->rows[i].cost->useful_flops, 137'438'953'472);
  }
  const ScheduleCost& baseline = *Row(*comparison, ScheduleKind::kBaseline).cost;
  EXPECT_EQ(baseline.resources.blocks_per_sm_count, 4);
  EXPECT_EQ(baseline.operand_read_bytes, 64 * int64_t{33'554'432});
  EXPECT_EQ(baseline.launch_count, 2);

  // 128 x 256: three quarters of the reads, half of the blocks, twice the accumulators.
  const ScheduleCost& larger = *Row(*comparison, ScheduleKind::kLargerTile).cost;
  EXPECT_EQ(larger.operand_read_bytes, 48 * int64_t{33'554'432});
  EXPECT_EQ(larger.block_count, 512);
  EXPECT_EQ(larger.resources.accumulator_registers_per_thread, 128);
  EXPECT_EQ(larger.resources.blocks_per_sm_count, 2);

  // 128 x 64: half as many reads again, twice the blocks, half of the accumulators.
  const ScheduleCost& smaller = *Row(*comparison, ScheduleKind::kSmallerTile).cost;
  EXPECT_EQ(smaller.operand_read_bytes, 96 * int64_t{33'554'432});
  EXPECT_EQ(smaller.block_count, 2048);
  EXPECT_EQ(smaller.resources.accumulator_registers_per_thread, 32);
  EXPECT_GT(smaller.resources.blocks_per_sm_count, baseline.resources.blocks_per_sm_count);

  // Only the order differs. In 432 slots, 13.5 rows of tiles share 32 columns: groups of 8 gain nothing in the first
  // wave.
  const ScheduleRow& grouped = Row(*comparison, ScheduleKind::kGroupedOrder);
  EXPECT_EQ(grouped.schedule.order.group_m, 8);
  EXPECT_EQ(grouped.cost->total_bytes, baseline.total_bytes);
  EXPECT_EQ(*baseline.first_wave_operand_bytes, (14 + 32) * int64_t{1 << 20});
  EXPECT_EQ(*grouped.cost->first_wave_operand_bytes, (16 + 32) * int64_t{1 << 20});

  const ScheduleRow& split = Row(*comparison, ScheduleKind::kSplitK);
  EXPECT_EQ(split.schedule.split_k, 2);
  EXPECT_EQ(split.cost->block_count, 2048);
  EXPECT_EQ(split.cost->workspace_bytes, 2 * 4096 * 4096 * 4);
  EXPECT_EQ(split.cost->total_bytes, baseline.total_bytes + 2 * split.cost->workspace_bytes);
  EXPECT_EQ(split.cost->launch_count, 3);

  const ScheduleCost& persistent = *Row(*comparison, ScheduleKind::kPersistent).cost;
  EXPECT_EQ(persistent.block_count, 432);
  EXPECT_EQ(persistent.persistent_waves->busiest_cta_tile_count, 3);
  EXPECT_EQ(persistent.persistent_waves->idlest_cta_tile_count, 2);

  // 48 KiB instead of 32: the worked example of three blocks.
  const ScheduleCost& stage = *Row(*comparison, ScheduleKind::kExtraStage).cost;
  EXPECT_EQ(stage.resources.staging_bytes, 48 * 1024);
  EXPECT_EQ(stage.resources.blocks_per_sm_count, 3);
  EXPECT_EQ(stage.waves->last_wave_block_count, 52);

  const ScheduleCost& fused = *Row(*comparison, ScheduleKind::kFusedPointwise).cost;
  EXPECT_EQ(fused.saved_round_trip_bytes, 67'108'864);
  EXPECT_EQ(fused.launch_count, 1);
  EXPECT_EQ(fused.total_bytes, baseline.total_bytes - 67'108'864);
}

TEST(CompareSchedules, SplitKFillsTheMachineWhereMAndNAreSmall) {
  // One tile of a long K on 432 slots: as many parts as there are steps.
  const auto one_tile = CompareSchedules({.gemm = {.m = 128, .n = 128, .k = 4096}}, {}, WorkedMachine());
  ASSERT_TRUE(one_tile.ok());
  EXPECT_EQ(Row(*one_tile, ScheduleKind::kSplitK).schedule.split_k, 128);
  // Eight tiles of a longer one: 432 / 8.
  const auto eight = CompareSchedules({.gemm = {.m = 128, .n = 1024, .k = 65'536}}, {}, WorkedMachine());
  ASSERT_TRUE(eight.ok());
  EXPECT_EQ(Row(*eight, ScheduleKind::kSplitK).schedule.split_k, 54);
  EXPECT_TRUE(Row(*eight, ScheduleKind::kSplitK).cost->waves->one_wave);
  EXPECT_DOUBLE_EQ(*Row(*eight, ScheduleKind::kSplitK).cost->waves->tail_fill_ratio, 1);
}

TEST(CompareSchedules, AnAlternativeThatIsTheBaselineOrIsRefusedSaysSo) {
  const auto comparison =
      CompareSchedules({.gemm = {.m = 64, .n = 64, .k = 16}},
                       {.block_m = 1, .block_n = 1, .order = {.group_m = 8}, .persistent = true}, WorkedMachine());
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const auto message = [&comparison](ScheduleKind kind) { return Row(*comparison, kind).cost.status().message(); };
  EXPECT_EQ(message(ScheduleKind::kSmallerTile), "smaller_tile: no change to the baseline");
  EXPECT_EQ(message(ScheduleKind::kGroupedOrder), "grouped_order: no change to the baseline");
  EXPECT_EQ(message(ScheduleKind::kSplitK), "split_k: no change to the baseline");
  EXPECT_EQ(message(ScheduleKind::kPersistent), "persistent: no change to the baseline");
  EXPECT_EQ(message(ScheduleKind::kFusedPointwise),
            "fused_pointwise: got true, expected false (there is no pointwise operation)");
  EXPECT_TRUE(Row(*comparison, ScheduleKind::kLargerTile).cost.ok());
  EXPECT_TRUE(Row(*comparison, ScheduleKind::kExtraStage).cost.ok());
}

TEST(CompareSchedules, TheEdgeThatChangesIsTheShorterOrTheLonger) {
  const ScheduledGemm operation{.gemm = {.m = 512, .n = 512, .k = 512}};
  const auto tall = CompareSchedules(operation, {.block_m = 128, .block_n = 64}, WorkedMachine());
  ASSERT_TRUE(tall.ok());
  EXPECT_EQ(Row(*tall, ScheduleKind::kLargerTile).schedule.block_n, 128);
  EXPECT_EQ(Row(*tall, ScheduleKind::kSmallerTile).schedule.block_m, 64);
  const auto wide = CompareSchedules(operation, {.block_m = 64, .block_n = 128}, WorkedMachine());
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(Row(*wide, ScheduleKind::kLargerTile).schedule.block_m, 128);
  EXPECT_EQ(Row(*wide, ScheduleKind::kSmallerTile).schedule.block_n, 64);
}

TEST(CompareSchedules, ARefusedBaselineIsAnError) {
  EXPECT_EQ(CompareSchedules({}, {.stage_count = 0}, WorkedMachine()).status().message(),
            "stage_count: got 0, expected 1 or more");
}

TEST(ScheduleKindName, IsDistinctForEveryKind) {
  EXPECT_EQ(ScheduleKindName(ScheduleKind::kBaseline), "baseline");
  EXPECT_EQ(ScheduleKindName(ScheduleKind::kLargerTile), "larger_tile");
  EXPECT_EQ(ScheduleKindName(ScheduleKind::kSmallerTile), "smaller_tile");
  EXPECT_EQ(ScheduleKindName(ScheduleKind::kGroupedOrder), "grouped_order");
  EXPECT_EQ(ScheduleKindName(ScheduleKind::kSplitK), "split_k");
  EXPECT_EQ(ScheduleKindName(ScheduleKind::kPersistent), "persistent");
  EXPECT_EQ(ScheduleKindName(ScheduleKind::kExtraStage), "extra_stage");
  EXPECT_EQ(ScheduleKindName(ScheduleKind::kFusedPointwise), "fused_pointwise");
  for (size_t i = 0; i < kScheduleKindCount; ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(ScheduleKindName(static_cast<ScheduleKind>(i)), ScheduleKindName(static_cast<ScheduleKind>(j)));
    }
  }
}

TEST(CompareSchedules, OfEqualEdgesTheColumnsChangeWhateverTheMatrixIs) {
  for (const Gemm& gemm : {Gemm{.m = 4096, .n = 128, .k = 512}, Gemm{.m = 128, .n = 4096, .k = 512}}) {
    const auto comparison = CompareSchedules({.gemm = gemm}, {}, WorkedMachine());
    ASSERT_TRUE(comparison.ok());
    EXPECT_EQ(Row(*comparison, ScheduleKind::kLargerTile).schedule.block_m, 128);
    EXPECT_EQ(Row(*comparison, ScheduleKind::kLargerTile).schedule.block_n, 256);
    EXPECT_EQ(Row(*comparison, ScheduleKind::kSmallerTile).schedule.block_m, 128);
    EXPECT_EQ(Row(*comparison, ScheduleKind::kSmallerTile).schedule.block_n, 64);
  }
}

TEST(CompareSchedules, HalfOfAnOddEdgeIsRoundedUp) {
  const auto comparison =
      CompareSchedules({.gemm = {.m = 64, .n = 64, .k = 64}}, {.block_m = 5, .block_n = 4}, WorkedMachine());
  ASSERT_TRUE(comparison.ok());
  EXPECT_EQ(Row(*comparison, ScheduleKind::kSmallerTile).schedule.block_m, 3);
  EXPECT_EQ(Row(*comparison, ScheduleKind::kSmallerTile).schedule.block_n, 4);
  EXPECT_EQ(Row(*comparison, ScheduleKind::kLargerTile).schedule.block_n, 8);
}

TEST(CompareSchedules, SplitKIsAtLeastTwiceTheBaselinesAndAtMostTheSteps) {
  const auto split = [](const Gemm& gemm, const GemmSchedule& baseline) {
    return CompareSchedules({.gemm = gemm}, baseline, WorkedMachine())
        ->rows[static_cast<size_t>(ScheduleKind::kSplitK)];
  };
  // More tiles than slots already.
  EXPECT_EQ(split({.m = 4096, .n = 4096, .k = 4096}, {.split_k = 3}).schedule.split_k, 6);
  // Four steps along k.
  EXPECT_EQ(split({.m = 4096, .n = 4096, .k = 128}, {.split_k = 3}).schedule.split_k, 4);
  EXPECT_EQ(split({.m = 4096, .n = 4096, .k = 128}, {.split_k = 4}).cost.status().message(),
            "split_k: no change to the baseline");
  // Not one block fits: there are no slots to fill.
  const ScheduleRow no_slots = split({.m = 128, .n = 128, .k = 4096}, {.stage_count = 11});
  ASSERT_TRUE(no_slots.cost.ok());
  EXPECT_FALSE(no_slots.cost->waves.has_value());
  EXPECT_EQ(no_slots.schedule.split_k, 2);
}

TEST(CompareSchedules, AnOrderThatIsTheSameOnThisGridIsNoAlternative) {
  struct Case {
    const char* source;
    Gemm gemm;
    int64_t group_m;
    const char* message;  // nullptr: an alternative
  };
  const Case cases[] = {
      {"32 x 32 tiles, row-major", {.m = 4096, .n = 4096, .k = 32}, 1, nullptr},
      {"one row of tiles", {.m = 100, .n = 4096, .k = 32}, 1, " (there is one row of tiles)"},
      {"one column of tiles", {.m = 4096, .n = 100, .k = 32}, 1, " (there is one column of tiles)"},
      {"six rows in groups of seven, as in those of eight",
       {.m = 768, .n = 4096, .k = 32},
       7,
       " (a group holds all rows of tiles)"},
      {"six rows in groups of six", {.m = 768, .n = 4096, .k = 32}, 6, " (a group holds all rows of tiles)"},
      {"six rows in groups of five", {.m = 768, .n = 4096, .k = 32}, 5, nullptr},
      {"sixteen rows in groups of sixteen", {.m = 2048, .n = 4096, .k = 32}, 16, nullptr},
      {"in groups of eight already", {.m = 4096, .n = 4096, .k = 32}, 8, ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.source);
    const auto comparison = CompareSchedules({.gemm = c.gemm}, {.order = {.group_m = c.group_m}}, WorkedMachine());
    ASSERT_TRUE(comparison.ok());
    const auto& cost = Row(*comparison, ScheduleKind::kGroupedOrder).cost;
    ASSERT_EQ(cost.ok(), c.message == nullptr) << cost.status();
    if (c.message == nullptr) continue;
    EXPECT_EQ(cost.status().message(), std::string("grouped_order: no change to the baseline") + c.message);
  }
}

TEST(CompareSchedules, PersistentBlocksNeedMoreTilesThanSlots) {
  // 432 slots.
  const auto persistent = [](int64_t tile_count) {
    return CompareSchedules({.gemm = {.m = 128, .n = 128 * tile_count, .k = 32}}, {}, WorkedMachine())
        ->rows[static_cast<size_t>(ScheduleKind::kPersistent)]
        .cost;
  };
  EXPECT_EQ(persistent(432).status().message(),
            "persistent: no change to the baseline (every block is resident at once)");
  EXPECT_TRUE(persistent(433).ok());
}

TEST(CompareSchedules, AFusedBaselineIsNotFusedAgain) {
  const auto comparison = CompareSchedules({.gemm = {.m = 4096, .n = 4096, .k = 4096}, .pointwise_operation_count = 2},
                                           {.fused_pointwise = true}, WorkedMachine());
  ASSERT_TRUE(comparison.ok());
  EXPECT_EQ(Row(*comparison, ScheduleKind::kFusedPointwise).cost.status().message(),
            "fused_pointwise: no change to the baseline");
}

TEST(CompareSchedules, GroupedOrderTouchesMorePanelsWhereAWaveIsSquareAlready) {
  // 108 slots on 12 columns of tiles: nine whole rows, against groups of eight rows and one of the next.
  const auto comparison =
      CompareSchedules({.gemm = {.m = 4096, .n = 1536, .k = 4096}}, {.stage_count = 6}, WorkedMachine());
  ASSERT_TRUE(comparison.ok());
  const ScheduleCost& rows = *Row(*comparison, ScheduleKind::kBaseline).cost;
  const ScheduleCost& grouped = *Row(*comparison, ScheduleKind::kGroupedOrder).cost;
  ASSERT_EQ(rows.waves->slot_count, 108);
  const int64_t panel_bytes = 128 * 4096 * 2;
  EXPECT_EQ(rows.first_wave_operand_bytes, (9 + 12) * panel_bytes);
  EXPECT_EQ(grouped.first_wave_operand_bytes, (16 + 12) * panel_bytes);
}

}  // namespace
}  // namespace gx::model
