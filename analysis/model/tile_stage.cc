#include "analysis/model/tile_stage.h"

#include <utility>

#include "absl/status/status.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"
#include "analysis/model/element.h"
#include "analysis/model/sm_limits.h"

namespace gx::model {
namespace {

constexpr int64_t kRegisterBytes = 4;
// Of every compute capability.
constexpr int64_t kMaxThreadsPerBlock = SmLimits{}.max_threads_per_block_count;

absl::Status CheckTile(const BlockTile& tile) {
  for (const auto& [field, value] : {std::pair{"block_m", tile.block_m}, std::pair{"block_n", tile.block_n},
                                     std::pair{"block_k", tile.block_k}, std::pair{"stage_count", tile.stage_count}}) {
    if (absl::Status status = CheckPositive(field, value); !status.ok()) return status;
  }
  for (const auto& [field, value] :
       {std::pair{"a_element_bits", tile.a_element_bits}, std::pair{"b_element_bits", tile.b_element_bits}}) {
    if (absl::Status status = CheckElementBits(field, value); !status.ok()) return status;
  }
  return CheckElementBytes("accumulator_element_bytes", tile.accumulator_element_bytes);
}

}  // namespace

absl::StatusOr<TileStage> EvaluateTileStage(const BlockTile& tile) {
  if (absl::Status status = CheckTile(tile); !status.ok()) return status;
  const absl::StatusOr<int64_t> flops =
      (CheckedCount(2) * tile.block_m * tile.block_n * tile.block_k).Value("stage_flops");
  if (!flops.ok()) return flops.status();
  // No more elements than operations.
  const CheckedCount a_bytes = PackedBytes(tile.block_m * tile.block_k, tile.a_element_bits);
  const CheckedCount b_bytes = PackedBytes(tile.block_k * tile.block_n, tile.b_element_bits);
  const absl::StatusOr<int64_t> staging = ((a_bytes + b_bytes) * tile.stage_count).Value("staging_bytes");
  if (!staging.ok()) return staging.status();
  const absl::StatusOr<int64_t> accumulators =
      (CheckedCount(tile.block_m) * tile.block_n * tile.accumulator_element_bytes).Value("accumulator_bytes");
  if (!accumulators.ok()) return accumulators.status();
  TileStage stage;
  stage.flops = *flops;
  // Parts of a sum that fits.
  stage.a_bytes = *a_bytes.Value("a_bytes");
  stage.b_bytes = *b_bytes.Value("b_bytes");
  stage.load_bytes = stage.a_bytes + stage.b_bytes;
  stage.flops_per_byte = static_cast<double>(stage.flops) / static_cast<double>(stage.load_bytes);
  stage.staging_bytes = *staging;
  stage.accumulator_bytes = *accumulators;
  return stage;
}

absl::StatusOr<int64_t> AccumulatorRegistersPerThread(const BlockTile& tile, int64_t threads_per_block) {
  const absl::StatusOr<TileStage> stage = EvaluateTileStage(tile);
  if (!stage.ok()) return stage.status();
  if (absl::Status status = CheckRange("threads_per_block", threads_per_block, 1, kMaxThreadsPerBlock); !status.ok()) {
    return status;
  }
  // No more bytes than those of all accumulators.
  const int64_t elements = CeilDivide(tile.block_m * tile.block_n, threads_per_block);
  return CeilDivide(elements * tile.accumulator_element_bytes, kRegisterBytes);
}

}  // namespace gx::model
