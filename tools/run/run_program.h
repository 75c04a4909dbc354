// gx-run but for main: runs a program under gpuexec and says what came of it. One in a process, on its only thread.
#ifndef GPUEXEC_TOOLS_RUN_RUN_PROGRAM_H_
#define GPUEXEC_TOOLS_RUN_RUN_PROGRAM_H_

#include <string>
#include <vector>

namespace gx::tools {

// As env(1), nice(1) and timeout(1) have them.
inline constexpr int kExitRunFailed = 125;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNoProgram = 127;

struct RunEnd {
  int exit_code = 0;
  // The signal that ended the program; 0: none did.
  int signal = 0;
};

// `arguments`: without gx-run's own name; `environment`: NAME=VALUE.
RunEnd RunProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_RUN_PROGRAM_H_
