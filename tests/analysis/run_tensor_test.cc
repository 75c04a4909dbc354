#include "analysis/run_tensor.h"

#include <gtest/gtest.h>

#include <vector>

namespace gx::analysis {
namespace {

constexpr char kBf16[] = "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum";
constexpr char kPipe[] = "sm__pipe_tensor_cycles_active.sum";

// Of an H200's SMs at 1.98 GHz: 4,096 operations a clock and SM, NVIDIA's Hopper whitepaper.
RooflineFacts Facts(const std::vector<CountedRange>& counters) {
  RooflineFacts facts;
  facts.time_ns = 1e6;
  facts.compute_capability_major = 9;
  facts.multiprocessor_count = 132;
  facts.max_sm_clock_hz = 1.98e9;
  for (const CountedRange& counter : counters) facts.counters.emplace(counter.name, counter.median);
  return facts;
}

TensorSignature WorkOf(const std::vector<CountedRange>& counters) { return TensorWorkOf(Facts(counters), counters); }

TEST(TensorWorkOfTest, HasPathsWithTheirRangeAndTheDensePeak) {
  const TensorSignature work = WorkOf({{kPipe, 100, 100, 100}, {kBf16, 1e12, 0.9e12, 1.1e12}});
  EXPECT_TRUE(work.is_counted);
  ASSERT_EQ(work.paths.size(), 1u);
  EXPECT_EQ(work.paths[0].path, "op_hgmma_src_bf16_dst_fp32");
  EXPECT_DOUBLE_EQ(work.paths[0].flops, 1e12);
  EXPECT_DOUBLE_EQ(work.paths[0].low_flops, 0.9e12);
  EXPECT_DOUBLE_EQ(work.paths[0].high_flops, 1.1e12);
  ASSERT_TRUE(work.paths[0].theoretical_flops_per_second.has_value());
  EXPECT_NEAR(*work.paths[0].theoretical_flops_per_second, 4096 * 132 * 1.98e9, 1e9);
  EXPECT_EQ(work.paths[0].empirical_flops_per_second.has_value(), false);
}

TEST(TensorWorkOfTest, NoneIsAMeasurementOnlyWhereThePipeWasCounted) {
  EXPECT_TRUE(WorkOf({{kPipe, 0, 0, 0}}).is_counted);
  EXPECT_FALSE(WorkOf({{kPipe, 100, 100, 100}}).is_counted);
  EXPECT_FALSE(WorkOf({{"dram__bytes.sum", 1, 1, 1}}).is_counted);
  // Packed half precision takes the same pipe.
  EXPECT_TRUE(
      WorkOf({{kPipe, 100, 100, 100}, {"smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 5, 5, 5}}).is_counted);
}

TensorSignature Signature(uint64_t total_ns, bool is_counted, double flops) {
  TensorSignature signature;
  signature.kernel_count = 10;
  signature.total_ns = total_ns;
  signature.is_counted = is_counted;
  if (flops > 0) {
    TensorPathUse path;
    path.path = "bf16";
    path.flops = flops;
    path.low_flops = flops / 2;
    path.high_flops = flops;
    path.theoretical_flops_per_second = 1000e12;
    path.empirical_flops_per_second = 800e12;
    signature.paths.push_back(path);
  }
  return signature;
}

// 10 launches of 4e9 operations in 100 us of busy time: 400 of 1,000 TFLOP/s.
TEST(AddUpTensorUseTest, IsOverBusyTimeAndOverAllAndKeepsCeilingsApart) {
  const std::vector<TensorSignature> signatures = {Signature(60'000, true, 4e9), Signature(20'000, true, 0),
                                                   Signature(20'000, false, 0)};
  const auto use = AddUpTensorUse(signatures, {.kernel_ns = 100'000, .busy_ns = 100'000, .timed_ns = 200'000});
  ASSERT_TRUE(use.has_value());
  EXPECT_DOUBLE_EQ(use->flops, 4e10);
  EXPECT_DOUBLE_EQ(use->paths[0].low_flops, 2e10);
  EXPECT_DOUBLE_EQ(use->theoretical_busy_ratio.value(), 0.4);
  EXPECT_DOUBLE_EQ(use->theoretical_timed_ratio.value(), 0.2);
  EXPECT_DOUBLE_EQ(use->empirical_busy_ratio.value(), 0.5);
  EXPECT_DOUBLE_EQ(use->empirical_timed_ratio.value(), 0.25);
  EXPECT_DOUBLE_EQ(use->unmeasured_ratio, 0.2);
}

TEST(AddUpTensorUseTest, WithoutARateOrACountThereIsNoUtilization) {
  TensorSignature signature = Signature(60'000, true, 4e9);
  signature.paths[0].empirical_flops_per_second.reset();
  const auto use =
      AddUpTensorUse(std::vector{signature}, {.kernel_ns = 100'000, .busy_ns = 100'000, .timed_ns = 200'000});
  ASSERT_TRUE(use.has_value());
  EXPECT_TRUE(use->theoretical_busy_ratio.has_value());
  EXPECT_FALSE(use->empirical_busy_ratio.has_value());
  EXPECT_FALSE(AddUpTensorUse(std::vector{Signature(60'000, false, 0)},
                              {.kernel_ns = 100'000, .busy_ns = 100'000, .timed_ns = 200'000})
                   .has_value());
}

}  // namespace
}  // namespace gx::analysis
