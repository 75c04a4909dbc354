#include "tools/doctor/own_parts.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "analysis/trace_importer.h"
#include "analysis/trace_model.h"
#include "analysis/trace_reader.h"
#include "tools/doctor/child.h"
#include "tools/doctor/root_folder.h"
#include "tools/run/library_log.h"
#include "tools/run/locations.h"
#include "tools/support/loadability.h"

namespace gx::doctor {
namespace {

using analysis::TraceModel;

// The library waits seconds at most for each thing that may hang, at start and at the end.
constexpr std::chrono::milliseconds kDryRunDeadline{30'000};
constexpr size_t kMaxLastWords = 400;
constexpr size_t kMaxDiagnostics = 20;

absl::StatusOr<TraceModel> ReadTrace(const std::string& path) {
  auto reader = analysis::TraceReader::Open(path);
  if (!reader.ok()) return reader.status();
  return analysis::ImportTrace(reader->get(), {}, [](uint64_t, uint64_t) {});
}

std::string LastWords(const std::string& text) {
  const size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  const std::string whole = text.substr(0, end + 1);
  return whole.size() <= kMaxLastWords ? whole : "..." + whole.substr(whole.size() - kMaxLastWords);
}

std::optional<uint64_t> SettingNumber(const gpuexec::v1::Header& header, absl::string_view name) {
  for (const auto& setting : header.configuration()) {
    uint64_t value = 0;
    if (setting.name() == name && absl::SimpleAtoi(setting.value(), &value)) return value;
  }
  return std::nullopt;
}

void CountKernels(const TraceModel& trace, LiveRun* run) {
  run->launches = trace.accounting.launches + trace.accounting.graph_launches;
  run->kernels = trace.accounting.kernel_records();
  run->kernels_joined = trace.accounting.kernels_joined;
  run->kernels_untimed = trace.accounting.kernels_untimed;
  // Of the kernel that ran most.
  uint64_t most = 0;
  for (const analysis::Cell& cell : trace.cells) {
    if (cell.kernel_count <= most) continue;
    most = cell.kernel_count;
    const analysis::DurationSamples& durations = cell.clean.count() > 0 ? cell.clean : cell.not_clean;
    if (durations.count() == 0) continue;
    const analysis::DurationSamples* const groups[] = {&durations};
    run->median_kernel_ns = static_cast<uint64_t>(analysis::DurationSamples::Summarise(groups).median_ns);
  }
}

void CountSamples(const TraceModel& trace, LiveRun* run) {
  for (const analysis::CounterSeries& series : trace.counters.series) {
    run->counter_samples += series.samples.usable_count();
    run->counter_void_samples += series.samples.void_count();
  }
  for (const auto& [device, access] : trace.counters.access) {
    const bool allowed = access.state() == gpuexec::v1::CounterAccess::STATE_ALLOWED;
    if (run->counter_access && allowed) continue;
    run->counter_access = access.state();
    run->counter_access_text = access.text();
  }
}

}  // namespace

std::string FindKernels(const std::string& folder) {
  const RootFolder root;
  for (const char* place : {"/gx-kernels", "/../kernels/gx-kernels"}) {
    const std::string path = folder + place;
    if (root.Exists(path) && !root.IsFolder(path)) return root.Canonical(path);
  }
  return "";
}

LibraryFacts FindLibrary(const std::string& configured) {
  LibraryFacts facts;
  facts.looked = configured.empty() ? tools::LibraryPlaces(tools::OwnFolder()) : std::vector<std::string>{configured};
  const std::string path = tools::FirstThere(facts.looked);
  if (configured.empty() && !RootFolder().Exists(path)) return facts;
  facts.path = path;
  const tools::Loadability loadable =
      tools::CheckLoadable(facts.path, {"InitializeInjection", "InitializeInjectionNvtx2"});
  facts.problem = loadable.problem;
  facts.advice = loadable.advice;
  return facts;
}

int LoadInjection(const std::string& library) {
  // The driver is in the process before the library is.
  (void)::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return 1;
  const auto initialize = reinterpret_cast<int (*)()>(::dlsym(handle, "InitializeInjection"));
  if (initialize == nullptr) return 1;
  (void)initialize();
  return 0;
}

namespace {

// What the two runs of DryRun share.
ChildResult StartAlone(const std::string& self, const std::string& library, const Environment& environment,
                       const std::string& trace, const std::string& log) {
  Environment changed = environment.With("GPUEXEC_OUTPUT", trace).With("GPUEXEC_LOG", log).Without("GPUEXEC_HELP");
  changed = changed.Without("CUDA_INJECTION64_PATH").Without("NVTX_INJECTION64_PATH");
  const std::string enable = environment.Text("GPUEXEC_ENABLE");
  if (enable == "0" || enable == "off") changed = changed.Without("GPUEXEC_ENABLE");
  return RunProgram({self, kLoadInjectionOption, library}, changed, kDryRunDeadline);
}

std::string ChildProblem(const ChildResult& child) {
  return child.ok() ? "" : absl::StrCat("the process that the library was loaded into ", EndText(child));
}

void AskSettings(const std::string& self, const std::string& library, const Environment& environment,
                 const std::string& folder, DryRunFacts* facts) {
  const std::string path = folder + "/settings.pb";
  const ChildResult child = StartAlone(self, library, environment.With("GPUEXEC_CUPTI", folder + "/no-libcupti"), path,
                                       folder + "/settings.log");
  facts->problem = ChildProblem(child);
  const absl::StatusOr<TraceModel> trace = ReadTrace(path);
  if (!trace.ok()) {
    if (facts->problem.empty()) facts->problem = std::string(trace.status().message());
    return;
  }
  if (trace->header) {
    facts->gpuexec_version = trace->header->gpuexec_version();
    facts->memory_bytes = SettingNumber(*trace->header, "GPUEXEC_MEMORY");
    facts->max_bytes = SettingNumber(*trace->header, "GPUEXEC_MAX_BYTES");
  }
  for (const auto& diagnostic : trace->diagnostics) {
    if (absl::StartsWith(diagnostic.text(), "GPUEXEC_")) facts->setting_problems.push_back(diagnostic.text());
  }
}

void AskCupti(const std::string& self, const std::string& library, const Environment& environment,
              const std::string& folder, DryRunFacts* facts) {
  const std::string path = folder + "/cupti.pb";
  const std::string log_path = folder + "/cupti.log";
  const ChildResult child = StartAlone(self, library, environment, path, log_path);
  if (facts->problem.empty()) facts->problem = ChildProblem(child);
  // Of a process that does nothing there is a trace only where nothing could be recorded.
  if (const absl::StatusOr<TraceModel> trace = ReadTrace(path); trace.ok() && trace->header) {
    facts->cupti_path = trace->header->cupti_path();
    if (trace->header->cupti_api_version() != 0) {
      facts->cupti_api_version = static_cast<int64_t>(trace->header->cupti_api_version());
    }
  }
  const std::string log = RootFolder().Read(log_path).value_or("");
  if (facts->cupti_path.empty()) facts->cupti_path = CuptiPathOfLog(log);
  for (const tools::LoggedProcess& process : tools::ReadLibraryLog(log)) {
    for (const std::string& note : process.notes) {
      if (!absl::StartsWith(note, "GPUEXEC_")) facts->other_problems.push_back(note);
    }
  }
}

}  // namespace

std::string CuptiPathOfLog(absl::string_view log) {
  const size_t begin = log.rfind(" (CUPTI ");
  if (begin == absl::string_view::npos) return "";
  absl::string_view line = log.substr(begin, log.substr(begin).find('\n'));
  const size_t at = line.find(" at ");
  if (at == absl::string_view::npos || !absl::ConsumeSuffix(&line, ")")) return "";
  return std::string(line.substr(at + 4));
}

DryRunFacts DryRun(const std::string& self, const std::string& library, const Environment& environment,
                   const std::string& folder) {
  DryRunFacts facts;
  facts.tried = true;
  AskSettings(self, library, environment, folder, &facts);
  AskCupti(self, library, environment, folder, &facts);
  return facts;
}

LiveRun RunLive(const LivePlan& plan, const Environment& environment) {
  LiveRun run;
  run.tried = true;
  run.command = plan.command;
  const Environment injected = environment.With("CUDA_INJECTION64_PATH", plan.library)
                                   .With("GPUEXEC_OUTPUT", plan.trace_path)
                                   .With("GPUEXEC_COUNTERS", plan.counters)
                                   .With("GPUEXEC_BUDGET", "off")
                                   .Without("GPUEXEC_ENABLE")
                                   .Without("GPUEXEC_REGION")
                                   .Without("GPUEXEC_START_AFTER")
                                   .Without("GPUEXEC_DURATION")
                                   .Without("GPUEXEC_TIMING")
                                   .Without("GPUEXEC_LOG")
                                   .Without("GPUEXEC_HELP")
                                   .Without("GPUEXEC_REPLAY");
  const ChildResult child = RunProgram(plan.command, injected, std::chrono::seconds(kLiveDeadlineSeconds));
  run.ended = EndText(child);
  run.program_ok = child.ok();
  run.last_words = LastWords(child.err.empty() ? child.out : child.err);
  const absl::StatusOr<TraceModel> trace = ReadTrace(plan.trace_path);
  if (!trace.ok()) {
    run.trace_problem = std::string(trace.status().message());
    return run;
  }
  CountKernels(*trace, &run);
  CountSamples(*trace, &run);
  if (trace->header) {
    run.cupti_path = trace->header->cupti_path();
    run.driver_version = trace->header->driver_version();
    if (trace->header->cupti_api_version() != 0) {
      run.cupti_api_version = static_cast<int64_t>(trace->header->cupti_api_version());
    }
  }
  for (const auto& diagnostic : trace->diagnostics) {
    if (run.diagnostics.size() < kMaxDiagnostics) run.diagnostics.push_back(diagnostic.text());
  }
  return run;
}

uint64_t LaunchesFor(uint64_t seconds, std::optional<uint64_t> kernel_ns) {
  constexpr uint64_t kNsPerSecond = 1'000'000'000;
  // Under injection a launch takes the host some 7 us at the least (README.md, "What it costs").
  constexpr uint64_t kLaunchNs = 7'000;
  constexpr uint64_t kMaxLaunches = 1'000'000;
  const uint64_t each_ns = std::max(kernel_ns.value_or(0), kLaunchNs);
  return std::clamp<uint64_t>(seconds * kNsPerSecond / each_ns, 100, kMaxLaunches);
}

}  // namespace gx::doctor
