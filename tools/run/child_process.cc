#include "tools/run/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tools/support/high_pipe.h"

namespace gx::tools {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Started StartProgram(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                     const std::function<void()>& in_child) {
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  const HighPipe pipe = MakeHighPipe();
  if (pipe.read_end < 0) return {.error = errno, .no_process = true};
  const pid_t child = ::fork();
  if (child == 0) {
    in_child();
    ::execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t ignored = ::write(pipe.write_end, &error, sizeof(error));
    ::_exit(127);
  }
  const int fork_error = errno;
  ::close(pipe.write_end);
  if (child < 0) {
    ::close(pipe.read_end);
    return {.error = fork_error, .no_process = true};
  }
  // The program's exec closes the pipe.
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(pipe.read_end, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  ::close(pipe.read_end);
  if (got != sizeof(error)) return {.pid = child};
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {.error = error};
}

bool HasEnded(pid_t child, int* status) {
  pid_t got = 0;
  do {
    got = ::waitpid(child, status, WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got < 0) *status = 0;
  return got != 0;
}

}  // namespace gx::tools
