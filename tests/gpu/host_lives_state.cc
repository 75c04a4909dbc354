#include "tests/gpu/host_lives_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

extern char** environ;

namespace gx::lives {
namespace {

constexpr uint64_t kMarkEveryNs = 100'000'000;

std::FILE* state = nullptr;
uint64_t next_mark_ns = 0;

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// One line, whatever is in it.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

std::string Target(int descriptor) {
  char target[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), target, sizeof(target));
  return length < 0 ? "?" : OneLine(std::string(target, static_cast<size_t>(length)));
}

void NoteFiles() {
  std::vector<int> descriptors;
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const int descriptor = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && descriptor != dirfd(folder)) descriptors.push_back(descriptor);
  }
  closedir(folder);
  std::sort(descriptors.begin(), descriptors.end());
  for (const int descriptor : descriptors) {
    const bool inherited = (fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0;
    Note("file " + std::to_string(descriptor) + (inherited ? " inherited " : " own ") + Target(descriptor));
  }
}

void NoteSignals() {
  std::string handled = "handled";
  std::string blocked = "blocked";
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_DFL) {
      handled += " " + std::to_string(number) + (action.sa_handler == SIG_IGN ? "-" : "+");
    }
    if (sigismember(&mask, number) == 1) blocked += " " + std::to_string(number);
  }
  Note(handled);
  Note(blocked);
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  Note((stack.ss_flags & SS_DISABLE) != 0 ? "alternate_stack 0" : "alternate_stack 1");
}

// FNV-1a. Values may be secrets, and the file is kept.
uint64_t Hash(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// Tools may be told of each other by their variables; all others are the program's.
bool IsToolVariable(const std::string& name) {
  return name == "CUDA_INJECTION64_PATH" || name == "NVTX_INJECTION64_PATH" || name.starts_with("GPUEXEC_");
}

void NoteVariables() {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (IsToolVariable(name)) continue;
    char hash[24];
    std::snprintf(hash, sizeof(hash), " %016llx", static_cast<unsigned long long>(Hash(text)));
    variables.push_back("variable " + OneLine(name) + hash);
  }
  std::sort(variables.begin(), variables.end());
  for (const std::string& variable : variables) Note(variable);
}

}  // namespace

bool OpenState(const char* path) {
  state = std::fopen(path, "we");
  return state != nullptr;
}

void Note(const std::string& line) {
  if (state == nullptr) return;
  std::fprintf(state, "%s\n", line.c_str());
  std::fflush(state);
}

void Mark(uint64_t launches, bool now) {
  const uint64_t now_ns = NowNs();
  if (!now && now_ns < next_mark_ns) return;
  next_mark_ns = now_ns + kMarkEveryNs;
  Note("mark " + std::to_string(now_ns) + " " + std::to_string(launches));
}

void NoteProcess() {
  if (state == nullptr) return;
  char folder[4096];
  Note(std::string("folder ") + (getcwd(folder, sizeof(folder)) == nullptr ? "?" : OneLine(folder)));
  const mode_t mask = umask(0);
  umask(mask);
  char line[64];
  std::snprintf(line, sizeof(line), "umask %o", static_cast<unsigned>(mask));
  Note(line);
  Note("rounding " + std::to_string(fegetround()));
  NoteSignals();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  Note("limit " + std::to_string(files.rlim_cur));
  NoteFiles();
  NoteVariables();
}

}  // namespace gx::lives
