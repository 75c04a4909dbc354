// Report -> gpuexec.v1.Report, the form that is written beside a trace and printed as JSON. report.proto says what each
// field means. Computes nothing but shares of sections. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_PROTO_H_
#define GPUEXEC_ANALYSIS_REPORT_PROTO_H_

#include <cstddef>

#include "analysis/report.h"
#include "gpuexec/v1/report.pb.h"

namespace gx::analysis {

// Report.format: the first bytes of a report, behind two of its tag and length.
inline constexpr char kReportFormat[] = "gpuexec.v1.Report";
inline constexpr uint32_t kReportFormatVersion = 1;

// The heaviest signatures, and the first samples of a group; a trace of any length makes a report of bounded size.
inline constexpr size_t kMaxReportSignatures = 4096;
inline constexpr size_t kMaxReportGroups = 4096;
inline constexpr size_t kMaxReportSamples = 64;
inline constexpr size_t kMaxReportGraphs = 256;
inline constexpr size_t kMaxReportGraphKernels = 256;
// Clocks of windows, and denials, of a process.
inline constexpr size_t kMaxReportWindows = 4096;
inline constexpr size_t kMaxReportDenials = 4096;
// Characters; longer names are cut and marked with "...". PyTorch has names of 5,114.
inline constexpr size_t kMaxReportNameLength = 32768;

// `by_signature`: Grouping{.signature = true} alone. `grouped`: the same traces in another grouping; null: none.
gpuexec::v1::Report ReportMessage(const Report& by_signature, const Report* grouped);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_PROTO_H_
