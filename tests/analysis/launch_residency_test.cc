#include "analysis/launch_residency.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;
using ::gx::testing::FromText;

// An H200's, as its driver states them.
constexpr char kH200[] =
    "compute_capability_major: 9 compute_capability_minor: 0 multiprocessor_count: 132 warp_size_threads: 32 "
    "max_threads_per_block: 1024 max_threads_per_multiprocessor: 2048 max_blocks_per_multiprocessor: 32 "
    "max_registers_per_block: 65536 max_registers_per_multiprocessor: 65536 max_shared_memory_per_block_bytes: 49152 "
    "max_shared_memory_per_block_optin_bytes: 232448 max_shared_memory_per_multiprocessor_bytes: 233472 "
    "reserved_shared_memory_per_block_bytes: 1024";

class LaunchResidencyTest : public ::testing::Test {
 protected:
  LaunchResidencyTest() {
    device_ = FromText<pb::DeviceAttributes>(kH200);
    launch_.grid = Dim{1024, 1, 1};
    launch_.block = Dim{256, 1, 1};
    launch_.registers_per_thread = 44;
    launch_.static_shared_memory_bytes = 0;
    launch_.dynamic_shared_memory_bytes = 0;
  }
  LaunchResidency Residency() {
    return ResidencyOf(
        {.launch = &launch_, .signature = &signature_, .function = &function_, .record = record_, .device = &device_});
  }

  LaunchConfiguration launch_;
  pb::Signature signature_;
  pb::FunctionAttributes function_ = FromText<pb::FunctionAttributes>("preferred_shared_memory_carveout: -1");
  pb::KernelAttributes record_value_;
  const pb::KernelAttributes* record_ = nullptr;
  pb::DeviceAttributes device_;
};

// Measured: cuOccupancyMaxActiveBlocksPerMultiprocessor says 5 of PyTorch's distribution kernel on an H200.
TEST_F(LaunchResidencyTest, AKernelOf44RegistersFillsFiveBlocksAndOneAndAHalfWaves) {
  const LaunchResidency residency = Residency();
  EXPECT_EQ(residency.unavailable, "");
  EXPECT_EQ(residency.blocks_per_sm, 5u);
  EXPECT_EQ(residency.limiters, "registers");
  EXPECT_EQ(residency.next_limiters, "warps");
  EXPECT_EQ(residency.next_blocks_per_sm, 8u);
  EXPECT_DOUBLE_EQ(residency.occupancy_ratio.value(), 0.625);
  EXPECT_EQ(residency.slot_count, 660u);
  EXPECT_DOUBLE_EQ(residency.waves.value(), 1024.0 / 660.0);
  EXPECT_DOUBLE_EQ(residency.tail_fill_ratio.value(), 364.0 / 660.0);
}

TEST_F(LaunchResidencyTest, AGridThatFitsAtOnceHasNoTail) {
  launch_.grid = Dim{64, 1, 1};
  EXPECT_DOUBLE_EQ(Residency().waves.value(), 64.0 / 660.0);
  EXPECT_EQ(Residency().tail_fill_ratio, std::nullopt);
}

TEST_F(LaunchResidencyTest, TheCarveoutThatTheRecordShowsWinsOverWhatWasAskedFor) {
  launch_.dynamic_shared_memory_bytes = 32768;
  EXPECT_EQ(Residency().blocks_per_sm, 5u);
  record_ = &record_value_;
  record_value_.set_shared_memory_executed_bytes(102400);
  EXPECT_EQ(Residency().blocks_per_sm, 3u);
  EXPECT_EQ(Residency().limiters, "shared_memory");
  // What the driver is asked knows nothing of it.
  EXPECT_EQ(Residency().requested_blocks_per_sm, 5u);
}

TEST_F(LaunchResidencyTest, TheLaunchsOwnCarveoutWinsOverTheFunctions) {
  launch_.dynamic_shared_memory_bytes = 32768;
  function_.set_preferred_shared_memory_carveout(100);
  signature_.set_preferred_shared_memory_carveout(0);
  EXPECT_EQ(Residency().blocks_per_sm, 1u);
  EXPECT_EQ(Residency().requested_blocks_per_sm, 5u);
}

TEST_F(LaunchResidencyTest, ClustersFillTheSlotsThatTheDriverSaysTheyCan) {
  launch_.block = Dim{384, 1, 1};
  launch_.registers_per_thread = 168;
  launch_.dynamic_shared_memory_bytes = 164308;
  launch_.grid = Dim{4, 16, 1};
  launch_.cluster = Dim{4, 1, 1};
  EXPECT_EQ(Residency().slot_count, 132u);
  EXPECT_TRUE(Residency().slots_are_upper_bound);
  record_ = &record_value_;
  record_value_.set_max_active_clusters(30);
  EXPECT_EQ(Residency().slot_count, 120u);
  EXPECT_FALSE(Residency().slots_are_upper_bound);
}

TEST_F(LaunchResidencyTest, DeviceValuesWinOverTheTables) {
  device_.set_max_blocks_per_multiprocessor(4);
  EXPECT_EQ(Residency().blocks_per_sm, 4u);
  EXPECT_EQ(Residency().limiters, "blocks");
}

TEST_F(LaunchResidencyTest, WhatIsMissingIsNamed) {
  launch_.registers_per_thread.reset();
  EXPECT_EQ(Residency().unavailable, "the kernel's registers are not known");
  EXPECT_EQ(Residency().blocks_per_sm, std::nullopt);
  launch_.registers_per_thread = 44;
  device_.clear_compute_capability_major();
  EXPECT_EQ(Residency().unavailable, "the device's compute capability is not known");
  device_.set_compute_capability_major(6);
  EXPECT_NE(Residency().unavailable.find("6.0"), std::string::npos) << Residency().unavailable;
}

TEST_F(LaunchResidencyTest, NumbersThatNoLaunchHasAreRefusedNotComputed) {
  launch_.block = Dim{UINT64_MAX, UINT64_MAX, 2};
  EXPECT_NE(Residency().unavailable, "");
  EXPECT_EQ(Residency().waves, std::nullopt);
  launch_.block = Dim{256, 1, 1};
  device_.set_max_threads_per_multiprocessor(0);
  EXPECT_NE(Residency().unavailable, "");
}

TEST_F(LaunchResidencyTest, ALaunchThatTheModelRefusesSaysWhy) {
  launch_.block = Dim{1024, 1, 1};
  launch_.registers_per_thread = 72;
  EXPECT_EQ(Residency().unavailable.rfind("the model holds no block of it: registers", 0), 0u)
      << Residency().unavailable;
}

// A driver that launched it all the same is a disagreement.
TEST_F(LaunchResidencyTest, ARefusedLaunchIsStillComparedWithTheDriver) {
  launch_.block = Dim{1024, 1, 1};
  launch_.registers_per_thread = 72;
  launch_.driver_occupancy_blocks_per_sm = 1;
  launch_.residency = Residency();
  EXPECT_EQ(DriverDisagreement(launch_), "the driver holds 1 blocks an SM, the model 0");
}

TEST_F(LaunchResidencyTest, ACarveoutInUseThatCannotBeIsNamedAndTheRestIsModelled) {
  launch_.static_shared_memory_bytes = 16384;
  record_ = &record_value_;
  record_value_.set_shared_memory_executed_bytes(8192);
  EXPECT_EQ(Residency().blocks_per_sm, 5u);
  EXPECT_EQ(Residency().unavailable.rfind("the carve-out of the record: ", 0), 0u) << Residency().unavailable;
}

TEST_F(LaunchResidencyTest, AFunctionsCarveoutThatCannotBeDoesNotHideTheLaunchs) {
  launch_.dynamic_shared_memory_bytes = 32768;
  function_.set_preferred_shared_memory_carveout(150);
  signature_.set_preferred_shared_memory_carveout(50);
  EXPECT_EQ(Residency().blocks_per_sm, 4u);
  EXPECT_EQ(Residency().requested_blocks_per_sm, std::nullopt);
}

TEST_F(LaunchResidencyTest, WithoutTheFunctionsAttributesTheRecordSaysWhatWasPreferred) {
  launch_.static_shared_memory_bytes = 16384;
  record_ = &record_value_;
  const auto without_function = [this] {
    return ResidencyOf(
        {.launch = &launch_, .signature = &signature_, .function = nullptr, .record = record_, .device = &device_});
  };
  EXPECT_EQ(without_function().blocks_per_sm, 5u);
  record_value_.set_shared_memory_carveout_requested(0);
  EXPECT_EQ(without_function().blocks_per_sm, 1u);
}

TEST_F(LaunchResidencyTest, ACachePreferenceCountsWhereNoCarveoutIsPreferred) {
  launch_.static_shared_memory_bytes = 16384;
  record_ = &record_value_;
  record_value_.set_cache_config_requested(2);
  EXPECT_EQ(Residency().blocks_per_sm, 1u);
  function_.set_preferred_shared_memory_carveout(100);
  EXPECT_EQ(Residency().blocks_per_sm, 5u);
}

TEST_F(LaunchResidencyTest, WavesThatCannotBeSayWhy) {
  launch_.grid = Dim{1024, 70000, 1};
  EXPECT_EQ(Residency().blocks_per_sm, 5u);
  EXPECT_EQ(Residency().waves, std::nullopt);
  EXPECT_EQ(Residency().unavailable.rfind("waves: ", 0), 0u) << Residency().unavailable;
  launch_.grid = Dim{1024, 1, 1};
  device_.clear_multiprocessor_count();
  EXPECT_EQ(Residency().unavailable, "waves: the device's number of SMs is not known");
}

TEST(DriverDisagreement, IsAWordWhereBothAreKnownAndDiffer) {
  LaunchConfiguration launch;
  EXPECT_EQ(DriverDisagreement(launch), std::nullopt);
  launch.driver_occupancy_blocks_per_sm = 3;
  EXPECT_EQ(DriverDisagreement(launch), std::nullopt);
  launch.residency.requested_blocks_per_sm = 3;
  EXPECT_EQ(DriverDisagreement(launch), std::nullopt);
  launch.residency.requested_blocks_per_sm = 4;
  EXPECT_EQ(DriverDisagreement(launch), "the driver holds 3 blocks an SM, the model 4");
}

TEST(KeepCommonResidency, ForgetsWhatDiffers) {
  LaunchResidency kept;
  kept.blocks_per_sm = 3;
  kept.limiters = "registers";
  LaunchResidency other;
  other.blocks_per_sm = 3;
  other.limiters = "warps";
  other.unavailable = "why";
  KeepCommon(&kept, other);
  EXPECT_EQ(kept.blocks_per_sm, 3u);
  EXPECT_EQ(kept.limiters, std::nullopt);
  EXPECT_EQ(kept.unavailable, "why");
}

}  // namespace
}  // namespace gx::analysis
