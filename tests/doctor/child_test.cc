#include "tools/doctor/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "tests/support/temp_dir.h"

namespace gx::doctor {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kLong{60'000};
constexpr std::chrono::milliseconds kShort{300};

ChildResult Shell(const std::string& script, std::chrono::milliseconds deadline = kLong,
                  const Environment& environment = Environment({"PATH=/usr/bin:/bin"})) {
  return RunProgram({"/bin/sh", "-c", script}, environment, deadline);
}

TEST(RunProgram, GivesOutputAndExitCode) {
  const ChildResult result = Shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.end, ChildEnd::kExited);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(EndText(result), "ended with exit code 3");
  EXPECT_TRUE(Shell("true").ok());
}

TEST(RunProgram, GivesTheEnvironmentAndNothingElse) {
  EXPECT_EQ(Shell("echo $A", kLong, Environment({"A=b c"})).out, "b c\n");
  EXPECT_EQ(Shell("cat").out, "") << "standard input is empty";
}

TEST(RunProgram, SaysWhichSignalEndedIt) {
  const ChildResult result = Shell("kill -SEGV $$");
  EXPECT_EQ(result.end, ChildEnd::kSignalled);
  EXPECT_EQ(result.code, SIGSEGV);
  EXPECT_THAT(EndText(result), HasSubstr("signal 11"));
}

TEST(RunProgram, EndsWhatDoesNotEndWithAllThatItStarted) {
  testing::TempDir folder;
  const ChildResult result =
      Shell("echo before; sleep 1000 & echo $! > " + folder.File("pid") + "; trap '' TERM; wait", kShort);
  EXPECT_EQ(result.end, ChildEnd::kTimedOut);
  EXPECT_EQ(result.out, "before\n");
  EXPECT_THAT(EndText(result), HasSubstr("did not end"));
  const ChildResult pid = Shell("cat " + folder.File("pid"));
  ASSERT_FALSE(pid.out.empty());
  // Killed with its group; what is left at most is a process that nobody has waited for.
  const ChildResult state =
      Shell("cat /proc/" + pid.out.substr(0, pid.out.size() - 1) + "/stat 2>/dev/null || echo gone");
  EXPECT_TRUE(state.out == "gone\n" || state.out.find(") Z ") != std::string::npos) << state.out;
}

TEST(RunProgram, DoesNotWaitForWhatAProgramLeavesBehind) {
  const ChildResult result = Shell("sleep 1000 & echo done");
  EXPECT_EQ(result.end, ChildEnd::kExited);
  EXPECT_EQ(result.out, "done\n");
}

TEST(RunProgram, KeepsTheFirstOfTooMuchOutput) {
  const ChildResult result = Shell("head -c 5000000 /dev/zero");
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.out.size(), ChildResult::kMaxOutputBytes);
}

TEST(RunProgram, SaysWhyAProgramDidNotStart) {
  const ChildResult result = RunProgram({"/nowhere/program"}, Environment(), kLong);
  EXPECT_EQ(result.end, ChildEnd::kNotStarted);
  EXPECT_EQ(result.code, ENOENT);
  EXPECT_THAT(EndText(result), HasSubstr("No such file"));
  EXPECT_EQ(RunProgram({}, Environment(), kLong).end, ChildEnd::kNotStarted);
}

TEST(Probe, GivesAnswersInOrder) {
  const ProbeResult result = Probe(
      [](const Answer& answer) {
        answer("a", "1");
        answer("b", "two\nlines");
        answer("a", "2");
        answer("c", "x");
      },
      kLong);
  EXPECT_TRUE(result.child.ok());
  EXPECT_EQ(result.answers.Get("a"), "1");
  EXPECT_EQ(result.answers.Last("a"), "2");
  EXPECT_EQ(result.answers.Number("a"), 1);
  EXPECT_EQ(result.answers.Get("b"), "two lines");
  EXPECT_EQ(result.answers.Number("c"), std::nullopt);
  EXPECT_EQ(result.answers.Get("d"), std::nullopt);
}

TEST(Probe, KeepsWhatWasSaidBeforeItDiedOrHung) {
  const ProbeResult died = Probe(
      [](const Answer& answer) {
        answer("a", "1");
        (void)::signal(SIGABRT, SIG_DFL);
        (void)::kill(::getpid(), SIGABRT);
      },
      kLong);
  EXPECT_EQ(died.child.end, ChildEnd::kSignalled);
  EXPECT_EQ(died.answers.Get("a"), "1");
  const ProbeResult hung = Probe(
      [](const Answer& answer) {
        answer("a", "1");
        while (true) ::pause();
      },
      kShort);
  EXPECT_EQ(hung.child.end, ChildEnd::kTimedOut);
  EXPECT_EQ(hung.answers.Get("a"), "1");
}

TEST(Probe, AnExceptionIsAnExitCode) {
  EXPECT_EQ(Probe([](const Answer&) { throw 1; }, kLong).child.code, 1);
}

TEST(Probe, LoadsNobodysInjectionLibrary) {
  ASSERT_EQ(::setenv("CUDA_INJECTION64_PATH", "/x.so", 1), 0);
  const ProbeResult result = Probe(
      [](const Answer& answer) { answer("set", ::getenv("CUDA_INJECTION64_PATH") == nullptr ? "no" : "yes"); }, kLong);
  EXPECT_EQ(result.answers.Get("set"), "no");
  EXPECT_STREQ(::getenv("CUDA_INJECTION64_PATH"), "/x.so");
  ASSERT_EQ(::unsetenv("CUDA_INJECTION64_PATH"), 0);
}

}  // namespace
}  // namespace gx::doctor
