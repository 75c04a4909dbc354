#include "tools/run/library_log.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analysis/printable.h"

namespace gx::tools {
namespace {

// The lines of inject/log.cc, session.cc and writer.cc that are understood; tests/e2e/gx_run_test.cc holds them
// together.
constexpr absl::string_view kPrefix = "gpuexec ";
constexpr absl::string_view kRecords = " records to ";
constexpr absl::string_view kRecordsNothing = " records nothing: ";
constexpr absl::string_view kTrace = "trace is written to ";

void AddOnce(std::string text, size_t limit, std::vector<std::string>* texts) {
  if (texts->size() < limit && std::find(texts->begin(), texts->end(), text) == texts->end()) {
    texts->push_back(std::move(text));
  }
}

}  // namespace

std::vector<LoggedProcess> ReadLibraryLog(absl::string_view text) {
  std::vector<LoggedProcess> processes;
  std::map<int64_t, size_t> places;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, kPrefix)) continue;
    const size_t colon = line.find(": ");
    int64_t pid = 0;
    if (colon == absl::string_view::npos || !absl::SimpleAtoi(line.substr(0, colon), &pid)) continue;
    line.remove_prefix(colon + 2);
    const auto [place, is_new] = places.emplace(pid, processes.size());
    if (is_new) processes.emplace_back().pid = pid;
    LoggedProcess& process = processes[place->second];
    if (absl::ConsumePrefix(&line, kTrace)) {
      AddOnce(std::string(line), SIZE_MAX, &process.traces);
      continue;
    }
    // "gpuexec 0.1.0 records ..."
    if (absl::StartsWith(line, kPrefix)) {
      if (const size_t at = line.find(kRecordsNothing); at != absl::string_view::npos) {
        process.reason = analysis::Printable(line.substr(at + kRecordsNothing.size()));
        continue;
      }
      if (absl::StrContains(line, kRecords)) {
        process.records = true;
        continue;
      }
    }
    AddOnce(analysis::Printable(line), kMaxNotes, &process.notes);
  }
  return processes;
}

}  // namespace gx::tools
