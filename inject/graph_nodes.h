// What is known of the nodes of each graph that lives: how many kernels an executable graph runs, and whether its
// launches may be sampled as a whole. An executable graph has the id of the copy that its nodes were cloned into; its
// clones' originals may have been recorded by another thread, and so be read a round later. Pure; the writer's.
#ifndef GPUEXEC_INJECT_GRAPH_NODES_H_
#define GPUEXEC_INJECT_GRAPH_NODES_H_

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inject/event.h"
#include "inject/graph_sampling.h"
#include "inject/record.h"

namespace gx::inject {

class GraphNodes {
 public:
  // Of a kernel node, for the question whether it may be sampled.
  struct Kernel {
    uint32_t function_index = 0;  // 0: unknown.
    bool cooperative = false;
  };
  // kUnknown: the function's name is not known yet.
  using Judge = std::function<GraphSampling(const Kernel&)>;

  // A node was made, cloned or given parameters. Returns the executable graph whose answer of MaySample may be another
  // now; 0: none.
  uint32_t AddNode(const GraphNodeEvent& node);
  // Fills the counts of an executable graph that was made, once every queue has been read: its nodes are complete.
  void CountExec(GraphExecRecord* exec);
  // A graph or executable graph is gone.
  void Remove(uint32_t graph_id);

  // Kernels that a launch runs, for what the device owes; 0: not known, or conditional nodes decide it.
  uint32_t KernelsOf(uint32_t graph_exec_id) const;
  // kMay: it has kernels, `judge` allows each of them, and its other nodes are copies, fills and empty ones. kNever: a
  // kernel is denied or cooperative, or a node is conditional, or not known to be harmless. Steps: its kernels.
  GraphSampling MaySample(uint32_t graph_exec_id, const Judge& judge) const;
  // Calls visit(graph_exec_id) for every executable graph that lives; with a function's index, for those that run it.
  void ForEachExec(uint32_t function_index, const std::function<void(uint32_t)>& visit) const;

 private:
  enum class Kind : uint8_t { kKernel, kHarmless, kUnknown };
  struct Node {
    Kind kind = Kind::kUnknown;
    Kernel kernel;
  };
  struct Clone {
    uint64_t node_id = 0;
    uint64_t original_id = 0;
    bool harmless = false;
  };
  struct Graph {
    std::unordered_map<uint64_t, Node> nodes;
    std::vector<Clone> clones;  // Not looked up yet.
    bool is_exec = false;
    bool conditional = false;
    uint32_t kernels = 0;
    uint32_t undescribed = 0;
    uint32_t unknown = 0;  // Nodes of kind kUnknown, once it is executable.
  };

  const Node* Find(uint64_t node_id) const;
  uint32_t Update(const GraphNodeEvent& event, const Node& node);

  std::unordered_map<uint32_t, Graph> graphs_;
  std::unordered_map<uint64_t, uint32_t> graph_of_node_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_GRAPH_NODES_H_
