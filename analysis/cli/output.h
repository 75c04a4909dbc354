// Where a command's text goes: standard output or a file, errors to standard error. Stateless; any thread.
#ifndef GPUEXEC_ANALYSIS_CLI_OUTPUT_H_
#define GPUEXEC_ANALYSIS_CLI_OUTPUT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gx::analysis {

// "COMMAND: text" on standard error.
void Complain(absl::string_view command, absl::string_view text);

// To the file, or to standard output where `path` is empty. The error names the file.
absl::Status WriteOutput(const std::string& path, absl::string_view text);

// Text goes to a terminal, and NO_COLOR is not set.
bool ColourWanted(const std::string& path);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_OUTPUT_H_
