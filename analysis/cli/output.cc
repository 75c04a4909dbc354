#include "analysis/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "analysis/cli/terminal.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

absl::Status WriteAll(int descriptor, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return absl::UnknownError(std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

void Complain(absl::string_view command, absl::string_view text) {
  // There is nothing left to do where stderr cannot be written.
  (void)WriteAll(STDERR_FILENO, absl::StrCat(command, ": ", text, "\n"));
}

absl::Status WriteOutput(const std::string& path, absl::string_view text) {
  if (path.empty()) {
    absl::Status status = WriteAll(STDOUT_FILENO, text);
    return status.ok() ? status : absl::UnknownError(absl::StrCat("standard output: ", status.message()));
  }
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return absl::UnknownError(absl::StrCat(Printable(path), ": ", std::strerror(errno)));
  absl::Status status = WriteAll(descriptor, text);
  // A full disk may show only here.
  if (::close(descriptor) != 0 && status.ok()) status = absl::UnknownError(std::strerror(errno));
  return status.ok() ? status : absl::UnknownError(absl::StrCat(Printable(path), ": ", status.message()));
}

bool ColourWanted(const std::string& path) {
  if (!path.empty() || !IsTerminal(STDOUT_FILENO)) return false;
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

}  // namespace gx::analysis
