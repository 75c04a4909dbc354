#include "tools/doctor/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gx::doctor {
namespace {

using Clock = std::chrono::steady_clock;

// A process that is killed is gone at once, unless the system holds it.
constexpr auto kKillWait = std::chrono::seconds(1);
constexpr auto kPollPeriod = std::chrono::milliseconds(20);
// What a program's own children may hold open is read for so long after its end.
constexpr auto kDrainWait = std::chrono::milliseconds(200);
// Exit codes of a child that could not become the program: errno follows on its standard error.
constexpr int kCannotRun = 127;

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  bool Open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    (void)::fcntl(read_end, F_SETFL, O_NONBLOCK);
    return true;
  }
  static void Close(int* end) {
    if (*end >= 0) ::close(*end);
    *end = -1;
  }
  ~Pipe() {
    Close(&read_end);
    Close(&write_end);
  }
};

// Reads what is there. False: the end, or an error.
bool ReadSome(int descriptor, std::string* text) {
  char chunk[4096];
  while (true) {
    const ssize_t length = ::read(descriptor, chunk, sizeof(chunk));
    if (length < 0) return errno == EAGAIN || errno == EINTR;
    if (length == 0) return false;
    const size_t room = ChildResult::kMaxOutputBytes - std::min(text->size(), ChildResult::kMaxOutputBytes);
    text->append(chunk, std::min(room, static_cast<size_t>(length)));
  }
}

void BecomeChild(pid_t parent) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotRun);
  const rlimit no_core = {0, 0};
  (void)::setrlimit(RLIMIT_CORE, &no_core);
  const int nowhere = ::open("/dev/null", O_RDWR);
  if (nowhere >= 0) {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)::dup2(nowhere, descriptor);
    if (nowhere > STDERR_FILENO) ::close(nowhere);
  }
}

// Waits for the end of `child`, reading both pipes.
void Follow(pid_t child, Clock::time_point deadline, Pipe* out, Pipe* err, ChildResult* result) {
  Pipe::Close(&out->write_end);
  Pipe::Close(&err->write_end);
  bool killed = false;
  bool ended = false;
  Clock::time_point until = deadline;
  while (true) {
    std::array<pollfd, 2> waits = {pollfd{out->read_end, POLLIN, 0}, pollfd{err->read_end, POLLIN, 0}};
    // A descriptor of -1 is left out.
    (void)::poll(waits.data(), waits.size(), static_cast<int>(kPollPeriod.count()));
    if (out->read_end < 0 && err->read_end < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (out->read_end >= 0 && !ReadSome(out->read_end, &result->out)) Pipe::Close(&out->read_end);
    if (err->read_end >= 0 && !ReadSome(err->read_end, &result->err)) Pipe::Close(&err->read_end);
    int status = 0;
    if (!ended && ::waitpid(child, &status, WNOHANG) == child) {
      ended = true;
      if (!killed) {
        result->end = WIFSIGNALED(status) ? ChildEnd::kSignalled : ChildEnd::kExited;
        result->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
      }
      until = std::min(until, Clock::now() + kDrainWait);
    }
    if (ended && out->read_end < 0 && err->read_end < 0) break;
    if (Clock::now() < until) continue;
    if (ended || killed) break;
    killed = true;
    result->end = ChildEnd::kTimedOut;
    (void)::kill(-child, SIGKILL);
    (void)::kill(child, SIGKILL);
    until = Clock::now() + kKillWait;
  }
  // What it started and left behind.
  (void)::kill(-child, SIGKILL);
}

std::string Line(absl::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

void WriteWhole(int descriptor, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t length = ::write(descriptor, text.data() + done, text.size() - done);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return;
    done += static_cast<size_t>(length);
  }
}

}  // namespace

std::string EndText(const ChildResult& result) {
  switch (result.end) {
    case ChildEnd::kExited:
      return absl::StrCat("ended with exit code ", result.code);
    case ChildEnd::kSignalled: {
      const char* name = ::strsignal(result.code);
      return absl::StrCat("was killed by signal ", result.code, " (", name != nullptr ? name : "?", ")");
    }
    case ChildEnd::kTimedOut:
      return "did not end within its time and was killed";
    case ChildEnd::kNotStarted:
      break;
  }
  return absl::StrCat("could not be started: ", ::strerror(result.code));
}

ChildResult RunProgram(const std::vector<std::string>& arguments, const Environment& environment,
                       std::chrono::milliseconds deadline) {
  ChildResult result;
  Pipe out;
  Pipe err;
  Pipe failure;
  if (arguments.empty() || !out.Open() || !err.Open() || !failure.Open()) {
    result.code = arguments.empty() ? EINVAL : errno;
    return result;
  }
  // Nothing is allocated between fork and exec.
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& entry : environment.entries()) envp.push_back(const_cast<char*>(entry.c_str()));
  envp.push_back(nullptr);
  const Clock::time_point until = Clock::now() + deadline;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    result.code = errno;
    return result;
  }
  if (child == 0) {
    BecomeChild(parent);
    (void)::dup2(out.write_end, STDOUT_FILENO);
    (void)::dup2(err.write_end, STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    const int error = errno;
    (void)!::write(failure.write_end, &error, sizeof(error));
    ::_exit(kCannotRun);
  }
  (void)::setpgid(child, child);
  Pipe::Close(&failure.write_end);
  Follow(child, until, &out, &err, &result);
  int error = 0;
  if (::read(failure.read_end, &error, sizeof(error)) == sizeof(error)) {
    result.end = ChildEnd::kNotStarted;
    result.code = error;
  }
  return result;
}

std::optional<std::string> Answers::Get(absl::string_view key) const {
  for (const auto& [name, value] : pairs_) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::optional<std::string> Answers::Last(absl::string_view key) const {
  std::optional<std::string> last;
  for (const auto& [name, value] : pairs_) {
    if (name == key) last = value;
  }
  return last;
}

std::optional<int64_t> Answers::Number(absl::string_view key) const {
  const std::optional<std::string> text = Get(key);
  int64_t value = 0;
  if (!text || !absl::SimpleAtoi(*text, &value)) return std::nullopt;
  return value;
}

ProbeResult Probe(const std::function<void(const Answer& answer)>& body, std::chrono::milliseconds deadline) {
  ProbeResult result;
  Pipe out;
  Pipe err;
  if (!out.Open() || !err.Open()) {
    result.child.code = errno;
    return result;
  }
  const Clock::time_point until = Clock::now() + deadline;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    result.child.code = errno;
    return result;
  }
  if (child == 0) {
    BecomeChild(parent);
    (void)::unsetenv("CUDA_INJECTION64_PATH");
    (void)::unsetenv("NVTX_INJECTION64_PATH");
    try {
      body([&out](absl::string_view key, absl::string_view value) {
        WriteWhole(out.write_end, absl::StrCat(key, "\t", Line(value), "\n"));
      });
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  (void)::setpgid(child, child);
  Follow(child, until, &out, &err, &result.child);
  for (const absl::string_view line : absl::StrSplit(result.child.out, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(line, absl::MaxSplits('\t', 1));
    result.answers.Add(pair.first, pair.second);
  }
  result.child.out.clear();
  return result;
}

}  // namespace gx::doctor
