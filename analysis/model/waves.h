// Waves: how a grid of blocks fills the machine. The blocks that can be resident at once are the slots; a grid larger
// than that runs in waves, and the last wave may leave most slots empty (wave quantization).
//
// Sources: NVIDIA, "Matrix Multiplication Background" (wave quantization) and "GPU Performance Background" (tail
// effect); CUDA C++ Programming Guide, "Thread Block Clusters" (a cluster is co-scheduled on one GPC, so blocks per SM
// times SMs counts too many) and the table of technical specifications (grid dimensions); CUDA C++ Best Practices
// Guide, "Thread and Block Heuristics".
//
// The slots are those of resident_slots.h. A launch that has none never runs, so it has no waves: it is refused.
//
// Waves are arithmetic, no timeline: blocks of a real grid start when others end. The last wave need not take as long
// as a full one. Any thread; nothing allocates where nothing is wrong.
//
//   WaveInput input{.grid_block_count = 1024, .sm_count = 108, .blocks_per_sm = 3};
//   ComputeWaves(input)->last_wave_block_count;  // 52 of 324 slots, in wave 4
#ifndef GPUEXEC_ANALYSIS_MODEL_WAVES_H_
#define GPUEXEC_ANALYSIS_MODEL_WAVES_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/model/resident_slots.h"

namespace gx::model {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the same from 7.0 to 12.1.
inline constexpr int64_t kMaxGridX = 2'147'483'647;
inline constexpr int64_t kMaxGridY = 65'535;
inline constexpr int64_t kMaxGridZ = 65'535;

struct GridDimensions {
  int64_t x = 1;
  int64_t y = 1;
  int64_t z = 1;
};

// x * y * z. A dimension may be 0 (an operation without work; CUDA itself refuses to launch one); one beyond CUDA's
// limit is refused.
[[nodiscard]] absl::StatusOr<int64_t> GridBlockCount(const GridDimensions& grid);

struct WaveInput {
  int64_t grid_block_count = 0;
  // SMs that the context may use: fewer than the product has under MIG, MPS or green contexts.
  int64_t sm_count = 0;
  // Resident blocks per SM, from the occupancy.
  int64_t blocks_per_sm = 0;
  // 1: launched without clusters. The grid has to be a multiple of it.
  int64_t blocks_per_cluster = 1;
  // What cudaOccupancyMaxActiveClusters says or a capture read.
  std::optional<int64_t> max_active_cluster_count = std::nullopt;
};

struct Waves {
  SlotSource slot_source = SlotSource::kBlocksPerSm;
  // Blocks resident at once over the whole machine.
  int64_t slot_count = 0;
  // Slots that clusters leave unusable: SMs x resident blocks - slot_count. 0 without clusters.
  int64_t cluster_lost_slot_count = 0;
  // Full and partial. 0 for an empty grid.
  int64_t wave_count = 0;
  // 1 to slot_count; 0 for an empty grid.
  int64_t last_wave_block_count = 0;
  // Blocks of the last wave over slots: 1 where it is full. Absent for an empty grid. Where one_wave is set it is the
  // fill of the machine, not of a tail.
  std::optional<double> tail_fill_ratio;
  // Blocks over the slots of all waves; absent for an empty grid.
  std::optional<double> mean_fill_ratio;
  // Blocks over slots, not rounded. A profiler's "waves per SM".
  double fractional_wave_count = 0;
  // The grid fits into the slots (an empty one does too).
  bool one_wave = false;
  // SMs that surely get no block of the last wave, however the blocks are spread: SMs less blocks, 0 or above. Where
  // one_wave is set these never work at all. All of them for an empty grid.
  int64_t last_wave_idle_sm_count = 0;
};

[[nodiscard]] absl::StatusOr<Waves> ComputeWaves(const WaveInput& input);

// A persistent grid: a fixed number of CTAs (blocks), all resident at once, works through more tiles than that, each
// CTA taking every cta_count-th tile (static round robin). Dynamic tile queues balance unequal tiles; with equal ones
// the counts are the same.
struct PersistentInput {
  int64_t tile_count = 0;
  int64_t cta_count = 0;
  // Slots of the machine (Waves::slot_count). More CTAs than slots are refused: not all would be resident.
  int64_t slot_count = 0;
};

struct PersistentWaves {
  // Most and fewest tiles of a CTA. The most is also the number of rounds of one tile per CTA; 0 without tiles.
  int64_t busiest_cta_tile_count = 0;
  int64_t idlest_cta_tile_count = 0;
  // CTAs that have the most: tiles in the last round.
  int64_t last_wave_tile_count = 0;
  double mean_tiles_per_cta = 0;
  // Tiles of the last round over CTAs. Absent without tiles.
  std::optional<double> tail_fill_ratio;
  // Tiles over (rounds x CTAs): mean over busiest CTA. Absent without tiles.
  std::optional<double> balance_ratio;
  // Slots without a CTA, and CTAs over slots.
  int64_t unused_slot_count = 0;
  double slot_fill_ratio = 0;
  // CTAs that never get a tile.
  int64_t idle_cta_count = 0;
};

[[nodiscard]] absl::StatusOr<PersistentWaves> ComputePersistentWaves(const PersistentInput& input);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_WAVES_H_
