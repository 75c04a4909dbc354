// Facts in; level, summary, evidence and fix out. Each row breaks one thing of a healthy machine.
#include "tools/doctor/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/doctor/healthy_facts.h"

namespace gx::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Row {
  const char* name;
  std::function<void(Facts* facts)> change;
  Verdict (*check)(const Facts& facts);
  Level level;
  // Parts of the summary, of one piece of evidence ("what: value") and of one fix; "": none is asked for.
  const char* summary;
  const char* evidence;
  const char* fix;
};

std::string AllEvidence(const Verdict& verdict) {
  std::string all;
  for (const Evidence& evidence : verdict.evidence) absl::StrAppend(&all, evidence.what, ": ", evidence.value, "\n");
  return all;
}

std::string AllFixes(const Verdict& verdict) {
  std::string all;
  for (const std::string& fix : verdict.fixes) absl::StrAppend(&all, fix, "\n");
  return all;
}

void Check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Facts facts = HealthyFacts();
    row.change(&facts);
    const Verdict verdict = row.check(facts);
    EXPECT_EQ(LevelName(verdict.level), LevelName(row.level)) << verdict.summary;
    EXPECT_THAT(verdict.summary, HasSubstr(row.summary));
    EXPECT_THAT(AllEvidence(verdict), HasSubstr(row.evidence));
    EXPECT_THAT(AllFixes(verdict), HasSubstr(row.fix));
    if (*row.fix == '\0') {
      EXPECT_THAT(verdict.fixes, IsEmpty());
    }
  }
}

void NoDriver(Facts* facts) {
  facts->cuda = CudaFacts();
  facts->cuda.library.tried = true;
  facts->cuda.library.problem = "libcuda.so.1: cannot open shared object file";
  facts->nvml = NvmlFacts();
  facts->nvml.library = facts->cuda.library;
  facts->host.kernel_module_version.clear();
  facts->host.device_nodes.clear();
  facts->host.admin_only.reset();
  facts->timing = facts->counters = LiveRun();
}

void NoLiveRun(Facts* facts) { facts->timing = facts->counters = LiveRun(); }

TEST(Checks, NothingIsWrongWithAHealthyMachine) {
  const std::vector<Verdict> verdicts = CheckAll(HealthyFacts());
  for (const Verdict& verdict : verdicts) {
    EXPECT_TRUE(verdict.level == Level::kOk || verdict.level == Level::kNotApplicable)
        << verdict.check << ": " << verdict.summary;
    EXPECT_THAT(verdict.fixes, IsEmpty()) << verdict.check;
  }
  EXPECT_EQ(HealthOf(verdicts), Health::kAllWell);
}

TEST(Checks, EveryCheckSaysSomethingUnderANameOfItsOwnWhateverIsMissing) {
  for (const Facts& facts : {Facts(), HealthyFacts()}) {
    std::set<std::string> names;
    for (const Verdict& verdict : CheckAll(facts)) {
      EXPECT_FALSE(verdict.summary.empty()) << verdict.check;
      EXPECT_TRUE(names.insert(verdict.check).second) << verdict.check;
    }
    EXPECT_EQ(names.size(), 21u);
  }
}

TEST(Checks, WithoutADriverNothingCanBeRecorded) {
  Facts facts = HealthyFacts();
  NoDriver(&facts);
  EXPECT_EQ(HealthOf(CheckAll(facts)), Health::kUnusable);
}

TEST(Health, IsTheWorstThatIsSaid) {
  const auto health = [](std::vector<Level> levels) {
    std::vector<Verdict> verdicts;
    for (const Level level : levels) verdicts.push_back({"a", level, "b", {}, {}});
    return HealthOf(verdicts);
  };
  EXPECT_EQ(health({}), Health::kAllWell);
  EXPECT_EQ(health({Level::kOk, Level::kNotApplicable}), Health::kAllWell);
  EXPECT_EQ(health({Level::kOk, Level::kUnknown}), Health::kDegraded);
  EXPECT_EQ(health({Level::kWarning, Level::kOk}), Health::kDegraded);
  EXPECT_EQ(health({Level::kWarning, Level::kFailure, Level::kOk}), Health::kUnusable);
}

TEST(Checks, Driver) {
  Check({
      {"healthy", [](Facts*) {}, CheckDriver, Level::kOk, "NVIDIA driver 580.159.04, for CUDA up to 13.0",
       "NVML: 580.159.04 at /lib/x86_64-linux-gnu/libnvidia-ml.so.1", ""},
      {"none", NoDriver, CheckDriver, Level::kFailure, "no NVIDIA driver is loaded",
       "/proc/driver/nvidia/version: absent", "sudo modprobe nvidia"},
      {"none, in a container",
       [](Facts* facts) {
         NoDriver(facts);
         facts->host.container_signs = {"/.dockerenv"};
       },
       CheckDriver, Level::kFailure, "no NVIDIA driver", "no /dev/nvidia*", "docker run --gpus all"},
      {"nouveau",
       [](Facts* facts) {
         NoDriver(facts);
         facts->host.nouveau_loaded = true;
       },
       CheckDriver, Level::kFailure, "nouveau", "", "modprobe"},
      {"loaded, without device files",
       [](Facts* facts) {
         facts->cuda.init_result = 100;
         facts->cuda.device_count.reset();
         facts->host.device_nodes.clear();
       },
       CheckDriver, Level::kFailure, "without a device file", "no /dev/nvidia*", "nvidia-modprobe"},
      {"only libcuda answers",
       [](Facts* facts) {
         facts->host.kernel_module_version.clear();
         facts->nvml.driver_version.clear();
       },
       CheckDriver, Level::kUnknown, "no version", "NVML: no answer", ""},
  });
}

TEST(Checks, Libcuda) {
  Check({
      {"healthy", [](Facts*) {}, CheckLibcuda, Level::kOk, "libcuda.so.580.159.04", "cuInit: returned 0 (CUDA_SUCCESS)",
       ""},
      {"absent", NoDriver, CheckLibcuda, Level::kFailure, "does not load", "loader: libcuda.so.1: cannot open",
       "ldconfig"},
      {"a stub by its folder",
       [](Facts* facts) {
         facts->cuda.library.path = facts->cuda.library.canonical = "/usr/local/cuda/lib64/stubs/libcuda.so.1";
         facts->environment = Environment({"LD_LIBRARY_PATH=/a:/usr/local/cuda/lib64/stubs:/b"});
       },
       CheckLibcuda, Level::kFailure, "is a stub", "stubs", "export LD_LIBRARY_PATH=/a:/b"},
      {"a stub by its answer",
       [](Facts* facts) {
         facts->cuda.library.path = "/x/libcuda.so.1";
         facts->cuda.init_result = 34;
         facts->environment = Environment({"LD_LIBRARY_PATH=/x"});
       },
       CheckLibcuda, Level::kFailure, "is a stub", "cuInit: returned 34", "unset LD_LIBRARY_PATH"},
      {"of another version than the module", [](Facts* facts) { facts->host.kernel_module_version = "575.51.03"; },
       CheckLibcuda, Level::kFailure, "580.159.04 and 575.51.03", "", "sudo reboot"},
      {"the driver says so itself", [](Facts* facts) { facts->cuda.init_result = 803; }, CheckLibcuda, Level::kFailure,
       "another version", "returned 803", "sudo reboot"},
      {"CUDA's compatibility package is not a mismatch",
       [](Facts* facts) { facts->cuda.library.canonical = "/usr/local/cuda/compat/libcuda.so.590.1.1"; }, CheckLibcuda,
       Level::kOk, "compat", "", ""},
      {"cuInit hangs",
       [](Facts* facts) {
         facts->cuda.init_result.reset();
         facts->cuda.stuck = "cuInit: the process did not end within its time and was killed";
       },
       CheckLibcuda, Level::kFailure, "does not come back", "stuck in: cuInit: the process did not end", "dmesg"},
  });
}

TEST(Checks, Devices) {
  Check({
      {"healthy", [](Facts*) {}, CheckDevices, Level::kOk, "1 GPU, the first NVIDIA H200",
       "device 0: NVIDIA H200, compute capability 9.0, 0 other processes", ""},
      {"without libcuda", NoDriver, CheckDevices, Level::kNotApplicable, "without libcuda", "", ""},
      {"hidden by the environment",
       [](Facts* facts) {
         facts->cuda.init_result = 100;
         facts->cuda.init_text = "CUDA_ERROR_NO_DEVICE";
         facts->environment = Environment({"CUDA_VISIBLE_DEVICES="});
       },
       CheckDevices, Level::kFailure, "no GPU", "CUDA_VISIBLE_DEVICES: ''", "unset CUDA_VISIBLE_DEVICES"},
      {"none", [](Facts* facts) { facts->cuda.device_count = 0; }, CheckDevices, Level::kFailure, "no GPU",
       "CUDA_VISIBLE_DEVICES: not set", "nvidia-smi"},
      {"too old for CUDA 13",
       [](Facts* facts) {
         facts->cuda.devices = {{"Tesla V100", "", 7, 0}};
       },
       CheckDevices, Level::kWarning, "below compute capability 7.5", "Tesla V100, compute capability 7.0",
       "GPUEXEC_CUPTI=PATH"},
  });
}

TEST(Checks, Library) {
  Check({
      {"healthy", [](Facts*) {}, CheckLibrary, Level::kOk, "loads", "path: /opt/gpuexec/lib/libgpuexec_inject.so", ""},
      {"nowhere",
       [](Facts* facts) {
         facts->library = LibraryFacts();
         facts->library.looked = {"/a/libgpuexec_inject.so", "/b/libgpuexec_inject.so"};
       },
       CheckLibrary, Level::kFailure, "not found", "looked for: /a/libgpuexec_inject.so /b/", "--library PATH"},
      {"does not load",
       [](Facts* facts) {
         facts->library.problem = "/x.so needs libfoo.so";
         facts->library.advice = "install libfoo";
       },
       CheckLibrary, Level::kFailure, "does not load", "why: /x.so needs libfoo.so", "install libfoo"},
      {"dies at start", [](Facts* facts) { facts->library.dry_run.problem = "was killed by signal 11"; }, CheckLibrary,
       Level::kWarning, "did not start and end in order", "signal 11", "GPUEXEC_LOG"},
  });
}

TEST(Checks, Settings) {
  Check({
      {"none", [](Facts*) {}, CheckSettings, Level::kOk, "defaults hold", "", ""},
      {"understood", [](Facts* facts) { facts->environment = Environment({"GPUEXEC_BUDGET=2"}); }, CheckSettings,
       Level::kOk, "understands", "GPUEXEC_BUDGET: 2", ""},
      {"a typo",
       [](Facts* facts) {
         facts->environment = Environment({"GPUEXEC_COUNTRS=a b"});
         facts->library.dry_run.setting_problems = {
             "GPUEXEC_COUNTRS is not a variable of gpuexec and was ignored (did you mean GPUEXEC_COUNTERS?)."};
       },
       CheckSettings, Level::kWarning, "a GPUEXEC_ variable is not understood", "did you mean",
       "unset GPUEXEC_COUNTRS; export GPUEXEC_COUNTERS='a b'\n"},
      {"a value that is none",
       [](Facts* facts) {
         facts->environment = Environment({"GPUEXEC_BUDGET=lots", "GPUEXEC_X=1"});
         facts->library.dry_run.setting_problems = {"GPUEXEC_BUDGET=\"lots\" is not valid", "GPUEXEC_X is not"};
       },
       CheckSettings, Level::kWarning, "2 GPUEXEC_ variables", "GPUEXEC_BUDGET: lots", "unset GPUEXEC_BUDGET\n"},
      {"switched off", [](Facts* facts) { facts->environment = Environment({"GPUEXEC_ENABLE=0"}); }, CheckSettings,
       Level::kWarning, "switches recording off", "GPUEXEC_ENABLE: 0", "unset GPUEXEC_ENABLE"},
      {"nobody to ask",
       [](Facts* facts) {
         facts->environment = Environment({"GPUEXEC_BUDGET=2"});
         facts->library = LibraryFacts();
       },
       CheckSettings, Level::kUnknown, "without the library", "GPUEXEC_BUDGET: 2", ""},
  });
}

CuptiCopy Copy(const std::string& path, int64_t version) {
  CuptiCopy copy;
  copy.path = copy.canonical = path;
  copy.found_by = "a test";
  copy.api_version = version;
  return copy;
}

// The copy in use, everywhere where its version shows.
void UseVersion(int64_t version, Facts* facts) {
  facts->cupti.copies[0].api_version = version;
  facts->timing.cupti_api_version = version;
}

TEST(Checks, Cupti) {
  Check({
      {"healthy", [](Facts*) {}, CheckCupti, Level::kOk,
       "CUPTI 13.0.1 at /usr/local/cuda/lib64/libcupti.so.2025.3.1 would win",
       "/usr/local/cuda/lib64/libcupti.so: CUPTI 13.0.1, file version 2025.3.1, found by /usr/local/cuda*", ""},
      {"several", [](Facts* facts) { facts->cupti.copies.push_back(Copy("/b/libcupti.so.12", 27)); }, CheckCupti,
       Level::kOk, "would win over 1 other", "/b/libcupti.so.12: CUPTI 12.9, found by a test", ""},
      {"Python brings one",
       [](Facts* facts) {
         facts->cupti.copies.push_back(Copy("/p/nvidia/cu13/lib/libcupti.so.13", 130000));
         facts->cupti.copies.back().of_python = true;
       },
       CheckCupti, Level::kOk, "would win", "/p/nvidia/cu13/lib/libcupti.so.13 wins", ""},
      {"none",
       [](Facts* facts) {
         NoLiveRun(facts);
         facts->cupti = CuptiFacts();
         facts->cupti.loader_13.tried = true;
         facts->cupti.loader_13.problem = "cannot open";
         facts->library.dry_run.cupti_path.clear();
       },
       CheckCupti, Level::kFailure, "finds no libcupti", "the loader, libcupti.so.13: cannot open",
       "pip install nvidia-cuda-cupti"},
      {"too old, and a better one is there",
       [](Facts* facts) {
         UseVersion(24, facts);
         facts->cupti.copies.push_back(Copy("/b c/libcupti.so.13", 130001));
       },
       CheckCupti, Level::kFailure, "gpuexec needs 12.8 to 13.x", "", "export GPUEXEC_CUPTI='/b c/libcupti.so.13'"},
      {"without counters", [](Facts* facts) { UseVersion(27, facts); }, CheckCupti, Level::kWarning,
       "hardware counters need 13.0", "", "nvidia-cuda-cupti"},
      {"newer than the driver",
       [](Facts* facts) {
         facts->cuda.driver_api_version = 12090;
         facts->cupti.copies.push_back(Copy("/b/libcupti.so.14", 140000));
         facts->cupti.copies.push_back(Copy("/b/libcupti.so.12", 27));
       },
       CheckCupti, Level::kWarning, "newer than the driver, which is for CUDA 12.9", "",
       "export GPUEXEC_CUPTI=/b/libcupti.so.12"},
      {"its version is not known",
       [](Facts* facts) {
         facts->timing.cupti_api_version.reset();
         facts->cupti.copies[0].api_version.reset();
         facts->cupti.copies[0].problem = "the process that loaded it was killed by signal 11";
       },
       CheckCupti, Level::kUnknown, "not known", "killed by signal 11", ""},
      {"Python does not answer", [](Facts* facts) { facts->cupti.python_problem = "python3 did not end"; }, CheckCupti,
       Level::kOk, "", "Python packages: python3 did not end", ""},
      {"a second copy is in the process",
       [](Facts* facts) { facts->library.dry_run.other_problems = {"two copies of libcupti are in the process"}; },
       CheckCupti, Level::kOk, "", "the library says: two copies of libcupti", ""},
  });
}

TEST(Checks, TheBestEvidenceSaysWhichCuptiIsUsed) {
  Facts facts = HealthyFacts();
  facts.timing.cupti_path = "/live/libcupti.so";
  facts.library.dry_run.cupti_path = "/alone/libcupti.so";
  EXPECT_EQ(CuptiInUse(facts).path, "/live/libcupti.so");
  NoLiveRun(&facts);
  EXPECT_EQ(CuptiInUse(facts).path, "/alone/libcupti.so");
  facts.library.dry_run.cupti_path.clear();
  EXPECT_EQ(CuptiInUse(facts).path, kCuptiPath);
  EXPECT_EQ(CuptiInUse(facts).api_version, 130001);
  facts.cupti.loader_13 = OpenedLibrary();
  facts.cupti.loader_12.path = "/l/libcupti.so.12";
  EXPECT_EQ(CuptiInUse(facts).path, "/l/libcupti.so.12");
  EXPECT_EQ(CuptiInUse(facts).api_version, std::nullopt);
  facts.cupti.loader_12 = OpenedLibrary();
  EXPECT_EQ(CuptiInUse(facts).path, "");
}

TEST(Checks, CuptiFaultsAndWhatCountersNeed) {
  Check({
      {"13.0.1", [](Facts*) {}, CheckCuptiTraps, Level::kOk, "none that asks for anything", "parca-dev/parcagpu#23",
       ""},
      {"13.0", [](Facts* facts) { UseVersion(130000, facts); }, CheckCuptiTraps, Level::kWarning,
       "CUPTI 13.0.0 has 1 known fault because of which gpuexec takes no hardware counters",
       "no counters because of: cuptiActivityDisable of kernel records may deadlock", "GPUEXEC_CUPTI"},
      {"later than all", [](Facts* facts) { UseVersion(130901, facts); }, CheckCuptiTraps, Level::kOk, "no fault", "",
       ""},
      {"no version",
       [](Facts* facts) {
         facts->timing.cupti_api_version.reset();
         facts->cupti.copies.clear();
       },
       CheckCuptiTraps, Level::kNotApplicable, "not known", "", ""},
      {"libnvperf beside it", [](Facts*) {}, CheckCounterHost, Level::kOk, "stands beside", kCuptiPath, ""},
      {"libnvperf by the loader",
       [](Facts* facts) {
         facts->cupti.copies[0].has_profiler_host = false;
         facts->cupti.loader_profiler_host.path = "/l/libnvperf_host.so";
       },
       CheckCounterHost, Level::kOk, "the loader finds", "/l/libnvperf_host.so", ""},
      {"no libnvperf",
       [](Facts* facts) {
         facts->cupti.copies[0].has_profiler_host = false;
         facts->cupti.loader_profiler_host.problem = "cannot open";
       },
       CheckCounterHost, Level::kWarning, "no hardware counters", "loader: cannot open", "nvidia-cuda-cupti"},
      {"CUPTI 12", [](Facts* facts) { UseVersion(27, facts); }, CheckCounterHost, Level::kNotApplicable, "", "", ""},
  });
}

constexpr uint64_t kSysAdmin = uint64_t{1} << 21;
constexpr uint64_t kPerfmon = uint64_t{1} << 38;

void AsUser(uint64_t capabilities, Facts* facts) {
  NoLiveRun(facts);
  facts->host.effective_uid = 1000;
  facts->host.effective_capabilities = capabilities;
  facts->host.bounding_capabilities = capabilities;
}

TEST(Checks, CounterPermission) {
  Check({
      {"a run showed it", [](Facts*) {}, CheckCounterPermission, Level::kOk, "as a run showed", "the live run: allowed",
       ""},
      {"root", NoLiveRun, CheckCounterPermission, Level::kOk, "this process is one", "RmProfilingAdminOnly: 1", ""},
      {"every user",
       [](Facts* facts) {
         AsUser(0, facts);
         facts->host.admin_only = 0;
       },
       CheckCounterPermission, Level::kOk, "every user", "RmProfilingAdminOnly: 0", ""},
      {"a user", [](Facts* facts) { AsUser(0, facts); }, CheckCounterPermission, Level::kWarning,
       "this process is none", "user id: 1000", "NVreg_RestrictProfilingToAdminUsers=0"},
      {"a user with CAP_PERFMON", [](Facts* facts) { AsUser(kPerfmon, facts); }, CheckCounterPermission, Level::kOk,
       "this process is one", "CAP_PERFMON: yes", ""},
      {"a user with CAP_SYS_ADMIN", [](Facts* facts) { AsUser(kSysAdmin, facts); }, CheckCounterPermission, Level::kOk,
       "this process is one", "CAP_SYS_ADMIN: yes", ""},
      {"a container",
       [](Facts* facts) {
         AsUser(0, facts);
         facts->host.effective_uid = 0;
         facts->host.container_signs = {"/.dockerenv"};
       },
       CheckCounterPermission, Level::kWarning, "this process is none", "container: /.dockerenv",
       "docker run --gpus all --cap-add=SYS_ADMIN --user 0 IMAGE"},
      {"a rootless container",
       [](Facts* facts) {
         AsUser(kSysAdmin, facts);
         facts->host.effective_uid = 0;
         facts->host.user_namespace = true;
       },
       CheckCounterPermission, Level::kWarning, "end with its user namespace", "user namespace of its own: yes",
       "GPUEXEC_COUNTERS=off"},
      {"the option is set and does not hold yet",
       [](Facts* facts) {
         AsUser(0, facts);
         facts->host.module_options = {"/etc/modprobe.d/n.conf: options nvidia NVreg_RestrictProfilingToAdminUsers=0"};
       },
       CheckCounterPermission, Level::kWarning, "this process is none", "module option: /etc/modprobe.d/n.conf",
       "sudo update-initramfs -u; sudo reboot\n"},
      {"a run was refused",
       [](Facts* facts) {
         facts->counters.counter_access = 2;
         facts->counters.counter_access_text = "cuptiRangeProfilerEnable returned error 35";
       },
       CheckCounterPermission, Level::kWarning, "not permitted", "returned error 35", "GPUEXEC_COUNTERS=off"},
      {"nothing to see",
       [](Facts* facts) {
         NoLiveRun(facts);
         facts->host.admin_only.reset();
       },
       CheckCounterPermission, Level::kUnknown, "does not show", "RmProfilingAdminOnly: not there", "gx-doctor --live"},
      {"no capabilities to see",
       [](Facts* facts) {
         NoLiveRun(facts);
         facts->host.effective_capabilities.reset();
       },
       CheckCounterPermission, Level::kUnknown, "not known", "CAP_SYS_ADMIN: not known", "NVreg"},
      {"no driver", NoDriver, CheckCounterPermission, Level::kNotApplicable, "no driver", "", ""},
  });
}

TEST(Checks, PlatformsThatKeepCountersBack) {
  Check({
      {"no container", [](Facts*) {}, CheckContainer, Level::kOk, "no sign", "", ""},
      {"a container", [](Facts* facts) { facts->host.container_signs = {"/run/.containerenv"}; }, CheckContainer,
       Level::kOk, "this is a container", "sign: /run/.containerenv", ""},
      {"no WSL", [](Facts*) {}, CheckWsl, Level::kNotApplicable, "not Windows", "", ""},
      {"WSL",
       [](Facts* facts) {
         NoLiveRun(facts);
         facts->host.wsl_signs = {"/dev/dxg"};
       },
       CheckWsl, Level::kWarning, "Windows Subsystem", "sign: /dev/dxg", "Manage GPU Performance Counters"},
      {"WSL where counters were read", [](Facts* facts) { facts->host.wsl_signs = {"/dev/dxg"}; }, CheckWsl, Level::kOk,
       "Windows Subsystem", "the live run: counters were read", ""},
      {"no MIG", [](Facts*) {}, CheckMig, Level::kOk, "no device is divided", "device 0 0", ""},
      {"MIG", [](Facts* facts) { facts->nvml.devices[0].mig_mode = 1; }, CheckMig, Level::kWarning, "is divided",
       "device 0 1", "-mig 0"},
      {"no MIG at all", [](Facts* facts) { facts->nvml.devices[0].mig_mode.reset(); }, CheckMig, Level::kNotApplicable,
       "can be divided", "does not say", ""},
      {"NVML is absent",
       [](Facts* facts) {
         facts->nvml = NvmlFacts();
         facts->nvml.library.problem = "cannot open";
       },
       CheckMig, Level::kUnknown, "NVML", "libnvidia-ml.so.1: cannot open", ""},
      {"NVML is absent with the driver", NoDriver, CheckMig, Level::kNotApplicable, "no GPU", "", ""},
      {"no MPS", [](Facts*) {}, CheckMps, Level::kOk, "no sign", "", ""},
      {"MPS", [](Facts* facts) { facts->host.mps_signs = {"process nvidia-cuda-mps (pid 7)"}; }, CheckMps,
       Level::kWarning, "MPS", "pid 7", "echo quit | nvidia-cuda-mps-control"},
      {"no vGPU", [](Facts* facts) { facts->nvml.devices[0].virtualization_mode = 1; }, CheckVgpu, Level::kOk,
       "no device", "device 0 1", ""},
      {"a vGPU",
       [](Facts* facts) {
         NoLiveRun(facts);
         facts->nvml.devices[0].virtualization_mode = 2;
       },
       CheckVgpu, Level::kWarning, "a virtual GPU", "device 0 2", "enable_profiling=1"},
      {"nobody knows", [](Facts* facts) { facts->nvml.devices[0].virtualization_mode.reset(); }, CheckVgpu,
       Level::kUnknown, "does not say", "does not say", ""},
      {"no confidential computing", [](Facts*) {}, CheckConfidential, Level::kNotApplicable, "", "", ""},
      {"off", [](Facts* facts) { facts->nvml.confidential_feature = 0; }, CheckConfidential, Level::kOk, "is off",
       "ccFeature: 0", ""},
      {"on", [](Facts* facts) { facts->nvml.confidential_feature = 1; }, CheckConfidential, Level::kFailure,
       "does not work at all", "devToolsMode: off", "devtools"},
      {"on, for tools", [](Facts* facts) { facts->nvml.confidential_feature = facts->nvml.confidential_dev_tools = 1; },
       CheckConfidential, Level::kWarning, "no counters", "devToolsMode: on", "set-cc-mode"},
  });
}

TEST(Checks, OtherProfilers) {
  Check({
      {"none", [](Facts*) {}, CheckSubscribers, Level::kOk, "no other profiler", "CUDA_INJECTION64_PATH: not set", ""},
      {"ours",
       [](Facts* facts) {
         facts->environment = Environment({absl::StrCat("CUDA_INJECTION64_PATH=", kInjectPath),
                                           absl::StrCat("NVTX_INJECTION64_PATH=", kInjectPath)});
       },
       CheckSubscribers, Level::kOk, "no other profiler", kInjectPath, ""},
      {"switched off by name", [](Facts* facts) { facts->environment = Environment({"CUDA_INJECTION64_PATH=none"}); },
       CheckSubscribers, Level::kOk, "", "none", ""},
      {"another tool", [](Facts* facts) { facts->environment = Environment({"CUDA_INJECTION64_PATH=/t/libother.so"}); },
       CheckSubscribers, Level::kWarning, "names another tool", "/t/libother.so", "unset CUDA_INJECTION64_PATH"},
      {"another copy of ours",
       [](Facts* facts) { facts->environment = Environment({"CUDA_INJECTION64_PATH=/t/libgpuexec_inject.so"}); },
       CheckSubscribers, Level::kWarning, "another copy", "/t/libgpuexec_inject.so", "unset CUDA_INJECTION64_PATH"},
      {"NVTX", [](Facts* facts) { facts->environment = Environment({"NVTX_INJECTION64_PATH=/t/libcupti.so"}); },
       CheckSubscribers, Level::kWarning, "NVTX ranges", "/t/libcupti.so", "unset NVTX_INJECTION64_PATH"},
      {"given twice",
       [](Facts* facts) { facts->environment = Environment({absl::StrCat("LD_PRELOAD=", kInjectPath)}); },
       CheckSubscribers, Level::kWarning, "loads by itself", kInjectPath, "unset LD_PRELOAD"},
      {"preloaded", [](Facts* facts) { facts->environment = Environment({"LD_PRELOAD=/x/libcupti.so.12"}); },
       CheckSubscribers, Level::kWarning, "another tool (libcupti)", "/x/libcupti.so.12", "unset LD_PRELOAD"},
      {"something harmless preloaded",
       [](Facts* facts) { facts->environment = Environment({"LD_PRELOAD=/x/libjemalloc.so"}); }, CheckSubscribers,
       Level::kOk, "", "libjemalloc", ""},
      {"Nsight Systems", [](Facts* facts) { facts->environment = Environment({"NSYS_PROFILING_SESSION_ID=12"}); },
       CheckSubscribers, Level::kWarning, "Nsight Systems", "NSYS_PROFILING_SESSION_ID: 12",
       "unset NSYS_PROFILING_SESSION_ID"},
      {"PyTorch's daemon", [](Facts* facts) { facts->environment = Environment({"KINETO_USE_DAEMON=1"}); },
       CheckSubscribers, Level::kWarning, "KINETO_USE_DAEMON", "", "unset KINETO_USE_DAEMON"},
      {"a debugger", [](Facts* facts) { facts->host.tracer_pid = 99; }, CheckSubscribers, Level::kWarning, "process 99",
       "TracerPid: 99", "outside"},
      {"seen in a run",
       [](Facts* facts) {
         facts->timing.kernels = 0;
         facts->timing.diagnostics = {"CUPTI refused the subscription (error 39)"};
       },
       CheckSubscribers, Level::kWarning, "holds CUPTI's one subscription", "error 39", ""},
  });
}

TEST(Checks, CounterOwners) {
  Check({
      {"none, as a run showed", [](Facts*) {}, CheckCounterPrograms, Level::kOk, "as a run showed", "", ""},
      {"none is seen", NoLiveRun, CheckCounterPrograms, Level::kOk, "is seen", "", ""},
      {"none is seen from a container",
       [](Facts* facts) {
         NoLiveRun(facts);
         facts->host.container_signs = {"/.dockerenv"};
       },
       CheckCounterPrograms, Level::kOk, "from within this container", "not seen: processes of the host", ""},
      {"DCGM",
       [](Facts* facts) {
         NoLiveRun(facts);
         facts->host.counter_programs = {"nv-hostengine (pid 8)"};
       },
       CheckCounterPrograms, Level::kWarning, "may hold", "process: nv-hostengine (pid 8)", "dcgmi profile --pause"},
      {"DCGM that did not disturb", [](Facts* facts) { facts->host.counter_programs = {"nv-hostengine (pid 8)"}; },
       CheckCounterPrograms, Level::kOk, "as a run showed", "nv-hostengine", ""},
      {"they are held",
       [](Facts* facts) {
         facts->counters.counter_samples = 0;
         facts->counters.counter_access = 5;
         facts->counters.counter_access_text = "error 10";
       },
       CheckCounterPrograms, Level::kWarning, "holds the hardware counters", "the live run: error 10", "dcgmi"},
  });
}

TEST(Checks, Output) {
  Check({
      {"healthy", [](Facts*) {}, CheckOutput, Level::kOk, "can be written", "free: 100 GiB", ""},
      {"no folder",
       [](Facts* facts) {
         facts->output.folder = "/a b";
         facts->output.folder_exists = false;
       },
       CheckOutput, Level::kFailure, "not there", "folder: /a b", "mkdir -p '/a b'"},
      {"read-only", [](Facts* facts) { facts->output.folder_writable = false; }, CheckOutput, Level::kFailure,
       "may not be written", "", "GPUEXEC_OUTPUT=/tmp/"},
      {"a pipe", [](Facts* facts) { facts->output.occupied_by = "pipe"; }, CheckOutput, Level::kFailure,
       "a pipe stands", "a pipe", "GPUEXEC_OUTPUT"},
      {"an old trace", [](Facts* facts) { facts->output.occupied_by = "file"; }, CheckOutput, Level::kOk, "",
       "at that path is: a file", ""},
      {"full", [](Facts* facts) { facts->output.free_bytes = 1000; }, CheckOutput, Level::kFailure, "full",
       "free: 1000 B", "OTHER/DISK"},
      {"tight", [](Facts* facts) { facts->output.free_bytes = uint64_t{1} << 30; }, CheckOutput, Level::kWarning,
       "grow to 4 GiB, and 1 GiB are free", "", "export GPUEXEC_MAX_BYTES=512M"},
      {"no limit", [](Facts* facts) { facts->library.dry_run.max_bytes = 0; }, CheckOutput, Level::kWarning, "any size",
       "no limit", "GPUEXEC_MAX_BYTES"},
      {"a disk that does not say", [](Facts* facts) { facts->output.free_bytes.reset(); }, CheckOutput, Level::kUnknown,
       "not known", "", ""},
      {"a folder by process", [](Facts* facts) { facts->output.folder = "/t/%h"; }, CheckOutput, Level::kNotApplicable,
       "differs by process", "folder: /t/%h", ""},
  });
}

TEST(Checks, Memory) {
  Check({
      {"healthy", [](Facts*) {}, CheckMemory, Level::kOk, "at most 466 MiB", "GPUEXEC_MEMORY: 256 MiB", ""},
      {"a small machine", [](Facts* facts) { facts->host.available_memory_bytes = uint64_t{300} << 20; }, CheckMemory,
       Level::kWarning, "466 MiB beside the program, and 300 MiB are there", "MemAvailable: 300 MiB",
       "export GPUEXEC_MEMORY=64M"},
      {"a small container", [](Facts* facts) { facts->host.memory_limit_bytes = uint64_t{256} << 20; }, CheckMemory,
       Level::kWarning, "256 MiB are there", "control group: 256 MiB", "GPUEXEC_COUNTERS=off"},
      {"not known", [](Facts* facts) { facts->host.available_memory_bytes.reset(); }, CheckMemory, Level::kUnknown,
       "not known", "MemAvailable: not known", ""},
  });
}

TEST(Checks, LiveTimes) {
  Check({
      {"healthy", [](Facts*) {}, CheckLiveTiming, Level::kOk, "10 launches, 10 kernels",
       "command: /opt/gpuexec/bin/gx-kernels --case axpy", ""},
      {"not run",
       [](Facts* facts) {
         NoLiveRun(facts);
         facts->timing.skipped = "not run: no GPU is there";
       },
       CheckLiveTiming, Level::kNotApplicable, "no GPU", "", ""},
      {"no trace", [](Facts* facts) { facts->timing.trace_problem = "no such file"; }, CheckLiveTiming, Level::kFailure,
       "left no trace", "trace: no such file", "GPUEXEC_LOG=stderr CUDA_INJECTION64_PATH=/opt/gpuexec/lib/"},
      {"no trace, and it died",
       [](Facts* facts) {
         facts->timing.trace_problem = "no such file";
         facts->timing.program_ok = false;
         facts->timing.ended = "was killed by signal 11";
         facts->timing.last_words = "Bus error";
       },
       CheckLiveTiming, Level::kFailure, "was killed by signal 11", "it said: Bus error", "GPUEXEC_LOG"},
      {"no launches", [](Facts* facts) { facts->timing.launches = facts->timing.kernels = 0; }, CheckLiveTiming,
       Level::kFailure, "without launches", "", "GPUEXEC_LOG"},
      {"no kernels", [](Facts* facts) { facts->timing.kernels = facts->timing.kernels_joined = 0; }, CheckLiveTiming,
       Level::kFailure, "CUPTI gave no times", "10 launches, 0 kernel records", "GPUEXEC_LOG"},
      {"the program failed",
       [](Facts* facts) {
         facts->timing.program_ok = false;
         facts->timing.ended = "ended with exit code 3";
       },
       CheckLiveTiming, Level::kWarning, "ended with exit code 3", "", "gx-kernels --case axpy"},
      {"untimed", [](Facts* facts) { facts->timing.kernels_untimed = 2; }, CheckLiveTiming, Level::kWarning,
       "of 10 kernels 2 have none", "", "GPUEXEC_LOG"},
      {"unjoined", [](Facts* facts) { facts->timing.kernels_joined = 7; }, CheckLiveTiming, Level::kWarning,
       "3 belong to no launch", "", "GPUEXEC_LOG"},
  });
}

TEST(Checks, LiveCounters) {
  Check({
      {"healthy", [](Facts*) {}, CheckLiveCounters, Level::kOk, "30 samples", "samples: 30, and 0 void", ""},
      {"refused",
       [](Facts* facts) {
         facts->counters.counter_samples = 0;
         facts->counters.counter_access = 2;
         facts->counters.counter_access_text = "no hardware counters of device 0";
       },
       CheckLiveCounters, Level::kWarning, "was refused", "no hardware counters of device 0", "counter-permission"},
      {"none were needed", [](Facts* facts) { facts->counters.counter_samples = 0; }, CheckLiveCounters,
       Level::kWarning, "nobody refused", "samples: 0", "gx-doctor -- PROGRAM"},
      {"read, and the program died",
       [](Facts* facts) {
         facts->counters.program_ok = false;
         facts->counters.ended = "was killed by signal 6";
       },
       CheckLiveCounters, Level::kWarning, "but the program was killed", "", ""},
      {"no trace", [](Facts* facts) { facts->counters.trace_problem = "cut"; }, CheckLiveCounters, Level::kWarning,
       "left no trace", "trace: cut", "GPUEXEC_COUNTERS=off"},
  });
}

TEST(ShellWord, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(ShellWord("/a/b-1.so:/c"), "/a/b-1.so:/c");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("a b;$c"), "'a b;$c'");
  EXPECT_EQ(ShellWord("a'b"), "'a'\"'\"'b'");
}

}  // namespace
}  // namespace gx::doctor
