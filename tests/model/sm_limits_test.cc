#include "analysis/model/sm_limits.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gx::model {
namespace {

constexpr int64_t kKib = 1024;

SmLimits Table(int major, int minor) { return **FindSmLimits({major, minor}); }

struct Row {
  ComputeCapability compute_capability;
  int64_t threads;
  int64_t warps;
  int64_t blocks;
  int64_t shared_kib;
  int64_t optin_kib;
  int64_t reserved_bytes;
  int64_t unit_bytes;
  std::vector<int64_t> steps_kib;
  int64_t barriers;
  int64_t virtual_resources;
  bool clusters;
};

// Threads, warps, blocks, shared memory: CUDA Programming Guide, "Technical Specifications per Compute Capability", and
// libcu++'s arch_traits.h. Units, steps, barriers, virtual resources: cuda_occupancy.h of CUDA 13.0.
TEST(SmLimits, TheTableIsWhatTheDocumentsSay) {
  const std::vector<int64_t> k96 = {0, 8, 16, 32, 64, 96};
  const std::vector<int64_t> k64 = {32, 64};
  const std::vector<int64_t> k100 = {0, 8, 16, 32, 64, 100};
  const std::vector<int64_t> k164 = {0, 8, 16, 32, 64, 100, 132, 164};
  const std::vector<int64_t> k228 = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
  const std::vector<Row> rows = {
      {{7, 0}, 2048, 64, 32, 96, 96, 0, 256, k96, 64, 0, false},
      {{7, 5}, 1024, 32, 16, 64, 64, 0, 256, k64, 32, 0, false},
      {{8, 0}, 2048, 64, 32, 164, 163, 1024, 128, k164, 64, 0, false},
      {{8, 6}, 1536, 48, 16, 100, 99, 1024, 128, k100, 16, 0, false},
      {{8, 7}, 1536, 48, 16, 164, 163, 1024, 128, k164, 16, 0, false},
      {{8, 9}, 1536, 48, 24, 100, 99, 1024, 128, k100, 24, 0, false},
      {{9, 0}, 2048, 64, 32, 228, 227, 1024, 128, k228, 64, 0, true},
      {{10, 0}, 2048, 64, 32, 228, 227, 1024, 128, k228, 64, 128, true},
      {{10, 3}, 2048, 64, 32, 228, 227, 1024, 128, k228, 64, 128, true},
      {{11, 0}, 1536, 48, 24, 228, 227, 1024, 128, k228, 24, 128, true},
      {{12, 0}, 1536, 48, 24, 100, 99, 1024, 128, k100, 24, 128, true},
      {{12, 1}, 1536, 48, 24, 100, 99, 1024, 128, k100, 24, 128, true},
  };
  ASSERT_EQ(KnownSmLimits().size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    SCOPED_TRACE(row.compute_capability.ToString());
    EXPECT_EQ(KnownSmLimits()[i].compute_capability, row.compute_capability);
    const auto found = FindSmLimits(row.compute_capability);
    ASSERT_TRUE(found.ok());
    const SmLimits& limits = **found;
    EXPECT_EQ(limits.max_threads_per_sm_count, row.threads);
    EXPECT_EQ(limits.max_warps_per_sm_count(), row.warps);
    EXPECT_EQ(limits.max_blocks_per_sm_count, row.blocks);
    EXPECT_EQ(limits.shared_memory_per_sm_bytes, row.shared_kib * kKib);
    EXPECT_EQ(limits.shared_memory_per_block_optin_bytes, row.optin_kib * kKib);
    EXPECT_EQ(limits.reserved_shared_memory_per_block_bytes, row.reserved_bytes);
    EXPECT_EQ(limits.shared_memory_unit_bytes, row.unit_bytes);
    EXPECT_EQ(limits.barriers_per_sm_count(), row.barriers);
    EXPECT_EQ(limits.barriers_limit_blocks, row.compute_capability.major >= 9);
    EXPECT_EQ(limits.virtual_resources_per_sm_count, row.virtual_resources);
    EXPECT_EQ(limits.has_clusters, row.clusters);
    std::vector<int64_t> steps_bytes;
    for (const int64_t step_kib : row.steps_kib) steps_bytes.push_back(step_kib * kKib);
    EXPECT_EQ(std::vector<int64_t>(limits.carveout_steps_bytes.begin(), limits.carveout_steps_bytes.end()),
              steps_bytes);
    // The same everywhere.
    EXPECT_EQ(limits.max_threads_per_block_count, 1024);
    EXPECT_EQ(limits.registers_per_sm_count, 65536);
    EXPECT_EQ(limits.max_registers_per_block_count, 65536);
    EXPECT_EQ(limits.register_unit_count, 256);
    EXPECT_EQ(limits.sub_partitions_count, 4);
    EXPECT_EQ(limits.shared_memory_per_block_bytes, 49152);
    EXPECT_TRUE(limits.from_device.empty());
  }
}

TEST(SmLimits, AnUnknownComputeCapabilityIsRefusedWithTheKnownOnes) {
  const std::string known = "expected one of 7.0, 7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, 11.0, 12.0, 12.1";
  // Pascal is outside the range; 8.5 lies inside, but no GPU has it and cuda_occupancy.h would guess.
  for (const ComputeCapability unknown :
       {ComputeCapability{6, 1}, {7, 2}, {8, 5}, {10, 1}, {12, 2}, {13, 0}, {0, 0}, {-9, 0}}) {
    const absl::Status status = FindSmLimits(unknown).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(status.message(), "compute_capability: got " + unknown.ToString() + ", " + known);
  }
}

// Every one of them would be a division by 0, an element of nothing or an overflow further on.
TEST(CheckSmLimits, ARowThatIsNotWholeIsRefusedByWhatItLacks) {
  struct Case {
    int64_t SmLimits::*value;
    int64_t got;
    std::string message;
  };
  const std::vector<Case> cases = {
      {&SmLimits::max_threads_per_block_count, 31, "max_threads_per_block_count: got 31, expected 32"},
      {&SmLimits::max_threads_per_sm_count, 31, "max_threads_per_sm_count: got 31, expected 32"},
      {&SmLimits::max_blocks_per_sm_count, 0, "max_blocks_per_sm_count: got 0, expected 1"},
      {&SmLimits::registers_per_sm_count, 0, "registers_per_sm_count: got 0, expected 1"},
      {&SmLimits::max_registers_per_block_count, -1, "max_registers_per_block_count: got -1, expected 1"},
      {&SmLimits::shared_memory_per_sm_bytes, 0, "shared_memory_per_sm_bytes: got 0, expected 1"},
      {&SmLimits::shared_memory_per_block_bytes, 0, "shared_memory_per_block_bytes: got 0, expected 1"},
      {&SmLimits::shared_memory_per_block_optin_bytes, 0, "shared_memory_per_block_optin_bytes: got 0, expected 1"},
      {&SmLimits::reserved_shared_memory_per_block_bytes, -1,
       "reserved_shared_memory_per_block_bytes: got -1, expected 0"},
      {&SmLimits::register_unit_count, 0, "register_unit_count: got 0, expected 1"},
      {&SmLimits::sub_partitions_count, 0, "sub_partitions_count: got 0, expected 1"},
      {&SmLimits::shared_memory_unit_bytes, 0, "shared_memory_unit_bytes: got 0, expected 1"},
      {&SmLimits::barriers_per_block_slot_count, -1, "barriers_per_block_slot_count: got -1, expected 0"},
      {&SmLimits::virtual_resources_per_sm_count, -1, "virtual_resources_per_sm_count: got -1, expected 0"},
      {&SmLimits::register_unit_count, INT64_MAX, "register_unit_count: got 9223372036854775807, expected 1"},
      {&SmLimits::sub_partitions_count, INT64_MAX, "sub_partitions_count: got 9223372036854775807, expected 1"},
  };
  for (const Case& test : cases) {
    SmLimits limits = Table(9, 0);
    limits.*test.value = test.got;
    const std::string message = test.message + " to 1073741824 (limits of FindSmLimits or ApplyDeviceValues)";
    EXPECT_EQ(CheckSmLimits(limits).message(), message);
    EXPECT_EQ(ApplyDeviceValues(limits, {}).status().message(), message);
  }
  SmLimits limits = Table(9, 0);
  limits.carveout_steps_bytes = {};
  EXPECT_EQ(CheckSmLimits(limits).message(),
            "carveout_steps_bytes: got none, expected limits of FindSmLimits or ApplyDeviceValues");
  for (const SmLimits& known : KnownSmLimits()) EXPECT_TRUE(CheckSmLimits(known).ok());
}

TEST(ApplyDeviceValues, ARowThatIsNotWholeIsRefusedWhateverTheDeviceSays) {
  EXPECT_EQ(ApplyDeviceValues(SmLimits{}, {.max_threads_per_sm_count = 2048, .shared_memory_per_sm_bytes = 233472})
                .status()
                .message(),
            "max_threads_per_sm_count: got 0, expected 32 to 1073741824 (limits of FindSmLimits or ApplyDeviceValues)");
}

TEST(ApplyDeviceValues, TheDeviceOverridesTheTableAndTheResultSaysSo) {
  const auto limits =
      ApplyDeviceValues(Table(12, 0), {.max_threads_per_sm_count = 1536, .max_blocks_per_sm_count = 32});
  ASSERT_TRUE(limits.ok()) << limits.status();
  EXPECT_EQ(limits->max_blocks_per_sm_count, 32);
  EXPECT_EQ(limits->from_device.ToString(), "max_threads_per_sm_count, max_blocks_per_sm_count");
  EXPECT_EQ(limits->unlike_table.ToString(), "max_blocks_per_sm_count");
  // Barriers belong to block slots: the table's 24 must not hold back the device's 32 blocks.
  EXPECT_EQ(limits->barriers_per_sm_count(), 32);
}

TEST(ApplyDeviceValues, EveryValueReachesItsPlace) {
  const auto limits = ApplyDeviceValues(Table(9, 0), {.warp_threads_count = 32,
                                                      .max_threads_per_block_count = 512,
                                                      .max_threads_per_sm_count = 1024,
                                                      .max_blocks_per_sm_count = 16,
                                                      .registers_per_sm_count = 32768,
                                                      .max_registers_per_block_count = 16384,
                                                      .shared_memory_per_sm_bytes = 102400,
                                                      .shared_memory_per_block_bytes = 32768,
                                                      .shared_memory_per_block_optin_bytes = 65536,
                                                      .reserved_shared_memory_per_block_bytes = 2048});
  ASSERT_TRUE(limits.ok()) << limits.status();
  EXPECT_EQ(limits->max_threads_per_block_count, 512);
  EXPECT_EQ(limits->max_threads_per_sm_count, 1024);
  EXPECT_EQ(limits->max_blocks_per_sm_count, 16);
  EXPECT_EQ(limits->registers_per_sm_count, 32768);
  EXPECT_EQ(limits->max_registers_per_block_count, 16384);
  EXPECT_EQ(limits->shared_memory_per_sm_bytes, 102400);
  EXPECT_EQ(limits->shared_memory_per_block_bytes, 32768);
  EXPECT_EQ(limits->shared_memory_per_block_optin_bytes, 65536);
  EXPECT_EQ(limits->reserved_shared_memory_per_block_bytes, 2048);
  EXPECT_EQ(limits->from_device, limits->unlike_table);
  EXPECT_EQ(limits->from_device.ToString(),
            "max_threads_per_block_count, max_threads_per_sm_count, max_blocks_per_sm_count, registers_per_sm_count, "
            "max_registers_per_block_count, shared_memory_per_sm_bytes, shared_memory_per_block_bytes, "
            "shared_memory_per_block_optin_bytes, reserved_shared_memory_per_block_bytes");
}

// What cudaGetDeviceProperties and cuDeviceGetAttribute said on an H200.
TEST(ApplyDeviceValues, AnH200SaysWhatTheTableSays) {
  const auto limits = ApplyDeviceValues(Table(9, 0), {.max_blocks_per_sm_count = 32,
                                                      .shared_memory_per_sm_bytes = 233472,
                                                      .reserved_shared_memory_per_block_bytes = 1024});
  ASSERT_TRUE(limits.ok()) << limits.status();
  EXPECT_TRUE(limits->unlike_table.empty());
  EXPECT_EQ(limits->unlike_table.ToString(), "none");
  EXPECT_FALSE(limits->from_device.empty());
}

TEST(ApplyDeviceValues, WhatTheDeviceLeavesOutIsLoweredToFit) {
  const auto limits = ApplyDeviceValues(
      Table(9, 0),
      {.max_threads_per_sm_count = 512, .registers_per_sm_count = 32768, .shared_memory_per_sm_bytes = 32768});
  ASSERT_TRUE(limits.ok()) << limits.status();
  EXPECT_EQ(limits->max_threads_per_block_count, 512);
  EXPECT_EQ(limits->max_registers_per_block_count, 32768);
  EXPECT_EQ(limits->shared_memory_per_block_optin_bytes, 31744);
  EXPECT_EQ(limits->shared_memory_per_block_bytes, 31744);
}

TEST(ApplyDeviceValues, ContradictionsAreRefusedByName) {
  struct Case {
    DeviceSmValues device;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{.warp_threads_count = 64}, "warp_threads_count: got 64, expected 32"},
      {{.max_threads_per_sm_count = 0}, "max_threads_per_sm_count: got 0, expected 32 to 1073741824"},
      {{.max_threads_per_sm_count = 1500}, "max_threads_per_sm_count: got 1500, expected a multiple of 32"},
      {{.max_blocks_per_sm_count = -1}, "max_blocks_per_sm_count: got -1, expected 1 to 1073741824"},
      {{.max_threads_per_block_count = 4096},
       "max_threads_per_block_count: got 4096, expected 32 to 2048 (threads of an SM)"},
      {{.registers_per_sm_count = 65088},
       "registers_per_sm_count: got 65088, expected a multiple of 1024 (4 sub-partitions, units of 256)"},
      {{.max_registers_per_block_count = 131072},
       "max_registers_per_block_count: got 131072, expected 1 to 65536 (registers of an SM)"},
      {{.shared_memory_per_sm_bytes = 262144},
       "shared_memory_per_sm_bytes: got 262144, expected 1 to 233472 (compute capability 9.0)"},
      {{.reserved_shared_memory_per_block_bytes = 233472},
       "reserved_shared_memory_per_block_bytes: got 233472, expected 0 to 233471 (shared memory of an SM)"},
      {{.shared_memory_per_block_optin_bytes = 233472},
       "shared_memory_per_block_optin_bytes: got 233472, expected 1 to 232448 (shared memory of an SM less the "
       "reserve)"},
      {{.shared_memory_per_block_bytes = 232449},
       "shared_memory_per_block_bytes: got 232449, expected 1 to 232448 (with opt-in)"},
      {{.shared_memory_per_block_bytes = INT64_MAX},
       "shared_memory_per_block_bytes: got 9223372036854775807, expected 1 to 1073741824"},
  };
  for (const Case& test : cases)
    EXPECT_EQ(ApplyDeviceValues(Table(9, 0), test.device).status().message(), test.message);
}

}  // namespace
}  // namespace gx::model
