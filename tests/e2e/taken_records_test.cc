// Another client of CUPTI in the program takes the records: noticed, told and marked in the trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;

class TakenRecords : public CaptureTest {
 protected:
  Capture RunTakeOver(std::vector<std::string> arguments, bool in_mid_run) {
    arguments.insert(arguments.begin(), "takeover");
    arguments.push_back("cupti=" GX_FAKES_DIR "/libcupti.so.13");
    if (in_mid_run) arguments.push_back("until=" + File("log.txt"));
    return Run(arguments, {{"GPUEXEC_LOG", File("log.txt")}, {"GPUEXEC_COUNTERS", "off"}});
  }
};

TEST_F(TakenRecords, AClientThatRegistersItsOwnBuffersIsNoticedWhileTheProgramRuns) {
  const Capture capture = RunTakeOver({"n=10"}, true);
  EXPECT_EQ(capture.result.exit_code, 0);
  EXPECT_EQ(capture.result.out, "register: 0\nthe other client has buffers: yes\n");
  EXPECT_EQ(capture.trace.Stat(v1::STAT_RECORD_GAPS), 1u);
  ASSERT_EQ(capture.trace.record_gaps.size(), 1u);
  const v1::RecordGap& gap = capture.trace.record_gaps.begin()->second;
  EXPECT_FALSE(gap.has_end_monotonic_ns());
  EXPECT_EQ(gap.kernel_count(), capture.trace.launches.size() - capture.trace.kernels.size());
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("another CUPTI client"));
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("looks it up at run time"));
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
}

TEST_F(TakenRecords, OneThatComesRightBeforeTheEndIsNoticedThere) {
  const Capture capture = RunTakeOver({"n=10"}, false);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_RECORD_GAPS), 1u);
  ASSERT_EQ(capture.trace.record_gaps.size(), 1u);
  const v1::RecordGap& gap = capture.trace.record_gaps.begin()->second;
  EXPECT_FALSE(gap.has_end_monotonic_ns());
  EXPECT_EQ(gap.kernel_count(), capture.trace.launches.size() - capture.trace.kernels.size());
}

TEST_F(TakenRecords, RecordsThatComeAgainEndTheSpan) {
  const Capture capture = RunTakeOver({"how=kinds", "back=1", "n=10"}, true);
  EXPECT_EQ(capture.result.out, "disable: 0\nenable: 0\n");
  EXPECT_EQ(capture.trace.Stat(v1::STAT_RECORD_GAPS), 1u);
  ASSERT_EQ(capture.trace.record_gaps.size(), 1u);
  const v1::RecordGap& gap = capture.trace.record_gaps.begin()->second;
  ASSERT_TRUE(gap.has_end_monotonic_ns());
  EXPECT_THAT(gap.begin_monotonic_ns(), Lt(gap.end_monotonic_ns()));
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
}

TEST_F(TakenRecords, ProgramsThatKeepTheirRecordsHaveNoSuchSpan) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"launch", "n=500", "threads=3"}, {"launch", "n=10", "sync=0"}, {"graph"}, {"every"}, {"region"}}) {
    const Capture capture = Run(arguments);
    EXPECT_THAT(capture.trace.record_gaps, IsEmpty()) << arguments.front();
    EXPECT_EQ(capture.trace.Stat(v1::STAT_RECORD_GAPS), 0u) << arguments.front();
  }
}

TEST_F(TakenRecords, LossesThatAreKnownAreNotBlamedOnAnotherClient) {
  for (const fakes::Environment& loss :
       std::vector<fakes::Environment>{{{"FAKE_CUPTI_DROP", "100"}}, {{"FAKE_FAIL", "cuptiActivityEnable=21"}}}) {
    EXPECT_THAT(Run({"launch", "n=100"}, loss).trace.record_gaps, IsEmpty());
  }
}

}  // namespace
}  // namespace gx::e2e
