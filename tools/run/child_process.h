// Starts a program. One thread.
#ifndef GPUEXEC_TOOLS_RUN_CHILD_PROCESS_H_
#define GPUEXEC_TOOLS_RUN_CHILD_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace gx::tools {

struct Started {
  // -1: not started, and nothing is left to wait for.
  pid_t pid = -1;
  // errno of what failed.
  int error = 0;
  // It is fork that failed (or its pipe), not the program that cannot be run.
  bool no_process = false;
};

// Finds the program as execvp does. `in_child`: before the program takes over; async-signal-safe.
Started StartProgram(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                     const std::function<void()>& in_child);

// Whether the child has ended; `status` is waitpid's then. An error of waitpid counts as an end with `status` 0.
bool HasEnded(pid_t child, int* status);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_CHILD_PROCESS_H_
