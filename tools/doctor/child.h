// Things that may hang or die (strange libraries, other programs), each in a process of its own with a deadline.
// What is called must have one thread.
#ifndef GPUEXEC_TOOLS_DOCTOR_CHILD_H_
#define GPUEXEC_TOOLS_DOCTOR_CHILD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/doctor/environment.h"

namespace gx::doctor {

enum class ChildEnd {
  kExited,
  kSignalled,
  // It was killed at the deadline.
  kTimedOut,
  // There was none: no process, no such program.
  kNotStarted,
};

struct ChildResult {
  ChildEnd end = ChildEnd::kNotStarted;
  // Of kExited the exit code, of kSignalled the signal, of kNotStarted errno.
  int code = 0;
  // The first kMaxOutputBytes of each.
  std::string out;
  std::string err;

  static constexpr size_t kMaxOutputBytes = size_t{1} << 20;
  bool ok() const { return end == ChildEnd::kExited && code == 0; }
};
// "ended with exit code 3", "was killed by signal 11 (Segmentation fault)", "did not end within its time", ...
std::string EndText(const ChildResult& result);

// Runs a program with this environment, standard input empty, in a process group of its own, which is killed at the
// deadline as a whole. `arguments[0]` is the path of the program. Returns a second after the deadline at the latest,
// even where the system cannot end the process (a driver that hangs).
ChildResult RunProgram(const std::vector<std::string>& arguments, const Environment& environment,
                       std::chrono::milliseconds deadline);

// What a function in a child process found out: pairs, in order. Line feeds in values become spaces.
class Answers {
 public:
  void Add(absl::string_view key, absl::string_view value) { pairs_.emplace_back(key, value); }
  // The first and the last of that key. Nothing: no such answer.
  std::optional<std::string> Get(absl::string_view key) const;
  std::optional<std::string> Last(absl::string_view key) const;
  std::optional<int64_t> Number(absl::string_view key) const;
  bool empty() const { return pairs_.empty(); }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};
// Tells the parent one answer, at once: what a child said before it died is known.
using Answer = std::function<void(absl::string_view key, absl::string_view value)>;

struct ProbeResult {
  ChildResult child;
  Answers answers;
};
// Calls `body` in a copy of this process, with CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH unset and its output to
// nowhere.
ProbeResult Probe(const std::function<void(const Answer& answer)>& body, std::chrono::milliseconds deadline);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_CHILD_H_
