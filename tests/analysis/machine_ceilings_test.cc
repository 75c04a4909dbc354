#include "analysis/machine_ceilings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using gpuexec::v1::MachineFile;
using ::testing::DoubleNear;
using ::testing::Eq;
using testing::FromText;
using ::testing::Optional;

MachineFile Rates() {
  return FromText<MachineFile>(R"(
    ceiling {
      resource: CEILING_RESOURCE_TENSOR_BF16 path: CEILING_PATH_WGMMA
      slope { work_per_second: 1000e12 work_per_sm_cycle: 520000 }
    }
    ceiling {
      resource: CEILING_RESOURCE_TENSOR_BF16 path: CEILING_PATH_CUBLASLT
      slope { work_per_second: 800e12 work_per_sm_cycle: 500000 }
    }
    ceiling {
      resource: CEILING_RESOURCE_TENSOR_BF16 path: CEILING_PATH_MMA_SYNC
      slope { work_per_second: 650e12 work_per_sm_cycle: 330000 }
    }
    ceiling {
      resource: CEILING_RESOURCE_TENSOR_BF16 path: CEILING_PATH_MMA_SYNC slope { work_per_second: 660e12 }
    })");
}

MachineFile Dram() {
  return FromText<MachineFile>(R"(
    ceiling {
      resource: CEILING_RESOURCE_DRAM read_share_ratio: 1 memory_clock_hz: 2e9 slope { work_per_second: 4.4e12 }
    }
    ceiling {
      resource: CEILING_RESOURCE_DRAM read_share_ratio: 0.5 memory_clock_hz: 2e9 slope { work_per_second: 4.0e12 }
    }
    ceiling { resource: CEILING_RESOURCE_DRAM read_share_ratio: 0.5 slope { work_per_second: 4.1e12 } }
    ceiling {
      resource: CEILING_RESOURCE_DRAM read_share_ratio: 0.25 memory_clock_hz: 2e9 slope { work_per_second: 3.5e12 }
    })");
}

TEST(Ceilings, TheFastestOfAPathCountsAndPathsStayApart) {
  using namespace gpuexec::v1;  // NOLINT: enum values
  const MachineFile machine = Rates();
  const CeilingResource bf16 = CEILING_RESOURCE_TENSOR_BF16;
  EXPECT_THAT(SustainedPerSmCycle(machine, bf16, CEILING_PATH_MMA_SYNC), Optional(330000));
  EXPECT_THAT(SustainedPerSecond(machine, bf16, CEILING_PATH_MMA_SYNC), Optional(660e12));
  EXPECT_THAT(SustainedPerSmCycle(machine, bf16, CEILING_PATH_UNSPECIFIED), Optional(520000));
  EXPECT_EQ(SustainedPerSmCycle(machine, bf16, CEILING_PATH_THREAD), std::nullopt);
  EXPECT_EQ(SustainedPerSecond(machine, CEILING_RESOURCE_TENSOR_FP8, CEILING_PATH_UNSPECIFIED), std::nullopt);
}

TEST(Ceilings, DramIsInterpolatedBetweenSharesOfReads) {
  struct Row {
    double share;
    double bytes_per_second;
    double bytes_per_cycle;
  };
  // By cycle, the ceiling without a clock has no say.
  for (const Row& row :
       {Row{1, 4.4e12, 2200}, Row{0.75, 4.25e12, 2100}, Row{0.5, 4.1e12, 2000}, Row{0.375, 3.8e12, 1875},
        Row{0.25, 3.5e12, 1750}, Row{0, 3.5e12, 1750}, Row{2, 4.4e12, 2200}}) {
    EXPECT_THAT(SustainedDramBytesPerSecond(Dram(), row.share), Optional(DoubleNear(row.bytes_per_second, 1)))
        << row.share;
    EXPECT_THAT(SustainedDramBytesPerCycle(Dram(), row.share), Optional(DoubleNear(row.bytes_per_cycle, 1e-6)))
        << row.share;
  }
  EXPECT_EQ(SustainedDramBytesPerSecond(Rates(), 0.5), std::nullopt);
}

TEST(Ceilings, LatencyIsOfOneSectorAndGrowsWithFurtherOnes) {
  const MachineFile machine = FromText<MachineFile>(R"(
    latency { level: LATENCY_LEVEL_L1 sectors_per_request: 32 slope { work_per_sm_cycle: 0.0105263157894736842 } }
    latency { level: LATENCY_LEVEL_L1 sectors_per_request: 1 slope { work_per_sm_cycle: 0.03030303030303030303 } }
    latency { level: LATENCY_LEVEL_L2 sectors_per_request: 1 slope { work_per_sm_cycle: 0.004 } }
    latency { level: LATENCY_LEVEL_DRAM sectors_per_request: 4 slope { work_per_sm_cycle: 0.001 } })");
  EXPECT_THAT(UnloadedCycles(machine, gpuexec::v1::LATENCY_LEVEL_L1), Optional(DoubleNear(33, 1e-9)));
  // 62 cycles more with 31 sectors more.
  EXPECT_THAT(CyclesPerFurtherSector(machine, gpuexec::v1::LATENCY_LEVEL_L1), Optional(DoubleNear(2, 1e-9)));
  EXPECT_THAT(UnloadedCycles(machine, gpuexec::v1::LATENCY_LEVEL_L2), Optional(DoubleNear(250, 1e-9)));
  EXPECT_EQ(CyclesPerFurtherSector(machine, gpuexec::v1::LATENCY_LEVEL_L2), std::nullopt);
  EXPECT_EQ(UnloadedCycles(machine, gpuexec::v1::LATENCY_LEVEL_DRAM), std::nullopt);
  EXPECT_EQ(CyclesPerFurtherSector(machine, gpuexec::v1::LATENCY_LEVEL_DRAM), std::nullopt);
}

TEST(Ceilings, AnEmptyKernelIsThatOfTheNearestShape) {
  const MachineFile machine = FromText<MachineFile>(R"(
    tracing_bias { shape { grid_x: 1 block_x: 256 } resident_blocks: 1056 recorded { median_ns: 1000 } }
    tracing_bias { shape { grid_x: 1056 block_x: 256 } resident_blocks: 1056 recorded { median_ns: 1400 } }
    tracing_bias { shape { grid_x: 1056 block_x: 1024 } resident_blocks: 264 recorded { median_ns: 1600 } }
    tracing_bias {
      shape { grid_x: 132 block_x: 256 dynamic_shared_memory_bytes: 102400 } resident_blocks: 264 recorded { median_ns: 1200 }
    }
    tracing_bias { shape { grid_x: 128 block_x: 256 cluster_x: 8 } resident_blocks: 1056 recorded { median_ns: 2000 } }
    tracing_bias { shape { grid_x: 300 block_x: 256 chain_steps: 4 } resident_blocks: 1056 recorded { median_ns: 9000 } }
    tracing_bias { shape { grid_x: 300 block_x: 256 } resident_blocks: 1056 })");
  EXPECT_THAT(EmptyKernelNs(machine, {1, 128, 0, 0}), Optional(Eq(1000)));
  EXPECT_THAT(EmptyKernelNs(machine, {900, 256, 16, 0}), Optional(Eq(1400)));
  // Waves count for nothing.
  EXPECT_THAT(EmptyKernelNs(machine, {1000000, 256, 0, 0}), Optional(Eq(1400)));
  EXPECT_THAT(EmptyKernelNs(machine, {264, 1024, 0, 0}), Optional(Eq(1600)));
  EXPECT_THAT(EmptyKernelNs(machine, {132, 256, 60000, 0}), Optional(Eq(1200)));
  EXPECT_THAT(EmptyKernelNs(machine, {1, 32, 0, 8}), Optional(Eq(2000)));
  EXPECT_EQ(EmptyKernelNs(MachineFile(), {1, 32, 0, 0}), std::nullopt);
}

TEST(Ceilings, TracingCostsSomethingAWave) {
  // 160 ns, and 60 ns a further wave: of 1 and of 10 waves, the last one hardly begun. The empty kernel is none of
  // them.
  const MachineFile machine = FromText<MachineFile>(R"(
    tracing_bias { shape { grid_x: 100 chain_steps: 8 } resident_blocks: 100 untraced_ns: 1000 traced_ns: 1160 }
    tracing_bias { shape { grid_x: 901 chain_steps: 8 } resident_blocks: 100 untraced_ns: 1000 traced_ns: 1700 }
    tracing_bias { shape { grid_x: 100 } resident_blocks: 100 untraced_ns: 1000 traced_ns: 9000 })");
  const std::optional<TracingCost> cost = FitTracingCost(machine);
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->kernel_count, 2U);
  EXPECT_NEAR(cost->wave_ns, 60, 1e-9);
  EXPECT_NEAR(cost->fixed_ns, 160, 1e-9);
  EXPECT_EQ(cost->thread_ns, 0);
  EXPECT_NEAR(cost->error_ns, 0, 1e-9);
  EXPECT_EQ(cost->block_launch_ns, std::nullopt);
  EXPECT_NEAR(TracingNs(*cost, 1), 160, 1e-9);
  EXPECT_NEAR(TracingNs(*cost, 3), 280, 1e-9);
  TracingCost negative;
  negative.fixed_ns = -100;
  EXPECT_EQ(TracingNs(negative, 1), 0);
}

TEST(Ceilings, TheCostOfTracingKnowsHowFarItIsOff) {
  const MachineFile machine = FromText<MachineFile>(R"(
    tracing_bias { shape { grid_x: 1 chain_steps: 8 } resident_blocks: 1 untraced_ns: 10 traced_ns: 20 }
    tracing_bias { shape { grid_x: 1 chain_steps: 9 } resident_blocks: 1 untraced_ns: 10 traced_ns: 40 }
    tracing_bias { shape { grid_x: 3 chain_steps: 8 } resident_blocks: 1 untraced_ns: 10 traced_ns: 50 })");
  const std::optional<TracingCost> cost = FitTracingCost(machine);
  ASSERT_TRUE(cost.has_value());
  // Through the means: (1, 20) and (3, 40).
  EXPECT_NEAR(cost->wave_ns, 10, 1e-9);
  EXPECT_NEAR(cost->fixed_ns, 20, 1e-9);
  EXPECT_NEAR(cost->error_ns, 10, 1e-9);
}

TEST(Ceilings, AWaveOfLargeBlocksCostsMoreToTrace) {
  // 200 ns, and for each further wave 70 ns + 0.04 ns a thread.
  const MachineFile machine = FromText<MachineFile>(R"(
    tracing_bias { shape { grid_x: 8 block_x: 64 chain_steps: 8 } resident_blocks: 8 untraced_ns: 900 traced_ns: 1100 }
    tracing_bias { shape { grid_x: 88 block_x: 50 chain_steps: 8 } resident_blocks: 8 untraced_ns: 900 traced_ns: 1820 }
    tracing_bias { shape { grid_x: 8 block_x: 1000 chain_steps: 8 } resident_blocks: 2 untraced_ns: 0 traced_ns: 530 })");
  const std::optional<TracingCost> cost = FitTracingCost(machine);
  ASSERT_TRUE(cost.has_value());
  EXPECT_NEAR(cost->fixed_ns, 200, 1e-6);
  EXPECT_NEAR(cost->wave_ns, 70, 1e-6);
  EXPECT_NEAR(cost->thread_ns, 0.04, 1e-9);
  EXPECT_NEAR(TracingNs(*cost, 5, {.block_threads = 500}), 200 + 4 * 90, 1e-6);
}

TEST(Ceilings, KernelsThatWaitForTheirBlocksAreTracedForLittle) {
  // A block every 2 ns. The last kernel takes as long as launching its 1,000 blocks does.
  const MachineFile machine = FromText<MachineFile>(R"(
    tracing_bias { shape { grid_x: 200 block_x: 32 } resident_blocks: 100 untraced_ns: 500 traced_ns: 900 }
    tracing_bias { shape { grid_x: 1200 block_x: 32 } resident_blocks: 100 untraced_ns: 2500 traced_ns: 2900 }
    tracing_bias { shape { grid_x: 100 chain_steps: 8 } resident_blocks: 100 untraced_ns: 5000 traced_ns: 5100 }
    tracing_bias { shape { grid_x: 300 chain_steps: 8 } resident_blocks: 100 untraced_ns: 5000 traced_ns: 5300 }
    tracing_bias { shape { grid_x: 1000 chain_steps: 8 } resident_blocks: 100 untraced_ns: 2000 traced_ns: 2050 })");
  const std::optional<TracingCost> cost = FitTracingCost(machine);
  ASSERT_TRUE(cost.has_value());
  EXPECT_THAT(cost->block_launch_ns, Optional(Eq(2)));
  EXPECT_EQ(cost->kernel_count, 2U);
  EXPECT_NEAR(cost->wave_ns, 100, 1e-9);
  EXPECT_TRUE(IsBoundByBlockLaunch(*cost, 1000, 2200));
  EXPECT_FALSE(IsBoundByBlockLaunch(*cost, 1000, 2300));
  EXPECT_FALSE(IsBoundByBlockLaunch(*cost, 1000, 0));
  EXPECT_NEAR(TracingNs(*cost, 10, {.grid_blocks = 1000}, 2200), 100, 1e-9);
  EXPECT_NEAR(TracingNs(*cost, 10, {.grid_blocks = 1000}, 9000), 1000, 1e-9);
}

TEST(Ceilings, OneNumberOfWavesIsNoLine) {
  EXPECT_EQ(FitTracingCost(FromText<MachineFile>(R"(
    tracing_bias { shape { grid_x: 1 chain_steps: 8 } resident_blocks: 1 untraced_ns: 10 traced_ns: 20 }
    tracing_bias { shape { grid_x: 1 chain_steps: 9 } resident_blocks: 1 untraced_ns: 10 traced_ns: 40 })")),
            std::nullopt);
  EXPECT_EQ(FitTracingCost(MachineFile()), std::nullopt);
}

}  // namespace
}  // namespace gx::analysis
