// A pipe whose ends are no standard input, output or error, also where those are closed: a child that replaces them
// keeps the pipe. Any thread.
#ifndef GPUEXEC_TOOLS_SUPPORT_HIGH_PIPE_H_
#define GPUEXEC_TOOLS_SUPPORT_HIGH_PIPE_H_

namespace gx::tools {

struct HighPipe {
  int read_end = -1;
  int write_end = -1;
};

// Both are closed at exec. -1 for both where there is none; errno then says why.
HighPipe MakeHighPipe();

}  // namespace gx::tools

#endif  // GPUEXEC_TOOLS_SUPPORT_HIGH_PIPE_H_
