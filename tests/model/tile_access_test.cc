#include "analysis/model/tile_access.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "analysis/model/banks.h"
#include "analysis/model/sectors.h"
#include "analysis/model/tile_grid.h"

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

MatrixView RowMajor(int64_t rows, int64_t columns, int64_t element_bytes) {
  return {.rows = rows,
          .columns = columns,
          .row_stride_elements = columns,
          .column_stride_elements = 1,
          .element_bytes = element_bytes};
}

MatrixView Transposed(const MatrixView& view) {
  MatrixView result = view;
  std::swap(result.rows, result.columns);
  std::swap(result.row_stride_elements, result.column_stride_elements);
  return result;
}

TEST(OwnersOf, DealsTheTileToLanesInTheOrderOfItsAxis) {
  const OwnerMap along_row{.tile_rows = 4, .tile_columns = 16, .elements_per_lane = 2};
  ASSERT_EQ(*along_row.RequestCount(), 1);
  const auto owners = OwnersOf(along_row, 0);
  ASSERT_TRUE(owners.ok());
  EXPECT_EQ((*owners)[0].column, 0);
  EXPECT_EQ((*owners)[1].column, 2);
  EXPECT_EQ((*owners)[8].row, 1);
  EXPECT_EQ((*owners)[31].row, 3);
  EXPECT_EQ((*owners)[31].column, 14);

  const OwnerMap along_column{
      .tile_rows = 16, .tile_columns = 4, .elements_per_lane = 2, .axis = OwnerAxis::kAlongColumn};
  const auto down = OwnersOf(along_column, 0);
  ASSERT_TRUE(down.ok());
  EXPECT_EQ((*down)[1].row, 2);
  EXPECT_EQ((*down)[8].row, 0);
  EXPECT_EQ((*down)[8].column, 1);
}

TEST(OwnersOf, EveryElementHasExactlyOneOwner) {
  for (const OwnerAxis axis : {OwnerAxis::kAlongRow, OwnerAxis::kAlongColumn}) {
    const OwnerMap map{.tile_rows = 12, .tile_columns = 20, .elements_per_lane = 4, .axis = axis};
    std::map<std::pair<int64_t, int64_t>, int> owned;
    for (int64_t request = 0; request < *map.RequestCount(); ++request) {
      const auto owners = OwnersOf(map, request);
      ASSERT_TRUE(owners.ok());
      for (const TileElement& element : *owners) {
        if (!element.owned) continue;
        for (int64_t i = 0; i < 4; ++i) {
          ++owned[axis == OwnerAxis::kAlongRow ? std::pair(element.row, element.column + i)
                                               : std::pair(element.row + i, element.column)];
        }
      }
    }
    EXPECT_EQ(owned.size(), 240U);
    for (const auto& [element, count] : owned) {
      EXPECT_EQ(count, 1);
      EXPECT_LT(element.first, 12);
      EXPECT_LT(element.second, 20);
    }
  }
}

// offset = (m0 + local_m) * stride_am + (k0 + local_k) * stride_ak, valid where both are inside.
TEST(TileAccess, IsTheAddressFormulaWithItsMaskForRandomViews) {
  std::mt19937_64 random(5);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int64_t active = 0;
  int64_t masked = 0;
  for (int i = 0; i < 5000; ++i) {
    MatrixView view{.rows = pick(1, 60),
                    .columns = pick(1, 60),
                    .row_stride_elements = pick(-100, 100),
                    .column_stride_elements = pick(-100, 100),
                    .element_bytes = pick(1, 16),
                    .base_bytes = int64_t{1} << 20};
    const OwnerMap map{.tile_rows = pick(1, 20),
                       .tile_columns = pick(1, 20),
                       .axis = pick(0, 1) == 0 ? OwnerAxis::kAlongRow : OwnerAxis::kAlongColumn};
    const TileOrigin origin{.row = pick(0, 70), .column = pick(0, 70)};
    const int64_t request = pick(0, *map.RequestCount() - 1);
    const auto owners = OwnersOf(map, request);
    const auto access = TileAccess(view, origin, map, request);
    ASSERT_TRUE(access.ok()) << access.status();
    for (size_t lane = 0; lane < 32; ++lane) {
      const TileElement& element = (*owners)[lane];
      const int64_t row = origin.row + element.row;
      const int64_t column = origin.column + element.column;
      const bool valid = element.owned && row < view.rows && column < view.columns;
      ASSERT_EQ(access->active(static_cast<int64_t>(lane)), valid);
      (valid ? active : masked) += 1;
      if (!valid) continue;
      ASSERT_EQ(access->lane_address_bytes[lane],
                view.base_bytes +
                    (row * *view.row_stride_elements + column * *view.column_stride_elements) * view.element_bytes);
    }
  }
  EXPECT_GT(active, 1000);
  EXPECT_GT(masked, 1000);
}

TEST(TileAccess, MaskedTilesOfAGridTouchEveryElementOnce) {
  // A 37 x 29 matrix in 16 x 8 tiles, C's mask.
  const MatrixView c = RowMajor(37, 29, 4);
  const auto grid = MakeTileGrid({37, 29, 16, 8});
  const OwnerMap map{.tile_rows = 16, .tile_columns = 8};
  std::map<int64_t, int> touched;
  for (int64_t pid = 0; pid < grid->tile_count; ++pid) {
    const auto tile = DecodeProgramId(*grid, pid, {.group_m = 2});
    for (int64_t request = 0; request < *map.RequestCount(); ++request) {
      const auto access = TileAccess(c, {.row = tile->m0, .column = tile->n0}, map, request);
      ASSERT_TRUE(access.ok());
      for (int64_t lane = 0; lane < 32; ++lane) {
        if (access->active(lane)) ++touched[access->lane_address_bytes[static_cast<size_t>(lane)]];
      }
    }
  }
  EXPECT_EQ(touched.size(), 37U * 29U);
  for (const auto& [address, count] : touched) EXPECT_EQ(count, 1) << address;
}

TEST(CountTileSectors, AVectorLoadOfABf16TileIsFullyUsed) {
  // A tile of 128 x 32 BF16, 16 bytes a lane: a row is 64 bytes, so 8 rows a request, 2 sectors each.
  const MatrixView a = RowMajor(4096, 4096, 2);
  const OwnerMap map{.tile_rows = 128, .tile_columns = 32, .elements_per_lane = 8};
  const auto totals = CountTileSectors(a, {.row = 256, .column = 64}, map);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->request_count, 16);
  EXPECT_EQ(totals->sector_count, 256);
  EXPECT_EQ(totals->requested_bytes, 8192);
  EXPECT_DOUBLE_EQ(*totals->sector_efficiency(), 1.0);
  EXPECT_DOUBLE_EQ(*totals->sectors_per_request(), 16.0);
}

TEST(CountTileSectors, TheSameTileAcrossTheStrideIsNot) {
  // Lanes down a column of a row-major matrix: every element has a sector of its own.
  const MatrixView a = RowMajor(4096, 4096, 2);
  const OwnerMap down{.tile_rows = 128, .tile_columns = 32, .axis = OwnerAxis::kAlongColumn};
  const auto totals = CountTileSectors(a, {}, down);
  ASSERT_TRUE(totals.ok());
  EXPECT_DOUBLE_EQ(*totals->sectors_per_request(), 32.0);
  EXPECT_DOUBLE_EQ(*totals->sector_efficiency(), 1.0 / 16);
  // Of the transposed matrix it is the good direction.
  const auto transposed = CountTileSectors(Transposed(a), {}, down);
  ASSERT_TRUE(transposed.ok());
  EXPECT_DOUBLE_EQ(*transposed->sector_efficiency(), 1.0);
}

TEST(CountTileSectors, EdgeTilesRequestTheirValidElementsOnly) {
  const MatrixView a = RowMajor(129, 129, 4);
  const OwnerMap map{.tile_rows = 128, .tile_columns = 128};
  const auto corner = CountTileSectors(a, {.row = 128, .column = 128}, map);
  ASSERT_TRUE(corner.ok());
  EXPECT_EQ(corner->request_count, 1);
  EXPECT_EQ(corner->requested_bytes, 4);
  int64_t bytes = 0;
  for (const int64_t row : {0, 128}) {
    for (const int64_t column : {0, 128}) bytes += CountTileSectors(a, {row, column}, map)->requested_bytes;
  }
  EXPECT_EQ(bytes, 129 * 129 * 4);
  const auto outside = CountTileSectors(a, {.row = 500, .column = 0}, map);
  ASSERT_TRUE(outside.ok());
  EXPECT_EQ(outside->request_count, 0);
  EXPECT_FALSE(outside->sector_efficiency().has_value());
}

TEST(CountTileBanks, AColumnOfA32x32TileAndItsPaddedCure) {
  const OwnerMap columns{.tile_rows = 32, .tile_columns = 32, .axis = OwnerAxis::kAlongColumn};
  MatrixView shared = RowMajor(32, 32, 4);
  const auto unpadded = CountTileBanks(shared, columns);
  ASSERT_TRUE(unpadded.ok());
  EXPECT_EQ(unpadded->request_count, 32);
  EXPECT_EQ(unpadded->worst_degree, 32);
  EXPECT_EQ(unpadded->wavefront_count, 1024);
  EXPECT_EQ(unpadded->excess_wavefront_count(), 992);
  shared.row_stride_elements = 33;
  const auto padded = CountTileBanks(shared, columns);
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(padded->worst_degree, 1);
  EXPECT_EQ(padded->excess_wavefront_count(), 0);
  const auto rows = CountTileBanks(shared, {.tile_rows = 32, .tile_columns = 32});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->wavefront_count, 32);
}

TEST(TileAccess, TakesAnyListOfOwners) {
  // The A fragment of mma.m16n8k16 (PTX ISA): lane l holds pairs at row l / 4, column l % 4 * 2.
  LaneOwners owners;
  for (size_t lane = 0; lane < 32; ++lane) {
    owners[lane] = {static_cast<int64_t>(lane / 4), static_cast<int64_t>(lane % 4 * 2), true};
  }
  MatrixView shared = RowMajor(16, 64, 2);
  const auto straight = TileAccess(shared, {}, owners, 2);
  ASSERT_TRUE(straight.ok());
  EXPECT_EQ(straight->bytes_per_lane, 4);
  // Rows of 128 bytes start in the same bank.
  EXPECT_EQ(CountBanks(*straight)->conflict_degree, 8);
  shared.row_stride_elements = 72;  // 36 words: rows four banks apart
  EXPECT_EQ(CountBanks(*TileAccess(shared, {}, owners, 2))->conflict_degree, 1);
}

TEST(TileAccess, RefusalsNameFieldValueAndLimit) {
  const MatrixView a = RowMajor(64, 130, 2);
  const OwnerMap map{.tile_rows = 8, .tile_columns = 32, .elements_per_lane = 4};
  EXPECT_EQ(TileAccess(a, {}, map, 0).status().message(),
            "lane_address_bytes[8]: got 260, expected a multiple of the vector's 8 bytes (base, strides and tile "
            "decide)");
  EXPECT_EQ(
      TileAccess(RowMajor(64, 128, 2), {.row = 0, .column = 2}, map, 0).status().message(),
      "lane_address_bytes[0]: got 4, expected a multiple of the vector's 8 bytes (base, strides and tile decide)");
  EXPECT_EQ(TileAccess(Transposed(RowMajor(64, 128, 2)), {}, map, 0).status().message(),
            "column_stride_elements: got 128, expected 1 (a lane loads several elements at once)");
  EXPECT_EQ(TileAccess(RowMajor(64, 128, 16), {}, map, 0).status().message(),
            "elements_per_lane: got 4, expected 1 to 2");
  EXPECT_EQ(
      TileAccess(a, {}, OwnerMap{.tile_rows = 8, .tile_columns = 30, .elements_per_lane = 4}, 0).status().message(),
      "elements_per_lane: got 4, expected a divisor of the tile's columns, 30");
  EXPECT_EQ(TileAccess(a, {}, OwnerMap{.tile_rows = 8, .tile_columns = 32}, 8).status().message(),
            "request_index: got 8, expected 0 to 7");
  EXPECT_EQ(TileAccess(a, {.row = -1}, OwnerMap{}, 0).status().message(), "origin.row: got -1, expected 0 or more");
  EXPECT_EQ(TileAccess(MatrixView{.rows = 0}, {}, OwnerMap{}, 0).status().message(), "rows: got 0, expected 1 or more");
  EXPECT_EQ(TileAccess(MatrixView{.element_bytes = 33}, {}, OwnerMap{}, 0).status().message(),
            "element_bytes: got 33, expected 1 to 32");
  EXPECT_EQ(TileAccess(MatrixView{.rows = 2, .row_stride_elements = -1}, {.row = 1}, OwnerMap{}, 0).status().message(),
            "lane_address_bytes[0]: got -2, expected 0 to 9223372036854775806");
  EXPECT_EQ(TileAccess(MatrixView{.rows = kMax, .row_stride_elements = 4}, {.row = kMax - 1}, OwnerMap{}, 0)
                .status()
                .message(),
            "lane_address_bytes: about 7.3787e+19, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(CountTileSectors(a, {}, OwnerMap{.tile_rows = int64_t{1} << 30, .tile_columns = 64}).status().message(),
            "requests of the tile: got 2147483648, expected 1 to 1048576");
  EXPECT_EQ(OwnersOf(OwnerMap{.tile_rows = kMax, .tile_columns = 2}, 0).status().message(),
            "tile elements: 9223372036854775807 x 2 is beyond 9223372036854775807");
  LaneOwners odd;
  odd[3] = {0, 1, true};
  EXPECT_EQ(
      TileAccess(RowMajor(64, 128, 2), {}, odd, 2).status().message(),
      "lane_address_bytes[3]: got 2, expected a multiple of the vector's 4 bytes (base, strides and tile decide)");
  EXPECT_EQ(TileAccess(MatrixView{.rows = 2}, {}, OwnerMap{}, 0).status().message(),
            "row_stride_elements: got none, expected one for 2 rows");
  EXPECT_EQ(TileAccess(MatrixView{.columns = 3}, {}, OwnerMap{}, 0).status().message(),
            "column_stride_elements: got none, expected one for 3 columns");
  LaneOwners negative;
  negative[3] = {-1, 0, true};
  EXPECT_EQ(TileAccess(a, {}, negative).status().message(), "owned row: got -1, expected 0 or more");
  negative[3] = {0, -2, true};
  EXPECT_EQ(TileAccess(a, {}, negative).status().message(), "owned column: got -2, expected 0 or more");
  negative[3].owned = false;
  EXPECT_TRUE(TileAccess(a, {}, negative).ok());
}

TEST(TileAccess, FarOutsideIsMaskedAndDoesNotWrap) {
  LaneOwners owners;
  owners[0] = {kMax, kMax, true};
  const auto access = TileAccess(RowMajor(8, 8, 4), {.row = kMax, .column = kMax}, owners);
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->active_mask, 0U);
}

TEST(TileAccess, VectorsStartAtMultiplesOfTheirBytes) {
  // 8 BF16 values, 16 bytes, four lanes a row.
  const OwnerMap map{.tile_rows = 8, .tile_columns = 32, .elements_per_lane = 8};
  MatrixView a = RowMajor(64, 128, 2);
  EXPECT_TRUE(TileAccess(a, {}, map, 0).ok());
  a.row_stride_elements = 129;
  EXPECT_EQ(TileAccess(a, {}, map, 0).status().message(),
            "lane_address_bytes[4]: got 258, expected a multiple of the vector's 16 bytes (base, strides and tile "
            "decide)");
  a.row_stride_elements = 136;
  EXPECT_TRUE(TileAccess(a, {}, map, 0).ok());
  a.base_bytes = 2;
  EXPECT_EQ(TileAccess(a, {}, map, 0).status().message(),
            "lane_address_bytes[0]: got 2, expected a multiple of the vector's 16 bytes (base, strides and tile "
            "decide)");
  a.base_bytes = 32;
  EXPECT_TRUE(TileAccess(a, {}, map, 0).ok());
  // One value a lane needs no more than its own two bytes, and those are the caller's.
  a.row_stride_elements = 129;
  EXPECT_TRUE(TileAccess(a, {}, OwnerMap{.tile_rows = 8, .tile_columns = 32}, 0).ok());
}

TEST(TileAccess, OnlyAVectorThatStraddlesTheEdgeIsRefused) {
  const OwnerMap map{.tile_rows = 8, .tile_columns = 32, .elements_per_lane = 8};
  MatrixView a = RowMajor(12, 130, 2);
  a.row_stride_elements = 136;
  for (const int64_t column : {0, 64, 96}) {
    const auto access = TileAccess(a, {.row = 0, .column = column}, map, 0);
    ASSERT_TRUE(access.ok()) << access.status();
    EXPECT_EQ(access->active_mask, kAllLanes);
  }
  EXPECT_EQ(TileAccess(a, {.row = 0, .column = 128}, map, 0).status().message(),
            "elements_per_lane: got 8, expected at most 2 (lane 0 starts at column 128 of 130)");
  EXPECT_EQ(TileAccess(a, {.row = 0, .column = 104}, map, 0).status().message(),
            "elements_per_lane: got 8, expected at most 2 (lane 3 starts at column 128 of 130)");
  // All outside is masked, along the axis and across it.
  EXPECT_EQ(TileAccess(a, {.row = 0, .column = 136}, map, 0)->active_mask, 0U);
  EXPECT_EQ(TileAccess(a, {.row = 16, .column = 128}, map, 0)->active_mask, 0U);
  EXPECT_EQ(TileAccess(a, {.row = 8, .column = 0}, map, 0)->active_mask, 0x0000ffffU);
  // An edge that vectors end at.
  a.columns = 136;
  EXPECT_EQ(TileAccess(a, {.row = 0, .column = 128}, map, 0)->active_mask, 0x11111111U);
}

TEST(TileAccess, VectorsRunDownColumnsWhereThoseAreAdjacent) {
  // Column-major, pitch 64: 8 values down a column, four lanes a column of the tile.
  const OwnerMap map{.tile_rows = 32, .tile_columns = 8, .elements_per_lane = 8, .axis = OwnerAxis::kAlongColumn};
  MatrixView a{.rows = 60, .columns = 20, .row_stride_elements = 1, .column_stride_elements = 64};
  const auto access = TileAccess(a, {.row = 0, .column = 2}, map, 0);
  ASSERT_TRUE(access.ok()) << access.status();
  EXPECT_EQ(access->bytes_per_lane, 16);
  for (int64_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(access->lane_address_bytes[static_cast<size_t>(lane)], ((2 + lane / 4) * 64 + lane % 4 * 8) * 2);
  }
  EXPECT_EQ(TileAccess(a, {.row = 32, .column = 0}, map, 0).status().message(),
            "elements_per_lane: got 8, expected at most 4 (lane 3 starts at row 56 of 60)");
  EXPECT_EQ(TileAccess(Transposed(a), {}, map, 0).status().message(),
            "row_stride_elements: got 64, expected 1 (a lane loads several elements at once)");
  EXPECT_EQ(TileAccess(a, {}, OwnerMap{.tile_rows = 30, .elements_per_lane = 8, .axis = OwnerAxis::kAlongColumn}, 0)
                .status()
                .message(),
            "elements_per_lane: got 8, expected a divisor of the tile's rows, 30");
  a.column_stride_elements = 65;
  EXPECT_EQ(TileAccess(a, {}, map, 0).status().message(),
            "lane_address_bytes[4]: got 130, expected a multiple of the vector's 16 bytes (base, strides and tile "
            "decide)");
}

TEST(CountTileSectors, CountsSectorsOfTheWidthAskedFor) {
  // Rows of 64 bytes: half of a line each.
  const OwnerMap map{.tile_rows = 128, .tile_columns = 32, .elements_per_lane = 8};
  const auto lines = CountTileSectors(RowMajor(4096, 4096, 2), {}, map, kCacheLineBytes);
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->sector_bytes, 128);
  EXPECT_EQ(lines->sector_count, 128);
  EXPECT_DOUBLE_EQ(*lines->sector_efficiency(), 0.5);
  EXPECT_EQ(CountTileSectors(RowMajor(8, 8, 2), {}, OwnerMap{}, 0).status().message(),
            "sector_bytes: got 0, expected 1 to 1099511627776");
}

TEST(CountTileBanks, CountsByTheRulesAskedFor) {
  // All lanes read one value of 8 bytes.
  const MatrixView shared{.rows = 1, .columns = 32, .column_stride_elements = 0, .element_bytes = 8};
  const OwnerMap map{.tile_rows = 1, .tile_columns = 32};
  EXPECT_EQ(CountTileBanks(shared, map)->wavefront_count, 2);
  EXPECT_EQ(CountTileBanks(shared, map, {.uniform_pairs_share_a_pass = true})->wavefront_count, 1);
}

TEST(CountTileBanks, TheWorstDegreeIsThatOfTheWorstRequest) {
  // A column of 40 words in one bank: 32 in the first request, 8 in the second.
  const MatrixView shared{.rows = 40, .columns = 1, .row_stride_elements = 32, .element_bytes = 4};
  const auto totals = CountTileBanks(shared, {.tile_rows = 40, .axis = OwnerAxis::kAlongColumn});
  ASSERT_TRUE(totals.ok());
  EXPECT_EQ(totals->request_count, 2);
  EXPECT_EQ(totals->worst_degree, 32);
  EXPECT_EQ(totals->wavefront_count, 40);
  EXPECT_EQ(totals->ideal_wavefront_count, 2);
}

TEST(CountTileBanks, RequestsWithoutAnActiveLaneAreNotCounted) {
  // Two of the tile's four rows are inside.
  const MatrixView shared = RowMajor(2, 32, 4);
  const OwnerMap map{.tile_rows = 4, .tile_columns = 32};
  EXPECT_EQ(CountTileBanks(shared, map)->request_count, 2);
  EXPECT_EQ(CountTileBanks(shared, map)->ideal_wavefront_count, 2);
  EXPECT_EQ(CountTileSectors(shared, {}, map)->request_count, 2);
}

}  // namespace
}  // namespace gx::model
