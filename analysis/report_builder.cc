#include "analysis/report_builder.h"

#include <utility>

#include "analysis/printable.h"
#include "analysis/report_sections.h"

namespace gx::analysis {

CellDimensions DimensionsFor(const ReportRequest& request) {
  const Grouping& by = request.grouping;
  CellDimensions dimensions;
  // By device alone, too: a device is told by the signature where the stream is not known.
  dimensions.signature = by.signature || by.name || by.device || !request.filter.matches_all();
  dimensions.track = by.stream;
  dimensions.nvtx = by.nvtx;
  return dimensions;
}

Report BuildReport(std::span<const TraceModel> models, const ReportRequest& request) {
  Report report;
  report.grouping = request.grouping;
  report.sort = request.sort;
  report.row_limit = request.top;
  report.filter = Printable(request.filter.expression());
  for (size_t i = 0; i < models.size(); ++i) {
    const TraceModel& model = models[i];
    ProcessSection section;
    section.path = Printable(model.path);
    section.size_bytes = model.size_bytes;
    section.frame_count = model.frame_count;
    section.run = BuildRun(model);
    BuildFindings(model, &section);
    section.accounting = BuildAccounting(model);
    section.provenance = BuildProvenance(model);
    section.devices = BuildDevices(model, section.run);
    AddMachineUses(model, i, request, &section);
    section.explanation = ExplainRun(model, i, request, section);
    section.api_uses = BuildApiUses(model);
    report.data_lost |= section.data_lost;
    report.processes.push_back(std::move(section));
    AddKernels(model, i, request, &report);
    AddCounters(model, i, request, &report);
    if (request.ladder_machines.has_value()) report.ladders.push_back(BuildLadders(model, i, request));
  }
  LabelProcesses(&report.processes);
  SortKernels(request.sort, &report.kernels);
  report.kernel_groups_matched = report.kernels.size();
  if (request.top > 0 && report.kernels.size() > request.top) report.kernels.resize(request.top);
  // Rows stay where they are from here on.
  if (request.grouping == Grouping{}) AddRooflines(request, &report);
  return report;
}

}  // namespace gx::analysis
