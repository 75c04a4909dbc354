// GPUEXEC_REPLAY: launches that come once or thrice have samples, all others none of these; what speaks against a
// replay, and each call that fails, costs nothing but the samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/sampling.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Replay : public SamplingTest {
 protected:
  // The five kernels of `rare` once each, unless `arguments` say otherwise.
  Capture Rare(const std::string& mode, const std::vector<std::string>& arguments = {},
               fakes::Environment environment = {}) {
    std::vector<std::string> all = {"rare", "kernels=5"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    environment["GPUEXEC_REPLAY"] = mode;
    Capture capture = Sample(all, environment);
    EXPECT_EQ(capture.result.out, "rare\n");
    EXPECT_EQ(capture.result.exit_code, 0);
    ExpectWhole(capture);
    ExpectSamplesOfTheirLaunches(capture.trace);
    ExpectWindowsApart(capture);
    return capture;
  }
};

bool IsReplayed(const inject::CounterSampleRecord& sample) {
  return (sample.flags & v1::CounterBatch::FLAG_REPLAYED) != 0;
}

// Groups of the replayed samples of each kernel, a name for each sample.
std::map<std::string, std::multiset<std::string>> ReplayedGroups(const TraceView& trace) {
  std::map<std::string, std::multiset<std::string>> groups;
  for (const auto& sample : trace.counter_samples) {
    if (IsReplayed(sample)) groups[KernelName(trace, sample)].insert(GroupName(trace, sample));
  }
  return groups;
}

// Names of the plan's groups without spare ones.
std::multiset<std::string> CoreGroups(const TraceView& trace) {
  std::multiset<std::string> names;
  for (const auto& [iid, group] : trace.counter_groups) {
    if (!group.spare()) names.insert(group.name());
  }
  return names;
}

// As without replay: every launch timed, no window of counters, no sample.
void ExpectNotReplayed(const Capture& capture) {
  EXPECT_THAT(capture.log.Of("replay"), IsEmpty());
  EXPECT_THAT(ReplayedGroups(capture.trace), IsEmpty());
}

TEST_F(Replay, InSeveralPassesEveryKernelThatIsLaunchedOnceHasASampleOfEachGroup) {
  const Capture capture = Rare("multi");
  EXPECT_THAT(capture.log.Of("replay"), SizeIs(5));
  const auto groups = ReplayedGroups(capture.trace);
  ASSERT_THAT(groups, SizeIs(5));
  for (const auto& [kernel, names] : groups) EXPECT_EQ(names, CoreGroups(capture.trace)) << kernel;
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_SAMPLES), capture.trace.counter_samples.size());
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_REPLAYS_REFUSED), 0u);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_NAN_VALUES), 0u);
}

TEST_F(Replay, InSinglePassesALaunchHasOneGroupHardwareFirst) {
  const Capture capture = Rare("single");
  const auto groups = ReplayedGroups(capture.trace);
  ASSERT_THAT(groups, SizeIs(5));
  for (const auto& [kernel, names] : groups) EXPECT_THAT(names, ::testing::ElementsAre("light+")) << kernel;
}

TEST_F(Replay, TheNextLaunchOfASignatureGetsTheNextGroup) {
  const Capture capture = Rare("single", {"times=3"});
  const auto groups = ReplayedGroups(capture.trace);
  ASSERT_THAT(groups, SizeIs(5));
  for (const auto& [kernel, names] : groups) {
    EXPECT_THAT(names, SizeIs(3)) << kernel;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 3u) << kernel;
    EXPECT_TRUE(names.contains("light+") && names.contains("sass+")) << kernel;
  }
}

TEST_F(Replay, ReplayIsOverAfterTheFirstLaunchesOfASignature) {
  const Capture capture = Rare("multi", {"times=5"});
  std::map<std::string, int> replays;
  for (const fakes::LogEntry& replay : capture.log.Of("replay")) ++replays[replay.Text("kernel")];
  ASSERT_THAT(replays, SizeIs(5));
  EXPECT_THAT(replays, Each(::testing::Pair(::testing::_, 3)));
}

TEST_F(Replay, AReplayIsInAWindowOfItsOwnAndNothingElseIsUntimed) {
  const Capture capture = Rare("multi", {"times=4"});
  std::set<uint64_t> sampled;
  for (const auto& sample : capture.trace.counter_samples) {
    EXPECT_TRUE(IsReplayed(sample));
    sampled.insert(sample.correlation_id);
  }
  std::set<uint64_t> timed;
  for (const KernelRow& kernel : capture.trace.kernels) timed.insert(kernel.record.correlation_id);
  for (const LaunchRow& launch : capture.trace.launches) {
    EXPECT_NE(sampled.contains(launch.record.correlation_id), timed.contains(launch.record.correlation_id));
  }
}

TEST_F(Replay, TheFirstSampleTellsThatCountersAreAllowedAndTheDevicesPeaks) {
  const Capture capture = Rare("multi");
  ASSERT_THAT(capture.trace.counter_access, SizeIs(1));
  EXPECT_EQ(capture.trace.counter_access[0].state(), v1::CounterAccess::STATE_ALLOWED);
  EXPECT_THAT(capture.trace.device_peaks, SizeIs(1));
}

TEST_F(Replay, OffIsTheDefault) {
  const Capture capture = Sample({"rare", "kernels=5"});
  ExpectNotReplayed(capture);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_REPLAYS_REFUSED), 0u);
}

// ---------------------------------------------------------------------------------------------- refusals

struct Refusal {
  const char* what;
  std::vector<std::string> arguments;
  fakes::Environment environment;
  const char* text;
};

TEST_F(Replay, WhatSpeaksAgainstItIsToldOnce) {
  const Refusal refusals[] = {
      {"mapped host memory", {"memory=mapped"}, {}, "host memory is mapped"},
      {"much memory in use", {}, {{"FAKE_GPU_USED_MIB", "2049"}}, "more device memory is in use"},
      {"memory that is not known", {}, {{"FAKE_FAIL", "cuMemGetInfo_v2=999"}}, "is not known"},
      {"another stream", {"extra_stream=1"}, {}, "it may be waiting"},
      {"no budget left", {}, {{"GPUEXEC_BUDGET", "0.01"}, {"FAKE_CUPTI_START_US", "700000"}}, "GPUEXEC_BUDGET"},
  };
  for (const Refusal& refusal : refusals) {
    const Capture capture = Rare("multi", refusal.arguments, refusal.environment);
    EXPECT_GT(capture.trace.Stat(v1::STAT_COUNTER_REPLAYS_REFUSED), 1u) << refusal.what;
    EXPECT_THAT(capture.log.Of("replay"), SizeIs(::testing::Le(1u))) << refusal.what;
    const std::string& told = capture.trace.diagnostics;
    ASSERT_THAT(told, HasSubstr(refusal.text)) << refusal.what;
    EXPECT_EQ(told.find(refusal.text), told.rfind(refusal.text)) << refusal.what;
    EXPECT_THAT(capture.trace.Complaints(), IsEmpty()) << refusal.what;
  }
}

TEST_F(Replay, KernelsThatAreNeverSampledAreNeverReplayed) {
  ExpectNotReplayed(Rare("multi", {"names=nccl"}));
  ExpectNotReplayed(Rare("multi", {"cooperative=1"}));
  ExpectNotReplayed(Rare("multi", {}, {{"GPUEXEC_COUNTERS_DENY", "*sampled*"}}));
}

TEST_F(Replay, NothingIsReplayedWithoutCounters) {
  ExpectNotReplayed(Rare("multi", {}, {{"GPUEXEC_COUNTERS", "off"}}));
}

// ---------------------------------------------------------------------------------------------- faults

TEST_F(Replay, ACallThatFailsEndsReplayAndIsNamed) {
  const char* const calls[] = {
      "cuptiRangeProfilerEnable",
      "cuptiRangeProfilerGetCounterDataSize",
      "cuptiRangeProfilerCounterDataImageInitialize",
      "cuptiRangeProfilerSetConfig",
      "cuptiRangeProfilerStart",
      "cuptiRangeProfilerDecodeData",
      "cuptiRangeProfilerGetCounterDataInfo",
      "cuptiRangeProfilerCounterDataGetRangeInfo",
      "cuptiProfilerHostEvaluateToGpuValues",
  };
  for (const char* call : calls) {
    const Capture capture = Rare("multi", {}, {{"FAKE_FAIL", std::string(call) + "=999"}});
    EXPECT_THAT(capture.trace.diagnostics,
                AllOf(HasSubstr("no more launches are replayed"), HasSubstr(std::string(call) + " returned 999")))
        << call;
    EXPECT_GE(capture.trace.Stat(v1::STAT_COUNTER_SESSIONS_FAILED), 1u) << call;
    EXPECT_THAT(capture.log.Of("replay"), SizeIs(::testing::Le(1u))) << call;
    EXPECT_THAT(ReplayedGroups(capture.trace), IsEmpty()) << call;
  }
}

TEST_F(Replay, WithoutPermissionItIsSaidWhatIsLost) {
  const Capture capture = Rare("multi", {}, {{"FAKE_CUPTI_COUNTERS", "denied"}});
  ExpectNotReplayed(capture);
  ASSERT_THAT(capture.trace.counter_access, SizeIs(1));
  EXPECT_EQ(capture.trace.counter_access[0].state(), v1::CounterAccess::STATE_NOT_PERMITTED);
}

TEST_F(Replay, ADeviceWithoutCountersIsLeftAlone) {
  ExpectNotReplayed(Rare("multi", {}, {{"FAKE_CUPTI_COUNTERS", "unsupported"}}));
}

TEST_F(Replay, RareLaunchesAreReplayedAndCommonOnesSampledInOneRun) {
  const Capture capture = Sample({"rare", "kernels=2", "times=300", "pause_ms=1"}, {{"GPUEXEC_REPLAY", "multi"}});
  EXPECT_EQ(capture.result.out, "rare\n");
  ExpectWhole(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  ExpectWindowsApart(capture);
  size_t replayed = 0;
  std::set<uint64_t> sessions;
  for (const auto& sample : capture.trace.counter_samples) {
    replayed += IsReplayed(sample) ? 1 : 0;
    sessions.insert(sample.session_id);
  }
  EXPECT_GT(replayed, 0u);
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
}

}  // namespace
}  // namespace gx::e2e
