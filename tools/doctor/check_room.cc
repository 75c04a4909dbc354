#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/format.h"
#include "tools/doctor/checks.h"

namespace gx::doctor {
namespace {

using analysis::FormatBytes;

// Defaults of GPUEXEC_MAX_BYTES and GPUEXEC_MEMORY (inject/config.h), for where the library cannot be asked.
constexpr uint64_t kDefaultMaxBytes = uint64_t{4} << 30;
constexpr uint64_t kDefaultMemoryBytes = uint64_t{256} << 20;
// libnvperf with hardware counters (README.md, "Limits").
constexpr uint64_t kCounterLibraryBytes = uint64_t{210} << 20;
// A trace of a short run.
constexpr uint64_t kLeastFreeBytes = uint64_t{16} << 20;

}  // namespace

Verdict CheckOutput(const Facts& facts) {
  const OutputFacts& output = facts.output;
  Verdict verdict;
  verdict.check = "output";
  verdict.evidence = {{"GPUEXEC_OUTPUT", output.pattern}, {"folder", output.folder}};
  if (output.folder.find('%') != std::string::npos) {
    verdict.level = Level::kNotApplicable;
    verdict.summary = "the folder of the trace differs by process";
    return verdict;
  }
  verdict.level = Level::kFailure;
  if (!output.folder_exists) {
    verdict.summary = "the folder of the trace is not there";
    verdict.fixes = {absl::StrCat("mkdir -p ", ShellWord(output.folder))};
    return verdict;
  }
  if (!output.folder_writable) {
    verdict.summary = "the folder of the trace may not be written to";
    verdict.fixes = {"export GPUEXEC_OUTPUT=/tmp/trace.%p.pb"};
    return verdict;
  }
  if (!output.occupied_by.empty())
    verdict.evidence.push_back({"at that path is", absl::StrCat("a ", output.occupied_by)});
  if (!output.occupied_by.empty() && output.occupied_by != "file") {
    verdict.summary = absl::StrCat("a ", output.occupied_by, " stands where the trace would go");
    verdict.fixes = {"export GPUEXEC_OUTPUT=trace.%p.pb"};
    return verdict;
  }
  const uint64_t max_bytes = facts.library.dry_run.max_bytes.value_or(kDefaultMaxBytes);
  verdict.evidence.push_back({"GPUEXEC_MAX_BYTES", max_bytes == 0 ? "no limit" : FormatBytes(max_bytes)});
  if (!output.free_bytes) {
    verdict.level = Level::kUnknown;
    verdict.summary = "how much room the disk has is not known";
    return verdict;
  }
  verdict.evidence.push_back({"free", FormatBytes(*output.free_bytes)});
  if (*output.free_bytes < kLeastFreeBytes) {
    verdict.summary = absl::StrCat("the disk of the trace is full: ", FormatBytes(*output.free_bytes), " are free");
    verdict.fixes = {"export GPUEXEC_OUTPUT=/OTHER/DISK/trace.pb"};
    return verdict;
  }
  if (max_bytes == 0 || *output.free_bytes < max_bytes) {
    verdict.level = Level::kWarning;
    verdict.summary = absl::StrCat("a trace may grow to ", max_bytes == 0 ? "any size" : FormatBytes(max_bytes),
                                   ", and ", FormatBytes(*output.free_bytes), " are free");
    verdict.fixes = {absl::StrCat("export GPUEXEC_MAX_BYTES=", *output.free_bytes / 2 >> 20, "M")};
    return verdict;
  }
  verdict.level = Level::kOk;
  verdict.summary = absl::StrCat("the trace can be written, with ", FormatBytes(*output.free_bytes), " free");
  return verdict;
}

Verdict CheckMemory(const Facts& facts) {
  Verdict verdict;
  verdict.check = "memory";
  const uint64_t memory_bytes = facts.library.dry_run.memory_bytes.value_or(kDefaultMemoryBytes);
  const uint64_t needed_bytes = memory_bytes + kCounterLibraryBytes;
  verdict.evidence = {{"GPUEXEC_MEMORY", FormatBytes(memory_bytes)},
                      {"with hardware counters besides", FormatBytes(kCounterLibraryBytes)}};
  std::optional<uint64_t> room_bytes = facts.host.available_memory_bytes;
  verdict.evidence.push_back({"/proc/meminfo, MemAvailable", room_bytes ? FormatBytes(*room_bytes) : "not known"});
  if (facts.host.memory_limit_bytes) {
    verdict.evidence.push_back({"limit of the control group", FormatBytes(*facts.host.memory_limit_bytes)});
    room_bytes = std::min(room_bytes.value_or(UINT64_MAX), *facts.host.memory_limit_bytes);
  }
  if (!room_bytes) {
    verdict.level = Level::kUnknown;
    verdict.summary = "how much memory there is is not known";
  } else if (*room_bytes < needed_bytes) {
    verdict.level = Level::kWarning;
    verdict.summary = absl::StrCat("gpuexec may take ", FormatBytes(needed_bytes), " beside the program, and ",
                                   FormatBytes(*room_bytes), " are there");
    verdict.fixes = {"export GPUEXEC_MEMORY=64M", "export GPUEXEC_COUNTERS=off"};
  } else {
    verdict.level = Level::kOk;
    verdict.summary = absl::StrCat("memory suffices: at most ", FormatBytes(needed_bytes), " beside the program");
  }
  return verdict;
}

}  // namespace gx::doctor
