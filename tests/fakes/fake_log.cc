#include "tests/fakes/fake_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/fakes/fake_scenario.h"

namespace gx::fakes {
namespace {

// Above what a program opens: one fake more in the process must not show in the numbers that it gets.
constexpr int kLowestDescriptor = 500;

int LogDescriptor() {
  static const int descriptor = [] {
    const std::string& path = GetScenario().log_path;
    if (path.empty()) return -1;
    const int opened = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int moved = opened < 0 ? -1 : fcntl(opened, F_DUPFD_CLOEXEC, kLowestDescriptor);
    if (moved < 0) return opened;
    close(opened);
    return moved;
  }();
  return descriptor;
}

void AppendEscaped(std::string_view value, std::string* text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '%') {
      text->push_back(c);
    } else {
      text->push_back('%');
      text->push_back(kDigits[byte >> 4]);
      text->push_back(kDigits[byte & 15]);
    }
  }
}

}  // namespace

LogLine::LogLine(std::string_view kind) : enabled_(LogDescriptor() >= 0) {
  if (enabled_) text_ = kind;
}

LogLine::~LogLine() {
  if (!enabled_) return;
  text_.push_back('\n');
  [[maybe_unused]] const ssize_t written = write(LogDescriptor(), text_.data(), text_.size());
}

LogLine& LogLine::Add(std::string_view key, std::string_view value) {
  if (!enabled_) return *this;
  text_.append(" ").append(key).append("=");
  AppendEscaped(value, &text_);
  return *this;
}

LogLine& LogLine::Add(std::string_view key, uint64_t value) {
  return enabled_ ? Add(key, std::string_view(std::to_string(value))) : *this;
}

LogLine& LogLine::Add(std::string_view key, uint64_t x, uint64_t y, uint64_t z) {
  if (!enabled_) return *this;
  return Add(key, std::string_view(std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z)));
}

void LogViolation(std::string_view what) {
  LogLine("violation").Add("what", what).Add("pid", static_cast<uint64_t>(getpid()));
}

}  // namespace gx::fakes
