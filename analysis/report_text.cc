#include "analysis/report_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/format.h"
#include "analysis/report_names.h"
#include "analysis/stat_catalog.h"
#include "analysis/text_table.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

// What a cell says where there is nothing to say.
constexpr absl::string_view kUnknown = "-";

enum class Colour { kNone, kBold, kRed, kYellow, kDim };

class Writer {
 public:
  explicit Writer(bool colour) : colour_(colour) {}

  std::string Paint(Colour colour, absl::string_view text) const {
    if (!colour_ || colour == Colour::kNone) return std::string(text);
    const absl::string_view code = colour == Colour::kBold     ? "1"
                                   : colour == Colour::kRed    ? "31"
                                   : colour == Colour::kYellow ? "33"
                                                               : "2";
    return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
  }
  void Heading(absl::string_view text) {
    absl::StrAppend(&out_, out_.empty() ? "" : "\n", Paint(Colour::kBold, text), "\n");
  }
  void Line(absl::string_view text) { absl::StrAppend(&out_, text, "\n"); }
  // "  label          text"; nothing where the text is empty.
  void Field(absl::string_view label, absl::string_view text) {
    if (!text.empty()) Line(absl::StrFormat("  %-18s%s", std::string(label), std::string(text)));
  }
  std::string Take() { return std::move(out_); }

 private:
  const bool colour_;
  std::string out_;
};

Colour ColourOf(pb::Severity severity) {
  if (MeansDataLost(severity)) return Colour::kRed;
  return severity == pb::SEVERITY_NOTICE || severity == pb::SEVERITY_UNSPECIFIED ? Colour::kYellow : Colour::kNone;
}

std::string SpreadText(const std::optional<MinMedianMax>& spread, std::string (*format)(double)) {
  if (!spread.has_value()) return "";
  return absl::StrCat(format(static_cast<double>(spread->min)), " / ", format(spread->median), " / ",
                      format(static_cast<double>(spread->max)));
}
std::string Watts(double milliwatts) { return absl::StrFormat("%.0f W", milliwatts / 1000); }
std::string Celsius(double degrees) { return absl::StrFormat("%.0f C", degrees); }

std::string OnOff(const std::optional<bool>& value) { return !value.has_value() ? "unknown" : *value ? "on" : "off"; }

// ------------------------------------------------------------------------------------------------ losses

void WriteFindings(const ProcessSection& process, bool wide, Writer* out) {
  const auto said = [&] {
    for (const std::string& diagnostic : process.diagnostics) out->Line(absl::StrCat("  said      ", diagnostic));
    if (process.diagnostic_count > process.diagnostics.size()) {
      out->Line(absl::StrCat("  said      ... and ", process.diagnostic_count - process.diagnostics.size(), " more"));
    }
  };
  if (process.nothing_recorded) {
    out->Line(absl::StrCat("  ", out->Paint(Colour::kRed, "NOTHING WAS RECORDED")));
    said();
  }
  if (process.findings.empty()) {
    out->Line("  none: every launch seen has its kernels, every kernel its launch");
  }
  for (const Finding& finding : process.findings) {
    out->Line(absl::StrCat(
        "  ",
        out->Paint(ColourOf(finding.severity), absl::StrFormat("%-10s", std::string(SeverityWord(finding.severity)))),
        absl::StrFormat("%12s", FormatCount(finding.value)), "  ", finding.text, "  [", finding.id, "]"));
    if (!finding.advice.empty()) out->Line(absl::StrCat(std::string(26, ' '), "-> ", finding.advice));
    for (const std::string& detail : finding.details) out->Line(absl::StrCat(std::string(26, ' '), detail));
  }
  if (!process.nothing_recorded) said();
  const AccountingSection& a = process.accounting;
  out->Line(absl::StrCat("  accounting: ", FormatCount(a.launches), " kernel launches, ", FormatCount(a.graph_launches),
                         " graph launches; ", FormatCount(a.kernel_records), " kernel records, ",
                         FormatCount(a.kernels_joined), " joined (", FormatCount(a.kernels_joined_to_graphs),
                         " to graphs)"));
  std::vector<std::string> more;
  const auto add = [&more](uint64_t count, absl::string_view what) {
    if (count > 0) more.push_back(absl::StrCat(FormatCount(count), " ", what));
  };
  add(a.launches_without_kernel, "launches without kernel");
  add(a.kernels_without_launch, "kernels without launch");
  add(a.kernels_device_launched, "launched by kernels");
  add(a.untimed_launches, "untimed by design");
  add(a.kernels_untimed, "without timestamps");
  add(a.kernels_unfinished, "unfinished");
  add(a.kernels_invalid, "with invalid times");
  add(a.summarised_launches, "launches summarised");
  add(a.summarised_kernels, "kernels summarised");
  add(a.replays_complete, "replays complete");
  add(a.replays_short, "replays short of kernels");
  add(a.replays_long, "replays with too many kernels");
  add(a.replays_unchecked, "replays not checked");
  if (!more.empty()) out->Line(absl::StrCat("              ", absl::StrJoin(more, ", ")));
  if (!wide) return;
  for (const Finding& finding : process.bookkeeping) {
    out->Line(absl::StrFormat("  %-10s%12s  %s  [%s]", std::string(SeverityWord(finding.severity)),
                              FormatCount(finding.value), finding.text, finding.id));
  }
}

// ------------------------------------------------------------------------------------------------ provenance

std::string SettingsText(const std::vector<std::pair<std::string, std::string>>& settings) {
  return absl::StrJoin(settings, " ", [](std::string* out, const std::pair<std::string, std::string>& setting) {
    absl::StrAppend(out, setting.first, "=", setting.second);
  });
}

void WriteDevice(const DeviceSection& device, Writer* out) {
  std::string line = absl::StrCat(device.name.empty() ? "name unknown" : device.name);
  if (device.compute_capability_major.has_value()) {
    absl::StrAppend(&line, ", sm_", *device.compute_capability_major, device.compute_capability_minor.value_or(0));
  }
  if (device.multiprocessor_count.has_value()) absl::StrAppend(&line, ", ", *device.multiprocessor_count, " SMs");
  if (device.total_memory_bytes > 0) absl::StrAppend(&line, ", ", FormatBytes(device.total_memory_bytes));
  if (device.l2_cache_bytes.has_value()) absl::StrAppend(&line, ", L2 ", FormatBytes(*device.l2_cache_bytes));
  out->Field(device.unknown ? "device ?" : absl::StrCat("device ", device.device_id), line);
  if (!device.uuid.empty() || !device.pci_bus_id.empty()) {
    out->Field(
        "", absl::StrCat(device.uuid, device.uuid.empty() || device.pci_bus_id.empty() ? "" : ", ", device.pci_bus_id));
  }
  out->Field("", absl::StrCat("ECC ", OnOff(device.ecc_enabled), ", MIG ", OnOff(device.mig_enabled), ", MPS ",
                              OnOff(device.mps_enabled),
                              device.virtualization_mode.value_or(0) != 0
                                  ? absl::StrCat(", virtualization mode ", *device.virtualization_mode)
                                  : ""));
  const auto limit = [](const std::optional<uint64_t>& value, std::string (*format)(double)) {
    return value.has_value() ? absl::StrCat(" (max ", format(static_cast<double>(*value)), ")") : std::string();
  };
  if (device.sample_count == 0) {
    out->Field("", "clocks, power and throttling: unmeasured (no NVML samples)");
    return;
  }
  const auto spread = [&](absl::string_view what, const std::string& text, const std::string& max) {
    if (!text.empty()) out->Field("", absl::StrCat(what, " min/median/max ", text, max));
  };
  spread("SM clock", SpreadText(device.sm_clock_hz, FormatHz), limit(device.max_sm_clock_hz, FormatHz));
  spread("memory clock", SpreadText(device.memory_clock_hz, FormatHz), limit(device.max_memory_clock_hz, FormatHz));
  spread("power", SpreadText(device.power_milliwatts, Watts), limit(device.power_limit_milliwatts, Watts));
  spread("temperature", SpreadText(device.temperature_celsius, Celsius), "");
  if (device.throttle_sample_count == 0) {
    out->Field("", "throttle reasons: unmeasured");
  } else if (device.throttle_reasons.empty()) {
    out->Field("", absl::StrCat("throttle reasons: none in ", device.throttle_sample_count, " samples"));
  } else {
    std::vector<std::string> reasons;
    for (const ThrottleReason& reason : device.throttle_reasons) {
      reasons.push_back(absl::StrCat(reason.words, " ", reason.sample_count, "/", device.throttle_sample_count));
    }
    out->Field("", absl::StrCat("clock reasons (samples): ", absl::StrJoin(reasons, ", ")));
  }
}

void WriteProvenance(const ProcessSection& process, bool wide, Writer* out) {
  const ProvenanceSection& p = process.provenance;
  out->Field("trace", absl::StrCat(process.path, " (", FormatBytes(process.size_bytes), ", ",
                                   FormatCount(process.frame_count), " frames)"));
  if (!p.header_known) {
    out->Field("program", "unknown (the header is missing)");
  } else {
    out->Field("command", p.command.empty() ? "unknown" : p.command);
    if (wide) out->Field("executable", p.executable);
    out->Field("host",
               absl::StrCat(p.host.empty() ? "unknown" : p.host, ", pid ", p.pid,
                            wide ? absl::StrCat(", parent ", p.parent_pid, ", pid namespace ", p.pid_namespace) : "",
                            p.kernel_release.empty() ? "" : absl::StrCat(", ", p.kernel_release),
                            p.machine.empty() ? "" : absl::StrCat(" ", p.machine)));
    out->Field("ranks", SettingsText(p.rank_variables));
    out->Field("started", absl::StrCat(p.started, p.ended.empty()         ? ", no orderly end"
                                                  : p.ended == "disabled" ? ", recording switched itself off"
                                                                          : absl::StrCat(", ended by ", p.ended)));
    out->Field("gpuexec", absl::StrCat(p.gpuexec_version.empty() ? "unknown" : p.gpuexec_version,
                                       p.source_revision.empty() ? "" : absl::StrCat(" (", p.source_revision, ")"),
                                       ", format ", p.format));
    out->Field("driver", absl::StrCat(p.driver_version.empty() ? "unknown" : p.driver_version, ", CUDA ",
                                      p.cuda_driver_api_version.empty() ? "unknown" : p.cuda_driver_api_version));
    if (wide) out->Field("libcuda", p.libcuda_path);
    out->Field("CUPTI",
               absl::StrCat(
                   p.cupti_version.empty() ? "unknown" : p.cupti_version,
                   p.kernel_record_version > 0 ? absl::StrCat(", kernel record version ", p.kernel_record_version) : "",
                   p.cupti_path.empty() ? "" : absl::StrCat(", ", p.cupti_path)));
    if (wide) out->Field("settings", SettingsText(p.configuration));
  }
  out->Field("kernel clock", p.clock_step_ns == 0 ? "no timed kernel"
                                                  : absl::StrCat("steps of ", p.clock_step_ns, " ns, ",
                                                                 p.clock_pair_count, " pairs with the host clock"));
  for (const DeviceSection& device : process.devices) WriteDevice(device, out);
}

// ------------------------------------------------------------------------------------------------ the run

void WriteRun(const ProcessSection& process, Writer* out) {
  const RunSection& run = process.run;
  out->Field("wall", run.wall_ns == 0
                         ? "unknown"
                         : absl::StrCat(FormatNs(static_cast<double>(run.wall_ns)),
                                        run.wall_from_trailer ? "" : " (first to last record: no orderly end)"));
  out->Field(
      "launches",
      absl::StrCat(FormatCount(run.kernel_launches), " kernels and ", FormatCount(run.graph_launches), " graphs",
                   run.refused_launches > 0 ? absl::StrCat(", ", FormatCount(run.refused_launches), " refused") : "",
                   run.launch_span_ns > 0
                       ? absl::StrCat(", ", FormatCount(static_cast<uint64_t>(run.launches_per_second + 0.5)),
                                      " a second over ", FormatNs(static_cast<double>(run.launch_span_ns)))
                       : ""));
  out->Field("kernels run", FormatCount(run.kernels));
  for (const DeviceSection& device : process.devices) {
    if (!device.active) continue;
    out->Field(
        device.unknown ? "device ?" : absl::StrCat("device ", device.device_id),
        absl::StrCat("busy ", FormatNs(static_cast<double>(device.busy_ns)),
                     run.wall_ns > 0 ? absl::StrCat(" (", FormatRatio(device.busy_of_wall_ratio), " of wall)") : "",
                     ": kernels ", FormatNs(static_cast<double>(device.kernel_busy_ns)), ", copies ",
                     FormatNs(static_cast<double>(device.copy_busy_ns)), "; idle ",
                     FormatNs(static_cast<double>(device.idle_ns)), " of ",
                     FormatNs(static_cast<double>(device.span_ns)), " between first start and last end"));
  }
  for (const CopySection& copy : run.copies) {
    out->Field("copies", absl::StrCat(copy.kind, ": ", FormatCount(copy.count), ", ", FormatBytes(copy.size_bytes),
                                      ", ", FormatNs(static_cast<double>(copy.total_ns))));
  }
  if (run.synchronization_count > 0) {
    out->Field("synchronisation", absl::StrCat(FormatCount(run.synchronization_count), " calls, ",
                                               FormatNs(static_cast<double>(run.synchronization_ns)), " waited"));
  }
  if (run.nvtx_event_count > 0) out->Field("NVTX", absl::StrCat(FormatCount(run.nvtx_event_count), " events"));
  if (run.overhead_count > 0) {
    out->Field("CUPTI overhead", absl::StrCat(FormatNs(static_cast<double>(run.overhead_ns)), " of host time in ",
                                              FormatCount(run.overhead_count), " records"));
  }
  if (run.off_windows_ns > 0) {
    out->Field("capture off", absl::StrCat(FormatNs(static_cast<double>(run.off_windows_ns)), ", by request"));
  }
  if (run.counter_windows_ns > 0) {
    out->Field("counter windows",
               absl::StrCat(FormatNs(static_cast<double>(run.counter_windows_ns)), " without timings"));
  }
}

// ------------------------------------------------------------------------------------------------ kernels

std::string DimText(const std::optional<Dim>& dim) {
  if (!dim.has_value()) return std::string(kUnknown);
  if (dim->y == 1 && dim->z == 1) return absl::StrCat(dim->x);
  if (dim->z == 1) return absl::StrCat(dim->x, "x", dim->y);
  return absl::StrCat(dim->x, "x", dim->y, "x", dim->z);
}

std::string SharedText(const LaunchConfiguration& launch) {
  if (!launch.static_shared_memory_bytes.has_value() && !launch.dynamic_shared_memory_bytes.has_value()) {
    return std::string(kUnknown);
  }
  const auto text = [](const std::optional<uint64_t>& bytes) {
    return bytes.has_value() ? absl::StrCat(*bytes) : std::string("?");
  };
  return absl::StrCat(text(launch.static_shared_memory_bytes), "+", text(launch.dynamic_shared_memory_bytes));
}

template <typename T>
std::string OptionalText(const std::optional<T>& value) {
  return value.has_value() ? absl::StrCat(*value) : std::string(kUnknown);
}

// Marks a median that gives no verdict.
std::string MedianText(const KernelGroup& group) {
  switch (group.basis) {
    case MedianBasis::kClean:
      return FormatNs(group.durations.median_ns);
    case MedianBasis::kFewClean:
      return absl::StrCat("(", FormatNs(group.durations.median_ns), ")");
    case MedianBasis::kNotClean:
      return absl::StrCat("((", FormatNs(group.durations.median_ns), "))");
    case MedianBasis::kNone:
      break;
  }
  return std::string(kUnknown);
}

// The verdict, and what it rests on where that is not every clean call of the run.
std::string VerdictText(const KernelGroup& group) {
  std::vector<std::string> remarks;
  if (group.measured_insufficient()) remarks.push_back(absl::StrCat(group.clean_count, " clean"));
  if (group.durations.sample_count < group.durations.count) {
    remarks.push_back(absl::StrCat(FormatCount(group.durations.sample_count), " sampled"));
  }
  if (group.summarised_count > 0) remarks.push_back(absl::StrCat(FormatCount(group.summarised_count), " in sums only"));
  return absl::StrCat(VerdictWord(group), remarks.empty() ? "" : absl::StrCat(" (", absl::StrJoin(remarks, ", "), ")"));
}

// A short name is for a line of a terminal; --wide shows all of it.
constexpr size_t kMaxShortNameColumns = 120;

std::string KindText(const LaunchConfiguration& launch) {
  std::vector<std::string> words;
  if (launch.graph_node) words.emplace_back("graph");
  if (launch.cooperative) words.emplace_back("coop");
  if (launch.programmatic) words.emplace_back("pdl");
  if (launch.cluster.has_value()) words.push_back(absl::StrCat("cluster ", DimText(launch.cluster)));
  if (launch.from_activity) words.emplace_back("from activity");
  return words.empty() ? std::string(kUnknown) : absl::StrJoin(words, ", ");
}

std::string GroupingText(const Grouping& by) {
  std::vector<std::string> words;
  if (by.signature) words.emplace_back("signature");
  if (by.name) words.emplace_back("name");
  if (by.nvtx) words.emplace_back("NVTX range");
  if (by.stream) words.emplace_back("stream");
  if (by.device) words.emplace_back("device");
  return absl::StrJoin(words, ", ");
}

void WriteKernels(const Report& report, const TextStyle& style, Writer* out) {
  const Grouping& by = report.grouping;
  out->Heading(absl::StrCat("KERNELS by ", GroupingText(by),
                            report.filter.empty() ? "" : absl::StrCat(", names that match '", report.filter, "'")));
  if (report.kernels.empty()) {
    out->Line(report.kernel_groups_total == 0 ? "  none" : "  none that match");
    return;
  }
  const bool several_processes = report.processes.size() > 1;
  const bool names = by.signature || by.name;
  // Columns that would be empty everywhere are left out.
  bool several_devices = false;
  bool kinds = false;
  bool signature_counts = false;
  bool few = false;
  bool not_clean = false;
  for (const KernelGroup& group : report.kernels) {
    several_devices |= group.device_id != report.kernels.front().device_id;
    kinds |= KindText(group.launch) != kUnknown;
    signature_counts |= !by.signature && group.signature_count > 0;
    few |= group.basis == MedianBasis::kFewClean;
    not_clean |= group.basis == MedianBasis::kNotClean;
  }
  const bool device_column = by.device || several_devices;
  // Numbers say what goes first where a terminal is narrow: what the others tell roughly, and what JSON and CSV hold.
  constexpr size_t kMinNameColumns = 32;
  constexpr size_t kMinGroupColumns = 16;
  TextTable table;
  const auto add = [&table](absl::string_view title, int leave_out_rank) {
    table.Add({.title = std::string(title), .leave_out_rank = leave_out_rank});
  };
  const auto add_text = [&table](absl::string_view title, size_t min_width, int leave_out_rank) {
    table.Add({.title = std::string(title), .right = false, .min_width = min_width, .leave_out_rank = leave_out_rank});
  };
  if (several_processes) add_text("process", 8, 0);
  if (by.nvtx) add_text("range", kMinGroupColumns, 0);
  if (by.stream) add_text("stream", kMinGroupColumns, 0);
  if (device_column) add("device", 2);
  add("calls", 0);
  add("total", 0);
  add("share", 1);
  add("median", 0);
  add("p5", 12);
  add("p95", 11);
  add("min", 14);
  add("max", 13);
  add("overlap", 7);
  add_text("verdict", 0, 8);
  if (signature_counts) add("signatures", 6);
  if (names) {
    add("grid", 4);
    add("block", 3);
    add("regs", 5);
    add("smem", 9);
    add("blocks/SM", 10);
    if (kinds) add_text("launch", 0, 6);
    add_text("name", kMinNameColumns, 0);
  }
  for (const KernelGroup& group : report.kernels) {
    if (several_processes) table.Put(report.processes[group.process].label);
    if (by.nvtx) table.Put(absl::StrCat(group.nvtx, group.nvtx_at_capture ? " (at capture)" : ""));
    if (by.stream) table.Put(group.stream);
    if (device_column) table.Put(OptionalText(group.device_id));
    table.Put(FormatCount(group.calls));
    table.Put(FormatNs(static_cast<double>(group.total_ns)));
    table.Put(FormatRatio(group.share_ratio));
    table.Put(MedianText(group));
    const bool measured = group.basis != MedianBasis::kNone;
    for (const double ns : {group.durations.p5_ns, group.durations.p95_ns, static_cast<double>(group.durations.min_ns),
                            static_cast<double>(group.durations.max_ns)}) {
      table.Put(measured ? FormatNs(ns) : std::string(kUnknown));
    }
    table.Put(measured ? FormatRatio(group.overlapped_ratio) : std::string(kUnknown));
    table.Put(VerdictText(group));
    if (signature_counts) {
      table.Put(group.signature_count == 0 ? std::string(kUnknown) : FormatCount(group.signature_count));
    }
    if (!names) continue;
    table.Put(DimText(group.launch.grid));
    table.Put(DimText(group.launch.block));
    table.Put(OptionalText(group.launch.registers_per_thread));
    table.Put(SharedText(group.launch));
    table.Put(OptionalText(group.launch.driver_occupancy_blocks_per_sm));
    if (kinds) table.Put(KindText(group.launch));
    const std::string name = style.wide ? group.full_name : CutText(group.short_name, kMaxShortNameColumns + 3);
    table.Put(name.empty() ? "(name unknown)" : name);
  }
  const std::vector<std::string> lines = table.Lines(style.max_table_columns);
  out->Line(out->Paint(Colour::kBold, lines.front()));
  for (size_t i = 1; i < lines.size(); ++i) out->Line(lines[i]);
  const std::vector<std::string> left_out = table.LeftOut(style.max_table_columns);
  if (!left_out.empty()) {
    out->Line(
        absl::StrCat("  not shown, as the terminal is narrow (--wide shows all): ", absl::StrJoin(left_out, ", ")));
  }
  if (report.kernels.size() < report.kernel_groups_matched) {
    out->Line(
        absl::StrCat("  ", report.kernel_groups_matched - report.kernels.size(), " more rows (--top 0 shows all)"));
  }
  out->Line(
      "  median, p5, p95, min, max: clean calls only (not warm-up, overlapped another kernel, or late); overlap: share "
      "of timed calls.");
  if (few) out->Line("  (x): fewer than 20 clean calls. No verdict.");
  if (not_clean) out->Line("  ((x)): no clean call; of warm-up, overlapped or late ones. No verdict.");
  const auto shown = [&](absl::string_view title) {
    return names && std::find(left_out.begin(), left_out.end(), title) == left_out.end();
  };
  if (shown("regs")) {
    out->Line("  regs: registers a thread that launches were given, as ncu shows them; the function may need fewer.");
  }
  if (shown("smem")) {
    out->Line(absl::StrCat("  smem: static+dynamic bytes a block",
                           shown("blocks/SM") ? "; blocks/SM: the driver's occupancy." : "."));
  }
}

}  // namespace

std::string ReportText(const Report& report, const TextStyle& style) {
  Writer out(style.colour);
  const bool several = report.processes.size() > 1;
  const auto heading = [&](absl::string_view title, const ProcessSection& process) {
    out.Heading(several ? absl::StrCat(title, ", ", process.label) : std::string(title));
  };
  for (const ProcessSection& process : report.processes) {
    heading("LOSSES AND ODD RECORDS", process);
    WriteFindings(process, style.wide, &out);
  }
  for (const ProcessSection& process : report.processes) {
    heading("PROVENANCE", process);
    WriteProvenance(process, style.wide, &out);
  }
  for (const ProcessSection& process : report.processes) {
    heading("RUN", process);
    WriteRun(process, &out);
  }
  WriteKernels(report, style, &out);
  return out.Take();
}

}  // namespace gx::analysis
