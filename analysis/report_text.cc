#include "analysis/report_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/format.h"
#include "analysis/report_text_api.h"
#include "analysis/report_text_counters.h"
#include "analysis/report_text_kernels.h"
#include "analysis/report_text_ladder.h"
#include "analysis/report_text_run.h"
#include "analysis/stat_catalog.h"
#include "analysis/text_writer.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;

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

// What the library said about the capture, in its own words.
void WriteDiagnostics(const ProcessSection& process, bool wide, TextWriter* out) {
  // Enough for every one that a sound capture writes.
  constexpr size_t kMaxLines = 20;
  const size_t shown = wide ? process.diagnostics.size() : std::min(kMaxLines, process.diagnostics.size());
  for (size_t i = 0; i < shown; ++i) out->Line(absl::StrCat("  said      ", process.diagnostics[i]));
  if (process.diagnostic_count > shown) {
    out->Line(absl::StrCat("  said      ... and ", FormatCount(process.diagnostic_count - shown), " more",
                           shown < process.diagnostics.size() ? " (--wide shows more)" : ""));
  }
}

void WriteAccounting(const AccountingSection& a, TextWriter* out) {
  out->Line(absl::StrCat("  accounting: ", Plural(a.launches, "kernel launch", "kernel launches"), ", ",
                         Plural(a.graph_launches, "graph launch", "graph launches"), "; ",
                         Plural(a.kernel_records, "kernel record"), ", ", FormatCount(a.kernels_joined), " joined (",
                         FormatCount(a.kernels_joined_to_graphs), " to graphs)"));
  std::vector<std::string> more;
  const auto add = [&more](uint64_t count, absl::string_view what) {
    if (count > 0) more.push_back(absl::StrCat(FormatCount(count), " ", what));
  };
  const auto add_words = [&more](uint64_t count, absl::string_view one, absl::string_view several) {
    if (count > 0) more.push_back(Plural(count, one, several));
  };
  add_words(a.launches_without_kernel, "launch without kernel", "launches without kernel");
  add(a.kernels_taken, "of these taken by another CUPTI client");
  add_words(a.kernels_without_launch, "kernel without launch", "kernels without launch");
  add(a.kernels_device_launched, "launched by kernels");
  add_words(a.kernels_of_cupti, "kernel of CUPTI itself", "kernels of CUPTI itself");
  add(a.counter_window_launches, "in counter windows, untimed by intent");
  add(a.untimed_launches - a.counter_window_launches, "untimed by design");
  add(a.kernels_untimed, "without timestamps");
  add(a.kernels_unfinished, "unfinished");
  add(a.kernels_invalid, "with invalid times");
  add_words(a.summarised_launches, "launch summarised", "launches summarised");
  add_words(a.summarised_kernels, "kernel summarised", "kernels summarised");
  add_words(a.replays_complete, "replay complete", "replays complete");
  add_words(a.replays_short, "replay short of kernels", "replays short of kernels");
  add_words(a.replays_long, "replay with too many kernels", "replays with too many kernels");
  add_words(a.replays_unchecked, "replay not checked", "replays not checked");
  if (!more.empty()) out->Line(absl::StrCat("              ", absl::StrJoin(more, ", ")));
}

void WriteFinding(const Finding& finding, TextWriter* out) {
  const std::string indent(26, ' ');
  std::string head = absl::StrCat(
      "  ",
      out->Paint(ColourOf(finding.severity), absl::StrFormat("%-10s", std::string(SeverityWord(finding.severity)))),
      absl::StrFormat("%12s", FormatCount(finding.value)), "  ");
  const std::string text = absl::StrCat(finding.text, "  [", finding.id, "]");
  for (const absl::string_view piece : WrapText(text, kWrapColumns)) {
    out->Line(absl::StrCat(head, piece));
    head = indent;
  }
  const std::string advice = finding.advice.empty() ? "" : absl::StrCat("-> ", finding.advice);
  for (const absl::string_view piece : WrapText(advice, kWrapColumns)) {
    if (!piece.empty()) out->Line(absl::StrCat(indent, piece));
  }
  for (const std::string& detail : finding.details) {
    absl::string_view more;
    for (const absl::string_view piece : WrapText(detail, kWrapColumns)) {
      out->Line(absl::StrCat(indent, more, piece));
      more = "  ";
    }
  }
}

// Of a report whose reader asked for other sections: only what bears on the figures there.
void WriteLossesAlone(const ProcessSection& process, TextWriter* out) {
  size_t others = 0;
  for (const Finding& finding : process.findings) {
    if (MeansDataLost(finding.severity)) {
      WriteFinding(finding, out);
    } else {
      ++others;
    }
  }
  if (others > 0) out->Line(absl::StrCat("  ", Plural(others, "other finding"), " (--section losses shows them)"));
}

void WriteFindings(const ProcessSection& process, bool wide, TextWriter* out) {
  if (process.nothing_recorded) {
    out->Line(absl::StrCat("  ", out->Paint(Colour::kRed, "NOTHING WAS RECORDED")));
    WriteDiagnostics(process, wide, out);
  }
  if (process.findings.empty()) {
    out->Line("  none: every launch seen has its kernels, every kernel its launch");
  }
  for (const Finding& finding : process.findings) WriteFinding(finding, out);
  if (!process.nothing_recorded) WriteDiagnostics(process, wide, out);
  WriteAccounting(process.accounting, out);
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

void WriteDevice(const DeviceSection& device, TextWriter* out) {
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
    out->Field("", absl::StrCat("throttle reasons: none in ", Plural(device.throttle_sample_count, "sample")));
  } else {
    std::vector<std::string> reasons;
    for (const ThrottleReason& reason : device.throttle_reasons) {
      reasons.push_back(absl::StrCat(reason.words, " in ", FormatCount(reason.sample_count)));
    }
    out->Field("", absl::StrCat("throttle reasons: ", absl::StrJoin(reasons, ", "), " of ",
                                Plural(device.throttle_sample_count, "sample")));
  }
}

void WriteProvenance(const ProcessSection& process, bool wide, TextWriter* out) {
  const ProvenanceSection& p = process.provenance;
  out->Field("trace", absl::StrCat(process.path, " (", FormatBytes(process.size_bytes), ", ",
                                   Plural(process.frame_count, "frame"), ")"));
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
    for (const ProvenanceSection::CuptiFault& fault : p.cupti_faults) {
      if (fault.acted_on || wide) out->WrappedField("fault of CUPTI", fault.text);
    }
    if (wide) out->Field("settings", SettingsText(p.configuration));
  }
  out->Field("kernel clock",
             absl::StrCat(p.clock_step_ns == 0 ? std::string("steps unknown (too few different kernel durations)")
                                               : absl::StrCat("steps of ", p.clock_step_ns, " ns"),
                          ", ", Plural(p.clock_pair_count, "pair"), " with the host clock"));
  for (const DeviceSection& device : process.devices) WriteDevice(device, out);
}

// ------------------------------------------------------------------------------------------------ the run

std::string LaunchesText(const RunSection& run) {
  std::string text = absl::StrCat(Plural(run.kernel_launches, "kernel"), " and ", Plural(run.graph_launches, "graph"));
  if (run.refused_launches > 0) absl::StrAppend(&text, ", ", FormatCount(run.refused_launches), " refused");
  if (run.summarised_launches > 0) {
    text = absl::StrCat(FormatCount(run.kernel_launches + run.graph_launches + run.summarised_launches), ", of them ",
                        FormatCount(run.summarised_launches), " in sums only; with a record ", text);
  }
  if (run.launch_span_ns > 0) {
    absl::StrAppend(&text, ", ", FormatCount(static_cast<uint64_t>(run.launches_per_second + 0.5)), " a second over ",
                    FormatNs(static_cast<double>(run.launch_span_ns)));
  }
  return text;
}

std::string BusyText(const DeviceSection& device, const RunSection& run) {
  const bool all = run.untimed_windows_ns == 0;
  const std::string of = !all ? absl::StrCat("the ", FormatNs(static_cast<double>(run.timed_ns())), " with timings")
                         : run.single_records_end_ns.has_value()
                             ? absl::StrCat("the first ", FormatNs(static_cast<double>(*run.single_records_end_ns)))
                             : "wall";
  return absl::StrCat(
      "busy ", FormatNs(static_cast<double>(device.busy_ns)),
      run.timed_ns() > 0 ? absl::StrCat(" (", FormatRatio(device.busy_of_timed_ratio), " of ", of, ")") : "",
      ": kernels ", FormatNs(static_cast<double>(device.kernel_busy_ns)), ", copies ",
      FormatNs(static_cast<double>(device.copy_busy_ns)), "; idle ", FormatNs(static_cast<double>(device.idle_ns)),
      " of ", FormatNs(static_cast<double>(device.span_ns - device.untimed_ns)), " between first start and last end",
      device.untimed_ns > 0 ? ", windows without timings left out" : "");
}

void WriteRun(const ProcessSection& process, TextWriter* out) {
  const RunSection& run = process.run;
  out->Field("wall", run.wall_ns == 0
                         ? "unknown"
                         : absl::StrCat(FormatNs(static_cast<double>(run.wall_ns)),
                                        run.wall_from_trailer ? "" : " (first to last record: no orderly end)"));
  if (run.summarised()) {
    out->Field("size limit",
               run.single_records_end_ns.has_value()
                   ? absl::StrCat("single records end at ", FormatOffset(*run.single_records_end_ns),
                                  "; what is marked * is from before that")
                   : std::string("single records end before the run does; what is marked * is from before that"));
  }
  const std::string mark = run.summarised() ? " *" : "";
  out->Field("launches", absl::StrCat(LaunchesText(run), run.launch_span_ns > 0 ? mark : ""));
  out->Field("kernels run",
             absl::StrCat(FormatCount(run.kernels),
                          run.summarised_kernels > 0
                              ? absl::StrCat(", of them ", FormatCount(run.summarised_kernels), " in sums only")
                              : "",
                          process.accounting.counter_window_launches > 0
                              ? absl::StrCat(" with a record; not those of ",
                                             Plural(process.accounting.counter_window_launches, "launch", "launches"),
                                             " in counter windows")
                              : ""));
  for (const DeviceSection& device : process.devices) {
    if (!device.active) continue;
    out->WrappedField(device.unknown ? "device ?" : absl::StrCat("device ", device.device_id),
                      absl::StrCat(BusyText(device, run), mark));
  }
  for (const CopySection& copy : run.copies) {
    out->Field("copies", absl::StrCat(copy.kind, ": ", FormatCount(copy.count), ", ", FormatBytes(copy.size_bytes),
                                      ", ", FormatNs(static_cast<double>(copy.total_ns)), mark));
  }
  if (run.synchronization_count > 0) {
    out->Field("synchronisation", absl::StrCat(Plural(run.synchronization_count, "call"), ", ",
                                               FormatNs(static_cast<double>(run.synchronization_ns)), " waited", mark));
  }
  if (run.nvtx_event_count > 0) out->Field("NVTX", absl::StrCat(Plural(run.nvtx_event_count, "event"), mark));
  if (run.overhead_count > 0) {
    out->Field("CUPTI overhead", absl::StrCat(FormatNs(static_cast<double>(run.overhead_ns)), " of host time in ",
                                              Plural(run.overhead_count, "record"), mark));
  }
  if (run.off_windows_ns > 0) {
    out->Field("capture off", absl::StrCat(FormatNs(static_cast<double>(run.off_windows_ns)), ", by request"));
  }
  if (run.counter_windows_ns > 0) {
    out->Field("counter windows",
               absl::StrCat(FormatNs(static_cast<double>(run.counter_windows_ns)), " without timings"));
  }
  WriteRunExplanation(process.explanation, out);
}

}  // namespace

std::string ReportText(const Report& report, const TextStyle& style) {
  TextWriter out(style.colour);
  const bool several = report.processes.size() > 1;
  const auto heading = [&](absl::string_view title, const ProcessSection& process) {
    out.Heading(several ? absl::StrCat(title, ", ", process.label) : std::string(title));
  };
  const auto named = [&style](Section section) {
    return std::find(style.sections.begin(), style.sections.end(), section) != style.sections.end();
  };
  const auto shown = [&](Section section) { return style.sections.empty() || named(section); };
  for (const ProcessSection& process : report.processes) {
    if (!shown(Section::kLosses) && !process.data_lost) continue;
    heading("LOSSES AND ODD RECORDS", process);
    if (shown(Section::kLosses)) {
      WriteFindings(process, style.wide, &out);
    } else {
      WriteLossesAlone(process, &out);
    }
  }
  for (const ProcessSection& process : report.processes) {
    if (!shown(Section::kProvenance)) break;
    heading("PROVENANCE", process);
    WriteProvenance(process, style.wide, &out);
  }
  for (const ProcessSection& process : report.processes) {
    if (!shown(Section::kRun)) break;
    heading("RUN", process);
    WriteRun(process, &out);
  }
  for (const ProcessSection& process : report.processes) {
    // Where calls were recorded somebody asked for them; elsewhere only who names the part is told so.
    if (!named(Section::kApi) && (!shown(Section::kApi) || process.api_uses.empty())) continue;
    heading("API CALLS", process);
    if (process.api_uses.empty()) {
      out.Line("  none: calls of the CUDA runtime and driver are recorded with GPUEXEC_API=on");
    } else {
      WriteApiUses(process, report.row_limit, style.max_table_columns, &out);
    }
  }
  const bool tables = named(Section::kCounters);
  const bool samples = named(Section::kSamples);
  for (const CountersSection& counters : report.counters) {
    if (shown(Section::kCounters)) {
      heading("COUNTERS", report.processes[counters.process]);
      WriteCounterSummary(report, counters, tables, &out);
      if (tables) WriteCounterTables(counters, style, &out);
    }
    if (samples) {
      heading("SAMPLES", report.processes[counters.process]);
      WriteCounterSamples(counters, style, &out);
    }
  }
  if ((tables || samples) && report.counters.empty()) {
    out.Heading("COUNTERS");
    out.Line("  none: no trace here says anything of hardware counters");
  }
  if (shown(Section::kKernels)) WriteKernels(report, style, &out);
  const bool deep = named(Section::kLadder) || !report.filter.empty();
  for (const LadderSection& ladders : report.ladders) {
    if (!shown(Section::kLadder)) break;
    const bool counted = std::any_of(report.counters.begin(), report.counters.end(), [&](const CountersSection& one) {
      return one.process == ladders.process && one.sample_count > 0;
    });
    heading("LADDER", report.processes[ladders.process]);
    if (counted || named(Section::kLadder)) {
      WriteLadders(ladders, style, deep, &out);
    } else {
      out.Line("  none: no counters were sampled, so what bounds a kernel's time is unmeasured");
    }
  }
  return out.Take();
}

}  // namespace gx::analysis
