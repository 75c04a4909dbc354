// Traces of a run by their names, where no log says which they are (GPUEXEC_LOG=stderr). Reads the file system.
#ifndef GPUEXEC_TOOLS_RUN_TRACE_SEARCH_H_
#define GPUEXEC_TOOLS_RUN_TRACE_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gx::tools {

struct NamePattern {
  std::string folder;
  std::string prefix;
  std::string suffix;
};

// How the names of traces of an output pattern (GPUEXEC_OUTPUT) begin and end, a pid in them or not:
// "/x/run.%p.pb" -> "/x", "run.", ".pb". In a folder with a variable part nothing is found. Pure.
NamePattern TraceNames(absl::string_view output);

// Files of such names that were written to after `since_ns` (time of day), sorted.
std::vector<std::string> FindTraces(const NamePattern& names, int64_t since_ns);

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_RUN_TRACE_SEARCH_H_
