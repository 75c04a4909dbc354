// The launch grid of a tiled matrix product: how many output tiles cover C, which tile a program id owns in which
// order, how much of the covered rectangle is useful, and which panels of A and B a run of consecutive programs
// touches.
//
// Source: NVIDIA Matrix Multiplication Background User's Guide ("Tile Quantization", "Wave Quantization"); CUDA
// Programming Guide, "Thread Hierarchy"; Triton tutorial 03, "Matrix Multiplication" (grouped order, GROUP_SIZE_M).
//
// The hardware does not promise to start blocks in the order of their ids; runs of consecutive programs are what
// usually shares the device at a time, and are used here for that only.
//
// Any thread. Nothing allocates where nothing is wrong.
//
//   const auto grid = MakeTileGrid({.m = 129, .n = 129, .block_m = 128, .block_n = 128});
//   grid->tile_efficiency_ratio();  // 16641 / 65536
#ifndef GPUEXEC_ANALYSIS_MODEL_TILE_GRID_H_
#define GPUEXEC_ANALYSIS_MODEL_TILE_GRID_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace gx::model {

// C[m, n] in tiles of block_m x block_n. All 1 or more.
struct TileShape {
  int64_t m = 1;
  int64_t n = 1;
  int64_t block_m = 1;
  int64_t block_n = 1;
};

struct TileGrid {
  TileShape shape;
  // Tiles along each axis, the last one possibly cut.
  int64_t tile_m_count = 0;
  int64_t tile_n_count = 0;
  int64_t tile_count = 0;
  // The rectangle that the tiles cover.
  int64_t issued_m = 0;
  int64_t issued_n = 0;
  int64_t useful_element_count = 0;  // m x n
  int64_t issued_element_count = 0;  // issued_m x issued_n

  // useful / issued elements, above 0. Masks protect the accesses of the rest; they do not make fixed tile instructions
  // disappear.
  double tile_efficiency_ratio() const;
};

[[nodiscard]] absl::StatusOr<TileGrid> MakeTileGrid(const TileShape& shape);

// How a flat program id walks the tiles: down columns inside groups of group_m rows of tiles, group after group. 1 is
// row-major (pid / tiles_n, pid % tiles_n); tiles_m or more is column-major; 8 is Triton's usual choice.
struct ProgramOrder {
  int64_t group_m = 1;
};

// The tile of one program.
struct ProgramTile {
  int64_t pid_m = 0;
  int64_t pid_n = 0;
  // Its first row and column in C.
  int64_t m0 = 0;
  int64_t n0 = 0;
  // Rows and columns of it that are inside C: what its edge masks leave, 1 to block_m and 1 to block_n.
  int64_t valid_m = 0;
  int64_t valid_n = 0;
};

// program_id: 0 to tile_count - 1; group_m: 1 or more.
[[nodiscard]] absl::StatusOr<ProgramTile> DecodeProgramId(const TileGrid& grid, int64_t program_id,
                                                          const ProgramOrder& order = {});

// Distinct panels (rows of A, columns of B) that programs first_program_id ... + program_count - 1 touch together.
struct PanelReuse {
  int64_t panel_m_count = 0;
  int64_t panel_n_count = 0;
  // Rows of A and columns of B in them, inside the matrix.
  int64_t row_count = 0;
  int64_t column_count = 0;
};
// In constant time, however many programs. The range must lie inside the grid and hold at least one program.
[[nodiscard]] absl::StatusOr<PanelReuse> DistinctPanels(const TileGrid& grid, const ProgramOrder& order,
                                                        int64_t first_program_id, int64_t program_count);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_TILE_GRID_H_
