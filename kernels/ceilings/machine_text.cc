// The machine file as a table: a line a figure, each with the variant that gave it.
#include <algorithm>
#include <cstdio>
#include <string>

#include "kernels/ceilings/machine_record.h"

namespace gx::kernels {
namespace {

// A format and its numbers, as text.
template <typename... Args>
std::string Text(const char* format, Args... args) {
  char text[256];
  const int length = std::snprintf(text, sizeof text, format, args...);
  return length < 0 ? "" : text;
}

// "CEILING_RESOURCE_TENSOR_BF16" less its first two words, in lower case.
std::string ShortName(EnumValue value, std::string_view prefix) {
  std::string name(value.name.substr(prefix.size()));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

// Smallest and largest duration of a point, in per cent of its median: how far the samples can be trusted.
double SpreadPercent(const SlopePoints& points) {
  const std::vector<double>& samples = points.back().duration_ns;
  double least = samples.front();
  double most = samples.front();
  for (const double sample : samples) {
    least = sample < least ? sample : least;
    most = sample > most ? sample : most;
  }
  return 100 * (most - least) / Median(samples);
}

std::string ClockText(const SlopePoints& points) {
  const std::vector<double>& clocks = points.back().sm_clock_hz;
  return clocks.empty() ? "-" : Text("%.3f", Median(clocks) / 1e9);
}

std::string UnitText(EnumValue unit) {
  if (unit.number == work_unit::kByte.number) return "B";
  if (unit.number == work_unit::kFlop.number) return "FLOP";
  if (unit.number == work_unit::kWarpInstruction.number) return "inst";
  return "op";
}

std::string CeilingLine(const Ceiling& ceiling) {
  const Slope slope = FitSlope(ceiling.points).value_or(Slope());
  std::string footprint;
  if (ceiling.access_bytes.has_value()) {
    footprint = Text(", %llu B an access", static_cast<unsigned long long>(*ceiling.access_bytes));
  }
  if (ceiling.footprint_bytes.has_value()) {
    footprint += Text(", footprint %.0f KiB", static_cast<double>(*ceiling.footprint_bytes) / 1024);
  }
  const std::string unit = UnitText(ceiling.unit);
  const std::string per_cycle =
      slope.work_per_sm_cycle.has_value() ? Text("%11.1f", *slope.work_per_sm_cycle) : Text("%11s", "-");
  return Text("  %-18s %-9s %9.3f T%-5s %s %-9s %6s %6.1f %%  ",
              ShortName(ceiling.resource, "CEILING_RESOURCE_").c_str(),
              ShortName(ceiling.path, "CEILING_PATH_").c_str(), slope.work_per_second / 1e12, (unit + "/s").c_str(),
              per_cycle.c_str(), (unit + "/clk").c_str(), ClockText(ceiling.points).c_str(),
              SpreadPercent(ceiling.points)) +
         ceiling.variant + footprint + "\n";
}

std::string LatencyLine(const Latency& latency) {
  const Slope slope = FitSlope(latency.points).value_or(Slope());
  std::string line = Text("  %-8s %10.1f cycles %9.1f ns %6.1f %%  %llu sectors a request, footprint %.0f KiB",
                          ShortName(latency.level, "LATENCY_LEVEL_").c_str(),
                          slope.work_per_sm_cycle.has_value() ? 1 / *slope.work_per_sm_cycle : 0.0,
                          slope.work_per_second > 0 ? 1e9 / slope.work_per_second : 0.0, SpreadPercent(latency.points),
                          static_cast<unsigned long long>(latency.sectors_per_request),
                          static_cast<double>(latency.footprint_bytes) / 1024);
  if (!latency.line_cycles.empty()) {
    std::vector<double> lines = latency.line_cycles;
    std::sort(lines.begin(), lines.end());
    line += Text(", near %.0f and far %.0f cycles", lines[lines.size() / 4], lines[lines.size() * 3 / 4]);
  }
  return line + "\n";
}

std::string TimingLine(const KernelTiming& timing) {
  const Slope slope = FitSlope(timing.points).value_or(Slope());
  return Text(
      "  %10.3f us a launch %6.1f %%  %-6s grid %llu (%.2f waves), block %llu, shared %llu B, cluster %llu, %llu "
      "steps\n",
      slope.work_per_second > 0 ? 1e6 / slope.work_per_second : 0.0, SpreadPercent(timing.points),
      timing.in_graph ? "graph" : "stream", static_cast<unsigned long long>(timing.shape.grid_x),
      timing.resident_blocks > 0
          ? static_cast<double>(timing.shape.grid_x) / static_cast<double>(timing.resident_blocks)
          : 0.0,
      static_cast<unsigned long long>(timing.shape.block_x),
      static_cast<unsigned long long>(timing.shape.dynamic_shared_memory_bytes),
      static_cast<unsigned long long>(timing.shape.cluster_x),
      static_cast<unsigned long long>(timing.shape.chain_steps));
}

std::string RateLine(const LaunchRate& rate) {
  const Slope slope = FitSlope(rate.points).value_or(Slope());
  return Text("  %12.0f launches/s %10.3f us %6.1f %%  ", slope.work_per_second,
              slope.work_per_second > 0 ? 1e6 / slope.work_per_second : 0.0, SpreadPercent(rate.points)) +
         (rate.node_count == 0 ? "kernels"
                               : Text("graphs of %llu kernels", static_cast<unsigned long long>(rate.node_count))) +
         "\n";
}

}  // namespace

std::string MachineText(const MachineRecord& record) {
  std::string text = record.device.name + " " + record.device.uuid + ", driver " +
                     (record.software.driver_version.empty() ? "unknown" : record.software.driver_version) +
                     Text(", %.1f s\n", static_cast<double>(record.run.duration_ns) / 1e9);
  text += "\nCEILINGS (slopes of time against work; SM clock in GHz; spread of the samples at the larger size)\n";
  for (const Ceiling& ceiling : record.ceilings) text += CeilingLine(ceiling);
  text += "\nLATENCIES (one warp)\n";
  for (const Latency& latency : record.latencies) text += LatencyLine(latency);
  text += "\nKERNELS BACK TO BACK (period, with the gap between two)\n";
  for (const KernelTiming& timing : record.kernel_timings) text += TimingLine(timing);
  text += "\nLAUNCH RATES\n";
  for (const LaunchRate& rate : record.launch_rates) text += RateLine(rate);
  text += "\nNOT MEASURED\n";
  for (const Unmeasured& one : record.unmeasured) text += "  " + one.what + ": " + one.why + "\n";
  return text;
}

}  // namespace gx::kernels
