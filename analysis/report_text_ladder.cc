#include "analysis/report_text_ladder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/format.h"
#include "analysis/model/ladder_resource.h"
#include "analysis/model/ladder_rungs.h"
#include "analysis/model/ladder_terms.h"
#include "analysis/text_table.h"

namespace gx::analysis {
namespace {

constexpr size_t kMaxNameColumns = 120;
constexpr size_t kMaxRankedName = 48;
constexpr size_t kBarColumns = 40;
// Of the default text: kernels with a block of their own, what-ifs of each, and lines of the run's lists.
constexpr size_t kBlocksInSummary = 5;
constexpr size_t kShownWhatIfs = 3;
constexpr size_t kShownRanked = 12;
// A change that saves a smaller share of the time is counted, and not shown in short.
constexpr double kWorthShowing = 0.01;
// A part of a term below this share of the time is not named.
constexpr double kLeastDetail = 0.005;

std::string WholeNumber(double ns) {
  const auto whole = static_cast<int64_t>(std::llround(std::abs(ns)));
  return absl::StrCat(ns < 0 && whole > 0 ? "-" : "", FormatCount(static_cast<uint64_t>(whole)));
}

std::string WholeNs(double ns) { return absl::StrCat(WholeNumber(ns), " ns"); }

std::string ShareText(double ns, double time_ns) {
  const double ratio = ns / time_ns;
  return ratio < 0 ? absl::StrCat("-", FormatRatio(-ratio)) : FormatRatio(ratio);
}

// "R1 useful work", as ladder.md numbers them.
std::string RungText(model::Rung rung) {
  switch (rung) {
    case model::Rung::kCompulsory:
      return "R0 compulsory";
    case model::Rung::kUseful:
      return "R1 useful work";
    case model::Rung::kWork:
      return "R2 counted work";
    case model::Rung::kClock:
      return "R3 at the clock of the run";
    case model::Rung::kBusiest:
      return "R4 of the busiest instance";
    case model::Rung::kCeiling:
      return "R5 at sustained rates";
  }
  return "";
}

std::string BindingText(const model::RungValue& value) {
  if (!value.binding.has_value()) return "";
  std::string text(model::ResourceName(*value.binding));
  std::vector<std::string> others;
  for (size_t i = 0; i < model::kResourceKindCount; ++i) {
    const auto kind = static_cast<model::ResourceKind>(i);
    if (kind != *value.binding && value.co_limiters.Contains(kind)) others.emplace_back(model::ResourceName(kind));
  }
  if (!others.empty()) absl::StrAppend(&text, "; close: ", absl::StrJoin(others, ", "));
  return text;
}

std::string FootingText(const model::Rungs& rungs, model::Rung rung) {
  if (rung == model::Rung::kCompulsory) {
    if (rungs.compulsory_capped) return "stated above R1, taken as R1: data in a cache, or another operation";
    return absl::StrCat(WholeNs(rungs.Ns(model::Rung::kUseful) - rungs.Ns(model::Rung::kCompulsory)), " below R1");
  }
  if (rung == model::Rung::kClock && !rungs.clock_measured) return "clock unmeasured";
  if (rung == model::Rung::kBusiest && !rungs.busiest_measured) return "no maximum over instances counted";
  if (rung == model::Rung::kCeiling && !rungs.ceiling_measured) return "sustained rates unmeasured";
  return "";
}

void WriteTable(const TextTable& table, TextWriter* out) {
  for (const std::string& line : table.Lines(0)) {
    out->Line(absl::StrCat("    ", absl::StripTrailingAsciiWhitespace(line)));
  }
}

void WriteRungs(const model::Ladder& ladder, TextWriter* out) {
  TextTable table;
  table.Add({.title = "rung", .right = false});
  table.Add({.title = "at least"});
  table.Add({.title = "of time"});
  table.Add({.title = "binding", .right = false});
  table.Add({.title = "", .right = false});
  for (size_t i = 0; i < model::kRungCount; ++i) {
    const auto rung = static_cast<model::Rung>(i);
    const std::optional<model::RungValue>& value = ladder.rungs.at(rung);
    if (rung == model::Rung::kCompulsory && !value.has_value()) continue;
    table.Put(RungText(rung));
    table.Put(value.has_value() ? WholeNs(value->ns) : "unmeasured");
    table.Put(value.has_value() ? ShareText(value->ns, ladder.time_ns) : "-");
    table.Put(value.has_value() ? BindingText(*value) : "");
    table.Put(value.has_value() ? FootingText(ladder.rungs, rung) : "");
  }
  WriteTable(table, out);
}

void WriteLines(absl::string_view label, const std::vector<std::string>& lines, TextWriter* out) {
  for (const std::string& line : lines) {
    for (const absl::string_view piece : WrapText(line, kWrapColumns)) {
      out->Line(absl::StrFormat("    %-12s%s", std::string(label), std::string(piece)));
      label = "";
    }
  }
}

// As wide as its share of the time; nothing where there is no time.
std::string Bar(double ratio) {
  const double width = std::clamp(ratio, 0.0, 1.0) * kBarColumns;
  const auto whole = static_cast<size_t>(std::lround(width));
  return whole == 0 && ratio > 0 ? "." : std::string(whole, '#');
}

std::string IntervalText(const std::optional<model::LadderIntervals>& intervals, size_t term) {
  if (!intervals.has_value()) return "";
  const model::Interval& interval = intervals->terms[term];
  return absl::StrCat(WholeNumber(interval.low), " to ", WholeNumber(interval.high));
}

// "tensor pipe", "idle: tail": what of a term is named.
std::string TermDetail(const LadderFigures& figures, model::TermKind kind) {
  const model::Ladder& ladder = figures.ladder;
  const auto binding = [&ladder](model::Rung rung) -> std::string {
    const std::optional<model::RungValue>& value = ladder.rungs.at(rung);
    if (!value.has_value() || !value->binding.has_value()) return "";
    return std::string(model::ResourceName(*value->binding));
  };
  switch (kind) {
    case model::TermKind::kUseful:
      return binding(model::Rung::kUseful);
    case model::TermKind::kWork:
      return binding(model::Rung::kWork);
    case model::TermKind::kExcess: {
      std::vector<std::string> kinds;
      if (figures.excess.has_value() && !ladder.violation.has_value()) {
        for (const model::ExcessShare& share : figures.excess->shares) {
          if (share.ns < kLeastDetail * ladder.time_ns) continue;
          kinds.push_back(absl::StrCat(model::ExcessFactorName(share.factor), " ", WholeNs(share.ns)));
        }
      }
      return absl::StrJoin(kinds, ", ");
    }
    case model::TermKind::kUneven: {
      const std::optional<model::RungValue>& value = ladder.rungs.at(model::Rung::kBusiest);
      if (!value.has_value() || !value->binding.has_value() || ladder.Term(kind).ns < 0.5) return "";
      return absl::StrCat(binding(model::Rung::kBusiest), ", ", model::ScopeName(model::ScopeOf(*value->binding)));
    }
    case model::TermKind::kCeiling:
      return binding(model::Rung::kCeiling);
    case model::TermKind::kIdle: {
      if (!figures.idle_causes.has_value() || ladder.Term(kind).ns < kLeastDetail * ladder.time_ns) return "";
      const model::IdleCauses& causes = *figures.idle_causes;
      if (causes.unfilled_ns > 0) return "unfilled";
      return causes.tail_ns > causes.imbalance_ns ? "tail" : "imbalance";
    }
    case model::TermKind::kLatency: {
      if (!figures.latency_parts.has_value() || ladder.Term(kind).ns < kLeastDetail * ladder.time_ns) return "";
      const model::LatencyParts& parts = *figures.latency_parts;
      return absl::StrCat("memory ", FormatRatio(parts.memory), ", arithmetic ", FormatRatio(parts.dependency),
                          ", shared ", FormatRatio(parts.shared), ", fetch ", FormatRatio(parts.fetch));
    }
    case model::TermKind::kQueue:
      return ladder.queue_resource.has_value() ? std::string(model::ResourceName(*ladder.queue_resource)) : "";
    default:
      return "";
  }
}

void WriteTerms(const LadderFigures& figures, bool deep, TextWriter* out) {
  TextTable table;
  table.Add({.title = "term", .right = false});
  table.Add({.title = "ns"});
  table.Add({.title = "of time"});
  if (deep) table.Add({.title = "interval", .right = false});
  table.Add({.title = absl::StrCat("|", std::string(kBarColumns, ' '), "|"), .right = false});
  table.Add({.title = "class", .right = false});
  table.Add({.title = "", .right = false});
  std::vector<std::string> none;
  std::vector<std::string> unmeasured;
  for (size_t i = 0; i < model::kTermCount; ++i) {
    const auto kind = static_cast<model::TermKind>(i);
    const model::LadderTerm& term = figures.ladder.terms[i];
    if (term.term_class == model::TermClass::kNone) continue;
    const std::string name(model::TermName(kind));
    if (figures.whole_ns[i] == 0) {
      (term.term_class == model::TermClass::kUnmeasured ? unmeasured : none).push_back(name);
      continue;
    }
    const double ratio = static_cast<double>(figures.whole_ns[i]) / figures.ladder.time_ns;
    table.Put(name);
    table.Put(FormatCount(static_cast<uint64_t>(figures.whole_ns[i])));
    table.Put(FormatRatio(ratio));
    if (deep) table.Put(IntervalText(figures.intervals, i));
    table.Put(absl::StrCat("|", Bar(ratio)));
    table.Put(std::string(model::TermClassName(term.term_class)));
    table.Put(TermDetail(figures, kind));
  }
  table.Put("sum");
  table.Put(FormatCount(static_cast<uint64_t>(figures.time_ns)));
  table.Put(FormatRatio(1));
  if (deep) table.Put("");
  table.Put("|");
  table.Put("");
  table.Put("");
  WriteTable(table, out);
  if (!none.empty()) WriteLines("0 ns", {absl::StrJoin(none, ", ")}, out);
  if (!unmeasured.empty()) WriteLines("unmeasured", {absl::StrJoin(unmeasured, ", ")}, out);
}

// Where a term's figures come from: metric, group, samples.
std::string EvidenceText(const TermEvidence& evidence) {
  if (!evidence.is_measured) {
    return absl::StrCat(evidence.source, " UNMEASURED",
                        evidence.group.empty() ? "" : absl::StrCat(" (group ", evidence.group, ")"));
  }
  if (evidence.group.empty()) return evidence.source;
  return absl::StrCat(evidence.source, " (", evidence.group, ", ", Plural(evidence.sample_count, "sample"),
                      evidence.window_ids.size() == 1
                          ? absl::StrCat(", window ", evidence.window_ids[0])
                          : absl::StrCat(", ", Plural(evidence.window_ids.size(), "window")),
                      ")");
}

void WriteEvidence(const LadderFigures& figures, TextWriter* out) {
  out->Line("    evidence");
  for (size_t i = 0; i < model::kTermCount; ++i) {
    if (figures.evidence[i].empty()) continue;
    std::vector<std::string> sources;
    for (const TermEvidence& evidence : figures.evidence[i]) sources.push_back(EvidenceText(evidence));
    absl::string_view label = model::TermName(static_cast<model::TermKind>(i));
    const std::string text = absl::StrJoin(sources, ", ");
    for (const absl::string_view piece : WrapText(text, kWrapColumns)) {
      out->Line(absl::StrFormat("      %-18s%s", std::string(label.substr(0, 17)), std::string(piece)));
      label = "";
    }
  }
}

std::vector<std::string> ExcessLines(const LadderFigures& row) {
  std::vector<std::string> lines;
  if (!row.excess.has_value() || row.ladder.violation.has_value()) return lines;
  for (const model::ExcessShare& share : row.excess->shares) {
    // Work that does not bind.
    if (share.ns < 0.5 && share.solo_ns < 0.5) continue;
    lines.push_back(absl::StrCat(model::ExcessFactorName(share.factor), " ", WholeNs(share.ns), " of the excess; ",
                                 WholeNs(share.solo_ns), " if it alone were gone"));
  }
  return lines;
}

std::vector<std::string> Remarks(const model::Ladder& ladder) {
  std::vector<std::string> remarks;
  if (ladder.violation.has_value()) {
    remarks.push_back(absl::StrCat("VIOLATION: ", model::RungName(ladder.violation->rung), " is ",
                                   WholeNs(ladder.violation->ns),
                                   " above the time, which cannot be. Counted and timed launches differ (work, cache, "
                                   "clock), or a peak is wrong; the ladder stops there"));
  }
  if (ladder.clock_above_max) remarks.emplace_back("the SM clock of the run is above the stated maximum");
  if (ladder.ceiling_beaten_ns > 0) {
    remarks.push_back(absl::StrCat("R5 is beaten by ", WholeNs(ladder.ceiling_beaten_ns),
                                   ": the machine file's rates are not the best possible ones"));
  }
  if (ladder.other_regime) {
    remarks.push_back(absl::StrCat("closure fails by ", WholeNs(ladder.closure_ns.value_or(0)),
                                   ": counted launches ran otherwise than timed ones, so idle SMs to overlap count as "
                                   "unexplained"));
  }
  if (ladder.closure_unknown) {
    remarks.push_back(absl::StrCat("closure is unknown: ", WholeNs(ladder.closure_ns.value_or(0)),
                                   " outside of active SMs, which may be launch or tracing (unmeasured)"));
  }
  if (ladder.hidden_idle_ns > 0) {
    remarks.push_back(
        absl::StrCat("idle SMs of ", WholeNs(ladder.hidden_idle_ns), " are hidden: other terms cover that time"));
  }
  return remarks;
}

std::string ResidualText(const model::Ladder& ladder) {
  if (ladder.residual_ns.has_value()) {
    return absl::StrCat(WholeNs(*ladder.residual_ns), ", ", ShareText(*ladder.residual_ns, ladder.time_ns),
                        " of time above ", ladder.rungs.at(model::Rung::kCompulsory).has_value() ? "R0" : "R1");
  }
  if (!ladder.above_work_ns.has_value()) return "unmeasured";
  return absl::StrCat("unmeasured; ", WholeNs(*ladder.above_work_ns), ", ",
                      ShareText(*ladder.above_work_ns, ladder.time_ns), " of time above R2");
}

// "R1 66,064 ns (dram), R4 67,011 ns, R5 72,105 ns".
std::string RungLine(const model::Ladder& ladder) {
  std::vector<std::string> rungs;
  for (size_t i = 0; i < model::kRungCount; ++i) {
    const auto rung = static_cast<model::Rung>(i);
    const std::optional<model::RungValue>& value = ladder.rungs.at(rung);
    if (!value.has_value()) continue;
    std::string text =
        absl::StrCat(model::RungName(rung), " ", WholeNs(value->ns), " ", ShareText(value->ns, ladder.time_ns));
    if (value->binding.has_value()) absl::StrAppend(&text, " (", model::ResourceName(*value->binding), ")");
    if (rung == model::Rung::kCompulsory) absl::StrAppend(&text, " (", FootingText(ladder.rungs, rung), ")");
    rungs.push_back(std::move(text));
  }
  return rungs.empty() ? "unmeasured" : absl::StrJoin(rungs, ", ");
}

std::string WhatIfText(const LadderWhatIf& what_if) {
  if (!what_if.time_ns.has_value()) return absl::StrCat(what_if.change, ": no prediction, ", what_if.no_prediction);
  std::string text =
      absl::StrCat(what_if.change, ": ", WholeNs(*what_if.time_ns), " (", WholeNs(what_if.interval_ns->low), " to ",
                   WholeNs(what_if.interval_ns->high), "), saves ", WholeNs(*what_if.saved_ns), " a launch, ",
                   *what_if.saved_run_ns < 0 ? "-" : "", FormatNs(std::abs(*what_if.saved_run_ns)), " of the run");
  if (!what_if.binding.empty()) absl::StrAppend(&text, "; then ", what_if.binding, " binds");
  absl::StrAppend(&text, ". ", what_if.text);
  if (what_if.without_latency) absl::StrAppend(&text, ". Latency unmeasured: its change is not in it");
  if (what_if.other_regime) absl::StrAppend(&text, ". Closure fails: calibrated on another regime");
  return text;
}

std::string FindingText(const LadderFinding& finding) {
  return finding.advice.empty() ? finding.text : absl::StrCat(finding.text, " -> ", finding.advice);
}

std::vector<std::string> Shown(const std::vector<std::string>& lines, size_t most) {
  std::vector<std::string> shown(lines.begin(),
                                 lines.begin() + static_cast<std::ptrdiff_t>(std::min(most, lines.size())));
  if (lines.size() > most) shown.push_back(absl::StrCat("... and ", lines.size() - most, " more (--section ladder)"));
  return shown;
}

void WriteModes(const LadderRow& row, TextWriter* out) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < row.modes.size(); ++i) {
    const LadderMode& mode = row.modes[i];
    std::string text =
        absl::StrCat(i + 1, ": ", WholeNs(mode.ladder.time_ns), ", ", FormatRatio(mode.launch_ratio), " of launches");
    if (!mode.is_counted) {
      absl::StrAppend(&text, ", unmeasured: no counter sample is of it");
    } else {
      const std::optional<model::RungValue>& work = mode.ladder.rungs.at(model::Rung::kWork);
      if (work.has_value()) {
        absl::StrAppend(&text, ", R2 ", ShareText(work->ns, mode.ladder.time_ns), " (", BindingText(*work), ")");
      }
      absl::StrAppend(&text, ", unexplained ", ShareText(mode.ladder.UnexplainedNs(), mode.ladder.time_ns));
      if (mode.ladder.violation.has_value()) absl::StrAppend(&text, ", VIOLATION");
    }
    lines.push_back(std::move(text));
  }
  WriteLines("modes", lines, out);
}

void WriteRow(const LadderRow& row, bool wide, bool deep, TextWriter* out) {
  const model::Ladder& ladder = row.ladder;
  const std::string interval = row.time_interval_ns.has_value()
                                   ? absl::StrCat(" (", WholeNumber(row.time_interval_ns->low), " to ",
                                                  WholeNumber(row.time_interval_ns->high), ")")
                                   : "";
  out->Line("");
  out->Line(absl::StrCat(
      "  ",
      out->Paint(Colour::kBold, absl::StrCat(wide ? row.full_name : CutText(row.short_name, kMaxNameColumns), "  grid ",
                                             row.grid, ", block ", row.block)),
      "; ", WholeNs(ladder.time_ns), interval, ", median of ", FormatCount(row.clean_count), " clean, ",
      FormatRatio(row.share_ratio), " of kernel time", row.modes.empty() ? "" : " (all modes)"));
  if (!row.is_communication) {
    if (!deep) {
      WriteLines("rungs", {RungLine(ladder)}, out);
    } else if (ladder.rungs.at(model::Rung::kWork).has_value()) {
      WriteRungs(ladder, out);
    }
    WriteLines("residual", {ResidualText(ladder)}, out);
    WriteTerms(row, deep, out);
  }
  WriteLines("", Remarks(ladder), out);
  WriteModes(row, out);
  if (deep) {
    WriteLines("excess", ExcessLines(row), out);
    if (!row.is_communication) WriteEvidence(row, out);
  }
  std::vector<std::string> lines;
  size_t worthless = 0;
  for (const LadderWhatIf& what_if : row.what_ifs) {
    const bool worthless_here = what_if.saved_ns.has_value() && *what_if.saved_ns < kWorthShowing * ladder.time_ns;
    if (worthless_here) ++worthless;
    if (deep || !worthless_here) lines.push_back(WhatIfText(what_if));
  }
  lines = Shown(lines, deep ? lines.size() : kShownWhatIfs);
  if (!deep && worthless > 0)
    lines.push_back(absl::StrCat(worthless, lines.empty() ? "" : " more", " asked, none worth 1 %"));
  WriteLines("what if", lines, out);
  lines.clear();
  for (const LadderFinding& finding : row.findings) lines.push_back(FindingText(finding));
  WriteLines("finding", lines, out);
  if (deep) WriteLines("without", row.unmeasured, out);
  if (deep || row.is_communication) WriteLines("note", row.notes, out);
}

// ------------------------------------------------------------------------------------------------ the run

// Of tracing to overlap: any that some ladder measured.
bool IsAboveMeasured(const LadderSection& section) {
  for (const LadderRow& row : section.rows) {
    for (size_t i = static_cast<size_t>(model::TermKind::kTracing);
         i < static_cast<size_t>(model::TermKind::kUnexplained); ++i) {
      const model::TermClass term_class = row.ladder.terms[i].term_class;
      if (term_class != model::TermClass::kUnmeasured && term_class != model::TermClass::kNone) return true;
    }
  }
  return false;
}

void WriteRun(const LadderSection& section, TextWriter* out) {
  const LadderRun& run = section.run;
  if (run.ladder_ns == 0) return;
  const auto all_ns = static_cast<double>(run.ladder_ns);
  const auto share = [all_ns](double ns) { return FormatRatio(std::max(0.0, ns) / all_ns); };
  const auto term = [&](model::TermKind kind) { return run.terms_ns[static_cast<size_t>(kind)]; };
  out->WrappedField(
      "explained",
      absl::StrCat(FormatNs(all_ns), " of kernel time, ",
                   run.kernel_ns > 0 ? FormatRatio(all_ns / static_cast<double>(run.kernel_ns)) : "unknown",
                   " of all, has a ladder; below, shares of it",
                   run.communication_ns > 0
                       ? absl::StrCat("; communication besides: ", FormatNs(static_cast<double>(run.communication_ns)))
                       : ""));
  std::vector<std::string> steps;
  for (const model::TermKind kind :
       {model::TermKind::kUseful, model::TermKind::kAlgorithm, model::TermKind::kWork, model::TermKind::kExcess,
        model::TermKind::kClock, model::TermKind::kUneven, model::TermKind::kCeiling}) {
    if (term(kind) > 0) steps.push_back(absl::StrCat(model::TermName(kind), " ", share(term(kind))));
  }
  out->WrappedField("from below", absl::StrJoin(steps, ", "));
  steps.clear();
  for (size_t i = static_cast<size_t>(model::TermKind::kTracing);
       i < static_cast<size_t>(model::TermKind::kUnexplained); ++i) {
    if (run.terms_ns[i] > 0) {
      steps.push_back(absl::StrCat(model::TermName(static_cast<model::TermKind>(i)), " ", share(run.terms_ns[i])));
    }
  }
  out->WrappedField("above it", steps.empty() ? (IsAboveMeasured(section) ? "0 ns of what is measured" : "unmeasured")
                                              : absl::StrJoin(steps, ", "));
  out->WrappedField("unexplained",
                    absl::StrCat(share(run.unexplained_ns), "; with what is only attributed ", share(run.weak_ns)));
  out->WrappedField(
      "bounds broken",
      absl::StrCat(run.violation_ns == 0 ? "in no ladder"
                                         : absl::StrCat("in ", share(static_cast<double>(run.violation_ns)), " of it"),
                   "; counted in another regime than timed: ", share(static_cast<double>(run.other_regime_ns))));
}

std::string LargestTerm(const LadderRow& row) {
  size_t largest = 0;
  bool found = false;
  for (size_t i = static_cast<size_t>(model::TermKind::kExcess); i < static_cast<size_t>(model::TermKind::kUnexplained);
       ++i) {
    if (row.whole_ns[i] <= 0 || (found && row.whole_ns[i] <= row.whole_ns[largest])) continue;
    largest = i;
    found = true;
  }
  if (!found) return "-";
  return absl::StrCat(model::TermName(static_cast<model::TermKind>(largest)), " ",
                      ShareText(static_cast<double>(row.whole_ns[largest]), row.ladder.time_ns));
}

void WriteRunTable(const LadderSection& section, size_t max_columns, TextWriter* out) {
  TextTable table;
  table.Add({.title = "share"});
  table.Add({.title = "time"});
  table.Add({.title = "bound"});
  table.Add({.title = "R4"});
  table.Add({.title = "R5"});
  table.Add({.title = "binding", .right = false});
  table.Add({.title = "largest term above", .right = false});
  table.Add({.title = "unexplained"});
  table.Add({.title = "kernel", .right = false, .min_width = 24});
  for (const LadderRow& row : section.rows) {
    const model::Ladder& ladder = row.ladder;
    const auto rung = [&ladder](model::Rung which) {
      const std::optional<model::RungValue>& value = ladder.rungs.at(which);
      return value.has_value() ? ShareText(value->ns, ladder.time_ns) : std::string("-");
    };
    const std::optional<model::RungValue>& top = ladder.rungs.at(model::Rung::kBusiest);
    table.Put(FormatRatio(row.share_ratio));
    table.Put(FormatNs(ladder.time_ns));
    // What the residual is above.
    const bool has_compulsory = ladder.rungs.at(model::Rung::kCompulsory).has_value();
    table.Put(rung(has_compulsory ? model::Rung::kCompulsory : model::Rung::kUseful));
    table.Put(rung(model::Rung::kBusiest));
    table.Put(rung(model::Rung::kCeiling));
    table.Put(top.has_value() && top->binding.has_value() ? std::string(model::ResourceName(*top->binding))
              : row.is_communication                      ? "communication"
                                                          : "");
    table.Put(ladder.violation.has_value() ? "VIOLATION" : LargestTerm(row));
    table.Put(row.is_communication ? "-" : ShareText(ladder.UnexplainedNs(), ladder.time_ns));
    table.Put(absl::StrCat(CutText(row.short_name, kMaxNameColumns), " ", row.grid, " x ", row.block,
                           row.modes.empty() ? "" : absl::StrCat(", mode ", row.mode + 1, " of ", row.modes.size())));
  }
  out->Line("");
  for (const std::string& line : table.Lines(max_columns)) {
    out->Line(absl::StrCat("  ", absl::StripTrailingAsciiWhitespace(line)));
  }
}

void WriteRanked(const LadderSection& section, TextWriter* out) {
  std::vector<std::string> lines;
  const auto name = [&section](size_t row) {
    return absl::StrCat(CutText(section.rows[row].short_name, kMaxRankedName), " ", section.rows[row].grid, ": ");
  };
  for (const RankedWhatIf& ranked : section.what_ifs) {
    lines.push_back(absl::StrCat(name(ranked.row), WhatIfText(section.rows[ranked.row].what_ifs[ranked.what_if])));
  }
  out->Line("");
  if (!lines.empty()) out->Line("  what ifs of the run, by time saved");
  WriteLines("", Shown(lines, kShownRanked), out);
  lines.clear();
  bool counting_is_advised = false;
  for (const RankedFinding& ranked : section.findings) {
    LadderFinding finding = section.rows[ranked.row].findings[ranked.finding];
    // What to count is said of the first kernel that lacks it.
    if (finding.id == "ladder.unexplained" && !finding.advice.empty()) {
      if (counting_is_advised) finding.advice.clear();
      counting_is_advised = true;
    }
    lines.push_back(absl::StrCat(name(ranked.row), FindingText(finding)));
  }
  if (!lines.empty()) out->Line("  findings of the run, most valuable first");
  WriteLines("", Shown(lines, kShownRanked), out);
}

}  // namespace

void WriteLadders(const LadderSection& section, const TextStyle& style, bool deep, TextWriter* out) {
  for (const std::string& line : section.manifest_lines) {
    out->WrappedField(&line == &section.manifest_lines.front() ? "manifest" : "", line);
  }
  for (const std::string& line : section.machine_lines) {
    out->WrappedField(&line == &section.machine_lines.front() ? "machine" : "", line);
  }
  if (section.rows.empty()) {
    out->Line(section.uncounted_count > 0 && section.few_clean_count == 0
                  ? "  none: no signature with clean timings has a counter sample (GPUEXEC_COUNTERS=core or lean)"
                  : "  none");
  } else {
    WriteRun(section, out);
    WriteRunTable(section, style.max_table_columns, out);
  }
  const size_t blocks = deep ? section.rows.size() : std::min(kBlocksInSummary, section.rows.size());
  for (size_t i = 0; i < blocks; ++i) WriteRow(section.rows[i], style.wide, deep, out);
  if (!section.rows.empty()) WriteRanked(section, out);
  if (!section.rows.empty() || section.few_clean_count + section.uncounted_count > 0) out->Line("");
  if (const size_t more = section.matched_count - section.rows.size(); more > 0) {
    out->Line(absl::StrCat("  ", Plural(more, "more signature"), " (--top 0 shows all)"));
  }
  if (section.few_clean_count > 0) {
    out->Line(absl::StrCat("  no ladder: ", Plural(section.few_clean_count, "signature"),
                           " with fewer than 20 clean timings"));
  }
  if (section.uncounted_count > 0) {
    out->Line(absl::StrCat("  no ladder: ", Plural(section.uncounted_count, "signature"), " without a counter sample"));
  }
  for (const std::string& line : section.refused) out->WrappedField("refused", line);
  if (section.rows.empty()) return;
  out->Line(
      "  Terms sum to the time. A term is no saving: where one limit goes, the next one takes over; what a change "
      "saves "
      "is a what-if.");
  out->Line(
      "  R1 to R4 are lower bounds, R5 is what the best known code reaches. --explain TERM says what a term is and how "
      "it "
      "is computed.");
}

}  // namespace gx::analysis
