#include "inject/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "inject/descriptor.h"

namespace gx::inject {
namespace {

constexpr size_t kMaxLineBytes = 1000;

// The identity is written before the descriptor is published, once.
constinit FileIdentity log_identity;
constinit std::atomic<int> log_descriptor{-1};

int OpenLogFile(const std::string& path) noexcept {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (descriptor < 0) return -1;
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return -1;
  }
  return MoveHigh(descriptor);
}

void WriteLine(int descriptor, const char* format, va_list arguments) noexcept {
  const int error = errno;

  char line[kMaxLineBytes];
  const int prefix = snprintf(line, sizeof(line), "gpuexec %d: ", static_cast<int>(getpid()));
  size_t length = prefix > 0 ? static_cast<size_t>(prefix) : 0;
  const int wanted = vsnprintf(line + length, sizeof(line) - length, format, arguments);
  if (wanted > 0) length = std::min(length + static_cast<size_t>(wanted), sizeof(line) - 1);
  for (size_t i = 0; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (byte < 0x20 || byte == 0x7f) line[i] = '?';
  }
  line[length++] = '\n';

  // A host that closed or replaced the descriptor must not find our words in its own file.
  if (HasIdentity(descriptor, log_identity)) {
    const SignalHeldBack no_sigpipe(SIGPIPE);
    [[maybe_unused]] const ssize_t written = write(descriptor, line, length);
  }
  errno = error;
}

}  // namespace

void OpenLog(const std::string& target) noexcept {
  if (target.empty() || LogEnabled()) return;
  // The host's own stderr is used as it is: a copy would keep a pipe open that the host means to close.
  const int descriptor = target == "stderr" ? STDERR_FILENO : OpenLogFile(target);
  if (descriptor < 0 || !IdentityOf(descriptor, &log_identity)) return;
  log_descriptor.store(descriptor, std::memory_order_release);
}

bool LogEnabled() noexcept { return log_descriptor.load(std::memory_order_acquire) >= 0; }

void Log(const char* format, ...) noexcept {
  const int descriptor = log_descriptor.load(std::memory_order_acquire);
  if (descriptor < 0 || descriptor == STDERR_FILENO) return;
  va_list arguments;
  va_start(arguments, format);
  WriteLine(descriptor, format, arguments);
  va_end(arguments);
}

void LogStart(const char* format, ...) noexcept {
  const int descriptor = log_descriptor.load(std::memory_order_acquire);
  if (descriptor < 0) return;
  va_list arguments;
  va_start(arguments, format);
  WriteLine(descriptor, format, arguments);
  va_end(arguments);
}

}  // namespace gx::inject
