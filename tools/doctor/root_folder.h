// The machine's files, below "/" or below a folder that stands for it. Reading is bounded and never waits: what is no
// regular file is not opened, or not read. Paths are absolute and as the machine has them. Stateless; any thread.
#ifndef GPUEXEC_TOOLS_DOCTOR_ROOT_FOLDER_H_
#define GPUEXEC_TOOLS_DOCTOR_ROOT_FOLDER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace gx::doctor {

class RootFolder {
 public:
  static constexpr size_t kMaxFileBytes = size_t{1} << 20;
  static constexpr size_t kMaxNames = 100'000;

  // "" is the machine's own.
  explicit RootFolder(std::string prefix = "") : prefix_(std::move(prefix)) {}

  // The first kMaxFileBytes of a regular file. Nothing: it is none, or may not be read.
  std::optional<std::string> Read(absl::string_view path) const;
  bool Exists(absl::string_view path) const;
  bool IsFolder(absl::string_view path) const;
  // Names in a folder, sorted; the first kMaxNames as the system lists them. None: there is no such folder.
  std::vector<std::string> List(absl::string_view path) const;
  // With symbolic links followed; the path itself where that fails.
  std::string Canonical(absl::string_view path) const;
  // Where the file really is, for calls of the system.
  std::string Place(absl::string_view path) const;
  bool is_machine() const { return prefix_.empty(); }

 private:
  std::string prefix_;
};

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_ROOT_FOLDER_H_
