// What is asked of a terminal. Stateless; any thread.
#ifndef GPUEXEC_ANALYSIS_CLI_TERMINAL_H_
#define GPUEXEC_ANALYSIS_CLI_TERMINAL_H_

#include <cstddef>

namespace gx::analysis {

bool IsTerminal(int descriptor);
// Its window's columns; 80 where it does not say.
size_t TerminalColumns(int descriptor);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_CLI_TERMINAL_H_
