#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/doctor/checks.h"

namespace gx::doctor {
namespace {

// CounterAccess.State of counter.proto.
constexpr int64_t kAllowed = 1;
constexpr int64_t kNotPermitted = 2;

// linux/capability.h. Either lets a process read counters where RmProfilingAdminOnly is 1: os_check_access and
// os_is_administrator of NVIDIA's open kernel modules (580.173.02).
constexpr int kCapSysAdmin = 21;
constexpr int kCapPerfmon = 38;

std::optional<bool> Has(const std::optional<uint64_t>& capabilities, int bit) {
  if (!capabilities) return std::nullopt;
  return (*capabilities >> bit & 1) != 0;
}

std::string YesNo(const std::optional<bool>& value) { return !value ? "not known" : *value ? "yes" : "no"; }

constexpr char kModuleOption[] =
    "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/gpuexec.conf && "
    "sudo update-initramfs -u; sudo reboot";
constexpr char kWithoutCounters[] = "export GPUEXEC_COUNTERS=off";

void AddPermissionFixes(const HostFacts& host, Verdict* verdict) {
  const bool option_is_set = std::any_of(host.module_options.begin(), host.module_options.end(), [](const auto& line) {
    return line.find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos;
  });
  const bool in_container = !host.container_signs.empty();
  if (in_container) {
    verdict->fixes.push_back("docker run --gpus all --cap-add=SYS_ADMIN --user 0 IMAGE");
    verdict->fixes.push_back(absl::StrCat("on the host: ", kModuleOption));
  } else if (option_is_set) {
    verdict->fixes.push_back("sudo update-initramfs -u; sudo reboot");
  } else {
    verdict->fixes.push_back(kModuleOption);
  }
  if (!in_container && host.effective_uid.value_or(0) != 0) verdict->fixes.push_back("sudo -E PROGRAM");
  verdict->fixes.push_back(kWithoutCounters);
}

// Of the first device that says `value` to a question; where none answers, unset.
struct DeviceAnswers {
  bool any = false;
  std::vector<std::string> texts;
  std::vector<int64_t> values;
};

DeviceAnswers Ask(const NvmlFacts& nvml, std::optional<int64_t> NvmlDevice::*question) {
  DeviceAnswers answers;
  for (size_t i = 0; i < nvml.devices.size(); ++i) {
    const std::optional<int64_t>& value = nvml.devices[i].*question;
    answers.texts.push_back(absl::StrCat("device ", i, " ", value ? absl::StrCat(*value) : "does not say"));
    if (!value) continue;
    answers.any = true;
    answers.values.push_back(*value);
  }
  return answers;
}

// Where NVML shows no device.
Verdict WithoutDevices(const Facts& facts, const char* check) {
  Verdict verdict;
  verdict.check = check;
  if (!HasGpu(facts)) {
    verdict.level = Level::kNotApplicable;
    verdict.summary = "no GPU is there";
    return verdict;
  }
  verdict.summary = "NVML, which knows, does not answer";
  const std::string& problem = facts.nvml.stuck.empty() ? facts.nvml.library.problem : facts.nvml.stuck;
  verdict.evidence = {{"libnvidia-ml.so.1", problem.empty() ? "no devices" : problem}};
  return verdict;
}

}  // namespace

Verdict CheckCounterPermission(const Facts& facts) {
  const HostFacts& host = facts.host;
  Verdict verdict;
  verdict.check = "counter-permission";
  verdict.evidence = {
      {"/proc/driver/nvidia/params, RmProfilingAdminOnly",
       host.admin_only ? absl::StrCat(*host.admin_only) : "not there"},
      {"capability CAP_SYS_ADMIN", YesNo(Has(host.effective_capabilities, kCapSysAdmin))},
      {"capability CAP_PERFMON", YesNo(Has(host.effective_capabilities, kCapPerfmon))},
      {"either of them allowed to it",
       YesNo(host.bounding_capabilities ? std::optional<bool>(*Has(host.bounding_capabilities, kCapSysAdmin) ||
                                                              *Has(host.bounding_capabilities, kCapPerfmon))
                                        : std::nullopt)},
      {"user id", host.effective_uid ? absl::StrCat(*host.effective_uid) : "not known"},
      {"user namespace of its own", host.user_namespace ? "yes" : "no"}};
  for (const std::string& line : host.module_options) verdict.evidence.push_back({"module option", line});
  if (!host.container_signs.empty()) {
    verdict.evidence.push_back({"container", absl::StrJoin(host.container_signs, ", ")});
  }
  if (facts.counters.counter_access) {
    const std::string& text = facts.counters.counter_access_text;
    verdict.evidence.push_back(
        {"the live run", facts.counters.counter_access == kAllowed ? "allowed" : (text.empty() ? "refused" : text)});
  }
  if (facts.counters.counter_access == kAllowed) {
    verdict.level = Level::kOk;
    verdict.summary = "hardware counters may be read, as a run showed";
    return verdict;
  }
  if (facts.counters.counter_access == kNotPermitted) {
    verdict.level = Level::kWarning;
    verdict.summary = "hardware counters are not permitted to this process, as a run showed";
    AddPermissionFixes(host, &verdict);
    return verdict;
  }
  if (!host.admin_only) {
    if (!HasGpu(facts)) {
      verdict.level = Level::kNotApplicable;
      verdict.summary = "no driver is there that could permit hardware counters";
      return verdict;
    }
    verdict.level = Level::kUnknown;
    verdict.summary = "the driver does not show whether it keeps hardware counters for administrators";
    verdict.fixes = {"gx-doctor --live"};
    return verdict;
  }
  if (*host.admin_only == 0) {
    verdict.level = Level::kOk;
    verdict.summary = "the driver permits hardware counters to every user";
    return verdict;
  }
  if (!host.effective_capabilities) {
    verdict.level = Level::kUnknown;
    verdict.summary = "the driver keeps hardware counters for administrators; whether this process is one is not known";
    AddPermissionFixes(host, &verdict);
    return verdict;
  }
  const bool capable =
      *Has(host.effective_capabilities, kCapSysAdmin) || *Has(host.effective_capabilities, kCapPerfmon);
  if (capable && !host.user_namespace) {
    verdict.level = Level::kOk;
    verdict.summary = "the driver keeps hardware counters for administrators, and this process is one";
    return verdict;
  }
  verdict.level = Level::kWarning;
  verdict.summary = "the driver keeps hardware counters for administrators, and this process is none";
  if (capable) absl::StrAppend(&verdict.summary, ": its capabilities end with its user namespace");
  AddPermissionFixes(host, &verdict);
  return verdict;
}

Verdict CheckContainer(const Facts& facts) {
  Verdict verdict;
  verdict.check = "container";
  verdict.level = Level::kOk;
  if (facts.host.container_signs.empty()) {
    verdict.summary = "no sign of a container";
    return verdict;
  }
  verdict.summary = "this is a container: it sees its own processes and what it was given of the driver";
  for (const std::string& sign : facts.host.container_signs) verdict.evidence.push_back({"sign", sign});
  return verdict;
}

Verdict CheckWsl(const Facts& facts) {
  Verdict verdict;
  verdict.check = "wsl";
  if (facts.host.wsl_signs.empty()) {
    verdict.level = Level::kNotApplicable;
    verdict.summary = "this is not Windows Subsystem for Linux";
    return verdict;
  }
  verdict.level = Level::kWarning;
  verdict.summary =
      "Windows Subsystem for Linux: the driver is Windows', which decides on counters; sampling of program "
      "counters is not passed through";
  for (const std::string& sign : facts.host.wsl_signs) verdict.evidence.push_back({"sign", sign});
  verdict.fixes = {
      "on Windows: NVIDIA Control Panel, Developer, Manage GPU Performance Counters, Allow access to the "
      "GPU performance counters to all users",
      kWithoutCounters};
  if (facts.counters.counter_samples > 0) {
    verdict.level = Level::kOk;
    verdict.evidence.push_back({"the live run", "counters were read"});
    verdict.fixes.clear();
  }
  return verdict;
}

Verdict CheckMig(const Facts& facts) {
  if (facts.nvml.devices.empty()) return WithoutDevices(facts, "mig");
  const DeviceAnswers answers = Ask(facts.nvml, &NvmlDevice::mig_mode);
  Verdict verdict;
  verdict.check = "mig";
  verdict.evidence = {{"nvmlDeviceGetMigMode", absl::StrJoin(answers.texts, ", ")}};
  if (!answers.any) {
    verdict.level = Level::kNotApplicable;
    verdict.summary = "no device can be divided (MIG)";
    return verdict;
  }
  if (std::find(answers.values.begin(), answers.values.end(), 1) == answers.values.end()) {
    verdict.level = Level::kOk;
    verdict.summary = "no device is divided (MIG)";
    return verdict;
  }
  verdict.level = Level::kWarning;
  verdict.summary = "a device is divided (MIG): counters of a part may hold what its neighbours do, or be refused";
  verdict.fixes = {"sudo nvidia-smi -i DEVICE -mig 0 (with nothing running on it)", kWithoutCounters};
  return verdict;
}

Verdict CheckMps(const Facts& facts) {
  Verdict verdict;
  verdict.check = "mps";
  if (facts.host.mps_signs.empty()) {
    verdict.level = Level::kOk;
    verdict.summary = "no sign of the Multi-Process Service";
    return verdict;
  }
  verdict.level = Level::kWarning;
  verdict.summary =
      "the Multi-Process Service (MPS) is in use: times are recorded, hardware counters are not supported";
  for (const std::string& sign : facts.host.mps_signs) verdict.evidence.push_back({"sign", sign});
  verdict.fixes = {"echo quit | nvidia-cuda-mps-control", kWithoutCounters};
  return verdict;
}

Verdict CheckVgpu(const Facts& facts) {
  if (facts.nvml.devices.empty()) return WithoutDevices(facts, "vgpu");
  constexpr int64_t kVgpu = 2;
  const DeviceAnswers answers = Ask(facts.nvml, &NvmlDevice::virtualization_mode);
  Verdict verdict;
  verdict.check = "vgpu";
  verdict.evidence = {{"nvmlDeviceGetVirtualizationMode (0 none, 1 pass-through, 2 vGPU, 3 and 4 host)",
                       absl::StrJoin(answers.texts, ", ")}};
  if (!answers.any) {
    verdict.level = Level::kUnknown;
    verdict.summary = "the driver does not say whether a device is virtual";
    return verdict;
  }
  if (std::find(answers.values.begin(), answers.values.end(), kVgpu) == answers.values.end()) {
    verdict.level = Level::kOk;
    verdict.summary = "no device is a virtual one";
    return verdict;
  }
  verdict.level = Level::kWarning;
  verdict.summary =
      "a virtual GPU: counters only where its host allows them; without a licence it is slowed down after "
      "20 minutes";
  verdict.fixes = {"on the host: the plugin parameter enable_profiling=1 of this vGPU", kWithoutCounters};
  if (facts.counters.counter_samples > 0) {
    verdict.level = Level::kOk;
    verdict.evidence.push_back({"the live run", "counters were read"});
    verdict.fixes = {};
  }
  return verdict;
}

Verdict CheckConfidential(const Facts& facts) {
  if (facts.nvml.devices.empty()) return WithoutDevices(facts, "confidential-computing");
  Verdict verdict;
  verdict.check = "confidential-computing";
  if (!facts.nvml.confidential_feature) {
    verdict.level = Level::kNotApplicable;
    verdict.summary = "the driver has no confidential computing, or does not speak of it";
    return verdict;
  }
  const bool dev_tools = facts.nvml.confidential_dev_tools.value_or(0) != 0;
  verdict.evidence = {{"nvmlSystemGetConfComputeState, ccFeature", absl::StrCat(*facts.nvml.confidential_feature)},
                      {"devToolsMode", dev_tools ? "on" : "off"}};
  verdict.level = Level::kOk;
  if (*facts.nvml.confidential_feature == 0) {
    verdict.summary = "confidential computing is off";
    return verdict;
  }
  // CUPTI's release notes of 12.2 update 1.
  verdict.level = dev_tools ? Level::kWarning : Level::kFailure;
  verdict.summary = dev_tools ? "confidential computing in its mode for tools: launches and times only, no counters"
                              : "confidential computing is on: CUPTI does not work at all";
  verdict.fixes = {
      "nvidia_gpu_tools.py --set-cc-mode=devtools --reset-after-cc-mode-switch (on the host; counters need "
      "--set-cc-mode=off)"};
  return verdict;
}

}  // namespace gx::doctor
