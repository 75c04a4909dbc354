// What the injection library wrote to its log (GPUEXEC_LOG, inject/log.h) -> which processes it ran in, where their
// traces are, what it complained of. The log is the one list of the processes of a run that is exact: the library adds
// a line in each before the program goes on. Pure.
#ifndef GPUEXEC_TOOLS_RUN_LIBRARY_LOG_H_
#define GPUEXEC_TOOLS_RUN_LIBRARY_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gx::tools {

struct LoggedProcess {
  // As the process sees itself.
  int64_t pid = 0;
  // It began to record.
  bool records = false;
  // Why it does not; empty where it does.
  std::string reason;
  // Its traces in the order of their opening: one, as a rule.
  std::vector<std::string> traces;
  // Other lines, each once, without control bytes; the first kMaxNotes.
  std::vector<std::string> notes;
};

inline constexpr size_t kMaxNotes = 20;
// Of the end of a log, where it is longer: a process writes a few lines.
inline constexpr size_t kMaxLogBytes = size_t{16} << 20;

// In the order of their first lines. Lines of another form are left out.
std::vector<LoggedProcess> ReadLibraryLog(absl::string_view text);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_LIBRARY_LOG_H_
