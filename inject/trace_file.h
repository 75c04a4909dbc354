// The trace's file: made at the first frame, locked while it lives, append-only. Used by the writer thread alone.
//
// - Never through a symbolic link, only a regular file, mode 0600, O_CLOEXEC, at a descriptor number of 200 or more
//   where possible (programs close or expect low numbers).
// - The name: a file that holds a trace and is not locked (its process is gone) is replaced; one that is locked, or
//   that holds anything but a trace, is left alone and the pid is added to the name (AddPidToPath), then "pid.2",
//   "pid.3"...
// - Every Write first asks whether the descriptor still is our file (a program may close all descriptors and open its
//   own at that number): if not, writing stops for good (STAT_OUTPUT_REPLACED_BY_HOST).
// - A failed or short write is counted with its bytes (STAT_WRITE_FAILED, STAT_BYTES_LOST_ON_WRITE); the file is cut
//   back to the last whole frame where that is possible, and later frames are tried again.
#ifndef GPUEXEC_INJECT_TRACE_FILE_H_
#define GPUEXEC_INJECT_TRACE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gx::inject {

class TraceFile {
 public:
  TraceFile() = default;
  ~TraceFile() = default;  // The descriptor is left open on purpose: the process's end closes it.
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // `path` has its pattern expanded already. Missing parent folders are made (0700). Returns false, and says why in
  // `problem`, where no file could be had. True with a `problem`: the file has another name (STAT_OUTPUT_NAME_TAKEN).
  [[nodiscard]] bool Open(const std::string& path, uint64_t pid, std::string* problem);
  bool is_open() const { return descriptor_ >= 0; }
  // The program took our descriptor: nothing will be written any more.
  bool given_up() const { return given_up_; }
  // The path really used.
  const std::string& path() const { return path_; }

  // Appends a whole frame. False: it is not in the file; counted as lost unless `will_retry`.
  bool Write(std::string_view frame, bool will_retry = false);
  // A frame that is given up after a failed Write with `will_retry`.
  void CountLost(size_t frame_bytes) noexcept;
  // Bytes in the file that hold whole frames.
  uint64_t size_bytes() const { return size_bytes_; }

  // After fork, in the child: closes the descriptor without touching the file or its lock. Async-signal-safe.
  void AbandonInChild() noexcept;
  // Orderly end: the lock is dropped with the descriptor.
  void Close() noexcept;

 private:
  bool StillOurs() const noexcept;

  int descriptor_ = -1;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  uint64_t size_bytes_ = 0;
  bool given_up_ = false;
  std::string path_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_TRACE_FILE_H_
