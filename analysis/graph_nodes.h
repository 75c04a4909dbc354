// What a trace says of the nodes of CUDA graphs: which signature a node had at a given time, and where it was captured.
// Nodes are cloned (instantiation clones a whole graph) and updated; both are definitions with a time, and the latest
// one made at or before a replay holds for it. Owned by one importer; one thread.
#ifndef GPUEXEC_ANALYSIS_GRAPH_NODES_H_
#define GPUEXEC_ANALYSIS_GRAPH_NODES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::analysis {

class GraphNodes {
 public:
  // A clone of a clone of ...: longer chains (and circles, in a damaged trace) end the search.
  static constexpr int kMaxChain = 64;

  void Add(const gpuexec::v1::GraphNode& node);

  struct Capture {
    uint64_t thread_id = 0;
    uint64_t created_monotonic_ns = 0;
  };
  struct Resolved {
    // 0: the node, or its parameters, are not known.
    uint64_t signature_iid = 0;
    // Of the first original: the call that a stream capture, or the program, made.
    Capture capture;
  };
  // `at_ns`: when the replay was launched, CLOCK_MONOTONIC; UINT64_MAX: not known, the latest definition is taken.
  Resolved Resolve(uint64_t node_id, uint64_t at_ns) const;

  size_t node_count() const { return nodes_.size(); }
  // In no order. An executable graph is a graph of its own, of clones: its graph id is the id of the executable.
  void ForEach(absl::FunctionRef<void(uint64_t node_id, uint64_t graph_id)> visit) const {
    for (const auto& [node_id, node] : nodes_) visit(node_id, node.graph_id);
  }

 private:
  struct Definition {
    uint64_t at_ns = 0;
    uint64_t original_node_id = 0;
    uint64_t signature_iid = 0;
    uint64_t thread_id = 0;
  };
  struct Node {
    // By time; equal times in order of arrival.
    std::vector<Definition> definitions;
    // 0: unknown.
    uint64_t graph_id = 0;
    // The answer for any time, while the node has one definition and no definition was added since.
    mutable Resolved cached;
    mutable uint64_t cached_generation = 0;
  };
  static const Definition* DefinitionAt(const Node& node, uint64_t at_ns);

  absl::flat_hash_map<uint64_t, Node> nodes_;
  // Counts definitions, from 1.
  uint64_t generation_ = 1;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_GRAPH_NODES_H_
