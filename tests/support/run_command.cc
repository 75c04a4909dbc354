#include "tests/support/run_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace gx::testing {
namespace {

// Reads what there is; false at the end.
bool Drain(int descriptor, std::string* text) {
  std::array<char, 65536> chunk;
  const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
  if (got < 0) return errno == EINTR;
  text->append(chunk.data(), static_cast<size_t>(got));
  return got > 0;
}

}  // namespace

CommandResult RunCommand(const std::vector<std::string>& arguments) {
  CommandResult result;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::array<int, 2> out = {-1, -1};
  std::array<int, 2> err = {-1, -1};
  if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe";
    return result;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  std::array<pollfd, 2> polled = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  while (child > 0 && (polled[0].fd >= 0 || polled[1].fd >= 0)) {
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[0].revents != 0 && !Drain(out[0], &result.out)) polled[0].fd = -1;
    if (polled[1].revents != 0 && !Drain(err[0], &result.err)) polled[1].fd = -1;
  }
  ::close(out[0]);
  ::close(err[0]);
  if (child < 0) {
    ADD_FAILURE() << "no process";
    return result;
  }
  int status = 0;
  struct rusage usage = {};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.max_resident_kib = usage.ru_maxrss;
  return result;
}

}  // namespace gx::testing
