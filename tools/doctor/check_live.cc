#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/format.h"
#include "tools/doctor/checks.h"

namespace gx::doctor {
namespace {

using analysis::FormatCount;
using analysis::Plural;

// CounterAccess.State of counter.proto.
constexpr int64_t kAllowed = 1;

std::string CommandLine(const std::vector<std::string>& command) {
  return absl::StrJoin(command, " ", [](std::string* out, const std::string& word) { out->append(ShellWord(word)); });
}

// What both runs have in common. True: there is a trace to judge.
bool Begin(const LiveRun& run, const char* check, Verdict* verdict) {
  verdict->check = check;
  if (!run.tried) {
    verdict->level = Level::kNotApplicable;
    verdict->summary = run.skipped.empty() ? "not run" : run.skipped;
    return false;
  }
  verdict->evidence = {{"command", CommandLine(run.command)}, {"the program", run.ended}};
  if (!run.program_ok && !run.last_words.empty()) verdict->evidence.push_back({"it said", run.last_words});
  if (run.trace_problem.empty()) {
    verdict->evidence.push_back(
        {"trace", absl::StrCat(Plural(run.launches, "launch", "launches"), ", ", Plural(run.kernels, "kernel record"),
                               ", ", FormatCount(run.kernels_joined), " joined")});
    for (const std::string& text : run.diagnostics) verdict->evidence.push_back({"the library says", text});
  }
  return true;
}

}  // namespace

Verdict CheckLiveTiming(const Facts& facts) {
  const LiveRun& run = facts.timing;
  Verdict verdict;
  if (!Begin(run, "live-times", &verdict)) return verdict;
  verdict.level = Level::kFailure;
  verdict.fixes = {absl::StrCat("GPUEXEC_LOG=stderr CUDA_INJECTION64_PATH=", ShellWord(facts.library.path), " ",
                                CommandLine(run.command))};
  if (!run.trace_problem.empty()) {
    verdict.evidence.push_back({"trace", run.trace_problem});
    verdict.summary = run.program_ok
                          ? "a program ran under the library and left no trace: it made no CUDA call, or the "
                            "library was not loaded"
                          : absl::StrCat("a program under the library ", run.ended, " and left no trace");
  } else if (run.launches == 0) {
    verdict.summary = "a trace without launches was written";
  } else if (run.kernels == 0) {
    verdict.summary = absl::StrCat(Plural(run.launches, "launch was", "launches were"),
                                   " recorded, and CUPTI gave no times of kernels");
  } else if (!run.program_ok) {
    verdict.summary = absl::StrCat("times are recorded, but the program ", run.ended);
    verdict.level = Level::kWarning;
    verdict.fixes = {CommandLine(run.command)};
  } else if (run.kernels_untimed > 0 || run.kernels_joined < run.kernels) {
    verdict.level = Level::kWarning;
    verdict.summary = absl::StrCat("times are recorded, but of ", Plural(run.kernels, "kernel"), " ",
                                   FormatCount(run.kernels_untimed), " have none and ",
                                   FormatCount(run.kernels - run.kernels_joined), " belong to no launch");
  } else {
    verdict.level = Level::kOk;
    verdict.summary = absl::StrCat("launches and times are recorded: ", Plural(run.launches, "launch", "launches"),
                                   ", ", Plural(run.kernels, "kernel"));
    verdict.fixes.clear();
  }
  return verdict;
}

Verdict CheckLiveCounters(const Facts& facts) {
  const LiveRun& run = facts.counters;
  Verdict verdict;
  if (!Begin(run, "live-counters", &verdict)) return verdict;
  verdict.level = Level::kWarning;
  if (!run.trace_problem.empty()) {
    verdict.evidence.push_back({"trace", run.trace_problem});
    verdict.summary =
        absl::StrCat("a program under the library with hardware counters ", run.ended, " and left no trace");
    verdict.fixes = {"export GPUEXEC_COUNTERS=off"};
    return verdict;
  }
  verdict.evidence.push_back({"samples", absl::StrCat(FormatCount(run.counter_samples), ", and ",
                                                      FormatCount(run.counter_void_samples), " void")});
  if (!run.counter_access_text.empty()) verdict.evidence.push_back({"the library says", run.counter_access_text});
  if (run.counter_samples > 0) {
    verdict.level = run.program_ok ? Level::kOk : Level::kWarning;
    verdict.summary = absl::StrCat("hardware counters are read: ", Plural(run.counter_samples, "sample"));
    if (!run.program_ok) absl::StrAppend(&verdict.summary, ", but the program ", run.ended);
    return verdict;
  }
  if (run.counter_access && run.counter_access != kAllowed) {
    verdict.summary = "no hardware counters: the library was refused them";
    verdict.fixes = {"see counter-permission, counter-owners, mig, mps, vgpu, wsl", "export GPUEXEC_COUNTERS=off"};
  } else {
    verdict.summary = "no hardware counters were sampled in this run, though nobody refused them";
    verdict.fixes = {"a longer run: gx-doctor -- PROGRAM that launches the same kernels for some seconds"};
  }
  return verdict;
}

}  // namespace gx::doctor
