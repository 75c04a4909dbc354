// A sliding window over a regular file: any span of bytes, read on demand into one buffer. Owned by one thread.
// Memory is the longest span asked for (never more than the file holds) and one read-ahead chunk.
#ifndef GPUEXEC_ANALYSIS_FILE_WINDOW_H_
#define GPUEXEC_ANALYSIS_FILE_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gx::analysis {

class FileWindow {
 public:
  // Bytes read at once where less is asked for: large enough that reading is bound by the disk, small enough that many
  // readers fit in memory.
  static constexpr size_t kChunkBytes = size_t{1} << 20;

  // NotFound, PermissionDenied, FailedPrecondition (a directory, pipe, socket or device) or Unknown, each with the
  // path.
  static absl::StatusOr<FileWindow> Open(const std::string& path);

  FileWindow() = default;
  ~FileWindow();
  FileWindow(FileWindow&& other) noexcept;
  FileWindow& operator=(FileWindow&& other) noexcept;
  FileWindow(const FileWindow&) = delete;
  FileWindow& operator=(const FileWindow&) = delete;

  // When opened.
  uint64_t size_bytes() const { return size_bytes_; }

  // Bytes [offset, offset + length), fewer at the end of the file (also where the file was cut meanwhile). Valid until
  // the next call.
  absl::StatusOr<absl::string_view> View(uint64_t offset_bytes, size_t length_bytes);
  // As View, and whatever the buffer holds beyond: reads nothing where the buffer reaches far enough.
  absl::StatusOr<absl::string_view> ViewAtLeast(uint64_t offset_bytes, size_t length_bytes);

  // The first offset from this one on that may hold anything but zeros: a hole in a sparse file is passed without being
  // read. The file's size where there is none.
  uint64_t NextData(uint64_t offset_bytes) const;

 private:
  absl::Status Fill(uint64_t offset_bytes, size_t wanted_bytes);

  std::string path_;
  int descriptor_ = -1;
  uint64_t size_bytes_ = 0;
  std::string buffer_;
  uint64_t buffer_offset_bytes_ = 0;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_FILE_WINDOW_H_
