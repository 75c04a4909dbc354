// Report -> text for a terminal: losses and odd records, provenance, the run, the kernels. Formatting only; pure.
#ifndef GPUEXEC_ANALYSIS_REPORT_TEXT_H_
#define GPUEXEC_ANALYSIS_REPORT_TEXT_H_

#include <cstddef>
#include <string>

#include "analysis/report.h"

namespace gx::analysis {

struct TextStyle {
  // ANSI colours.
  bool colour = false;
  // Full names, all settings, bookkeeping counters.
  bool wide = false;
  // The table of kernels is made to fit: columns are left out (and named below it), names are cut. 0: no limit.
  size_t max_table_columns = 0;
};

std::string ReportText(const Report& report, const TextStyle& style);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_TEXT_H_
