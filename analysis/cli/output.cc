#include "analysis/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "analysis/cli/terminal.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

// Of a file that may not be there yet. False: not the same, or no regular file.
bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(a, error);
  if (std::filesystem::is_regular_file(status)) return std::filesystem::equivalent(a, b, error) && !error;
  if (std::filesystem::exists(status)) return false;
  const std::filesystem::path path = std::filesystem::weakly_canonical(std::filesystem::absolute(a, error), error);
  if (error) return a == b;
  const std::filesystem::path other = std::filesystem::weakly_canonical(std::filesystem::absolute(b, error), error);
  return error ? a == b : path == other;
}

}  // namespace

absl::Status WriteAll(int descriptor, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return absl::UnknownError(std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

void Complain(absl::string_view command, absl::string_view text) {
  // There is nothing left to do where stderr cannot be written.
  (void)WriteAll(STDERR_FILENO, absl::StrCat(command, ": ", text, "\n"));
}

absl::Status WriteOutput(const std::string& path, absl::string_view text, mode_t mode) {
  if (path.empty()) {
    absl::Status status = WriteAll(STDOUT_FILENO, text);
    return status.ok() ? status : absl::UnknownError(absl::StrCat("standard output: ", status.message()));
  }
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (descriptor < 0) return absl::UnknownError(absl::StrCat(Printable(path), ": ", std::strerror(errno)));
  absl::Status status = WriteAll(descriptor, text);
  // A full disk may show only here.
  if (::close(descriptor) != 0 && status.ok()) status = absl::UnknownError(std::strerror(errno));
  return status.ok() ? status : absl::UnknownError(absl::StrCat(Printable(path), ": ", status.message()));
}

absl::Status CheckOutputs(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedFile& output = outputs[i];
    const auto refusal = [&output](const NamedFile& other, absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(output.option, ": '", Printable(output.path), "' is ", what, " (",
                                                     other.option, " '", Printable(other.path),
                                                     "') and would be overwritten; name another file"));
    };
    for (const NamedFile& input : inputs) {
      if (IsSameFile(output.path, input.path)) return refusal(input, "an input file");
    }
    for (size_t k = 0; k < i; ++k) {
      if (IsSameFile(output.path, outputs[k].path)) return refusal(outputs[k], "another output");
    }
  }
  return absl::OkStatus();
}

bool ColourWanted(const std::string& path) {
  if (!path.empty() || !IsTerminal(STDOUT_FILENO)) return false;
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

}  // namespace gx::analysis
