#include "analysis/model/sm_limits.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/model/check.h"

namespace gx::model {
namespace {

constexpr int64_t kKib = 1024;

// cuda_occupancy.h, cudaOccAlignUpShmemSizeVoltaPlus.
constexpr std::array<int64_t, 6> kSteps96 = {0, 8 * kKib, 16 * kKib, 32 * kKib, 64 * kKib, 96 * kKib};
constexpr std::array<int64_t, 2> kSteps64 = {32 * kKib, 64 * kKib};
constexpr std::array<int64_t, 6> kSteps100 = {0, 8 * kKib, 16 * kKib, 32 * kKib, 64 * kKib, 100 * kKib};
constexpr std::array<int64_t, 8> kSteps164 = {0,         8 * kKib,   16 * kKib,  32 * kKib,
                                              64 * kKib, 100 * kKib, 132 * kKib, 164 * kKib};
constexpr std::array<int64_t, 10> kSteps228 = {0,          8 * kKib,   16 * kKib,  32 * kKib,  64 * kKib,
                                               100 * kKib, 132 * kKib, 164 * kKib, 196 * kKib, 228 * kKib};

struct Row {
  ComputeCapability compute_capability;
  int64_t max_threads_per_sm_count;  // CUDA Programming Guide
  int64_t max_blocks_per_sm_count;   // cuda_occupancy.h, cudaOccMaxBlocksPerMultiprocessor
  absl::Span<const int64_t> carveout_steps_bytes;
  int64_t reserved_shared_memory_per_block_bytes;  // arch_traits.h; Ampere Tuning Guide: 1 KiB from 8.0 on
  int64_t shared_memory_unit_bytes;                // cuda_occupancy.h, cudaOccSMemAllocationGranularity
  int64_t barriers_per_block_slot_count;           // cuda_occupancy.h, cudaOccMaxBlocksPerSMBlockBarrierLimit
  int64_t virtual_resources_per_sm_count;          // cuda_occupancy.h, cudaOccMaxVirtualResourceCountPerSM
};

SmLimits LimitsOf(const Row& row) {
  SmLimits limits;
  limits.compute_capability = row.compute_capability;
  limits.max_threads_per_sm_count = row.max_threads_per_sm_count;
  limits.max_blocks_per_sm_count = row.max_blocks_per_sm_count;
  limits.carveout_steps_bytes = row.carveout_steps_bytes;
  // The largest carve-out is all the shared memory there is, and one block may have all of it but the reserve.
  limits.shared_memory_per_sm_bytes = row.carveout_steps_bytes.back();
  limits.shared_memory_per_block_optin_bytes =
      limits.shared_memory_per_sm_bytes - row.reserved_shared_memory_per_block_bytes;
  limits.reserved_shared_memory_per_block_bytes = row.reserved_shared_memory_per_block_bytes;
  limits.shared_memory_unit_bytes = row.shared_memory_unit_bytes;
  limits.barriers_per_block_slot_count = row.barriers_per_block_slot_count;
  limits.barriers_limit_blocks = row.compute_capability >= ComputeCapability{9, 0};
  limits.virtual_resources_per_sm_count = row.virtual_resources_per_sm_count;
  limits.has_clusters = row.compute_capability >= ComputeCapability{9, 0};
  return limits;
}

constexpr size_t kKnownCount = 12;

const std::array<SmLimits, kKnownCount>& Table() {
  static const std::array<SmLimits, kKnownCount> table = [] {
    const Row rows[kKnownCount] = {
        {{7, 0}, 2048, 32, kSteps96, 0, 256, 2, 0},        {{7, 5}, 1024, 16, kSteps64, 0, 256, 2, 0},
        {{8, 0}, 2048, 32, kSteps164, 1024, 128, 2, 0},    {{8, 6}, 1536, 16, kSteps100, 1024, 128, 1, 0},
        {{8, 7}, 1536, 16, kSteps164, 1024, 128, 1, 0},    {{8, 9}, 1536, 24, kSteps100, 1024, 128, 1, 0},
        {{9, 0}, 2048, 32, kSteps228, 1024, 128, 2, 0},    {{10, 0}, 2048, 32, kSteps228, 1024, 128, 2, 128},
        {{10, 3}, 2048, 32, kSteps228, 1024, 128, 2, 128}, {{11, 0}, 1536, 24, kSteps228, 1024, 128, 1, 128},
        {{12, 0}, 1536, 24, kSteps100, 1024, 128, 1, 128}, {{12, 1}, 1536, 24, kSteps100, 1024, 128, 1, 128},
    };
    std::array<SmLimits, kKnownCount> limits;
    for (size_t i = 0; i < kKnownCount; ++i) limits[i] = LimitsOf(rows[i]);
    return limits;
  }();
  return table;
}

// One value that a device may state: where it goes in the table's row, and what the architecture can do.
struct Override {
  SmLimitField field;
  std::optional<int64_t> DeviceSmValues::*from;
  int64_t SmLimits::*to;
  absl::string_view name;
  int64_t min;
};

constexpr std::array<Override, kSmLimitFieldCount> kOverrides = {{
    {SmLimitField::kMaxThreadsPerBlock, &DeviceSmValues::max_threads_per_block_count,
     &SmLimits::max_threads_per_block_count, "max_threads_per_block_count", kWarpThreadsCount},
    {SmLimitField::kMaxThreadsPerSm, &DeviceSmValues::max_threads_per_sm_count, &SmLimits::max_threads_per_sm_count,
     "max_threads_per_sm_count", kWarpThreadsCount},
    {SmLimitField::kMaxBlocksPerSm, &DeviceSmValues::max_blocks_per_sm_count, &SmLimits::max_blocks_per_sm_count,
     "max_blocks_per_sm_count", 1},
    {SmLimitField::kRegistersPerSm, &DeviceSmValues::registers_per_sm_count, &SmLimits::registers_per_sm_count,
     "registers_per_sm_count", 1},
    {SmLimitField::kMaxRegistersPerBlock, &DeviceSmValues::max_registers_per_block_count,
     &SmLimits::max_registers_per_block_count, "max_registers_per_block_count", 1},
    {SmLimitField::kSharedMemoryPerSm, &DeviceSmValues::shared_memory_per_sm_bytes,
     &SmLimits::shared_memory_per_sm_bytes, "shared_memory_per_sm_bytes", 1},
    {SmLimitField::kSharedMemoryPerBlock, &DeviceSmValues::shared_memory_per_block_bytes,
     &SmLimits::shared_memory_per_block_bytes, "shared_memory_per_block_bytes", 1},
    {SmLimitField::kSharedMemoryPerBlockOptin, &DeviceSmValues::shared_memory_per_block_optin_bytes,
     &SmLimits::shared_memory_per_block_optin_bytes, "shared_memory_per_block_optin_bytes", 1},
    {SmLimitField::kReservedSharedMemoryPerBlock, &DeviceSmValues::reserved_shared_memory_per_block_bytes,
     &SmLimits::reserved_shared_memory_per_block_bytes, "reserved_shared_memory_per_block_bytes", 0},
}};

// No architecture comes near it; keeps every product below far from 63 bits.
constexpr int64_t kMaxPlausibleValue = int64_t{1} << 30;

// What no device states.
struct FixedField {
  int64_t SmLimits::*value;
  absl::string_view name;
  int64_t min;
};

constexpr std::array<FixedField, 5> kFixedFields = {{
    {&SmLimits::register_unit_count, "register_unit_count", 1},
    {&SmLimits::sub_partitions_count, "sub_partitions_count", 1},
    {&SmLimits::shared_memory_unit_bytes, "shared_memory_unit_bytes", 1},
    {&SmLimits::barriers_per_block_slot_count, "barriers_per_block_slot_count", 0},
    {&SmLimits::virtual_resources_per_sm_count, "virtual_resources_per_sm_count", 0},
}};

// Values that are each possible may still contradict each other.
absl::Status CheckConsistent(const SmLimits& limits) {
  if (absl::Status status = CheckRange("max_threads_per_block_count", limits.max_threads_per_block_count,
                                       kWarpThreadsCount, limits.max_threads_per_sm_count, "threads of an SM");
      !status.ok()) {
    return status;
  }
  if (limits.max_threads_per_sm_count % kWarpThreadsCount != 0) {
    return absl::InvalidArgumentError(absl::StrCat("max_threads_per_sm_count: got ", limits.max_threads_per_sm_count,
                                                   ", expected a multiple of ", kWarpThreadsCount));
  }
  if (limits.registers_per_sm_count % (limits.register_unit_count * limits.sub_partitions_count) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("registers_per_sm_count: got ", limits.registers_per_sm_count, ", expected a multiple of ",
                     limits.register_unit_count * limits.sub_partitions_count, " (", limits.sub_partitions_count,
                     " sub-partitions, units of ", limits.register_unit_count, ")"));
  }
  if (absl::Status status = CheckRange("max_registers_per_block_count", limits.max_registers_per_block_count, 1,
                                       limits.registers_per_sm_count, "registers of an SM");
      !status.ok()) {
    return status;
  }
  // At least 1 already; the text is only made where it is needed.
  if (limits.shared_memory_per_sm_bytes > limits.carveout_steps_bytes.back()) {
    return CheckRange("shared_memory_per_sm_bytes", limits.shared_memory_per_sm_bytes, 1,
                      limits.carveout_steps_bytes.back(),
                      absl::StrCat("compute capability ", limits.compute_capability.ToString()));
  }
  const int64_t reserved = limits.reserved_shared_memory_per_block_bytes;
  if (absl::Status status = CheckRange("reserved_shared_memory_per_block_bytes", reserved, 0,
                                       limits.shared_memory_per_sm_bytes - 1, "shared memory of an SM");
      !status.ok()) {
    return status;
  }
  if (absl::Status status =
          CheckRange("shared_memory_per_block_optin_bytes", limits.shared_memory_per_block_optin_bytes, 1,
                     limits.shared_memory_per_sm_bytes - reserved, "shared memory of an SM less the reserve");
      !status.ok()) {
    return status;
  }
  return CheckRange("shared_memory_per_block_bytes", limits.shared_memory_per_block_bytes, 1,
                    limits.shared_memory_per_block_optin_bytes, "with opt-in");
}

}  // namespace

std::string SmLimitFields::ToString() const {
  if (empty()) return "none";
  std::string text;
  for (const Override& entry : kOverrides) {
    if (Has(entry.field)) absl::StrAppend(&text, text.empty() ? "" : ", ", entry.name);
  }
  return text;
}

absl::Span<const SmLimits> KnownSmLimits() { return Table(); }

absl::StatusOr<const SmLimits*> FindSmLimits(ComputeCapability compute_capability) {
  for (const SmLimits& limits : Table()) {
    if (limits.compute_capability == compute_capability) return &limits;
  }
  std::string known;
  for (const SmLimits& limits : Table()) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", limits.compute_capability.ToString());
  }
  return absl::NotFoundError(
      absl::StrCat("compute_capability: got ", compute_capability.ToString(), ", expected one of ", known));
}

absl::Status CheckSmLimits(const SmLimits& limits) {
  constexpr absl::string_view kWhy = "limits of FindSmLimits or ApplyDeviceValues";
  absl::Status status;
  for (const Override& entry : kOverrides) {
    if (status.ok()) status = CheckRange(entry.name, limits.*entry.to, entry.min, kMaxPlausibleValue, kWhy);
  }
  for (const FixedField& field : kFixedFields) {
    if (status.ok()) status = CheckRange(field.name, limits.*field.value, field.min, kMaxPlausibleValue, kWhy);
  }
  if (status.ok() && limits.carveout_steps_bytes.empty()) {
    status = absl::InvalidArgumentError(absl::StrCat("carveout_steps_bytes: got none, expected ", kWhy));
  }
  return status;
}

absl::StatusOr<SmLimits> ApplyDeviceValues(const SmLimits& table, const DeviceSmValues& device) {
  if (absl::Status status = CheckSmLimits(table); !status.ok()) return status;
  if (device.warp_threads_count.has_value()) {
    if (absl::Status status =
            CheckRange("warp_threads_count", *device.warp_threads_count, kWarpThreadsCount, kWarpThreadsCount);
        !status.ok()) {
      return status;
    }
  }
  SmLimits limits = table;
  for (const Override& entry : kOverrides) {
    const std::optional<int64_t>& value = device.*entry.from;
    if (!value.has_value()) continue;
    if (absl::Status status = CheckRange(entry.name, *value, entry.min, kMaxPlausibleValue); !status.ok()) {
      return status;
    }
    limits.*entry.to = *value;
    limits.from_device.Add(entry.field);
    if (*value != table.*entry.to) limits.unlike_table.Add(entry.field);
  }
  // What the device left out cannot be more than what it said leaves room for.
  const auto cap = [&limits](SmLimitField field, int64_t SmLimits::*value, int64_t max) {
    if (!limits.from_device.Has(field) && limits.*value > max) limits.*value = max;
  };
  cap(SmLimitField::kMaxThreadsPerBlock, &SmLimits::max_threads_per_block_count, limits.max_threads_per_sm_count);
  cap(SmLimitField::kMaxRegistersPerBlock, &SmLimits::max_registers_per_block_count, limits.registers_per_sm_count);
  cap(SmLimitField::kSharedMemoryPerBlockOptin, &SmLimits::shared_memory_per_block_optin_bytes,
      limits.shared_memory_per_sm_bytes - limits.reserved_shared_memory_per_block_bytes);
  cap(SmLimitField::kSharedMemoryPerBlock, &SmLimits::shared_memory_per_block_bytes,
      limits.shared_memory_per_block_optin_bytes);
  if (absl::Status status = CheckConsistent(limits); !status.ok()) return status;
  return limits;
}

}  // namespace gx::model
