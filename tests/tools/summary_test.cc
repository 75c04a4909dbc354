#include "tools/run/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

namespace gx::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Summary, IsOfTheLargestTraces) {
  EXPECT_THAT(
      SummaryCommand("/x/gx-analyze", {{"a.pb", 10, 1}, {"b.pb", 5, 2}}),
      ElementsAre("/x/gx-analyze", "--no-report", "--section", "run,kernels", "--top", "10", "--", "a.pb", "b.pb"));
  std::vector<RunTrace> many(100, {"t.pb", 1, 1});
  EXPECT_EQ(SummaryCommand("a", many).size(), SummaryCommand("a", {}).size() + kMaxSummarised);
}

TEST(Summary, IsLeftOutWhereItTakesTooLong) {
  const SignalGate gate;
  EXPECT_THAT(ShowSummary({"/bin/sleep", "60"}, gate, 50), HasSubstr("took longer than"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "no child is left";
}

TEST(Summary, EndsWithTheProgramThatShowsIt) {
  const SignalGate gate;
  EXPECT_EQ(ShowSummary({"/bin/sh", "-c", "exit 1"}, gate, 60'000), "");
  EXPECT_THAT(ShowSummary({"/bin/sh", "-c", "kill -KILL $$"}, gate, 60'000), HasSubstr("signal 9"));
}

TEST(Summary, GoesToStandardError) {
  const SignalGate gate;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const std::string problem = ShowSummary({"/bin/echo", "the report"}, gate, 60'000);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "the report\n");
  EXPECT_EQ(problem, "");
}

TEST(Summary, AMissingAnalyzerIsSaid) {
  const SignalGate gate;
  EXPECT_THAT(ShowSummary({"/nowhere/gx-analyze"}, gate, 60'000), HasSubstr("no summary: /nowhere/gx-analyze"));
}

}  // namespace
}  // namespace gx::tools
