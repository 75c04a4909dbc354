// Report -> text for a terminal: losses and odd records, provenance, the run, the kernels. Formatting only; pure.
#ifndef GPUEXEC_ANALYSIS_REPORT_TEXT_H_
#define GPUEXEC_ANALYSIS_REPORT_TEXT_H_

#include <string>

#include "analysis/report.h"

namespace gx::analysis {

struct TextStyle {
  // ANSI colours.
  bool colour = false;
  // Full names, all settings, bookkeeping counters.
  bool wide = false;
};

std::string ReportText(const Report& report, const TextStyle& style);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_TEXT_H_
