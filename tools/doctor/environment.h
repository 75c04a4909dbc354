// Environment variables as a value, so that checks can be given any. Plain data; pure.
#ifndef GPUEXEC_TOOLS_DOCTOR_ENVIRONMENT_H_
#define GPUEXEC_TOOLS_DOCTOR_ENVIRONMENT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace gx::doctor {

class Environment {
 public:
  Environment() = default;
  // NAME=VALUE strings.
  explicit Environment(std::vector<std::string> entries) : entries_(std::move(entries)) {}
  // That of this process.
  static Environment OfProcess();

  // The first of that name, as getenv has it. Nothing: not set.
  std::optional<std::string> Get(absl::string_view name) const;
  // "" where it is not set.
  std::string Text(absl::string_view name) const { return Get(name).value_or(""); }
  // The parts between colons of a list of folders, empty ones left out.
  std::vector<std::string> Folders(absl::string_view name) const;

  Environment With(absl::string_view name, absl::string_view value) const;
  Environment Without(absl::string_view name) const;
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_ENVIRONMENT_H_
