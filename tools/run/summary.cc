#include "tools/run/summary.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "analysis/printable.h"
#include "tools/run/child_process.h"
#include "tools/run/clock.h"

namespace gx::tools {
namespace {

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

// In the child: the report goes where gx-run speaks.
void PointOutputAtStandardError() {
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

}  // namespace

std::vector<std::string> SummaryCommand(const std::string& analyzer, const std::vector<RunTrace>& traces) {
  std::vector<std::string> command = {analyzer, "--no-report", "--section", "run,kernels", "--top", "10", "--"};
  for (const RunTrace& trace : traces) {
    if (command.size() == 7 + kMaxSummarised) break;
    command.push_back(trace.path);
  }
  return command;
}

std::string ShowSummary(const std::vector<std::string>& command, const SignalGate& gate, int64_t timeout_ms) {
  const Started started = StartProgram(command, OwnEnvironment(), [&gate] {
    gate.RestoreInChild();
    PointOutputAtStandardError();
  });
  if (started.pid < 0) {
    return absl::StrCat("no summary: ", analysis::Printable(command[0]), ": ", std::strerror(started.error));
  }
  const int64_t deadline_ms = NowMs() + timeout_ms;
  std::string problem;
  int status = 0;
  while (!HasEnded(started.pid, &status)) {
    const int64_t left_ms = deadline_ms - NowMs();
    const std::optional<siginfo_t> signal = left_ms > 0 ? gate.Wait(left_ms) : std::nullopt;
    const bool is_interrupt = signal && signal->si_signo != SIGCHLD;
    if (left_ms > 0 && !is_interrupt) continue;
    problem = is_interrupt ? "the summary was interrupted"
                           : absl::StrCat("the summary took longer than ", timeout_ms / 1000, " s and was left out");
    ::kill(started.pid, SIGKILL);
    while (::waitpid(started.pid, &status, 0) < 0 && errno == EINTR) {
    }
    break;
  }
  if (problem.empty() && WIFSIGNALED(status)) problem = absl::StrCat("the summary ended by signal ", WTERMSIG(status));
  return problem;
}

}  // namespace gx::tools
