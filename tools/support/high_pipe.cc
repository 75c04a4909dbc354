#include "tools/support/high_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace gx::tools {
namespace {

// The same file at a number above those of the standard ones. -1: no number is left.
int MoveHigh(int descriptor) {
  if (descriptor > STDERR_FILENO) return descriptor;
  const int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return high;
}

}  // namespace

HighPipe MakeHighPipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const HighPipe pipe = {.read_end = MoveHigh(ends[0]), .write_end = MoveHigh(ends[1])};
  if (pipe.read_end >= 0 && pipe.write_end >= 0) return pipe;
  const int error = errno;
  if (pipe.read_end >= 0) ::close(pipe.read_end);
  if (pipe.write_end >= 0) ::close(pipe.write_end);
  errno = error;
  return {};
}

}  // namespace gx::tools
