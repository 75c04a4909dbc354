#include "tools/support/loadability.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/printable.h"
#include "tools/support/elf_file.h"
#include "tools/support/high_pipe.h"

namespace gx::tools {
namespace {

using analysis::Printable;

// Of what a child says: longer messages of the loader are cut.
constexpr size_t kMaxAnswerBytes = 4096;

// First byte of a child's answer.
constexpr char kLoaded = 'K';
constexpr char kLoaderMessage = 'E';
constexpr char kSymbolMissing = 'S';

Loadability Fault(LoadFault fault, absl::string_view path, absl::string_view problem, absl::string_view advice) {
  return {fault, absl::StrCat(Printable(path), " ", problem), std::string(advice)};
}

std::optional<std::string> ReadHead(const std::string& path, Loadability* fault) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    *fault = Fault(LoadFault::kUnreadable, path, absl::StrCat("cannot be read: ", std::strerror(error)),
                   error == EACCES ? "let this user read it, and every folder above it"
                                   : "install gpuexec (cmake --install) or build it");
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    *fault = Fault(LoadFault::kUnreadable, path, "is no regular file", "name the library itself");
    return std::nullopt;
  }
  std::string head(kElfHeadBytes, '\0');
  size_t size = 0;
  while (size < head.size()) {
    const ssize_t got = ::read(descriptor, head.data() + size, head.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  ::close(descriptor);
  head.resize(size);
  return head;
}

// In the child: never returns.
[[noreturn]] void Try(const std::string& path, const std::vector<std::string>& exported_symbols, int answer) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, standard);
  }
  std::string text(1, kLoaded);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* message = ::dlerror();
    text = absl::StrCat(std::string(1, kLoaderMessage), message == nullptr ? "" : message);
  }
  for (const std::string& symbol : exported_symbols) {
    if (library == nullptr || ::dlsym(library, symbol.c_str()) != nullptr) continue;
    text = absl::StrCat(std::string(1, kSymbolMissing), symbol);
    break;
  }
  text.resize(std::min(text.size(), kMaxAnswerBytes));
  // A pipe takes this in one piece.
  const bool written = ::write(answer, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::_exit(written ? 0 : 1);
}

int64_t NowMs() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

// Until the child has closed its end. False: the time is over.
bool ReadAnswer(int descriptor, int64_t timeout_ms, std::string* answer) {
  const int64_t deadline = NowMs() + timeout_ms;
  char chunk[1024];
  while (true) {
    const int64_t left = deadline - NowMs();
    if (left <= 0) return false;
    pollfd polled{descriptor, POLLIN, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
    if (ready <= 0) continue;
    const ssize_t got = ::read(descriptor, chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    answer->append(chunk, static_cast<size_t>(got));
  }
}

// "libx.so.1: rest" -> "libx.so.1"
absl::string_view BeforeColon(absl::string_view message) { return message.substr(0, message.find(':')); }

// "... `GLIBC_2.38' not found (required by ...)" -> "GLIBC_2.38"
absl::string_view Quoted(absl::string_view message) {
  const size_t begin = message.find('`');
  if (begin == absl::string_view::npos) return "";
  const size_t end = message.find('\'', begin);
  return end == absl::string_view::npos ? "" : message.substr(begin + 1, end - begin - 1);
}

}  // namespace

Loadability JudgeLibraryHead(absl::string_view path, absl::string_view head) {
  constexpr absl::string_view kAgain = "install or build gpuexec again";
  const std::optional<ElfFile> file = ReadElfFile(head);
  if (!file) {
    return Fault(LoadFault::kNoLibrary, path,
                 head.empty() ? "is empty: expected a shared library" : "is no ELF file: expected a shared library",
                 kAgain);
  }
  const ElfFile own = OwnElfFile();
  const bool is_other = file->bits != own.bits || file->is_little_endian != own.is_little_endian ||
                        (own.machine != 0 && file->machine != own.machine);
  if (is_other) {
    return Fault(
        LoadFault::kOtherMachine, path,
        absl::StrCat("is built for another machine: ", ElfMachineText(*file), "; expected ", ElfMachineText(own)),
        absl::StrCat("install or build gpuexec for ", ElfMachineText(own)));
  }
  if (file->type != ET_DYN) {
    return Fault(LoadFault::kNoLibrary, path,
                 absl::StrCat("is no shared library: ELF type ", file->type, ", expected ", ET_DYN), kAgain);
  }
  return {};
}

Loadability ExplainLoaderMessage(absl::string_view path, absl::string_view message) {
  const std::string said = absl::StrCat(" (the loader says: ", Printable(message), ")");
  if (absl::StrContains(message, "cannot open shared object file") && BeforeColon(message) != path) {
    const std::string library = Printable(BeforeColon(message));
    return Fault(LoadFault::kMissingLibrary, path,
                 absl::StrCat("needs ", library, ", which the loader does not find", said),
                 absl::StrCat("install the package that holds ", library, ", or add its folder to LD_LIBRARY_PATH"));
  }
  if (absl::StrContains(message, "version `") && absl::StrContains(message, "not found")) {
    const std::string version = Printable(Quoted(message));
    const bool is_glibc = absl::StartsWith(version, "GLIBC_");
    return Fault(
        LoadFault::kMissingVersion, path,
        absl::StrCat("needs version ", version, " of ", Printable(BeforeColon(message)), ", which is older here", said),
        is_glibc ? "build gpuexec on this system, or on an older one"
                 : "build gpuexec on this system, or let the loader find a newer library first "
                   "(LD_LIBRARY_PATH; that of a Python environment may be the older one)");
  }
  if (constexpr absl::string_view kUndefined = "undefined symbol: "; absl::StrContains(message, kUndefined)) {
    const absl::string_view symbol = message.substr(message.find(kUndefined) + kUndefined.size());
    return Fault(LoadFault::kMissingSymbol, path,
                 absl::StrCat("needs the symbol ", Printable(symbol.substr(0, symbol.find_first_of(", "))),
                              ", which no library here has", said),
                 "install or build gpuexec again: its files are of different versions");
  }
  if (absl::StrContains(message, "failed to map segment")) {
    return Fault(LoadFault::kNotMapped, path, absl::StrCat("cannot be mapped for execution", said),
                 "put gpuexec on a file system that is not mounted noexec, or raise the limit of address space "
                 "(ulimit -v)");
  }
  if (absl::StrContains(message, "file too short") || absl::StrContains(message, "cannot read file data") ||
      absl::StrContains(message, "invalid ELF header")) {
    return Fault(LoadFault::kNoLibrary, path, absl::StrCat("is cut or damaged", said),
                 "install or build gpuexec again");
  }
  return Fault(LoadFault::kRefused, path, absl::StrCat("is refused by the loader", said),
               absl::StrCat("LD_DEBUG=all LD_PRELOAD=", Printable(path), " /bin/true shows what the loader does"));
}

Loadability CheckLoadable(const std::string& path, const std::vector<std::string>& exported_symbols,
                          int64_t timeout_ms) {
  Loadability fault;
  const std::optional<std::string> head = ReadHead(path, &fault);
  if (!head) return fault;
  // dlopen calls a library of another machine "No such file or directory".
  fault = JudgeLibraryHead(path, *head);
  if (fault.fault != LoadFault::kNone) return fault;

  const HighPipe pipe = MakeHighPipe();
  if (pipe.read_end < 0) {
    return Fault(LoadFault::kNotTried, path, absl::StrCat("could not be tried: no pipe: ", std::strerror(errno)),
                 "raise the limit of open files (ulimit -n)");
  }
  const pid_t child = ::fork();
  if (child == 0) Try(path, exported_symbols, pipe.write_end);
  const int error = errno;
  ::close(pipe.write_end);
  if (child < 0) {
    ::close(pipe.read_end);
    return Fault(LoadFault::kNotTried, path, absl::StrCat("could not be tried: no process: ", std::strerror(error)),
                 "raise the limit of processes (ulimit -u)");
  }
  std::string answer;
  const bool in_time = ReadAnswer(pipe.read_end, timeout_ms, &answer);
  ::close(pipe.read_end);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    return Fault(LoadFault::kTimedOut, path, absl::StrCat("was not loaded within ", timeout_ms, " ms"),
                 "try again; if it lies on a network file system, install gpuexec on a local disk");
  }
  if (answer.empty()) {
    const std::string how = WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                                                : absl::StrCat("exit code ", WEXITSTATUS(status));
    return Fault(LoadFault::kCrashed, path, absl::StrCat("ended the process that loaded it (", how, ")"),
                 "install or build gpuexec again: the file may be damaged");
  }
  const absl::string_view text = absl::string_view(answer).substr(1);
  if (answer.front() == kLoaderMessage) return ExplainLoaderMessage(path, text);
  if (answer.front() == kSymbolMissing) {
    return Fault(LoadFault::kNoEntryPoint, path,
                 absl::StrCat("does not export ", Printable(text), ": it is another library"),
                 "name libgpuexec_inject.so, or install gpuexec again");
  }
  return {};
}

}  // namespace gx::tools
