#include "analysis/model/tile_grid.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"

namespace gx::model {
namespace {

// Programs of a group run down its columns; the last group may have fewer rows.
struct Group {
  int64_t first_pid_m = 0;
  int64_t rows_count = 0;
  // Of the group's first program.
  int64_t first_program_id = 0;
};

// group_m within the grid, so that products with it fit.
int64_t RowsPerGroup(const TileGrid& grid, const ProgramOrder& order) {
  return std::min(order.group_m, grid.tile_m_count);
}

Group GroupOf(const TileGrid& grid, int64_t rows_per_group, int64_t program_id) {
  const int64_t programs_per_group = rows_per_group * grid.tile_n_count;
  Group group;
  const int64_t index = program_id / programs_per_group;
  group.first_pid_m = index * rows_per_group;
  group.rows_count = std::min(rows_per_group, grid.tile_m_count - group.first_pid_m);
  group.first_program_id = index * programs_per_group;
  return group;
}

int64_t ValidExtent(int64_t extent, int64_t block, int64_t first) { return std::min(block, extent - first); }

// Elements in `panel_count` panels, of which the last of the matrix may be cut.
int64_t ElementsIn(int64_t panel_count, bool with_last, int64_t block, int64_t issued, int64_t extent) {
  return panel_count * block - (with_last ? issued - extent : 0);
}

absl::Status CheckOrder(const ProgramOrder& order) { return CheckPositive("group_m", order.group_m); }

}  // namespace

double TileGrid::tile_efficiency_ratio() const {
  if (issued_element_count == 0) return 0;  // not made by MakeTileGrid
  return static_cast<double>(useful_element_count) / static_cast<double>(issued_element_count);
}

absl::StatusOr<TileGrid> MakeTileGrid(const TileShape& shape) {
  for (const auto& [field, value] : {std::pair{"m", shape.m}, std::pair{"n", shape.n},
                                     std::pair{"block_m", shape.block_m}, std::pair{"block_n", shape.block_n}}) {
    if (absl::Status status = CheckPositive(field, value); !status.ok()) return status;
  }
  TileGrid grid;
  grid.shape = shape;
  grid.tile_m_count = CeilDivide(shape.m, shape.block_m);
  grid.tile_n_count = CeilDivide(shape.n, shape.block_n);
  const CheckedCount issued_m = CheckedCount(grid.tile_m_count) * shape.block_m;
  const CheckedCount issued_n = CheckedCount(grid.tile_n_count) * shape.block_n;
  absl::StatusOr<int64_t> issued = (issued_m * issued_n).Value("issued_element_count");
  if (!issued.ok()) return issued.status();
  grid.issued_element_count = *issued;
  // No more than the rectangle.
  grid.issued_m = grid.tile_m_count * shape.block_m;
  grid.issued_n = grid.tile_n_count * shape.block_n;
  grid.tile_count = grid.tile_m_count * grid.tile_n_count;
  grid.useful_element_count = shape.m * shape.n;
  return grid;
}

absl::StatusOr<ProgramTile> DecodeProgramId(const TileGrid& grid, int64_t program_id, const ProgramOrder& order) {
  if (absl::Status status = CheckOrder(order); !status.ok()) return status;
  if (absl::Status status = CheckRange("program_id", program_id, 0, grid.tile_count - 1); !status.ok()) {
    return status;
  }
  const Group group = GroupOf(grid, RowsPerGroup(grid, order), program_id);
  const int64_t in_group = program_id - group.first_program_id;
  ProgramTile tile;
  tile.pid_m = group.first_pid_m + in_group % group.rows_count;
  tile.pid_n = in_group / group.rows_count;
  tile.m0 = tile.pid_m * grid.shape.block_m;
  tile.n0 = tile.pid_n * grid.shape.block_n;
  tile.valid_m = ValidExtent(grid.shape.m, grid.shape.block_m, tile.m0);
  tile.valid_n = ValidExtent(grid.shape.n, grid.shape.block_n, tile.n0);
  return tile;
}

absl::StatusOr<PanelReuse> DistinctPanels(const TileGrid& grid, const ProgramOrder& order, int64_t first_program_id,
                                          int64_t program_count) {
  if (absl::Status status = CheckOrder(order); !status.ok()) return status;
  if (absl::Status status = CheckRange("first_program_id", first_program_id, 0, grid.tile_count - 1); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckRange("program_count", program_count, 1, grid.tile_count - first_program_id,
                                       "programs left in the grid");
      !status.ok()) {
    return status;
  }
  const int64_t rows_per_group = RowsPerGroup(grid, order);
  const int64_t last_program_id = first_program_id + program_count - 1;
  const Group first = GroupOf(grid, rows_per_group, first_program_id);
  const Group last = GroupOf(grid, rows_per_group, last_program_id);
  const int64_t begin = first_program_id - first.first_program_id;  // in its group
  const int64_t end = last_program_id - last.first_program_id + 1;  // past the last, in its group
  // Rows of one group that its programs a ... b - 1 touch, and whether the group's last row is among them.
  const auto rows = [](const Group& group, int64_t a, int64_t b) { return std::min(b - a, group.rows_count); };
  const auto has_last_row = [](const Group& group, int64_t a, int64_t b) {
    return b / group.rows_count > a / group.rows_count;
  };
  const bool reaches_last_group = last.first_pid_m + last.rows_count == grid.tile_m_count;

  PanelReuse reuse;
  bool last_row = false;
  bool last_column = false;
  if (first.first_pid_m == last.first_pid_m) {
    reuse.panel_m_count = rows(first, begin, end);
    last_row = reaches_last_group && has_last_row(last, begin, end);
    const int64_t last_pid_n = (end - 1) / last.rows_count;
    reuse.panel_n_count = last_pid_n - begin / first.rows_count + 1;
    last_column = last_pid_n == grid.tile_n_count - 1;
  } else {
    const int64_t first_end = first.rows_count * grid.tile_n_count;
    const int64_t rows_between = last.first_pid_m - (first.first_pid_m + first.rows_count);
    reuse.panel_m_count = rows(first, begin, first_end) + rows_between + rows(last, 0, end);
    last_row = reaches_last_group && has_last_row(last, 0, end);
    // The first group's columns reach to the right edge, the last one's start at the left one.
    const int64_t from_left = (end - 1) / last.rows_count + 1;
    const int64_t from_right = grid.tile_n_count - begin / first.rows_count;
    reuse.panel_n_count = rows_between > 0 ? grid.tile_n_count : std::min(grid.tile_n_count, from_left + from_right);
    last_column = true;
  }
  reuse.row_count = ElementsIn(reuse.panel_m_count, last_row, grid.shape.block_m, grid.issued_m, grid.shape.m);
  reuse.column_count = ElementsIn(reuse.panel_n_count, last_column, grid.shape.block_n, grid.issued_n, grid.shape.n);
  return reuse;
}

}  // namespace gx::model
