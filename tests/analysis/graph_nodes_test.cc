#include "analysis/graph_nodes.h"

#include <gtest/gtest.h>

#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gpuexec::v1::GraphNode;
using ::gx::testing::FromText;

GraphNode Node(absl::string_view text) { return FromText<GraphNode>(text); }

TEST(GraphNodesTest, AnUnknownNodeHasNoSignature) {
  const GraphNodes nodes;
  EXPECT_EQ(nodes.Resolve(1, 100).signature_iid, 0u);
}

TEST(GraphNodesTest, ANodeHasItsOwnSignatureAndPlaceOfCapture) {
  GraphNodes nodes;
  nodes.Add(Node("node_id: 1 signature_iid: 5 thread_id: 7 created_monotonic_ns: 50"));
  const GraphNodes::Resolved resolved = nodes.Resolve(1, 100);
  EXPECT_EQ(resolved.signature_iid, 5u);
  EXPECT_EQ(resolved.capture.thread_id, 7u);
  EXPECT_EQ(resolved.capture.created_monotonic_ns, 50u);
}

TEST(GraphNodesTest, ACloneOfACloneHasTheOriginalsSignatureAndCapture) {
  GraphNodes nodes;
  nodes.Add(Node("node_id: 1 signature_iid: 5 thread_id: 7 created_monotonic_ns: 50"));
  nodes.Add(Node("node_id: 2 original_node_id: 1 created_monotonic_ns: 60"));
  nodes.Add(Node("node_id: 3 original_node_id: 2 created_monotonic_ns: 70 thread_id: 8"));
  const GraphNodes::Resolved resolved = nodes.Resolve(3, 100);
  EXPECT_EQ(resolved.signature_iid, 5u);
  EXPECT_EQ(resolved.capture.thread_id, 7u);
  EXPECT_EQ(resolved.capture.created_monotonic_ns, 50u);
}

TEST(GraphNodesTest, AnUpdateHoldsForReplaysAfterItOnly) {
  GraphNodes nodes;
  nodes.Add(Node("node_id: 1 signature_iid: 5 created_monotonic_ns: 50"));
  nodes.Add(Node("node_id: 2 original_node_id: 1 created_monotonic_ns: 60"));
  nodes.Add(Node("node_id: 2 signature_iid: 6 created_monotonic_ns: 200 updated: true"));
  EXPECT_EQ(nodes.Resolve(2, 199).signature_iid, 5u);
  EXPECT_EQ(nodes.Resolve(2, 200).signature_iid, 6u);
  EXPECT_EQ(nodes.Resolve(2, UINT64_MAX).signature_iid, 6u);
}

TEST(GraphNodesTest, AThousandUpdatesAreToldApartByTime) {
  GraphNodes nodes;
  GraphNode node;
  node.set_node_id(1);
  for (uint64_t i = 1; i <= 1000; ++i) {
    node.set_signature_iid(i / 2 + 1);  // Every second one changes nothing.
    node.set_created_monotonic_ns(i * 10);
    nodes.Add(node);
  }
  for (uint64_t i = 1; i <= 1000; ++i) EXPECT_EQ(nodes.Resolve(1, i * 10 + 5).signature_iid, i / 2 + 1);
  EXPECT_EQ(nodes.Resolve(1, 0).signature_iid, 1u);
}

TEST(GraphNodesTest, AnUpdateOfTheOriginalAfterTheCloneDoesNotReachTheClone) {
  GraphNodes nodes;
  nodes.Add(Node("node_id: 1 signature_iid: 5 created_monotonic_ns: 50"));
  nodes.Add(Node("node_id: 2 original_node_id: 1 created_monotonic_ns: 60"));
  nodes.Add(Node("node_id: 1 signature_iid: 9 created_monotonic_ns: 80 updated: true"));
  EXPECT_EQ(nodes.Resolve(2, 100).signature_iid, 5u);
  EXPECT_EQ(nodes.Resolve(1, 100).signature_iid, 9u);
}

TEST(GraphNodesTest, ALaterDefinitionReplacesAnEarlierAnswer) {
  GraphNodes nodes;
  nodes.Add(Node("node_id: 2 original_node_id: 1"));
  EXPECT_EQ(nodes.Resolve(2, 100).signature_iid, 0u);
  nodes.Add(Node("node_id: 1 signature_iid: 5"));
  EXPECT_EQ(nodes.Resolve(2, 100).signature_iid, 5u);
}

TEST(GraphNodesTest, ACircleOfOriginalsEnds) {
  GraphNodes nodes;
  nodes.Add(Node("node_id: 1 original_node_id: 2"));
  nodes.Add(Node("node_id: 2 original_node_id: 1"));
  nodes.Add(Node("node_id: 3 original_node_id: 3"));
  EXPECT_EQ(nodes.Resolve(1, 100).signature_iid, 0u);
  EXPECT_EQ(nodes.Resolve(3, 100).signature_iid, 0u);
}

}  // namespace
}  // namespace gx::analysis
