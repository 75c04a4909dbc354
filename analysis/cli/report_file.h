// The report beside a trace: what it is called, and how it takes the place of an older one. Any thread.
#ifndef GPUEXEC_ANALYSIS_CLI_REPORT_FILE_H_
#define GPUEXEC_ANALYSIS_CLI_REPORT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gpuexec/v1/report.pb.h"

namespace gx::analysis {

// "run/trace.pb" -> "run/trace.report.pb"; a name without ".pb" keeps all of it. Pure.
std::string ReportPathBeside(absl::string_view trace_path);

// Begins as a report does. False where it cannot be read.
bool IsReportFile(const std::string& path);

// Whole or not at all: into a file of another name in the same folder first. Mode 0600, as a trace: it holds the same
// names and command line. Only a report, an empty file or nothing is replaced, so that a trace never is; what is no
// regular file (a pipe, a device) is written to. Errors name the file and what to do.
absl::Status WriteReportFile(const std::string& path, const gpuexec::v1::Report& report);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_REPORT_FILE_H_
