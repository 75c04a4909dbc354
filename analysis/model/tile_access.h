// From a tile to the addresses of a warp's lanes: strides, an owner map (which lane has which element of the tile) and
// edge masks. The result is a WarpAccess, which sectors.h and banks.h count.
//
// Source: CUDA Programming Guide, "Thread Hierarchy" and "Device Memory Accesses"; Triton tutorial 03 for the address
// of an element from strides and the masks of edge tiles.
//
// Any thread. Nothing allocates where nothing is wrong.
//
//   // Warp 0's load of the A tile of 128 x 32 BF16 values at (m0, k0), 8 values (16 bytes) a lane.
//   const OwnerMap map{.tile_rows = 128, .tile_columns = 32, .elements_per_lane = 8};
//   const auto access = TileAccess(a, {.row = m0, .column = k0}, map, 0);
//
// The same map over a view of shared memory (base 0, its pitch as row stride) gives the store into it, or a read from
// it.
#ifndef GPUEXEC_ANALYSIS_MODEL_TILE_ACCESS_H_
#define GPUEXEC_ANALYSIS_MODEL_TILE_ACCESS_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/model/banks.h"
#include "analysis/model/sectors.h"
#include "analysis/model/warp_access.h"

namespace gx::model {

// Element (row, column) lies at base_bytes + (row * row_stride_elements + column * column_stride_elements) *
// element_bytes. Strides of any sign: a transposed view swaps them, 0 repeats a row or column, negative reverses.
struct MatrixView {
  int64_t rows = 1;
  int64_t columns = 1;
  // Absent is refused where there is more than one row, or column: no layout is taken for granted.
  std::optional<int64_t> row_stride_elements = std::nullopt;
  std::optional<int64_t> column_stride_elements = std::nullopt;
  int64_t element_bytes = 2;  // 1 to 32
  // From any origin; with negative strides it must leave room below.
  int64_t base_bytes = 0;
};

// Neighbouring lanes step along a row of the tile, or down a column of it.
enum class OwnerAxis { kAlongRow, kAlongColumn };

// The tile's elements, in the order of its axis, dealt to lanes elements_per_lane at a time: request 0 is lanes 0 to
// 31's first, request 1 the next 32 lanes' (another warp, or the same one in its next step).
struct OwnerMap {
  int64_t tile_rows = 1;
  int64_t tile_columns = 1;
  // A vector of this many elements along the axis. It must divide the tile's extent along the axis, and the elements
  // must be adjacent in memory (stride 1). No single access could load a vector that is not all inside or all outside
  // the matrix, or whose address is no multiple of its bytes: a request with an active lane of that kind is refused.
  int64_t elements_per_lane = 1;
  OwnerAxis axis = OwnerAxis::kAlongRow;

  // Requests that deal out the whole tile: ceil(rows x columns / (32 x elements_per_lane)).
  [[nodiscard]] absl::StatusOr<int64_t> RequestCount() const;
};

// Where the tile's element (0, 0) lies in the matrix: m0 and k0. 0 or above; it may lie outside, and then nothing is
// valid.
struct TileOrigin {
  int64_t row = 0;
  int64_t column = 0;
};

// An element of the tile, as owned by a lane.
struct TileElement {
  int64_t row = 0;
  int64_t column = 0;
  bool owned = false;  // the lane has an element in this request
};
using LaneOwners = std::array<TileElement, kWarpLanes>;

// Which element each lane of request request_index owns (the first one of its vector).
[[nodiscard]] absl::StatusOr<LaneOwners> OwnersOf(const OwnerMap& map, int64_t request_index);

// The access of lanes with these owners: any map, as a list (an instruction's fragment layout, a swizzle). A lane is
// active where it owns an element that lies inside the matrix.
[[nodiscard]] absl::StatusOr<WarpAccess> TileAccess(const MatrixView& matrix, const TileOrigin& origin,
                                                    const LaneOwners& owners, int64_t elements_per_lane = 1,
                                                    OwnerAxis axis = OwnerAxis::kAlongRow);
// The same for one request of an owner map.
[[nodiscard]] absl::StatusOr<WarpAccess> TileAccess(const MatrixView& matrix, const TileOrigin& origin,
                                                    const OwnerMap& map, int64_t request_index);

// Sums of all requests of a tile. At most 2^20 requests (a tile of 2^25 elements is none of a block's).
[[nodiscard]] absl::StatusOr<SectorTotals> CountTileSectors(const MatrixView& matrix, const TileOrigin& origin,
                                                            const OwnerMap& map, int64_t sector_bytes = kSectorBytes);

struct BankTotals {
  int64_t request_count = 0;  // with an active lane
  int64_t worst_degree = 0;
  int64_t wavefront_count = 0;
  int64_t ideal_wavefront_count = 0;
  int64_t excess_wavefront_count() const { return wavefront_count - ideal_wavefront_count; }
};
// The same over a view of shared memory: its base is the tile's place in it, its row stride the pitch with padding.
[[nodiscard]] absl::StatusOr<BankTotals> CountTileBanks(const MatrixView& shared, const OwnerMap& map,
                                                        const BankRules& rules = {});

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_TILE_ACCESS_H_
