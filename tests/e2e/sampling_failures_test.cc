// Counters that are refused, fail or hang: the program runs as without the library, launches and times are recorded,
// and the trace says what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/sampling.h"
#include "tests/support/run_command.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::Contains;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SamplingFailures : public SamplingTest {};

// What the trace says of counters that did not come.
bool SaysWhy(const TraceView& trace, const std::string& function) {
  // A range that cannot be ended shows at the end of its session.
  const std::string shows = function == "cuptiRangeProfilerPopRange" ? "cuptiRangeProfilerStop" : function;
  if (trace.diagnostics.find(shows) != std::string::npos) return true;
  for (const v1::CounterAccess& access : trace.counter_access) {
    if (access.text().find(function) != std::string::npos) return true;
  }
  return trace.Stat(v1::STAT_COUNTER_PLANS_FAILED) != 0;
}

TEST_F(SamplingFailures, WithoutPermissionOneMessageSaysHowToAllowIt) {
  const Capture capture = Sample({"sampled", "ms=1400"}, {{"FAKE_CUPTI_COUNTERS", "denied"}});
  EXPECT_EQ(capture.result.out, "sampled\n");
  ExpectWhole(capture);
  EXPECT_EQ(capture.trace.kernels.size(), capture.trace.launches.size());
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_PERMISSION_REFUSED), 1u);
  ASSERT_THAT(capture.trace.counter_access, SizeIs(1));
  EXPECT_EQ(capture.trace.counter_access[0].state(), v1::CounterAccess::STATE_NOT_PERMITTED);
  EXPECT_EQ(capture.trace.counter_access[0].cupti_result(), 35u);
  EXPECT_THAT(capture.trace.counter_access[0].text(), HasSubstr("CAP_SYS_ADMIN"));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_SESSIONS_FAILED), 0u) << "no fault of anybody's";
  EXPECT_THAT(capture.trace.counter_sessions, IsEmpty());
  EXPECT_EQ(capture.trace.diagnostics, "");
#ifdef GX_ANALYZE
  const testing::CommandResult report = testing::RunCommand({GX_ANALYZE, File("trace.pb")});
  EXPECT_EQ(report.exit_code, 0) << report.out;
#endif
}

TEST_F(SamplingFailures, WithoutPermissionReplayIsNoFaultEither) {
  const Capture capture =
      Sample({"sampled", "ms=1400"}, {{"FAKE_CUPTI_COUNTERS", "denied"}, {"GPUEXEC_REPLAY", "single"}});
  ExpectWhole(capture);
  ASSERT_THAT(capture.trace.counter_access, SizeIs(1));
  EXPECT_EQ(capture.trace.counter_access[0].state(), v1::CounterAccess::STATE_NOT_PERMITTED);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_SESSIONS_FAILED), 0u);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_PERMISSION_REFUSED), 1u);
}

TEST_F(SamplingFailures, CountersThatAnotherToolHoldsAreNoFault) {
  const Capture capture = Sample({"sampled", "ms=1400"}, {{"FAKE_FAIL", "cuptiRangeProfilerStart=26"}});
  ExpectWhole(capture);
  EXPECT_EQ(capture.trace.kernels.size(), capture.trace.launches.size());
  ASSERT_THAT(capture.trace.counter_access, SizeIs(1));
  EXPECT_EQ(capture.trace.counter_access[0].state(), v1::CounterAccess::STATE_HELD_BY_OTHER);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_SESSIONS_FAILED), 0u);
}

TEST_F(SamplingFailures, ADeviceWithoutCountersIsNamed) {
  const Capture capture = Sample({"sampled", "ms=500"}, {{"FAKE_CUPTI_COUNTERS", "unsupported"}});
  ExpectWhole(capture);
  EXPECT_EQ(capture.trace.kernels.size(), capture.trace.launches.size());
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_UNSUPPORTED), 1u);
  ASSERT_THAT(capture.trace.counter_access, SizeIs(1));
  EXPECT_EQ(capture.trace.counter_access[0].state(), v1::CounterAccess::STATE_UNSUPPORTED);
}

TEST_F(SamplingFailures, TheCuptiOfCuda12HasNoCounters) {
  const Capture capture =
      Sample({"sampled", "ms=500"}, {{"GPUEXEC_CUPTI", GX_FAKES_DIR "/libcupti.so.12"}, {"FAKE_CUPTI_VERSION", "28"}});
  ExpectWhole(capture);
  EXPECT_EQ(capture.trace.kernels.size(), capture.trace.launches.size());
  ASSERT_THAT(capture.trace.counter_access, SizeIs(1));
  EXPECT_EQ(capture.trace.counter_access[0].state(), v1::CounterAccess::STATE_NO_LIBRARY);
}

// Switching kernel records off may deadlock there: the fake has it for a violation.
TEST_F(SamplingFailures, ACuptiThatMayDeadlockWhereWindowsChangeHasNoCounters) {
  const Capture capture = Sample({"sampled", "ms=500"}, {{"FAKE_CUPTI_VERSION", "130000"}});
  ExpectWhole(capture);
  EXPECT_EQ(capture.trace.kernels.size(), capture.trace.launches.size());
  ASSERT_THAT(capture.trace.counter_access, SizeIs(1));
  EXPECT_EQ(capture.trace.counter_access[0].state(), v1::CounterAccess::STATE_NO_LIBRARY);
  EXPECT_THAT(capture.trace.counter_access[0].text(), HasSubstr("CUPTI 13.0.0"));
  EXPECT_THAT(capture.trace.counter_access[0].text(), HasSubstr("13.0.1"));
}

// Every function in turn returns CUPTI_ERROR_UNKNOWN, always.
struct Failing {
  const char* function;
  bool has_samples = false;  // Counters come nevertheless.

  friend void PrintTo(const Failing& failing, std::ostream* out) { *out << failing.function; }
};

class FailingCounters : public SamplingTest, public ::testing::WithParamInterface<Failing> {};

TEST_P(FailingCounters, TheProgramRunsAndTheTraceSaysWhatIsMissing) {
  const std::string function = GetParam().function;
  const auto enough = [&](const Capture& run) {
    return GetParam().has_samples ? !GoodSamples(run.trace).empty() : SaysWhy(run.trace, function);
  };
  const Capture capture = SampleUntil({"sampled", "ms=1500"}, {{"FAKE_FAIL", function + "=999"}}, enough);
  EXPECT_EQ(capture.result.out, "sampled\n");
  EXPECT_EQ(capture.result.exit_code, 0);
  ExpectWhole(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(capture.trace.kernels, Not(IsEmpty()));
  if (GetParam().has_samples) {
    EXPECT_THAT(GoodSamples(capture.trace), Not(IsEmpty()));
  } else {
    EXPECT_THAT(capture.trace.counter_samples, IsEmpty());
    EXPECT_TRUE(SaysWhy(capture.trace, function)) << capture.trace.diagnostics;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Every, FailingCounters,
    ::testing::Values(
        Failing{"cuptiProfilerInitialize"}, Failing{"cuptiProfilerDeviceSupported"},
        Failing{"cuptiProfilerGetCounterAvailability", true}, Failing{"cuptiDeviceGetChipName"},
        Failing{"cuptiRangeProfilerEnable"}, Failing{"cuptiRangeProfilerDisable", true},
        Failing{"cuptiRangeProfilerSetConfig"}, Failing{"cuptiRangeProfilerStart"}, Failing{"cuptiRangeProfilerStop"},
        Failing{"cuptiRangeProfilerPushRange"}, Failing{"cuptiRangeProfilerPopRange"},
        Failing{"cuptiRangeProfilerDecodeData"}, Failing{"cuptiRangeProfilerGetCounterDataSize"},
        Failing{"cuptiRangeProfilerCounterDataImageInitialize"}, Failing{"cuptiRangeProfilerGetCounterDataInfo"},
        Failing{"cuptiRangeProfilerCounterDataGetRangeInfo"}, Failing{"cuptiProfilerHostEvaluateToGpuValues"},
        Failing{"cuptiProfilerHostInitialize"}, Failing{"cuptiProfilerHostDeinitialize", true},
        Failing{"cuptiProfilerHostGetSupportedChips", true}, Failing{"cuptiProfilerHostGetMetricProperties"},
        Failing{"cuptiProfilerHostConfigAddMetrics"}, Failing{"cuptiProfilerHostGetConfigImageSize"},
        Failing{"cuptiProfilerHostGetConfigImage"}, Failing{"cuptiProfilerHostGetNumOfPasses"}),
    [](const auto& instance) { return instance.param.function; });

// A call that fails once, in the second session: what was read before stays, sampling goes on.
class FailingOnce : public SamplingTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(FailingOnce, TheSessionsBeforeStayAndTheProgramGoesOn) {
  const auto enough = [](const Capture& run) {
    return !GoodSamples(run.trace, "light+").empty() && run.trace.Stat(v1::STAT_COUNTER_SESSIONS_FAILED) > 0;
  };
  const Capture capture =
      SampleUntil({"sampled", "ms=2100"}, {{"FAKE_FAIL", std::string(GetParam()) + ":2=999"}}, enough);
  EXPECT_EQ(capture.result.out, "sampled\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace, "light+"), Not(IsEmpty()));
  EXPECT_THAT(capture.trace.Stat(v1::STAT_COUNTER_SESSIONS_FAILED), Gt(0u));
}

INSTANTIATE_TEST_SUITE_P(Every, FailingOnce,
                         ::testing::Values("cuptiRangeProfilerEnable", "cuptiRangeProfilerSetConfig",
                                           "cuptiRangeProfilerStart", "cuptiRangeProfilerStop",
                                           "cuptiRangeProfilerDecodeData", "cuptiRangeProfilerDisable"),
                         [](const auto& instance) { return instance.param; });

// The driver's functions that sampling asks.
class FailingQueries : public SamplingTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(FailingQueries, TheProgramRuns) {
  const Capture capture = Sample({"sampled", "ms=1500"}, {{"FAKE_FAIL", std::string(GetParam()) + "=999"}});
  EXPECT_EQ(capture.result.out, "sampled\n");
  EXPECT_EQ(capture.result.exit_code, 0);
  ExpectWhole(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
}

INSTANTIATE_TEST_SUITE_P(Every, FailingQueries,
                         ::testing::Values("cuStreamQuery", "cuEventCreate", "cuEventRecord", "cuEventQuery",
                                           "cuEventDestroy_v2", "cuCtxGetCurrent", "cuCtxPushCurrent_v2",
                                           "cuCtxPopCurrent_v2"),
                         [](const auto& instance) { return instance.param; });

// A call on a thread of ours that never comes back: the program ends by itself, and what was recorded is readable.
class HangingCounters : public SamplingTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HangingCounters, TheProgramEnds) {
  const Capture capture = SampleUntil({"sampled", "ms=1500"}, {{"FAKE_HANG", GetParam()}},
                                      [](const Capture& run) { return !run.log.Of("hangs").empty(); });
  EXPECT_THAT(capture.log.Of("hangs"), SizeIs(1));
  EXPECT_EQ(capture.result.out, "sampled\n");
  EXPECT_EQ(capture.result.exit_code, 0);
  ExpectWhole(capture);
}

INSTANTIATE_TEST_SUITE_P(Every, HangingCounters,
                         ::testing::Values("cuptiProfilerInitialize", "cuptiProfilerHostInitialize",
                                           "cuptiProfilerHostConfigAddMetrics", "cuptiRangeProfilerEnable",
                                           "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart",
                                           "cuptiRangeProfilerStop", "cuptiRangeProfilerDecodeData",
                                           "cuptiProfilerHostEvaluateToGpuValues", "cuptiRangeProfilerDisable"),
                         [](const auto& instance) { return instance.param; });

// The one test that needs as long as the watchdog's patience: half a minute.
TEST_F(SamplingFailures, ACallThatNeverComesBackIsNamedWhileTheProgramRuns) {
  const Capture capture = Sample({"sampled", "ms=33000", "pause_us=200"}, {{"FAKE_HANG", "cuptiRangeProfilerStop"}});
  EXPECT_EQ(capture.result.out, "sampled\n");
  ExpectWhole(capture);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_WATCHDOG_FIRED), 1u);
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("stopping a session has not come back"));
}

}  // namespace
}  // namespace gx::e2e
