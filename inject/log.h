// Words for people who debug gpuexec itself: GPUEXEC_LOG names a file or "stderr". Off by default; never stdout.
// A line is built in a stack buffer and written with one write(2): no allocation, no lock, usable anywhere.
#ifndef GPUEXEC_INJECT_LOG_H_
#define GPUEXEC_INJECT_LOG_H_

#include <string>

namespace gx::inject {

// Opens the log (append, 0600, no symbolic link). `target` as in Config::log. Failure leaves logging off.
void OpenLog(const std::string& target) noexcept;

// [MT] printf-style; a newline is added; control bytes in the arguments are written as '?'; cut at 1,000 bytes. Goes to
// a log file only: the program's stderr gets the one line of LogStart and no more.
void Log(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));
// [MT] The same for the line that says how the library started.
void LogStart(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// True where Log writes somewhere.
bool LogEnabled() noexcept;

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_LOG_H_
