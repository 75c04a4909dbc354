// What the program's calls of the CUDA runtime and driver took, by function.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/printable.h"
#include "analysis/report_sections.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;

std::string ApiDomainWord(uint64_t domain) {
  if (domain == pb::ApiFunction::DOMAIN_DRIVER) return "driver";
  if (domain == pb::ApiFunction::DOMAIN_RUNTIME) return "runtime";
  return "unknown";
}

std::vector<ApiUseRow> BuildApiUses(const TraceModel& model) {
  std::vector<ApiUseRow> rows;
  for (const auto& [iid, use] : model.api_uses) {
    ApiUseRow row;
    const auto function = model.api_functions.find(iid);
    if (function == model.api_functions.end()) {
      row.domain = ApiDomainWord(pb::ApiFunction::DOMAIN_UNSPECIFIED);
      row.name = absl::StrCat("(function ", iid, " is not defined)");
    } else {
      row.domain = ApiDomainWord(static_cast<uint64_t>(function->second.domain()));
      row.name = function->second.name().empty() ? absl::StrCat("(callback id ", function->second.cbid(), ")")
                                                 : Printable(function->second.name());
    }
    row.call_count = use.call_count;
    row.failed_count = use.failed_count;
    row.total_ns = use.total_ns;
    row.max_ns = use.max_ns;
    rows.push_back(std::move(row));
  }
  // Equal traces give equal reports.
  std::sort(rows.begin(), rows.end(), [](const ApiUseRow& a, const ApiUseRow& b) {
    return std::tie(b.total_ns, a.domain, a.name, b.call_count) < std::tie(a.total_ns, b.domain, b.name, a.call_count);
  });
  return rows;
}

}  // namespace gx::analysis
