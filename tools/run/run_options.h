// gx-run's command line -> options. Pure (getopt_long's own state is reset for each call); one thread.
#ifndef GPUEXEC_TOOLS_RUN_RUN_OPTIONS_H_
#define GPUEXEC_TOOLS_RUN_RUN_OPTIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace gx::tools {

struct RunOptions {
  bool help = false;
  bool version = false;
  // Neither list nor summary where all is well.
  bool quiet = false;
  // Another library in CUDA_INJECTION64_PATH gives way.
  bool replace_injection = false;
  // The program runs even where the library cannot be loaded.
  bool anyway = false;
  // GPUEXEC_ variables that options set, with their values as the library takes them, in the order of the command line.
  std::vector<std::pair<std::string, std::string>> settings;
  // The program and its arguments.
  std::vector<std::string> command;
};

// `arguments`: without gx-run's own name. InvalidArgument: one line that says what is wrong.
absl::StatusOr<RunOptions> ParseRunOptions(const std::vector<std::string>& arguments);

// What --help prints.
std::string RunHelp();

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_RUN_OPTIONS_H_
