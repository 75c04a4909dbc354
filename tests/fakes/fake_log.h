// The ground truth: what the fake GPU was asked and what it did, one line per fact, for tests to compare a trace with.
// A line is "kind key=value key=value ..."; bytes of a value that are not printable, and '%', are written as %XX.
// Each line is one write(2) with O_APPEND: whole lines also when a process is killed or several write.
#ifndef GPUEXEC_TESTS_FAKES_FAKE_LOG_H_
#define GPUEXEC_TESTS_FAKES_FAKE_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace gx::fakes {

class LogLine {
 public:
  explicit LogLine(std::string_view kind);
  // Writes the line to FAKE_GPU_LOG, if there is one.
  ~LogLine();
  LogLine(const LogLine&) = delete;
  LogLine& operator=(const LogLine&) = delete;

  LogLine& Add(std::string_view key, std::string_view value);
  LogLine& Add(std::string_view key, uint64_t value);
  LogLine& Add(std::string_view key, uint64_t x, uint64_t y, uint64_t z);

 private:
  bool enabled_;
  std::string text_;
};

// [MT] Something that the real driver or CUPTI would punish (a stale handle, a call where none is allowed, ...).
void LogViolation(std::string_view what);

}  // namespace gx::fakes

#endif  // GPUEXEC_TESTS_FAKES_FAKE_LOG_H_
