#include "inject/counter_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/inject/fake_range_profiler_table.h"

namespace gx::inject {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CounterConfigTest : public ::testing::Test {
 protected:
  CounterConfigTest() : range_(MakeFakeRangeProfiler()), host_(MakeFakeProfilerHost()) {}
  ~CounterConfigTest() override { EXPECT_THAT(fake_.Violations(), IsEmpty()); }

  std::unique_ptr<CounterConfig> Make(std::vector<std::string> metrics) {
    result_ = 0;
    failed_call_ = nullptr;
    return CounterConfig::Make(host_, range_, "GH100", std::move(metrics), &result_, &failed_call_);
  }

  RangeProfilerApi range_;
  ProfilerHostApi host_;
  FakeProfiler& fake_ = TheFakeProfiler();
  int result_ = 0;
  const char* failed_call_ = nullptr;
};

TEST_F(CounterConfigTest, MakesTheImageOfItsMetrics) {
  const auto config = Make({"a.sum", "b.avg"});
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(result_, 0);
  EXPECT_EQ(failed_call_, nullptr);
  EXPECT_THAT(config->image(), SizeIs(32));
  EXPECT_THAT(config->image(), Each(7));
  EXPECT_THAT(config->metrics(), ElementsAre("a.sum", "b.avg"));
  const auto pointers = config->MetricPointers();
  ASSERT_THAT(pointers, SizeIs(2));
  EXPECT_STREQ(pointers[1], "b.avg");
  EXPECT_THAT(fake_.Calls(), ElementsAre("ProfilerHostInitialize", "ProfilerHostConfigAddMetrics",
                                         "ProfilerHostGetConfigImageSize", "ProfilerHostGetConfigImage"));
}

TEST_F(CounterConfigTest, ItsHostObjectGoesWithIt) {
  auto config = Make({"a.sum"});
  EXPECT_EQ(fake_.HostObjects(), 1u);
  config.reset();
  EXPECT_EQ(fake_.HostObjects(), 0u);
}

TEST_F(CounterConfigTest, EachFailureIsNamedAndLeavesNoHostObject) {
  for (const std::string call : {"ProfilerHostInitialize", "ProfilerHostConfigAddMetrics",
                                 "ProfilerHostGetConfigImageSize", "ProfilerHostGetConfigImage"}) {
    fake_.Succeed();
    fake_.Fail(call, CUPTI_ERROR_INVALID_METRIC_ID);
    EXPECT_EQ(Make({"a.sum"}), nullptr) << call;
    EXPECT_EQ(result_, CUPTI_ERROR_INVALID_METRIC_ID);
    ASSERT_NE(failed_call_, nullptr);
    EXPECT_EQ(failed_call_, "cupti" + call);
    EXPECT_EQ(fake_.HostObjects(), 0u) << call;
  }
}

TEST_F(CounterConfigTest, AnUnknownMetricFailsTheWholeGroup) {
  fake_.unknown_metrics = {"b.avg"};
  EXPECT_EQ(Make({"a.sum", "b.avg"}), nullptr);
  EXPECT_EQ(result_, CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_STREQ(failed_call_, "cuptiProfilerHostConfigAddMetrics");
}

TEST_F(CounterConfigTest, EvaluatesInTheOrderAskedForAndKeepsWhatIsUnavailable) {
  const auto config = Make({"a.sum", "bb.avg", "ccc.max"});
  ASSERT_NE(config, nullptr);
  const std::vector<uint8_t> image(64);
  fake_.images[image.data()] = {"r0", "r1"};
  fake_.nan_metrics = {"bb.avg"};
  std::vector<double> values;
  EXPECT_EQ(config->Evaluate(image, 1, {"ccc.max", "bb.avg", "a.sum"}, &values), CUPTI_SUCCESS);
  ASSERT_THAT(values, SizeIs(3));
  EXPECT_EQ(values[0], 1007);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 1005);
}

TEST_F(CounterConfigTest, WhatCouldNotBeEvaluatedIsUnavailableAndNotZero) {
  const auto config = Make({"a.sum"});
  ASSERT_NE(config, nullptr);
  const std::vector<uint8_t> image(64);
  fake_.images[image.data()] = {"r0"};
  fake_.Fail("ProfilerHostEvaluateToGpuValues", CUPTI_ERROR_UNKNOWN);
  std::vector<double> values = {1, 2, 3};
  EXPECT_EQ(config->Evaluate(image, 0, {"a.sum"}, &values), CUPTI_ERROR_UNKNOWN);
  ASSERT_THAT(values, SizeIs(1));
  EXPECT_TRUE(std::isnan(values[0]));
}

TEST_F(CounterConfigTest, NoMetricsAreNoQuestion) {
  const auto config = Make({"a.sum"});
  ASSERT_NE(config, nullptr);
  const std::vector<uint8_t> image(64);
  std::vector<double> values = {1};
  EXPECT_EQ(config->Evaluate(image, 0, {}, &values), CUPTI_SUCCESS);
  EXPECT_THAT(values, IsEmpty());
  EXPECT_EQ(fake_.Count("ProfilerHostEvaluateToGpuValues"), 0u);
}

}  // namespace
}  // namespace gx::inject
