#include "inject/graph_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kMemcpy = 1;
constexpr uint32_t kHost = 3;
constexpr uint32_t kConditional = 13;

// A node that was made in a graph; `function` 0: nothing is known of it but its type.
GraphNodeEvent Made(uint64_t node, uint32_t graph, uint32_t function, uint32_t type = 0) {
  GraphNodeEvent event;
  event.node_id = node;
  event.graph_id = graph;
  event.node_type = type;
  event.parameters.function_index = function;
  event.parameters.readable = function == 0 ? 0 : 1;
  return event;
}

GraphNodeEvent Cloned(uint64_t node, uint64_t original, uint32_t graph, uint32_t type = 0) {
  GraphNodeEvent event = Made(node, graph, 0, type);
  event.original_node_id = original;
  return event;
}

// As CUPTI tells of new parameters: often without the graph.
GraphNodeEvent Updated(uint64_t node, uint32_t function, uint64_t original = 0) {
  GraphNodeEvent event = Made(node, 0, function);
  event.original_node_id = original;
  event.updated = 1;
  return event;
}

class GraphNodesTest : public ::testing::Test {
 protected:
  GraphExecRecord Instantiate(uint32_t exec) {
    GraphExecRecord record;
    record.graph_exec_id = exec;
    nodes_.CountExec(&record);
    return record;
  }
  // Graph 1 of these nodes, and executable graph 2 made of it: clones are numbered 100 further.
  GraphExecRecord MakeGraph(const std::vector<GraphNodeEvent>& nodes) {
    for (const GraphNodeEvent& node : nodes) EXPECT_EQ(nodes_.AddNode(node), 0u);
    for (const GraphNodeEvent& node : nodes) {
      EXPECT_EQ(nodes_.AddNode(Cloned(node.node_id + 100, node.node_id, 2, node.node_type)), 0u);
    }
    return Instantiate(2);
  }
  GraphSampling MaySample(uint32_t exec = 2) const {
    return nodes_.MaySample(exec, [this](const GraphNodes::Kernel& kernel) {
      const auto is = [&kernel](const std::vector<uint32_t>& functions) {
        return std::find(functions.begin(), functions.end(), kernel.function_index) != functions.end();
      };
      return is(denied_) ? GraphSampling::kNever : is(unnamed_) ? GraphSampling::kUnknown : GraphSampling::kMay;
    });
  }
  std::vector<uint32_t> Execs(uint32_t function) const {
    std::vector<uint32_t> execs;
    nodes_.ForEachExec(function, [&](uint32_t exec) { execs.push_back(exec); });
    std::sort(execs.begin(), execs.end());
    return execs;
  }

  GraphNodes nodes_;
  std::vector<uint32_t> denied_;
  std::vector<uint32_t> unnamed_;
};

TEST_F(GraphNodesTest, AGraphOfKnownKernelsAndCopiesMayBeSampled) {
  const GraphExecRecord exec = MakeGraph({Made(1, 1, 5), Made(2, 1, 6), Made(3, 1, 0, kMemcpy)});
  EXPECT_EQ(exec.kernel_node_count, 2u);
  EXPECT_EQ(exec.undescribed_node_count, 1u) << "a copy is no kernel whose parameters are known";
  EXPECT_FALSE(exec.has_conditional_nodes);
  EXPECT_EQ(nodes_.KernelsOf(2), 2u);
  EXPECT_EQ(MaySample(), GraphSampling::kMay);
}

TEST_F(GraphNodesTest, WhatWasNeverInstantiatedIsUnknown) {
  (void)nodes_.AddNode(Made(1, 1, 5));
  EXPECT_EQ(MaySample(1), GraphSampling::kUnknown);
  EXPECT_EQ(MaySample(77), GraphSampling::kUnknown);
  EXPECT_EQ(nodes_.KernelsOf(77), 0u);
}

TEST_F(GraphNodesTest, ANodeThatMayBeAnythingForbidsIt) {
  const GraphExecRecord exec = MakeGraph({Made(1, 1, 5), Made(2, 1, 0)});
  EXPECT_EQ(exec.kernel_node_count, 1u);
  EXPECT_EQ(exec.undescribed_node_count, 1u);
  EXPECT_EQ(MaySample(), GraphSampling::kNever);
}

TEST_F(GraphNodesTest, AHostNodeForbidsIt) {
  (void)MakeGraph({Made(1, 1, 5), Made(2, 1, 0, kHost)});
  EXPECT_EQ(MaySample(), GraphSampling::kNever);
}

TEST_F(GraphNodesTest, AConditionalNodeForbidsItAndLeavesTheKernelsOpen) {
  const GraphExecRecord exec = MakeGraph({Made(1, 1, 5), Made(2, 1, 0, kConditional)});
  EXPECT_TRUE(exec.has_conditional_nodes);
  EXPECT_EQ(exec.kernel_node_count, 1u);
  EXPECT_EQ(nodes_.KernelsOf(2), 0u);
  EXPECT_EQ(MaySample(), GraphSampling::kNever);
}

TEST_F(GraphNodesTest, AGraphWithoutKernelsIsNotSampled) {
  (void)MakeGraph({Made(1, 1, 0, kMemcpy)});
  EXPECT_EQ(MaySample(), GraphSampling::kNever);
}

TEST_F(GraphNodesTest, ADeniedOrCooperativeKernelForbidsIt) {
  GraphNodeEvent cooperative = Made(2, 1, 6);
  cooperative.parameters.cooperative = 1;
  (void)MakeGraph({Made(1, 1, 5), cooperative});
  EXPECT_EQ(MaySample(), GraphSampling::kNever);

  GraphNodes other;
  nodes_ = other;
  (void)MakeGraph({Made(1, 1, 5), Made(2, 1, 6)});
  denied_ = {6};
  EXPECT_EQ(MaySample(), GraphSampling::kNever);
  unnamed_ = {5};
  EXPECT_EQ(MaySample(), GraphSampling::kNever) << "a denied one decides, whatever else is not known";
  denied_.clear();
  EXPECT_EQ(MaySample(), GraphSampling::kUnknown);
}

TEST_F(GraphNodesTest, NodesRecordedByAnotherThreadAreKnownWhenTheyAreRead) {
  (void)nodes_.AddNode(Cloned(101, 1, 2));
  (void)nodes_.AddNode(Made(1, 1, 5));
  EXPECT_EQ(Instantiate(2).kernel_node_count, 1u);
  EXPECT_EQ(MaySample(), GraphSampling::kMay);
}

TEST_F(GraphNodesTest, NewParametersOfAnExecutableGraphDecideAnew) {
  (void)MakeGraph({Made(1, 1, 5), Made(2, 1, 6)});
  denied_ = {9};
  EXPECT_EQ(MaySample(), GraphSampling::kMay);
  EXPECT_EQ(nodes_.AddNode(Updated(101, 9)), 2u);
  EXPECT_EQ(MaySample(), GraphSampling::kNever);
  EXPECT_EQ(nodes_.AddNode(Updated(101, 5)), 2u);
  EXPECT_EQ(MaySample(), GraphSampling::kMay);
  EXPECT_EQ(nodes_.AddNode(Updated(1, 9)), 0u) << "the graph that it was made of is nobody's launch";
  EXPECT_EQ(MaySample(), GraphSampling::kMay);
  EXPECT_EQ(nodes_.AddNode(Updated(999, 9)), 0u);
}

TEST_F(GraphNodesTest, ANodeUpdatedFromAnotherGraphTakesItsParameters) {
  (void)MakeGraph({Made(1, 1, 5)});
  (void)nodes_.AddNode(Made(51, 9, 7));
  denied_ = {7};
  EXPECT_EQ(nodes_.AddNode(Updated(101, 0, 51)), 2u);
  EXPECT_EQ(MaySample(), GraphSampling::kNever);
}

TEST_F(GraphNodesTest, AKernelWhoseNewParametersWereNotSeenForbidsItUntilTheyAre) {
  (void)MakeGraph({Made(1, 1, 5), Made(3, 1, 0, kMemcpy)});
  EXPECT_EQ(nodes_.AddNode(Updated(101, 0)), 2u);
  EXPECT_EQ(nodes_.AddNode(Updated(101, 0)), 2u);
  EXPECT_EQ(MaySample(), GraphSampling::kNever);
  EXPECT_EQ(nodes_.AddNode(Updated(101, 5)), 2u);
  EXPECT_EQ(MaySample(), GraphSampling::kMay);
  EXPECT_EQ(nodes_.AddNode(Updated(103, 0)), 0u) << "a copy stays a copy";
  EXPECT_EQ(MaySample(), GraphSampling::kMay);
}

TEST_F(GraphNodesTest, ADestroyedGraphIsForgotten) {
  (void)MakeGraph({Made(1, 1, 5)});
  nodes_.Remove(1);
  EXPECT_EQ(MaySample(), GraphSampling::kMay) << "the executable one lives on";
  nodes_.Remove(2);
  EXPECT_EQ(MaySample(), GraphSampling::kUnknown);
  EXPECT_EQ(nodes_.KernelsOf(2), 0u);
  EXPECT_EQ(nodes_.AddNode(Updated(101, 9)), 0u);
  nodes_.Remove(2);
}

TEST_F(GraphNodesTest, ExecutableGraphsAreFoundByTheirFunctions) {
  (void)MakeGraph({Made(1, 1, 5), Made(2, 1, 6)});
  (void)nodes_.AddNode(Made(11, 3, 6));
  (void)nodes_.AddNode(Cloned(111, 11, 4));
  (void)Instantiate(4);
  EXPECT_THAT(Execs(5), ElementsAre(2u));
  EXPECT_THAT(Execs(6), ElementsAre(2u, 4u));
  EXPECT_THAT(Execs(7), IsEmpty());
  EXPECT_THAT(Execs(0), ElementsAre(2u, 4u)) << "all of them, and no graph that cannot be launched";
}

}  // namespace
}  // namespace gx::inject
