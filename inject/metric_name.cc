#include "inject/metric_name.h"

#include <array>
#include <cstddef>

namespace gx::inject {
namespace {

constexpr size_t kMaxPrintedBytes = 160;
constexpr std::string_view kSeparator = "__";

// Units whose counters belong to the device. Found by asking the host API of CUPTI 13.0, on every chip that it knows,
// whether one metric of each unit can be configured beside sm__cycles_active; "c2c" by the CUPTI documentation.
struct UnitKind {
  std::string_view prefix;
  MetricKind kind;
};
constexpr auto kDeviceUnits = std::to_array<UnitKind>({
    {"pcie", MetricKind::kPcie},
    {"nvl", MetricKind::kNvlink},
    {"ctc", MetricKind::kDevice},
    {"c2c", MetricKind::kDevice},
    {"mcc", MetricKind::kDevice},
});

// Throughputs are the maximum over many counters ("breakdown" in Nsight Compute's guide); these are the ones that
// decide most often.
struct Replacement {
  std::string_view counter;
  std::array<std::string_view, 4> raw;
};
constexpr auto kThroughputs = std::to_array<Replacement>({
    {"sm__throughput",
     {"smsp__issue_active.sum", "sm__inst_executed_pipe_alu.sum", "sm__inst_executed_pipe_fma.sum",
      "sm__pipe_tensor_cycles_active.sum"}},
    {"gpu__compute_memory_throughput",
     {"dram__bytes.sum", "lts__t_sectors.sum", "l1tex__data_pipe_lsu_wavefronts.sum"}},
    {"gpu__compute_memory_access_throughput",
     {"dram__bytes.sum", "lts__t_sectors.sum", "l1tex__data_pipe_lsu_wavefronts.sum"}},
    {"gpu__compute_memory_request_throughput",
     {"lts__t_sectors.sum", "l1tex__t_sectors.sum", "sm__inst_executed_pipe_lsu.sum"}},
    {"gpu__dram_throughput", {"dram__bytes.sum"}},
    {"dram__throughput", {"dram__bytes.sum"}},
    {"lts__throughput", {"lts__t_sectors.sum", "lts__lts2xbar_cycles_active.sum"}},
    {"l1tex__throughput", {"l1tex__data_pipe_lsu_wavefronts.sum", "l1tex__t_sectors.sum"}},
});

size_t EventStart(std::string_view name) {
  const size_t separator = name.find(kSeparator);
  return separator == std::string_view::npos ? separator : separator + kSeparator.size();
}

std::string Join(std::string_view unit, std::string_view event, std::string_view tail) {
  std::string joined(unit);
  joined += kSeparator;
  joined += event;
  joined += tail;
  return joined;
}

}  // namespace

std::string_view UnitOfMetric(std::string_view name) {
  const size_t separator = name.find(kSeparator);
  if (separator == std::string_view::npos) return {};
  const std::string_view unit = name.substr(0, separator);
  const size_t dot = unit.rfind('.');
  return dot == std::string_view::npos ? unit : unit.substr(dot + 1);
}

std::string_view CounterOfMetric(std::string_view name) {
  const size_t start = EventStart(name);
  return name.substr(0, name.find('.', start == std::string_view::npos ? 0 : start));
}

std::string_view RollupOfMetric(std::string_view name) { return name.substr(CounterOfMetric(name).size()); }

MetricKind KindOfMetric(std::string_view name) {
  // As the host API sorts them: "hardware metrics" are those without "_sass_" (cupti_profiler_host.h).
  if (name.find("_sass_") != std::string_view::npos) return MetricKind::kSass;
  const std::string_view unit = UnitOfMetric(name);
  for (const UnitKind& device : kDeviceUnits) {
    if (unit.starts_with(device.prefix)) return device.kind;
  }
  return MetricKind::kHardware;
}

std::vector<std::string> RawMetricsFor(std::string_view name) {
  std::vector<std::string> raw;
  const std::string_view counter = CounterOfMetric(name);
  for (const Replacement& throughput : kThroughputs) {
    if (counter != throughput.counter) continue;
    for (const std::string_view metric : throughput.raw) {
      if (!metric.empty()) raw.emplace_back(metric);
    }
    return raw;
  }
  const size_t start = EventStart(counter);
  if (start == std::string_view::npos) return raw;
  const std::string_view unit = counter.substr(0, start - kSeparator.size());
  const std::string_view event = counter.substr(start);

  // lts__t_sector_op_read_hit_rate: lts__t_sectors_op_read_lookup_hit over lts__t_sectors_op_read.
  constexpr std::string_view kHitRate = "_hit_rate";
  if (event.ends_with(kHitRate)) {
    std::string looked_up(event.substr(0, event.size() - kHitRate.size()));
    for (const std::string_view singular : {std::string_view("t_sector"), std::string_view("request")}) {
      const bool is_whole_word = looked_up.size() == singular.size() || looked_up[singular.size()] == '_';
      if (looked_up.starts_with(singular) && is_whole_word) looked_up.insert(singular.size(), "s");
    }
    raw.push_back(Join(unit, looked_up, "_lookup_hit.sum"));
    raw.push_back(Join(unit, looked_up, ".sum"));
    return raw;
  }

  // l1tex__average_t_sectors_per_request_pipe_X: l1tex__t_sectors_pipe_X over l1tex__t_requests_pipe_X.
  // smsp__average_warps_issue_stalled_X_per_issue_active: smsp__warps_issue_stalled_X over smsp__issue_active.
  constexpr std::string_view kAverage = "average_";
  constexpr std::string_view kPer = "_per_";
  constexpr std::string_view kRequest = "request";
  const size_t per = event.find(kPer);
  if (per == std::string_view::npos) return raw;
  std::string_view over = event.substr(0, per);
  if (over.starts_with(kAverage)) over.remove_prefix(kAverage.size());
  std::string_view under = event.substr(per + kPer.size());
  if (under.starts_with(kRequest)) {
    under.remove_prefix(kRequest.size());
    raw.push_back(Join(unit, over, std::string(under) + ".sum"));
    raw.push_back(Join(unit, "t_requests", std::string(under) + ".sum"));
  } else {
    raw.push_back(Join(unit, over, ".sum"));
    raw.push_back(Join(unit, under, ".sum"));
  }
  return raw;
}

std::string PrintableMetricName(std::string_view name) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char c : name) {
    if (text.size() >= kMaxPrintedBytes) return text + "...";
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
  }
  return text;
}

}  // namespace gx::inject
