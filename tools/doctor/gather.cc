#include "tools/doctor/gather.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/child.h"
#include "tools/doctor/cupti_search.h"
#include "tools/doctor/host_facts.h"
#include "tools/doctor/own_parts.h"
#include "tools/doctor/probes.h"
#include "tools/run/locations.h"

namespace gx::doctor {
namespace {

// A Python with many packages on a network disk.
constexpr std::chrono::milliseconds kPythonDeadline{10'000};
constexpr size_t kMaxPythonFolders = 64;
// After this no further libcupti is opened.
constexpr std::chrono::seconds kCopiesTime{30};

// A folder of its own, removed at the end with what is in it.
class WorkFolder {
 public:
  WorkFolder() {
    const char* parent = ::getenv("TMPDIR");
    std::string path = absl::StrCat(parent != nullptr && *parent == '/' ? parent : "/tmp", "/gx-doctor.XXXXXX");
    if (::mkdtemp(path.data()) != nullptr) path_ = path;
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void AskPython(const Environment& environment, CuptiFacts* facts) {
  const RootFolder root;
  const std::string active = environment.Text("VIRTUAL_ENV");
  if (!active.empty() && root.Exists(active + "/bin/python3")) facts->python = active + "/bin/python3";
  if (facts->python.empty()) facts->python = FindProgram(root, environment, "python3");
  if (facts->python.empty()) {
    facts->python_problem = "no python3 in PATH";
    return;
  }
  const Environment plain = environment.Without("CUDA_INJECTION64_PATH").Without("NVTX_INJECTION64_PATH");
  const ChildResult child =
      RunProgram({facts->python, "-c", "import sys\nfor folder in sys.path: print(folder)"}, plain, kPythonDeadline);
  if (!child.ok()) {
    facts->python_problem = absl::StrCat(facts->python, " ", EndText(child));
    return;
  }
  for (const absl::string_view folder : absl::StrSplit(child.out, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(folder, "/") && facts->python_folders.size() < kMaxPythonFolders) {
      facts->python_folders.emplace_back(folder);
    }
  }
}

CuptiFacts GatherCupti(const Environment& environment) {
  CuptiFacts facts;
  AskPython(environment, &facts);
  facts.copies = FindCuptiCopies(RootFolder(), environment, facts.python_folders);
  const auto begin = std::chrono::steady_clock::now();
  for (CuptiCopy& copy : facts.copies) {
    if (std::chrono::steady_clock::now() - begin < kCopiesTime) {
      ProbeCuptiVersion(&copy);
    } else {
      copy.problem = "not asked, as the others took too long";
    }
  }
  facts.loader_13 = ProbeLibrary("libcupti.so.13");
  facts.loader_12 = ProbeLibrary("libcupti.so.12");
  facts.loader_profiler_host = ProbeLibrary("libnvperf_host.so");
  return facts;
}

void SkipLive(const std::string& why, Facts* facts) { facts->timing.skipped = facts->counters.skipped = why; }

void GatherLive(const GatherOptions& options, const std::string& folder, Facts* facts) {
  if (options.live == LiveWish::kNo) return SkipLive("not run: --no-live", facts);
  if (options.live == LiveWish::kIfThereIsAGpu && !HasGpu(*facts)) return SkipLive("not run: no GPU is there", facts);
  if (facts->library.path.empty() || !facts->library.problem.empty()) {
    return SkipLive("not run: there is no library to run a program under", facts);
  }
  std::vector<std::string> command = options.program;
  const std::string kernels = command.empty() ? FindKernels(tools::OwnFolder()) : "";
  if (command.empty() && kernels.empty()) {
    return SkipLive("not run: gx-kernels is not installed; gx-doctor -- PROGRAM runs another one", facts);
  }
  if (!command.empty() && !absl::StrContains(command[0], "/")) {
    const std::string found = FindProgram(RootFolder(), options.environment, command[0]);
    if (found.empty()) return SkipLive(absl::StrCat("not run: ", command[0], " is not in PATH"), facts);
    command[0] = found;
  }
  if (command.empty()) command = {kernels, "--case", "axpy"};
  facts->timing = RunLive({command, facts->library.path, "off", folder + "/times.pb"}, options.environment);
  if (facts->timing.kernels == 0) {
    facts->counters.skipped = "not run: without times nothing is counted";
    return;
  }
  // Counting begins once times are known well enough: where two seconds did not suffice, longer.
  for (const uint64_t seconds : {2, 8}) {
    if (!kernels.empty()) {
      const uint64_t launches = LaunchesFor(seconds, facts->timing.median_kernel_ns);
      command = {kernels, "--case", "axpy", "--repeat", absl::StrCat(launches)};
    }
    facts->counters = RunLive({command, facts->library.path, "light", folder + "/counters.pb"}, options.environment);
    constexpr int64_t kAllowed = 1;  // CounterAccess.State of counter.proto
    const bool refused = facts->counters.counter_access.value_or(kAllowed) != kAllowed;
    const bool has_answer = facts->counters.counter_samples > 0 || refused || !facts->counters.trace_problem.empty();
    if (kernels.empty() || has_answer || !facts->counters.program_ok) break;
  }
}

// What stands at a path; "": nothing.
std::string KindOf(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return "";
  if (S_ISREG(status.st_mode)) return "file";
  if (S_ISDIR(status.st_mode)) return "folder";
  if (S_ISLNK(status.st_mode)) return "symbolic link";
  if (S_ISFIFO(status.st_mode)) return "pipe";
  return "device";
}

}  // namespace

std::string FindProgram(const RootFolder& root, const Environment& environment, const std::string& name) {
  for (const std::string& folder : environment.Folders("PATH")) {
    const std::string path = absl::StrCat(folder, "/", name);
    if (!root.IsFolder(path) && ::access(root.Place(path).c_str(), X_OK) == 0) return path;
  }
  return "";
}

OutputFacts ReadOutput(const RootFolder& root, const Environment& environment, const std::string& working_folder) {
  OutputFacts facts;
  facts.pattern = environment.Text("GPUEXEC_OUTPUT");
  // The default of inject/config.h.
  if (facts.pattern.empty()) facts.pattern = "trace.pb";
  std::string path = facts.pattern;
  if (path[0] != '/') path = absl::StrCat(working_folder == "/" ? "" : working_folder, "/", path);
  const size_t slash = path.rfind('/');
  facts.folder = slash == 0 ? "/" : path.substr(0, slash);
  const std::string place = root.Place(facts.folder);
  facts.folder_exists = root.IsFolder(facts.folder);
  facts.folder_writable = ::access(place.c_str(), W_OK | X_OK) == 0;
  if (path.find('%') == std::string::npos) facts.occupied_by = KindOf(root.Place(path));
  struct statvfs disk {};
  if (::statvfs(place.c_str(), &disk) == 0) facts.free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  return facts;
}

Facts GatherFacts(const GatherOptions& options) {
  Facts facts;
  facts.environment = options.environment;
  facts.host = ReadHostFacts(RootFolder(), options.environment);
  facts.cuda = ProbeCuda();
  facts.nvml = ProbeNvml(facts.cuda);
  facts.cupti = GatherCupti(options.environment);
  facts.library = FindLibrary(options.library);
  char working_folder[PATH_MAX];
  facts.output = ReadOutput(RootFolder(), options.environment,
                            ::getcwd(working_folder, sizeof(working_folder)) != nullptr ? working_folder : "/");
  const WorkFolder folder;
  if (folder.path().empty()) {
    facts.library.dry_run.tried = true;
    facts.library.dry_run.problem = "no temporary folder can be made; set TMPDIR to one";
    SkipLive("not run: no temporary folder can be made; set TMPDIR to one", &facts);
    return facts;
  }
  if (!facts.library.path.empty() && facts.library.problem.empty()) {
    facts.library.dry_run = DryRun("/proc/self/exe", facts.library.path, options.environment, folder.path());
  }
  GatherLive(options, folder.path(), &facts);
  return facts;
}

}  // namespace gx::doctor
