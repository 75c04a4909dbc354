// Where a command's text goes: standard output or a file, errors to standard error. Stateless; any thread.
#ifndef GPUEXEC_ANALYSIS_CLI_OUTPUT_H_
#define GPUEXEC_ANALYSIS_CLI_OUTPUT_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gx::analysis {

// "COMMAND: text" on standard error.
void Complain(absl::string_view command, absl::string_view text);

// To the file, or to standard output where `path` is empty. The error names the file. A file that is not there yet is
// of mode 0600, as a trace is, where no other is given: the text may hold its names and command line.
absl::Status WriteOutput(const std::string& path, absl::string_view text, mode_t mode = 0600);

// To a descriptor, which stays open. The error is the system's word alone.
absl::Status WriteAll(int descriptor, absl::string_view text);

// A file named on the command line: "--output", "run.txt".
struct NamedFile {
  std::string option;
  std::string path;
};

// OK: no output is the same file as an input or another output, by whatever name. What is no regular file (a pipe, a
// device) may be named twice. InvalidArgument names both.
absl::Status CheckOutputs(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

// Text goes to a terminal, and NO_COLOR is not set.
bool ColourWanted(const std::string& path);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_OUTPUT_H_
