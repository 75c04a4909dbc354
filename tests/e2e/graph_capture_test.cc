// Kernels of CUDA graph replays: every one is in the trace, and joins its launch and the node that describes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GraphCapture : public CaptureTest {
 protected:
  // Each kernel joins a graph launch on its correlation id, and its node's signature says what the record says.
  static void ExpectJoined(const TraceView& trace) {
    std::map<uint64_t, const LaunchRow*> launches;
    for (const LaunchRow& launch : trace.graph_launches) launches[launch.record.correlation_id] = &launch;
    for (const KernelRow& kernel : trace.kernels) {
      ASSERT_TRUE(launches.contains(kernel.record.correlation_id));
      const LaunchRow& launch = *launches[kernel.record.correlation_id];
      EXPECT_EQ(kernel.record.graph_id, launch.record.graph_exec_id);
      EXPECT_EQ(kernel.track.stream_id(), launch.track.stream_id());
      const auto signature = trace.NodeSignature(kernel.record.graph_node_id, launch.record.enter_monotonic_ns);
      ASSERT_TRUE(signature.has_value()) << "node " << kernel.record.graph_node_id << " is not described";
      EXPECT_EQ(trace.FunctionName(signature->function_iid()), kernel.name);
      EXPECT_EQ(signature->grid_x(), kernel.attributes.grid_x());
      EXPECT_EQ(signature->grid_y(), kernel.attributes.grid_y());
      EXPECT_EQ(signature->grid_z(), kernel.attributes.grid_z());
      EXPECT_EQ(signature->block_x(), kernel.attributes.block_x());
      EXPECT_EQ(signature->dynamic_shared_memory_bytes(), kernel.attributes.dynamic_shared_memory_bytes());
      EXPECT_TRUE(signature->graph_node());
    }
  }
};

TEST_F(GraphCapture, EveryKernelOfEveryReplayOfACapturedGraphJoins) {
  const Capture capture = Run({"graph", "nodes=20", "replays=200"});
  EXPECT_EQ(capture.result.out, "replayed 200 x 20\n");
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  ASSERT_THAT(capture.trace.graph_launches, SizeIs(200));
  ExpectJoined(capture.trace);
  EXPECT_THAT(capture.trace.launches, IsEmpty()) << "launches under capture are nodes, not launches";
  EXPECT_EQ(capture.trace.Stat(v1::STAT_LAUNCHES_CAPTURED), 20u);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_GRAPH_LAUNCHES_SEEN), 200u);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SIGNATURE_DISAGREEMENTS), 0u);
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
}

TEST_F(GraphCapture, AGraphBuiltNodeByNodeJoinsToo) {
  const Capture capture = Run({"graph", "nodes=7", "replays=30", "build=1"});
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  ExpectJoined(capture.trace);
}

TEST_F(GraphCapture, ReplaysOnThePerThreadStreamAreFollowed) {
  const Capture capture = Run({"graph", "nodes=3", "replays=30", "ptsz=1"});
  ASSERT_THAT(capture.trace.graph_launches, SizeIs(30));
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  ExpectJoined(capture.trace);
}

TEST_F(GraphCapture, SeveralInstancesOfAGraphAreToldApart) {
  const Capture capture = Run({"graph", "nodes=4", "replays=10", "instances=3"});
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  ExpectJoined(capture.trace);
  std::set<uint64_t> execs;
  for (const LaunchRow& launch : capture.trace.graph_launches) execs.insert(launch.record.graph_exec_id);
  EXPECT_THAT(execs, SizeIs(3));
  ASSERT_THAT(capture.trace.graph_execs, SizeIs(3));
  for (const auto& [id, exec] : capture.trace.graph_execs) {
    EXPECT_TRUE(execs.contains(id));
    EXPECT_EQ(exec.kernel_node_count(), 4u);
    EXPECT_FALSE(exec.has_conditional_nodes());
    EXPECT_EQ(exec.graph_id(), capture.log.Of("exec", "id", std::to_string(id))[0].Number("graph"));
  }
}

TEST_F(GraphCapture, NewParametersOfANodeHoldForLaterReplaysOnly) {
  const Capture capture = Run({"graph", "nodes=3", "replays=20", "build=1", "update=1"});
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  ExpectJoined(capture.trace);
  int changed = 0;
  for (const KernelRow& kernel : capture.trace.kernels) changed += kernel.attributes.grid_z() == 2 ? 1 : 0;
  EXPECT_EQ(changed, 10);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SIGNATURE_DISAGREEMENTS), 0u);
}

TEST_F(GraphCapture, CapturesAreNotDisturbed) {
  // The fakes log a violation for every call that a capture does not allow, and fail the capture for a synchronisation.
  const Capture capture = Run({"graph", "nodes=500", "replays=2"});
  EXPECT_EQ(capture.result.exit_code, 0) << capture.result.out;
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
}

TEST_F(GraphCapture, NodesAreDescribedAlsoByACuptiWithoutTheNewCallbacks) {
  const Capture capture = Run({"graph", "nodes=4", "replays=5"},
                              {{"GPUEXEC_CUPTI", GX_FAKES_DIR "/libcupti.so.12"}, {"FAKE_CUPTI_VERSION", "26"}});
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  ExpectJoined(capture.trace);
}

}  // namespace
}  // namespace gx::e2e
