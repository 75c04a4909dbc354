// One block's tile of a matrix product: work and bytes of one step along K, and what it holds on chip meanwhile.
//
// Source: NVIDIA Matrix Multiplication Background User's Guide (tiles, 2 operations a multiply-add); CUDA C++ Best
// Practices Guide, "Shared Memory in Matrix Multiplication" and "Asynchronous Copy from Global Memory to Shared Memory"
// (stages).
//
// Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_TILE_STAGE_H_
#define GPUEXEC_ANALYSIS_MODEL_TILE_STAGE_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace gx::model {

struct BlockTile {
  int64_t block_m = 128;
  int64_t block_n = 128;
  int64_t block_k = 32;
  int64_t a_element_bits = 16;
  int64_t b_element_bits = 16;
  int64_t accumulator_element_bytes = 4;
  // Copies of the A and B tile in shared memory: 1 without overlap, 2 for double buffering.
  int64_t stage_count = 1;
};

struct TileStage {
  int64_t flops = 0;          // 2 block_m block_n block_k
  int64_t a_bytes = 0;        // block_m block_k, loaded
  int64_t b_bytes = 0;        // block_k block_n, loaded
  int64_t load_bytes = 0;     // a_bytes + b_bytes
  double flops_per_byte = 0;  // flops / load_bytes: the input side only, the output is written once after all stages
  // Shared memory: stage_count x load_bytes.
  int64_t staging_bytes = 0;
  // block_m block_n accumulators: registers of all threads of the block together (or tensor memory), no array that
  // could be placed anywhere.
  int64_t accumulator_bytes = 0;
};

// All fields 1 or more, element bits 1 to 128, accumulator bytes 1 to 16.
[[nodiscard]] absl::StatusOr<TileStage> EvaluateTileStage(const BlockTile& tile);

// 32-bit registers of the thread that owns most accumulators: ceil(block_m block_n / threads) of them, packed (two
// 16-bit ones in a register). threads_per_block 1 to 1024. The first part of a thread's registers only: addresses,
// fragments and the rest come on top.
[[nodiscard]] absl::StatusOr<int64_t> AccumulatorRegistersPerThread(const BlockTile& tile, int64_t threads_per_block);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_TILE_STAGE_H_
