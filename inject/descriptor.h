// File descriptors in a process that belongs to somebody else: the host may close every descriptor and open its own at
// the same number, may have told the kernel to kill it on SIGPIPE or SIGXFSZ, and expects low numbers for itself.
// Owned by log and trace_file. Functions are [MT] and, but for MoveHigh, async-signal-safe.
#ifndef GPUEXEC_INJECT_DESCRIPTOR_H_
#define GPUEXEC_INJECT_DESCRIPTOR_H_

#include <signal.h>

#include <cstddef>
#include <cstdint>

namespace gx::inject {

// Descriptors below this number are left to the host: shells and daemons use single digits, and programs that close
// "all" descriptors in a loop rarely pass 100.
inline constexpr int kLowestDescriptor = 200;

// Moves a descriptor to kLowestDescriptor or above, close-on-exec. Returns the new one, or the old one where the
// process may not have so high a number.
int MoveHigh(int descriptor) noexcept;

// What tells one open file from another.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Identity of what is open at `descriptor`. Returns false where nothing is.
bool IdentityOf(int descriptor, FileIdentity* identity) noexcept;

// True where `descriptor` still is the file of that identity.
bool HasIdentity(int descriptor, const FileIdentity& identity) noexcept;

// Within its scope a write(2) of this thread that would raise `signal_number` (SIGPIPE, SIGXFSZ) only fails. The signal
// is taken back, unless one was pending before.
class SignalHeldBack {
 public:
  explicit SignalHeldBack(int signal_number) noexcept;
  ~SignalHeldBack();
  SignalHeldBack(const SignalHeldBack&) = delete;
  SignalHeldBack& operator=(const SignalHeldBack&) = delete;

 private:
  bool active_ = false;
  sigset_t signals_;
  sigset_t before_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_DESCRIPTOR_H_
