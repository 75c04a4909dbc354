#include "analysis/model/tile_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(MakeTileGrid, RoundsUpToWholeTiles) {
  struct Case {
    const char* source;
    TileShape shape;
    int64_t tile_count;
    int64_t useful;
    int64_t issued;
  };
  const Case cases[] = {
      {"the worked example of 129 x 129 on 128 x 128 tiles, 25.39 %", {129, 129, 128, 128}, 4, 16'641, 65'536},
      {"the worked example of a 32 x 32 grid of tiles", {4096, 4096, 128, 128}, 1024, 16'777'216, 16'777'216},
      {"one row", {1, 4096, 128, 128}, 32, 4096, 524'288},
      {"a tile larger than the matrix", {3, 5, 128, 64}, 1, 15, 8192},
      {"tiles of one element", {7, 9, 1, 1}, 63, 63, 63},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.source);
    const auto grid = MakeTileGrid(c.shape);
    ASSERT_TRUE(grid.ok());
    EXPECT_EQ(grid->tile_count, c.tile_count);
    EXPECT_EQ(grid->useful_element_count, c.useful);
    EXPECT_EQ(grid->issued_element_count, c.issued);
    EXPECT_DOUBLE_EQ(grid->tile_efficiency_ratio(), static_cast<double>(c.useful) / static_cast<double>(c.issued));
  }
  EXPECT_NEAR(MakeTileGrid({129, 129, 128, 128})->tile_efficiency_ratio(), 0.2539, 0.00005);
  EXPECT_EQ(MakeTileGrid({129, 130, 128, 64})->issued_m, 256);
  EXPECT_EQ(MakeTileGrid({129, 130, 128, 64})->issued_n, 192);
}

TEST(MakeTileGrid, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(MakeTileGrid({0, 1, 1, 1}).status().message(), "m: got 0, expected 1 or more");
  EXPECT_EQ(MakeTileGrid({1, -1, 1, 1}).status().message(), "n: got -1, expected 1 or more");
  EXPECT_EQ(MakeTileGrid({1, 1, 0, 1}).status().message(), "block_m: got 0, expected 1 or more");
  EXPECT_EQ(MakeTileGrid({1, 1, 1, 0}).status().message(), "block_n: got 0, expected 1 or more");
  EXPECT_EQ(MakeTileGrid({kMax, 2, 1, 1}).status().message(),
            "issued_element_count: about 1.84467e+19, expected -9223372036854775808 to 9223372036854775807");
  // It fits; only its whole tiles do not.
  EXPECT_FALSE(MakeTileGrid({kMax, 1, kMax - 1, 1}).ok());
}

TEST(DecodeProgramId, GroupOfOneIsRowMajor) {
  const auto grid = MakeTileGrid({129, 300, 32, 64});
  ASSERT_TRUE(grid.ok());
  for (int64_t pid = 0; pid < grid->tile_count; ++pid) {
    const auto tile = DecodeProgramId(*grid, pid);
    ASSERT_TRUE(tile.ok());
    EXPECT_EQ(tile->pid_m, pid / 5);
    EXPECT_EQ(tile->pid_n, pid % 5);
    EXPECT_EQ(tile->m0, tile->pid_m * 32);
    EXPECT_EQ(tile->n0, tile->pid_n * 64);
  }
  const auto corner = DecodeProgramId(*grid, grid->tile_count - 1);
  EXPECT_EQ(corner->valid_m, 1);
  EXPECT_EQ(corner->valid_n, 300 - 4 * 64);
}

// Triton tutorial 03, literally.
std::pair<int64_t, int64_t> TritonOrder(int64_t pid, int64_t num_pid_m, int64_t num_pid_n, int64_t group_size_m) {
  const int64_t num_pid_in_group = group_size_m * num_pid_n;
  const int64_t group_id = pid / num_pid_in_group;
  const int64_t first_pid_m = group_id * group_size_m;
  const int64_t rows = std::min(num_pid_m - first_pid_m, group_size_m);
  return {first_pid_m + ((pid % num_pid_in_group) % rows), (pid % num_pid_in_group) / rows};
}

TEST(DecodeProgramId, GroupedOrderIsTritonsAndAPermutationThatMasksToTheMatrix) {
  std::mt19937_64 random(3);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 2000; ++i) {
    const auto grid = MakeTileGrid({pick(1, 200), pick(1, 200), pick(1, 40), pick(1, 40)});
    ASSERT_TRUE(grid.ok());
    const ProgramOrder order{.group_m = pick(1, 12)};
    std::set<std::pair<int64_t, int64_t>> seen;
    int64_t area = 0;
    for (int64_t pid = 0; pid < grid->tile_count; ++pid) {
      const auto tile = DecodeProgramId(*grid, pid, order);
      ASSERT_TRUE(tile.ok());
      const auto expected = TritonOrder(pid, grid->tile_m_count, grid->tile_n_count, order.group_m);
      ASSERT_EQ(std::pair(tile->pid_m, tile->pid_n), expected);
      ASSERT_LT(tile->pid_m, grid->tile_m_count);
      ASSERT_LT(tile->pid_n, grid->tile_n_count);
      ASSERT_GE(tile->valid_m, 1);
      ASSERT_LE(tile->valid_m, grid->shape.block_m);
      seen.insert(expected);
      area += tile->valid_m * tile->valid_n;
    }
    ASSERT_EQ(static_cast<int64_t>(seen.size()), grid->tile_count);
    ASSERT_EQ(area, grid->shape.m * grid->shape.n);
  }
}

TEST(DecodeProgramId, AGroupOfAllRowsIsColumnMajorHoweverLarge) {
  const auto grid = MakeTileGrid({5, 7, 1, 1});
  for (const int64_t group_m : {int64_t{5}, int64_t{6}, kMax}) {
    for (int64_t pid = 0; pid < 35; ++pid) {
      const auto tile = DecodeProgramId(*grid, pid, {group_m});
      ASSERT_TRUE(tile.ok());
      EXPECT_EQ(tile->pid_m, pid % 5);
      EXPECT_EQ(tile->pid_n, pid / 5);
    }
  }
}

TEST(DecodeProgramId, RefusalsNameFieldValueAndLimit) {
  const auto grid = MakeTileGrid({5, 7, 1, 1});
  EXPECT_EQ(DecodeProgramId(*grid, 35).status().message(), "program_id: got 35, expected 0 to 34");
  EXPECT_EQ(DecodeProgramId(*grid, -1).status().message(), "program_id: got -1, expected 0 to 34");
  EXPECT_EQ(DecodeProgramId(*grid, 0, {0}).status().message(), "group_m: got 0, expected 1 or more");
}

TEST(DistinctPanels, GroupsOfEightShareMoreThanRows) {
  // 32 x 32 tiles: 64 programs touch 2 rows and all 32 columns of tiles in row-major order, 8 and 8 in groups of 8.
  const auto grid = MakeTileGrid({4096, 4096, 128, 128});
  const auto rows = DistinctPanels(*grid, {1}, 0, 64);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->panel_m_count + rows->panel_n_count, 34);
  const auto grouped = DistinctPanels(*grid, {8}, 0, 64);
  ASSERT_TRUE(grouped.ok());
  EXPECT_EQ(grouped->panel_m_count + grouped->panel_n_count, 16);
  EXPECT_EQ(grouped->row_count, 1024);
  EXPECT_EQ(grouped->column_count, 1024);
}

TEST(DistinctPanels, EqualsSetsOfDecodedTilesForRandomRanges) {
  std::mt19937_64 random(4);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto grid = MakeTileGrid({pick(1, 120), pick(1, 120), pick(1, 30), pick(1, 30)});
    ASSERT_TRUE(grid.ok());
    const ProgramOrder order{.group_m = pick(1, 9)};
    const int64_t first = pick(0, grid->tile_count - 1);
    const int64_t count = pick(1, std::min<int64_t>(grid->tile_count - first, 150));
    std::set<int64_t> rows;
    std::set<int64_t> columns;
    int64_t row_count = 0;
    int64_t column_count = 0;
    for (int64_t pid = first; pid < first + count; ++pid) {
      const auto tile = DecodeProgramId(*grid, pid, order);
      ASSERT_TRUE(tile.ok());
      if (rows.insert(tile->pid_m).second) row_count += tile->valid_m;
      if (columns.insert(tile->pid_n).second) column_count += tile->valid_n;
    }
    const auto panels = DistinctPanels(*grid, order, first, count);
    ASSERT_TRUE(panels.ok()) << panels.status();
    ASSERT_EQ(panels->panel_m_count, static_cast<int64_t>(rows.size())) << i;
    ASSERT_EQ(panels->panel_n_count, static_cast<int64_t>(columns.size())) << i;
    ASSERT_EQ(panels->row_count, row_count) << i;
    ASSERT_EQ(panels->column_count, column_count) << i;
  }
}

TEST(DistinctPanels, TakesNoLongerForAHugeGrid) {
  const auto grid = MakeTileGrid({int64_t{1} << 31, int64_t{1} << 31, 1, 1});
  ASSERT_TRUE(grid.ok());
  const auto panels = DistinctPanels(*grid, {8}, 5, grid->tile_count - 5);
  ASSERT_TRUE(panels.ok());
  EXPECT_EQ(panels->row_count, int64_t{1} << 31);
  EXPECT_EQ(panels->column_count, int64_t{1} << 31);
}

TEST(DistinctPanels, RefusalsNameFieldValueAndLimit) {
  const auto grid = MakeTileGrid({5, 7, 1, 1});
  EXPECT_EQ(DistinctPanels(*grid, {}, 35, 1).status().message(), "first_program_id: got 35, expected 0 to 34");
  EXPECT_EQ(DistinctPanels(*grid, {}, 30, 6).status().message(),
            "program_count: got 6, expected 1 to 5 (programs left in the grid)");
  EXPECT_EQ(DistinctPanels(*grid, {}, 30, 0).status().message(),
            "program_count: got 0, expected 1 to 5 (programs left in the grid)");
  EXPECT_EQ(DistinctPanels(*grid, {-2}, 0, 1).status().message(), "group_m: got -2, expected 1 or more");
}

TEST(TileGrid, OneThatWasNotMadeHasNoEfficiency) { EXPECT_EQ(TileGrid{}.tile_efficiency_ratio(), 0); }

}  // namespace
}  // namespace gx::model
