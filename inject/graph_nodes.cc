#include "inject/graph_nodes.h"

#include <algorithm>

namespace gx::inject {
namespace {

// CUgraphNodeType. CUPTI 13.0 says 0, a kernel, of every node: what is no kernel is known by its making alone.
constexpr uint32_t kMemcpyNode = 1;
constexpr uint32_t kMemsetNode = 2;
constexpr uint32_t kEmptyNode = 5;
constexpr uint32_t kConditionalNode = 13;

bool IsHarmless(uint32_t node_type) {
  return node_type == kMemcpyNode || node_type == kMemsetNode || node_type == kEmptyNode;
}

}  // namespace

uint32_t GraphNodes::AddNode(const GraphNodeEvent& event) {
  Node node;
  if (event.parameters.readable != 0) {
    node.kind = Kind::kKernel;
    node.kernel = {event.parameters.function_index, event.parameters.cooperative != 0};
  } else if (IsHarmless(event.node_type)) {
    node.kind = Kind::kHarmless;
  }
  if (event.updated != 0) return Update(event, node);
  Graph& graph = graphs_[event.graph_id];
  graph.conditional = graph.conditional || event.node_type == kConditionalNode;
  if (node.kind != Kind::kUnknown) {
    graph.nodes[event.node_id] = node;
    graph_of_node_[event.node_id] = event.graph_id;
  }
  if (event.original_node_id != 0) {
    graph.clones.push_back({event.node_id, event.original_node_id, node.kind == Kind::kHarmless});
  }
  return 0;
}

// Nodes keep their type: a copy stays a copy. A kernel whose new parameters were not seen takes those of the node that
// it was updated from, or is not known any more.
uint32_t GraphNodes::Update(const GraphNodeEvent& event, const Node& node) {
  const auto home = graph_of_node_.find(event.node_id);
  if (home == graph_of_node_.end()) return 0;
  const auto graph = graphs_.find(home->second);
  if (graph == graphs_.end()) return 0;
  Node& known = graph->second.nodes[event.node_id];
  if (known.kind == Kind::kHarmless && node.kind != Kind::kKernel) return 0;
  Node now = node;
  if (now.kind == Kind::kUnknown && event.original_node_id != 0) {
    if (const Node* original = Find(event.original_node_id)) now = *original;
  }
  if (graph->second.is_exec) {
    graph->second.unknown -= known.kind == Kind::kUnknown ? 1 : 0;
    graph->second.unknown += now.kind == Kind::kUnknown ? 1 : 0;
  }
  known = now;
  return graph->second.is_exec ? home->second : 0;
}

const GraphNodes::Node* GraphNodes::Find(uint64_t node_id) const {
  const auto home = graph_of_node_.find(node_id);
  if (home == graph_of_node_.end()) return nullptr;
  const auto graph = graphs_.find(home->second);
  if (graph == graphs_.end()) return nullptr;
  const auto node = graph->second.nodes.find(node_id);
  return node == graph->second.nodes.end() ? nullptr : &node->second;
}

void GraphNodes::CountExec(GraphExecRecord* exec) {
  const auto graph_id = static_cast<uint32_t>(exec->graph_exec_id);
  Graph& graph = graphs_[graph_id];
  graph.is_exec = true;
  for (const Clone& clone : graph.clones) {
    const Node* original = Find(clone.original_id);
    Node node;
    if (original != nullptr) {
      node = *original;
    } else if (clone.harmless) {
      node.kind = Kind::kHarmless;
    }
    if (node.kind == Kind::kKernel) {
      ++graph.kernels;
    } else {
      ++graph.undescribed;
    }
    if (node.kind == Kind::kUnknown) {
      ++graph.unknown;
      continue;
    }
    graph.nodes[clone.node_id] = node;
    graph_of_node_[clone.node_id] = graph_id;
  }
  graph.clones = {};
  exec->kernel_node_count = graph.kernels;
  exec->undescribed_node_count = graph.undescribed;
  exec->has_conditional_nodes = graph.conditional;
}

void GraphNodes::Remove(uint32_t graph_id) {
  const auto graph = graphs_.find(graph_id);
  if (graph == graphs_.end()) return;
  for (const auto& [node_id, node] : graph->second.nodes) graph_of_node_.erase(node_id);
  graphs_.erase(graph);
}

uint32_t GraphNodes::KernelsOf(uint32_t graph_exec_id) const {
  const auto graph = graphs_.find(graph_exec_id);
  return graph == graphs_.end() || graph->second.conditional ? 0 : graph->second.kernels;
}

GraphSampling GraphNodes::MaySample(uint32_t graph_exec_id, const Judge& judge) const {
  const auto found = graphs_.find(graph_exec_id);
  if (found == graphs_.end() || !found->second.is_exec) return GraphSampling::kUnknown;
  const Graph& graph = found->second;
  if (graph.conditional || graph.unknown != 0 || graph.kernels == 0) return GraphSampling::kNever;
  GraphSampling answer = GraphSampling::kMay;
  for (const auto& [node_id, node] : graph.nodes) {
    if (node.kind != Kind::kKernel) continue;
    if (node.kernel.cooperative) return GraphSampling::kNever;
    const GraphSampling one = judge(node.kernel);
    if (one == GraphSampling::kNever) return one;
    if (one == GraphSampling::kUnknown) answer = one;
  }
  return answer;
}

void GraphNodes::ForEachExec(uint32_t function_index, const std::function<void(uint32_t)>& visit) const {
  for (const auto& [graph_id, graph] : graphs_) {
    if (!graph.is_exec) continue;
    const bool wanted =
        function_index == 0 || std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
          return node.second.kind == Kind::kKernel && node.second.kernel.function_index == function_index;
        });
    if (wanted) visit(graph_id);
  }
}

}  // namespace gx::inject
