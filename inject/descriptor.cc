#include "inject/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace gx::inject {

int MoveHigh(int descriptor) noexcept {
  if (descriptor < 0 || descriptor >= kLowestDescriptor) return descriptor;
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (high < 0) return descriptor;
  close(descriptor);
  return high;
}

bool IdentityOf(int descriptor, FileIdentity* identity) noexcept {
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return false;
  identity->device = static_cast<uint64_t>(status.st_dev);
  identity->inode = static_cast<uint64_t>(status.st_ino);
  return true;
}

bool HasIdentity(int descriptor, const FileIdentity& identity) noexcept {
  FileIdentity now;
  return IdentityOf(descriptor, &now) && now == identity;
}

SignalHeldBack::SignalHeldBack(int signal_number) noexcept {
  sigset_t pending;
  sigemptyset(&signals_);
  sigaddset(&signals_, signal_number);
  // One that is pending already belongs to the host, and a second of its kind merges with it.
  if (sigpending(&pending) != 0 || sigismember(&pending, signal_number) != 0) return;
  active_ = pthread_sigmask(SIG_BLOCK, &signals_, &before_) == 0;
}

SignalHeldBack::~SignalHeldBack() {
  if (!active_) return;
  const int error = errno;
  // Both signals are sent to the writing thread itself, so this cannot take a signal from another thread.
  const timespec at_once = {};
  while (sigtimedwait(&signals_, nullptr, &at_once) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace gx::inject
