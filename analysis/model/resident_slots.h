// Slots: how many blocks of a kernel the whole device holds at a time.
//
// Source: CUDA C++ Programming Guide, "Thread Block Clusters" (the blocks of a cluster are co-scheduled on one GPC, so
// not every slot of every SM can be filled); CUDA runtime, cudaOccupancyMaxActiveClusters.
//
// The rule, for everything that needs this number:
// - Without clusters: SMs x resident blocks.
// - With clusters: whole clusters only, and no more of them than the SMs have room for or than the device says can be
//   active, whichever is fewer. The device's number wins where it is the smaller one; where it is larger (an occupancy
//   for a smaller carve-out than the one that it was asked for, say) the room is an upper bound, as it is where the
//   device's number is not known.
// - A number of active clusters below 1 is refused, used or not.
// - 0 slots is an answer: not one block fits, or not one cluster. Such a launch never runs.
//
// Any thread; nothing allocates where nothing is wrong.
//
//   // 132 SMs x 3 blocks, clusters of 16: at most 24 of them, 384 slots.
//   CountResidentSlots({.sm_count = 132, .blocks_per_sm = 3, .blocks_per_cluster = 16});
#ifndef GPUEXEC_ANALYSIS_MODEL_RESIDENT_SLOTS_H_
#define GPUEXEC_ANALYSIS_MODEL_RESIDENT_SLOTS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

namespace gx::model {

// Where the number of slots comes from.
enum class SlotSource : uint8_t {
  kBlocksPerSm,        // SMs x resident blocks
  kActiveClusters,     // active clusters x blocks of a cluster
  kClusterUpperBound,  // clusters, but how many can be active is not known: at most this many slots
};

struct SlotInput {
  // SMs that the context may use. Absent: only the device's number of active clusters can say something.
  std::optional<int64_t> sm_count = std::nullopt;
  // Resident blocks per SM, from the occupancy.
  int64_t blocks_per_sm = 0;
  // 1: launched without clusters.
  int64_t blocks_per_cluster = 1;
  // What cudaOccupancyMaxActiveClusters says or a capture read.
  std::optional<int64_t> max_active_cluster_count = std::nullopt;
};

struct ResidentSlots {
  SlotSource source = SlotSource::kBlocksPerSm;
  // Absent where nothing is known of the device.
  std::optional<int64_t> count = std::nullopt;
};

[[nodiscard]] absl::StatusOr<ResidentSlots> CountResidentSlots(const SlotInput& input);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_RESIDENT_SLOTS_H_
