#include "tests/fakes/fake_metrics.h"

#include <algorithm>
#include <map>

namespace gx::fakes {
namespace {

struct Unit {
  std::string_view prefix;
  double count;
};
constexpr Unit kUnits[] = {{"smsp__", 528}, {"sm__", 132}, {"l1tex__", 132}, {"lts__", 96}, {"dram__", 48},
                           {"gpc__", 8},    {"gr__", 1},   {"gpu__", 1},     {"pcie__", 1}};

constexpr std::string_view kRollups[] = {"sum", "avg", "max", "min"};
constexpr std::string_view kSubmetrics[] = {"", ".peak_sustained", ".per_second", ".pct_of_peak_sustained_active",
                                            ".pct_of_peak_sustained_elapsed"};

std::string_view CounterOf(std::string_view metric) { return metric.substr(0, metric.find('.')); }

std::string_view RollupOf(std::string_view metric) {
  const size_t dot = metric.find('.');
  return dot == std::string_view::npos ? std::string_view() : metric.substr(dot + 1);
}

double UnitCount(std::string_view counter) {
  for (const Unit& unit : kUnits) {
    if (counter.starts_with(unit.prefix)) return unit.count;
  }
  return 1;
}

double ClockOf(std::string_view counter) {
  if (counter.starts_with("dram__")) return 3.2e9;
  if (counter.starts_with("lts__")) return 1.7e9;
  return 1.98e9;
}

double PeakSum(std::string_view counter) {
  if (counter == "dram__bytes") return 1504;
  if (counter == "lts__t_bytes") return 9024;
  if (counter == "smsp__inst_executed") return 528;
  if (counter == "sm__warps_active") return 64 * 132;
  if (counter.find("ops_path_tensor") != std::string_view::npos) return 1024 * 132;
  return 132;
}

double Sum(std::string_view counter, const CountedWork& counted, bool first_range) {
  const auto warps = static_cast<double>(counted.warp_count);
  const auto threads = static_cast<double>(counted.thread_count);
  const auto copied = static_cast<double>(counted.copied_bytes);
  const auto instructions = static_cast<double>(counted.instruction_count);
  const auto tensor_threads = static_cast<double>(counted.tensor_thread_count);
  const double read = threads * kDramReadBytesPerThread + copied;
  const double write =
      (threads * kDramWriteBytesPerThread + copied) * (first_range ? 100.0 + kFirstRangePercent : 100.0) / 100.0;
  if (counter == "smsp__inst_executed" || counter == "smsp__sass_inst_executed") return instructions;
  if (counter == "smsp__sass_thread_inst_executed" || counter == "smsp__sass_thread_inst_executed_pred_on") {
    return threads * kInstructionsPerWarp;
  }
  if (counter == "dram__bytes_read") return read;
  if (counter == "dram__bytes_write") return write;
  if (counter == "dram__bytes") return read + write;
  if (counter == "gr__ctas_launched") return static_cast<double>(counted.block_count);
  if (counter == "gpu__time_duration") return static_cast<double>(counted.duration_ns) + 10'000;
  if (counter == "sm__pipe_tensor_cycles_active") return tensor_threads / 2;
  if (counter.find("ops_path_tensor") != std::string_view::npos) return tensor_threads * 1024;
  if (counter.find("cycles_elapsed") != std::string_view::npos ||
      counter.find("cycles_active") != std::string_view::npos) {
    return static_cast<double>(counted.duration_ns) * 2 * UnitCount(counter);
  }
  return warps * 10;
}

}  // namespace

void CountKernel(std::string_view name, const uint32_t grid[3], const uint32_t block[3], uint64_t duration_ns,
                 bool contaminated, CountedWork* counted) {
  const uint64_t blocks = uint64_t{grid[0]} * grid[1] * grid[2];
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  const uint64_t warps = blocks * ((threads + 31) / 32);
  const uint64_t instructions = warps * kInstructionsPerWarp;
  ++counted->kernel_count;
  counted->contaminated_count += contaminated ? 1 : 0;
  counted->block_count += blocks;
  counted->thread_count += blocks * threads;
  counted->warp_count += warps;
  counted->instruction_count += instructions + (contaminated ? instructions * kContaminationPercent / 100 : 0);
  counted->duration_ns += duration_ns;
  if (name.find("gemm") != std::string_view::npos) counted->tensor_thread_count += blocks * threads;
}

void CountCopy(uint64_t bytes, CountedWork* counted) {
  ++counted->copy_count;
  counted->copied_bytes += bytes;
}

bool IsKnownCounter(std::string_view name) {
  return std::binary_search(kMetricNames.begin(), kMetricNames.end(), name);
}

bool MetricExists(std::string_view metric) {
  if (!IsKnownCounter(CounterOf(metric))) return false;
  const std::string_view rollup = RollupOf(metric);
  const std::string_view first = rollup.substr(0, rollup.find('.'));
  const std::string_view rest = rollup.substr(first.size());
  return std::find(std::begin(kRollups), std::end(kRollups), first) != std::end(kRollups) &&
         std::find(std::begin(kSubmetrics), std::end(kSubmetrics), rest) != std::end(kSubmetrics);
}

bool IsSassMetric(std::string_view metric) { return metric.find("_sass_") != std::string_view::npos; }

bool IsPeak(std::string_view metric) { return metric.ends_with(".peak_sustained"); }

std::vector<size_t> PlanPasses(const std::vector<std::string>& metrics) {
  std::map<std::string_view, size_t> passes;
  size_t hardware_count = 0;
  for (const std::string& metric : metrics) {
    if (IsPeak(metric) || passes.contains(CounterOf(metric))) continue;
    passes[CounterOf(metric)] = IsSassMetric(metric) ? 0 : hardware_count++ / kSlotsPerPass;
  }
  std::vector<size_t> result;
  // What the hardware counts first, then patched code (seen on an H200).
  const size_t hardware_passes = (hardware_count + kSlotsPerPass - 1) / kSlotsPerPass;
  for (const std::string& metric : metrics) {
    result.push_back(IsPeak(metric) ? 0 : passes[CounterOf(metric)] + (IsSassMetric(metric) ? hardware_passes : 0));
  }
  return result;
}

double MetricValue(std::string_view metric, const CountedWork& counted, bool first_range) {
  const std::string_view counter = CounterOf(metric);
  const std::string_view rollup = RollupOf(metric);
  const bool is_sum = rollup.starts_with("sum");
  if (rollup.ends_with(".peak_sustained")) return is_sum ? PeakSum(counter) : PeakSum(counter) / UnitCount(counter);
  if (rollup.ends_with(".per_second")) return is_sum ? ClockOf(counter) * UnitCount(counter) : ClockOf(counter);
  if (rollup.find(".pct") != std::string_view::npos) {
    const bool needs_tensor = counter.find("tensor") != std::string_view::npos;
    return needs_tensor && counted.tensor_thread_count == 0 ? 0 : 50;
  }
  const double sum = Sum(counter, counted, first_range);
  return is_sum ? sum : sum / UnitCount(counter);
}

}  // namespace gx::fakes
