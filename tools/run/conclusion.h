// What is known after a run -> what was recorded, and why something was not. Pure.
#ifndef GPUEXEC_TOOLS_RUN_CONCLUSION_H_
#define GPUEXEC_TOOLS_RUN_CONCLUSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/run/library_log.h"
#include "tools/run/process_watch.h"
#include "tools/run/program_file.h"

namespace gx::tools {

// A trace that a process of the run says it writes, or that looks like one of this run.
struct RunTrace {
  std::string path;
  // Nothing: there is no such file any more.
  std::optional<uint64_t> size_bytes;
  // 0: found by its name; nobody said whose it is.
  int64_t pid = 0;
};

struct RunEvidence {
  // Path of the injection library, and why it cannot be loaded (--anyway); empty: it can.
  std::string library;
  std::string load_problem;
  // GPUEXEC_ENABLE=0.
  bool switched_off = false;
  // The library's log is at hand; without it nobody says which processes recorded.
  bool has_log = true;
  std::vector<LoggedProcess> logged;
  std::vector<SeenProcess> seen;
  int64_t process_count = 0;
  int64_t look_count = 0;
  int64_t run_ms = 0;
  ProgramFile program;
  // The program's process, and a name for it where it ended before it was seen.
  int64_t program_pid = 0;
  std::string program_name;
  std::vector<RunTrace> traces;
};

struct Conclusion {
  // The library ran in a process that used CUDA, recorded and left a trace.
  bool is_proven = false;
  // Traces of such processes, each path once, the largest first.
  std::vector<RunTrace> traces;
  // A line for each of them.
  std::vector<std::string> recorded;
  // What went wrong or is missing, and what to do; a line each, without control bytes.
  std::vector<std::string> problems;
  // What else the library said, likewise.
  std::vector<std::string> notes;
};

Conclusion Conclude(const RunEvidence& evidence);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_CONCLUSION_H_
