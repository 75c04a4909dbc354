#include "analysis/machine_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "analysis/format.h"
#include "analysis/machine_ceilings.h"
#include "analysis/model/quantile.h"
#include "analysis/printable.h"
#include "analysis/text_table.h"

namespace gx::analysis {
namespace {

namespace v1 = gpuexec::v1;

constexpr double kNsPerSecond = 1e9;
// The project's own bar: a larger error of a counter is to be explained.
constexpr double kExplainedErrorRatio = 0.01;

// "CEILING_RESOURCE_TENSOR_BF16" less what all names of its enum begin with, in lower case.
std::string ShortName(std::string name, absl::string_view prefix) {
  if (absl::StartsWith(name, prefix)) name.erase(0, prefix.size());
  absl::AsciiStrToLower(&name);
  // A value that this version has no name for.
  return name.empty() ? "unknown" : name;
}

std::string UnitText(v1::WorkUnit unit) {
  switch (unit) {
    case v1::WORK_UNIT_BYTE:
      return "B";
    case v1::WORK_UNIT_FLOP:
      return "FLOP";
    case v1::WORK_UNIT_WARP_INSTRUCTION:
      return "inst";
    default:
      return "op";
  }
}

std::vector<double> Sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

// Largest less smallest over the median; "-" where there is no sample.
std::string SpreadText(const std::vector<double>& values) {
  const std::vector<double> sorted = Sorted(values);
  const std::optional<double> median = model::SortedQuantile(sorted, 0.5);
  if (!median.has_value() || !(*median > 0)) return "-";
  return absl::StrFormat("%.1f %%", 100 * (sorted.back() - sorted.front()) / *median);
}

// Of the largest work, as all spreads and clocks here.
const v1::SlopePoint& LastPoint(const v1::Slope& slope) { return slope.point(slope.point_size() - 1); }

std::string TimeSpread(const v1::Slope& slope) {
  const auto& durations = LastPoint(slope).duration_ns();
  return SpreadText({durations.begin(), durations.end()});
}

std::string CycleSpread(const v1::Slope& slope) {
  const v1::SlopePoint& point = LastPoint(slope);
  std::vector<double> cycles;
  for (int i = 0; i < std::min(point.duration_ns_size(), point.sm_clock_hz_size()); ++i) {
    cycles.push_back(point.duration_ns(i) * point.sm_clock_hz(i));
  }
  return SpreadText(cycles);
}

std::string ClockText(const v1::Slope& slope) {
  const auto& clocks = LastPoint(slope).sm_clock_hz();
  const std::vector<double> sorted = Sorted({clocks.begin(), clocks.end()});
  const std::optional<double> median = model::SortedQuantile(sorted, 0.5);
  return median.has_value() ? absl::StrFormat("%.3f GHz", *median / 1e9) : "-";
}

std::string PerCycle(const v1::Slope& slope, const std::string& unit) {
  return slope.has_work_per_sm_cycle() ? absl::StrFormat("%.1f %s/clk", slope.work_per_sm_cycle(), unit) : "-";
}

double PeriodNs(const v1::Slope& slope) { return kNsPerSecond / slope.work_per_second(); }

void AddSection(absl::string_view title, const TextTable& table, std::string* text) {
  absl::StrAppend(text, "\n", title, "\n");
  for (const std::string& line : table.Lines(0)) absl::StrAppend(text, "  ", line, "\n");
}

void AddCeilings(const v1::MachineFile& machine, std::string* text) {
  if (machine.ceiling().empty()) return;
  TextTable table;
  table.Add({.title = "resource", .right = false});
  table.Add({.title = "path", .right = false});
  for (const char* title : {"rate", "per SM clock", "SM clock", "spread", "in clocks"}) table.Add({.title = title});
  table.Add({.title = "measured with", .right = false});
  for (const v1::Ceiling& ceiling : machine.ceiling()) {
    const std::string unit = UnitText(ceiling.unit());
    table.Put(ShortName(v1::CeilingResource_Name(ceiling.resource()), "CEILING_RESOURCE_"));
    table.Put(ShortName(v1::CeilingPath_Name(ceiling.path()), "CEILING_PATH_"));
    table.Put(absl::StrFormat("%.3f T%s/s", ceiling.slope().work_per_second() / 1e12, unit));
    table.Put(PerCycle(ceiling.slope(), unit));
    table.Put(ClockText(ceiling.slope()));
    table.Put(TimeSpread(ceiling.slope()));
    table.Put(CycleSpread(ceiling.slope()));
    std::string with = Printable(ceiling.variant());
    if (ceiling.has_access_bytes()) absl::StrAppend(&with, ", ", ceiling.access_bytes(), " B an access");
    if (ceiling.has_footprint_bytes()) absl::StrAppend(&with, ", footprint ", FormatBytes(ceiling.footprint_bytes()));
    table.Put(with);
  }
  AddSection(
      "CEILINGS (slopes of time against work; spread: largest less smallest sample, of time, and of time x SM clock)",
      table, text);
}

void AddLatencies(const v1::MachineFile& machine, std::string* text) {
  if (machine.latency().empty()) return;
  TextTable table;
  table.Add({.title = "level", .right = false});
  for (const char* title : {"SM clocks", "time", "spread", "sectors a request", "footprint"})
    table.Add({.title = title});
  for (const v1::Latency& latency : machine.latency()) {
    const v1::Slope& slope = latency.slope();
    table.Put(ShortName(v1::LatencyLevel_Name(latency.level()), "LATENCY_LEVEL_"));
    table.Put(slope.work_per_sm_cycle() > 0 ? absl::StrFormat("%.1f", 1 / slope.work_per_sm_cycle()) : "-");
    table.Put(FormatNs(PeriodNs(slope)));
    table.Put(TimeSpread(slope));
    table.Put(absl::StrCat(latency.sectors_per_request()));
    table.Put(FormatBytes(latency.footprint_bytes()));
  }
  AddSection("LATENCIES (one warp)", table, text);
}

void PutShape(const v1::KernelShape& shape, uint64_t resident_blocks, TextTable* table) {
  table->Put(absl::StrCat(shape.grid_x()));
  table->Put(resident_blocks == 0
                 ? "-"
                 : absl::StrFormat("%.2f", static_cast<double>(shape.grid_x()) / static_cast<double>(resident_blocks)));
  table->Put(absl::StrCat(shape.block_x()));
  table->Put(FormatBytes(shape.dynamic_shared_memory_bytes()));
  table->Put(shape.cluster_x() == 0 ? "-" : absl::StrCat(shape.cluster_x()));
  table->Put(absl::StrCat(shape.chain_steps()));
}

constexpr const char* kShapeTitles[] = {"grid", "waves", "block", "shared memory", "cluster", "steps"};

void AddTimings(const v1::MachineFile& machine, std::string* text) {
  if (machine.kernel_timing().empty()) return;
  TextTable table;
  table.Add({.title = "period"});
  table.Add({.title = "spread"});
  table.Add({.title = "from", .right = false});
  for (const char* title : kShapeTitles) table.Add({.title = title});
  for (const v1::KernelTiming& timing : machine.kernel_timing()) {
    table.Put(FormatNs(PeriodNs(timing.slope())));
    table.Put(TimeSpread(timing.slope()));
    table.Put(timing.in_graph() ? "graph" : "stream");
    PutShape(timing.shape(), timing.resident_blocks(), &table);
  }
  AddSection("KERNELS BACK TO BACK (period, with the gap between two; 0 steps: empty)", table, text);
}

void AddRates(const v1::MachineFile& machine, std::string* text) {
  if (machine.launch_rate().empty()) return;
  TextTable table;
  for (const char* title : {"a second", "period", "spread"}) table.Add({.title = title});
  table.Add({.title = "of", .right = false});
  for (const v1::LaunchRate& rate : machine.launch_rate()) {
    table.Put(FormatCount(static_cast<uint64_t>(rate.slope().work_per_second())));
    table.Put(FormatNs(PeriodNs(rate.slope())));
    table.Put(TimeSpread(rate.slope()));
    table.Put(rate.node_count() == 0 ? "kernels" : absl::StrCat("graphs of ", Plural(rate.node_count(), "kernel")));
  }
  AddSection("LAUNCHES", table, text);
}

void AddBias(const v1::MachineFile& machine, std::string* text) {
  if (machine.tracing_bias().empty()) return;
  TextTable table;
  for (const char* title : {"untraced", "traced", "added", "recorded"}) table.Add({.title = title});
  for (const char* title : kShapeTitles) table.Add({.title = title});
  for (const v1::TracingBias& bias : machine.tracing_bias()) {
    table.Put(FormatNs(bias.untraced_ns()));
    table.Put(FormatNs(bias.traced_ns()));
    table.Put(absl::StrFormat("%.0f ns", bias.traced_ns() - bias.untraced_ns()));
    table.Put(bias.has_recorded() ? FormatNs(bias.recorded().median_ns()) : "-");
    PutShape(bias.shape(), bias.resident_blocks(), &table);
  }
  AddSection("WHAT TRACING ADDS (periods of one launch; recorded: median duration in the trace)", table, text);
  const std::optional<TracingCost> cost = FitTracingCost(machine);
  if (!cost.has_value()) return;
  absl::StrAppendFormat(text,
                        "  least squares: %.0f ns, and for each further wave %.1f ns + %.3f ns a thread of a block, "
                        "within %.0f ns (%s)\n",
                        cost->fixed_ns, cost->wave_ns, cost->thread_ns, cost->error_ns,
                        Plural(cost->kernel_count, "kernel"));
  if (cost->block_launch_ns.has_value()) {
    absl::StrAppendFormat(text, "  a block every %.3f ns; kernels that wait for that are not in the fit\n",
                          *cost->block_launch_ns);
  }
}

// An error that has no ratio, of 0, is beyond all that have one.
double SizeOfError(const v1::CounterCheck& check) {
  return check.has_error_ratio() ? std::fabs(check.error_ratio()) : std::numeric_limits<double>::infinity();
}

std::string ErrorText(const v1::CounterCheck& check) {
  if (!check.has_error_ratio()) return "not 0";
  const double percent = 100 * check.error_ratio();
  if (percent == 0) return "0 %";
  // What would be printed as 0 is not.
  if (std::fabs(percent) < 0.001) return percent < 0 ? "> -0.001 %" : "< +0.001 %";
  return absl::StrFormat("%+.3f %%", percent);
}

std::string CountedText(const v1::CounterCheck& check) {
  const std::optional<double> median =
      model::SortedQuantile(Sorted({check.counted().begin(), check.counted().end()}), 0.5);
  return median.has_value() ? FormatCounterValue(*median) : "-";
}

// The checks of each metric, the largest error first, in the same order of metrics.
std::vector<std::vector<const v1::CounterCheck*>> ChecksByMetric(const v1::MachineFile& machine) {
  std::vector<std::vector<const v1::CounterCheck*>> metrics;
  std::map<absl::string_view, size_t> places;
  for (const v1::CounterCheck& check : machine.counter_check()) {
    const auto [place, is_new] = places.try_emplace(check.metric(), metrics.size());
    if (is_new) metrics.emplace_back();
    metrics[place->second].push_back(&check);
  }
  for (auto& checks : metrics) {
    std::stable_sort(checks.begin(), checks.end(),
                     [](const auto* left, const auto* right) { return SizeOfError(*left) > SizeOfError(*right); });
  }
  std::stable_sort(metrics.begin(), metrics.end(),
                   [](const auto& left, const auto& right) { return SizeOfError(*left[0]) > SizeOfError(*right[0]); });
  return metrics;
}

void AddCounterChecks(const v1::MachineFile& machine, std::string* text) {
  if (machine.counter_check().empty()) return;
  TextTable table;
  table.Add({.title = "largest error"});
  table.Add({.title = "in", .right = false});
  for (const char* title : {"expected", "counted", "samples", "cases"}) table.Add({.title = title});
  table.Add({.title = "metric", .right = false});
  std::vector<std::string> above;
  for (const auto& checks : ChecksByMetric(machine)) {
    const v1::CounterCheck& worst = *checks[0];
    table.Put(ErrorText(worst));
    table.Put(Printable(worst.case_name()));
    table.Put(absl::StrCat(worst.is_approximate() ? "about " : "", FormatCounterValue(worst.expected())));
    table.Put(CountedText(worst));
    table.Put(absl::StrCat(worst.counted_size()));
    table.Put(absl::StrCat(checks.size()));
    table.Put(Printable(worst.metric()));
    const auto count = std::count_if(checks.begin(), checks.end(), [](const v1::CounterCheck* check) {
      return SizeOfError(*check) > kExplainedErrorRatio;
    });
    if (count > 0) above.push_back(absl::StrCat(Printable(worst.metric()), " (", count, " of ", checks.size(), ")"));
  }
  AddSection("COUNTERS AGAINST KNOWN ANSWERS (median of the samples of a case of gx-kernels against its source)", table,
             text);
  absl::StrAppendFormat(text, "  above %.0f %%: %s\n", 100 * kExplainedErrorRatio,
                        above.empty() ? "none" : absl::StrJoin(above, ", "));
}

}  // namespace

std::string MachineFileText(const v1::MachineFile& machine) {
  const v1::MachineDevice& device = machine.device();
  const v1::DeviceAttributes& attributes = device.attributes();
  const auto known = [](const std::string& word) { return word.empty() ? "unknown" : Printable(word); };
  std::string text =
      absl::StrCat(Printable(device.name()), ", sm_", attributes.compute_capability_major(),
                   attributes.compute_capability_minor(), ", ", attributes.multiprocessor_count(), " SMs, ",
                   FormatBytes(device.total_memory_bytes()), ", L2 ", FormatBytes(attributes.l2_cache_bytes()), "\n");
  if (!device.uuid().empty())
    absl::StrAppend(&text, Printable(device.uuid()), " ", Printable(device.pci_bus_id()), "\n");
  absl::StrAppend(&text, "driver ", known(machine.software().driver_version()), ", compiler ",
                  known(machine.software().compiler()), ", gpuexec ", known(machine.run().gpuexec_version()), "\n");
  absl::StrAppend(&text, "command ", known(machine.run().command_line()), ", ",
                  absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                                   absl::FromUnixNanos(static_cast<int64_t>(machine.run().start_realtime_ns())),
                                   absl::UTCTimeZone()),
                  "\n");
  if (!machine.run().injection_path().empty()) {
    absl::StrAppend(&text, "measured under injection (", Printable(machine.run().injection_path()),
                    "): no ceilings, but the traced half of a comparison\n");
  }
  AddCeilings(machine, &text);
  AddLatencies(machine, &text);
  AddTimings(machine, &text);
  AddRates(machine, &text);
  AddBias(machine, &text);
  AddCounterChecks(machine, &text);
  if (machine.unmeasured().empty()) return text;
  absl::StrAppend(&text, "\nNOT MEASURED\n");
  for (const v1::Unmeasured& one : machine.unmeasured()) {
    absl::StrAppend(&text, "  ", Printable(one.what()), ": ", Printable(one.why()), "\n");
  }
  return text;
}

}  // namespace gx::analysis
