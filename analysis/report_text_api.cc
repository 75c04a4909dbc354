#include "analysis/report_text_api.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "analysis/format.h"
#include "analysis/text_table.h"

namespace gx::analysis {
namespace {

struct Sum {
  uint64_t call_count = 0;
  uint64_t failed_count = 0;
  double total_ns = 0;
};

std::string SumText(const std::string& domain, const Sum& sum) {
  return absl::StrCat(
      Plural(sum.call_count, "call"), ", ", FormatNs(sum.total_ns), " of host time",
      domain == "driver" ? ", most of it within calls of the runtime where the program uses that" : "",
      sum.failed_count > 0 ? absl::StrCat("; ", FormatCount(sum.failed_count), " returned an error") : "");
}

}  // namespace

void WriteApiUses(const ProcessSection& process, size_t row_limit, size_t width, TextWriter* out) {
  std::map<std::string, Sum> sums;
  for (const ApiUseRow& row : process.api_uses) {
    Sum& sum = sums[row.domain];
    sum.call_count += row.call_count;
    sum.failed_count += row.failed_count;
    sum.total_ns += static_cast<double>(row.total_ns);
  }
  for (const auto& [domain, sum] : sums) out->WrappedField(domain, SumText(domain, sum));
  out->WrappedField("recorded", "in timing windows, by CUPTI, whose records of calls make them dearer");
  const size_t count = row_limit == 0 ? process.api_uses.size() : std::min(row_limit, process.api_uses.size());
  TextTable table;
  table.Add({.title = "total"});
  table.Add({.title = "calls"});
  table.Add({.title = "mean"});
  table.Add({.title = "max"});
  table.Add({.title = "errors"});
  table.Add({.title = "of", .right = false});
  table.Add({.title = "function", .right = false, .min_width = 16});
  for (size_t i = 0; i < count; ++i) {
    const ApiUseRow& row = process.api_uses[i];
    table.Put(FormatNs(static_cast<double>(row.total_ns)));
    table.Put(FormatCount(row.call_count));
    table.Put(FormatNs(static_cast<double>(row.total_ns) / static_cast<double>(row.call_count)));
    table.Put(FormatNs(static_cast<double>(row.max_ns)));
    table.Put(FormatCount(row.failed_count));
    table.Put(row.domain);
    table.Put(row.name);
  }
  out->Line("");
  for (const std::string& line : table.Lines(width)) out->Line(line);
  if (count < process.api_uses.size()) {
    out->Line(absl::StrCat("  ... and ", Plural(process.api_uses.size() - count, "function"), " more (--top 0)"));
  }
}

}  // namespace gx::analysis
