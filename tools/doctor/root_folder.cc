#include "tools/doctor/root_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gx::doctor {

std::string RootFolder::Place(absl::string_view path) const { return absl::StrCat(prefix_, path); }

std::optional<std::string> RootFolder::Read(absl::string_view path) const {
  // A pipe without a writer does not open otherwise.
  const int descriptor = ::open(Place(path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return std::nullopt;
  std::optional<std::string> content;
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    content.emplace();
    char chunk[4096];
    ssize_t length = 0;
    while (content->size() < kMaxFileBytes && (length = ::read(descriptor, chunk, sizeof(chunk))) > 0) {
      content->append(chunk, static_cast<size_t>(length));
    }
    if (length < 0 && content->empty()) content.reset();
  }
  ::close(descriptor);
  return content;
}

bool RootFolder::Exists(absl::string_view path) const {
  struct stat status {};
  return ::stat(Place(path).c_str(), &status) == 0;
}

bool RootFolder::IsFolder(absl::string_view path) const {
  struct stat status {};
  return ::stat(Place(path).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<std::string> RootFolder::List(absl::string_view path) const {
  std::vector<std::string> names;
  DIR* folder = ::opendir(Place(path).c_str());
  if (folder == nullptr) return names;
  while (names.size() < kMaxNames) {
    const dirent* entry = ::readdir(folder);
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

std::string RootFolder::Canonical(absl::string_view path) const {
  char* resolved = ::realpath(Place(path).c_str(), nullptr);
  if (resolved == nullptr) return std::string(path);
  std::string canonical = resolved;
  ::free(resolved);
  if (prefix_.empty()) return canonical;
  char* prefix = ::realpath(prefix_.c_str(), nullptr);
  if (prefix != nullptr && absl::StartsWith(canonical, absl::StrCat(prefix, "/"))) {
    canonical.erase(0, absl::string_view(prefix).size());
  }
  ::free(prefix);
  return canonical;
}

}  // namespace gx::doctor
