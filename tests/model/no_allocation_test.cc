// Functions that a report calls for every signature, or for every request of a tile, do not allocate where nothing is
// wrong.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

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
#include "tests/model/allocation_counter.h"

namespace gx::model {
namespace {

TEST(NoAllocation, TheCounterSeesARefusalsMessage) {
  EXPECT_GT(AllocationsOf([] { return !CountSectors(WarpAccess{}, -1).ok(); }), 0);
}

TEST(NoAllocation, InAccessAndTiles) {
  const WarpAccess access = *StridedAccess({.element_bytes = 16, .stride_elements = 3});
  const MatrixView matrix{.rows = 500, .columns = 512, .row_stride_elements = 512, .column_stride_elements = 1};
  const OwnerMap map{.tile_rows = 128, .tile_columns = 32, .elements_per_lane = 8};
  const std::array<int64_t, 3> addresses = {64, 0, 32};
  EXPECT_EQ(AllocationsOf([] { return StridedAccess({.base_bytes = 4}).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return ListedAccess(addresses, 4).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return CountSectors(access).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return CountBanks(access, {.uniform_pairs_share_a_pass = true}).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return TileAccess(matrix, {.row = 384}, map, 15).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return CountTileSectors(matrix, {.row = 384}, map).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return CountTileBanks(matrix, map).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([] {
              const auto grid = MakeTileGrid({1000, 1000, 128, 128});
              return DecodeProgramId(*grid, 5, {8}).ok() && DistinctPanels(*grid, {8}, 3, 40).ok();
            }),
            0);
  EXPECT_EQ(AllocationsOf([] { return EvaluateTileStage({}).ok() && AccumulatorRegistersPerThread({}, 256).ok(); }), 0);
}

TEST(NoAllocation, InProductsFusionAndDivergence) {
  const std::array<double, 3> fractions = {0.5, 0.25, 0.25};
  const std::array<double, 3> costs = {1, 2, 3};
  const std::array<int64_t, 32> paths = {1, 2, 3};
  EXPECT_EQ(AllocationsOf([] { return EvaluateGemm({.m = 5}).ok() && EvaluateTiledGemm({.m = 5}, 2, 2).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([] { return EvaluatePointwise({}).ok() && PointwiseIntensity(3, 2).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([] {
              return SavedRoundTripBytes(5, 2).ok() && TransferLowerBoundSeconds(5, 1e12).ok() &&
                     EvaluateFusedChain({.operation_count = 5}).ok();
            }),
            0);
  EXPECT_EQ(AllocationsOf([&] {
              return DivergenceFactor(fractions).ok() && DivergenceFactor(paths, kAllLanes).ok() &&
                     EvaluateDivergence(fractions, costs).ok();
            }),
            0);
}

TEST(NoAllocation, InSchedules) {
  const SmLimits* limits = *FindSmLimits({9, 0});
  const ScheduledGemm operation{.gemm = {.m = 4096, .n = 4096, .k = 4096}, .pointwise_operation_count = 2};
  for (const ScheduleMachine& machine : {ScheduleMachine{.sm_count = 132, .sm = FirstOrderBudget(*limits)},
                                         ScheduleMachine{.sm_count = 132, .exact_limits = limits}}) {
    EXPECT_EQ(AllocationsOf([&] { return CompareSchedules(operation, {.stage_count = 3}, machine).ok(); }), 0);
  }
}

}  // namespace
}  // namespace gx::model
