#include "analysis/report_text_kernels.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analysis/format.h"
#include "analysis/report_names.h"
#include "analysis/text_table.h"

namespace gx::analysis {
namespace {

// What a cell says where there is nothing to say.
constexpr absl::string_view kUnknown = "-";

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

// Marks what gives no verdict, and what is only known from sums.
std::string FigureText(const KernelGroup& group, double ns, bool is_median) {
  switch (group.basis) {
    case MedianBasis::kNone:
      return std::string(kUnknown);
    case MedianBasis::kBuckets:
      return absl::StrCat("~", FormatNs(ns));
    case MedianBasis::kFewClean:
      return is_median ? absl::StrCat("(", FormatNs(ns), ")") : FormatNs(ns);
    case MedianBasis::kNotClean:
      return is_median ? absl::StrCat("((", FormatNs(ns), "))") : FormatNs(ns);
    case MedianBasis::kClean:
      break;
  }
  return FormatNs(ns);
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

bool AnyGroup(const Report& report, const std::function<bool(const KernelGroup&)>& is) {
  return std::any_of(report.kernels.begin(), report.kernels.end(), is);
}
bool AnyOn(const Report& report, MedianBasis basis) {
  return AnyGroup(report, [basis](const KernelGroup& group) { return group.basis == basis; });
}

struct KernelColumn {
  TextTable::Column column;
  std::function<std::string(const KernelGroup&)> text;
};

// Numbers. leave_out_rank says what goes first where a terminal is narrow: what the others tell roughly, and what JSON
// and CSV hold.
KernelColumn Number(absl::string_view title, int leave_out_rank, std::function<std::string(const KernelGroup&)> text) {
  return {{.title = std::string(title), .leave_out_rank = leave_out_rank}, std::move(text)};
}
KernelColumn Words(absl::string_view title, size_t min_width, int leave_out_rank,
                   std::function<std::string(const KernelGroup&)> text) {
  return {{.title = std::string(title), .right = false, .min_width = min_width, .leave_out_rank = leave_out_rank},
          std::move(text)};
}

// In the words of the columns beside it.
std::string LimitText(const LaunchResidency& residency) {
  if (!residency.limiters.has_value()) return std::string(kUnknown);
  return absl::StrReplaceAll(*residency.limiters, {{"registers", "regs"}, {"shared_memory", "smem"}, {" + ", "+"}});
}

// Two digits after the point: the fraction is the fill of the last wave.
std::string WavesText(const LaunchResidency& residency) {
  if (!residency.waves.has_value()) return std::string(kUnknown);
  const double waves = *residency.waves;
  const std::string text = waves > 0 && waves < 0.01 ? "<0.01" : absl::StrFormat("%.2f", waves);
  return absl::StrCat(residency.slots_are_upper_bound ? ">=" : "", text);
}

// What tells rows apart beside the kernel. Columns that would be empty everywhere are left out, here and below.
void AddGroupColumns(const Report& report, std::vector<KernelColumn>* columns) {
  constexpr size_t kMinGroupColumns = 16;
  const Grouping& by = report.grouping;
  if (report.processes.size() > 1) {
    columns->push_back(
        Words("process", 8, 0, [&report](const KernelGroup& g) { return report.processes[g.process].label; }));
  }
  if (by.nvtx) {
    columns->push_back(Words("range", kMinGroupColumns, 0, [](const KernelGroup& g) {
      return absl::StrCat(g.nvtx, g.nvtx_at_capture ? " (at capture)" : "");
    }));
  }
  if (by.stream)
    columns->push_back(Words("stream", kMinGroupColumns, 0, [](const KernelGroup& g) { return g.stream; }));
  const bool several_devices =
      AnyGroup(report, [&](const KernelGroup& g) { return g.device_id != report.kernels.front().device_id; });
  if (by.device || several_devices) {
    columns->push_back(Number("device", 2, [](const KernelGroup& g) { return OptionalText(g.device_id); }));
  }
}

void AddFigureColumns(std::vector<KernelColumn>* columns) {
  const auto add = [columns](absl::string_view title, int rank, std::function<std::string(const KernelGroup&)> text) {
    columns->push_back(Number(title, rank, std::move(text)));
  };
  add("calls", 0, [](const KernelGroup& g) { return FormatCount(g.calls); });
  add("total", 0, [](const KernelGroup& g) { return FormatNs(static_cast<double>(g.total_ns)); });
  add("share", 1, [](const KernelGroup& g) { return FormatRatio(g.share_ratio); });
  add("median", 0, [](const KernelGroup& g) { return FigureText(g, g.durations.median_ns, true); });
  add("p5", 13, [](const KernelGroup& g) { return FigureText(g, g.durations.p5_ns, false); });
  add("p95", 12, [](const KernelGroup& g) { return FigureText(g, g.durations.p95_ns, false); });
  add("min", 15, [](const KernelGroup& g) { return FigureText(g, static_cast<double>(g.durations.min_ns), false); });
  add("max", 14, [](const KernelGroup& g) { return FigureText(g, static_cast<double>(g.durations.max_ns), false); });
  add("overlap", 9, [](const KernelGroup& g) {
    // Sums do not tell.
    const bool known = g.basis != MedianBasis::kNone && g.basis != MedianBasis::kBuckets;
    return known ? FormatRatio(g.overlapped_ratio) : std::string(kUnknown);
  });
  columns->push_back(Words("verdict", 0, 11, VerdictText));
}

void AddKernelColumns(const Report& report, bool wide, std::vector<KernelColumn>* columns) {
  constexpr size_t kMinNameColumns = 32;
  const Grouping& by = report.grouping;
  if (!by.signature && AnyGroup(report, [](const KernelGroup& g) { return g.signature_count > 0; })) {
    columns->push_back(Number("signatures", 6, [](const KernelGroup& g) {
      return g.signature_count == 0 ? std::string(kUnknown) : FormatCount(g.signature_count);
    }));
  }
  if (!by.signature && !by.name) return;
  columns->push_back(Number("grid", 4, [](const KernelGroup& g) { return DimText(g.launch.grid); }));
  columns->push_back(Number("block", 3, [](const KernelGroup& g) { return DimText(g.launch.block); }));
  columns->push_back(
      Number("regs", 5, [](const KernelGroup& g) { return OptionalText(g.launch.registers_per_thread); }));
  columns->push_back(Number("smem", 10, [](const KernelGroup& g) { return SharedText(g.launch); }));
  columns->push_back(Number(
      "blocks/SM", 17, [](const KernelGroup& g) { return OptionalText(g.launch.driver_occupancy_blocks_per_sm); }));
  columns->push_back(Number("occupancy", 8, [](const KernelGroup& g) {
    const std::optional<double>& ratio = g.launch.residency.occupancy_ratio;
    return ratio.has_value() ? FormatRatio(*ratio) : std::string(kUnknown);
  }));
  columns->push_back(Words("limit", 0, 16, [](const KernelGroup& g) { return LimitText(g.launch.residency); }));
  columns->push_back(Number("waves", 7, [](const KernelGroup& g) { return WavesText(g.launch.residency); }));
  if (AnyGroup(report, [](const KernelGroup& g) { return KindText(g.launch) != kUnknown; })) {
    columns->push_back(Words("launch", 0, 6, [](const KernelGroup& g) { return KindText(g.launch); }));
  }
  columns->push_back(Words("name", kMinNameColumns, 0, [wide](const KernelGroup& g) {
    const std::string name = wide ? g.full_name : CutText(g.short_name, kMaxShortNameColumns + 3);
    return name.empty() ? std::string("(name unknown)") : name;
  }));
}

// What the columns and marks mean, of those that are shown.
void WriteLegend(const Report& report, const std::vector<std::string>& left_out, TextWriter* out) {
  const bool switched = AnyGroup(report, [](const KernelGroup& g) { return g.next_to_switch_count > 0; });
  out->Line(absl::StrCat("  median, p5, p95, min, max: clean calls only (not warm-up, overlapped another kernel, ",
                         switched ? "next to a switch of windows, " : "", "or late); overlap: share of timed calls."));
  if (AnyOn(report, MedianBasis::kFewClean)) out->Line("  (x): fewer than 20 clean calls. No verdict.");
  if (AnyOn(report, MedianBasis::kNotClean)) {
    out->Line(absl::StrCat("  ((x)): no clean call; of warm-up, overlapped ",
                           switched ? "ones, next to a switch, " : "", "or late ones. No verdict."));
  }
  if (AnyOn(report, MedianBasis::kBuckets)) {
    out->Line(
        "  ~x: of all calls, known in sums only: min and max are exact, the others from buckets 9 % wide. No verdict.");
  }
  const auto shown = [&](absl::string_view title) {
    return (report.grouping.signature || report.grouping.name) &&
           std::find(left_out.begin(), left_out.end(), title) == left_out.end();
  };
  if (shown("regs")) {
    out->Line("  regs: registers a thread that launches were given, as ncu shows them; the function may need fewer.");
  }
  if (shown("smem")) {
    out->Line(absl::StrCat("  smem: static+dynamic bytes a block",
                           shown("blocks/SM") ? "; blocks/SM: the driver's occupancy." : "."));
  }
  if (shown("occupancy")) {
    out->Line(absl::StrCat("  occupancy: the model's, of an SM's warps; no measurement of how many were active",
                           shown("limit") ? "; limit: what lets in no more blocks." : "."));
  }
  if (shown("waves")) out->Line("  waves: blocks of the grid over those that the device holds at a time.");
}

}  // namespace

void WriteKernels(const Report& report, const TextStyle& style, TextWriter* out) {
  out->Heading(absl::StrCat("KERNELS by ", GroupingText(report.grouping),
                            report.filter.empty() ? "" : absl::StrCat(", names that match '", report.filter, "'")));
  if (report.kernels.empty()) {
    out->Line(report.kernel_groups_total == 0 ? "  none" : "  none that match");
    return;
  }
  std::vector<KernelColumn> columns;
  AddGroupColumns(report, &columns);
  AddFigureColumns(&columns);
  AddKernelColumns(report, style.wide, &columns);
  TextTable table;
  for (const KernelColumn& column : columns) table.Add(column.column);
  for (const KernelGroup& group : report.kernels) {
    for (const KernelColumn& column : columns) table.Put(column.text(group));
  }
  const std::vector<std::string> lines = table.Lines(style.max_table_columns);
  out->Line(out->Paint(Colour::kBold, lines.front()));
  for (size_t i = 1; i < lines.size(); ++i) out->Line(lines[i]);
  const std::vector<std::string> left_out = table.LeftOut(style.max_table_columns);
  if (!left_out.empty()) {
    out->Line(
        absl::StrCat("  not shown, as the terminal is narrow (--wide shows all): ", absl::StrJoin(left_out, ", ")));
  }
  if (const size_t more = report.kernel_groups_matched - report.kernels.size(); more > 0) {
    out->Line(absl::StrCat("  ", Plural(more, "more row"), " (--top 0 shows all)"));
  }
  WriteLegend(report, left_out, out);
}

}  // namespace gx::analysis
