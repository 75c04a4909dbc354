// Runs a program and gathers what a user would see of it. Used by one thread at a time.
//
//   CommandResult result = RunCommand({GX_DUMP, "--stats", path});
//   EXPECT_EQ(result.exit_code, 0) << result.err;
#ifndef GPUEXEC_TESTS_SUPPORT_RUN_COMMAND_H_
#define GPUEXEC_TESTS_SUPPORT_RUN_COMMAND_H_

#include <cstdint>
#include <string>
#include <vector>

namespace gx::testing {

struct CommandResult {
  // -1 where a signal ended it (then `signal` says which) or it could not be started.
  int exit_code = -1;
  int signal = 0;
  std::string out;
  std::string err;
  // Largest resident set, kilobytes of 1024 bytes (as getrusage says it).
  int64_t max_resident_kib = 0;
};

// `arguments[0]` is the program's path. stdin is /dev/null.
CommandResult RunCommand(const std::vector<std::string>& arguments);

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_RUN_COMMAND_H_
