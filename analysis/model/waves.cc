#include "analysis/model/waves.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

struct Slots {
  SlotSource source = SlotSource::kBlocksPerSm;
  int64_t count = 0;
};

// With clusters. `plain_count` is SMs x resident blocks.
absl::StatusOr<Slots> ClusterSlots(const WaveInput& input, int64_t plain_count) {
  const int64_t size = input.blocks_per_cluster;
  if (input.grid_block_count % size != 0) {
    return absl::InvalidArgumentError(absl::StrCat("grid_block_count: got ", input.grid_block_count,
                                                   ", expected a multiple of blocks_per_cluster (", size, ")"));
  }
  if (!input.max_active_cluster_count.has_value()) {
    if (size > plain_count) {
      return absl::InvalidArgumentError(absl::StrCat("blocks_per_cluster: got ", size, ", expected ", plain_count,
                                                     " at most (sm_count x blocks_per_sm)"));
    }
    return Slots{SlotSource::kClusterUpperBound, plain_count - plain_count % size};
  }
  const int64_t clusters = *input.max_active_cluster_count;
  if (absl::Status status = CheckPositive("max_active_cluster_count", clusters); !status.ok()) return status;
  const absl::StatusOr<int64_t> count = CheckedProduct("slot_count", clusters, size);
  if (!count.ok()) return count.status();
  if (*count > plain_count) {
    return absl::InvalidArgumentError(absl::StrCat("max_active_cluster_count: got ", clusters, " of ", size,
                                                   " blocks, expected ", plain_count,
                                                   " blocks at most (sm_count x blocks_per_sm)"));
  }
  return Slots{SlotSource::kActiveClusters, *count};
}

}  // namespace

absl::StatusOr<int64_t> GridBlockCount(const GridDimensions& grid) {
  if (absl::Status status = CheckRange("grid.x", grid.x, 0, kMaxGridX); !status.ok()) return status;
  if (absl::Status status = CheckRange("grid.y", grid.y, 0, kMaxGridY); !status.ok()) return status;
  if (absl::Status status = CheckRange("grid.z", grid.z, 0, kMaxGridZ); !status.ok()) return status;
  // 31 + 16 + 16 bits at most: fits.
  return grid.x * grid.y * grid.z;
}

absl::StatusOr<Waves> ComputeWaves(const WaveInput& input) {
  if (absl::Status status = CheckNotNegative("grid_block_count", input.grid_block_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("sm_count", input.sm_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("blocks_per_sm", input.blocks_per_sm); !status.ok()) return status;
  if (absl::Status status = CheckPositive("blocks_per_cluster", input.blocks_per_cluster); !status.ok()) return status;
  const absl::StatusOr<int64_t> plain_count = CheckedProduct("slot_count", input.sm_count, input.blocks_per_sm);
  if (!plain_count.ok()) return plain_count.status();

  Slots slots{SlotSource::kBlocksPerSm, *plain_count};
  if (input.blocks_per_cluster > 1) {
    const absl::StatusOr<Slots> clustered = ClusterSlots(input, *plain_count);
    if (!clustered.ok()) return clustered.status();
    slots = *clustered;
  }

  Waves waves;
  const int64_t blocks = input.grid_block_count;
  waves.slot_source = slots.source;
  waves.slot_count = slots.count;
  waves.cluster_lost_slot_count = *plain_count - slots.count;
  waves.wave_count = CeilDivide(blocks, slots.count);
  waves.fractional_wave_count = static_cast<double>(blocks) / static_cast<double>(slots.count);
  waves.one_wave = blocks <= slots.count;
  if (blocks > 0) {
    waves.last_wave_block_count = (blocks - 1) % slots.count + 1;
    waves.tail_fill_ratio = static_cast<double>(waves.last_wave_block_count) / static_cast<double>(slots.count);
    // As doubles: waves x slots may exceed 63 bits where the grid just does not.
    waves.mean_fill_ratio =
        static_cast<double>(blocks) / (static_cast<double>(waves.wave_count) * static_cast<double>(slots.count));
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
  waves.tile_wave_count = CeilDivide(tiles, ctas);
  waves.busiest_cta_tile_count = waves.tile_wave_count;
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
