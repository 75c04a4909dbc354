#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/root_folder.h"

namespace gx::doctor {
namespace {

// CounterAccess.State of counter.proto.
constexpr int64_t kHeldByOther = 5;

constexpr char kLibraryName[] = "libgpuexec_inject.so";

bool IsOurs(const std::string& path, const LibraryFacts& library) {
  if (library.path.empty()) return absl::EndsWith(path, kLibraryName);
  return path == library.path || RootFolder().Canonical(path) == library.path;
}

// Variables that other profilers set in the programs that they start, or that make a program profile itself.
struct ForeignVariable {
  absl::string_view name;
  absl::string_view means;
};
constexpr auto kForeignVariables = std::to_array<ForeignVariable>({
    {"NSYS_PROFILING_SESSION_ID", "Nsight Systems started this"},
    {"KINETO_USE_DAEMON", "PyTorch subscribes to CUPTI when it is imported (pytorch/pytorch#117935)"},
    {"NVPROF_ID", "nvprof started this"},
});
// Parts of names of other tools' libraries in LD_PRELOAD.
constexpr auto kForeignLibraries =
    std::to_array<absl::string_view>({"libcupti", "libToolsInjection", "libInterceptor", "libcuda-injection",
                                      "libsanitizer", "libxpu_timer", "libnvbit", "libparcagpucupti", "libTAU"});

void CheckInjection(const Facts& facts, Verdict* verdict, std::vector<std::string>* found) {
  const std::optional<std::string> path = facts.environment.Get("CUDA_INJECTION64_PATH");
  verdict->evidence.push_back({"CUDA_INJECTION64_PATH", path.value_or("not set")});
  if (!path || path->empty() || *path == "none" || IsOurs(*path, facts.library)) return;
  found->push_back(absl::EndsWith(*path, kLibraryName) ? "CUDA_INJECTION64_PATH names another copy of the library"
                                                       : "CUDA_INJECTION64_PATH names another tool");
  verdict->fixes.push_back("unset CUDA_INJECTION64_PATH");
}

void CheckNvtx(const Facts& facts, Verdict* verdict, std::vector<std::string>* found) {
  const std::optional<std::string> path = facts.environment.Get("NVTX_INJECTION64_PATH");
  verdict->evidence.push_back({"NVTX_INJECTION64_PATH", path.value_or("not set")});
  if (!path || path->empty() || IsOurs(*path, facts.library)) return;
  found->push_back("NVTX_INJECTION64_PATH sends NVTX ranges to another tool");
  verdict->fixes.push_back("unset NVTX_INJECTION64_PATH");
}

void CheckPreload(const Facts& facts, Verdict* verdict, std::vector<std::string>* found) {
  const std::optional<std::string> preload = facts.environment.Get("LD_PRELOAD");
  verdict->evidence.push_back({"LD_PRELOAD", preload.value_or("not set")});
  if (!preload) return;
  if (absl::StrContains(*preload, kLibraryName)) {
    found->push_back("LD_PRELOAD names the library, which the driver loads by itself");
    verdict->fixes.push_back("unset LD_PRELOAD");
    return;
  }
  for (const absl::string_view name : kForeignLibraries) {
    if (!absl::StrContains(*preload, name)) continue;
    found->push_back(absl::StrCat("LD_PRELOAD names a library of another tool (", name, ")"));
    verdict->fixes.push_back("unset LD_PRELOAD");
    return;
  }
}

}  // namespace

Verdict CheckSubscribers(const Facts& facts) {
  Verdict verdict;
  verdict.check = "other-profilers";
  std::vector<std::string> found;
  CheckInjection(facts, &verdict, &found);
  CheckNvtx(facts, &verdict, &found);
  CheckPreload(facts, &verdict, &found);
  for (const ForeignVariable& variable : kForeignVariables) {
    const std::optional<std::string> value = facts.environment.Get(variable.name);
    if (!value || value->empty() || *value == "0") continue;
    verdict.evidence.push_back({std::string(variable.name), *value});
    found.push_back(absl::StrCat(variable.name, " is set: ", variable.means));
    verdict.fixes.push_back(absl::StrCat("unset ", variable.name));
  }
  if (facts.host.tracer_pid.value_or(0) != 0) {
    verdict.evidence.push_back({"/proc/self/status, TracerPid", absl::StrCat(*facts.host.tracer_pid)});
    found.push_back(absl::StrCat("process ", *facts.host.tracer_pid, " traces this one (a debugger, strace)"));
    verdict.fixes.push_back("start the program outside of it");
  }
  for (const std::string& text : facts.timing.diagnostics) {
    if (!absl::StrContains(absl::AsciiStrToLower(text), "subscri")) continue;
    verdict.evidence.push_back({"the live run", text});
    if (facts.timing.kernels > 0) continue;
    found.push_back("another tool holds CUPTI's one subscription");
  }
  verdict.level = found.empty() ? Level::kOk : Level::kWarning;
  verdict.summary = found.empty() ? "the environment asks for no other profiler" : absl::StrJoin(found, "; ");
  return verdict;
}

Verdict CheckCounterPrograms(const Facts& facts) {
  Verdict verdict;
  verdict.check = "counter-owners";
  for (const std::string& program : facts.host.counter_programs) verdict.evidence.push_back({"process", program});
  verdict.fixes = {"dcgmi profile --pause (and --resume afterwards)", "export GPUEXEC_COUNTERS=off"};
  if (facts.counters.counter_access == kHeldByOther) {
    verdict.level = Level::kWarning;
    verdict.summary = "another program holds the hardware counters, as a run showed";
    verdict.evidence.push_back({"the live run", facts.counters.counter_access_text});
    return verdict;
  }
  if (facts.counters.counter_samples > 0) {
    verdict.level = Level::kOk;
    verdict.summary = "no other program holds the hardware counters, as a run showed";
    verdict.fixes.clear();
    return verdict;
  }
  if (!facts.host.counter_programs.empty()) {
    verdict.level = Level::kWarning;
    verdict.summary = "programs run here that may hold the hardware counters: one program has them at a time";
    return verdict;
  }
  verdict.level = Level::kOk;
  verdict.summary = "no program that holds hardware counters (DCGM, Nsight) is seen";
  if (!facts.host.container_signs.empty()) {
    absl::StrAppend(&verdict.summary, " from within this container");
    verdict.evidence.push_back({"not seen", "processes of the host"});
  }
  verdict.fixes.clear();
  return verdict;
}

}  // namespace gx::doctor
