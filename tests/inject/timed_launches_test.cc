#include "inject/timed_launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kMs = 1'000'000;

TimedKernel Kernel(uint64_t key, uint64_t start_ns, uint64_t duration_ns) {
  TimedKernel kernel;
  kernel.key = key;
  kernel.start_ns = start_ns;
  kernel.end_ns = start_ns + duration_ns;
  return kernel;
}

TimedKernel GraphKernel(uint32_t graph_id, uint64_t correlation_id, uint64_t start_ns, uint64_t duration_ns) {
  TimedKernel kernel = Kernel(1'000 + graph_id, start_ns, duration_ns);
  kernel.graph_id = graph_id;
  kernel.correlation_id = correlation_id;
  return kernel;
}

class TimedLaunchesTest : public ::testing::Test {
 protected:
  // A signature beyond its warm-up.
  void WarmUp(uint64_t key) {
    std::vector<LaunchTime> warm_up;
    for (int i = 0; i < TimedLaunches::kWarmUpLaunches; ++i) {
      launches_.Add(Kernel(key, now_ns_, 10), &warm_up);
      now_ns_ += 100;
      launches_.Settle(&warm_up);
    }
  }
  std::vector<LaunchTime> Settled(const std::vector<TimedKernel>& kernels) {
    std::vector<LaunchTime> times;
    for (const TimedKernel& kernel : kernels) launches_.Add(kernel, &times);
    launches_.Settle(&times);
    return times;
  }
  static std::vector<bool> Clean(const std::vector<LaunchTime>& times) {
    std::vector<bool> clean;
    for (const LaunchTime& time : times) clean.push_back(time.clean);
    return clean;
  }

  TimedLaunches launches_;
  uint64_t now_ns_ = 1'000'000'000;
};

TEST_F(TimedLaunchesTest, TheFirstThreeOfASignatureAreNotClean) {
  std::vector<TimedKernel> kernels;
  for (uint64_t i = 0; i < 5; ++i) {
    kernels.push_back(Kernel(1, now_ns_ + i * 100, 10 + i));
    kernels.push_back(Kernel(2 + i, now_ns_ + i * 100 + 50, 10));
  }
  const auto times = Settled(kernels);
  ASSERT_THAT(times, SizeIs(10));
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(times[2 * i].key, 1u);
    EXPECT_EQ(times[2 * i].duration_ns, 10 + i);
    EXPECT_EQ(times[2 * i].clean, i >= 3) << i;
    EXPECT_FALSE(times[2 * i + 1].clean) << "each the first of its own";
  }
}

TEST_F(TimedLaunchesTest, BothOfTwoThatOverlapAreNotClean) {
  WarmUp(1);
  EXPECT_EQ(Clean(Settled({Kernel(1, now_ns_, 100), Kernel(1, now_ns_ + 99, 100), Kernel(1, now_ns_ + 199, 100)})),
            (std::vector<bool>{false, false, true}))
      << "one that begins as the other ends does not overlap it";
}

TEST_F(TimedLaunchesTest, AnOverlapIsSeenInAnyOrderOfTheRecords) {
  WarmUp(1);
  EXPECT_EQ(Clean(Settled({Kernel(1, now_ns_ + 500, 10), Kernel(1, now_ns_ + 50, 10), Kernel(1, now_ns_, 100)})),
            (std::vector<bool>{true, false, false}));
}

TEST_F(TimedLaunchesTest, ANeighbourOfTheBufferBeforeIsStillKnown) {
  WarmUp(1);
  EXPECT_EQ(Clean(Settled({Kernel(1, now_ns_, 100)})), std::vector<bool>{true}) << "told before the other came";
  EXPECT_EQ(Clean(Settled({Kernel(1, now_ns_ + 50, 100)})), std::vector<bool>{false});
}

TEST_F(TimedLaunchesTest, KernelsOfAnotherDeviceAreNoNeighbours) {
  WarmUp(1);
  TimedKernel elsewhere = Kernel(1, now_ns_, 100);
  elsewhere.device_id = 1;
  EXPECT_EQ(Clean(Settled({Kernel(1, now_ns_, 100), elsewhere})), (std::vector<bool>{true, true}));
}

TEST_F(TimedLaunchesTest, OnlyTheLastRecordsAreCompared) {
  WarmUp(1);
  std::vector<TimedKernel> kernels;
  for (uint64_t i = 0; i < TimedLaunches::kNeighbours + 1; ++i) kernels.push_back(Kernel(1, now_ns_ + i * 100, 10));
  kernels.push_back(Kernel(1, now_ns_, 100'000));
  const auto clean = Clean(Settled(kernels));
  ASSERT_THAT(clean, SizeIs(TimedLaunches::kNeighbours + 2));
  EXPECT_TRUE(clean[0]) << "settled before the long one's record came";
  for (size_t i = 1; i < clean.size(); ++i) EXPECT_FALSE(clean[i]) << i;
}

TEST_F(TimedLaunchesTest, NothingIsToldTwiceAndNothingIsLost) {
  std::vector<LaunchTime> times;
  uint64_t told = 0;
  for (uint64_t i = 0; i < 1'000; ++i) {
    launches_.Add(Kernel(1, now_ns_ + i * 100, 10), &times);
    if (i % 37 == 0) launches_.Settle(&times);
    told += times.size();
    times.clear();
  }
  launches_.Settle(&times);
  told += times.size();
  EXPECT_EQ(told, 1'000u);
  times.clear();
  launches_.Settle(&times);
  EXPECT_THAT(times, IsEmpty());
}

TEST_F(TimedLaunchesTest, RecordsWithoutTimesAreForNobody) {
  EXPECT_THAT(Settled({Kernel(1, 0, 0), Kernel(1, 0, 100)}), IsEmpty());
  TimedKernel unfinished = Kernel(1, 100, 0);
  unfinished.end_ns = 0;
  EXPECT_THAT(Settled({unfinished}), IsEmpty());
}

TEST_F(TimedLaunchesTest, NextToASwitchOfWindowsIsNotClean) {
  // CUPTI's clock is ahead of the monotonic one by an hour.
  constexpr uint64_t kOffsetNs = uint64_t{3600} * 1'000'000'000;
  launches_.SetClocks(kOffsetNs + 5, 5);
  WindowRecord window;
  window.window_id = 4;
  window.begin_monotonic_ns = 1'000 * kMs;
  launches_.SetWindow(window);
  WarmUp(1);
  const auto at = [](uint64_t monotonic_ns) { return Kernel(1, kOffsetNs + monotonic_ns, 1'000); };
  EXPECT_EQ(Clean(Settled({at(1'000 * kMs - 500), at(1'001 * kMs), at(1'006 * kMs), at(1'996 * kMs)})),
            (std::vector<bool>{false, false, true, true}));
  window.end_monotonic_ns = 2'000 * kMs;
  launches_.SetWindow(window);
  EXPECT_EQ(Clean(Settled({at(1'994 * kMs), at(1'997 * kMs), at(2'004 * kMs), at(2'006 * kMs)})),
            (std::vector<bool>{true, false, false, true}));
}

TEST_F(TimedLaunchesTest, WithoutAReadingOfBothClocksWindowsSayNothing) {
  WindowRecord window;
  window.window_id = 4;
  window.begin_monotonic_ns = now_ns_;
  launches_.SetWindow(window);
  WarmUp(1);
  EXPECT_EQ(Clean(Settled({Kernel(1, now_ns_, 10)})), std::vector<bool>{true});
}

TEST_F(TimedLaunchesTest, CounterWindowsHaveNoTimesToJudge) {
  launches_.SetClocks(1, 1);
  WindowRecord window;
  window.window_id = 4;
  window.kind = WindowKind::kCounters;
  window.begin_monotonic_ns = now_ns_;
  launches_.SetWindow(window);
  WarmUp(1);
  EXPECT_EQ(Clean(Settled({Kernel(1, now_ns_, 10)})), std::vector<bool>{true});
}

TEST_F(TimedLaunchesTest, AGraphLaunchIsTheSumOfItsKernelsOnceTheNextOneBegins) {
  std::vector<TimedKernel> kernels;
  for (uint64_t launch = 0; launch < 5; ++launch) {
    const uint64_t begin_ns = now_ns_ + launch * 1'000;
    kernels.push_back(GraphKernel(7, launch + 1, begin_ns, 100));
    // Branches of a graph may run side by side.
    kernels.push_back(GraphKernel(7, launch + 1, begin_ns + 50, 100 + launch));
  }
  const auto times = Settled(kernels);
  ASSERT_THAT(times, SizeIs(4)) << "the last may go on in the next buffer";
  for (uint64_t launch = 0; launch < 4; ++launch) {
    EXPECT_EQ(times[launch].key, 1'007u);
    EXPECT_EQ(times[launch].duration_ns, 200 + launch);
    EXPECT_EQ(times[launch].clean, launch == 3);
  }
}

TEST_F(TimedLaunchesTest, AGraphLaunchBesideAnotherKernelIsNotClean) {
  std::vector<TimedKernel> kernels;
  for (uint64_t launch = 0; launch < 5; ++launch) {
    kernels.push_back(GraphKernel(7, launch + 1, now_ns_ + launch * 1'000, 100));
    kernels.push_back(GraphKernel(7, launch + 1, now_ns_ + launch * 1'000 + 100, 100));
  }
  kernels.push_back(Kernel(1, now_ns_ + 3'150, 10));
  kernels.push_back(GraphKernel(7, 6, now_ns_ + 9'000, 100));
  const auto times = Settled(kernels);
  std::vector<bool> clean;
  for (const LaunchTime& time : times) {
    if (time.key == 1'007) clean.push_back(time.clean);
  }
  EXPECT_EQ(clean, (std::vector<bool>{false, false, false, false, true})) << "warm-up, then the overlapped one";
}

TEST_F(TimedLaunchesTest, AGraphLaunchMayBeSplitBetweenBuffers) {
  EXPECT_THAT(Settled({GraphKernel(7, 1, now_ns_, 100)}), IsEmpty());
  EXPECT_THAT(Settled({GraphKernel(7, 1, now_ns_ + 100, 20)}), IsEmpty());
  const auto times = Settled({GraphKernel(7, 2, now_ns_ + 500, 100)});
  ASSERT_THAT(times, SizeIs(1));
  EXPECT_EQ(times[0].duration_ns, 120u);
}

TEST_F(TimedLaunchesTest, ManyGraphsAreBoundedAndNoneIsForgotten) {
  std::vector<LaunchTime> times;
  constexpr uint32_t kGraphs = 10'000;
  for (uint32_t graph = 1; graph <= kGraphs; ++graph) {
    launches_.Add(GraphKernel(graph, graph, now_ns_ + graph * 100, 10), &times);
  }
  launches_.Settle(&times);
  EXPECT_GE(times.size(), kGraphs - TimedLaunches::kMaxOpenGraphs);
  uint64_t total_ns = 0;
  for (const LaunchTime& time : times) total_ns += time.duration_ns;
  EXPECT_EQ(total_ns, times.size() * 10);
}

TEST_F(TimedLaunchesTest, SignaturesBeyondTheRoomAreTakenAsWarm) {
  std::vector<LaunchTime> times;
  for (uint64_t key = 1; key <= TimedLaunches::kMaxSignatures; ++key) {
    launches_.Add(Kernel(key, now_ns_ + key * 100, 10), &times);
  }
  launches_.Settle(&times);
  now_ns_ += (TimedLaunches::kMaxSignatures + 10) * 100;
  EXPECT_EQ(Clean(Settled({Kernel(UINT64_MAX, now_ns_, 10)})), std::vector<bool>{true});
}

}  // namespace
}  // namespace gx::inject
