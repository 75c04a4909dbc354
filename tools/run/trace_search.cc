#include "tools/run/trace_search.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"

namespace gx::tools {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNsPerSecond = 1'000'000'000;

// Up to the first part that is filled in: %p, %h, %r.
absl::string_view BeforeVariable(absl::string_view text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (text[i + 1] != '%') return text.substr(0, i);
    ++i;
  }
  return text;
}

std::string Plain(absl::string_view text) { return absl::StrReplaceAll(text, {{"%%", "%"}}); }

}  // namespace

NamePattern TraceNames(absl::string_view output) {
  const size_t slash = output.rfind('/');
  const absl::string_view folder = slash == absl::string_view::npos ? "." : output.substr(0, slash);
  absl::string_view name = slash == absl::string_view::npos ? output : output.substr(slash + 1);
  NamePattern names;
  names.folder = Plain(folder.empty() ? "/" : folder);
  // The pid of a later process goes before the last dot.
  const size_t dot = name.rfind('.');
  if (dot != absl::string_view::npos && dot > 0) {
    names.suffix = Plain(name.substr(dot));
    name = name.substr(0, dot);
  }
  names.prefix = Plain(BeforeVariable(name));
  return names;
}

std::vector<std::string> FindTraces(const NamePattern& names, int64_t since_ns) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(names.folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() < names.prefix.size() + names.suffix.size() || !absl::StartsWith(name, names.prefix) ||
        !absl::EndsWith(name, names.suffix)) {
      continue;
    }
    struct stat status;
    if (::lstat(entry->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const int64_t written_ns = int64_t{status.st_mtim.tv_sec} * kNsPerSecond + status.st_mtim.tv_nsec;
    if (written_ns >= since_ns) found.push_back(entry->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gx::tools
