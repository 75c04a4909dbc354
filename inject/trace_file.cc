#include "inject/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

#include "inject/config.h"
#include "inject/descriptor.h"
#include "inject/path_name.h"
#include "inject/self_stats.h"
#include "inject/trace_encoder.h"

namespace gx::inject {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kFolderMode = 0700;
// Names tried with the pid and a number behind it. A pid meets itself in other containers that write to one folder.
constexpr int kMaxNumberedNames = 100;
// A file may be replaced under us between open and lock; whoever loses so often in a row is told so.
constexpr int kMaxRaces = 10;

std::string ErrorText(int error) {
  char buffer[128];
  // The GNU variant: the text is what it returns.
  return std::string(strerror_r(error, buffer, sizeof(buffer))) + " (errno " + std::to_string(error) + ")";
}

std::string Problem(const char* what, const std::string& path, int error, const char* advice) {
  return std::string(what) + " \"" + path + "\": " + ErrorText(error) + "; " + advice;
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Makes the folders above `path`, one level at a time.
bool MakeParents(const std::string& path, std::string* problem) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), kFolderMode) == 0) continue;
    const int error = errno;
    // A read-only file system refuses folders that are there already with another error than EEXIST.
    if (IsFolder(folder)) continue;
    *problem = Problem("cannot make the folder", folder, error, "set GPUEXEC_OUTPUT to a path in a writable folder");
    return false;
  }
  return true;
}

// A file that starts like a trace, or an empty one (made by a process that died before its first frame).
bool HoldsTrace(int descriptor, uint64_t size_bytes) {
  if (size_bytes == 0) return true;
  // Key of a frame, its length in 5 bytes, key and value of the magic number (proto/README.md).
  constexpr size_t kMagicAt = 6;
  constexpr char kMagic[] = {0x0D, 'G', 'X', 'F', '1'};
  char head[kMagicAt + sizeof(kMagic)];
  const ssize_t got = pread(descriptor, head, sizeof(head), 0);
  return got == static_cast<ssize_t>(sizeof(head)) && head[0] == 0x0A &&
         memcmp(head + kMagicAt, kMagic, sizeof(kMagic)) == 0;
}

enum class Attempt {
  kGot,      // open, locked, empty
  kTaken,    // belongs to somebody: try another name
  kRaced,    // the name changed hands meanwhile: try it again
  kRefused,  // no name in this place will do
};

// What stands at `path`, where that rules the name out before it is opened (opening a device may have effects).
Attempt CheckKind(const std::string& path, mode_t mode, std::string* problem) {
  if (S_ISREG(mode)) return Attempt::kGot;
  const char* kind = S_ISDIR(mode)    ? "a folder"
                     : S_ISLNK(mode)  ? "a symbolic link, which gpuexec does not follow"
                     : S_ISFIFO(mode) ? "a named pipe"
                     : S_ISSOCK(mode) ? "a socket"
                                      : "a device";
  *problem = "cannot write the trace to \"" + path + "\": it is " + kind +
             "; set GPUEXEC_OUTPUT to the path of a regular file, or of one that does not exist yet";
  return Attempt::kRefused;
}

// Judges an opened file that nobody else may be writing to. `made` says that this call has just created it.
Attempt Claim(const std::string& path, int descriptor, bool made, FileIdentity* identity, std::string* problem) {
  struct stat opened;
  if (fstat(descriptor, &opened) != 0) {
    *problem = Problem("cannot look at", path, errno, "set GPUEXEC_OUTPUT to a path in another folder");
    return Attempt::kRefused;
  }
  if (const Attempt kind = CheckKind(path, opened.st_mode, problem); kind != Attempt::kGot) return kind;
  // Somebody else's file stays his, also where its mode would let us write our command line into it.
  if (!made && opened.st_uid != geteuid()) return Attempt::kTaken;

  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    // Some network file systems have no locks. A file that we made is ours all the same; of another one nobody can
    // say whether it lives.
    const bool no_locks = errno != EWOULDBLOCK && errno != EINTR;
    if (!no_locks || !made) return Attempt::kTaken;
  }

  struct stat named;
  if (lstat(path.c_str(), &named) != 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) {
    return Attempt::kRaced;
  }
  // Only now: another process may have written between our open and our lock.
  if (fstat(descriptor, &opened) != 0 || !HoldsTrace(descriptor, static_cast<uint64_t>(opened.st_size))) {
    return Attempt::kTaken;
  }
  if (opened.st_size != 0 && ftruncate(descriptor, 0) != 0) {
    *problem = Problem("cannot replace the old trace", path, errno, "remove it or set GPUEXEC_OUTPUT to another path");
    return Attempt::kRefused;
  }
  // A file of ours that was here already may have had a wider mode. Refused by some file systems: no reason to stop.
  [[maybe_unused]] const int ignored = fchmod(descriptor, kFileMode);
  identity->device = static_cast<uint64_t>(opened.st_dev);
  identity->inode = static_cast<uint64_t>(opened.st_ino);
  return Attempt::kGot;
}

Attempt TryName(const std::string& path, int* descriptor, FileIdentity* identity, std::string* problem) {
  // O_NONBLOCK: a pipe without a reader must not hang the host. O_APPEND: a cut file is continued at its end.
  constexpr int kFlags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  bool made = true;
  int opened = open(path.c_str(), kFlags | O_CREAT | O_EXCL, kFileMode);
  if (opened < 0 && errno == EEXIST) {
    made = false;
    struct stat status;
    if (lstat(path.c_str(), &status) != 0) return Attempt::kRaced;
    if (const Attempt kind = CheckKind(path, status.st_mode, problem); kind != Attempt::kGot) return kind;
    opened = open(path.c_str(), kFlags);
    if (opened < 0) {
      if (errno == ENOENT || errno == ELOOP || errno == EINTR) return Attempt::kRaced;
      // A regular file that we may not write: it is somebody's, and so left alone.
      if (errno == EACCES || errno == EPERM || errno == ETXTBSY || errno == EBUSY) return Attempt::kTaken;
    }
  }
  if (opened < 0) {
    const int error = errno;
    if (error == EINTR) return Attempt::kRaced;
    const bool no_space = error == ENOSPC || error == EDQUOT;
    const bool no_descriptor = error == EMFILE || error == ENFILE;
    *problem = Problem("cannot create", path, error,
                       no_space        ? "free space there or set GPUEXEC_OUTPUT to a path on another disk"
                       : no_descriptor ? "raise the limit of open files (ulimit -n)"
                                       : "set GPUEXEC_OUTPUT to a path in a writable folder");
    return Attempt::kRefused;
  }
  const Attempt attempt = Claim(path, opened, made, identity, problem);
  if (attempt == Attempt::kGot) {
    *descriptor = MoveHigh(opened);
  } else {
    close(opened);
  }
  return attempt;
}

}  // namespace

bool TraceFile::Open(const std::string& path, uint64_t pid, std::string* problem) {
  if (is_open()) return true;
  if (path.empty() || path.back() == '/') {
    *problem = "the trace's path \"" + path + "\" names no file; set GPUEXEC_OUTPUT to the path of a file";
    return false;
  }
  if (!MakeParents(path, problem)) return false;

  for (int number = 0; number <= kMaxNumberedNames; ++number) {
    std::string name = path;
    if (number == 1) name = AddPidToPath(path, pid);
    if (number > 1) name = InsertBeforeExtension(path, "." + std::to_string(pid) + "." + std::to_string(number));

    FileIdentity identity;
    Attempt attempt = Attempt::kRaced;
    for (int race = 0; attempt == Attempt::kRaced && race < kMaxRaces; ++race) {
      attempt = TryName(name, &descriptor_, &identity, problem);
    }
    if (attempt == Attempt::kRefused) return false;
    if (attempt != Attempt::kGot) continue;

    device_ = identity.device;
    inode_ = identity.inode;
    size_bytes_ = 0;
    given_up_ = false;
    path_ = std::move(name);
    if (number > 0) {
      Stats().Add(StatId::kOutputNameTaken);
      *problem = "\"" + path + "\" belongs to a live trace or to a file that is no trace; the trace is written to \"" +
                 path_ + "\"";
    }
    return true;
  }
  *problem = "cannot write the trace to \"" + path + "\": this name and " + std::to_string(kMaxNumberedNames) +
             " names with the pid belong to live traces or to files that are no traces; set GPUEXEC_OUTPUT to a path "
             "in another folder";
  return false;
}

bool TraceFile::StillOurs() const noexcept { return HasIdentity(descriptor_, FileIdentity{device_, inode_}); }

void TraceFile::CountLost(size_t frame_bytes) noexcept {
  Stats().Add(StatId::kWriteFailed);
  Stats().Add(StatId::kBytesLostOnWrite, frame_bytes);
}

bool TraceFile::Write(std::string_view frame, bool will_retry) {
  if (frame.empty()) return true;
  if (is_open() && !given_up_ && !StillOurs()) {
    given_up_ = true;
    Stats().Add(StatId::kOutputReplacedByHost);
  }
  struct stat before;
  bool written = is_open() && !given_up_ && fstat(descriptor_, &before) == 0;
  if (written) {
    // Over the size limit of the process (ulimit -f) the kernel would kill the host.
    const SignalHeldBack no_sigxfsz(SIGXFSZ);
    size_t done = 0;
    while (done < frame.size()) {
      const ssize_t count = write(descriptor_, frame.data() + done, frame.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    written = done == frame.size();
    // The piece would only look like damage to a reader. It may stay where cutting fails: readers find the next frame.
    if (!written && done > 0 && StillOurs()) {
      [[maybe_unused]] const int ignored = ftruncate(descriptor_, before.st_size);
    }
  }
  if (!written) {
    if (!will_retry) CountLost(frame.size());
    return false;
  }
  size_bytes_ += frame.size();
  return true;
}

void TraceFile::AbandonInChild() noexcept {
  // No unlock: the lock belongs to the open file that the parent still has. Closing this copy leaves it alone.
  Close();
}

void TraceFile::Close() noexcept {
  // A number that the host uses for something else by now is the host's to close.
  if (is_open() && StillOurs()) close(descriptor_);
  descriptor_ = -1;
  device_ = 0;
  inode_ = 0;
  size_bytes_ = 0;
}

}  // namespace gx::inject
