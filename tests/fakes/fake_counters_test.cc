// The fakes' hardware counters, with the probe as the client: what a range counts, and what is punished.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/fake_metrics.h"
#include "tests/fakes/run_host.h"
#include "tests/support/temp_dir.h"

namespace gx::fakes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// -------------------------------------------------------------------------------------------- the arithmetic

TEST(FakeMetrics, AMetricIsACounterOfTheChipWithARollup) {
  EXPECT_TRUE(MetricExists("smsp__inst_executed.sum"));
  EXPECT_TRUE(MetricExists("sm__warps_active.avg.pct_of_peak_sustained_active"));
  EXPECT_FALSE(MetricExists("smsp__inst_executed"));
  EXPECT_FALSE(MetricExists("smsp__inst_executed.total"));
  EXPECT_FALSE(MetricExists("smsp__no_such_thing.sum"));
  EXPECT_FALSE(MetricExists("dram__bytes_op_read.sum"));  // Of another chip.
}

TEST(FakeMetrics, PeaksAndRollupsTakeNoRoomAndPatchedCodeHasAPassOfItsOwn) {
  std::vector<std::string> metrics;
  for (size_t i = 0; metrics.size() < kSlotsPerPass; ++i) {
    if (!IsSassMetric(kMetricNames[i])) metrics.push_back(std::string(kMetricNames[i]) + ".sum");
  }
  EXPECT_THAT(PlanPasses(metrics), ::testing::Each(0u));
  metrics.push_back(metrics.front().substr(0, metrics.front().find('.')) + ".max");
  metrics.push_back("smsp__inst_executed.sum.peak_sustained");
  EXPECT_THAT(PlanPasses(metrics), ::testing::Each(0u));
  metrics.push_back("smsp__warps_eligible.sum");
  EXPECT_EQ(PlanPasses(metrics).back(), 1u);
  EXPECT_THAT(PlanPasses({"smsp__sass_inst_executed.sum", "smsp__inst_executed.sum"}), ElementsAre(1u, 0u));
}

TEST(FakeMetrics, ValuesFollowFromWhatRan) {
  CountedWork work;
  const uint32_t grid[3] = {8, 1, 1};
  const uint32_t block[3] = {96, 1, 1};
  CountKernel("axpy", grid, block, 20'000, false, &work);
  EXPECT_EQ(MetricValue("smsp__inst_executed.sum", work, false), 2400);
  EXPECT_EQ(MetricValue("smsp__sass_inst_executed.sum", work, false), 2400);
  EXPECT_EQ(MetricValue("dram__bytes_read.sum", work, false), 8 * 96 * 8);
  EXPECT_EQ(MetricValue("dram__bytes_write.sum", work, false), 8 * 96 * 4);
  EXPECT_EQ(MetricValue("dram__bytes_write.sum", work, true), 8 * 96 * 4 * 1.03);
  EXPECT_EQ(MetricValue("sm__pipe_tensor_cycles_active.sum", work, false), 0);
  EXPECT_EQ(MetricValue("sm__cycles_active.max", work, false), 40'000);
  EXPECT_EQ(MetricValue("lts__t_bytes.sum.peak_sustained", work, false), 9024);
  CountKernel("gemm", grid, block, 20'000, true, &work);
  EXPECT_EQ(MetricValue("smsp__inst_executed.sum", work, false), 2400 + 3168);
  EXPECT_GT(MetricValue("sm__pipe_tensor_cycles_active.sum", work, false), 0);
}

// -------------------------------------------------------------------------------------------------- sessions

class FakeCounters : public ::testing::Test {
 protected:
  HostRun Run(const std::vector<std::string>& arguments, const std::string& metrics, Environment environment = {}) {
    environment["CUDA_INJECTION64_PATH"] = GX_FAKES_DIR "/libprobe_injection.so";
    environment["PROBE_OUTPUT"] = folder_.File("probe.txt");
    environment["PROBE_CUPTI"] = GX_FAKES_DIR "/libcupti.so.13";
    environment["PROBE_COUNTERS"] = metrics;
    HostRun run(arguments, environment, folder_.path());
    seen_ = ReadFakeLog(folder_.File("probe.txt"));
    return run;
  }
  // Values that the probe read, by range.
  std::vector<double> Values(const std::string& metric) const {
    std::vector<double> values;
    for (const LogEntry& entry : seen_.Of("value", "metric", metric)) {
      values.push_back(std::strtod(entry.Text("value").c_str(), nullptr));
    }
    return values;
  }
  static std::vector<std::string> Violations(const HostRun& run) {
    std::vector<std::string> texts;
    for (const LogEntry& entry : run.log.Of("violation")) texts.push_back(entry.Text("what"));
    return texts;
  }
  FakeLog seen_;
  testing::TempDir folder_;
};

constexpr char kInstructions[] = "smsp__inst_executed.sum";
constexpr char kSpinKernelName[] = "spin_until_launch";
constexpr char kReleaseKernelName[] = "release";
constexpr char kSassInstructions[] = "smsp__sass_inst_executed.sum";

TEST_F(FakeCounters, EachRangeCountsItsLaunch) {
  const HostRun run = Run({"sampled", "n=3"}, "smsp__inst_executed.sum,dram__bytes_write.sum");
  EXPECT_EQ(run.result.out, "sampled\n") << run.result.err;
  EXPECT_THAT(Violations(run), IsEmpty());
  EXPECT_THAT(seen_.Of("counters", "passes", "1"), SizeIs(1));
  EXPECT_THAT(Values(kInstructions), ElementsAre(2400, 4800, 7200));
  EXPECT_THAT(Values("dram__bytes_write.sum"), ElementsAre(3072 * 1.03, 6144, 9216));
  EXPECT_THAT(run.log.Of("range", "kernels", "1"), SizeIs(3));
}

TEST_F(FakeCounters, PatchedCodeCountsTheSame) {
  const HostRun run = Run({"sampled", "n=3", "names=gemm"}, kSassInstructions);
  EXPECT_THAT(Violations(run), IsEmpty());
  EXPECT_THAT(Values(kSassInstructions), ElementsAre(2400, 4800, 7200));
}

TEST_F(FakeCounters, EqualNamesCollapseIntoOneRange) {
  Run({"sampled", "n=3"}, kInstructions, {{"PROBE_MISUSE", "same_names"}});
  EXPECT_THAT(Values(kInstructions), ElementsAre(14400));
}

TEST_F(FakeCounters, ASecondConfigurationGivesNothingButNaN) {
  const HostRun run = Run({"sampled", "n=2"}, kInstructions, {{"PROBE_MISUSE", "second_config"}});
  ASSERT_THAT(Values(kInstructions), SizeIs(2));
  EXPECT_TRUE(std::isnan(Values(kInstructions)[0]));
  EXPECT_THAT(Violations(run), SizeIs(1));
}

TEST_F(FakeCounters, AHostObjectIsOfOneSession) {
  const HostRun run = Run({"sampled", "n=2"}, kInstructions, {{"PROBE_MISUSE", "host_again"}});
  EXPECT_THAT(Violations(run), ElementsAre(HasSubstr("host object of an earlier")));
}

TEST_F(FakeCounters, WhatNeedsAnotherPassIsNaN) {
  const HostRun run =
      Run({"sampled", "n=1"}, "smsp__inst_executed.sum,dram__bytes_read.sum", {{"PROBE_MISUSE", "two_calls"}});
  EXPECT_THAT(seen_.Of("counters", "passes", "2"), SizeIs(1));
  EXPECT_THAT(Values(kInstructions), ElementsAre(2400));
  EXPECT_TRUE(std::isnan(Values("dram__bytes_read.sum").at(0)));
}

TEST_F(FakeCounters, MetricsAreAddedBeforeTheImage) {
  Run({"sampled", "n=1"}, kInstructions, {{"PROBE_MISUSE", "after_image"}});
  EXPECT_THAT(seen_.Of("counters", "failed", "cuptiProfilerHostConfigAddMetrics"), SizeIs(1));
  EXPECT_THAT(seen_.Of("counters", "result", "999"), SizeIs(1));
}

TEST_F(FakeCounters, OneUnknownMetricFailsAll) {
  Run({"sampled", "n=1"}, "smsp__inst_executed.sum,smsp__no_such_thing.sum");
  EXPECT_THAT(seen_.Of("counters", "result", "1"), SizeIs(1));
}

TEST_F(FakeCounters, MoreRangesThanAskedForAreRefused) {
  Run({"sampled", "n=6"}, kInstructions);
  EXPECT_THAT(seen_.Of("counters", "failed", "cuptiRangeProfilerPushRange"), SizeIs(1));
  EXPECT_THAT(Values(kInstructions), SizeIs(4));
}

TEST_F(FakeCounters, KernelActivityAddsInstructions) {
  const HostRun run = Run({"sampled", "n=1"}, kInstructions, {{"PROBE_BOTH", "1"}});
  EXPECT_THAT(Values(kInstructions), ElementsAre(3168));
  EXPECT_THAT(Violations(run), ElementsAre("a kernel is counted while kernel activity is on"));
}

TEST_F(FakeCounters, ARangeCountsAllThatTheContextRunsUntilItsPop) {
  const HostRun run = Run({"sampled", "n=3", "copies=1"}, "smsp__inst_executed.sum,dram__bytes_read.sum",
                          {{"PROBE_MISUSE", "late_pop"}});
  EXPECT_THAT(Violations(run), IsEmpty());
  EXPECT_THAT(Values(kInstructions), ElementsAre(14400));
  EXPECT_THAT(Values("dram__bytes_read.sum"), ElementsAre((8 + 16 + 24) * 96 * 8 + 3 * 4096));
}

TEST_F(FakeCounters, WithoutPermissionOrSupportCallsSaySo) {
  Run({"sampled", "n=1"}, kInstructions, {{"FAKE_CUPTI_COUNTERS", "denied"}});
  EXPECT_THAT(seen_.Of("counters", "result", "35"), SizeIs(1));
}

TEST_F(FakeCounters, TheProfilerHasToBeInitialised) {
  Run({"sampled", "n=1"}, kInstructions, {{"PROBE_MISUSE", "not_initialized"}});
  EXPECT_THAT(seen_.Of("counters", "result", "15"), SizeIs(1));
}

TEST_F(FakeCounters, TheNthCallCanFail) {
  Run({"sampled", "n=3"}, kInstructions, {{"FAKE_FAIL", "cuptiRangeProfilerPushRange:2=999"}});
  EXPECT_THAT(seen_.Of("counters", "failed", "cuptiRangeProfilerPushRange"), SizeIs(1));
  EXPECT_THAT(Values(kInstructions), ElementsAre(2400));
}

// --------------------------------------------------------------------------------------------------- waiting

// A program that hangs for ever, as the real library would have it; ended after two seconds.
class FakeCountersWait : public FakeCounters {
 protected:
  FakeLog RunUntilKilled(const std::vector<std::string>& arguments, const std::string& metrics, const std::string& only,
                         const std::string& hang = "") {
    const Environment environment =
        HostEnvironment(folder_.path(), {{"FAKE_HANG", hang},
                                         {"CUDA_INJECTION64_PATH", GX_FAKES_DIR "/libprobe_injection.so"},
                                         {"PROBE_OUTPUT", folder_.File("probe.txt")},
                                         {"PROBE_CUPTI", GX_FAKES_DIR "/libcupti.so.13"},
                                         {"PROBE_COUNTERS", metrics},
                                         {"PROBE_ONLY", only}});
    std::vector<std::string> command = {"/usr/bin/timeout", "--signal=KILL", "2"};
    for (const std::string& word : HostCommand(arguments, environment)) command.push_back(word);
    const testing::CommandResult result = testing::RunCommand(command);
    EXPECT_TRUE(result.signal == SIGKILL || result.exit_code == 128 + SIGKILL) << result.out << result.err;
    return ReadFakeLog(folder_.File("gpu.log"));
  }
  static size_t Calls(const FakeLog& log, const std::string& function) {
    return log.Of("cupti", "function", function).size();
  }
};

TEST_F(FakeCountersWait, PushWaitsForEveryStream) {
  const FakeLog log = RunUntilKilled({"spin"}, kInstructions, kReleaseKernelName);
  EXPECT_THAT(log.Of("launch", "name", kSpinKernelName), SizeIs(1));
  EXPECT_EQ(Calls(log, "cuptiRangeProfilerStart"), 1u);
  EXPECT_THAT(log.Of("counters", "does", "start"), IsEmpty());  // It waits already.
  EXPECT_THAT(log.Of("launch", "name", kReleaseKernelName), IsEmpty());
}

TEST_F(FakeCountersWait, PopWaitsForTheKernel) {
  const FakeLog log = RunUntilKilled({"spin"}, kInstructions, kSpinKernelName);
  EXPECT_THAT(log.Of("launch", "name", kSpinKernelName), SizeIs(1));
  EXPECT_EQ(Calls(log, "cuptiRangeProfilerPopRange"), 1u);
  EXPECT_THAT(log.Of("range"), IsEmpty());
}

TEST_F(FakeCountersWait, ALaunchThatPatchedCodeCountsWaitsItself) {
  const FakeLog log = RunUntilKilled({"spin"}, kSassInstructions, kSpinKernelName);
  EXPECT_THAT(log.Of("launch", "name", kSpinKernelName), SizeIs(1));
  EXPECT_EQ(Calls(log, "cuptiRangeProfilerPushRange"), 1u);
  EXPECT_EQ(Calls(log, "cuptiRangeProfilerPopRange"), 0u);
}

TEST_F(FakeCountersWait, AHangIsACallThatNeverReturns) {
  const FakeLog log = RunUntilKilled({"sampled", "n=3"}, kInstructions, "", "cuptiRangeProfilerPopRange:2");
  EXPECT_THAT(log.Of("range"), SizeIs(1));
  EXPECT_THAT(log.Of("hangs", "function", "cuptiRangeProfilerPopRange"), SizeIs(1));
}

// ------------------------------------------------------------------------------------- streams and open ends

class FakeStreams : public FakeCounters {};

TEST_F(FakeStreams, WhatIsBehindAKernelThatWaitsRunsAfterIt) {
  const HostRun run = Run({"async"}, kInstructions, {{"PROBE_ONLY", "none"}});
  EXPECT_EQ(run.result.out, "idle: 0\nwaiting: 600 600, called 0\ndone: 0 0, called 1\n") << run.result.err;
  const auto kernels = run.log.Of("kernel");
  ASSERT_THAT(kernels, SizeIs(1));
  EXPECT_GT(kernels[0].Number("end"), kernels[0].Number("start"));
  // The log has them in another order: two threads release them.
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const LogEntry& transfer : run.log.Of("transfer")) {
    spans.emplace_back(transfer.Number("start"), transfer.Number("end"));
  }
  std::sort(spans.begin(), spans.end());
  EXPECT_THAT(spans, SizeIs(4));
  uint64_t end_ns = kernels[0].Number("end");
  for (const auto& [start, end] : spans) {
    EXPECT_GE(start, end_ns);
    end_ns = end;
  }
}

TEST_F(FakeStreams, AReleasedKernelEndsWhenTheOtherStarts) {
  const HostRun run = Run({"spin", "ms=1"}, kInstructions, {{"PROBE_ONLY", "none"}});
  EXPECT_EQ(run.result.out, "spun\n") << run.result.err;
  const auto spun = run.log.Of("kernel", "name", kSpinKernelName);
  const auto released = run.log.Of("kernel", "name", kReleaseKernelName);
  ASSERT_THAT(spun, SizeIs(1));
  ASSERT_THAT(released, SizeIs(1));
  EXPECT_EQ(spun[0].Number("end"), released[0].Number("start") + 32);
}

TEST_F(FakeStreams, AQueryThatACaptureForbidsEndsIt) {
  const HostRun run = Run({"forbidden"}, kInstructions, {{"PROBE_ONLY", "none"}});
  EXPECT_EQ(run.result.out, "query: 906\nend of capture: 901\n");
  EXPECT_THAT(Violations(run), SizeIs(1));
}

TEST_F(FakeStreams, EveryScenarioEndsByItself) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> scenarios = {
      {{"spin", "how=host", "ms=5"}, "spun\n"},
      {{"spin", "other_device=1", "ms=5"}, "spun\n"},
      {{"capture", "ms=20"}, "invalid captures: 0\n"},
      {{"replay", "ms=5"}, "replayed\n"},
      {{"reset", "ms=5", "resets=2"}, "reset 2\n"},
      {{"pair", "ms=5"}, "pair\n"},
      {{"pair", "ms=5", "across=devices"}, "pair\n"},
      {{"sampled", "ms=5", "cooperative=1", "threads=2", "streams=2", "sync_every=0"}, "sampled\n"},
      {{"behaviour", "ms=2", "what=peer"}, "behaved as peer\n"},
      {{"behaviour", "ms=2", "what=ipc"}, "behaved as ipc\n"},
      {{"behaviour", "ms=2", "what=multicast"}, "behaved as multicast\n"},
      {{"behaviour", "ms=2", "what=managed"}, "behaved as managed\n"},
      {{"behaviour", "ms=2", "what=hostalloc"}, "behaved as hostalloc\n"},
      {{"behaviour", "ms=2", "what=register"}, "behaved as register\n"},
      {{"behaviour", "ms=2", "what=pool"}, "behaved as pool\n"},
      {{"behaviour", "ms=2", "what=waitvalue"}, "behaved as waitvalue\n"},
      {{"behaviour", "ms=2", "what=hostfunc"}, "behaved as hostfunc\n"},
  };
  for (const auto& [arguments, out] : scenarios) {
    const HostRun run = Run(arguments, kInstructions, {{"PROBE_ONLY", "none"}});
    EXPECT_EQ(run.result.out, out) << run.result.err;
    EXPECT_EQ(run.result.exit_code, 0) << arguments[0];
    EXPECT_THAT(Violations(run), IsEmpty()) << arguments[0];
  }
}

}  // namespace
}  // namespace gx::fakes
