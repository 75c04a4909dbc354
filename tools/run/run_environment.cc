#include "tools/run/run_environment.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/printable.h"

namespace gx::tools {
namespace {

using analysis::Printable;

constexpr char kCudaInjection[] = "CUDA_INJECTION64_PATH";
constexpr char kNvtxInjection[] = "NVTX_INJECTION64_PATH";
// As the library has it (inject/config.h).
constexpr char kDefaultOutput[] = "trace.pb";

void Set(absl::string_view name, absl::string_view value, std::vector<std::string>* variables) {
  const std::string prefix = absl::StrCat(name, "=");
  const auto is_old = [&](const std::string& variable) { return absl::StartsWith(variable, prefix); };
  variables->erase(std::remove_if(variables->begin(), variables->end(), is_old), variables->end());
  variables->push_back(absl::StrCat(prefix, value));
}

std::string ValueOf(const std::vector<std::string>& variables, absl::string_view name) {
  return std::string(FindVariable(variables, name).value_or(""));
}

// A path of a file that lies in `folder`, where it is relative.
std::string Absolute(const std::string& path, const std::string& folder) {
  return path.empty() || path.front() == '/' || folder.empty() ? path : absl::StrCat(folder, "/", path);
}

}  // namespace

std::optional<absl::string_view> FindVariable(const std::vector<std::string>& variables, absl::string_view name) {
  for (const absl::string_view variable : variables) {
    if (variable.size() > name.size() && variable[name.size()] == '=' && absl::StartsWith(variable, name)) {
      return variable.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

absl::StatusOr<RunEnvironment> PlanRunEnvironment(const RunOptions& options, const EnvironmentInput& input) {
  RunEnvironment plan;
  plan.variables = input.variables;
  const std::string injected = ValueOf(input.variables, kCudaInjection);
  const bool is_other = !injected.empty() && !input.is_same_file(injected, input.library);
  if (is_other && !options.replace_injection) {
    return absl::FailedPreconditionError(
        absl::StrCat(kCudaInjection, " names another library, ", Printable(injected),
                     ", and the driver loads one alone: run without the profiler that set it, unset the variable, or "
                     "give --replace-injection"));
  }
  if (is_other) {
    plan.notes.push_back(absl::StrCat(kCudaInjection, " named ", Printable(injected),
                                      ", which is not loaded in this run (--replace-injection)"));
  }
  Set(kCudaInjection, input.library, &plan.variables);

  const std::string nvtx = ValueOf(input.variables, kNvtxInjection);
  if (nvtx.empty()) {
    Set(kNvtxInjection, input.library, &plan.variables);
  } else if (!input.is_same_file(nvtx, input.library)) {
    plan.notes.push_back(
        absl::StrCat(kNvtxInjection, " names ", Printable(nvtx),
                     " and is kept: NVTX ranges go there, and are not in the trace; unset it to record "
                     "them"));
  }

  for (const auto& [name, value] : options.settings) Set(name, value, &plan.variables);
  // Processes of the run may change their working directory before they start CUDA.
  plan.output = ValueOf(plan.variables, "GPUEXEC_OUTPUT");
  if (plan.output.empty()) plan.output = kDefaultOutput;
  plan.output = Absolute(plan.output, absl::StrReplaceAll(input.folder, {{"%", "%%"}}));
  Set("GPUEXEC_OUTPUT", plan.output, &plan.variables);

  const std::string log = ValueOf(input.variables, "GPUEXEC_LOG");
  if (log.empty()) {
    plan.log = input.log;
    if (!input.log.empty()) Set("GPUEXEC_LOG", input.log, &plan.variables);
  } else if (log != "stderr") {
    plan.log = Absolute(log, input.folder);
    Set("GPUEXEC_LOG", plan.log, &plan.variables);
  }

  const std::string enable = ValueOf(plan.variables, "GPUEXEC_ENABLE");
  plan.switched_off = enable == "0" || enable == "off";
  return plan;
}

}  // namespace gx::tools
