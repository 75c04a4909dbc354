#include "analysis/machine_ceilings.h"

#include <algorithm>
#include <array>
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

// From the two largest grids of more than one wave of each shape of empty kernels.
std::optional<double> BlockLaunchNs(const v1::MachineFile& machine) {
  std::optional<double> least_ns;
  for (const v1::TracingBias& large : machine.tracing_bias()) {
    for (const v1::TracingBias& small : machine.tracing_bias()) {
      const v1::KernelShape& a = large.shape();
      const v1::KernelShape& b = small.shape();
      if (a.chain_steps() != 0 || b.chain_steps() != 0 || a.grid_x() <= b.grid_x() || WavesOf(small) < 2 ||
          a.block_x() != b.block_x() || a.dynamic_shared_memory_bytes() != b.dynamic_shared_memory_bytes() ||
          a.cluster_x() != b.cluster_x()) {
        continue;
      }
      const double ns = (large.untraced_ns() - small.untraced_ns()) / static_cast<double>(a.grid_x() - b.grid_x());
      if (ns > 0) least_ns = std::min(least_ns.value_or(ns), ns);
    }
  }
  return least_ns;
}

struct TracingPoint {
  double further_waves = 0;
  double threads = 0;
  double ns = 0;
};

// The first `terms` (2 or 3) of 1, further waves, further waves x threads; further factors are 0. Absent where the
// points do not tell them apart. Normal equations: three unknowns of like size after scaling by the largest of each.
std::optional<std::array<double, 3>> LeastSquares(const std::vector<TracingPoint>& points, size_t terms) {
  const auto row = [](const TracingPoint& point) {
    return std::array<double, 3>{1, point.further_waves, point.further_waves * point.threads};
  };
  std::array<double, 3> scale{};
  for (const TracingPoint& point : points) {
    for (size_t i = 0; i < terms; ++i) scale[i] = std::max(scale[i], row(point)[i]);
  }
  std::array<std::array<double, 4>, 3> equations{};
  for (const TracingPoint& point : points) {
    const std::array<double, 3> values = row(point);
    for (size_t i = 0; i < terms; ++i) {
      if (scale[i] <= 0) return std::nullopt;
      for (size_t j = 0; j < terms; ++j) equations[i][j] += values[i] / scale[i] * (values[j] / scale[j]);
      equations[i][3] += values[i] / scale[i] * point.ns;
    }
  }
  // Positive definite, or nearly singular: no pivots are needed.
  constexpr double kLeastPivot = 1e-9;
  for (size_t i = 0; i < terms; ++i) {
    if (!(equations[i][i] > kLeastPivot)) return std::nullopt;
    for (size_t k = 0; k < terms; ++k) {
      if (k == i) continue;
      const double factor = equations[k][i] / equations[i][i];
      for (size_t j = 0; j < 4; ++j) equations[k][j] -= factor * equations[i][j];
    }
  }
  std::array<double, 3> factors{};
  for (size_t i = 0; i < terms; ++i) factors[i] = equations[i][3] / equations[i][i] / scale[i];
  return factors;
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

std::optional<double> SustainedL2BytesPerSecond(const v1::MachineFile& machine, bool written) {
  return Largest(machine, v1::CEILING_RESOURCE_L2, v1::CEILING_PATH_THREAD,
                 [written](const v1::Ceiling& ceiling) -> std::optional<double> {
                   // Machine files before 0.2 hold reads alone, and do not say so.
                   const bool writes = ceiling.has_read_share_ratio() && ceiling.read_share_ratio() == 0;
                   if (writes != written) return std::nullopt;
                   return ceiling.slope().work_per_second();
                 });
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

std::optional<double> IdleLaunchNs(const v1::MachineFile& machine, const LaunchShape& shape) {
  LaunchShape one = shape;
  one.grid_blocks = std::max<uint64_t>(1, shape.cluster_blocks);
  return EmptyKernelNs(machine, one);
}

std::optional<TracingCost> FitTracingCost(const v1::MachineFile& machine) {
  TracingCost cost;
  cost.block_launch_ns = BlockLaunchNs(machine);
  std::vector<TracingPoint> points;
  std::set<double> further_waves_seen;
  std::set<double> threads_seen;
  for (const v1::TracingBias& bias : machine.tracing_bias()) {
    if (bias.shape().chain_steps() == 0) continue;
    if (IsBoundByBlockLaunch(cost, bias.shape().grid_x(), bias.untraced_ns())) continue;
    TracingPoint point;
    point.further_waves = static_cast<double>(WavesOf(bias)) - 1;
    point.threads = static_cast<double>(bias.shape().block_x());
    point.ns = bias.traced_ns() - bias.untraced_ns();
    further_waves_seen.insert(point.further_waves);
    if (point.further_waves > 0) threads_seen.insert(point.threads);
    points.push_back(point);
  }
  if (further_waves_seen.size() < 2) return std::nullopt;
  // Of one block size nothing could be told of others.
  const size_t terms = threads_seen.size() >= 2 ? 3 : 2;
  const std::optional<std::array<double, 3>> factors = LeastSquares(points, terms);
  if (!factors.has_value()) return std::nullopt;
  cost.fixed_ns = (*factors)[0];
  cost.wave_ns = (*factors)[1];
  cost.thread_ns = (*factors)[2];
  cost.kernel_count = points.size();
  for (const TracingPoint& point : points) {
    const double fitted_ns = cost.fixed_ns + point.further_waves * (cost.wave_ns + cost.thread_ns * point.threads);
    cost.error_ns = std::max(cost.error_ns, std::fabs(fitted_ns - point.ns));
  }
  return cost;
}

bool IsBoundByBlockLaunch(const TracingCost& cost, uint64_t grid_blocks, double time_ns) {
  constexpr double kBound = 0.9;
  return cost.block_launch_ns.has_value() && time_ns > 0 &&
         *cost.block_launch_ns * static_cast<double>(grid_blocks) >= kBound * time_ns;
}

double TracingNs(const TracingCost& cost, uint64_t waves, const LaunchShape& shape, double time_ns) {
  const bool is_hidden = waves <= 1 || IsBoundByBlockLaunch(cost, shape.grid_blocks, time_ns);
  const double further_waves = is_hidden ? 0 : static_cast<double>(waves - 1);
  const double wave_ns = cost.wave_ns + cost.thread_ns * static_cast<double>(shape.block_threads);
  return std::max(0.0, cost.fixed_ns + further_waves * wave_ns);
}

}  // namespace gx::analysis
