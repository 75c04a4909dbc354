// How a process ends, and what is in the file then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ProcessEnd : public CaptureTest {};

TEST_F(ProcessEnd, ReturnFromMainLosesNothing) {
  const Capture capture = Run({"launch", "n=5000"}, {{"GPUEXEC_COUNTERS", "off"}});
  EXPECT_EQ(capture.result.exit_code, 0);
  EXPECT_THAT(capture.trace.kernels, SizeIs(5000));
  ASSERT_TRUE(capture.trace.trailer.has_value());
  EXPECT_EQ(capture.trace.trailer->reason(), v1::Trailer::REASON_EXIT);
}

TEST_F(ProcessEnd, AnExitCodeIsTheProgramsOwn) {
  const Capture capture = Run({"launch", "n=10", "exit=42"});
  EXPECT_EQ(capture.result.exit_code, 42);
  EXPECT_THAT(capture.trace.kernels, SizeIs(10));
}

TEST_F(ProcessEnd, WorkThatIsQueuedAtTheEndIsWaitedForAndKept) {
  // 200 kernels of 1 ms: the device is busy for 200 ms after main returns.
  const Capture capture = Run({"launch", "n=200", "kernel_us=1000", "sync=0"});
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
}

TEST_F(ProcessEnd, AKernelThatNeverEndsDoesNotHoldTheProgramUp) {
  const Capture capture = Run({"launch", "n=3", "kernel_us=3000000", "sync=0"}, {{"GPUEXEC_EXIT_WAIT", "0.2"}});
  EXPECT_EQ(capture.result.exit_code, 0);
  EXPECT_THAT(capture.trace.launches, SizeIs(3));
  EXPECT_GT(capture.trace.Stat(v1::STAT_LAUNCHES_IN_FLIGHT_AT_EXIT), 0u);
  ASSERT_THAT(capture.trace.kernels, SizeIs(1)) << "the one that had started";
  EXPECT_EQ(capture.trace.kernels[0].timing, v1::KernelBatch::TIMING_UNFINISHED);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_KERNELS_UNFINISHED), 1u);
  ASSERT_TRUE(capture.trace.trailer.has_value());
}

TEST_F(ProcessEnd, AFlushThatNeverReturnsDoesNotHoldTheProgramUp) {
  const Capture capture = Run({"launch", "n=100"}, {{"FAKE_CUPTI_FLUSH_HANGS", "1"}, {"GPUEXEC_EXIT_WAIT", "0.2"}});
  EXPECT_EQ(capture.result.exit_code, 0);
  EXPECT_THAT(capture.trace.launches, SizeIs(100));
  EXPECT_GT(capture.trace.Stat(v1::STAT_FINAL_FLUSH_TIMED_OUT), 0u);
}

TEST_F(ProcessEnd, UnderscoreExitKeepsWhatIsOlderThanASecond) {
  const Capture capture = Run({"launch", "n=1000", "exit=_exit", "sleep_ms=3000"});
  EXPECT_EQ(capture.result.exit_code, 5);
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  EXPECT_FALSE(capture.trace.trailer.has_value());
  EXPECT_EQ(capture.trace.cut_bytes, 0u);
}

TEST_F(ProcessEnd, SigkillKeepsWhatIsOlderThanASecond) {
  const Capture capture = Run({"launch", "n=1000", "exit=kill", "sleep_ms=3000"});
  EXPECT_EQ(capture.result.signal, SIGKILL);
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  EXPECT_FALSE(capture.trace.trailer.has_value());
}

TEST_F(ProcessEnd, AnAbortIsTheProgramsOwnAndKeepsWhatIsOlderThanASecond) {
  const Capture capture = Run({"launch", "n=1000", "exit=abort", "sleep_ms=3000"});
  EXPECT_EQ(capture.result.signal, SIGABRT);
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
}

// Killed in the middle of its work: what is older than a second is in the file, launches and times.
TEST_F(ProcessEnd, AProgramThatIsKilledAtWorkLosesNothingOlderThanASecond) {
  const Capture capture =
      Run({"launch", "n=3000", "pause_us=1000", "exit=kill", "sync=0"}, {{"GPUEXEC_COUNTERS", "off"}});
  EXPECT_EQ(capture.result.signal, SIGKILL);
  uint64_t last_ns = 0;
  for (const fakes::LogEntry& kernel : capture.log.Of("kernel")) last_ns = std::max(last_ns, kernel.Number("end"));
  std::set<uint64_t> launches;
  for (const LaunchRow& launch : capture.trace.launches) launches.insert(launch.record.correlation_id);
  std::set<uint64_t> kernels;
  for (const KernelRow& kernel : capture.trace.kernels) kernels.insert(kernel.record.correlation_id);
  uint64_t older = 0;
  uint64_t missing = 0;
  for (const fakes::LogEntry& kernel : capture.log.Of("kernel")) {
    if (kernel.Number("end") + 1'000'000'000 > last_ns) continue;
    ++older;
    const uint64_t id = kernel.Number("correlation");
    if (!launches.contains(id) || !kernels.contains(id)) ++missing;
  }
  EXPECT_GT(older, 1000u) << "the program was too short to show anything";
  EXPECT_EQ(missing, 0u);
  EXPECT_EQ(capture.trace.cut_bytes, 0u);
}

TEST_F(ProcessEnd, AnImmediateSigkillLeavesAFileThatCanBeReadOrNone) {
  for (int i = 0; i < 5; ++i) {
    const Capture capture = Run({"launch", "n=3000", "exit=kill"});
    EXPECT_EQ(capture.result.signal, SIGKILL);
    EXPECT_EQ(capture.trace.cut_bytes, 0u) << "a frame is one write";
    EXPECT_LE(capture.trace.launches.size(), 3000u);
  }
}

TEST_F(ProcessEnd, TheForcedFlushComesAfterEverythingElseAndOnce) {
  const Capture capture = Run({"launch", "n=100"});
  int forced = 0;
  for (const auto& call : capture.log.Of("cupti", "function", "cuptiActivityFlushAll")) {
    if (call.Text("argument") == "1") {
      ++forced;
    } else {
      EXPECT_EQ(forced, 0) << "a plain flush after the forced one";
    }
  }
  EXPECT_LE(forced, 1);
  EXPECT_THAT(capture.log.Of("cupti", "function", "cuptiFinalize"), IsEmpty());
}

TEST_F(ProcessEnd, AProcessThatNeverUsesTheDeviceIsNotFlushed) {
  const Capture capture = Run({"init"});
  EXPECT_EQ(capture.result.exit_code, 0);
  EXPECT_THAT(capture.log.Of("cupti", "function", "cuptiActivityFlushAll"), IsEmpty());
  EXPECT_FALSE(capture.trace.exists) << "the file is made at the first launch";
}

// The library's own destructors, which were registered while the program ran, have to come after our end: the fakes log
// a violation otherwise, for calls under way at that moment and for later ones.
TEST_F(ProcessEnd, WhatASessionRegistersAtFirstUseIsDestroyedAfterIt) {
  const Capture during = Run({"sampled", "ms=2200"}, {{"GPUEXEC_BUDGET", "off"}, {"FAKE_CUPTI_START_US", "1800000"}});
  EXPECT_EQ(during.result.exit_code, 0);
  ASSERT_THAT(during.log.Of("counters"), Not(IsEmpty())) << "a session was being opened, or nothing was tested";
  ASSERT_TRUE(during.trace.trailer.has_value());
  const Capture after = Run({"sampled", "ms=2500"}, {{"GPUEXEC_BUDGET", "off"}});
  EXPECT_EQ(after.result.exit_code, 0);
  EXPECT_THAT(after.trace.Complaints(), IsEmpty());
}

}  // namespace
}  // namespace gx::e2e
