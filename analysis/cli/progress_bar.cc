#include "analysis/cli/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

uint64_t NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

size_t TerminalColumns(int descriptor) {
  constexpr size_t kUsual = 80;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

// The bar is a courtesy: what cannot be written is dropped.
void WriteAll(int descriptor, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

std::string ProgressText(absl::string_view label, uint64_t done, uint64_t total, size_t columns) {
  const double ratio = total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  constexpr size_t kBarColumns = 30;
  constexpr size_t kRest = kBarColumns + 20;  // "reading ", brackets, percentage.
  std::string name(label);
  const size_t room = columns > kRest + 8 ? columns - kRest : 8;
  if (name.size() > room) name = absl::StrCat("...", name.substr(name.size() - (room - 3)));
  const auto filled = static_cast<size_t>(ratio * static_cast<double>(kBarColumns));
  return absl::StrFormat("reading %s [%s%s] %3.0f %%", name, std::string(filled, '='),
                         std::string(kBarColumns - filled, ' '), ratio * 100);
}

ProgressBar::ProgressBar(int descriptor, absl::string_view label)
    : descriptor_(descriptor),
      terminal_(::isatty(descriptor) == 1),
      label_(Printable(label)),
      start_ns_(terminal_ ? NowNs() : 0) {}

ProgressBar::~ProgressBar() {
  // Back to the first column, and clear the line.
  if (visible_) WriteAll(descriptor_, "\r\x1b[K");
}

void ProgressBar::Update(uint64_t done, uint64_t total) {
  if (!terminal_) return;
  const uint64_t now_ns = NowNs();
  if (now_ns - start_ns_ < kQuietNs || now_ns - drawn_ns_ < kRedrawNs) return;
  drawn_ns_ = now_ns;
  visible_ = true;
  WriteAll(descriptor_, absl::StrCat("\r", ProgressText(label_, done, total, TerminalColumns(descriptor_)), "\x1b[K"));
}

}  // namespace gx::analysis
