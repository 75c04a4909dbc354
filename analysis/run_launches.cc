#include "analysis/run_launches.h"

#include <algorithm>

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

constexpr uint64_t kManyNodes = 10;
// Of its kernels: what is left to launch singly is little.
constexpr double kMostlyGraphs = 0.5;

}  // namespace

std::optional<double> GraphNodeNs(const pb::MachineFile& machine) {
  std::optional<double> node_ns;
  uint64_t largest = kManyNodes - 1;
  for (const pb::LaunchRate& rate : machine.launch_rate()) {
    if (rate.kind() != pb::LaunchRate::KIND_GRAPH_LAUNCH || rate.node_count() <= largest) continue;
    if (!(rate.slope().work_per_second() > 0)) continue;
    largest = rate.node_count();
    node_ns = 1e9 / (rate.slope().work_per_second() * static_cast<double>(rate.node_count()));
  }
  return node_ns;
}

LaunchVerdict JudgeLaunches(const DeviceLaunches& launches) {
  LaunchVerdict verdict;
  verdict.device_id = launches.device_id;
  const IdleSum& late = launches.idle.Of(GapCause::kHostLate);
  const IdleSum& graph_late = launches.idle.Of(GapCause::kGraphLate);
  verdict.host_late_ns = late.total_ns + graph_late.total_ns;
  if (launches.kernel_count > 0) {
    verdict.kernel_ns = static_cast<double>(launches.kernel_ns) / static_cast<double>(launches.kernel_count);
  }
  if (launches.span_ns == 0 || launches.kernel_count < kMinVerdictKernels) {
    verdict.no_graph = "too few kernels with timings";
    return verdict;
  }
  const auto ratio = [&](uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(launches.span_ns); };
  verdict.host_late_ratio = ratio(verdict.host_late_ns);
  if (verdict.host_late_ratio >= kLaunchBoundRatio) {
    verdict.verdict = LaunchBound::kYes;
  } else if (ratio(verdict.host_late_ns + launches.idle.Of(GapCause::kUnknown).total_ns) >= kLaunchBoundRatio) {
    verdict.no_graph = "the launches of much idle time are not known";
    return verdict;
  } else if (verdict.host_late_ratio >= kPartlyLaunchBoundRatio) {
    verdict.verdict = LaunchBound::kPartly;
  } else {
    verdict.verdict = LaunchBound::kNo;
    verdict.no_graph = "the device does not wait for launches";
    return verdict;
  }
  if (static_cast<double>(launches.graph_kernel_count) >= kMostlyGraphs * static_cast<double>(launches.kernel_count)) {
    verdict.no_graph = "most kernels run in graphs already";
    return verdict;
  }
  if (launches.machine == nullptr) {
    verdict.no_graph = "there is no machine file of the device (--machine names one)";
    return verdict;
  }
  const std::optional<double> node_ns = GraphNodeNs(*launches.machine);
  if (!node_ns.has_value()) {
    verdict.no_graph = "the machine file has no graph launches";
    return verdict;
  }
  const auto total_ns = static_cast<double>(late.total_ns);
  const auto gaps = static_cast<double>(late.gap_count);
  // What a gap has beyond the delay of a launch may be the program's own work, which a graph does not take away.
  const double launching_ns = std::min(total_ns, gaps * launches.idle.launch_delay_ns.value_or(0));
  verdict.graph = GraphSaving{.low_ns = std::max(0.0, launching_ns - gaps * (*node_ns + kRecordingPerLaunchNs)),
                              .high_ns = total_ns,
                              .gap_count = late.gap_count,
                              .node_ns = *node_ns};
  return verdict;
}

}  // namespace gx::analysis
