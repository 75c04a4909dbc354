#include "inject/range_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "inject/clock.h"
#include "tests/inject/fake_range_profiler_table.h"

namespace gx::inject {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const auto kContext = reinterpret_cast<CUcontext>(uintptr_t{105});

class RangeSessionTest : public ::testing::Test {
 protected:
  RangeSessionTest() : range_(MakeFakeRangeProfiler()), host_(MakeFakeProfilerHost()) {
    options_.context = kContext;
    options_.chip = "GH100";
    options_.metrics = {"a.sum", "bb.avg"};
    options_.max_ranges = 4;
  }
  ~RangeSessionTest() override {
    EXPECT_THAT(fake_.Violations(), IsEmpty());
    // Far beyond every limit: what has not come back by now never will.
    EXPECT_FALSE(watchdog_.Check(MonotonicNs() + 3'600'000'000'000).has_value()) << "a call is still watched";
  }

  std::unique_ptr<RangeSession> Make() { return std::make_unique<RangeSession>(host_, range_, &watchdog_); }
  static void Range(RangeSession* session) {
    EXPECT_EQ(session->Push(), 0);
    EXPECT_EQ(session->Pop(), 0);
  }

  RangeProfilerApi range_;
  ProfilerHostApi host_;
  SamplingWatchdog watchdog_;
  FakeProfiler& fake_ = TheFakeProfiler();
  RangeSession::Options options_;
  std::vector<RangeValues> values_;
  std::vector<double> extra_;
};

TEST_F(RangeSessionTest, TheCallsOfASessionAreInOrder) {
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_TRUE(session->is_open());
  Range(session.get());
  ASSERT_FALSE(session->Close(&values_, &extra_).failed());
  EXPECT_FALSE(session->is_open());
  EXPECT_THAT(
      fake_.Calls(),
      ElementsAre("RangeProfilerEnable", "ProfilerHostInitialize", "ProfilerHostConfigAddMetrics",
                  "ProfilerHostGetConfigImageSize", "ProfilerHostGetConfigImage", "RangeProfilerGetCounterDataSize",
                  "RangeProfilerCounterDataImageInitialize", "RangeProfilerSetConfig", "RangeProfilerStart",
                  "RangeProfilerPushRange", "RangeProfilerPopRange", "RangeProfilerStop", "RangeProfilerDecodeData",
                  "RangeProfilerGetCounterDataInfo", "RangeProfilerCounterDataGetRangeInfo",
                  "ProfilerHostEvaluateToGpuValues", "RangeProfilerDisable", "ProfilerHostDeinitialize"));
}

TEST_F(RangeSessionTest, NothingIsReadOfASessionWithoutRanges) {
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_FALSE(session->Close(&values_, &extra_).failed());
  EXPECT_THAT(values_, IsEmpty());
  EXPECT_EQ(fake_.Count("RangeProfilerDecodeData"), 0u);
  EXPECT_EQ(fake_.Count("RangeProfilerDisable"), 1u);
}

TEST_F(RangeSessionTest, EveryFailureOfOpenIsNamedAndLeavesNothing) {
  const std::string calls[] = {"RangeProfilerEnable",
                               "ProfilerHostInitialize",
                               "ProfilerHostConfigAddMetrics",
                               "ProfilerHostGetConfigImageSize",
                               "ProfilerHostGetConfigImage",
                               "RangeProfilerGetCounterDataSize",
                               "RangeProfilerCounterDataImageInitialize",
                               "RangeProfilerSetConfig",
                               "RangeProfilerStart"};
  for (const std::string& call : calls) {
    fake_.Succeed();
    fake_.calls.clear();
    fake_.Fail(call, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    const auto session = Make();
    const RangeSession::Failure failure = session->Open(options_);
    EXPECT_EQ(failure.result, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) << call;
    ASSERT_NE(failure.call, nullptr) << call;
    EXPECT_EQ(failure.call, "cupti" + call);
    EXPECT_FALSE(session->is_open());
    EXPECT_EQ(fake_.Count("RangeProfilerDisable"), call == "RangeProfilerEnable" ? 0u : 1u) << call;
    EXPECT_EQ(fake_.Count("RangeProfilerStop"), 0u) << call;
    EXPECT_EQ(fake_.OpenObjects(), 0u) << call;
    EXPECT_EQ(fake_.HostObjects(), 0u) << call;
    // What comes later works.
    fake_.Succeed();
    ASSERT_FALSE(session->Open(options_).failed()) << call;
    Range(session.get());
    values_.clear();
    ASSERT_FALSE(session->Close(&values_, nullptr).failed()) << call;
    EXPECT_THAT(values_, SizeIs(1));
    EXPECT_EQ(fake_.HostObjects(), 0u);
  }
}

TEST_F(RangeSessionTest, EveryFailureOfCloseIsNamedAndTheRestIsDoneAllTheSame) {
  const std::string calls[] = {"RangeProfilerStop", "RangeProfilerDecodeData", "RangeProfilerGetCounterDataInfo",
                               "RangeProfilerCounterDataGetRangeInfo", "ProfilerHostEvaluateToGpuValues"};
  for (const std::string& call : calls) {
    fake_.Succeed();
    fake_.calls.clear();
    const auto session = Make();
    ASSERT_FALSE(session->Open(options_).failed());
    Range(session.get());
    fake_.Fail(call, CUPTI_ERROR_UNKNOWN);
    values_.clear();
    const RangeSession::Failure failure = session->Close(&values_, &extra_);
    EXPECT_EQ(failure.result, CUPTI_ERROR_UNKNOWN) << call;
    ASSERT_NE(failure.call, nullptr) << call;
    EXPECT_EQ(failure.call, "cupti" + call);
    // Stop's failure says nothing of what was counted before.
    EXPECT_THAT(values_, SizeIs(call == "RangeProfilerStop" ? 1 : 0)) << call;
    EXPECT_EQ(fake_.Count("RangeProfilerDisable"), 1u) << call;
    EXPECT_EQ(fake_.OpenObjects(), 0u) << call;
    EXPECT_EQ(fake_.HostObjects(), 0u) << call;
    EXPECT_FALSE(session->is_open());
  }
}

TEST_F(RangeSessionTest, TheFirstOfSeveralFailuresIsTold) {
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  Range(session.get());
  fake_.Fail("RangeProfilerDecodeData", CUPTI_ERROR_UNKNOWN);
  fake_.Fail("RangeProfilerGetCounterDataInfo", CUPTI_ERROR_INVALID_PARAMETER);
  const RangeSession::Failure failure = session->Close(&values_, &extra_);
  EXPECT_EQ(failure.result, CUPTI_ERROR_UNKNOWN);
  EXPECT_STREQ(failure.call, "cuptiRangeProfilerDecodeData");
}

TEST_F(RangeSessionTest, WhatCuptiDidNotGiveBackIsNotFreed) {
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  Range(session.get());
  fake_.Fail("RangeProfilerDisable", CUPTI_ERROR_UNKNOWN);
  const RangeSession::Failure failure = session->Close(&values_, &extra_);
  EXPECT_STREQ(failure.call, "cuptiRangeProfilerDisable");
  EXPECT_THAT(values_, SizeIs(1)) << "read before";
  EXPECT_FALSE(session->is_open());
  EXPECT_EQ(fake_.HostObjects(), 1u) << "it may still read what it was given";
}

TEST_F(RangeSessionTest, NamesAreUniqueAlsoAfterAPushThatFailed) {
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  Range(session.get());
  fake_.Fail("RangeProfilerPushRange", CUPTI_ERROR_UNKNOWN);
  EXPECT_EQ(session->next_order(), 1u);
  EXPECT_EQ(session->Push(), CUPTI_ERROR_UNKNOWN);
  fake_.Succeed();
  EXPECT_EQ(session->next_order(), 2u);
  Range(session.get());
  EXPECT_THAT(fake_.objects.begin()->second.names, ElementsAre("r0", "r2"));
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
  ASSERT_THAT(values_, SizeIs(2));
  EXPECT_EQ(values_[1].order, 2u) << "the number that Push had, not the place in the image";
  EXPECT_THAT(values_[1].values, ElementsAre(2005, 2006));
}

TEST_F(RangeSessionTest, HasRoomForAsManyRangesAsItWasOpenedFor) {
  options_.max_ranges = 256;
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_EQ(fake_.last_max_ranges, 256u);
  for (uint32_t i = 0; i < 256; ++i) {
    ASSERT_TRUE(session->HasRoom()) << i;
    Range(session.get());
  }
  EXPECT_FALSE(session->HasRoom());
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
  ASSERT_THAT(values_, SizeIs(256));
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(values_[i].values[0], i * 1000 + 5);
}

TEST_F(RangeSessionTest, ValuesFindTheirRangeByNameWhateverTheOrderOfTheImage) {
  fake_.last_range_first = true;
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  for (int i = 0; i < 3; ++i) Range(session.get());
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
  ASSERT_THAT(values_, SizeIs(3));
  for (const RangeValues& read : values_)
    EXPECT_THAT(read.values, ElementsAre(read.order * 1000 + 5, read.order * 1000 + 6));
  EXPECT_EQ(values_[0].order, 2u);
}

TEST_F(RangeSessionTest, NamesThatAreNotOursAreLeftOut) {
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  Range(session.get());
  fake_.objects.begin()->second.names = {"r", "x0", "r0x", "r9", "r0/r1", "r0", ""};
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
  ASSERT_THAT(values_, SizeIs(1));
  EXPECT_EQ(values_[0].order, 0u);
}

TEST_F(RangeSessionTest, WhatIsNotANumberStaysSo) {
  fake_.nan_metrics = {"bb.avg"};
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  Range(session.get());
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
  ASSERT_THAT(values_, SizeIs(1));
  EXPECT_EQ(values_[0].values[0], 5);
  EXPECT_TRUE(std::isnan(values_[0].values[1]));
}

TEST_F(RangeSessionTest, PeaksAreReadOnceOfTheFirstRange) {
  options_.extra_metrics = {"peak.sum", "clock.avg"};
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_THAT(fake_.last_metrics, ElementsAre("a.sum", "bb.avg")) << "they cost no counter";
  Range(session.get());
  Range(session.get());
  ASSERT_FALSE(session->Close(&values_, &extra_).failed());
  EXPECT_THAT(extra_, ElementsAre(8, 9));
  EXPECT_EQ(fake_.Count("ProfilerHostEvaluateToGpuValues"), 3u);
}

TEST_F(RangeSessionTest, PeaksThatAreRefusedAreNoFailure) {
  options_.extra_metrics = {"peak.sum", "clock.avg"};
  fake_.refused_metrics = {"clock.avg"};
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  Range(session.get());
  EXPECT_FALSE(session->Close(&values_, &extra_).failed());
  EXPECT_THAT(extra_, IsEmpty());
  EXPECT_THAT(values_, SizeIs(1));
}

TEST_F(RangeSessionTest, DroppedRangesAreThoseOfThisSession) {
  fake_.dropped = 3;
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  Range(session.get());
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
  EXPECT_EQ(session->dropped(), 3u);
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_EQ(session->dropped(), 0u);
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
}

TEST_F(RangeSessionTest, AnAbandonedSessionMakesNoCallAnyMore) {
  auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_EQ(session->Push(), 0);
  session->Abandon();
  EXPECT_FALSE(session->is_open());
  const auto calls = fake_.Calls();
  EXPECT_FALSE(session->Close(&values_, &extra_).failed());
  session.reset();
  EXPECT_EQ(fake_.Calls(), calls);
  EXPECT_EQ(fake_.HostObjects(), 1u) << "its memory stays";
}

TEST_F(RangeSessionTest, AnOpenSessionThatGoesIsLeftAsItIs) {
  auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  session.reset();
  EXPECT_THAT(fake_.Calls(), Not(Contains("RangeProfilerDisable")));
  EXPECT_EQ(fake_.HostObjects(), 1u);
}

TEST_F(RangeSessionTest, ASecondSessionHasAnObjectAndAConfigurationOfItsOwn) {
  const auto session = Make();
  for (int i = 0; i < 3; ++i) {
    values_.clear();
    ASSERT_FALSE(session->Open(options_).failed());
    EXPECT_EQ(session->next_order(), 0u);
    Range(session.get());
    ASSERT_FALSE(session->Close(&values_, nullptr).failed());
    EXPECT_THAT(values_, SizeIs(1));
  }
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 3u);
  EXPECT_EQ(fake_.Count("ProfilerHostInitialize"), 3u);
}

TEST_F(RangeSessionTest, EveryCallOfCuptiIsWatched) {
  const auto session = Make();
  std::vector<std::string> unwatched;
  fake_.inside = [&](const std::string& call) {
    // A call whose piece was named before is not named again.
    const auto stuck = watchdog_.Check(MonotonicNs() + 3'600'000'000'000);
    if (!stuck && call != "ProfilerHostDeinitialize") unwatched.push_back(call);
  };
  ASSERT_FALSE(session->Open(options_).failed());
  Range(session.get());
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
  fake_.inside = nullptr;
  EXPECT_THAT(unwatched, Not(Contains("RangeProfilerEnable")));
  EXPECT_THAT(unwatched, Not(Contains("ProfilerHostInitialize")));
  EXPECT_THAT(unwatched, Not(Contains("RangeProfilerStart")));
  EXPECT_THAT(unwatched, Not(Contains("RangeProfilerPushRange")));
  EXPECT_THAT(unwatched, Not(Contains("RangeProfilerPopRange")));
  EXPECT_THAT(unwatched, Not(Contains("RangeProfilerStop")));
  EXPECT_THAT(unwatched, Not(Contains("RangeProfilerDecodeData")));
  EXPECT_THAT(unwatched, Not(Contains("RangeProfilerGetCounterDataInfo")));
  EXPECT_THAT(unwatched, Not(Contains("RangeProfilerDisable")));
  EXPECT_TRUE(watchdog_.off()) << "by the questions of this test";
}

TEST_F(RangeSessionTest, CostsAreThoseOfTheSessionAndGoWhereTheyBelong) {
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_NE(session->costs().enable_ns, 0u);
  EXPECT_NE(session->costs().start_ns, 0u);
  EXPECT_EQ(session->costs().stop_ns, 0u);
  EXPECT_EQ(session->costs().disable_ns, 0u);
  Range(session.get());
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
  EXPECT_NE(session->costs().stop_ns, 0u);
  EXPECT_NE(session->costs().decode_ns, 0u);
  EXPECT_NE(session->costs().disable_ns, 0u);
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_EQ(session->costs().stop_ns, 0u) << "of the session before";
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
}

TEST_F(RangeSessionTest, ASecondPassCountsItsOwnMetricsInRangesOfItsOwn) {
  options_.next_metrics = {"smsp__sass_c.sum"};
  options_.max_next_ranges = 2;
  options_.extra_metrics = {"peak"};
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_TRUE(session->HasNextPass());
  for (int i = 0; i < 3; ++i) Range(session.get());
  ASSERT_FALSE(session->EndPass(&values_, &extra_).failed());
  ASSERT_THAT(values_, SizeIs(3));
  EXPECT_EQ(values_[2].order, 2u);
  EXPECT_THAT(values_[2].values, ElementsAre(FakeCounterValue(2, "a.sum"), FakeCounterValue(2, "bb.avg")));
  EXPECT_THAT(extra_, SizeIs(1));
  EXPECT_EQ(session->next_order(), 3u) << "of the pass that has ended";

  ASSERT_FALSE(session->BeginPass().failed());
  EXPECT_FALSE(session->HasNextPass());
  EXPECT_EQ(session->next_order(), 0u);
  for (int i = 0; i < 2; ++i) Range(session.get());
  EXPECT_FALSE(session->HasRoom());
  values_.clear();
  extra_.clear();
  ASSERT_FALSE(session->Close(&values_, &extra_).failed());
  ASSERT_THAT(values_, SizeIs(2));
  EXPECT_THAT(values_[1].values, ElementsAre(FakeCounterValue(1, "smsp__sass_c.sum")));
  EXPECT_THAT(extra_, IsEmpty()) << "peaks are of the first";
  EXPECT_EQ(fake_.Count("RangeProfilerEnable"), 1u);
  EXPECT_EQ(fake_.Count("RangeProfilerStart"), 2u);
  EXPECT_EQ(fake_.OpenObjects(), 0u);
}

TEST_F(RangeSessionTest, FailuresBetweenThePassesAreNamedAndClosingFollows) {
  for (const std::string call : {"Stop", "DecodeData", "Start"}) {
    SCOPED_TRACE(call);
    fake_.Succeed();
    options_.next_metrics = {"smsp__sass_c.sum"};
    const auto session = Make();
    ASSERT_FALSE(session->Open(options_).failed());
    Range(session.get());
    fake_.Fail("RangeProfiler" + call, CUPTI_ERROR_UNKNOWN);
    RangeSession::Failure failure = session->EndPass(&values_, &extra_);
    if (!failure.failed()) failure = session->BeginPass();
    EXPECT_EQ(failure.result, CUPTI_ERROR_UNKNOWN);
    EXPECT_EQ(failure.call, "cuptiRangeProfiler" + call);
    EXPECT_FALSE(session->HasNextPass());
    fake_.Succeed();
    values_.clear();
    (void)session->Close(&values_, &extra_);
    EXPECT_THAT(values_, IsEmpty()) << "nothing is read twice";
    EXPECT_EQ(fake_.OpenObjects(), 0u);
  }
}

TEST_F(RangeSessionTest, WithoutASecondGroupThereIsNoNextPass) {
  const auto session = Make();
  ASSERT_FALSE(session->Open(options_).failed());
  EXPECT_FALSE(session->HasNextPass());
  ASSERT_FALSE(session->Close(&values_, &extra_).failed());
}

TEST_F(RangeSessionTest, NoMemoryForTheCounterDataLeavesNoObjectOpen) {
  fake_.throws_in = "RangeProfilerGetCounterDataSize";
  const auto session = Make();
  EXPECT_TRUE(session->Open(options_).failed());
  EXPECT_FALSE(session->is_open());
  EXPECT_EQ(fake_.OpenObjects(), 0u);
  EXPECT_EQ(fake_.HostObjects(), 0u);
  fake_.Succeed();
  ASSERT_FALSE(session->Open(options_).failed());
  ASSERT_FALSE(session->Close(&values_, nullptr).failed());
}

}  // namespace
}  // namespace gx::inject
