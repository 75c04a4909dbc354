// What files of /proc say about one process. Pure but for ReadProcess; any thread.
#ifndef GPUEXEC_TOOLS_RUN_PROCESS_FACTS_H_
#define GPUEXEC_TOOLS_RUN_PROCESS_FACTS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gx::tools {

// Of /proc/PID/stat.
struct ProcessStat {
  pid_t parent = 0;
  // Ticks since the machine's start: tells two processes with one number apart.
  uint64_t start_ticks = 0;
  // Ended, not waited for.
  bool is_zombie = false;
  std::string name;
};

// Nothing: text of another form.
std::optional<ProcessStat> ParseProcessStat(absl::string_view text);

// Of /proc/PID/maps.
struct ProcessMaps {
  // The driver's library; empty: not loaded.
  std::string libcuda;
  // A file of the injection library's name.
  bool has_library = false;
  // A GPU's device file: CUDA was initialised.
  bool has_device = false;
};

ProcessMaps ParseProcessMaps(absl::string_view text);

// Value of a variable in /proc/PID/environ: as it was when the process's program began.
std::optional<std::string> FindInEnvironment(absl::string_view environment, absl::string_view name);

// A file of /proc, at most `limit` bytes of it. Nothing: it could not be read.
std::optional<std::string> ReadProcFile(pid_t pid, const char* name, size_t limit);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_PROCESS_FACTS_H_
