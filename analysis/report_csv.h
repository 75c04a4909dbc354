// The kernels of a Report, or its hardware counters, or their samples -> CSV (RFC 4180, a header line, "." as decimal
// point, times in nanoseconds). Losses and provenance are in the other forms; the exit code tells of losses. Formatting
// only; pure.
#ifndef GPUEXEC_ANALYSIS_REPORT_CSV_H_
#define GPUEXEC_ANALYSIS_REPORT_CSV_H_

#include <string>

#include "analysis/report.h"

namespace gx::analysis {

std::string ReportCsv(const Report& report);

// The hardware counters: a line for each signature (or graph), group and metric. A value that is unavailable is empty.
std::string ReportCountersCsv(const Report& report);

// Calls of the CUDA runtime and driver: a line for each process and function.
std::string ReportApiCsv(const Report& report);

// The samples that these rest on, void ones too: a line for each sample and metric.
std::string ReportSamplesCsv(const Report& report);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_CSV_H_
