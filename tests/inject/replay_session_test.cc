// Range sessions with kernel replay: one launch between Open and Close, which CUPTI puts a range around.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "inject/clock.h"
#include "inject/range_session.h"
#include "tests/inject/fake_range_profiler_table.h"

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ReplaySessionTest : public ::testing::Test {
 protected:
  ReplaySessionTest() : range_(MakeFakeRangeProfiler()), host_(MakeFakeProfilerHost()) {
    options_.context = reinterpret_cast<CUcontext>(uintptr_t{105});
    options_.chip = "GH100";
    options_.metrics = {"a.sum", "bb.avg"};
    options_.max_ranges = 1;
    options_.kernel_replay = true;
  }
  ~ReplaySessionTest() override {
    EXPECT_THAT(fake_.Violations(), IsEmpty());
    EXPECT_FALSE(watchdog_.Check(MonotonicNs() + 3'600'000'000'000).has_value()) << "a call is still watched";
  }

  RangeProfilerApi range_;
  ProfilerHostApi host_;
  SamplingWatchdog watchdog_;
  FakeProfiler& fake_ = TheFakeProfiler();
  RangeSession::Options options_;
  RangeSession session_{host_, range_, &watchdog_};
  std::vector<RangeValues> values_;
  std::vector<double> extra_;
};

TEST_F(ReplaySessionTest, TheCallsAreInOrderAndNoRangeIsPushed) {
  ASSERT_FALSE(session_.Open(options_).failed());
  FakeReplayedLaunch();
  ASSERT_FALSE(session_.Close(&values_, &extra_).failed());
  EXPECT_THAT(
      fake_.Calls(),
      ElementsAre("RangeProfilerEnable", "ProfilerHostInitialize", "ProfilerHostConfigAddMetrics",
                  "ProfilerHostGetConfigImageSize", "ProfilerHostGetConfigImage", "RangeProfilerGetCounterDataSize",
                  "RangeProfilerCounterDataImageInitialize", "RangeProfilerSetConfig", "RangeProfilerStart",
                  "RangeProfilerStop", "RangeProfilerDecodeData", "RangeProfilerGetCounterDataInfo",
                  "RangeProfilerCounterDataGetRangeInfo", "ProfilerHostEvaluateToGpuValues", "RangeProfilerDisable",
                  "ProfilerHostDeinitialize"));
  ASSERT_THAT(values_, SizeIs(1));
  EXPECT_EQ(values_[0].order, 0u);
  EXPECT_THAT(values_[0].values, ElementsAre(5, 6));
}

TEST_F(ReplaySessionTest, ALaunchThatNeverCameLeavesNoValues) {
  ASSERT_FALSE(session_.Open(options_).failed());
  EXPECT_FALSE(session_.Close(&values_, &extra_).failed());
  EXPECT_THAT(values_, IsEmpty());
  EXPECT_EQ(fake_.OpenObjects(), 0u);
}

TEST_F(ReplaySessionTest, PeaksAreReadOfTheReplayedRange) {
  options_.extra_metrics = {"peak"};
  ASSERT_FALSE(session_.Open(options_).failed());
  FakeReplayedLaunch();
  ASSERT_FALSE(session_.Close(&values_, &extra_).failed());
  EXPECT_THAT(extra_, ElementsAre(4));
}

TEST_F(ReplaySessionTest, EveryFailureIsNamedAndLeavesNothingOpen) {
  const std::string calls[] = {"RangeProfilerEnable",
                               "ProfilerHostInitialize",
                               "ProfilerHostConfigAddMetrics",
                               "ProfilerHostGetConfigImageSize",
                               "ProfilerHostGetConfigImage",
                               "RangeProfilerGetCounterDataSize",
                               "RangeProfilerCounterDataImageInitialize",
                               "RangeProfilerSetConfig",
                               "RangeProfilerStart",
                               "RangeProfilerStop",
                               "RangeProfilerDecodeData",
                               "RangeProfilerGetCounterDataInfo",
                               "RangeProfilerCounterDataGetRangeInfo",
                               "ProfilerHostEvaluateToGpuValues"};
  for (const std::string& call : calls) {
    fake_.Fail(call, CUPTI_ERROR_UNKNOWN);
    RangeSession::Failure failure = session_.Open(options_);
    if (!failure.failed()) {
      FakeReplayedLaunch();
      failure = session_.Close(&values_, nullptr);
    }
    fake_.Succeed();
    EXPECT_EQ(failure.result, CUPTI_ERROR_UNKNOWN) << call;
    ASSERT_NE(failure.call, nullptr) << call;
    EXPECT_EQ(failure.call, "cupti" + call);
    EXPECT_FALSE(session_.is_open()) << call;
    EXPECT_EQ(fake_.OpenObjects(), 0u) << call;
    EXPECT_EQ(fake_.HostObjects(), 0u) << call;
  }
}

TEST_F(ReplaySessionTest, ASessionWithoutReplayIsAsBefore) {
  options_.kernel_replay = false;
  ASSERT_FALSE(session_.Open(options_).failed());
  EXPECT_EQ(session_.Push(), 0);
  FakeReplayedLaunch();
  EXPECT_EQ(session_.Pop(), 0);
  ASSERT_FALSE(session_.Close(&values_, nullptr).failed());
  EXPECT_THAT(values_, SizeIs(1));
}

}  // namespace
}  // namespace gx::inject
