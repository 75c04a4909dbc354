#include "analysis/report_text_ladder.h"

#include <cmath>
#include <string>
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

std::string WholeNs(double ns) {
  const auto whole = static_cast<int64_t>(std::llround(std::abs(ns)));
  return absl::StrCat(ns < 0 && whole > 0 ? "-" : "", FormatCount(static_cast<uint64_t>(whole)), " ns");
}

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

void WriteTerms(const LadderRow& row, TextWriter* out) {
  TextTable table;
  table.Add({.title = "term", .right = false});
  table.Add({.title = "ns"});
  table.Add({.title = "of time"});
  table.Add({.title = "class", .right = false});
  for (size_t i = 0; i < model::kTermCount; ++i) {
    const model::LadderTerm& term = row.ladder.terms[i];
    if (term.term_class == model::TermClass::kNone) continue;
    const bool unmeasured = term.term_class == model::TermClass::kUnmeasured && row.whole_ns[i] == 0;
    table.Put(std::string(model::TermName(static_cast<model::TermKind>(i))));
    table.Put(unmeasured ? "-" : FormatCount(static_cast<uint64_t>(row.whole_ns[i])));
    table.Put(unmeasured ? "-" : ShareText(static_cast<double>(row.whole_ns[i]), row.ladder.time_ns));
    table.Put(std::string(model::TermClassName(term.term_class)));
  }
  table.Put("sum");
  table.Put(FormatCount(static_cast<uint64_t>(row.time_ns)));
  table.Put(FormatRatio(1));
  table.Put("");
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

std::vector<std::string> ExcessLines(const LadderRow& row) {
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
  const bool uncalibrated = ladder.Term(model::TermKind::kLaunch).term_class == model::TermClass::kUnmeasured ||
                            ladder.Term(model::TermKind::kTracing).term_class == model::TermClass::kUnmeasured;
  if (ladder.other_regime) {
    remarks.push_back(absl::StrCat("closure fails by ", WholeNs(ladder.closure_ns.value_or(0)),
                                   ": counted launches ran otherwise than timed ones",
                                   uncalibrated ? " (or it is launch and tracing, which are unmeasured)" : "",
                                   ", so idle SMs to overlap count as unexplained"));
  }
  if (ladder.hidden_idle_ns > 0) {
    remarks.push_back(
        absl::StrCat("idle SMs of ", WholeNs(ladder.hidden_idle_ns), " are hidden: other terms cover that time"));
  }
  return remarks;
}

void WriteRow(const LadderRow& row, bool wide, TextWriter* out) {
  const model::Ladder& ladder = row.ladder;
  out->Line("");
  out->Line(absl::StrCat(
      "  ",
      out->Paint(Colour::kBold, absl::StrCat(wide ? row.full_name : CutText(row.short_name, kMaxNameColumns), "  grid ",
                                             row.grid, ", block ", row.block)),
      "; ", WholeNs(ladder.time_ns), ", median of ", FormatCount(row.clean_count), " clean, ",
      FormatRatio(row.share_ratio), " of kernel time"));
  if (ladder.rungs.at(model::Rung::kWork).has_value()) WriteRungs(ladder, out);
  std::string residual;
  if (ladder.residual_ns.has_value()) {
    residual = absl::StrCat(WholeNs(*ladder.residual_ns), ", ", ShareText(*ladder.residual_ns, ladder.time_ns),
                            " of time above R1");
  } else if (ladder.above_work_ns.has_value()) {
    residual = absl::StrCat("unmeasured; ", WholeNs(*ladder.above_work_ns), ", ",
                            ShareText(*ladder.above_work_ns, ladder.time_ns), " of time above R2");
  } else {
    residual = "unmeasured";
  }
  WriteLines("residual", {residual}, out);
  WriteTerms(row, out);
  WriteLines("", Remarks(ladder), out);
  WriteLines("excess", ExcessLines(row), out);
  WriteLines("unmeasured", row.unmeasured, out);
  WriteLines("note", row.notes, out);
}

}  // namespace

void WriteLadders(const LadderSection& section, const TextStyle& style, TextWriter* out) {
  for (const std::string& line : section.machine_lines) {
    out->WrappedField(&line == &section.machine_lines.front() ? "machine" : "", line);
  }
  for (const LadderRow& row : section.rows) WriteRow(row, style.wide, out);
  if (section.rows.empty()) out->Line("  none");
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
      "  Terms sum to the time. A term is no saving: where one limit goes, the next one takes over. R1 to R4 are "
      "lower");
  out->Line("  bounds; R5 is what the best known code reaches. Not in JSON and CSV.");
}

}  // namespace gx::analysis
