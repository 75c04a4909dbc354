#include "analysis/report_text_counters.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  if (!plan.dropped.empty()) absl::StrAppend(&text, "; ", Plural(plan.dropped.size(), "metric"), " dropped");
  return text;
}

std::string SampledText(const CountersSection& c) {
  std::string text =
      absl::StrCat(Plural(c.sample_count, "sample"), " of ", Plural(c.sampled_signature_count, "signature"));
  if (c.sampled_share_ratio.has_value()) {
    absl::StrAppend(&text, " that make up ", FormatRatio(*c.sampled_share_ratio), " of kernel time");
  }
  if (c.covered_share_ratio.has_value()) {
    absl::StrAppend(&text, ", ", FormatRatio(*c.covered_share_ratio), " with three samples or more of every group");
  }
  if (!c.graphs.empty()) absl::StrAppend(&text, "; ", Plural(c.graphs.size(), "graph"), " as a whole");
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

void WriteBill(const CounterBill& bill, const RunSection& run, TextWriter* out) {
  if (bill.window_count > 0) {
    out->Field("windows", absl::StrCat(Plural(bill.window_count, "window"), ", ", Ns(bill.windows_ns),
                                       OfWall(bill.windows_ns, run), "; switching ", Ns(bill.switch_ns)));
  }
  if (bill.session_count == 0) return;
  out->Field("cost", absl::StrCat(Plural(bill.session_count, "session"), ": ", Ns(bill.sessions_ns()), " (enable ",
                                  Ns(bill.enable_ns), ", start ", Ns(bill.start_ns), ", stop ", Ns(bill.stop_ns),
                                  ", read ", Ns(bill.decode_ns), ", disable ", Ns(bill.disable_ns), ")"));
  if (bill.range_count > 0) {
    const std::string calls = CallsText(bill);
    out->Field(
        "", absl::StrCat(Plural(bill.range_count, "range"), ": ", Ns(bill.ranges_ns()), " on the program's threads, ",
                         FormatNs(static_cast<double>(bill.ranges_ns()) / static_cast<double>(bill.range_count)),
                         " each", calls.empty() ? "" : absl::StrCat(" (", calls, ")")));
  }
  const uint64_t total_ns = bill.sessions_ns() + bill.ranges_ns() + bill.switch_ns;
  out->Field("", absl::StrCat("in calls altogether ", Ns(total_ns), OfWall(total_ns, run)));
}

// Of values that have nothing to do with one another.
std::string SpreadText(double ratio) { return ratio > 99.99 ? ">9,999 %" : FormatRatio(ratio); }

std::string DimText(const std::optional<Dim>& dim) {
  if (!dim.has_value()) return "?";
  if (dim->y == 1 && dim->z == 1) return absl::StrCat(dim->x);
  if (dim->z == 1) return absl::StrCat(dim->x, "x", dim->y);
  return absl::StrCat(dim->x, "x", dim->y, "x", dim->z);
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
  if (g.first_offset_ns.has_value()) {
    absl::StrAppend(&text, "; first at ", FormatOffset(*g.first_offset_ns));
    if (g.first_launch_number.has_value())
      absl::StrAppend(&text, " (launch ", FormatCount(*g.first_launch_number), ")");
    if (g.spacing_ns.has_value()) absl::StrAppend(&text, ", then every ", FormatNs(*g.spacing_ns));
    if (g.launch_number_step.has_value()) {
      const bool one = *g.launch_number_step == 1;
      absl::StrAppend(
          &text, one ? " (each launch)" : absl::StrCat(" (", FormatCounterValue(*g.launch_number_step), " launches)"));
    }
  }
  return text;
}

std::string ValueText(const std::optional<double>& value) {
  return value.has_value() ? FormatCounterValue(*value) : std::string("unavailable");
}

std::string RemarkText(const CounterGroupRow& group, const CounterMetricRow& m) {
  std::vector<std::string> parts;
  if (m.unavailable_count > 0 && m.value_count > 0) {
    parts.push_back(absl::StrCat(FormatCount(m.unavailable_count), " unavailable"));
  }
  if (m.first_left_out) parts.emplace_back("without first of session");
  if (m.first_only) parts.emplace_back("first of session only: writes read high");
  if (m.kept_count < m.value_count) parts.push_back(absl::StrCat("median of ", FormatCount(m.kept_count)));
  if (parts.empty() && m.value_count == 0 && group.sample_count == group.void_count) parts.emplace_back("void");
  return absl::StrJoin(parts, ", ");
}

void WriteGroup(const CounterGroupRow& group, TextWriter* out) {
  out->Line(absl::StrCat("    ", GroupText(group)));
  if (group.metrics.empty()) return;
  TextTable table;
  table.Add({.title = "metric", .right = false});
  for (const char* title : {"median", "min", "max", "spread"}) table.Add({.title = title});
  table.Add({.title = "", .right = false});
  for (const CounterMetricRow& metric : group.metrics) {
    table.Put(metric.name);
    table.Put(ValueText(metric.median));
    table.Put(metric.min.has_value() ? ValueText(metric.min) : "-");
    table.Put(metric.max.has_value() ? ValueText(metric.max) : "-");
    table.Put(metric.spread_ratio.has_value() ? SpreadText(*metric.spread_ratio) : "-");
    table.Put(RemarkText(group, metric));
  }
  for (const std::string& line : table.Lines(0)) {
    out->Line(absl::StrCat("    ", absl::StripTrailingAsciiWhitespace(line)));
  }
}

}  // namespace

void WriteCounterSummary(const Report& report, const CountersSection& counters, bool tables_follow, TextWriter* out) {
  const RunSection& run = report.processes[counters.process].run;
  for (const CounterPlanRow& plan : counters.plans) out->Field("asked for", PlanText(plan));
  for (const CounterAccessRow& access : counters.access) {
    if (access.allowed) continue;
    out->Field("access", absl::StrCat("device ", access.device_id, ": ", access.state,
                                      access.text.empty() ? "" : absl::StrCat(": ", access.text)));
  }
  out->Field("sampled", SampledText(counters));
  out->Field("unused", UnusedText(counters));
  if (counters.mixed_work_count > 0) {
    out->Field("mixed work", absl::StrCat(Plural(counters.mixed_work_count, "signature"),
                                          " with launches of different work: instructions or bytes spread by more "
                                          "than 2 %"));
  }
  constexpr size_t kMaxDenied = 10;
  for (size_t i = 0; i < std::min(kMaxDenied, counters.denied.size()); ++i) {
    const DeniedFunction& denied = counters.denied[i];
    out->Field(i == 0 ? "not sampled" : "",
               absl::StrCat(CutText(denied.name, kMaxNameColumns), ": ", denied.reason,
                            denied.detail.empty() ? "" : absl::StrCat(" (", denied.detail, ")")));
  }
  if (counters.denied.size() > kMaxDenied) {
    out->Field("", absl::StrCat("... and ", Plural(counters.denied.size() - kMaxDenied, "more kernel")));
  }
  WriteBill(counters.bill, run, out);
  if (!tables_follow && counters.sample_count > 0) {
    out->Line("  --section counters shows the metrics of each signature.");
  }
}

void WriteCounterTables(const CountersSection& counters, const TextStyle& style, TextWriter* out) {
  for (const DevicePeakRow& peak : counters.peaks) {
    out->Field("peak",
               absl::StrCat(peak.metric, " ", ValueText(peak.per_cycle), peak.per_cycle.has_value() ? " a cycle" : "",
                            peak.clock_metric.empty() ? "" : absl::StrCat(" of ", peak.clock_metric),
                            peak.clock_hz.has_value() ? absl::StrCat(" (", FormatHz(*peak.clock_hz), ")") : "",
                            peak.device_id > 0 ? absl::StrCat(", device ", peak.device_id) : ""));
  }
  for (const SignatureCounters& signature : counters.signatures) {
    out->Line("");
    out->Line(absl::StrCat("  ", out->Paint(Colour::kBold, SignatureText(signature, style.wide))));
    for (const MixedWork& mixed : signature.mixed_work) {
      out->Line(absl::StrCat("    ", out->Paint(Colour::kYellow, "mixed work"), ": ", mixed.metric, " from ",
                             FormatCounterValue(mixed.min), " to ", FormatCounterValue(mixed.max), " (spread ",
                             SpreadText(mixed.spread_ratio), ")"));
    }
    for (const CounterGroupRow& group : signature.groups) WriteGroup(group, out);
  }
  if (const size_t more = counters.signatures_matched - counters.signatures.size(); more > 0) {
    out->Line(absl::StrCat("  ", Plural(more, "more signature"), " (--top 0 shows all)"));
  }
  for (const GraphCounters& graph : counters.graphs) {
    out->Line("");
    std::string text = absl::StrCat("graph ", graph.graph_exec_id, ", totals of whole launches and of no kernel: ");
    if (graph.kernel_node_count.has_value()) {
      absl::StrAppend(&text, Plural(*graph.kernel_node_count, "kernel node"));
      if (graph.undescribed_node_count.value_or(0) > 0) {
        absl::StrAppend(&text, " and ", Plural(*graph.undescribed_node_count, "other node"));
      }
    } else {
      absl::StrAppend(&text, "nodes not known");
    }
    out->Line(absl::StrCat("  ", out->Paint(Colour::kBold, text)));
    for (const CounterGroupRow& group : graph.groups) WriteGroup(group, out);
  }
  if (counters.signatures.empty() && counters.graphs.empty()) return;
  out->Line("");
  out->Line(
      absl::StrCat("  median, min, max: of samples that are not void; spread: (max - min) / median. First ranges "
                   "of a session are left out of DRAM writes."));
}

}  // namespace gx::analysis
