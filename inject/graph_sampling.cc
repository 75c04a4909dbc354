#include "inject/graph_sampling.h"

namespace gx::inject {

void GraphSamplingTable::Set(uint32_t graph_exec_id, GraphSampling sampling) noexcept {
  if (graph_exec_id == 0) return;
  entries_[graph_exec_id % kSize].store(uint64_t{graph_exec_id} << 8 | static_cast<uint8_t>(sampling),
                                        std::memory_order_release);
}

GraphSampling GraphSamplingTable::Get(uint32_t graph_exec_id) const noexcept {
  const uint64_t entry = entries_[graph_exec_id % kSize].load(std::memory_order_acquire);
  if (graph_exec_id == 0 || entry >> 8 != graph_exec_id) return GraphSampling::kUnknown;
  return static_cast<GraphSampling>(entry & 0xff);
}

}  // namespace gx::inject
