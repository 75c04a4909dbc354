#include "analysis/cli/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analysis/cli/output.h"
#include "analysis/printable.h"
#include "analysis/report_proto.h"

namespace gx::analysis {
namespace {

absl::Status Failed(const std::string& path, int error) {
  return absl::UnknownError(absl::StrCat(Printable(path), ": ", std::strerror(error)));
}

// What a message with Report.format in front begins with: tag of field 1, length, text.
std::string ReportPrefix() {
  const absl::string_view format = kReportFormat;
  return absl::StrCat("\n", std::string(1, static_cast<char>(format.size())), format);
}

// The first bytes of a file, as many as that prefix has. NotFound: there is no file.
absl::StatusOr<std::string> FirstBytes(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return errno == ENOENT ? absl::NotFoundError("") : Failed(path, errno);
  std::string bytes(ReportPrefix().size(), '\0');
  ssize_t count = 0;
  do {
    count = ::read(descriptor, bytes.data(), bytes.size());
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  ::close(descriptor);
  if (count < 0) return Failed(path, error);
  bytes.resize(static_cast<size_t>(count));
  return bytes;
}

// OK: the file may be replaced.
absl::Status CheckReplaceable(const std::string& path) {
  const absl::StatusOr<std::string> bytes = FirstBytes(path);
  if (absl::IsNotFound(bytes.status())) return absl::OkStatus();
  if (!bytes.ok()) return bytes.status();
  if (bytes->empty() || *bytes == ReportPrefix()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(Printable(path), ": is there and no report, so it is left alone"));
}

bool IsSpecial(const std::string& path) {
  struct stat about = {};
  return ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

}  // namespace

std::string ReportPathBeside(absl::string_view trace_path) {
  return absl::StrCat(absl::StripSuffix(trace_path, ".pb"), ".report.pb");
}

bool IsReportFile(const std::string& path) {
  if (IsSpecial(path)) return false;
  const absl::StatusOr<std::string> bytes = FirstBytes(path);
  return bytes.ok() && *bytes == ReportPrefix();
}

absl::Status WriteReportFile(const std::string& path, const gpuexec::v1::Report& report) {
  std::string bytes;
  if (!report.SerializeToString(&bytes)) {
    return absl::InternalError(absl::StrCat(Printable(path), ": the report does not fit into one message"));
  }
  if (IsSpecial(path)) return WriteOutput(path, bytes);
  if (absl::Status status = CheckReplaceable(path); !status.ok()) return status;
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return Failed(path, errno);
  // By descriptor: whoever may write to the folder may have put another file in the place of that name.
  absl::Status status = WriteAll(descriptor, bytes);
  if (!status.ok()) status = absl::UnknownError(absl::StrCat(Printable(temporary), ": ", status.message()));
  // A full disk may show only here.
  if (::close(descriptor) != 0 && status.ok()) status = Failed(temporary, errno);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) status = Failed(path, errno);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace gx::analysis
