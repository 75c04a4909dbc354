// What one multiprocessor (SM) has room for, by compute capability, and what a device itself said of it.
//
// Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (threads, warps, blocks,
// registers, shared memory); cuda_occupancy.h of CUDA 13.0 (allocation units, sub-partitions, carve-out steps, block
// barriers, virtual resources); libcu++'s cuda/__device/arch_traits.h (device property values). The documents disagree
// about the blocks per SM of 12.x (24 or 32), and a later driver may reserve another amount of shared memory: read
// them from the device and pass them to ApplyDeviceValues. Any thread.
//
//   absl::StatusOr<const SmLimits*> table = FindSmLimits({9, 0});
//   absl::StatusOr<SmLimits> limits = ApplyDeviceValues(**table, {.max_blocks_per_sm_count = 32});
#ifndef GPUEXEC_ANALYSIS_MODEL_SM_LIMITS_H_
#define GPUEXEC_ANALYSIS_MODEL_SM_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/model/compute_capability.h"

namespace gx::model {

// The same for every compute capability of the table (CUDA Programming Guide; cuda_occupancy.h).
inline constexpr int64_t kWarpThreadsCount = 32;
inline constexpr int64_t kMaxRegistersPerThreadCount = 255;

// A value that a device states and the table also has.
enum class SmLimitField : uint8_t {
  kMaxThreadsPerBlock,
  kMaxThreadsPerSm,
  kMaxBlocksPerSm,
  kRegistersPerSm,
  kMaxRegistersPerBlock,
  kSharedMemoryPerSm,
  kSharedMemoryPerBlock,
  kSharedMemoryPerBlockOptin,
  kReservedSharedMemoryPerBlock,
};
inline constexpr int kSmLimitFieldCount = 9;

// A set of such values.
class SmLimitFields {
 public:
  constexpr void Add(SmLimitField field) { bits_ = static_cast<uint16_t>(bits_ | Bit(field)); }
  [[nodiscard]] constexpr bool Has(SmLimitField field) const { return (bits_ & Bit(field)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  // "max_blocks_per_sm_count, reserved_shared_memory_per_block_bytes"; "none".
  [[nodiscard]] std::string ToString() const;

  friend constexpr bool operator==(SmLimitFields, SmLimitFields) = default;

 private:
  static constexpr uint16_t Bit(SmLimitField field) {
    return static_cast<uint16_t>(1U << static_cast<unsigned>(field));
  }

  uint16_t bits_ = 0;
};

struct SmLimits {
  ComputeCapability compute_capability;

  int64_t max_threads_per_block_count = 1024;
  int64_t max_threads_per_sm_count = 0;
  int64_t max_blocks_per_sm_count = 0;

  // 32-bit registers. Given to warps in units of `register_unit_count`, out of the warp's sub-partition.
  int64_t registers_per_sm_count = 65536;
  int64_t max_registers_per_block_count = 65536;
  int64_t register_unit_count = 256;
  int64_t sub_partitions_count = 4;

  int64_t shared_memory_per_sm_bytes = 0;
  // What a block may use without and with cudaFuncAttributeMaxDynamicSharedMemorySize. Neither includes the reserve.
  int64_t shared_memory_per_block_bytes = 49152;
  int64_t shared_memory_per_block_optin_bytes = 0;
  // Taken by the driver from each block (1 KiB from 8.0 on).
  int64_t reserved_shared_memory_per_block_bytes = 0;
  int64_t shared_memory_unit_bytes = 0;
  // Sizes that shared memory can be given out of the unified L1; ascending, at least two.
  absl::Span<const int64_t> carveout_steps_bytes;

  // Named barriers: this many for every block slot; 1 or 2.
  int64_t barriers_per_block_slot_count = 0;
  // Before 9.0 cuda_occupancy.h has the number but does not apply it, and neither does this model.
  bool barriers_limit_blocks = false;
  // 0: none, or not limited.
  int64_t virtual_resources_per_sm_count = 0;
  // Thread block clusters (9.0 on).
  bool has_clusters = false;

  // Which values came from a device and not from the table, and which of them are not what the table has.
  SmLimitFields from_device;
  SmLimitFields unlike_table;

  [[nodiscard]] constexpr int64_t max_warps_per_sm_count() const {
    return max_threads_per_sm_count / kWarpThreadsCount;
  }
  [[nodiscard]] constexpr int64_t barriers_per_sm_count() const {
    return barriers_per_block_slot_count * max_blocks_per_sm_count;
  }
};

// 7.0, 7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, 11.0, 12.0, 12.1; ascending.
[[nodiscard]] absl::Span<const SmLimits> KnownSmLimits();

// The table's row, which lives as long as the program. NotFound names those that are known.
[[nodiscard]] absl::StatusOr<const SmLimits*> FindSmLimits(ComputeCapability compute_capability);

// Whether every value is there and possible by itself: a row of another making than FindSmLimits and ApplyDeviceValues
// may have a 0 that would be divided by. Every function here that takes a row and returns a Status asks this first.
[[nodiscard]] absl::Status CheckSmLimits(const SmLimits& limits);

// What the device said (cudaGetDeviceProperties, cuDeviceGetAttribute). Absent: unknown, the table's value holds.
struct DeviceSmValues {
  std::optional<int64_t> warp_threads_count = std::nullopt;
  std::optional<int64_t> max_threads_per_block_count = std::nullopt;
  std::optional<int64_t> max_threads_per_sm_count = std::nullopt;
  std::optional<int64_t> max_blocks_per_sm_count = std::nullopt;
  std::optional<int64_t> registers_per_sm_count = std::nullopt;
  std::optional<int64_t> max_registers_per_block_count = std::nullopt;
  std::optional<int64_t> shared_memory_per_sm_bytes = std::nullopt;
  std::optional<int64_t> shared_memory_per_block_bytes = std::nullopt;
  std::optional<int64_t> shared_memory_per_block_optin_bytes = std::nullopt;
  std::optional<int64_t> reserved_shared_memory_per_block_bytes = std::nullopt;
};

// The table's row with the device's values in place of its own; what the device does not state is lowered where it
// would not fit into what it does. Refused: values that contradict each other or what the architecture can do (a warp
// of other than 32 threads, more shared memory than the largest carve-out, a block that needs more than an SM has).
[[nodiscard]] absl::StatusOr<SmLimits> ApplyDeviceValues(const SmLimits& table, const DeviceSmValues& device);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_SM_LIMITS_H_
