#include "analysis/graph_nodes.h"

#include <algorithm>

namespace gx::analysis {

void GraphNodes::Add(const gpuexec::v1::GraphNode& node) {
  ++generation_;
  Node& known = nodes_[node.node_id()];
  if (node.graph_id() != 0) known.graph_id = node.graph_id();
  std::vector<Definition>& definitions = known.definitions;
  const Definition definition{node.created_monotonic_ns(), node.original_node_id(), node.signature_iid(),
                              node.thread_id()};
  const auto place = std::upper_bound(definitions.begin(), definitions.end(), definition.at_ns,
                                      [](uint64_t at_ns, const Definition& later) { return at_ns < later.at_ns; });
  // Set anew to what it was: nothing to remember, however often a program does that.
  if (place == definitions.end() && !definitions.empty() && node.signature_iid() != 0 &&
      definitions.back().signature_iid == node.signature_iid()) {
    return;
  }
  definitions.insert(place, definition);
}

const GraphNodes::Definition* GraphNodes::DefinitionAt(const Node& node, uint64_t at_ns) {
  const auto after = std::upper_bound(node.definitions.begin(), node.definitions.end(), at_ns,
                                      [](uint64_t ns, const Definition& known) { return ns < known.at_ns; });
  // A node is defined before it runs: the first one stands for earlier times as well (clocks of two threads).
  return after == node.definitions.begin() ? &*after : &*std::prev(after);
}

GraphNodes::Resolved GraphNodes::Resolve(uint64_t node_id, uint64_t at_ns) const {
  const auto found = nodes_.find(node_id);
  if (found == nodes_.end()) return {};
  const Node& node = found->second;
  if (node.cached_generation == generation_) return node.cached;

  Resolved resolved;
  const Node* current = &node;
  uint64_t time_ns = at_ns;
  for (int depth = 0; depth < kMaxChain; ++depth) {
    const Definition* definition = DefinitionAt(*current, time_ns);
    if (resolved.signature_iid == 0) resolved.signature_iid = definition->signature_iid;
    const Definition& first = current->definitions.front();
    if (first.thread_id != 0) resolved.capture = {first.thread_id, first.at_ns};
    // An update names no original: the chain goes on from the node's creation.
    const uint64_t original_id = first.original_node_id;
    if (original_id == 0) break;
    const auto original = nodes_.find(original_id);
    if (original == nodes_.end()) break;
    // The clone took what the original was when it was cloned.
    if (first.at_ns != 0) time_ns = first.at_ns;
    current = &original->second;
  }
  if (node.definitions.size() == 1) {
    node.cached = resolved;
    node.cached_generation = generation_;
  }
  return resolved;
}

}  // namespace gx::analysis
