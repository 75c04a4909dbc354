#include "analysis/model/resident_slots.h"

#include "absl/status/status.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

absl::Status CheckInput(const SlotInput& input) {
  absl::Status status;
  if (input.sm_count.has_value()) status = CheckPositive("sm_count", *input.sm_count);
  if (status.ok()) status = CheckNotNegative("blocks_per_sm", input.blocks_per_sm);
  if (status.ok()) status = CheckPositive("blocks_per_cluster", input.blocks_per_cluster);
  if (status.ok() && input.max_active_cluster_count.has_value()) {
    status = CheckPositive("max_active_cluster_count", *input.max_active_cluster_count);
  }
  return status;
}

}  // namespace

absl::StatusOr<ResidentSlots> CountResidentSlots(const SlotInput& input) {
  if (absl::Status status = CheckInput(input); !status.ok()) return status;
  if (input.blocks_per_sm == 0) return ResidentSlots{SlotSource::kBlocksPerSm, 0};

  std::optional<int64_t> room;
  if (input.sm_count.has_value()) {
    const absl::StatusOr<int64_t> blocks = CheckedProduct("slot_count", *input.sm_count, input.blocks_per_sm);
    if (!blocks.ok()) return blocks.status();
    room = *blocks;
  }
  const int64_t size = input.blocks_per_cluster;
  if (size == 1) return ResidentSlots{SlotSource::kBlocksPerSm, room};

  const std::optional<int64_t>& active = input.max_active_cluster_count;
  if (active.has_value() && (!room.has_value() || *active <= *room / size)) {
    const absl::StatusOr<int64_t> blocks = CheckedProduct("slot_count", *active, size);
    if (!blocks.ok()) return blocks.status();
    return ResidentSlots{SlotSource::kActiveClusters, *blocks};
  }
  if (room.has_value()) room = *room / size * size;
  return ResidentSlots{SlotSource::kClusterUpperBound, room};
}

}  // namespace gx::model
