// Hardware counters of the running program, from its first launch to the trace: samples are those of their launches,
// timing and counting keep apart, every signature that matters has its samples.
#include "tests/e2e/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Sampling : public SamplingTest {};

// Good samples of each kernel in each group.
std::map<std::pair<std::string, std::string>, size_t> SampleCounts(const TraceView& trace) {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const auto& sample : GoodSamples(trace)) ++counts[{GroupName(trace, sample), KernelName(trace, sample)}];
  return counts;
}

using Enough = std::function<bool(const Capture&)>;

Enough HasSessions(size_t count) {
  return [count](const Capture& capture) { return capture.trace.counter_sessions.size() >= count; };
}

Enough HasSampledSessions(size_t count) {
  return [count](const Capture& capture) {
    std::set<uint64_t> sessions;
    for (const auto& sample : capture.trace.counter_samples) sessions.insert(sample.session_id);
    return sessions.size() >= count;
  };
}

Enough HasSamplesOf(std::string group, size_t count) {
  return [group = std::move(group), count](const Capture& capture) {
    return GoodSamples(capture.trace, group).size() >= count;
  };
}

TEST_F(Sampling, EverySignatureHasThreeSamplesOfEveryCoreGroup) {
  const auto enough = [](const Capture& run) {
    const auto counts = SampleCounts(run.trace);
    return counts.size() >= 9 && std::all_of(counts.begin(), counts.end(), [](const auto& n) { return n.second >= 3; });
  };
  const Capture capture = SampleUntil({"sampled", "ms=2100"}, {}, enough);
  EXPECT_EQ(capture.result.out, "sampled\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  const auto counts = SampleCounts(capture.trace);
  for (const char* group : {"light+", "sass+", "tensor"}) {
    for (const char* kernel : {"_Z8sampled_0Pf", "_Z8sampled_1Pf", "_Z8sampled_2Pf"}) {
      const auto found = counts.find({group, kernel});
      EXPECT_TRUE(found != counts.end() && found->second >= 3) << group << " of " << kernel;
    }
  }
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_NAN_VALUES), 0u);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_SAMPLES), capture.trace.counter_samples.size());
  EXPECT_THAT(capture.trace.counter_denials, IsEmpty());
}

TEST_F(Sampling, OneSessionOfCuptiCountsHardwareAndThenPatchedCode) {
  const Capture capture = SampleUntil({"sampled", "ms=2100"}, {}, HasSessions(2));
  ASSERT_THAT(capture.trace.counter_sessions, SizeIs(Ge(2u)));
  std::vector<std::string> groups;
  std::set<uint64_t> windows;
  for (const auto& [id, session] : capture.trace.counter_sessions) {
    groups.push_back(capture.trace.counter_groups.at(session.group_iid()).name());
    windows.insert(session.window_id());
  }
  EXPECT_EQ(groups[0], "light+");
  EXPECT_EQ(groups[1], "sass+");
  EXPECT_EQ(windows.size(), groups.size() - 1) << "the second goes on in the window of the first";
  EXPECT_THAT(capture.log.Of("counters", "does", "enable"), SizeIs(groups.size() - 1));
}

TEST_F(Sampling, AllOtherLaunchesAreTimedOnce) {
  const Capture capture = SampleUntil({"sampled", "ms=2100"});
  EXPECT_THAT(capture.trace.counter_samples, Not(IsEmpty()));
  std::set<uint64_t> timed;
  for (const KernelRow& kernel : capture.trace.kernels) {
    EXPECT_TRUE(timed.insert(kernel.record.correlation_id).second) << "timed twice";
  }
  for (const LaunchRow& launch : capture.trace.launches) {
    const bool in_timing = capture.trace.windows.at(launch.record.window_id).kind() == v1::Window::KIND_TIMING;
    EXPECT_EQ(timed.contains(launch.record.correlation_id), in_timing);
  }
}

TEST_F(Sampling, TheFirstRangeOfASessionIsMarked) {
  const Capture capture = SampleUntil({"sampled", "ms=1600"}, {}, HasSampledSessions(3));
  std::set<uint64_t> sessions;
  for (const auto& sample : capture.trace.counter_samples) {
    EXPECT_EQ((sample.flags & v1::CounterBatch::FLAG_FIRST_OF_SESSION) != 0, sample.range_order == 0);
    sessions.insert(sample.session_id);
  }
  EXPECT_THAT(sessions, SizeIs(Ge(3u)));
}

TEST_F(Sampling, TensorGroupsAreForKernelsWhoseTensorPipeWasActive) {
  const Capture capture = SampleUntil({"sampled", "ms=3000", "names=gemm"}, {}, HasSamplesOf("tensor", 3));
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace, "tensor"), SizeIs(Ge(3u)));
  const Capture plain = SampleUntil({"sampled", "ms=2100"}, {}, HasSamplesOf("tensor", 1));
  EXPECT_THAT(GoodSamples(plain.trace, "light+"), Not(IsEmpty()));
  // This one holds other counters too.
  EXPECT_THAT(GoodSamples(plain.trace, "tensor"), Not(IsEmpty()));
  EXPECT_THAT(GoodSamples(plain.trace, "tensor_bf16"), IsEmpty());
}

TEST_F(Sampling, WithinABudgetTheFirstRoundTakesNoTensorGroupForOtherKernels) {
  const Capture plain = SampleUntil({"sampled", "ms=2100"}, {{"GPUEXEC_BUDGET", "1%"}}, HasSamplesOf("light+", 1));
  EXPECT_THAT(GoodSamples(plain.trace, "light+"), Not(IsEmpty()));
  EXPECT_THAT(GoodSamples(plain.trace, "tensor"), IsEmpty());
}

TEST_F(Sampling, TheUsersOwnMetrics) {
  const Capture capture =
      SampleUntil({"sampled", "ms=1600"}, {{"GPUEXEC_COUNTERS", "smsp__inst_executed.sum,smsp__no_such_thing.sum"}},
                  HasSamplesOf("user", 9));
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace, "user"), SizeIs(Ge(9u)));
  ASSERT_THAT(capture.trace.counter_plans, SizeIs(1));
  ASSERT_EQ(capture.trace.counter_plans[0].dropped_size(), 1);
  EXPECT_EQ(capture.trace.counter_plans[0].dropped(0).name(), "smsp__no_such_thing.sum");
  EXPECT_EQ(capture.trace.counter_plans[0].dropped(0).reason(), v1::DroppedMetric::REASON_DOES_NOT_EXIST);
}

TEST_F(Sampling, TheWholeFullSetInOnePassEach) {
  const auto enough = [](const Capture& run) {
    std::set<std::string> groups;
    for (const auto& sample : GoodSamples(run.trace)) groups.insert(GroupName(run.trace, sample));
    return groups.size() >= 10;
  };
  const Capture capture = SampleUntil({"sampled", "ms=5000", "names=gemm"}, {{"GPUEXEC_COUNTERS", "full"}}, enough);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_NAN_VALUES), 0u);
  std::set<std::string> groups;
  for (const auto& sample : GoodSamples(capture.trace)) groups.insert(GroupName(capture.trace, sample));
  for (const char* group : {"light+", "sass+", "st1", "lat", "lsu", "tensor", "st2", "xbar", "tma", "pipes_a"}) {
    EXPECT_THAT(groups, Contains(group));
  }
}

TEST_F(Sampling, PeaksOfTheDeviceAreToldOnce) {
  const Capture capture = SampleUntil({"sampled", "ms=1600"});
  ASSERT_THAT(capture.trace.device_peaks, SizeIs(1));
  std::map<std::string, double> peaks;
  for (const auto& peak : capture.trace.device_peaks[0].peak()) peaks[peak.metric()] = peak.value();
  EXPECT_EQ(peaks["dram__bytes.sum.peak_sustained"], 1504);
  EXPECT_EQ(peaks["lts__t_sectors.sum.peak_sustained"], 132);
  EXPECT_EQ(peaks["smsp__inst_executed.sum.peak_sustained"], 528);
}

TEST_F(Sampling, AGraphIsOneSampleOfAllItsKernels) {
  const Capture capture = SampleUntil({"replay", "ms=2100"}, {}, HasSamplesOf("light+", 3));
  EXPECT_EQ(capture.result.out, "replayed\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace, "light+"), SizeIs(Ge(3u)));
  for (const auto& sample : capture.trace.counter_samples) {
    EXPECT_NE(sample.graph_exec_id, 0u);
    EXPECT_EQ(sample.signature_iid, 0u);
    EXPECT_EQ(WorkOf(capture.trace, sample).kernel_count, 8u);
  }
}

// Kernels that seldom overlap: counting begins when most of the time has timings of kernels that ran alone.
TEST_F(Sampling, ThreadsAndStreamsOfOneContext) {
  const Capture capture = SampleUntil({"sampled", "ms=3000", "threads=3", "streams=2", "pause_us=400"});
  EXPECT_EQ(capture.result.out, "sampled\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace), Not(IsEmpty()));
}

// Where the driver cannot say at once whether a context is idle, every stream is asked.
TEST_F(Sampling, ADriverWithoutContextEventsHasItsStreamsAsked) {
  const fakes::Environment old_driver = {{"LD_LIBRARY_PATH", GX_FAKES_DIR "/old:" GX_FAKES_DIR}};
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"sampled", "ms=3000", "streams=3", "sync_every=1"}, {"capture", "ms=3000"}}) {
    const Capture capture = SampleUntil(arguments, old_driver);
    EXPECT_EQ(capture.result.out, RunBare({arguments[0], "ms=10"}).out);
    ExpectWindowsApart(capture);
    ExpectSamplesOfTheirLaunches(capture.trace);
    EXPECT_THAT(GoodSamples(capture.trace), Not(IsEmpty())) << arguments[0];
  }
}

TEST_F(Sampling, CopiesBetweenLaunchesAreInNoSample) {
  const Capture capture = SampleUntil({"sampled", "ms=3000", "copies=1"});
  ExpectWhole(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace), Not(IsEmpty()));
}

TEST_F(Sampling, ASampleNamesItsLaunch) {
  const Capture capture = SampleUntil({"sampled", "ms=1600"});
  std::map<uint64_t, const LaunchRow*> launches;
  for (const LaunchRow& launch : capture.trace.launches) launches[launch.record.correlation_id] = &launch;
  EXPECT_THAT(capture.trace.counter_samples, Not(IsEmpty()));
  for (const auto& sample : capture.trace.counter_samples) {
    ASSERT_TRUE(launches.contains(sample.correlation_id));
    const LaunchRow& launch = *launches[sample.correlation_id];
    EXPECT_EQ(launch.record.enter_monotonic_ns, sample.enter_monotonic_ns);
    EXPECT_EQ(launch.record.signature_iid, sample.signature_iid);
    EXPECT_EQ(launch.record.thread_id, sample.thread_id);
    EXPECT_EQ(launch.record.window_id, sample.window_id);
    EXPECT_EQ(launch.track.context_id(), sample.context_id);
  }
}

TEST_F(Sampling, TheBudgetEndsSampling) {
  const Capture capture = SampleUntil(
      {"sampled", "ms=3000", "kernels=9"},
      {{"GPUEXEC_BUDGET", "0.1%"}, {"GPUEXEC_COUNTERS", "full"}, {"FAKE_CUPTI_START_US", "400000"}}, HasSessions(1));
  ExpectWhole(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  // One round of at most 1.5 s is always allowed, and a switch of groups of 0.4 s may be begun in it.
  EXPECT_THAT(capture.trace.counter_sessions, SizeIs(AllOf(Ge(1u), ::testing::Le(5u))));
}

TEST_F(Sampling, OffIsOff) {
  const Capture capture = Sample({"sampled", "ms=300"}, {{"GPUEXEC_COUNTERS", "off"}});
  ExpectWhole(capture);
  EXPECT_THAT(capture.trace.counter_groups, IsEmpty());
  EXPECT_THAT(capture.log.Of("cupti", "function", "cuptiProfilerInitialize"), IsEmpty());
  EXPECT_EQ(capture.trace.kernels.size(), capture.trace.launches.size());
}

TEST_F(Sampling, ShortRunsAreNotSampledAndLoseNothing) {
  const Capture capture = Sample({"launch", "n=200"});
  ExpectWhole(capture);
  EXPECT_EQ(ToldKernels(capture.log), TracedKernels(capture.trace));
}

TEST_F(Sampling, OfAJobOnlyRankZeroIsSampledUnlessItIsAskedFor) {
  const auto sampled = [&](fakes::Environment environment) {
    environment["WORLD_SIZE"] = "2";
    return Sample({"sampled", "ms=1300"}, environment);
  };
  const Capture later = sampled({{"RANK", "1"}});
  ExpectWhole(later);
  EXPECT_THAT(later.trace.counter_samples, IsEmpty());
  EXPECT_EQ(later.trace.kernels.size(), later.trace.launches.size());
  ASSERT_THAT(later.trace.counter_access, SizeIs(1));
  EXPECT_EQ(later.trace.counter_access[0].state(), v1::CounterAccess::STATE_OFF);
  EXPECT_THAT(later.trace.counter_access[0].text(), HasSubstr("rank 1 of a job"));
  const auto sampled_until = [&](fakes::Environment environment) {
    environment["WORLD_SIZE"] = "2";
    return SampleUntil({"sampled", "ms=1300"}, environment);
  };
  EXPECT_THAT(GoodSamples(sampled_until({{"RANK", "0"}}).trace), Not(IsEmpty()));
  EXPECT_THAT(GoodSamples(sampled_until({{"RANK", "1"}, {"GPUEXEC_COUNTERS", "light"}}).trace), Not(IsEmpty()));
}

}  // namespace
}  // namespace gx::e2e
