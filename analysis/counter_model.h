// What a trace says of hardware counters, after the import: definitions as tables, samples as statistics by launch
// signature (or graph) and group. Part of TraceModel; made by CounterImporter. Plain data, no threads.
#ifndef GPUEXEC_ANALYSIS_COUNTER_MODEL_H_
#define GPUEXEC_ANALYSIS_COUNTER_MODEL_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/counter_samples.h"
#include "gpuexec/v1/counter.pb.h"

namespace gx::analysis {

// Samples of one group, over launches of one signature or over launches of one graph as a whole: never both.
struct CounterSeries {
  // Index of the signature; kNoSignature: a graph, or a kernel launch whose parameters could not be read.
  static constexpr uint32_t kNoSignature = UINT32_MAX;
  uint32_t signature = kNoSignature;
  // 0: kernel launches.
  uint64_t graph_exec_id = 0;
  uint64_t group_iid = 0;
  CounterSamples samples;

  bool is_graph() const { return graph_exec_id != 0; }
};

struct CounterModel {
  // By iid, device or session.
  std::map<uint64_t, gpuexec::v1::CounterGroup> groups;
  std::map<uint64_t, gpuexec::v1::CounterPlan> plans;
  std::map<uint64_t, gpuexec::v1::CounterAccess> access;
  std::map<uint64_t, gpuexec::v1::DevicePeaks> peaks;
  std::map<uint64_t, gpuexec::v1::CounterSession> sessions;
  // By window and device.
  std::map<std::pair<uint64_t, uint64_t>, gpuexec::v1::WindowClocks> window_clocks;
  // One for each function, graph, context and reason, the latest.
  std::map<std::tuple<uint64_t, uint64_t, uint64_t, uint32_t>, gpuexec::v1::CounterDenial> denials;

  std::vector<CounterSeries> series;
  // Samples in the file; those in windows of another kind, which are not in `series`; those that memory had no place
  // for (see CounterImporter), which are not in `series` either.
  uint64_t sample_count = 0;
  uint64_t misplaced_count = 0;
  uint64_t beyond_limit_count = 0;
  // Values that are no number, of samples that are not void.
  uint64_t unavailable_value_count = 0;

  // Whether the trace says anything about counters.
  bool any() const {
    return sample_count > 0 || !groups.empty() || !plans.empty() || !access.empty() || !peaks.empty() ||
           !sessions.empty() || !denials.empty();
  }
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_COUNTER_MODEL_H_
