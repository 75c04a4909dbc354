// Occupancy as the hardware and the driver allocate: how many blocks of a kernel an SM of compute capability 7.0
// to 12.1 holds at a time, what limits it, and why not one fits where none does.
//
// Sources: cuda_occupancy.h of CUDA 13.0 (register unit per warp and sub-partition, check of a block with its warps
// rounded up to 4, shared-memory unit, reserve and opt-in limit, carve-out steps, block barriers, virtual resources);
// CUDA C++ Programming Guide (clusters: 9.0 on, portable up to 8 blocks; 255 registers a thread); PTX ISA, bar (16
// barriers a block); Hopper Tuning Guide (1 KiB reserved a block). Blocks, limits and allocations equal the header's,
// except in what the tests name as its faults: limiters are taken from the final minimum, 256 registers a thread do not
// exist, and sizes beyond 31 bits do not wrap around.
//
// Invalid input is a Status: numbers that describe no launch on any device (no thread, a negative size, a carve-out of
// 101 per cent, a 17th barrier, a carve-out in use that does not hold one block). A launch that can be written down but
// that the device refuses is a result of 0 blocks with its reasons (`refusals`; DescribeRefusals puts them into words).
//
// Nothing allocates where nothing is wrong. Any thread.
//
//   absl::StatusOr<const SmLimits*> limits = FindSmLimits({9, 0});
//   absl::StatusOr<ExactOccupancy> occupancy =
//       ComputeExactOccupancy(**limits, {.threads_per_block_count = 96, .registers_per_thread_count = 128});
//   // 5 blocks, limited by registers: 16 warps fit, and a block has 3.
#ifndef GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_EXACT_H_
#define GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_EXACT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "analysis/model/carveout.h"
#include "analysis/model/occupancy_limiter.h"
#include "analysis/model/sm_limits.h"

namespace gx::model {

// How much shared memory the function may use a block: 48 KiB, or what the device allows to those that opt in.
enum class SharedMemoryLimit : uint8_t { kDefault, kOptIn };

inline constexpr int64_t kMaxBarriersPerBlockCount = 16;  // PTX ISA, bar

// A kernel's launch as far as residency depends on it. Every field but the first has a default: that of a plain launch.
// The default that adds a limit is the barrier that the CUDA runtime assumes of every block: 11.0, 12.0 and 12.1 have
// one for each block slot (24 an SM), so there it limits as soon as the block slots do.
struct LaunchResources {
  int64_t threads_per_block_count = 0;
  // As launched.
  int64_t registers_per_thread_count = 0;
  int64_t static_shared_memory_bytes = 0;
  int64_t dynamic_shared_memory_bytes = 0;
  SharedMemoryLimit shared_memory_limit = SharedMemoryLimit::kOptIn;
  // cudaFuncAttributeMaxDynamicSharedMemorySize. Absent: what the launch uses.
  std::optional<int64_t> max_dynamic_shared_memory_bytes = std::nullopt;
  // cudaFuncAttributePreferredSharedMemoryCarveout, or the launch's own: -1 no preference, else 0 to 100.
  int64_t carveout_percent = kCarveoutDefaultPercent;
  CachePreference cache_preference = CachePreference::kNone;
  // Shared memory that the SM was really set to (CUPTI: sharedMemoryExecuted). A preference is only a hint, so this
  // wins.
  std::optional<int64_t> carveout_executed_bytes = std::nullopt;
  // What the CUDA runtime assumes: 1.
  int64_t barriers_per_block_count = 1;
  int64_t virtual_resources_per_block_count = 0;

  // Blocks in a cluster, the product of its dimensions. 1: no cluster.
  int64_t cluster_blocks_count = 1;
  // cudaOccupancyMaxPotentialClusterSize and cudaOccupancyMaxActiveClusters, or what CUPTI's record says of a launch
  // with a cluster. Absent: unknown. Clusters larger than the portable 8 blocks are refused only where it is known.
  std::optional<int64_t> max_potential_cluster_blocks_count = std::nullopt;
  std::optional<int64_t> max_active_clusters_count = std::nullopt;
  // SMs that the context sees. Absent: nothing is said about the whole device.
  std::optional<int64_t> sm_count = std::nullopt;
};

// Why not one block fits. Several may hold at a time.
enum class LaunchRefusal : uint8_t {
  kThreadsPerBlock,             // more threads than a block may have
  kRegistersPerBlock,           // the block's warps need more registers than a block may have
  kRegistersOfRoundedBlock,     // they would fit, but the hardware checks the warps rounded up to a multiple of 4
  kSharedMemoryDefaultLimit,    // more shared memory than a block may have that has not opted in
  kSharedMemoryOptinLimit,      // more than any block may have
  kDynamicSharedMemoryMaximum,  // more dynamic shared memory than the function's own maximum
  kBarriers,                    // more barriers than the SM has
  kVirtualResources,            // more virtual resources than the SM has
  kClustersUnsupported,         // a cluster before 9.0
  kClusterSize,                 // a cluster larger than the device takes or than all of its SMs have room for
};
inline constexpr int kLaunchRefusalCount = 10;

class LaunchRefusals {
 public:
  constexpr LaunchRefusals() = default;
  constexpr LaunchRefusals(std::initializer_list<LaunchRefusal> refusals) {
    for (const LaunchRefusal refusal : refusals) Add(refusal);
  }

  constexpr void Add(LaunchRefusal refusal) { bits_ = static_cast<uint16_t>(bits_ | Bit(refusal)); }
  [[nodiscard]] constexpr bool Has(LaunchRefusal refusal) const { return (bits_ & Bit(refusal)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

  friend constexpr bool operator==(LaunchRefusals, LaunchRefusals) = default;

 private:
  static constexpr uint16_t Bit(LaunchRefusal refusal) {
    return static_cast<uint16_t>(1U << static_cast<unsigned>(refusal));
  }

  uint16_t bits_ = 0;
};

enum class CarveoutSource : uint8_t {
  kModelled,  // the preference rounded up to a step, or the step that holds one block
  kExecuted,  // what the SM was really set to
};

struct ExactOccupancy {
  // Absent for a resource that does not limit. Threads are counted as warps; barriers before 9.0 are not modelled.
  BlockLimits limits;
  // 0 exactly where there are refusals.
  int64_t blocks_per_sm_count = 0;
  LaunchRefusals refusals;

  int64_t warps_per_block_count = 0;
  int64_t active_warps_count = 0;
  // Active warps over the most that the SM can hold.
  double occupancy_ratio = 0;
  // Of the smallest of `limits`. None where only a refused cluster stands in the way: no resource is short.
  LimiterSet limiters;
  std::optional<int64_t> next_limit_blocks_count = std::nullopt;
  LimiterSet next_limiters;

  int64_t allocated_registers_per_warp_count = 0;
  // Of the warps that the block has. Not what is free: the hardware's check of a block rounds its warps up to 4.
  int64_t allocated_registers_per_block_count = 0;
  // Static, dynamic and reserved, in whole units.
  int64_t allocated_shared_memory_per_block_bytes = 0;

  // The SM's shared memory that `limits` was computed with. Absent where shared memory refuses the launch.
  std::optional<int64_t> carveout_used_bytes = std::nullopt;
  CarveoutSource carveout_source = CarveoutSource::kModelled;
  // What the preference leads to by itself; another value than `carveout_used_bytes` is worth a word to the user.
  std::optional<int64_t> carveout_modelled_bytes = std::nullopt;

  // Blocks that the whole device holds at a time, by the rule of resident_slots.h. Absent where nothing is known of it.
  // An upper bound for clusters of which the device did not say how many can be active.
  std::optional<int64_t> max_resident_blocks_count = std::nullopt;
  bool max_resident_blocks_is_upper_bound = false;
};

[[nodiscard]] absl::StatusOr<ExactOccupancy> ComputeExactOccupancy(const SmLimits& limits,
                                                                   const LaunchResources& launch);

// Static and dynamic shared memory that a block of this launch may use: the default limit or the one of those that
// opted in, in whole units. The reserve is not in it.
[[nodiscard]] int64_t SharedMemoryLimitBytes(const SmLimits& limits, const LaunchResources& launch);

// The refusals of the launch's result, one sentence each joined by "; ", with field, value and limit:
// "threads_per_block_count: got 1025, a block may have 1024". Empty where there are none.
[[nodiscard]] std::string DescribeRefusals(const SmLimits& limits, const LaunchResources& launch,
                                           const ExactOccupancy& occupancy);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_EXACT_H_
