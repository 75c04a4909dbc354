// What one schedule of a matrix product costs: useful and issued work, bytes, launches, blocks, waves and what a block
// needs of its multiprocessor (SM). No time and no verdict: schedules move costs from one place to another, and which
// place matters is for a roofline and a measurement to say.
//
// Source: NVIDIA Matrix Multiplication Background User's Guide (tile and wave quantization); Triton tutorials 03
// (grouped order) and 09 (persistent matrix product); CUTLASS documentation, "Efficient GEMM in CUDA" (stages, split-K
// with a workspace that a second kernel reduces, threadblock rasterization).
//
// Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_GEMM_SCHEDULE_H_
#define GPUEXEC_ANALYSIS_MODEL_GEMM_SCHEDULE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/model/gemm.h"
#include "analysis/model/occupancy.h"
#include "analysis/model/occupancy_limiter.h"
#include "analysis/model/sm_limits.h"
#include "analysis/model/tile_grid.h"
#include "analysis/model/waves.h"

namespace gx::model {

// A matrix product, and what follows it element by element.
struct ScheduledGemm {
  Gemm gemm = {};
  int64_t accumulator_element_bytes = 4;
  // Operations on C such as an activation. Each is a kernel that reads and writes C once, unless fused.
  int64_t pointwise_operation_count = 0;
  // Read besides C by all of them together, fused or not (a bias, a residual).
  int64_t pointwise_side_input_bytes = 0;
};

// How partial sums of split-K become C.
enum class SplitKReduction : uint8_t {
  // Each split writes its sums into its own part of a workspace; another kernel adds them and writes C.
  kWorkspace,
  // Each split adds its sums to one zeroed buffer: C itself, or one of accumulators that another kernel then converts,
  // where C's elements have another width.
  kAtomics,
};

struct GemmSchedule {
  int64_t block_m = 128;
  int64_t block_n = 128;
  int64_t block_k = 32;
  // Copies of the A and B tile in shared memory.
  int64_t stage_count = 2;
  int64_t threads_per_block = 256;
  ProgramOrder order = {};
  // Parts of K, each by its own blocks: 1 to ceil(k / block_k). All tiles of the first part come first.
  int64_t split_k = 1;
  SplitKReduction reduction = SplitKReduction::kWorkspace;
  // As many blocks as are resident at once, or as there are tiles if those are fewer, each working through several.
  bool persistent = false;
  bool fused_pointwise = false;
  // Registers of a thread besides its accumulators. 0: accumulators alone, so that the blocks per SM are an upper
  // bound.
  int64_t other_registers_per_thread = 0;
};

struct ScheduleMachine {
  int64_t sm_count = 0;
  SmBudget sm = {};
  // Where given, blocks per SM follow from the exact allocation rules, and `sm` is not looked at.
  const SmLimits* exact_limits = nullptr;
  // The tensor cores add in tensor memory (tcgen05.mma of compute capability 10.x and 11.0) and not in registers; a
  // kernel that uses mma.sync there does not. Absent: as the capability of `exact_limits` has it, false without them.
  // How many blocks tensor memory (256 KiB an SM, PTX ISA) has room for is not counted.
  std::optional<bool> accumulators_in_tensor_memory = std::nullopt;
};

struct ScheduleResources {
  // Shared memory of a block.
  int64_t staging_bytes = 0;
  int64_t accumulator_bytes = 0;  // of a block, in registers or in tensor memory
  bool accumulators_in_tensor_memory = false;
  int64_t accumulator_registers_per_thread = 0;  // 0 in tensor memory
  // An estimate, at most 255: accumulators and others.
  int64_t registers_per_thread = 0;
  // They would need more than 255: some spill to memory, which nothing here counts.
  bool registers_spill = false;
  // 0: not one block fits, and `limiters` says what is short.
  int64_t blocks_per_sm_count = 0;
  double occupancy_ratio = 0;
  LimiterSet limiters;
};

struct ScheduleCost {
  TileGrid grid;
  // Useful: 2 m n k. Issued: whole tiles and whole steps along K.
  int64_t useful_flops = 0;
  int64_t issued_flops = 0;
  double useful_flops_ratio = 0;  // useful / issued

  // Bytes that blocks ask for; caches may serve part of them.
  int64_t operand_read_bytes = 0;  // A and B, by every tile for itself
  int64_t output_write_bytes = 0;  // C once
  int64_t reduction_bytes = 0;     // split-K: partial sums written and read, or added; zeroing
  int64_t pointwise_bytes = 0;     // C read and written by kernels of their own; side inputs
  int64_t total_bytes = 0;
  // Round trips of C that fusion spares; not in the total.
  int64_t saved_round_trip_bytes = 0;
  // Memory that split-K needs besides C.
  int64_t workspace_bytes = 0;

  // Tiles times splits.
  int64_t work_unit_count = 0;
  // Blocks of the matrix product's kernel, at most 2^31 - 1 (CUDA's limit along x; more are refused). Absent:
  // persistent, and not one block fits.
  std::optional<int64_t> block_count;
  // Kernels: the product, zeroing, reduction or conversion, pointwise operations that are not fused.
  int64_t launch_count = 0;

  ScheduleResources resources;
  // Absent where not one block fits. Of the blocks that are launched: a persistent grid is one wave.
  std::optional<Waves> waves;
  // Tiles per block; only where the schedule is persistent.
  std::optional<PersistentWaves> persistent_waves;

  // Bytes of A and B that the work units of one wave touch together, each once: what the L2 cache has to be sent if it
  // keeps nothing from wave to wave and loses nothing within one. Less than operand_read_bytes by the reuse between
  // neighbouring tiles, which the order of tiles decides. Of the first wave; and the sum over all, absent beyond 2^16
  // waves.
  std::optional<int64_t> first_wave_operand_bytes;
  std::optional<int64_t> wave_operand_bytes;
};

[[nodiscard]] absl::StatusOr<ScheduleCost> EvaluateGemmSchedule(const ScheduledGemm& operation,
                                                                const GemmSchedule& schedule,
                                                                const ScheduleMachine& machine);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_GEMM_SCHEDULE_H_
