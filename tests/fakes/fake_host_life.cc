// Scenarios of the fake host about its life among other processes: errors that stay, children of every kind, ends by
// signal; and what the program can see of its own process.
#include <cuda.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/host_program.h"

extern char** environ;

namespace gx::fakes {
namespace {

// Descriptors from here on are those of tools: see inject/descriptor.h.
constexpr int kToolDescriptors = 200;
constexpr rlim_t kFewBytes = 1 << 20;

// Threads of a tool, and loading a library, have a file open for a moment.
constexpr int kLooks = 200;
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);

struct OpenFile {
  int descriptor = 0;
  // Files by path, the rest by kind; empty: closed meanwhile.
  std::string target;
  // Closed where another program is executed, as what is open for a moment is.
  bool closes_on_exec = false;
};

std::string LinkTarget(const std::string& link) {
  char target[4096];
  const ssize_t length = readlink(link.c_str(), target, sizeof(target));
  return length < 0 ? std::string() : std::string(target, static_cast<size_t>(length));
}

// By number. Those of tools only where a new program would inherit them.
std::vector<OpenFile> LookAtOpenFiles() {
  std::vector<OpenFile> files;
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return {};
  while (const dirent* entry = readdir(folder)) {
    OpenFile file;
    file.descriptor = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || file.descriptor == dirfd(folder)) continue;
    file.target = LinkTarget(std::string("/proc/self/fd/") + entry->d_name);
    const int flags = fcntl(file.descriptor, F_GETFD);
    if (file.target.empty() || flags < 0) continue;
    file.closes_on_exec = (flags & FD_CLOEXEC) != 0;
    if (file.descriptor >= kToolDescriptors && file.closes_on_exec) continue;
    if (const size_t bracket = file.target.find(":["); bracket != std::string::npos) file.target.resize(bracket);
    files.push_back(std::move(file));
  }
  closedir(folder);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.descriptor < b.descriptor; });
  return files;
}

// What stays open: a look that finds a file that may be open for a moment only is taken again, for two seconds.
std::vector<OpenFile> OpenFiles() {
  for (int look = 1;; ++look) {
    std::vector<OpenFile> files = LookAtOpenFiles();
    const auto passing = [](const OpenFile& file) { return file.closes_on_exec; };
    if (look == kLooks || std::none_of(files.begin(), files.end(), passing)) return files;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

int NextDescriptor() {
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(descriptor);
  return descriptor;
}

// The number that the next file gets; the one after what stays open, wherever it can be had within two seconds.
int SettledNextDescriptor(const std::vector<OpenFile>& files) {
  int expected = 0;
  for (const OpenFile& file : files) expected += file.descriptor == expected ? 1 : 0;
  int next = NextDescriptor();
  for (int look = 1; look < kLooks && next != expected; ++look) {
    std::this_thread::sleep_for(kBetweenLooks);
    next = NextDescriptor();
  }
  return next;
}

std::string SignalActions() {
  std::ostringstream text;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL) continue;
    text << " " << number << (action.sa_handler == SIG_IGN ? "-" : "+");
  }
  return text.str();
}

std::string BlockedSignals() {
  std::ostringstream text;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&blocked, number) == 1) text << " " << number;
  }
  return text.str();
}

// Tools may be told of each other by their variables; all others are the program's.
bool IsToolVariable(const std::string& name) {
  return name == "CUDA_INJECTION64_PATH" || name == "NVTX_INJECTION64_PATH" || name == "LD_PRELOAD" ||
         name.starts_with("GPUEXEC_") || name.starts_with("MEDDLE_") || name.starts_with("FAKE_");
}

}  // namespace

void PrintState() {
  char folder[4096];
  std::printf("folder %s\n", getcwd(folder, sizeof(folder)) == nullptr ? "?" : folder);
  const mode_t mask = umask(0);
  umask(mask);
  std::printf("umask %o, rounding %d\n", static_cast<unsigned>(mask), fegetround());
  const std::vector<OpenFile> open_files = OpenFiles();
  for (const OpenFile& file : open_files) std::printf("open %d %s\n", file.descriptor, file.target.c_str());
  std::printf("next descriptor %d\n", SettledNextDescriptor(open_files));
  std::printf("handled signals%s\nblocked signals%s\n", SignalActions().c_str(), BlockedSignals().c_str());
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  std::printf("alternate stack %d\n", static_cast<int>(stack.ss_flags == SS_DISABLE));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  std::printf("limit of files %llu\n", static_cast<unsigned long long>(files.rlim_cur));
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!IsToolVariable(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  std::sort(variables.begin(), variables.end());
  for (const std::string& variable : variables) std::printf("variable %s\n", variable.c_str());
}

void Prepare(const Options& options) {
  if (const std::string folder = options.Text("cd", ""); !folder.empty() && chdir(folder.c_str()) != 0) _exit(96);
  std::istringstream libraries(options.Text("load", ""));
  for (std::string path; std::getline(libraries, path, ':');) {
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::printf("not loaded: %s\n", dlerror());
  }
  if (const int count = options.Number("file_limit", 0)) {
    const rlimit limit{static_cast<rlim_t>(count), static_cast<rlim_t>(count)};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  // Its own signal: SIGXFSZ ends a program that writes more than this into a file.
  if (options.Number("small_files", 0) != 0) {
    const rlimit limit{kFewBytes, kFewBytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
}

namespace {

volatile sig_atomic_t stop_asked = 0;

void AskToStop(int) { stop_asked = 1; }

int EndOf(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// broken: a kernel that reads where it must not, between others; what the program is told from then on.
void Broken(const Options& options) {
  Program program = StartContext(options);
  LoadNamedKernels({{"fine", 2}, {"illegal_access", 2}}, &program);
  const auto launch = [&](size_t i) {
    return static_cast<int>(
        Cuda().cuLaunchKernel(program.functions[i], 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  };
  for (int i = 0; i < 10; ++i) std::printf("launch %d\n", launch(0));
  std::printf("broken launch %d\n", launch(1));
  std::printf("synchronize %d\n", static_cast<int>(Cuda().cuCtxSynchronize()));
  std::printf("launch %d\n", launch(0));
  CUdeviceptr pointer = 0;
  std::printf("allocate %d\n", static_cast<int>(Cuda().cuMemAlloc_v2(&pointer, 64)));
  std::printf("destroy %d\n", static_cast<int>(Cuda().cuDevicePrimaryCtxReset_v2(0)));
}

// full: allocations that the device has no room for (FAKE_FAIL), after which the program goes on.
void Full(const Options& options) {
  const Program program = Start(options);
  for (int i = 0; i < 3; ++i) {
    CUdeviceptr pointer = 0;
    std::printf("allocate %d\n", static_cast<int>(Cuda().cuMemAlloc_v2(&pointer, size_t{1} << 40)));
    Check(LaunchNth(program, i, nullptr), "launch");
  }
}

// children how=exec|spawn|system|vfork child=cuda|none: another program, started from one that uses CUDA (cuda=0: has
// not yet); each launches.
void Children(const Options& options) {
  const bool uses_cuda = options.Number("cuda", 1) != 0;
  Program program;
  if (uses_cuda) program = Start(options);
  const std::string self = LinkTarget("/proc/self/exe");
  std::vector<std::string> words = {self, "none", "state=1"};
  if (options.Text("child", "cuda") == "cuda") words = {self, "launch", "n=5", "state=1"};
  std::vector<char*> arguments;
  std::string line;
  for (std::string& word : words) {
    arguments.push_back(word.data());
    line += "'" + word + "' ";
  }
  arguments.push_back(nullptr);
  std::fflush(stdout);
  const std::string how = options.Text("how", "exec");
  int end = -1;
  if (how == "exec") {
    const pid_t child = fork();
    if (child == 0) {
      execv(arguments[0], arguments.data());
      _exit(95);
    }
    end = EndOf(child);
  } else if (how == "spawn") {
    pid_t child = 0;
    if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0) end = EndOf(child);
  } else {
    const int status = std::system((line + " && echo shell").c_str());
    end = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  std::printf("child ended with %d\n", end);
  if (!uses_cuda) program = Start(options);
  for (int i = 0; i < 10; ++i) Check(LaunchNth(program, i, nullptr), "launch");
  std::printf("launched 10\n");
}

// Reads numbers and answers with their squares until there are no more, as a worker that loads data does.
[[noreturn]] void Work(int in, int out, const std::string& leave) {
  int number = 0;
  while (read(in, &number, sizeof(number)) == static_cast<ssize_t>(sizeof(number))) {
    number *= number;
    // As much garbage as a batch of data has, so that the allocator's locks matter.
    std::vector<std::string> batch(64, std::string(1000, 'x'));
    if (batch.size() != 64 || write(out, &number, sizeof(number)) < 0) _exit(94);
  }
  if (leave == "exit") std::exit(7);
  _exit(7);
}

// workers n=4 rounds=25 when=after|before stop=close|term|kill leave=_exit|exit: forked workers that live as long as
// the program, feed it through pipes and end when they are told to.
void Workers(const Options& options) {
  struct Worker {
    pid_t pid = 0;
    int to = -1;
    int from = -1;
  };
  const bool before = options.Text("when", "after") == "before";
  const std::string stop = options.Text("stop", "close");
  Program program;
  if (!before) {
    program = Start(options);
    for (int i = 0; i < 10; ++i) Check(LaunchNth(program, i, nullptr), "launch");
  }
  std::fflush(nullptr);
  std::vector<Worker> workers(static_cast<size_t>(options.Number("n", 4)));
  for (size_t i = 0; i < workers.size(); ++i) {
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) _exit(93);
    workers[i].pid = fork();
    if (workers[i].pid == 0) {
      for (size_t other = 0; other < i; ++other) {
        close(workers[other].to);
        close(workers[other].from);
      }
      close(to[1]);
      close(from[0]);
      Work(to[0], from[1], options.Text("leave", "_exit"));
    }
    close(to[0]);
    close(from[1]);
    workers[i].to = to[1];
    workers[i].from = from[0];
  }
  if (before) program = Start(options);
  long long sum = 0;
  for (int round = 0; round < options.Number("rounds", 25); ++round) {
    for (const Worker& worker : workers) {
      int number = round;
      if (write(worker.to, &number, sizeof(number)) < 0 || read(worker.from, &number, sizeof(number)) < 0) _exit(92);
      sum += number;
      Check(LaunchNth(program, round, nullptr), "launch");
    }
  }
  std::printf("sum %lld\n", sum);
  for (const Worker& worker : workers) {
    if (stop == "term") kill(worker.pid, SIGTERM);
    if (stop == "kill") kill(worker.pid, SIGKILL);
    close(worker.to);
    const int end = EndOf(worker.pid);
    close(worker.from);
    std::printf("worker ended with %d\n", end);
  }
}

// waiting handler=0|1: launches until SIGTERM comes (it sends that to itself after a few); with a handler of its own it
// then says so and returns.
void Waiting(const Options& options) {
  if (options.Number("handler", 0) != 0) {
    struct sigaction action {};
    action.sa_handler = AskToStop;
    sigaction(SIGTERM, &action, nullptr);
  }
  const Program program = Start(options);
  for (int i = 0; i < 100 || stop_asked == 0; ++i) {
    Check(LaunchNth(program, i, nullptr), "launch");
    if (i == 100) {
      std::printf("asked to stop\n");
      std::fflush(nullptr);
      kill(getpid(), SIGTERM);
    }
  }
  std::printf("stopped\n");
}

// again resets=3: launch, reset the primary context, begin anew.
void Again(const Options& options) {
  for (int i = 0; i <= options.Number("resets", 3); ++i) {
    const Program program = Start(options);
    for (int n = 0; n < 20; ++n) Check(LaunchNth(program, n, nullptr), "launch");
    GX_CHECK(cuCtxSynchronize());
    GX_CHECK(cuDevicePrimaryCtxReset_v2(0));
  }
  const Program program = Start(options);
  Check(LaunchNth(program, 0, nullptr), "launch");
  std::printf("launched after %d resets\n", options.Number("resets", 3) + 1);
}

}  // namespace

void EndBySpecialMeans(const std::string& how) {
  if (how == "term") kill(getpid(), SIGTERM);
  if (how == "throw") throw std::runtime_error("the program's own");
  if (how == "crash") raise(SIGSEGV);
  if (how == "quick_exit") std::quick_exit(6);
}

const Scenarios& LifeScenarios() {
  static const auto& scenarios = *new Scenarios{{"broken", Broken},   {"full", Full},       {"children", Children},
                                                {"workers", Workers}, {"waiting", Waiting}, {"again", Again}};
  return scenarios;
}

}  // namespace gx::fakes
