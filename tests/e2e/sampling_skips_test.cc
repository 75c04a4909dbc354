// What is not sampled, and why: names, behaviour, kernels that wait, busy streams, captures, resets. The program never
// hangs and never changes; what was left out is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/sampling.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SamplingSkips : public SamplingTest {};

bool HasDenials(const Capture& capture) { return !capture.trace.counter_denials.empty(); }

TEST_F(SamplingSkips, CommunicationKernelsByName) {
  const Capture capture = SampleUntil({"sampled", "ms=1600", "names=nccl", "kernels=1"}, {}, HasDenials);
  EXPECT_EQ(capture.result.out, "sampled\n");
  ExpectWhole(capture);
  EXPECT_THAT(capture.log.Of("range"), IsEmpty());
  EXPECT_THAT(Denials(capture.trace), ElementsAre("ncclDevKernel_AllReduce_Sum_f32_RING_LL_0: REASON_NAME"));
  EXPECT_THAT(capture.trace.Stat(v1::STAT_COUNTER_SKIPPED_DENIED_NAME), Gt(0u));
}

TEST_F(SamplingSkips, KernelsThatTheUserNames) {
  const auto kernels_of = [](const TraceView& trace) {
    std::set<std::string> kernels;
    for (const auto& sample : GoodSamples(trace)) kernels.insert(KernelName(trace, sample));
    return kernels;
  };
  const Capture capture = SampleUntil({"sampled", "ms=1800"}, {{"GPUEXEC_COUNTERS_DENY", "*sampled_1*"}},
                                      [&](const Capture& run) { return kernels_of(run.trace).size() >= 2; });
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(Denials(capture.trace), ElementsAre("_Z8sampled_1Pf: REASON_USER"));
  EXPECT_THAT(kernels_of(capture.trace), ElementsAre("_Z8sampled_0Pf", "_Z8sampled_2Pf"));
}

TEST_F(SamplingSkips, CooperativeLaunches) {
  const Capture capture = SampleUntil({"sampled", "ms=1600", "cooperative=1", "kernels=1"}, {}, HasDenials);
  ExpectWhole(capture);
  EXPECT_THAT(capture.log.Of("range"), IsEmpty());
  EXPECT_THAT(Denials(capture.trace), Contains(HasSubstr("REASON_COOPERATIVE")));
}

struct Behaviour {
  const char* what;
  const char* reason;

  friend void PrintTo(const Behaviour& behaviour, std::ostream* out) { *out << behaviour.what; }
};

class ContextBehaviour : public SamplingTest, public ::testing::WithParamInterface<Behaviour> {};

TEST_P(ContextBehaviour, KeepsAContextOut) {
  const Capture capture = SampleUntil({"behaviour", std::string("what=") + GetParam().what, "ms=1600"}, {}, HasDenials);
  EXPECT_EQ(capture.result.out, std::string("behaved as ") + GetParam().what + "\n");
  ExpectWhole(capture);
  EXPECT_THAT(capture.log.Of("range"), IsEmpty());
  EXPECT_THAT(capture.log.Of("counters", "does", "enable"), IsEmpty());
  EXPECT_THAT(Denials(capture.trace), Contains(HasSubstr(GetParam().reason)));
}

INSTANTIATE_TEST_SUITE_P(Every, ContextBehaviour,
                         ::testing::Values(Behaviour{"peer", "REASON_PEER_MEMORY"},
                                           Behaviour{"ipc", "REASON_IPC_MEMORY"},
                                           Behaviour{"multicast", "REASON_SYMMETRIC_HEAP"},
                                           Behaviour{"green", "REASON_GREEN_CONTEXT"}),
                         [](const auto& instance) { return instance.param.what; });

// What only replay could not bear is sampled as it runs.
class HarmlessBehaviour : public SamplingTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HarmlessBehaviour, IsSampled) {
  const Capture capture = SampleUntil({"behaviour", std::string("what=") + GetParam(), "ms=1600"});
  EXPECT_EQ(capture.result.out, std::string("behaved as ") + GetParam() + "\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace), Not(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Every, HarmlessBehaviour, ::testing::Values("managed", "hostalloc", "register", "pool"),
                         [](const auto& instance) { return instance.param; });

// -------------------------------------------------------------------------------------------- kernels that wait

TEST_F(SamplingSkips, AKernelThatWaitsForTheHostIsDeniedAfterItsDeadline) {
  const Capture capture = SampleUntil({"spin", "how=host", "ms=2100"}, {}, HasDenials);
  EXPECT_EQ(capture.result.out, "spun\n");
  ExpectWhole(capture);
  EXPECT_THAT(Denials(capture.trace), ElementsAre("spin_until_host: REASON_DEADLINE"));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_COUNTER_COMPLETION_DEADLINES), 1u);
  // Never under patched code: a launch that is counted so does not return.
  for (const fakes::LogEntry& range : capture.log.Of("range", "sass", "1")) EXPECT_EQ(range.Text("kernels"), "1");
  for (const auto& sample : GoodSamples(capture.trace, "sass+")) {
    EXPECT_EQ(KernelName(capture.trace, sample), "common");
  }
}

TEST_F(SamplingSkips, AKernelThatWaitsForALaunchNeverHangsTheProgram) {
  const Capture capture = Sample({"spin", "ms=2100"});
  EXPECT_EQ(capture.result.out, "spun\n");
  ExpectWhole(capture);
  for (const auto& sample : GoodSamples(capture.trace)) {
    EXPECT_NE(KernelName(capture.trace, sample), "spin_until_launch");
  }
}

// ------------------------------------------------------------------------------------------------ busy streams

TEST_F(SamplingSkips, AProgramThatRunsAheadIsNotDisturbed) {
  const Capture capture = Sample({"sampled", "ms=2100", "sync_every=0", "kernel_us=200"});
  EXPECT_EQ(capture.result.out, "sampled\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
}

// --------------------------------------------------------------------------------------------------- captures

TEST_F(SamplingSkips, ACaptureBesideLaunchesStaysValid) {
  const Capture capture = SampleUntil({"capture", "ms=3000"});
  EXPECT_EQ(capture.result.out, "invalid captures: 0\n");
  EXPECT_TRUE(capture.trace.trailer.has_value());
  EXPECT_EQ(capture.trace.launches.size(), capture.log.Of("launch", "captured", "0").size());
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace), Not(IsEmpty()));
}

// ---------------------------------------------------------------------------------------- contexts and devices

TEST_F(SamplingSkips, AResetInMidRunLosesNothing) {
  const Capture capture = SampleUntil({"reset", "ms=1600", "resets=2"});
  EXPECT_EQ(capture.result.out, "reset 2\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
  EXPECT_THAT(GoodSamples(capture.trace), Not(IsEmpty()));
}

TEST_F(SamplingSkips, AResetWhileCountersAreArmedReadsThemFirst) {
  // The parts end in the middle of a window: sessions are long, for most of each part.
  const Capture capture = Sample({"reset", "ms=1300", "resets=3"}, {{"FAKE_CUPTI_RANGE_US", "20000"}});
  EXPECT_EQ(capture.result.out, "reset 3\n");
  ExpectWhole(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
}

TEST_F(SamplingSkips, TwoContextsOfADeviceTakeTurns) {
  const Capture capture = SampleUntil({"pair", "ms=2500"});
  EXPECT_EQ(capture.result.out, "pair\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(GoodSamples(capture.trace), Not(IsEmpty()));
}

TEST_F(SamplingSkips, TwoDevicesAreSampledSideBySide) {
  // Time for a second round: on a busy machine the first one may open a session on one device alone.
  const auto devices_of = [](const TraceView& trace) {
    std::set<uint64_t> devices;
    for (const auto& sample : GoodSamples(trace)) devices.insert(trace.counter_groups.at(sample.group_iid).device_id());
    return devices;
  };
  const Capture capture = SampleUntil({"pair", "across=devices", "ms=4000", "pause_us=400"}, {},
                                      [&](const Capture& run) { return devices_of(run.trace).size() >= 2; });
  EXPECT_EQ(capture.result.out, "pair\n");
  ExpectWhole(capture);
  ExpectWindowsApart(capture);
  ExpectSamplesOfTheirLaunches(capture.trace);
  EXPECT_THAT(devices_of(capture.trace), ElementsAre(0u, 1u));
}

}  // namespace
}  // namespace gx::e2e
