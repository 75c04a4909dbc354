#include "analysis/file_window.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

const char* KindOfFile(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "not a regular file";
}

absl::Status ErrnoStatus(const std::string& path, const char* what, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat(Printable(path), ": ", what));
}

}  // namespace

absl::StatusOr<FileWindow> FileWindow::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that has no writer must not wait; it changes nothing for regular files.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const int error = errno;
    if (error == ENXIO) {
      return absl::FailedPreconditionError(
          absl::StrCat(Printable(path), ": a socket or device, expected a trace file"));
    }
    return ErrnoStatus(path, "cannot be opened", error);
  }
  FileWindow window;
  window.descriptor_ = descriptor;
  window.path_ = path;
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return ErrnoStatus(path, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(Printable(path), ": ", KindOfFile(status.st_mode), ", expected a trace file",
                     S_ISFIFO(status.st_mode) ? " (write the stream to a file first)" : ""));
  }
  window.size_bytes_ = static_cast<uint64_t>(status.st_size);
  return window;
}

FileWindow::~FileWindow() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileWindow::FileWindow(FileWindow&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_),
      buffer_(std::move(other.buffer_)),
      buffer_offset_bytes_(other.buffer_offset_bytes_) {}

FileWindow& FileWindow::operator=(FileWindow&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(buffer_, other.buffer_);
  std::swap(buffer_offset_bytes_, other.buffer_offset_bytes_);
  return *this;
}

absl::StatusOr<absl::string_view> FileWindow::View(uint64_t offset_bytes, size_t length_bytes) {
  absl::StatusOr<absl::string_view> view = ViewAtLeast(offset_bytes, length_bytes);
  if (view.ok()) *view = view->substr(0, length_bytes);
  return view;
}

absl::StatusOr<absl::string_view> FileWindow::ViewAtLeast(uint64_t offset_bytes, size_t length_bytes) {
  if (offset_bytes >= size_bytes_) return absl::string_view();
  length_bytes = static_cast<size_t>(std::min<uint64_t>(length_bytes, size_bytes_ - offset_bytes));
  const bool starts_inside =
      offset_bytes >= buffer_offset_bytes_ && offset_bytes - buffer_offset_bytes_ <= buffer_.size();
  if (!starts_inside || buffer_.size() - (offset_bytes - buffer_offset_bytes_) < length_bytes) {
    if (absl::Status status = Fill(offset_bytes, length_bytes); !status.ok()) return status;
  }
  return absl::string_view(buffer_).substr(static_cast<size_t>(offset_bytes - buffer_offset_bytes_));
}

uint64_t FileWindow::NextData(uint64_t offset_bytes) const {
  if (offset_bytes >= size_bytes_) return size_bytes_;
  const off_t data = ::lseek(descriptor_, static_cast<off_t>(offset_bytes), SEEK_DATA);
  // ENXIO: zeros to the end. Any other error: a file system that cannot say.
  if (data < 0) return errno == ENXIO ? size_bytes_ : offset_bytes;
  return std::min(size_bytes_, static_cast<uint64_t>(data));
}

absl::Status FileWindow::Fill(uint64_t offset_bytes, size_t wanted_bytes) {
  // Keep what is there already from offset_bytes on.
  if (offset_bytes >= buffer_offset_bytes_ && offset_bytes - buffer_offset_bytes_ < buffer_.size()) {
    buffer_.erase(0, static_cast<size_t>(offset_bytes - buffer_offset_bytes_));
  } else {
    buffer_.clear();
  }
  buffer_offset_bytes_ = offset_bytes;
  const uint64_t in_file = size_bytes_ - offset_bytes;
  const size_t target = static_cast<size_t>(std::min<uint64_t>(in_file, std::max(wanted_bytes, kChunkBytes)));
  size_t filled = buffer_.size();
  if (filled >= target) return absl::OkStatus();
  // One long packet does not make the buffer long for good.
  if (buffer_.capacity() > 2 * std::max(target, kChunkBytes)) buffer_.shrink_to_fit();
  buffer_.resize(target);
  while (filled < wanted_bytes) {
    const ssize_t got =
        ::pread(descriptor_, buffer_.data() + filled, target - filled, static_cast<off_t>(offset_bytes + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      buffer_.resize(filled);
      return ErrnoStatus(path_, absl::StrCat("cannot be read at offset ", offset_bytes + filled).c_str(), error);
    }
    if (got == 0) {
      // Cut while we read it: what is gone is not there to be read.
      size_bytes_ = offset_bytes + filled;
      break;
    }
    filled += static_cast<size_t>(got);
  }
  buffer_.resize(filled);
  return absl::OkStatus();
}

}  // namespace gx::analysis
