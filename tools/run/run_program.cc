#include "tools/run/run_program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/printable.h"
#include "tools/run/child_process.h"
#include "tools/run/clock.h"
#include "tools/run/conclusion.h"
#include "tools/run/library_log.h"
#include "tools/run/locations.h"
#include "tools/run/process_watch.h"
#include "tools/run/program_file.h"
#include "tools/run/run_environment.h"
#include "tools/run/run_options.h"
#include "tools/run/signal_gate.h"
#include "tools/run/summary.h"
#include "tools/run/trace_search.h"
#include "tools/support/loadability.h"

namespace gx::tools {
namespace {

namespace fs = std::filesystem;
using analysis::Printable;

// After the program's end other processes of the run may still be writing theirs.
constexpr int64_t kStragglersMs = 2000;
constexpr int64_t kStragglersLookMs = 50;

void Write(int descriptor, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // There is nowhere to say so.
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void Say(absl::string_view text) { Write(STDERR_FILENO, absl::StrCat("gx-run: ", text, "\n")); }

// A file of this run's own, gone with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string folder) : path_(std::move(folder) + "/gx-run.XXXXXX") {
    const int descriptor = ::mkostemp(path_.data(), O_CLOEXEC);
    if (descriptor < 0) {
      path_.clear();
    } else {
      ::close(descriptor);
    }
  }
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // "": it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int64_t TimeOfDayNs() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::optional<uint64_t> SizeOf(const std::string& path) {
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(status.st_size);
}

// What was added to a log behind `begin`: the end of it, where that is long.
std::string ReadLog(const std::string& path, uint64_t begin) {
  const uint64_t size = SizeOf(path).value_or(0);
  if (size <= begin) return "";
  begin = std::max(begin, size - std::min<uint64_t>(size, kMaxLogBytes));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return "";
  std::string text(size - begin, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::pread(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  ::close(descriptor);
  text.resize(done);
  return text;
}

// The program's life, from its start on.
class Run {
 public:
  Run(pid_t child, const SignalGate& gate) : child_(child), gate_(gate), watch_(child), start_ms_(NowMs()) {}

  // waitpid's status.
  int WaitForProgram() {
    int status = 0;
    int64_t next_look_ms = start_ms_ + NextLookMs(0, 0);
    while (!HasEnded(child_, &status)) {
      const int64_t now_ms = NowMs();
      if (now_ms >= next_look_ms) {
        const int64_t look_us = Look();
        next_look_ms = NowMs() + NextLookMs(now_ms - start_ms_, look_us);
        continue;
      }
      if (again_ != 0 && now_ms >= again_ms_) PassAgain();
      const int64_t wake_ms = again_ != 0 ? std::min(again_ms_, next_look_ms) : next_look_ms;
      if (const auto signal = gate_.Wait(std::max<int64_t>(wake_ms - now_ms, 0))) OnSignal(*signal);
    }
    end_ms_ = NowMs();
    return status;
  }

  // False: some are still there when the time is over, or a signal asked to end.
  bool WaitForOthers() {
    const int64_t deadline_ms = NowMs() + kStragglersMs;
    while (true) {
      Look();
      if (!OthersLive()) return true;
      if (NowMs() >= deadline_ms) return false;
      const auto signal = gate_.Wait(kStragglersLookMs);
      if (signal && signal->si_signo != SIGCHLD) return false;
    }
  }

  const ProcessWatch& watch() const { return watch_; }
  int64_t run_ms() const { return end_ms_ - start_ms_; }

 private:
  // Returns what it took.
  int64_t Look() {
    const int64_t before_us = NowUs();
    watch_.Look();
    return NowUs() - before_us;
  }

  bool OthersLive() const {
    const std::vector<SeenProcess> seen = watch_.Seen();
    return std::any_of(seen.begin(), seen.end(), [](const SeenProcess& process) {
      return process.is_alive && process.has_library && !process.libcuda.empty();
    });
  }

  void OnSignal(const siginfo_t& signal) {
    if (signal.si_signo == SIGCHLD) return;
    const Relay relay = DecideRelay(signal.si_code, SenderIsInGroup(signal));
    if (relay == Relay::kNow) ::kill(child_, signal.si_signo);
    if (relay == Relay::kLater) {
      if (again_ != 0) PassAgain();
      again_ = signal.si_signo;
      again_ms_ = NowMs() + kRelayDelayMs;
    }
  }

  void PassAgain() { ::kill(child_, std::exchange(again_, 0)); }

  const pid_t child_;
  const SignalGate& gate_;
  ProcessWatch watch_;
  const int64_t start_ms_;
  int64_t end_ms_ = 0;
  // A signal that is passed on at that time; 0: none.
  int again_ = 0;
  int64_t again_ms_ = 0;
};

// Where the log is silent, but the library may have had no way to write to it, the names of files have to do.
bool IsLogToBeDoubted(const RunEvidence& evidence, bool is_own_log) {
  const auto has_library = [](const SeenProcess& process) { return process.has_library; };
  return evidence.logged.empty() &&
         (!is_own_log || std::any_of(evidence.seen.begin(), evidence.seen.end(), has_library));
}

std::vector<RunTrace> TracesOf(const RunEvidence& evidence, const std::string& output, bool by_name, int64_t since_ns) {
  std::vector<RunTrace> traces;
  for (const LoggedProcess& process : evidence.logged) {
    for (const std::string& path : process.traces) traces.push_back({path, SizeOf(path), process.pid});
  }
  if (!by_name) return traces;
  for (const std::string& path : FindTraces(TraceNames(output), since_ns)) traces.push_back({path, SizeOf(path), 0});
  return traces;
}

RunEnd EndOf(int status) {
  if (WIFSIGNALED(status)) return {.exit_code = 128 + WTERMSIG(status), .signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status)};
}

int SayNotStarted(const std::string& program, const Started& started) {
  const std::string name = Printable(program);
  if (started.no_process) {
    Say(absl::StrCat(name, " was not run: no process could be made: ", std::strerror(started.error)));
    return kExitRunFailed;
  }
  const bool is_missing = started.error == ENOENT || started.error == ENOTDIR;
  Say(is_missing ? absl::StrCat(name, ": no such program (", std::strerror(started.error), ")")
                 : absl::StrCat(name, " cannot be executed: ", std::strerror(started.error)));
  return is_missing ? kExitNoProgram : kExitNotExecutable;
}

void Tell(const RunOptions& options, const Conclusion& conclusion, const std::string& folder, const SignalGate& gate) {
  if (!options.quiet) {
    for (const std::string& line : conclusion.recorded) Say(line);
  }
  for (const std::string& line : conclusion.problems) Say(line);
  if (!options.quiet || !conclusion.is_proven) {
    for (const std::string& line : conclusion.notes) Say(line);
  }
  if (options.quiet || conclusion.traces.empty()) return;
  if (conclusion.traces.size() > kMaxSummarised) {
    Say(absl::StrCat("summary of the ", kMaxSummarised, " largest of ", conclusion.traces.size(), " traces:"));
  }
  const std::string problem =
      ShowSummary(SummaryCommand(folder + "/gx-analyze", conclusion.traces), gate, kSummaryTimeoutMs);
  if (!problem.empty()) Say(problem);
  Say(absl::StrCat("the whole report: gx-analyze ", Printable(conclusion.traces.front().path)));
}

RunEnd Failed(absl::string_view problem) {
  Say(problem);
  return {.exit_code = kExitRunFailed};
}

}  // namespace

RunEnd RunProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  const absl::StatusOr<RunOptions> options = ParseRunOptions(arguments);
  if (!options.ok()) return Failed(absl::StrCat(options.status().message(), "\nTry gx-run --help."));
  if (options->help || options->version) {
    Write(STDOUT_FILENO, options->help ? RunHelp() : "gx-run " GPUEXEC_VERSION "\n");
    return {};
  }

  const std::string folder = OwnFolder();
  if (folder.empty()) return Failed("cannot find itself: /proc/self/exe cannot be read; mount /proc");
  const std::string library = FirstThere(LibraryPlaces(folder));
  const Loadability loadable = CheckLoadable(library, {"InitializeInjection", "InitializeInjectionNvtx2"});
  if (loadable.fault != LoadFault::kNone && !options->anyway) {
    return Failed(absl::StrCat("the program was not run, as nothing would be recorded: ", loadable.problem, "; ",
                               loadable.advice, "; --anyway runs it without"));
  }

  const absl::string_view temporary = FindVariable(environment, "TMPDIR").value_or("");
  std::error_code error;
  // The processes of the run have folders of their own.
  const TemporaryFile log(temporary.empty() ? "/tmp" : fs::absolute(std::string(temporary), error).string());
  EnvironmentInput input;
  input.variables = environment;
  input.library = library;
  input.folder = fs::current_path(error).string();
  input.log = log.path();
  input.is_same_file = [](const std::string& a, const std::string& b) {
    std::error_code ignored;
    return fs::equivalent(a, b, ignored);
  };
  const absl::StatusOr<RunEnvironment> plan = PlanRunEnvironment(*options, input);
  if (!plan.ok()) return Failed(plan.status().message());
  for (const std::string& note : plan->notes) Say(note);

  const uint64_t log_begin = plan->log.empty() ? 0 : SizeOf(plan->log).value_or(0);
  const int64_t since_ns = TimeOfDayNs();
  RunEvidence evidence;
  evidence.program = LookAtProgram(FindProgram(options->command[0], FindVariable(environment, "PATH")));
  const SignalGate gate;
  const Started started = StartProgram(options->command, plan->variables, [&gate] { gate.RestoreInChild(); });
  if (started.pid < 0) return {.exit_code = SayNotStarted(options->command[0], started)};
  Run run(started.pid, gate);
  const RunEnd end = EndOf(run.WaitForProgram());
  const bool all_ended = run.WaitForOthers();

  evidence.program_pid = started.pid;
  evidence.program_name = fs::path(options->command[0]).filename().string();
  evidence.library = library;
  if (loadable.fault != LoadFault::kNone) evidence.load_problem = absl::StrCat(loadable.problem, "; ", loadable.advice);
  evidence.switched_off = plan->switched_off;
  evidence.has_log = !plan->log.empty();
  if (evidence.has_log) evidence.logged = ReadLibraryLog(ReadLog(plan->log, log_begin));
  evidence.seen = run.watch().Seen();
  evidence.process_count = run.watch().process_count();
  evidence.look_count = run.watch().look_count();
  evidence.run_ms = run.run_ms();
  const bool is_own_log = evidence.has_log && plan->log == log.path();
  evidence.traces = TracesOf(evidence, plan->output, IsLogToBeDoubted(evidence, is_own_log), since_ns);
  Conclusion conclusion = Conclude(evidence);
  if (!all_ended) {
    conclusion.problems.push_back("other processes of the run go on recording: their traces are not whole yet");
  }
  Tell(*options, conclusion, folder, gate);
  return end;
}

}  // namespace gx::tools
