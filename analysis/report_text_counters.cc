#include "analysis/report_text_counters.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "analysis/format.h"
#include "analysis/text_table.h"

namespace gx::analysis {
namespace {

constexpr size_t kMaxNameColumns = 120;

std::string Ns(uint64_t ns) { return FormatNs(static_cast<double>(ns)); }

std::string OfWall(uint64_t ns, const RunSection& run) {
  if (run.wall_ns == 0) return "";
  return absl::StrCat(" (", FormatRatio(static_cast<double>(ns) / static_cast<double>(run.wall_ns)), " of wall)");
}

std::string PlanText(const CounterPlanRow& plan) {
  std::string text = absl::StrCat(plan.requested.empty() ? "unknown" : plan.requested, " on device ", plan.device_id,
                                  plan.chip.empty() ? "" : absl::StrCat(", ", plan.chip), ": ");
  if (plan.failed) return absl::StrCat(text, "no group could be planned");
  absl::StrAppend(&text, plan.groups.empty() ? "no groups" : absl::StrJoin(plan.groups, ", "));
  if (plan.dropped_by_name_count > 0) {
    absl::StrAppend(&text, "; ", Plural(plan.dropped_by_name_count, "metric"), " dropped: see the findings");
  }
  return text;
}

std::string DroppedNames(const CounterPlanRow& plan) {
  return absl::StrJoin(plan.dropped, ", ", [](std::string* out, const std::pair<std::string, std::string>& dropped) {
    absl::StrAppend(out, dropped.first);
  });
}

std::string SampledText(const CountersSection& c) {
  std::string text =
      absl::StrCat(Plural(c.sample_count, "sample"), " of ", Plural(c.sampled_signature_count, "signature"));
  if (c.sample_count == 0) return text;
  if (c.sampled_share_ratio.has_value()) {
    absl::StrAppend(&text, " that make up ", FormatRatio(*c.sampled_share_ratio), " of kernel time");
  }
  if (c.covered_share_ratio.has_value()) {
    absl::StrAppend(&text, ", ", FormatRatio(*c.covered_share_ratio), " with three samples or more of every group");
  }
  if (!c.graphs.empty()) absl::StrAppend(&text, "; ", Plural(c.graphs.size(), "graph"), " as a whole");
  if (c.graph_share_ratio.value_or(0) > 0) {
    absl::StrAppend(&text, "; ", FormatRatio(*c.graph_share_ratio), " of kernel time was in graphs");
  }
  return text;
}

std::string UnusedText(const CountersSection& c) {
  std::vector<std::string> parts;
  if (c.void_count > 0) parts.push_back(absl::StrCat(FormatCount(c.void_count), " void"));
  if (c.misplaced_count > 0) parts.push_back(absl::StrCat(FormatCount(c.misplaced_count), " outside counter windows"));
  if (c.unavailable_value_count > 0) {
    parts.push_back(absl::StrCat(Plural(c.unavailable_value_count, "value"), " unavailable"));
  }
  return absl::StrJoin(parts, ", ");
}

std::string CallsText(const CounterBill& bill) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* what, uint64_t ns) {
    if (ns > 0) parts.push_back(absl::StrCat(what, " ", Ns(ns)));
  };
  add("push", bill.push_ns);
  add("pop", bill.pop_ns);
  add("waiting for an idle device", bill.idle_wait_ns);
  add("waiting for the launch", bill.completion_wait_ns);
  return absl::StrJoin(parts, ", ");
}

// The setting is in per cent of wall time; GPUEXEC_HELP=1 tells what is allowed at any rate.
std::string BudgetText(absl::string_view budget) {
  if (budget.empty()) return "";
  if (budget == "off") return "; no budget";
  return absl::StrCat("; budget ", absl::StripSuffix(budget, "%"), " % (1.5 s of the first round are always allowed)");
}

void WriteBill(const CountersSection& counters, const RunSection& run, TextWriter* out) {
  const CounterBill& bill = counters.bill;
  if (bill.window_count > 0) {
    out->WrappedField("windows", absl::StrCat(Plural(bill.window_count, "window"), ", ", Ns(bill.windows_ns),
                                              OfWall(bill.windows_ns, run), ", ",
                                              Plural(counters.untimed_launch_count, "launch", "launches"),
                                              " in them without a timing; switching ", Ns(bill.switch_ns)));
  }
  if (bill.session_count == 0) return;
  std::vector<std::string> sessions = {Plural(bill.session_count, "session")};
  const auto add = [&sessions](uint64_t count, absl::string_view one, absl::string_view several) {
    if (count > 0) sessions.push_back(Plural(count, one, several));
  };
  add(bill.rotation_count, "change of group", "changes of group");
  add(bill.drain_count, "planned drain", "planned drains");
  add(bill.failed_session_count, "failed", "failed");
  add(bill.abandoned_session_count, "left open", "left open");
  out->WrappedField("cost", absl::StrCat(absl::StrJoin(sessions, ", "), ": ", Ns(bill.sessions_ns()), " (enable ",
                                         Ns(bill.enable_ns), ", start ", Ns(bill.start_ns), ", stop ", Ns(bill.stop_ns),
                                         ", read ", Ns(bill.decode_ns), ", disable ", Ns(bill.disable_ns), ")"));
  if (bill.range_count > 0) {
    const std::string calls = CallsText(bill);
    out->WrappedField(
        "", absl::StrCat(Plural(bill.range_count, "range"), ": ", Ns(bill.ranges_ns()), " on the program's threads, ",
                         FormatNs(static_cast<double>(bill.ranges_ns()) / static_cast<double>(bill.range_count)),
                         " each", calls.empty() ? "" : absl::StrCat(" (", calls, ")")));
  }
  out->WrappedField("", absl::StrCat("in calls altogether ", Ns(bill.calls_ns()), OfWall(bill.calls_ns(), run),
                                     BudgetText(bill.budget)));
}

// Of values that have nothing to do with one another.
std::string SpreadText(double ratio) { return ratio > 99.99 ? ">9,999 %" : FormatRatio(ratio); }

std::string DimText(const std::optional<Dim>& dim) {
  if (!dim.has_value()) return "?";
  if (dim->y == 1 && dim->z == 1) return absl::StrCat(dim->x);
  if (dim->z == 1) return absl::StrCat(dim->x, "x", dim->y);
  return absl::StrCat(dim->x, "x", dim->y, "x", dim->z);
}

void WriteUncounted(const CountersSection& counters, TextWriter* out) {
  constexpr size_t kMaxUncounted = 10;
  constexpr size_t kNameColumns = 60;
  for (size_t i = 0; i < std::min(kMaxUncounted, counters.uncounted.size()); ++i) {
    const UncountedSignature& uncounted = counters.uncounted[i];
    out->WrappedField(i == 0 ? "missing" : "",
                      absl::StrCat(CutText(uncounted.short_name, kNameColumns), ", grid ", DimText(uncounted.grid),
                                   ", ", FormatRatio(uncounted.share_ratio), " of kernel time: ", uncounted.reason));
  }
  if (counters.uncounted.size() > kMaxUncounted) {
    out->WrappedField("", absl::StrCat("... and ", FormatCount(counters.uncounted.size() - kMaxUncounted),
                                       " more above 1 % of kernel time"));
  }
}

// `all` false: the findings above say it reason by reason.
void WriteLosses(const CountersSection& counters, bool all, TextWriter* out) {
  constexpr absl::string_view kSkipped = "launches not sampled";
  uint64_t skipped_count = 0;
  bool first = true;
  for (const CounterLoss& loss : counters.losses) {
    absl::string_view text = loss.text;
    if (!absl::ConsumePrefix(&text, kSkipped)) continue;
    if (loss.is_finding) skipped_count += loss.count;
    if (!all) continue;
    out->WrappedField(first ? "skipped" : "", absl::StrCat(Plural(loss.count, "launch", "launches"), text));
    first = false;
  }
  if (!all) {
    if (skipped_count > 0) {
      out->WrappedField("skipped",
                        absl::StrCat(Plural(skipped_count, "launch", "launches"), ", for reasons among the findings"));
    }
    return;
  }
  first = true;
  for (const CounterLoss& loss : counters.losses) {
    if (absl::StartsWith(loss.text, kSkipped)) continue;
    out->WrappedField(first ? "besides" : "", absl::StrCat(FormatCount(loss.count), "  ", loss.text));
    first = false;
  }
}

std::string SignatureText(const SignatureCounters& s, bool wide) {
  std::string text = wide ? s.full_name : CutText(s.short_name, kMaxNameColumns);
  absl::StrAppend(&text, "  grid ", DimText(s.grid), ", block ", DimText(s.block));
  if (s.cluster.has_value()) absl::StrAppend(&text, ", cluster ", DimText(s.cluster));
  if (s.dynamic_shared_memory_bytes > 0) {
    absl::StrAppend(&text, ", dynamic shared memory ", s.dynamic_shared_memory_bytes, " B");
  }
  if (s.graph_node) absl::StrAppend(&text, ", graph node");
  if (s.device_id.value_or(0) > 0) absl::StrAppend(&text, ", device ", *s.device_id);
  absl::StrAppend(&text, "; ", Plural(s.launch_count, "launch", "launches"));
  if (s.share_ratio.has_value()) absl::StrAppend(&text, ", ", FormatRatio(*s.share_ratio), " of kernel time");
  return text;
}

// Which launches of their signature (or graph) were sampled: all of them where they are few.
std::string LaunchesText(const CounterGroupRow& g) {
  constexpr size_t kMaxLaunches = 12;
  std::vector<std::string> numbers;
  for (const CounterSampleLine& sample : g.samples) {
    if (!sample.is_void && sample.launch_number > 0) numbers.push_back(FormatCount(sample.launch_number));
  }
  if (numbers.empty()) return "";
  if (numbers.size() == 1) return absl::StrCat("launch ", numbers[0]);
  if (numbers.size() <= kMaxLaunches) return absl::StrCat("launches ", absl::StrJoin(numbers, " "));
  std::string text = absl::StrCat("launch ", FormatCount(g.first_launch_number.value_or(0)), " and others");
  if (g.launch_number_step.has_value()) {
    absl::StrAppend(&text, ", ", FormatCounterValue(*g.launch_number_step), " apart");
  }
  return text;
}

std::string GroupText(const CounterGroupRow& g) {
  std::string text = absl::StrCat(g.group, g.kind.empty() ? "" : absl::StrCat(" (", g.kind, ")"), ": ",
                                  Plural(g.sample_count, "sample"));
  std::vector<std::string> of_these;
  const auto add = [&of_these](uint64_t count, absl::string_view what) {
    if (count > 0) of_these.push_back(absl::StrCat(FormatCount(count), " ", what));
  };
  add(g.void_count, "void");
  add(g.first_of_session_count, "first of its session");
  add(g.after_switch_count, "next to a switch");
  add(g.replayed_count, "replayed");
  if (!of_these.empty()) absl::StrAppend(&text, " (", absl::StrJoin(of_these, ", "), ")");
  const std::string launches = LaunchesText(g);
  if (!launches.empty()) absl::StrAppend(&text, "; ", launches);
  if (g.first_offset_ns.has_value()) {
    absl::StrAppend(&text, launches.empty() ? "; " : ", ", "first at ", FormatOffset(*g.first_offset_ns));
    if (g.spacing_ns.has_value()) absl::StrAppend(&text, ", then every ", FormatNs(*g.spacing_ns));
  }
  return text;
}

std::string ValueText(const std::optional<double>& value) {
  return value.has_value() ? FormatCounterValue(*value) : std::string("unavailable");
}

// "gpc__cycles_elapsed.avg.per_second"
bool IsClock(absl::string_view metric) {
  return absl::StrContains(metric, "__cycles_elapsed.") && absl::EndsWith(metric, ".per_second");
}

// How long the range was: the launch, and what CUPTI does before and after it.
bool IsLengthOfRange(absl::string_view metric) {
  if (absl::StartsWith(metric, "gpu__time_duration")) return true;
  return absl::StrContains(metric, "__cycles_elapsed.") && !absl::EndsWith(metric, ".per_second");
}

std::string MetricValueText(absl::string_view metric, const std::optional<double>& value) {
  return value.has_value() && IsClock(metric) ? FormatHz(*value) : ValueText(value);
}

std::string RemarkText(const CounterGroupRow& group, const CounterMetricRow& m) {
  std::vector<std::string> parts;
  if (IsLengthOfRange(m.name)) parts.emplace_back("not a timing");
  if (m.unavailable_count > 0 && m.value_count > 0) {
    parts.push_back(absl::StrCat(FormatCount(m.unavailable_count), " unavailable"));
  }
  if (m.first_only) parts.emplace_back("first of session only");
  if (m.kept_count < m.value_count) parts.push_back(absl::StrCat("median of ", FormatCount(m.kept_count)));
  if (parts.empty() && m.value_count == 0 && group.sample_count == group.void_count) parts.emplace_back("void");
  return absl::StrJoin(parts, ", ");
}

void WriteTable(const TextTable& table, absl::string_view indent, TextWriter* out) {
  for (const std::string& line : table.Lines(0)) {
    out->Line(absl::StrCat(indent, absl::StripTrailingAsciiWhitespace(line)));
  }
}

// Metrics of the table of peaks, which are the same in every sample.
using PeakNames = std::set<absl::string_view>;

void WriteGroup(const CounterGroupRow& group, const PeakNames& peaks, TextWriter* out) {
  out->Line(absl::StrCat("    ", GroupText(group)));
  if (group.metrics.empty()) return;
  TextTable table;
  table.Add({.title = "metric", .right = false});
  for (const char* title : {"median", "min", "max", "spread"}) table.Add({.title = title});
  table.Add({.title = "", .right = false});
  for (const CounterMetricRow& metric : group.metrics) {
    if (peaks.count(metric.name) > 0) continue;
    table.Put(metric.name);
    table.Put(MetricValueText(metric.name, metric.median));
    table.Put(metric.min.has_value() ? MetricValueText(metric.name, metric.min) : "-");
    table.Put(metric.max.has_value() ? MetricValueText(metric.name, metric.max) : "-");
    table.Put(metric.spread_ratio.has_value() ? SpreadText(*metric.spread_ratio) : "-");
    table.Put(RemarkText(group, metric));
  }
  WriteTable(table, "    ", out);
}

std::string GraphText(const GraphCounters& graph) {
  std::string text = absl::StrCat("graph ", graph.graph_exec_id, ", totals of whole launches and of no kernel: ");
  if (!graph.kernel_node_count.has_value()) return absl::StrCat(text, "nodes not known");
  absl::StrAppend(&text, Plural(*graph.kernel_node_count, "kernel node"));
  if (graph.undescribed_node_count.value_or(0) > 0) {
    absl::StrAppend(&text, " and ", Plural(*graph.undescribed_node_count, "other node"));
  }
  return text;
}

void WriteGraphKernels(const GraphCounters& graph, bool wide, TextWriter* out) {
  constexpr size_t kMaxKernels = 20;
  const size_t shown = wide ? graph.kernels.size() : std::min(kMaxKernels, graph.kernels.size());
  for (size_t i = 0; i < shown; ++i) {
    const GraphKernel& kernel = graph.kernels[i];
    out->Line(absl::StrCat("    ", FormatCount(kernel.node_count), " x ",
                           wide ? kernel.full_name : CutText(kernel.short_name, kMaxNameColumns), "  grid ",
                           DimText(kernel.grid), ", block ", DimText(kernel.block)));
  }
  if (shown < graph.kernels.size()) {
    out->Line(absl::StrCat("    ... and ", Plural(graph.kernels.size() - shown, "more kernel"), " (--wide shows all)"));
  }
}

void WritePeaks(const CountersSection& counters, TextWriter* out) {
  if (counters.peaks.empty()) return;
  out->Line("");
  out->Line(absl::StrCat(
      "  ", out->Paint(Colour::kBold, "peaks, as CUPTI states them; clocks as the first sampled launch ran at")));
  TextTable table;
  table.Add({.title = "device"});
  table.Add({.title = "metric", .right = false});
  table.Add({.title = "a cycle"});
  table.Add({.title = "clock", .right = false});
  table.Add({.title = "then"});
  for (const DevicePeakRow& peak : counters.peaks) {
    table.Put(absl::StrCat(peak.device_id));
    table.Put(peak.metric);
    table.Put(ValueText(peak.per_cycle));
    table.Put(peak.clock_metric.empty() ? "unknown" : peak.clock_metric);
    table.Put(peak.clock_hz.has_value() ? FormatHz(*peak.clock_hz) : "unknown");
  }
  WriteTable(table, "  ", out);
}

void WriteWindowClocks(const CountersSection& counters, bool wide, TextWriter* out) {
  if (counters.window_clocks.empty()) return;
  constexpr size_t kMaxWindows = 20;
  const size_t all = counters.window_clocks.size();
  const size_t shown = wide ? all : std::min(kMaxWindows, all);
  out->Line("");
  out->Line(absl::StrCat("  ", out->Paint(Colour::kBold, "clocks by window")));
  TextTable table;
  table.Add({.title = "window"});
  table.Add({.title = "kind", .right = false});
  for (const char* title : {"device", "SM", "L2", "memory", "readings"}) table.Add({.title = title});
  table.Add({.title = "throttled", .right = false});
  const auto hz = [](const std::optional<uint64_t>& value) {
    return value.has_value() ? FormatHz(static_cast<double>(*value)) : std::string("unknown");
  };
  for (size_t i = 0; i < shown; ++i) {
    const WindowClocksRow& clocks = counters.window_clocks[i];
    table.Put(absl::StrCat(clocks.window_id));
    table.Put(clocks.kind.empty() ? "unknown" : clocks.kind);
    table.Put(absl::StrCat(clocks.device_id));
    table.Put(hz(clocks.sm_clock_hz));
    table.Put(hz(clocks.l2_clock_hz));
    table.Put(hz(clocks.memory_clock_hz));
    table.Put(FormatCount(clocks.reading_count));
    table.Put(!clocks.throttle_reasons.has_value() ? "unknown"
              : clocks.throttle_reasons->empty()   ? "no"
                                                   : absl::StrJoin(*clocks.throttle_reasons, ", "));
  }
  WriteTable(table, "  ", out);
  if (shown < all) out->Line(absl::StrCat("  ... and ", Plural(all - shown, "more window"), " (--wide shows all)"));
}

void WriteSamples(const CounterGroupRow& group, TextWriter* out) {
  out->Line(absl::StrCat("    ", GroupText(group)));
  if (group.samples.empty()) return;
  const auto known = [](uint64_t value) { return value == 0 ? std::string("unknown") : FormatCount(value); };
  TextTable table;
  for (const char* title : {"launch", "at", "session", "range", "correlation id", "thread"}) {
    table.Add({.title = title});
  }
  table.Add({.title = "", .right = false});
  for (const CounterSampleLine& sample : group.samples) {
    table.Put(known(sample.launch_number));
    table.Put(sample.offset_ns.has_value() ? FormatOffset(*sample.offset_ns) : "unknown");
    table.Put(known(sample.session_id));
    table.Put(FormatCount(sample.range_order));
    table.Put(sample.correlation_id == 0 ? "unknown" : absl::StrCat(sample.correlation_id));
    table.Put(sample.thread_id == 0 ? "unknown" : absl::StrCat(sample.thread_id));
    std::vector<std::string> marks;
    if (sample.is_void) marks.emplace_back("void");
    if (sample.first_of_session) marks.emplace_back("first of its session");
    if (sample.after_switch) marks.emplace_back("next to a switch");
    if (sample.replayed) marks.emplace_back("replayed");
    table.Put(absl::StrJoin(marks, ", "));
  }
  WriteTable(table, "    ", out);
  if (const uint64_t more = group.sample_count - std::min<uint64_t>(group.sample_count, group.samples.size());
      more > 0) {
    out->Line(absl::StrCat("    ", Plural(more, "more sample"), " not kept"));
  }
}

}  // namespace

void WriteCounterSummary(const Report& report, const CountersSection& counters, bool tables_follow, TextWriter* out) {
  const RunSection& run = report.processes[counters.process].run;
  for (const CounterPlanRow& plan : counters.plans) {
    out->WrappedField("asked for", PlanText(plan));
    const size_t of_set_count = plan.dropped.size() - plan.dropped_by_name_count;
    if (tables_follow && of_set_count > 0) {
      out->WrappedField("", absl::StrCat("not on this chip: ", DroppedNames(plan)));
    }
  }
  for (const CounterAccessRow& access : counters.access) {
    if (access.allowed) continue;
    const bool told = access.is_finding && !tables_follow;
    const std::string why = told ? "; see the findings" : access.text.empty() ? "" : absl::StrCat(": ", access.text);
    out->WrappedField("access", absl::StrCat("device ", access.device_id, ": ", access.state, why));
  }
  out->WrappedField("sampled", SampledText(counters));
  out->WrappedField("unused", UnusedText(counters));
  if (counters.mixed_work_count > 0) {
    out->WrappedField("mixed work",
                      absl::StrCat(Plural(counters.mixed_work_count, "signature"),
                                   " with launches of different work: instructions or bytes spread by more "
                                   "than 2 %"));
  }
  constexpr size_t kMaxDenied = 10;
  for (size_t i = 0; i < std::min(kMaxDenied, counters.denied.size()); ++i) {
    const DeniedFunction& denied = counters.denied[i];
    out->WrappedField(i == 0 ? "not sampled" : "",
                      absl::StrCat(CutText(denied.name, kMaxNameColumns), ": ", denied.reason,
                                   denied.detail.empty() ? "" : absl::StrCat(" (", denied.detail, ")")));
  }
  if (counters.denied.size() > kMaxDenied) {
    out->WrappedField("", absl::StrCat("... and ", FormatCount(counters.denied.size() - kMaxDenied), " more"));
  }
  WriteUncounted(counters, out);
  WriteLosses(counters, tables_follow, out);
  WriteBill(counters, run, out);
  if (!tables_follow && counters.sample_count > 0) {
    out->Line("  --section counters shows the metrics of each signature.");
  }
}

void WriteCounterTables(const CountersSection& counters, const TextStyle& style, TextWriter* out) {
  PeakNames peaks;
  for (const DevicePeakRow& peak : counters.peaks) peaks.insert(peak.metric);
  WritePeaks(counters, out);
  WriteWindowClocks(counters, style.wide, out);
  for (const SignatureCounters& signature : counters.signatures) {
    out->Line("");
    out->Line(absl::StrCat("  ", out->Paint(Colour::kBold, SignatureText(signature, style.wide))));
    for (const MixedWork& mixed : signature.mixed_work) {
      out->Line(absl::StrCat("    ", out->Paint(Colour::kYellow, "mixed work"), ": ", mixed.metric, " from ",
                             FormatCounterValue(mixed.min), " to ", FormatCounterValue(mixed.max), " (spread ",
                             SpreadText(mixed.spread_ratio), ")"));
    }
    if (signature.instruction_disagreement.has_value()) {
      const InstructionDisagreement& found = *signature.instruction_disagreement;
      out->Line(absl::StrCat("    ", out->Paint(Colour::kYellow, "instructions disagree"), ": ", found.hardware_metric,
                             " ", FormatCounterValue(found.hardware), ", ", found.patched_metric, " ",
                             FormatCounterValue(found.patched), " (", FormatRatio(found.difference_ratio), " apart)"));
    }
    for (const CounterGroupRow& group : signature.groups) WriteGroup(group, peaks, out);
  }
  if (const size_t more = counters.signatures_matched - counters.signatures.size(); more > 0) {
    out->Line(absl::StrCat("  ", Plural(more, "more signature"), " (--top 0 shows all)"));
  }
  for (const GraphCounters& graph : counters.graphs) {
    out->Line("");
    out->Line(absl::StrCat("  ", out->Paint(Colour::kBold, GraphText(graph))));
    WriteGraphKernels(graph, style.wide, out);
    for (const CounterGroupRow& group : graph.groups) WriteGroup(group, peaks, out);
  }
  if (counters.signatures.empty() && counters.graphs.empty()) return;
  out->Line("");
  out->Line(
      "  median, min, max: of samples that are not void and not the first of their session, where there are others;");
  out->Line("  spread: (max - min) / median. --section samples shows the samples.");
  out->Line(
      "  not a timing: the range is longer than the launch; times are those of the kernels, taken without counters.");
  out->Line(
      "  instructions disagree: patched code is slower, so that kernels that wait in a loop (barriers, flags, TMA or");
  out->Line("  wgmma pipelines) go round it more often; else launches of other work, or added instructions.");
  out->Line(
      "  Counted at the clocks of the run, with caches as it left them, and whatever else used the device meanwhile.");
}

void WriteCounterSamples(const CountersSection& counters, const TextStyle& style, TextWriter* out) {
  for (const SignatureCounters& signature : counters.signatures) {
    out->Line("");
    out->Line(absl::StrCat("  ", out->Paint(Colour::kBold, SignatureText(signature, style.wide))));
    for (const CounterGroupRow& group : signature.groups) WriteSamples(group, out);
  }
  for (const GraphCounters& graph : counters.graphs) {
    out->Line("");
    out->Line(absl::StrCat("  ", out->Paint(Colour::kBold, GraphText(graph))));
    for (const CounterGroupRow& group : graph.groups) WriteSamples(group, out);
  }
  if (counters.signatures.empty() && counters.graphs.empty()) {
    out->Line("  none");
    return;
  }
  out->Line("");
  out->Line("  --format csv --section samples holds their values.");
}

}  // namespace gx::analysis
