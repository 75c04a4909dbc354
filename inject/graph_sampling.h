// Which executable graphs may be sampled as a whole: written by the writer thread, which knows their nodes, read in
// launch callbacks. [MT], lock-free, of fixed size: of two graphs that want one entry the later has it, the other is
// unknown, and what is unknown is not sampled.
#ifndef GPUEXEC_INJECT_GRAPH_SAMPLING_H_
#define GPUEXEC_INJECT_GRAPH_SAMPLING_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace gx::inject {

enum class GraphSampling : uint8_t {
  kUnknown,  // Not described yet, or forgotten.
  kMay,      // Every kernel of it is known, and none is denied.
  kNever,    // A node is denied, or of a kind that may wait for others.
};

class GraphSamplingTable {
 public:
  static constexpr uint32_t kSize = 4096;

  // CUPTI's id of the executable graph; 0 is none and stays unknown.
  void Set(uint32_t graph_exec_id, GraphSampling sampling) noexcept;
  GraphSampling Get(uint32_t graph_exec_id) const noexcept;

 private:
  // Id << 8 | GraphSampling.
  std::array<std::atomic<uint64_t>, kSize> entries_ = {};
};

// Indexes of functions in the needs and the deny list: kernels first, then executable graphs. Several graphs share one,
// so that nothing is decided by it: what is known of a graph is kept by its signature (SamplingNeeds::GiveUp).
inline constexpr uint32_t kSampledKernels = 16384;
inline constexpr uint32_t kSampledFunctions = kSampledKernels + GraphSamplingTable::kSize;
constexpr uint32_t GraphFunction(uint32_t graph_exec_id) {
  return kSampledKernels + graph_exec_id % GraphSamplingTable::kSize;
}

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_GRAPH_SAMPLING_H_
