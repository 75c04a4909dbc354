#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/doctor/checks.h"

namespace gx::doctor {
namespace {

// Of a sentence of inject/config.cc, which begins with the variable's name and may end in "(did you mean NAME?)".
std::string FixOf(const std::string& problem, const Environment& environment) {
  const std::string name = problem.substr(0, problem.find_first_of(" =:"));
  constexpr absl::string_view kMean = "(did you mean ";
  const size_t at = problem.find(kMean.data());
  if (at == std::string::npos) return absl::StrCat("unset ", name);
  const std::string meant = problem.substr(at + kMean.size(), problem.find('?', at) - at - kMean.size());
  return absl::StrCat("unset ", name, "; export ", meant, "=", ShellWord(environment.Text(name)));
}

void AddOnce(std::string text, std::vector<std::string>* texts) {
  if (std::find(texts->begin(), texts->end(), text) == texts->end()) texts->push_back(std::move(text));
}

}  // namespace

Verdict CheckLibrary(const Facts& facts) {
  const LibraryFacts& library = facts.library;
  Verdict verdict;
  verdict.check = "library";
  verdict.level = Level::kFailure;
  if (library.path.empty()) {
    verdict.summary = "libgpuexec_inject.so was not found";
    verdict.evidence = {{"looked for", absl::StrJoin(library.looked, " ")}};
    verdict.fixes = {"gx-doctor --library PATH",
                     "build it with a CUDA toolkit 13.0 or newer: cmake --preset release && cmake --build build"};
    return verdict;
  }
  verdict.evidence = {{"path", library.path}};
  if (!library.problem.empty()) {
    verdict.summary = "libgpuexec_inject.so does not load; the driver would leave it out without a word";
    verdict.evidence.push_back({"why", library.problem});
    if (!library.advice.empty()) verdict.fixes = {library.advice};
    return verdict;
  }
  verdict.level = Level::kOk;
  verdict.summary = "libgpuexec_inject.so loads";
  const DryRunFacts& dry_run = library.dry_run;
  if (!dry_run.gpuexec_version.empty()) verdict.evidence.push_back({"version", dry_run.gpuexec_version});
  if (dry_run.tried && !dry_run.problem.empty()) {
    verdict.level = Level::kWarning;
    verdict.summary = "libgpuexec_inject.so loads, but did not start and end in order";
    verdict.evidence.push_back({"started without a program", dry_run.problem});
    verdict.fixes = {"GPUEXEC_LOG=stderr in the environment of a CUDA program says more"};
  }
  return verdict;
}

Verdict CheckSettings(const Facts& facts) {
  const DryRunFacts& dry_run = facts.library.dry_run;
  Verdict verdict;
  verdict.check = "settings";
  for (const std::string& entry : facts.environment.entries()) {
    if (entry.compare(0, 8, "GPUEXEC_") != 0) continue;
    const size_t equals = entry.find('=');
    verdict.evidence.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
  }
  const std::string enable = facts.environment.Text("GPUEXEC_ENABLE");
  if (enable == "0" || enable == "off") {
    verdict.level = Level::kWarning;
    verdict.summary = "GPUEXEC_ENABLE switches recording off";
    verdict.fixes = {"unset GPUEXEC_ENABLE"};
  }
  for (const std::string& problem : dry_run.setting_problems) {
    verdict.evidence.push_back({"the library says", problem});
    AddOnce(FixOf(problem, facts.environment), &verdict.fixes);
  }
  if (!dry_run.setting_problems.empty()) {
    verdict.level = Level::kWarning;
    if (verdict.summary.empty()) {
      verdict.summary = dry_run.setting_problems.size() == 1
                            ? "a GPUEXEC_ variable is not understood"
                            : absl::StrCat(dry_run.setting_problems.size(), " GPUEXEC_ variables are not understood");
    }
    verdict.fixes.push_back("GPUEXEC_HELP=1 in the environment of a CUDA program lists all of them");
    return verdict;
  }
  if (verdict.level == Level::kWarning) return verdict;
  if (verdict.evidence.empty()) {
    verdict.level = Level::kOk;
    verdict.summary = "no GPUEXEC_ variable is set: defaults hold";
  } else if (!dry_run.tried || dry_run.gpuexec_version.empty()) {
    verdict.level = Level::kUnknown;
    verdict.summary = "GPUEXEC_ variables are set; without the library nobody knows what they mean";
  } else {
    verdict.level = Level::kOk;
    verdict.summary = "the library understands every GPUEXEC_ variable";
  }
  return verdict;
}

}  // namespace gx::doctor
