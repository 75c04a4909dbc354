#include "tools/run/process_facts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gx::tools {

std::optional<ProcessStat> ParseProcessStat(absl::string_view text) {
  // "pid (name) state ppid ...": the name may hold anything, parentheses too.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) return std::nullopt;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(text.substr(close + 1), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  // Counted from the state, which is field 3 of proc(5).
  constexpr size_t kParent = 1;
  constexpr size_t kStart = 19;
  ProcessStat stat;
  if (fields.size() <= kStart || !absl::SimpleAtoi(fields[kParent], &stat.parent) ||
      !absl::SimpleAtoi(fields[kStart], &stat.start_ticks)) {
    return std::nullopt;
  }
  stat.is_zombie = fields[0] == "Z" || fields[0] == "X";
  stat.name = std::string(text.substr(open + 1, close - open - 1));
  return stat;
}

ProcessMaps ParseProcessMaps(absl::string_view text) {
  ProcessMaps maps;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const absl::string_view line = text.substr(0, end);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
    const size_t slash = line.find('/');
    if (slash == absl::string_view::npos) continue;
    const absl::string_view path = absl::StripSuffix(line.substr(slash), " (deleted)");
    const absl::string_view name = path.substr(path.rfind('/') + 1);
    if (absl::StartsWith(path, "/dev/nvidia")) maps.has_device = true;
    if (name == "libgpuexec_inject.so") maps.has_library = true;
    if (maps.libcuda.empty() && absl::StartsWith(name, "libcuda.so")) maps.libcuda = std::string(path);
  }
  return maps;
}

std::optional<std::string> FindInEnvironment(absl::string_view environment, absl::string_view name) {
  for (absl::string_view variable : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&variable, name) && absl::ConsumePrefix(&variable, "=")) return std::string(variable);
  }
  return std::nullopt;
}

std::optional<std::string> ReadProcFile(pid_t pid, const char* name, size_t limit) {
  const int file = ::open(absl::StrCat("/proc/", pid, "/", name).c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return std::nullopt;
  std::string text;
  char chunk[32768];
  bool ok = true;
  while (text.size() < limit) {
    const ssize_t got = ::read(file, chunk, std::min(sizeof(chunk), limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    ok = got >= 0;
    if (got <= 0) break;
    text.append(chunk, static_cast<size_t>(got));
  }
  ::close(file);
  if (!ok) return std::nullopt;
  return text;
}

}  // namespace gx::tools
