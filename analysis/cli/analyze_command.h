// gx-analyze but for main: options -> report on stdout or in files, errors on stderr, exit code. One thread.
#ifndef GPUEXEC_ANALYSIS_CLI_ANALYZE_COMMAND_H_
#define GPUEXEC_ANALYSIS_CLI_ANALYZE_COMMAND_H_

#include <string>
#include <vector>

namespace gx::analysis {

inline constexpr int kExitReport = 0;
inline constexpr int kExitDataLost = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreadable = 3;

// `arguments`: without the program's name.
int RunAnalyze(const std::vector<std::string>& arguments);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_ANALYZE_COMMAND_H_
