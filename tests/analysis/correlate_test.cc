#include "analysis/correlate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace gx::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kOrphan = 0;

// (kernel's node id, enter time of its launch or kOrphan); (enter time, kernels).
class Recorder : public JoinSink {
 public:
  void OnJoinedKernel(const KernelFacts& kernel, const LaunchFacts* launch) override {
    joined.emplace_back(kernel.graph_node_id, launch == nullptr ? kOrphan : launch->enter_monotonic_ns);
  }
  void OnSettledLaunch(const LaunchFacts& launch, uint32_t kernel_count) override {
    settled.emplace_back(launch.enter_monotonic_ns, kernel_count);
  }
  std::vector<std::pair<uint64_t, uint64_t>> joined;
  std::vector<std::pair<uint64_t, uint32_t>> settled;
};

LaunchFacts Launch(uint64_t id, uint64_t enter_ns) {
  LaunchFacts launch;
  launch.correlation_id = id;
  launch.enter_monotonic_ns = enter_ns;
  return launch;
}
LaunchFacts Replay(uint64_t id, uint64_t enter_ns, uint32_t min_count, uint32_t max_count) {
  LaunchFacts launch = Launch(id, enter_ns);
  launch.graph_exec = 0;
  launch.min_kernel_count = min_count;
  launch.max_kernel_count = max_count;
  return launch;
}
LaunchFacts Replay(uint64_t id, uint64_t enter_ns, uint32_t count) { return Replay(id, enter_ns, count, count); }
LaunchFacts ReplayOfUnknownGraph(uint64_t id, uint64_t enter_ns) { return Replay(id, enter_ns, 0, kNone); }
// `tag` tells kernels apart in a test.
KernelFacts Kernel(uint64_t id, uint64_t tag, uint64_t start_ns = 0) {
  KernelFacts kernel;
  kernel.correlation_id = id;
  kernel.graph_node_id = tag;
  kernel.start_ns = start_ns;
  return kernel;
}

class LaunchKernelJoinTest : public ::testing::Test {
 protected:
  Recorder recorder_;
  ClockMap clocks_;
  LaunchKernelJoin join_{&recorder_, &clocks_};
};

TEST_F(LaunchKernelJoinTest, AKernelFindsItsLaunchAndBothAreForgotten) {
  join_.AddLaunch(Launch(1, 100));
  join_.AddLaunch(Launch(2, 200));
  join_.AddKernel(Kernel(2, 72));
  join_.AddKernel(Kernel(1, 71));
  EXPECT_EQ(join_.waiting_launch_count(), 0u);
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(72, 200), Pair(71, 100)));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(200, 1), Pair(100, 1)));
}

TEST_F(LaunchKernelJoinTest, AKernelThatComesFirstWaitsForItsLaunch) {
  join_.AddKernel(Kernel(1, 71));
  EXPECT_THAT(recorder_.joined, IsEmpty());
  join_.AddLaunch(Launch(1, 100));
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(71, 100)));
  EXPECT_EQ(join_.waiting_kernel_count(), 0u);
  EXPECT_EQ(join_.waiting_launch_count(), 0u);
}

TEST_F(LaunchKernelJoinTest, AReplayThatHasAllItsKernelsIsLetGoSomeTimeLater) {
  constexpr uint64_t kPatienceNs = LaunchKernelJoin::kCompleteReplayPatienceNs;
  join_.AddLaunch(Replay(1, 100, 3));
  for (uint64_t i = 0; i < 3; ++i) join_.AddKernel(Kernel(1, 71 + i, 1000 + i));
  EXPECT_EQ(join_.waiting_launch_count(), 1u);
  join_.AddKernel(Kernel(8, 81, 1002 + kPatienceNs));
  EXPECT_THAT(recorder_.settled, IsEmpty());
  join_.AddKernel(Kernel(9, 91, 1003 + kPatienceNs));
  EXPECT_EQ(join_.waiting_launch_count(), 0u);
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(100, 3)));
}

TEST_F(LaunchKernelJoinTest, AReplayShortOfKernelsIsNotLetGo) {
  join_.AddLaunch(Replay(1, 100, 3));
  join_.AddKernel(Kernel(1, 71, 1000));
  join_.AddKernel(Kernel(9, 91, 1001 + 2 * LaunchKernelJoin::kSufficientReplayPatienceNs));
  EXPECT_EQ(join_.waiting_launch_count(), 1u);
}

TEST_F(LaunchKernelJoinTest, AKernelTooManyIsToldWithItsReplay) {
  join_.AddLaunch(Replay(1, 100, 1, 2));
  for (uint64_t tag = 1; tag <= 3; ++tag) join_.AddKernel(Kernel(1, tag, 1000 + tag));
  join_.Finish();
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(1, 100), Pair(2, 100), Pair(3, 100)));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(100, 3)));
}

TEST_F(LaunchKernelJoinTest, AReplayWaitsLongerForKernelsThatItMayRun) {
  join_.AddLaunch(Replay(1, 100, 1, 2));
  join_.AddKernel(Kernel(1, 71, 1000));
  join_.AddKernel(Kernel(8, 81, 1001 + LaunchKernelJoin::kCompleteReplayPatienceNs));
  EXPECT_EQ(join_.waiting_launch_count(), 1u);
  join_.AddKernel(Kernel(9, 91, 1001 + LaunchKernelJoin::kSufficientReplayPatienceNs));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(100, 1)));
}

TEST_F(LaunchKernelJoinTest, AReplayThatMayRunNoKernelAtAllIsLetGoByTheTimeOfItsLaunch) {
  clocks_.Add(1'000, 1'000);
  join_.AddLaunch(Replay(1, 5'000, 0));
  join_.AddLaunch(Replay(2, 6'000, 0, 4));
  join_.AddKernel(Kernel(9, 91, 5'001 + LaunchKernelJoin::kCompleteReplayPatienceNs));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(5'000, 0)));
  join_.AddKernel(Kernel(9, 92, 6'001 + LaunchKernelJoin::kSufficientReplayPatienceNs));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(5'000, 0), Pair(6'000, 0)));
}

TEST_F(LaunchKernelJoinTest, APlaceThatWasGivenToAnotherLaunchIsNotLetGoInItsStead) {
  clocks_.Add(1'000, 1'000);
  join_.AddLaunch(Replay(1, 5'000, 0));
  // Pushed out of its place by launches under its id.
  for (uint32_t i = 0; i < LaunchKernelJoin::kMaxWaitingUnderOneId; ++i) join_.AddLaunch(Launch(1, 6'000 + i));
  join_.AddLaunch(Launch(7, 7'000));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(5'000, 0)));
  join_.AddKernel(Kernel(9, 91, 6'000 + LaunchKernelJoin::kCompleteReplayPatienceNs));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(5'000, 0)));
}

TEST_F(LaunchKernelJoinTest, KernelsOfAReplayThatCameFirstAreAllJoined) {
  for (uint64_t tag = 1; tag <= 3; ++tag) join_.AddKernel(Kernel(9, tag));
  join_.AddLaunch(Replay(9, 100, 3));
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(1, 100), Pair(2, 100), Pair(3, 100)));
  join_.Finish();
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(100, 3)));
}

TEST_F(LaunchKernelJoinTest, WhatIsLeftAtTheEndIsToldAsOrphansAndLaunchesWithoutKernel) {
  join_.AddLaunch(Launch(1, 100));
  join_.AddLaunch(Replay(2, 200, 2));
  join_.AddKernel(Kernel(2, 72));
  join_.AddKernel(Kernel(3, 73));
  join_.Finish();
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(72, 200), Pair(73, kOrphan)));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(100, 0), Pair(200, 1)));
}

TEST_F(LaunchKernelJoinTest, AReplayOfAnUnknownGraphTakesEveryKernelOfItsId) {
  join_.AddLaunch(ReplayOfUnknownGraph(1, 100));
  for (uint64_t tag = 1; tag <= 5; ++tag) join_.AddKernel(Kernel(1, tag));
  EXPECT_THAT(recorder_.settled, IsEmpty());
  join_.Finish();
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(100, 5)));
}

TEST_F(LaunchKernelJoinTest, AnIdThatCameAgainIsMatchedByTime) {
  clocks_.Add(1'000, 1'000);
  constexpr uint64_t kSecond = 1'000'000'000;
  join_.AddLaunch(Launch(5, 1 * kSecond));
  join_.AddLaunch(Launch(5, 9 * kSecond));
  EXPECT_EQ(join_.repeated_id_count(), 1u);
  join_.AddKernel(Kernel(5, 92, 9 * kSecond + 10));
  join_.AddKernel(Kernel(5, 12, 1 * kSecond + 10));
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(92, 9 * kSecond), Pair(12, 1 * kSecond)));
  EXPECT_EQ(join_.waiting_launch_count(), 0u);
}

TEST_F(LaunchKernelJoinTest, AKernelOfTheEarlierLaunchIsNotGivenToTheLaterOne) {
  clocks_.Add(1'000, 1'000);
  constexpr uint64_t kSecond = 1'000'000'000;
  join_.AddLaunch(Launch(5, 1 * kSecond));
  join_.AddLaunch(Launch(5, 9 * kSecond));
  join_.AddKernel(Kernel(5, 12, 1 * kSecond + 10));
  join_.Finish();
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(12, 1 * kSecond)));
  EXPECT_THAT(recorder_.settled, ElementsAre(Pair(1 * kSecond, 1), Pair(9 * kSecond, 0)));
}

TEST_F(LaunchKernelJoinTest, ThreeLaunchesUnderOneIdAreUnlinkedInAnyOrder) {
  clocks_.Add(1'000, 1'000);
  constexpr uint64_t kSecond = 1'000'000'000;
  for (const uint64_t s : {1, 2, 3}) join_.AddLaunch(Launch(5, s * kSecond));
  join_.AddKernel(Kernel(5, 2, 2 * kSecond + 10));
  join_.AddKernel(Kernel(5, 3, 3 * kSecond + 10));
  join_.AddKernel(Kernel(5, 1, 1 * kSecond + 10));
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(2, 2 * kSecond), Pair(3, 3 * kSecond), Pair(1, 1 * kSecond)));
  EXPECT_EQ(join_.waiting_launch_count(), 0u);
}

TEST_F(LaunchKernelJoinTest, ManyUnderOneIdCostNoMoreThanManyUnderManyIds) {
  // Quadratic work would take hours.
  constexpr uint64_t kCount = 1'000'000;
  for (uint64_t i = 0; i < kCount; ++i) join_.AddLaunch(Launch(0, i));
  EXPECT_EQ(join_.waiting_launch_count(), LaunchKernelJoin::kMaxWaitingUnderOneId);
  for (uint64_t i = 0; i < kCount; ++i) join_.AddKernel(Kernel(1, i));
  join_.AddLaunch(ReplayOfUnknownGraph(1, 5));
  EXPECT_EQ(recorder_.joined.size(), kCount);
}

TEST_F(LaunchKernelJoinTest, AKernelIsGivenUpWhenTimeHasPassedItBy) {
  join_.AddKernel(Kernel(1, 71, 1'000));
  join_.AddKernel(Kernel(2, 72, 2'000 + LaunchKernelJoin::kKernelPatienceNs));
  EXPECT_THAT(recorder_.joined, ElementsAre(Pair(71, kOrphan)));
  EXPECT_EQ(join_.waiting_kernel_count(), 1u);
}

TEST_F(LaunchKernelJoinTest, MemoryIsBoundedWhenNoKernelEverComes) {
  const uint64_t count = LaunchKernelJoin::kMaxWaitingLaunches + 1000;
  for (uint64_t i = 0; i < count; ++i) join_.AddLaunch(Launch(i, i));
  EXPECT_EQ(join_.waiting_launch_count(), LaunchKernelJoin::kMaxWaitingLaunches);
  EXPECT_EQ(recorder_.settled.size(), 1000u);
  EXPECT_THAT(recorder_.settled.front(), Pair(0, 0));
}

TEST_F(LaunchKernelJoinTest, MemoryIsBoundedWhenNoLaunchEverComes) {
  const uint64_t count = LaunchKernelJoin::kMaxWaitingKernels + 1000;
  for (uint64_t i = 0; i < count; ++i) join_.AddKernel(Kernel(i, i));
  EXPECT_EQ(join_.waiting_kernel_count(), LaunchKernelJoin::kMaxWaitingKernels);
  EXPECT_EQ(recorder_.joined.size(), 1000u);
}

}  // namespace
}  // namespace gx::analysis
