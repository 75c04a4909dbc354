// TraceModels -> Report. All figures of the report are computed here. Pure; one thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_BUILDER_H_
#define GPUEXEC_ANALYSIS_REPORT_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/name_filter.h"
#include "analysis/report.h"
#include "analysis/trace_model.h"

namespace gx::analysis {

struct ReportRequest {
  Grouping grouping;
  SortKey sort = SortKey::kTotal;
  // 0: all.
  size_t top = 0;
  // Over the full demangled name, as it is printed with --wide.
  NameFilter filter;
};

// What the import must keep apart for such a report.
CellDimensions DimensionsFor(const ReportRequest& request);

// The models are in the order of the report.
Report BuildReport(std::span<const TraceModel> models, const ReportRequest& request);

// Bookkeeping and losses of one trace, most severe first (report section 1).
void BuildFindings(const TraceModel& model, ProcessSection* section);

// Kernels whose record disagrees with their launch's signature; appends up to `max_examples` descriptions.
uint64_t CountSignatureDisagreements(const TraceModel& model, size_t max_examples, std::vector<std::string>* examples);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_BUILDER_H_
