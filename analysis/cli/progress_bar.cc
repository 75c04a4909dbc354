#include "analysis/cli/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/cli/terminal.h"
#include "analysis/printable.h"

namespace gx::analysis {
namespace {

// The bar is a courtesy: what cannot be written is dropped.
void WriteAll(int descriptor, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

uint64_t MonotonicNowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

std::string ProgressText(absl::string_view label, uint64_t done, uint64_t total, size_t columns) {
  const double ratio = total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  // "reading ", brackets with their space, " 100 %"; and one column that stays free, as a full line would wrap.
  constexpr size_t kFixedColumns = 8 + 3 + 6 + 1;
  constexpr size_t kBarColumns = 30;
  constexpr size_t kMinNameColumns = 8;
  const size_t room = columns > kFixedColumns ? columns - kFixedColumns : 0;
  // In a narrow window the bar gives way to the name.
  const size_t bar = std::min(kBarColumns, room > kMinNameColumns ? room - kMinNameColumns : 0);
  const size_t name_room = room - bar;
  std::string name(label);
  if (name.size() > name_room) {
    const std::string dots(std::min<size_t>(name_room, 3), '.');
    name = absl::StrCat(dots, name.substr(name.size() - (name_room - dots.size())));
  }
  const auto filled = static_cast<size_t>(ratio * static_cast<double>(bar));
  const std::string text = absl::StrFormat("reading %s [%s%s] %3.0f %%", name, std::string(filled, '='),
                                           std::string(bar - filled, ' '), ratio * 100);
  return text.substr(0, columns > 0 ? columns - 1 : 0);
}

ProgressBar::ProgressBar(int descriptor, absl::string_view label, uint64_t (*now_ns)())
    : descriptor_(descriptor),
      terminal_(IsTerminal(descriptor)),
      label_(Printable(label)),
      now_ns_(now_ns),
      start_ns_(terminal_ ? now_ns() : 0) {}

ProgressBar::~ProgressBar() {
  // Back to the first column, and clear the line.
  if (visible_) WriteAll(descriptor_, "\r\x1b[K");
}

void ProgressBar::Update(uint64_t done, uint64_t total) {
  if (!terminal_) return;
  const uint64_t now_ns = now_ns_();
  if (now_ns - start_ns_ < kQuietNs || now_ns - drawn_ns_ < kRedrawNs) return;
  drawn_ns_ = now_ns;
  visible_ = true;
  WriteAll(descriptor_, absl::StrCat("\r", ProgressText(label_, done, total, TerminalColumns(descriptor_)), "\x1b[K"));
}

}  // namespace gx::analysis
