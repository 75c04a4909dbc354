#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/cupti_traps.h"

namespace gx::doctor {
namespace {

std::string Shown(const CuptiCopy& copy) {
  std::string text = copy.api_version ? absl::StrCat("CUPTI ", CuptiVersionText(*copy.api_version)) : copy.problem;
  if (text.empty()) text = "version not asked";
  if (!copy.file_version.empty()) absl::StrAppend(&text, ", file version ", copy.file_version);
  absl::StrAppend(&text, ", found by ", copy.found_by);
  if (copy.canonical != copy.path) absl::StrAppend(&text, ", is ", copy.canonical);
  return text;
}

bool IsCopy(const CuptiCopy& copy, const ChosenCupti& chosen) {
  return !chosen.path.empty() && (copy.path == chosen.path || copy.canonical == chosen.path);
}

// The newest supported copy that is no newer than the driver, and not the one in use.
const CuptiCopy* BetterCopy(const Facts& facts, const ChosenCupti& chosen) {
  const CuptiCopy* best = nullptr;
  for (const CuptiCopy& copy : facts.cupti.copies) {
    if (!copy.api_version || !IsSupportedCupti(*copy.api_version) || IsCopy(copy, chosen)) continue;
    const int64_t driver = facts.cuda.driver_api_version.value_or(INT64_MAX);
    if (CudaVersionOfCupti(*copy.api_version) > driver) continue;
    if (best == nullptr || CudaVersionOfCupti(*copy.api_version) > CudaVersionOfCupti(*best->api_version)) best = &copy;
  }
  return best;
}

void AddFix(const Facts& facts, const ChosenCupti& chosen, Verdict* verdict) {
  if (const CuptiCopy* better = BetterCopy(facts, chosen)) {
    verdict->fixes.push_back(absl::StrCat("export GPUEXEC_CUPTI=", ShellWord(better->path)));
  } else {
    verdict->fixes.push_back("python3 -m pip install nvidia-cuda-cupti, then GPUEXEC_CUPTI=PATH of its libcupti.so.13");
  }
}

}  // namespace

ChosenCupti CuptiInUse(const Facts& facts) {
  const DryRunFacts& dry_run = facts.library.dry_run;
  ChosenCupti chosen;
  if (!facts.timing.cupti_path.empty()) {
    chosen = {facts.timing.cupti_path, facts.timing.cupti_api_version, "the live run's trace"};
  } else if (!dry_run.cupti_path.empty()) {
    chosen = {dry_run.cupti_path, dry_run.cupti_api_version, "the library, started alone"};
  } else if (facts.cupti.loader_13.loaded()) {
    chosen = {facts.cupti.loader_13.path, std::nullopt, "the loader"};
  } else if (facts.cupti.loader_12.loaded()) {
    chosen = {facts.cupti.loader_12.path, std::nullopt, "the loader"};
  }
  if (chosen.api_version) return chosen;
  for (const CuptiCopy& copy : facts.cupti.copies) {
    if (IsCopy(copy, chosen)) chosen.api_version = copy.api_version;
  }
  return chosen;
}

Verdict CheckCupti(const Facts& facts) {
  const ChosenCupti chosen = CuptiInUse(facts);
  Verdict verdict;
  verdict.check = "cupti";
  for (const CuptiCopy& copy : facts.cupti.copies) verdict.evidence.push_back({copy.path, Shown(copy)});
  const auto loader = [&verdict](const char* name, const OpenedLibrary& opened) {
    if (!opened.tried) return;
    verdict.evidence.push_back({absl::StrCat("the loader, ", name), opened.loaded() ? opened.path : opened.problem});
  };
  loader("libcupti.so.13", facts.cupti.loader_13);
  loader("libcupti.so.12", facts.cupti.loader_12);
  if (!facts.cupti.python_problem.empty()) verdict.evidence.push_back({"Python packages", facts.cupti.python_problem});
  for (const std::string& problem : facts.library.dry_run.other_problems) {
    // Without a driver CUPTI refuses everything, which says nothing of CUPTI.
    const bool of_cupti =
        absl::StrContains(problem, "libcupti") || (HasGpu(facts) && absl::StrContains(problem, "CUPTI"));
    if (of_cupti) {
      verdict.evidence.push_back({"the library says", problem});
    }
  }
  verdict.level = Level::kFailure;
  if (chosen.path.empty()) {
    if (facts.library.path.empty() || !facts.library.problem.empty()) {
      verdict.summary = "no libcupti that the loader finds, and no library to look further";
    } else {
      verdict.summary = "the library finds no libcupti of CUDA 12.8 or newer: nothing would be recorded";
    }
    AddFix(facts, chosen, &verdict);
    return verdict;
  }
  verdict.evidence.push_back({"would win", absl::StrCat(chosen.path, ", says ", chosen.known_from)});
  const size_t others = static_cast<size_t>(std::count_if(
      facts.cupti.copies.begin(), facts.cupti.copies.end(),
      [&chosen](const CuptiCopy& copy) { return copy.path != chosen.path && copy.canonical != chosen.path; }));
  if (!chosen.api_version) {
    verdict.level = Level::kUnknown;
    verdict.summary = absl::StrCat(chosen.path, " would win; its version is not known");
    return verdict;
  }
  verdict.summary = absl::StrCat("CUPTI ", CuptiVersionText(*chosen.api_version), " at ", chosen.path, " would win");
  if (others > 0) absl::StrAppend(&verdict.summary, " over ", others, others == 1 ? " other" : " others");
  const int64_t cuda_version = CudaVersionOfCupti(*chosen.api_version);
  if (!IsSupportedCupti(*chosen.api_version)) {
    absl::StrAppend(&verdict.summary, "; gpuexec needs 12.8 to 13.x");
    AddFix(facts, chosen, &verdict);
    return verdict;
  }
  verdict.level = Level::kOk;
  if (facts.cuda.driver_api_version && cuda_version > *facts.cuda.driver_api_version) {
    verdict.level = Level::kWarning;
    absl::StrAppend(&verdict.summary, "; it is newer than the driver, which is for CUDA ",
                    CudaVersionText(*facts.cuda.driver_api_version), ", and may be refused");
    AddFix(facts, chosen, &verdict);
  } else if (*chosen.api_version < kCupti130) {
    verdict.level = Level::kWarning;
    absl::StrAppend(&verdict.summary, "; hardware counters need 13.0");
    AddFix(facts, chosen, &verdict);
  }
  for (const CuptiCopy& copy : facts.cupti.copies) {
    if (!copy.of_python || IsCopy(copy, chosen)) continue;
    // No fault: what is mapped first is used (inject/cupti_api.h).
    verdict.evidence.push_back(
        {"in a Python program that loads it before CUDA starts", absl::StrCat(copy.path, " wins")});
  }
  return verdict;
}

Verdict CheckCuptiTraps(const Facts& facts) {
  const ChosenCupti chosen = CuptiInUse(facts);
  Verdict verdict;
  verdict.check = "cupti-faults";
  if (!chosen.api_version) {
    verdict.level = Level::kNotApplicable;
    verdict.summary = "the version of libcupti is not known";
    return verdict;
  }
  verdict.level = Level::kOk;
  size_t to_do = 0;
  const std::vector<CuptiTrap> traps = TrapsOf(*chosen.api_version);
  for (const CuptiTrap& trap : traps) {
    if (trap.needs_action) ++to_do;
    verdict.evidence.push_back({trap.needs_action ? "no counters because of" : "for information",
                                absl::StrCat(trap.fault, "; ", trap.here, " (", trap.source, ")")});
  }
  const std::string version = CuptiVersionText(*chosen.api_version);
  if (to_do > 0) {
    verdict.level = Level::kWarning;
    verdict.summary = absl::StrCat("CUPTI ", version, " has ", to_do, " known ", to_do == 1 ? "fault" : "faults",
                                   " because of which gpuexec takes no hardware counters");
    AddFix(facts, chosen, &verdict);
  } else if (traps.empty()) {
    verdict.summary = absl::StrCat("no fault of CUPTI ", version, " is known here");
  } else {
    verdict.summary = absl::StrCat("CUPTI ", version, ": ", traps.size(), " known ",
                                   traps.size() == 1 ? "fault" : "faults", ", none that asks for anything");
  }
  return verdict;
}

Verdict CheckCounterHost(const Facts& facts) {
  const ChosenCupti chosen = CuptiInUse(facts);
  Verdict verdict;
  verdict.check = "counter-library";
  if (chosen.path.empty() || (chosen.api_version && *chosen.api_version < kCupti130)) {
    verdict.level = Level::kNotApplicable;
    verdict.summary = "no libcupti that has hardware counters";
    return verdict;
  }
  for (const CuptiCopy& copy : facts.cupti.copies) {
    if (!IsCopy(copy, chosen) || !copy.has_profiler_host) continue;
    verdict.level = Level::kOk;
    verdict.summary = "libnvperf_host.so, which hardware counters need, stands beside libcupti";
    verdict.evidence = {{"libcupti", chosen.path}};
    return verdict;
  }
  const OpenedLibrary& opened = facts.cupti.loader_profiler_host;
  if (opened.loaded()) {
    verdict.level = Level::kOk;
    verdict.summary = "the loader finds libnvperf_host.so, which hardware counters need";
    verdict.evidence = {{"path", opened.path}};
    return verdict;
  }
  verdict.level = Level::kWarning;
  verdict.summary = "libnvperf_host.so is neither beside libcupti nor found by the loader: no hardware counters";
  verdict.evidence = {{"libcupti", chosen.path}, {"loader", opened.problem}};
  AddFix(facts, chosen, &verdict);
  return verdict;
}

}  // namespace gx::doctor
