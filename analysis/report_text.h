// Report -> text for a terminal: losses and odd records, provenance, the run, the counters, the kernels.
// Formatting only; pure.
#ifndef GPUEXEC_ANALYSIS_REPORT_TEXT_H_
#define GPUEXEC_ANALYSIS_REPORT_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report.h"

namespace gx::analysis {

struct TextStyle {
  // ANSI colours.
  bool colour = false;
  // Full names, all settings, bookkeeping counters.
  bool wide = false;
  // The table of kernels is made to fit: columns are left out (and named below it), names are cut. 0: no limit.
  size_t max_table_columns = 0;
  // What is shown, in the report's own order. Empty: all, with counters as a paragraph; tables of them only where they
  // are named. Calls of the runtime and driver only where they were recorded, or are named. Losses of data are shown in
  // any case.
  std::vector<Section> sections = {};
};

std::string ReportText(const Report& report, const TextStyle& style);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_TEXT_H_
