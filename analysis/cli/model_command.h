// gx-model but for main: options -> report on stdout or in a file, errors on stderr, exit code. One thread.
#ifndef GPUEXEC_ANALYSIS_CLI_MODEL_COMMAND_H_
#define GPUEXEC_ANALYSIS_CLI_MODEL_COMMAND_H_

#include <string>
#include <vector>

namespace gx::analysis {

inline constexpr int kModelReport = 0;
inline constexpr int kModelMismatch = 1;
inline constexpr int kModelUnusable = 2;

// `arguments`: without the program's name.
int RunModel(const std::vector<std::string>& arguments);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_MODEL_COMMAND_H_
