// Report -> JSON (RFC 8259), one object; documented by its keys, which carry their units. Numbers above 2^53 are
// written as numbers all the same. Unknown values are null. Formatting only; pure.
#ifndef GPUEXEC_ANALYSIS_REPORT_JSON_H_
#define GPUEXEC_ANALYSIS_REPORT_JSON_H_

#include <string>

#include "analysis/report.h"

namespace gx::analysis {

std::string ReportJson(const Report& report);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_JSON_H_
