#include "tools/doctor/environment.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gx::doctor {
namespace {

bool IsNamed(absl::string_view entry, absl::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && absl::StartsWith(entry, name);
}

}  // namespace

Environment Environment::OfProcess() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return Environment(std::move(entries));
}

std::optional<std::string> Environment::Get(absl::string_view name) const {
  for (const std::string& entry : entries_) {
    if (IsNamed(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::vector<std::string> Environment::Folders(absl::string_view name) const {
  return absl::StrSplit(Text(name), ':', absl::SkipEmpty());
}

Environment Environment::With(absl::string_view name, absl::string_view value) const {
  Environment changed = Without(name);
  changed.entries_.push_back(absl::StrCat(name, "=", value));
  return changed;
}

Environment Environment::Without(absl::string_view name) const {
  Environment changed;
  for (const std::string& entry : entries_) {
    if (!IsNamed(entry, name)) changed.entries_.push_back(entry);
  }
  return changed;
}

}  // namespace gx::doctor
