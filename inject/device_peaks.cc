#include "inject/device_peaks.h"

#include <algorithm>
#include <cmath>

namespace gx::inject {
namespace {

constexpr std::string_view kSmClock = "sm__cycles_elapsed.avg.per_second";
constexpr std::string_view kL2Clock = "lts__cycles_elapsed.avg.per_second";
constexpr std::string_view kMemoryClock = "dram__cycles_elapsed.avg.per_second";
constexpr std::string_view kClocks[] = {kSmClock, kL2Clock, kMemoryClock};

struct Resource {
  std::string_view counter;
  std::string_view clock;
};
// Every resource that a launch can be bound by. Tensor paths: the instruction forms of Hopper (hmma, hgmma, ...), else
// those by type.
constexpr Resource kResources[] = {
    {"dram__bytes", kMemoryClock},
    {"lts__t_sectors", kL2Clock},
    {"lts__lts2xbar_cycles_active", kL2Clock},
    {"lts__ltcfabric2lts_cycles_active", kL2Clock},
    {"lts__d_atomic_input_cycles_active", kL2Clock},
    {"l1tex__m_xbar2l1tex_read_bytes", kSmClock},
    {"l1tex__data_pipe_lsu_wavefronts", kSmClock},
    {"l1tex__t_sectors", kSmClock},
    {"smsp__inst_executed", kSmClock},
    {"sm__inst_executed_pipe_lsu", kSmClock},
    {"sm__inst_executed_pipe_alu", kSmClock},
    {"sm__inst_executed_pipe_fma", kSmClock},
    {"sm__inst_executed_pipe_xu", kSmClock},
    {"sm__inst_executed_pipe_fp64", kSmClock},
    {"sm__pipe_shared_cycles_active", kSmClock},
    {"sm__pipe_tensor_cycles_active", kSmClock},
    {"sm__pipe_tensor_cycles_active_v2", kSmClock},
    {"sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_op_hmma_src_tf32_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_op_hgmma_src_fp16", kSmClock},
    {"sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_op_imma_src_int8", kSmClock},
    {"sm__ops_path_tensor_op_igmma_src_int8", kSmClock},
    {"sm__ops_path_tensor_src_bf16_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_src_fp16_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_src_tf32_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_src_fp8", kSmClock},
    {"sm__ops_path_tensor_src_fp8_dst_fp32", kSmClock},
    {"sm__ops_path_tensor_src_int8", kSmClock},
    {"sm__ops_path_tensor_src_fp64", kSmClock},
};
constexpr std::string_view kPeak = ".sum.peak_sustained";

std::string_view ClockOf(std::string_view metric) {
  for (const Resource& resource : kResources) {
    if (metric.size() == resource.counter.size() + kPeak.size() && metric.starts_with(resource.counter)) {
      return resource.clock;
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> PeakMetrics(const std::function<bool(const std::string& metric)>& exists) {
  std::vector<std::string> metrics;
  const auto add = [&](std::string metric) {
    if (exists(metric)) metrics.push_back(std::move(metric));
  };
  for (const Resource& resource : kResources) add(std::string(resource.counter).append(kPeak));
  for (const std::string_view clock : kClocks) add(std::string(clock));
  return metrics;
}

DevicePeaksRecord MakeDevicePeaks(uint64_t device_id, uint64_t monotonic_ns, std::span<const std::string> metrics,
                                  std::span<const double> values) {
  DevicePeaksRecord record;
  record.device_id = device_id;
  record.monotonic_ns = monotonic_ns;
  const auto value_of = [&](std::string_view metric) -> std::optional<double> {
    const auto at = std::find(metrics.begin(), metrics.end(), metric);
    const auto index = static_cast<size_t>(at - metrics.begin());
    if (index >= values.size() || !std::isfinite(values[index])) return std::nullopt;
    return values[index];
  };
  for (size_t i = 0; i < metrics.size() && i < values.size(); ++i) {
    const std::string_view clock = ClockOf(metrics[i]);
    if (clock.empty() || !std::isfinite(values[i])) continue;
    record.peaks.push_back({metrics[i], values[i], std::string(clock), value_of(clock)});
  }
  return record;
}

}  // namespace gx::inject
