#include "analysis/run_launches.h"

#include <gtest/gtest.h>

#include <optional>

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

constexpr uint64_t kMs = 1'000'000;

pb::MachineFile Machine() {
  pb::MachineFile machine;
  const auto add = [&machine](uint64_t nodes, double per_second) {
    pb::LaunchRate* rate = machine.add_launch_rate();
    rate->set_kind(pb::LaunchRate::KIND_GRAPH_LAUNCH);
    rate->set_node_count(nodes);
    rate->mutable_slope()->set_work_per_second(per_second);
  };
  add(1, 776'687);
  add(1000, 2000);
  add(100, 19'552);
  return machine;
}

// 1,000 kernels of 2 us in 10 ms, with so much idle time before late launches.
DeviceLaunches Launches(uint64_t late_ns, const pb::MachineFile* machine) {
  DeviceLaunches launches;
  launches.span_ns = 10 * kMs;
  launches.kernel_count = 1000;
  launches.kernel_ns = 2 * kMs;
  launches.idle.by_cause[static_cast<size_t>(GapCause::kHostLate)] = {1000, late_ns, 100'000};
  launches.machine = machine;
  return launches;
}

TEST(JudgeLaunchesTest, IsByTheTimeThatTheDeviceWaitedForLaunches) {
  EXPECT_EQ(JudgeLaunches(Launches(8 * kMs, nullptr)).verdict, LaunchBound::kYes);
  EXPECT_EQ(JudgeLaunches(Launches(2 * kMs, nullptr)).verdict, LaunchBound::kYes);
  EXPECT_EQ(JudgeLaunches(Launches(1 * kMs, nullptr)).verdict, LaunchBound::kPartly);
  EXPECT_EQ(JudgeLaunches(Launches(kMs / 10, nullptr)).verdict, LaunchBound::kNo);
  const LaunchVerdict verdict = JudgeLaunches(Launches(8 * kMs, nullptr));
  EXPECT_EQ(verdict.host_late_ns, 8 * kMs);
  EXPECT_DOUBLE_EQ(verdict.host_late_ratio, 0.8);
  EXPECT_EQ(verdict.kernel_ns, 2000);
}

TEST(JudgeLaunchesTest, FewKernelsOrUnknownLaunchesGiveNoVerdict) {
  DeviceLaunches few = Launches(8 * kMs, nullptr);
  few.kernel_count = kMinVerdictKernels - 1;
  EXPECT_EQ(JudgeLaunches(few).verdict, LaunchBound::kUnknown);
  DeviceLaunches unknown = Launches(1 * kMs, nullptr);
  unknown.idle.by_cause[static_cast<size_t>(GapCause::kUnknown)] = {10, 5 * kMs, 5 * kMs};
  EXPECT_EQ(JudgeLaunches(unknown).verdict, LaunchBound::kUnknown);
}

// 1,000 gaps of 8 us: at best all of them go; at worst 6 us of each are launching, less a node of 500 ns and what
// recording added.
TEST(JudgeLaunchesTest, AGraphSavesGapsLessItsNodesAndWhatRecordingAdds) {
  const pb::MachineFile machine = Machine();
  DeviceLaunches launches = Launches(8 * kMs, &machine);
  launches.idle.launch_delay_ns = 6000;
  const LaunchVerdict verdict = JudgeLaunches(launches);
  ASSERT_TRUE(verdict.graph.has_value());
  EXPECT_DOUBLE_EQ(verdict.graph->high_ns, 8e6);
  EXPECT_DOUBLE_EQ(verdict.graph->low_ns, 1000 * (6000 - 500 - kRecordingPerLaunchNs));
  EXPECT_DOUBLE_EQ(verdict.graph->node_ns, 500);
  EXPECT_EQ(verdict.no_graph, "");
  EXPECT_DOUBLE_EQ(JudgeLaunches(Launches(3 * kMs, &machine)).graph->low_ns, 0);
  // No gap is longer than itself, and without a delay nothing is sure to go.
  launches.idle.launch_delay_ns = 1e6;
  EXPECT_DOUBLE_EQ(JudgeLaunches(launches).graph->low_ns, 8e6 - 1000 * (500 + kRecordingPerLaunchNs));
  launches.idle.launch_delay_ns.reset();
  EXPECT_DOUBLE_EQ(JudgeLaunches(launches).graph->low_ns, 0);
}

TEST(JudgeLaunchesTest, NothingIsEstimatedWithoutAMachineFileOrForGraphs) {
  const pb::MachineFile machine = Machine();
  EXPECT_EQ(JudgeLaunches(Launches(8 * kMs, nullptr)).graph.has_value(), false);
  DeviceLaunches graphs = Launches(8 * kMs, &machine);
  graphs.graph_kernel_count = 600;
  const LaunchVerdict verdict = JudgeLaunches(graphs);
  EXPECT_EQ(verdict.verdict, LaunchBound::kYes);
  EXPECT_EQ(verdict.graph.has_value(), false);
  EXPECT_EQ(verdict.no_graph, "most kernels run in graphs already");
  EXPECT_EQ(JudgeLaunches(Launches(0, &machine)).graph.has_value(), false);
  const pb::MachineFile empty;
  EXPECT_EQ(GraphNodeNs(empty), std::nullopt);
}

}  // namespace
}  // namespace gx::analysis
