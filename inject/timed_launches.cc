#include "inject/timed_launches.h"

namespace gx::inject {

void TimedLaunches::SetClocks(uint64_t cupti_ns, uint64_t monotonic_ns) {
  clocks_known_ = true;
  offset_ns_ = cupti_ns - monotonic_ns;
}

void TimedLaunches::SetWindow(const WindowRecord& window) {
  if (window.kind != WindowKind::kTiming) return;
  const Window known{window.window_id, window.begin_monotonic_ns, window.end_monotonic_ns.value_or(UINT64_MAX)};
  for (Window& other : windows_) {
    if (other.id == known.id) {
      other = known;
      return;
    }
  }
  windows_[next_window_] = known;
  next_window_ = (next_window_ + 1) % windows_.size();
}

bool TimedLaunches::NextToSwitch(const TimedKernel& kernel) const {
  if (!clocks_known_) return false;
  const uint64_t start_ns = kernel.start_ns - offset_ns_;
  const uint64_t end_ns = kernel.end_ns - offset_ns_;
  for (const Window& window : windows_) {
    // A kernel that began before its window did, by a hair, is next to its beginning, too.
    if (window.id == 0) continue;
    if (start_ns < window.begin_ns + kSwitchMarginNs && end_ns + kSwitchMarginNs > window.begin_ns) return true;
    if (window.end_ns == UINT64_MAX) continue;
    if (start_ns < window.end_ns + kSwitchMarginNs && end_ns + kSwitchMarginNs > window.end_ns) return true;
  }
  return false;
}

bool TimedLaunches::IsWarm(uint64_t key) {
  const auto found = launches_.find(key);
  if (found == launches_.end()) {
    if (launches_.size() >= kMaxSignatures) return true;
    launches_.emplace(key, uint8_t{1});
    return false;
  }
  if (found->second >= kWarmUpLaunches) return true;
  ++found->second;
  return false;
}

void TimedLaunches::SettleOne(Neighbour* neighbour, std::vector<LaunchTime>* times) {
  if (!neighbour->used || neighbour->settled) return;
  neighbour->settled = true;
  const TimedKernel& kernel = neighbour->kernel;
  const uint64_t duration_ns = kernel.end_ns - kernel.start_ns;
  const bool undisturbed = !neighbour->overlapped && !NextToSwitch(kernel);
  if (kernel.graph_id == 0) {
    const bool warm = IsWarm(kernel.key);
    times->push_back({kernel.key, duration_ns, warm && undisturbed});
    return;
  }
  if (graphs_.size() >= kMaxOpenGraphs && !graphs_.contains(kernel.graph_id)) {
    for (const auto& [id, graph] : graphs_) SettleGraph(graph, times);
    graphs_.clear();
  }
  OpenGraph& graph = graphs_[kernel.graph_id];
  if (graph.key != 0 && graph.correlation_id != kernel.correlation_id) {
    SettleGraph(graph, times);
    graph = {};
  }
  graph.key = kernel.key;
  graph.correlation_id = kernel.correlation_id;
  graph.sum_ns += duration_ns;
  graph.clean = graph.clean && undisturbed;
}

void TimedLaunches::SettleGraph(const OpenGraph& graph, std::vector<LaunchTime>* times) {
  const bool warm = IsWarm(graph.key);
  times->push_back({graph.key, graph.sum_ns, warm && graph.clean});
}

void TimedLaunches::Add(const TimedKernel& kernel, std::vector<LaunchTime>* times) {
  if (kernel.start_ns == 0 || kernel.end_ns < kernel.start_ns) return;
  Device& device = devices_[kernel.device_id];
  bool overlapped = false;
  for (Neighbour& other : device.neighbours) {
    if (!other.used || other.kernel.start_ns >= kernel.end_ns || kernel.start_ns >= other.kernel.end_ns) continue;
    if (kernel.graph_id != 0 && other.kernel.graph_id == kernel.graph_id &&
        other.kernel.correlation_id == kernel.correlation_id) {
      continue;
    }
    overlapped = true;
    other.overlapped = true;
  }
  Neighbour& slot = device.neighbours[device.next];
  device.next = (device.next + 1) % kNeighbours;
  SettleOne(&slot, times);
  slot = {kernel, true, false, overlapped};
}

void TimedLaunches::Settle(std::vector<LaunchTime>* times) {
  for (auto& [id, device] : devices_) {
    for (size_t i = 0; i < kNeighbours; ++i) SettleOne(&device.neighbours[(device.next + i) % kNeighbours], times);
  }
}

}  // namespace gx::inject
