// Runs the fake host program in an environment that holds what the test says and nothing else, with the fakes in place
// of the machine's driver; and reads the ground truth that they leave behind. For tests.
//
//   HostRun run({"launch", "n=100"}, {{"CUDA_INJECTION64_PATH", path}}, folder);
//   EXPECT_EQ(run.result.exit_code, 0);
//   EXPECT_EQ(run.log.Of("kernel").size(), 100);
#ifndef GPUEXEC_TESTS_FAKES_RUN_HOST_H_
#define GPUEXEC_TESTS_FAKES_RUN_HOST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/run_command.h"

namespace gx::fakes {

// AddressSanitizer's own lock may be held by another thread (that loads a library) when a host forks; the child then
// waits for it in exit() for ever. So children leave by exit() in other builds only.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kForkedChildMayExit = false;
#else
inline constexpr bool kForkedChildMayExit = true;
#endif

// One line of the fakes' log (fake_log.h).
struct LogEntry {
  std::string kind;
  std::map<std::string, std::string> values;

  // "" and 0 where the line has no such value.
  std::string Text(const std::string& key) const;
  uint64_t Number(const std::string& key) const;
};

struct FakeLog {
  std::vector<LogEntry> entries;

  // Lines of one kind, in order.
  std::vector<LogEntry> Of(const std::string& kind) const;
  // Those of them where `key` has that value.
  std::vector<LogEntry> Of(const std::string& kind, const std::string& key, const std::string& value) const;
};

// No such file: an empty log.
FakeLog ReadFakeLog(const std::string& path);

using Environment = std::map<std::string, std::string>;

// The environment of a host under the fakes, with `more` on top: LD_LIBRARY_PATH, FAKE_GPU_LOG in `folder`, and the
// sanitizers' settings of this process.
Environment HostEnvironment(const std::string& folder, const Environment& more);

// The command line that runs the fake host, for RunCommand or for a shell.
std::vector<std::string> HostCommand(const std::vector<std::string>& arguments, const Environment& environment);

struct HostRun {
  HostRun(const std::vector<std::string>& arguments, const Environment& environment, const std::string& folder);

  testing::CommandResult result;
  FakeLog log;
};

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_RUN_HOST_H_
