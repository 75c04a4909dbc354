#include "analysis/model/waves.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
absl::StatusOr<int64_t> GridBlockCount(const GridDimensions& grid) {
  if (absl::Status status = CheckRange("grid.x", grid.x, 0, kMaxGridX); !status.ok()) return status;
  if (absl::Status status = CheckRange("grid.y", grid.y, 0, kMaxGridY); !status.ok()) return status;
  if (absl::Status status = CheckRange("grid.z", grid.z, 0, kMaxGridZ); !status.ok()) return status;
  // 31 + 16 + 16 bits at most: fits.
  return grid.x * grid.y * grid.z;
}

absl::StatusOr<Waves> ComputeWaves(const WaveInput& input) {
  if (absl::Status status = CheckNotNegative("grid_block_count", input.grid_block_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("blocks_per_sm", input.blocks_per_sm); !status.ok()) return status;
  const absl::StatusOr<ResidentSlots> slots =
      CountResidentSlots({.sm_count = input.sm_count,
                          .blocks_per_sm = input.blocks_per_sm,
                          .blocks_per_cluster = input.blocks_per_cluster,
                          .max_active_cluster_count = input.max_active_cluster_count});
  if (!slots.ok()) return slots.status();
  if (input.grid_block_count % input.blocks_per_cluster != 0) {
    return absl::InvalidArgumentError(absl::StrCat("grid_block_count: got ", input.grid_block_count,
                                                   ", expected a multiple of blocks_per_cluster (",
                                                   input.blocks_per_cluster, ")"));
  }
  const int64_t room = input.sm_count * input.blocks_per_sm;  // fits: it was counted
  const int64_t slot_count = slots->count.value_or(0);        // there, for the SMs are known
  if (slot_count == 0) {
    return absl::InvalidArgumentError(absl::StrCat("blocks_per_cluster: got ", input.blocks_per_cluster, ", expected ",
                                                   room, " at most (sm_count x blocks_per_sm)"));
  }

  Waves waves;
  const int64_t blocks = input.grid_block_count;
  waves.slot_source = slots->source;
  waves.slot_count = slot_count;
  waves.cluster_lost_slot_count = room - slot_count;
  waves.wave_count = CeilDivide(blocks, slot_count);
  waves.fractional_wave_count = static_cast<double>(blocks) / static_cast<double>(slot_count);
  waves.one_wave = blocks <= slot_count;
  if (blocks > 0) {
    waves.last_wave_block_count = (blocks - 1) % slot_count + 1;
    waves.tail_fill_ratio = static_cast<double>(waves.last_wave_block_count) / static_cast<double>(slot_count);
    // As doubles: waves x slots may exceed 63 bits where the grid just does not.
    waves.mean_fill_ratio =
        static_cast<double>(blocks) / (static_cast<double>(waves.wave_count) * static_cast<double>(slot_count));
  }
  waves.last_wave_idle_sm_count = std::max<int64_t>(0, input.sm_count - waves.last_wave_block_count);
  return waves;
}

absl::StatusOr<PersistentWaves> ComputePersistentWaves(const PersistentInput& input) {
  if (absl::Status status = CheckNotNegative("tile_count", input.tile_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("slot_count", input.slot_count); !status.ok()) return status;
  if (absl::Status status =
          CheckRange("cta_count", input.cta_count, 1, input.slot_count, "slots: a persistent grid is resident at once");
      !status.ok()) {
    return status;
  }
  PersistentWaves waves;
  const int64_t tiles = input.tile_count;
  const int64_t ctas = input.cta_count;
  waves.busiest_cta_tile_count = CeilDivide(tiles, ctas);
  waves.idlest_cta_tile_count = tiles / ctas;
  waves.mean_tiles_per_cta = static_cast<double>(tiles) / static_cast<double>(ctas);
  if (tiles > 0) {
    waves.last_wave_tile_count = (tiles - 1) % ctas + 1;
    waves.tail_fill_ratio = static_cast<double>(waves.last_wave_tile_count) / static_cast<double>(ctas);
    waves.balance_ratio = waves.mean_tiles_per_cta / static_cast<double>(waves.busiest_cta_tile_count);
  }
  waves.unused_slot_count = input.slot_count - ctas;
  waves.slot_fill_ratio = static_cast<double>(ctas) / static_cast<double>(input.slot_count);
  waves.idle_cta_count = std::max<int64_t>(0, ctas - tiles);
  return waves;
}

}  // namespace gx::model
