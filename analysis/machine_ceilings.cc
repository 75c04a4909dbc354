#include "analysis/machine_ceilings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

// The largest of a figure over the ceilings that it exists for.
template <typename Figure>
std::optional<double> Largest(const v1::MachineFile& machine, v1::CeilingResource resource, v1::CeilingPath path,
                              const Figure& figure) {
  std::optional<double> largest;
  for (const v1::Ceiling& ceiling : machine.ceiling()) {
    if (ceiling.resource() != resource) continue;
    if (path != v1::CEILING_PATH_UNSPECIFIED && ceiling.path() != path) continue;
    const std::optional<double> value = figure(ceiling);
    if (value.has_value()) largest = std::max(largest.value_or(*value), *value);
  }
  return largest;
}

// Linear between the neighbours of `at`, constant beyond the ends; absent of nothing.
std::optional<double> Interpolate(const std::map<double, double>& points, double at) {
  if (points.empty() || std::isnan(at)) return std::nullopt;
  const auto above = points.lower_bound(at);
  if (above == points.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == points.end()) return below->second;
  const double part = (at - below->first) / (above->first - below->first);
  return below->second + part * (above->second - below->second);
}

// The fastest at each share of reads; `clock` divides: 1 for seconds.
template <typename Clock>
std::optional<double> DramAt(const v1::MachineFile& machine, double read_share_ratio, const Clock& clock) {
  std::map<double, double> by_share;
  for (const v1::Ceiling& ceiling : machine.ceiling()) {
    if (ceiling.resource() != v1::CEILING_RESOURCE_DRAM) continue;
    const std::optional<double> hz = clock(ceiling);
    if (!hz.has_value()) continue;
    double& rate = by_share[ceiling.read_share_ratio()];
    rate = std::max(rate, ceiling.slope().work_per_second() / *hz);
  }
  return Interpolate(by_share, read_share_ratio);
}

// SM cycles of a load, by sectors of a request.
std::map<uint64_t, double> CyclesBySectors(const v1::MachineFile& machine, v1::LatencyLevel level) {
  std::map<uint64_t, double> cycles;
  for (const v1::Latency& latency : machine.latency()) {
    if (latency.level() != level || !latency.slope().has_work_per_sm_cycle()) continue;
    cycles[latency.sectors_per_request()] = 1 / latency.slope().work_per_sm_cycle();
  }
  return cycles;
}

// Doublings between two sizes; anything below `least` counts as that.
double Doublings(uint64_t left, uint64_t right, uint64_t least) {
  return std::fabs(std::log2(static_cast<double>(std::max(left, least))) -
                   std::log2(static_cast<double>(std::max(right, least))));
}

// Cluster first, then doublings.
std::pair<bool, double> Distance(const v1::TracingBias& bias, const LaunchShape& shape) {
  constexpr uint64_t kLeastSharedBytes = 1024;
  const v1::KernelShape& measured = bias.shape();
  // What the device does not hold at a time are waves.
  const uint64_t resident = std::max<uint64_t>(bias.resident_blocks(), 1);
  return {measured.cluster_x() != shape.cluster_blocks,
          Doublings(std::min(measured.grid_x(), resident), std::min(shape.grid_blocks, resident), 1) +
              Doublings(measured.block_x(), shape.block_threads, 1) +
              Doublings(measured.dynamic_shared_memory_bytes(), shape.dynamic_shared_memory_bytes, kLeastSharedBytes)};
}

uint64_t WavesOf(const v1::TracingBias& bias) {
  const uint64_t resident = std::max<uint64_t>(bias.resident_blocks(), 1);
  return bias.shape().grid_x() / resident + (bias.shape().grid_x() % resident == 0 ? 0 : 1);
}

}  // namespace

std::optional<double> SustainedPerSmCycle(const v1::MachineFile& machine, v1::CeilingResource resource,
                                          v1::CeilingPath path) {
  return Largest(machine, resource, path, [](const v1::Ceiling& ceiling) -> std::optional<double> {
    if (!ceiling.slope().has_work_per_sm_cycle()) return std::nullopt;
    return ceiling.slope().work_per_sm_cycle();
  });
}

std::optional<double> SustainedPerSecond(const v1::MachineFile& machine, v1::CeilingResource resource,
                                         v1::CeilingPath path) {
  return Largest(machine, resource, path,
                 [](const v1::Ceiling& ceiling) -> std::optional<double> { return ceiling.slope().work_per_second(); });
}

std::optional<double> SustainedDramBytesPerSecond(const v1::MachineFile& machine, double read_share_ratio) {
  return DramAt(machine, read_share_ratio, [](const v1::Ceiling&) { return std::optional<double>(1); });
}

std::optional<double> SustainedDramBytesPerCycle(const v1::MachineFile& machine, double read_share_ratio) {
  return DramAt(machine, read_share_ratio, [](const v1::Ceiling& ceiling) -> std::optional<double> {
    if (!ceiling.has_memory_clock_hz()) return std::nullopt;
    return ceiling.memory_clock_hz();
  });
}

std::optional<double> UnloadedCycles(const v1::MachineFile& machine, v1::LatencyLevel level) {
  const std::map<uint64_t, double> cycles = CyclesBySectors(machine, level);
  const auto one = cycles.find(1);
  if (one == cycles.end()) return std::nullopt;
  return one->second;
}

std::optional<double> CyclesPerFurtherSector(const v1::MachineFile& machine, v1::LatencyLevel level) {
  const std::map<uint64_t, double> cycles = CyclesBySectors(machine, level);
  if (cycles.size() < 2 || cycles.begin()->first != 1) return std::nullopt;
  const auto& [most_sectors, most_cycles] = *cycles.rbegin();
  return std::max(0.0, (most_cycles - cycles.begin()->second) / static_cast<double>(most_sectors - 1));
}

std::optional<double> EmptyKernelNs(const v1::MachineFile& machine, const LaunchShape& shape) {
  const v1::TracingBias* nearest = nullptr;
  for (const v1::TracingBias& bias : machine.tracing_bias()) {
    if (bias.shape().chain_steps() != 0 || !bias.has_recorded()) continue;
    if (nearest == nullptr || Distance(bias, shape) < Distance(*nearest, shape)) nearest = &bias;
  }
  if (nearest == nullptr) return std::nullopt;
  return nearest->recorded().median_ns();
}

std::optional<TracingCost> FitTracingCost(const v1::MachineFile& machine) {
  std::vector<std::pair<double, double>> points;
  std::set<uint64_t> waves_seen;
  for (const v1::TracingBias& bias : machine.tracing_bias()) {
    if (bias.shape().chain_steps() == 0) continue;
    const uint64_t waves = WavesOf(bias);
    waves_seen.insert(waves);
    points.emplace_back(static_cast<double>(waves), bias.traced_ns() - bias.untraced_ns());
  }
  if (waves_seen.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(points.size());
  double mean_waves = 0;
  double mean_ns = 0;
  for (const auto& [waves, ns] : points) {
    mean_waves += waves / count;
    mean_ns += ns / count;
  }
  double product = 0;
  double square = 0;
  for (const auto& [waves, ns] : points) {
    product += (waves - mean_waves) * (ns - mean_ns);
    square += (waves - mean_waves) * (waves - mean_waves);
  }
  TracingCost cost;
  cost.wave_ns = product / square;
  cost.fixed_ns = mean_ns - cost.wave_ns * mean_waves;
  cost.kernel_count = points.size();
  for (const auto& [waves, ns] : points) {
    cost.error_ns = std::max(cost.error_ns, std::fabs(cost.fixed_ns + cost.wave_ns * waves - ns));
  }
  return cost;
}

double TracingNs(const TracingCost& cost, uint64_t waves) {
  return std::max(0.0, cost.fixed_ns + cost.wave_ns * static_cast<double>(waves));
}

}  // namespace gx::analysis
