// TraceModels -> Report. All figures of the report are computed here. Pure; one thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_BUILDER_H_
#define GPUEXEC_ANALYSIS_REPORT_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "analysis/machine_file.h"
#include "analysis/manifest_bound.h"
#include "analysis/name_filter.h"
#include "analysis/report.h"
#include "analysis/trace_model.h"

namespace gx::analysis {

// Machine files by number of the trace and device: what was found, and why no more.
using MachinesOfDevices = std::map<std::pair<size_t, uint64_t>, FoundMachine>;

struct ReportRequest {
  Grouping grouping;
  SortKey sort = SortKey::kTotal;
  // 0: all.
  size_t top = 0;
  // Over the full demangled name, as it is printed with --wide.
  NameFilter filter;
  // Ladders of these alone, by number of the trace and index in TraceModel::signatures; absent: of all.
  std::optional<std::set<std::pair<size_t, uint32_t>>> ladders_of;
  // R0 of the ladders that a manifest is of.
  ManifestBounds manifest_bounds;
  // Absent: no ladder. A device that is not in it has no machine file.
  std::optional<MachinesOfDevices> ladder_machines;
};

// What the import must keep apart for such a report.
CellDimensions DimensionsFor(const ReportRequest& request);

// The models are in the order of the report.
Report BuildReport(std::span<const TraceModel> models, const ReportRequest& request);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_BUILDER_H_
