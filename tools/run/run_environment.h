// The environment of a program under gx-run: the one gx-run was given, plus what gpuexec needs. Pure.
#ifndef GPUEXEC_TOOLS_RUN_RUN_ENVIRONMENT_H_
#define GPUEXEC_TOOLS_RUN_RUN_ENVIRONMENT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/run/run_options.h"

namespace gx::tools {

struct RunEnvironment {
  // NAME=VALUE, for exec.
  std::vector<std::string> variables;
  // GPUEXEC_OUTPUT: an absolute pattern.
  std::string output;
  // The file in which the library says what it does; "": it was told to say it elsewhere (GPUEXEC_LOG=stderr).
  std::string log;
  // GPUEXEC_ENABLE=0.
  bool switched_off = false;
  // One sentence each: what a user may not expect.
  std::vector<std::string> notes;
};

struct EnvironmentInput {
  // As gx-run was given it.
  std::vector<std::string> variables;
  // Absolute path of the injection library.
  std::string library;
  // Working directory; "": unknown.
  std::string folder;
  // A file of gx-run's own for the library's log.
  std::string log;
  // Whether two paths name one file.
  std::function<bool(const std::string&, const std::string&)> is_same_file;
};

// FailedPrecondition: another library is injected already, and the options do not say that it has to give way.
absl::StatusOr<RunEnvironment> PlanRunEnvironment(const RunOptions& options, const EnvironmentInput& input);

// The value of a variable among NAME=VALUE strings; the first one, as getenv has it.
std::optional<absl::string_view> FindVariable(const std::vector<std::string>& variables, absl::string_view name);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_RUN_ENVIRONMENT_H_
