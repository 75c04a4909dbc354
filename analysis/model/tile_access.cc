#include "analysis/model/tile_access.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/model/banks.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"

namespace gx::model {
namespace {

constexpr int64_t kMaxTileRequests = int64_t{1} << 20;

absl::Status CheckMatrix(const MatrixView& matrix) {
  if (absl::Status status = CheckPositive("rows", matrix.rows); !status.ok()) return status;
  if (absl::Status status = CheckPositive("columns", matrix.columns); !status.ok()) return status;
  if (matrix.rows > 1 && !matrix.row_stride_elements.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("row_stride_elements: got none, expected one for ", matrix.rows, " rows"));
  }
  if (matrix.columns > 1 && !matrix.column_stride_elements.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("column_stride_elements: got none, expected one for ", matrix.columns, " columns"));
  }
  return CheckRange("element_bytes", matrix.element_bytes, 1, kMaxBytesPerLane);
}

absl::Status CheckMap(const OwnerMap& map) {
  if (absl::Status status = CheckPositive("tile_rows", map.tile_rows); !status.ok()) return status;
  if (absl::Status status = CheckPositive("tile_columns", map.tile_columns); !status.ok()) return status;
  return CheckRange("elements_per_lane", map.elements_per_lane, 1, kMaxBytesPerLane);
}

absl::Status NotDivided(int64_t elements_per_lane, absl::string_view what, int64_t extent) {
  return absl::InvalidArgumentError(
      absl::StrCat("elements_per_lane: got ", elements_per_lane, ", expected a divisor of the ", what, ", ", extent));
}

// A vector is one access only where its elements are neighbours in memory.
absl::Status CheckVector(const MatrixView& matrix, int64_t elements_per_lane, OwnerAxis axis) {
  if (elements_per_lane == 1) return absl::OkStatus();
  const bool along_row = axis == OwnerAxis::kAlongRow;
  if (absl::Status status =
          CheckRange("elements_per_lane", elements_per_lane, 1, kMaxBytesPerLane / matrix.element_bytes);
      !status.ok()) {
    return status;
  }
  // Absent: the axis has one element, and no vector of several lies inside.
  const std::optional<int64_t>& stride = along_row ? matrix.column_stride_elements : matrix.row_stride_elements;
  return CheckRange(along_row ? "column_stride_elements" : "row_stride_elements", stride.value_or(1), 1, 1,
                    "a lane loads several elements at once");
}

// It is also one access only where it does not straddle the edge, and starts at a multiple of its width.
absl::Status CheckVectorOfLane(size_t lane, int64_t elements_per_lane, OwnerAxis axis, int64_t first, int64_t extent) {
  if (elements_per_lane <= extent - first) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("elements_per_lane: got ", elements_per_lane, ", expected at most ", extent - first, " (lane ", lane,
                   " starts at ", axis == OwnerAxis::kAlongRow ? "column " : "row ", first, " of ", extent, ")"));
}

absl::Status CheckVectorAddress(size_t lane, const WarpAccess& access) {
  const int64_t address = access.lane_address_bytes[lane];
  if (address % access.bytes_per_lane == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lane_address_bytes[", lane, "]: got ", address,
                                                 ", expected a multiple of the vector's ", access.bytes_per_lane,
                                                 " bytes (base, strides and tile decide)"));
}

}  // namespace

absl::StatusOr<int64_t> OwnerMap::RequestCount() const {
  if (absl::Status status = CheckMap(*this); !status.ok()) return status;
  const int64_t extent = axis == OwnerAxis::kAlongRow ? tile_columns : tile_rows;
  if (extent % elements_per_lane != 0) {
    return NotDivided(elements_per_lane, axis == OwnerAxis::kAlongRow ? "tile's columns" : "tile's rows", extent);
  }
  absl::StatusOr<int64_t> elements = CheckedProduct("tile elements", tile_rows, tile_columns);
  if (!elements.ok()) return elements.status();
  return CeilDivide(*elements, kWarpLanes * elements_per_lane);
}

absl::StatusOr<LaneOwners> OwnersOf(const OwnerMap& map, int64_t request_index) {
  const absl::StatusOr<int64_t> request_count = map.RequestCount();
  if (!request_count.ok()) return request_count.status();
  if (absl::Status status = CheckRange("request_index", request_index, 0, *request_count - 1); !status.ok()) {
    return status;
  }
  const bool along_row = map.axis == OwnerAxis::kAlongRow;
  const int64_t extent = along_row ? map.tile_columns : map.tile_rows;
  const int64_t vector_count = map.tile_rows * map.tile_columns / map.elements_per_lane;
  LaneOwners owners;
  for (int64_t lane = 0; lane < kWarpLanes; ++lane) {
    // Below 2^63: the request is one of those that deal out the tile.
    const int64_t vector = request_index * kWarpLanes + lane;
    if (vector >= vector_count) break;
    const int64_t vectors_per_line = extent / map.elements_per_lane;
    const int64_t line = vector / vectors_per_line;
    const int64_t place = vector % vectors_per_line * map.elements_per_lane;
    TileElement& element = owners[static_cast<size_t>(lane)];
    element.row = along_row ? line : place;
    element.column = along_row ? place : line;
    element.owned = true;
  }
  return owners;
}

absl::StatusOr<WarpAccess> TileAccess(const MatrixView& matrix, const TileOrigin& origin, const LaneOwners& owners,
                                      int64_t elements_per_lane, OwnerAxis axis) {
  if (absl::Status status = CheckMatrix(matrix); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("origin.row", origin.row); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("origin.column", origin.column); !status.ok()) return status;
  if (absl::Status status = CheckRange("elements_per_lane", elements_per_lane, 1, kMaxBytesPerLane); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckVector(matrix, elements_per_lane, axis); !status.ok()) return status;
  const bool along_row = axis == OwnerAxis::kAlongRow;
  const int64_t row_stride_elements = matrix.row_stride_elements.value_or(0);
  const int64_t column_stride_elements = matrix.column_stride_elements.value_or(0);
  WarpAccess access;
  access.active_mask = 0;
  access.bytes_per_lane = matrix.element_bytes * elements_per_lane;
  for (size_t lane = 0; lane < owners.size(); ++lane) {
    const TileElement& element = owners[lane];
    if (!element.owned) continue;
    if (absl::Status status = CheckNotNegative("owned row", element.row); !status.ok()) return status;
    if (absl::Status status = CheckNotNegative("owned column", element.column); !status.ok()) return status;
    // The edge mask: origin + element < extent, written so that no sum can wrap however far outside it is.
    if (origin.row >= matrix.rows - element.row) continue;
    if (origin.column >= matrix.columns - element.column) continue;
    const int64_t row = origin.row + element.row;
    const int64_t column = origin.column + element.column;
    if (absl::Status status = CheckVectorOfLane(lane, elements_per_lane, axis, along_row ? column : row,
                                                along_row ? matrix.columns : matrix.rows);
        !status.ok()) {
      return status;
    }
    const CheckedCount offset_elements =
        CheckedCount(row) * row_stride_elements + CheckedCount(column) * column_stride_elements;
    const absl::StatusOr<int64_t> address =
        (CheckedCount(matrix.base_bytes) + offset_elements * matrix.element_bytes).Value("lane_address_bytes");
    if (!address.ok()) return address.status();
    access.lane_address_bytes[lane] = *address;
    access.active_mask |= 1U << lane;
    if (elements_per_lane == 1) continue;
    if (absl::Status status = CheckVectorAddress(lane, access); !status.ok()) return status;
  }
  if (absl::Status status = CheckWarpAccess(access); !status.ok()) return status;
  return access;
}

absl::StatusOr<WarpAccess> TileAccess(const MatrixView& matrix, const TileOrigin& origin, const OwnerMap& map,
                                      int64_t request_index) {
  const absl::StatusOr<LaneOwners> owners = OwnersOf(map, request_index);
  if (!owners.ok()) return owners.status();
  return TileAccess(matrix, origin, *owners, map.elements_per_lane, map.axis);
}

namespace {

absl::StatusOr<int64_t> BoundedRequestCount(const OwnerMap& map) {
  absl::StatusOr<int64_t> request_count = map.RequestCount();
  if (!request_count.ok()) return request_count;
  if (absl::Status status = CheckRange("requests of the tile", *request_count, 1, kMaxTileRequests); !status.ok()) {
    return status;
  }
  return request_count;
}

}  // namespace

absl::StatusOr<SectorTotals> CountTileSectors(const MatrixView& matrix, const TileOrigin& origin, const OwnerMap& map,
                                              int64_t sector_bytes) {
  const absl::StatusOr<int64_t> request_count = BoundedRequestCount(map);
  if (!request_count.ok()) return request_count.status();
  SectorTotals totals;
  for (int64_t request = 0; request < *request_count; ++request) {
    const absl::StatusOr<WarpAccess> access = TileAccess(matrix, origin, map, request);
    if (!access.ok()) return access.status();
    const absl::StatusOr<SectorCount> sectors = CountSectors(*access, sector_bytes);
    if (!sectors.ok()) return sectors.status();
    if (absl::Status status = totals.Add(*sectors); !status.ok()) return status;
  }
  return totals;
}

absl::StatusOr<BankTotals> CountTileBanks(const MatrixView& shared, const OwnerMap& map, const BankRules& rules) {
  const absl::StatusOr<int64_t> request_count = BoundedRequestCount(map);
  if (!request_count.ok()) return request_count.status();
  BankTotals totals;
  for (int64_t request = 0; request < *request_count; ++request) {
    const absl::StatusOr<WarpAccess> access = TileAccess(shared, TileOrigin{}, map, request);
    if (!access.ok()) return access.status();
    const absl::StatusOr<BankCount> banks = CountBanks(*access, rules);
    if (!banks.ok()) return banks.status();
    if (banks->active_lane_count == 0) continue;
    ++totals.request_count;
    totals.worst_degree = std::max(totals.worst_degree, banks->conflict_degree);
    // At most 2^20 requests of 32 wavefronts each (a bank has no more than one word of a lane).
    totals.wavefront_count += banks->wavefront_count;
    totals.ideal_wavefront_count += banks->ideal_wavefront_count;
  }
  return totals;
}

}  // namespace gx::model
