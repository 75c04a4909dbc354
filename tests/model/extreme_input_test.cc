// Any 64-bit value in any field is a result or a refusal, never undefined behaviour (the sanitizers watch), a wrapped
// number or an endless loop.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>

#include "analysis/model/banks.h"
#include "analysis/model/divergence.h"
#include "analysis/model/fusion.h"
#include "analysis/model/gemm.h"
#include "analysis/model/pointwise.h"
#include "analysis/model/schedules.h"
#include "analysis/model/sectors.h"
#include "analysis/model/tile_access.h"
#include "analysis/model/tile_grid.h"
#include "analysis/model/tile_stage.h"
#include "analysis/model/warp_access.h"

namespace gx::model {
namespace {

// Mostly small values, so that all but one field of an input often pass, and the ends of the range.
class Values {
 public:
  int64_t Next() {
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    const std::array<int64_t, 16> ends = {kMin,      kMin + 1,     -1,        0,       kMax,      kMax - 1,
                                          kMax / 2,  kMax / 2 + 1, kMax / 3,  1 << 20, 1LL << 31, 1LL << 32,
                                          1LL << 40, 1LL << 61,    1LL << 62, -100};
    if (random_() % 4 != 0) return 1 + static_cast<int64_t>(random_() % 64);
    return ends[random_() % ends.size()];
  }
  bool Flag() { return random_() % 2 == 0; }
  uint32_t Mask() { return static_cast<uint32_t>(random_()); }

 private:
  std::mt19937_64 random_{2026};
};

constexpr int kRounds = 100'000;

TEST(ExtremeInput, OfAccesses) {
  Values values;
  int good = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto access = StridedAccess({.base_bytes = values.Next(),
                                       .element_bytes = values.Next(),
                                       .elements_per_lane = 1,
                                       .stride_elements = values.Next(),
                                       .active_mask = values.Mask()});
    if (!access.ok()) continue;
    const auto sectors = CountSectors(*access, values.Next());
    if (!sectors.ok()) continue;
    ++good;
    ASSERT_GE(sectors->sector_count, 0);
    ASSERT_LE(sectors->unique_bytes, sectors->requested_bytes);
    ASSERT_LE(sectors->unique_bytes, sectors->transferred_bytes());
    const auto banks = CountBanks(*access);
    if (banks.ok()) {
      ASSERT_LE(banks->conflict_degree, 32);
    }
  }
  EXPECT_GT(good, kRounds / 20);
}

TEST(ExtremeInput, OfTiles) {
  Values values;
  int good = 0;
  for (int i = 0; i < kRounds; ++i) {
    const MatrixView matrix{.rows = values.Next(),
                            .columns = values.Next(),
                            .row_stride_elements = values.Next(),
                            .column_stride_elements = values.Next(),
                            .element_bytes = values.Next(),
                            .base_bytes = values.Next()};
    const OwnerMap map{.tile_rows = values.Next(),
                       .tile_columns = values.Next(),
                       .axis = values.Flag() ? OwnerAxis::kAlongRow : OwnerAxis::kAlongColumn};
    const auto access = TileAccess(matrix, {.row = values.Next(), .column = values.Next()}, map, values.Next());
    if (access.ok()) {
      ++good;
      ASSERT_TRUE(CheckWarpAccess(*access).ok());
    }
    LaneOwners owners;
    owners[5] = {values.Next(), values.Next(), true};
    (void)TileAccess(matrix, {.row = values.Next(), .column = values.Next()}, owners, values.Next());
  }
  EXPECT_GT(good, kRounds / 100);
}

TEST(ExtremeInput, OfGrids) {
  Values values;
  int good = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto grid = MakeTileGrid({values.Next(), values.Next(), values.Next(), values.Next()});
    if (!grid.ok()) continue;
    ASSERT_GT(grid->tile_efficiency_ratio(), 0);
    ASSERT_LE(grid->tile_efficiency_ratio(), 1);
    const ProgramOrder order{values.Next()};
    const auto tile = DecodeProgramId(*grid, values.Next(), order);
    if (tile.ok()) {
      ASSERT_LT(tile->pid_m, grid->tile_m_count);
    }
    const auto panels = DistinctPanels(*grid, order, values.Next(), values.Next());
    if (!panels.ok()) continue;
    ++good;
    ASSERT_LE(panels->row_count, grid->shape.m);
    ASSERT_LE(panels->column_count, grid->shape.n);
    ASSERT_GT(panels->row_count, 0);
    ASSERT_GT(panels->column_count, 0);
  }
  EXPECT_GT(good, kRounds / 100);
}

TEST(ExtremeInput, OfProductsAndFusion) {
  Values values;
  int good = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Gemm gemm{.m = values.Next(),
                    .n = values.Next(),
                    .k = values.Next(),
                    .a_element_bits = 1 + values.Next() % 140,
                    .b_element_bits = 16,
                    .c_element_bits = 32};
    const auto traffic = EvaluateTiledGemm(gemm, values.Next(), values.Next());
    if (traffic.ok()) {
      ++good;
      ASSERT_GE(traffic->total_bytes, EvaluateGemm(gemm)->compulsory_bytes);
      ASSERT_GE(traffic->issued_read_bytes, traffic->read_bytes);
    }
    const auto stage = EvaluateTileStage(
        {.block_m = values.Next(), .block_n = values.Next(), .block_k = values.Next(), .stage_count = values.Next()});
    if (stage.ok()) {
      ASSERT_GE(stage->staging_bytes, stage->load_bytes);
    }
    const auto map = EvaluatePointwise({values.Next(), values.Next(), values.Next(), values.Next()});
    if (map.ok()) {
      ASSERT_GE(map->total_bytes, map->read_bytes);
    }
    const auto chain = EvaluateFusedChain({values.Next(), values.Next(), 1 + values.Next() % 20, values.Next()});
    if (chain.ok()) {
      ASSERT_GE(chain->saved_bytes, 0);
    }
    const auto saved = SavedRoundTripBytes(values.Next(), 2);
    if (saved.ok()) {
      ASSERT_GE(*saved, 0);
    }
  }
  EXPECT_GT(good, kRounds / 100);
}

TEST(ExtremeInput, OfSchedules) {
  Values values;
  int good = 0;
  for (int i = 0; i < 10'000; ++i) {
    const ScheduledGemm operation{.gemm = {.m = values.Next(), .n = values.Next(), .k = values.Next()},
                                  .pointwise_operation_count = values.Next()};
    const GemmSchedule schedule{.block_m = values.Next(),
                                .block_n = values.Next(),
                                .block_k = 1 + values.Next() % 4,
                                .stage_count = values.Flag() ? 1 : values.Next(),
                                .threads_per_block = values.Next(),
                                .order = {.group_m = values.Next()},
                                .split_k = values.Flag() ? 1 : values.Next(),
                                .persistent = values.Flag()};
    const ScheduleMachine machine{.sm_count = values.Next(),
                                  .sm = {.max_blocks_count = 1 + values.Next() % 40,
                                         .max_warps_count = 64,
                                         .registers_count = values.Next(),
                                         .shared_memory_bytes = 164 * 1024}};
    const auto comparison = CompareSchedules(operation, schedule, machine);
    if (!comparison.ok()) continue;
    ++good;
    for (const ScheduleRow& row : comparison->rows) {
      if (!row.cost.ok()) continue;
      ASSERT_GE(row.cost->issued_flops, row.cost->useful_flops);
      ASSERT_GE(row.cost->total_bytes, row.cost->operand_read_bytes);
      if (row.cost->wave_operand_bytes.has_value()) {
        ASSERT_LE(*row.cost->wave_operand_bytes, row.cost->operand_read_bytes);
      }
    }
  }
  EXPECT_GT(good, 50);
}

}  // namespace
}  // namespace gx::model
