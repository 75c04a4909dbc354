// A signature as a point under its rooflines: work, rates, and which roofs are known.
#include "analysis/report_roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "gpuexec/v1/machine.pb.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// 1 us on 100 SMs of compute capability 9.0: 2,000 FP32 operations, 4,000 bytes of DRAM, half of them read.
RooflineFacts Facts() {
  RooflineFacts facts;
  facts.time_ns = 1000;
  facts.counters = {{"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 0},
                    {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 0},
                    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 0},
                    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 300},
                    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 700},
                    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 500},
                    {"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 0},
                    {"smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 0},
                    {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 0},
                    {"dram__bytes.sum", 4000},
                    {"dram__bytes_read.sum", 2000},
                    {"dram__bytes_write.sum", 2000}};
  facts.peaks = {{"dram__bytes.sum.peak_sustained", 10}};
  facts.compute_capability_major = 9;
  facts.multiprocessor_count = 100;
  facts.max_sm_clock_hz = 2e9;
  facts.max_memory_clock_hz = 3e9;
  return facts;
}

TEST(ReportRooflineTest, OperationsAndBytesOverTheTimeAreTheRates) {
  const std::optional<RooflineRow> row = RooflineOf(Facts());
  ASSERT_TRUE(row.has_value());
  // Paths without operations are left out.
  ASSERT_THAT(row->paths, SizeIs(1));
  EXPECT_EQ(row->paths[0].path, "fp32");
  EXPECT_DOUBLE_EQ(row->paths[0].flops, 2000);
  EXPECT_DOUBLE_EQ(row->paths[0].flops_per_second, 2e9);
  ASSERT_THAT(row->levels, SizeIs(1));
  EXPECT_EQ(row->levels[0].level, "dram");
  EXPECT_DOUBLE_EQ(row->levels[0].bytes_per_second, 4e9);
  EXPECT_DOUBLE_EQ(*row->levels[0].intensity_flops_per_byte, 0.5);
}

TEST(ReportRooflineTest, TheoreticalRoofsAreAtTheMaximumClock) {
  const std::optional<RooflineRow> row = RooflineOf(Facts());
  // 256 operations a clock and SM (CUDA C++ Programming Guide, 9.0: 128 multiply-adds).
  EXPECT_DOUBLE_EQ(row->paths[0].theoretical->per_second, 256.0 * 100 * 2e9);
  EXPECT_DOUBLE_EQ(row->levels[0].theoretical->per_second, 10 * 3e9);
  EXPECT_EQ(row->levels[0].theoretical->source, "CUPTI: dram__bytes.sum.peak_sustained");
  RooflineFacts facts = Facts();
  facts.max_sm_clock_hz.reset();
  facts.peaks.clear();
  EXPECT_EQ(RooflineOf(facts)->paths[0].theoretical, std::nullopt);
  EXPECT_EQ(RooflineOf(facts)->levels[0].theoretical, std::nullopt);
}

TEST(ReportRooflineTest, EmpiricalRoofsAreOfTheMachineFileAlone) {
  EXPECT_EQ(RooflineOf(Facts())->levels[0].empirical, std::nullopt);
  gpuexec::v1::MachineFile machine;
  ASSERT_TRUE(gx::testing::ParseText(R"(
    ceiling { resource: CEILING_RESOURCE_DRAM path: CEILING_PATH_THREAD read_share_ratio: 0 slope { work_per_second: 3e9 } }
    ceiling { resource: CEILING_RESOURCE_DRAM path: CEILING_PATH_THREAD read_share_ratio: 1 slope { work_per_second: 5e9 } }
    ceiling { resource: CEILING_RESOURCE_FP32 path: CEILING_PATH_THREAD slope { work_per_second: 7e9 } })",
                                     &machine));
  RooflineFacts facts = Facts();
  facts.machine = &machine;
  const std::optional<RooflineRow> row = RooflineOf(facts);
  // Between all writes and all reads.
  EXPECT_DOUBLE_EQ(row->levels[0].empirical->per_second, 4e9);
  EXPECT_DOUBLE_EQ(row->paths[0].empirical->per_second, 7e9);
  EXPECT_FALSE(row->other_device);
}

TEST(ReportRooflineTest, WithoutCountedOperationsThereIsNoIntensity) {
  RooflineFacts facts = Facts();
  facts.counters.erase("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum");
  EXPECT_THAT(RooflineOf(facts)->paths, IsEmpty());
  EXPECT_EQ(RooflineOf(facts)->levels[0].intensity_flops_per_byte, std::nullopt);
  // The tensor pipe was busy, and nothing says with what.
  facts = Facts();
  facts.counters["sm__pipe_tensor_cycles_active.sum"] = 9;
  EXPECT_EQ(RooflineOf(facts)->levels[0].intensity_flops_per_byte, std::nullopt);
  facts.counters["sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum"] = 6000;
  EXPECT_DOUBLE_EQ(*RooflineOf(facts)->levels[0].intensity_flops_per_byte, 2);
}

TEST(ReportRooflineTest, IntegerPathsAreNoFloatingPointOperations) {
  RooflineFacts facts = Facts();
  facts.counters["sm__ops_path_tensor_op_igmma_src_int8.sum"] = 6000;
  EXPECT_THAT(RooflineOf(facts)->paths, SizeIs(1));
}

TEST(ReportRooflineTest, HalfPrecisionCountsAsPackedPairs) {
  RooflineFacts facts = Facts();
  facts.counters["smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"] = 100;
  const std::optional<RooflineRow> row = RooflineOf(facts);
  ASSERT_THAT(row->paths, SizeIs(2));
  EXPECT_EQ(row->paths[1].path, "fp16");
  EXPECT_DOUBLE_EQ(row->paths[1].flops, 400);
}

TEST(ReportRooflineTest, WithoutATimeOrACountThereIsNoPoint) {
  RooflineFacts facts = Facts();
  facts.time_ns = 0;
  EXPECT_FALSE(RooflineOf(facts).has_value());
  facts = Facts();
  facts.counters.clear();
  EXPECT_FALSE(RooflineOf(facts).has_value());
}

}  // namespace
}  // namespace gx::analysis
