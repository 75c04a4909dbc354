#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/doctor/checks.h"

namespace gx::doctor {
namespace {

// Results of cuInit, cuda.h of CUDA 13.0.
constexpr int64_t kNoDevice = 100;
constexpr int64_t kStubLibrary = 34;
constexpr int64_t kSystemDriverMismatch = 803;
// CUDA 13.0 ended support for compute capability 5.0 to 7.0 (its release notes).
constexpr int64_t kLeastComputeCapability = 75;

constexpr char kInContainer[] = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE";

std::string InitText(const CudaFacts& cuda) {
  if (!cuda.init_result) return "did not answer";
  return absl::StrCat("returned ", *cuda.init_result,
                      cuda.init_text.empty() ? "" : absl::StrCat(" (", cuda.init_text, ")"));
}

Evidence InitEvidence(const CudaFacts& cuda) {
  return cuda.stuck.empty() ? Evidence{"cuInit", InitText(cuda)} : Evidence{"stuck in", cuda.stuck};
}

bool IsStub(const CudaFacts& cuda) {
  return absl::StrContains(cuda.library.path, "/stubs/") || absl::StrContains(cuda.library.canonical, "/stubs/") ||
         cuda.init_result == kStubLibrary;
}

// "580.159.04" of ".../libcuda.so.580.159.04"; "" where the name ends in one number, or none.
std::string VersionInName(const std::string& path) {
  const size_t begin = path.rfind("libcuda.so.");
  if (begin == std::string::npos) return "";
  const std::string version = path.substr(begin + 11);
  return absl::StrContains(version, ".") ? version : "";
}

// LD_LIBRARY_PATH without one folder, as a command.
std::string WithoutFolder(const Environment& environment, const std::string& folder) {
  std::vector<std::string> folders = environment.Folders("LD_LIBRARY_PATH");
  folders.erase(std::remove(folders.begin(), folders.end(), folder), folders.end());
  if (folders.empty()) return "unset LD_LIBRARY_PATH";
  return absl::StrCat("export LD_LIBRARY_PATH=", ShellWord(absl::StrJoin(folders, ":")));
}

std::string FolderOf(const std::string& path) { return path.substr(0, std::min(path.rfind('/'), path.size())); }

}  // namespace

bool HasGpu(const Facts& facts) { return facts.cuda.init_result == 0 && facts.cuda.device_count.value_or(0) > 0; }

std::string CudaVersionText(int64_t version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

Verdict CheckDriver(const Facts& facts) {
  Verdict verdict;
  verdict.check = "driver";
  const std::string& module = facts.host.kernel_module_version;
  const std::string& nvml = facts.nvml.driver_version;
  verdict.evidence = {{"/proc/driver/nvidia/version", module.empty() ? "absent" : module},
                      {"NVML", nvml.empty() ? (facts.nvml.library.loaded() ? "no answer" : facts.nvml.library.problem)
                                            : absl::StrCat(nvml, " at ", facts.nvml.library.path)}};
  if (!facts.nvml.stuck.empty()) verdict.evidence.push_back({"NVML", facts.nvml.stuck});
  if (facts.cuda.driver_api_version) {
    verdict.evidence.push_back({"CUDA version of the driver", CudaVersionText(*facts.cuda.driver_api_version)});
  }
  verdict.evidence.push_back({"device files", facts.host.device_nodes.empty()
                                                  ? "no /dev/nvidia*"
                                                  : absl::StrJoin(facts.host.device_nodes, " ")});
  if (!module.empty() || !nvml.empty()) {
    verdict.level = Level::kOk;
    verdict.summary = absl::StrCat("NVIDIA driver ", module.empty() ? nvml : module);
    if (facts.cuda.driver_api_version) {
      absl::StrAppend(&verdict.summary, ", for CUDA up to ", CudaVersionText(*facts.cuda.driver_api_version));
    }
    if (facts.host.device_nodes.empty() && facts.host.wsl_signs.empty() && !HasGpu(facts)) {
      verdict.level = Level::kFailure;
      absl::StrAppend(&verdict.summary, ", without a device file");
      verdict.fixes = {facts.host.container_signs.empty() ? "sudo nvidia-modprobe -u -c=0" : kInContainer};
    }
    return verdict;
  }
  if (HasGpu(facts)) {
    verdict.level = Level::kUnknown;
    verdict.summary = "libcuda answers, but no version of the driver is to be seen";
    return verdict;
  }
  verdict.level = Level::kFailure;
  verdict.summary = "no NVIDIA driver is loaded: nothing can be recorded here; gx-analyze reads traces anywhere";
  if (facts.host.nouveau_loaded) {
    verdict.summary = "nouveau drives the GPU, not NVIDIA's driver: nothing can be recorded here";
  }
  if (!facts.host.container_signs.empty()) {
    verdict.fixes = {kInContainer};
  } else {
    verdict.fixes = {"sudo modprobe nvidia",
                     "where there is no such module, install NVIDIA's driver 580 or newer: "
                     "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide"};
  }
  return verdict;
}

Verdict CheckLibcuda(const Facts& facts) {
  const CudaFacts& cuda = facts.cuda;
  Verdict verdict;
  verdict.check = "libcuda";
  if (!cuda.library.tried) {
    verdict.summary = "libcuda.so.1 was not looked for";
    return verdict;
  }
  verdict.level = Level::kFailure;
  if (!cuda.library.loaded()) {
    verdict.summary = "libcuda.so.1, the driver's library, does not load";
    verdict.evidence = {{"loader", cuda.library.problem}};
    verdict.fixes = {facts.host.container_signs.empty()
                         ? "sudo ldconfig, or LD_LIBRARY_PATH with the folder of libcuda.so.1; without one, install "
                           "the driver"
                         : kInContainer};
    return verdict;
  }
  verdict.evidence = {{"path", cuda.library.path}};
  if (cuda.library.canonical != cuda.library.path) verdict.evidence.push_back({"is", cuda.library.canonical});
  verdict.evidence.push_back(InitEvidence(cuda));
  const std::string in_name = VersionInName(cuda.library.canonical);
  const std::string& module = facts.host.kernel_module_version;
  if (IsStub(cuda)) {
    verdict.summary = "libcuda.so.1 is a stub for linking, not the driver's";
    verdict.fixes = {WithoutFolder(facts.environment, FolderOf(cuda.library.path))};
  } else if (!cuda.stuck.empty()) {
    verdict.summary = "a call of the driver does not come back, or ends its process";
    verdict.fixes = {"sudo dmesg | grep -i nvrm", "nvidia-smi, and where that hangs, too: restart the machine"};
  } else if (cuda.init_result == kSystemDriverMismatch || (!in_name.empty() && !module.empty() && in_name != module &&
                                                           !absl::StrContains(cuda.library.canonical, "/compat"))) {
    verdict.summary = absl::StrCat("libcuda is of another version than the driver that is loaded",
                                   in_name.empty() ? "" : absl::StrCat(": ", in_name, " and ", module));
    verdict.fixes = {"sudo reboot", "sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia"};
  } else {
    verdict.level = Level::kOk;
    verdict.summary = absl::StrCat("libcuda.so.1 is ", cuda.library.canonical);
  }
  return verdict;
}

Verdict CheckDevices(const Facts& facts) {
  const CudaFacts& cuda = facts.cuda;
  Verdict verdict;
  verdict.check = "devices";
  if (!cuda.library.loaded()) {
    verdict.level = Level::kNotApplicable;
    verdict.summary = "without libcuda no GPU can be asked for";
    return verdict;
  }
  const std::optional<std::string> visible = facts.environment.Get("CUDA_VISIBLE_DEVICES");
  verdict.evidence = {InitEvidence(cuda),
                      {"CUDA_VISIBLE_DEVICES", visible ? absl::StrCat("'", *visible, "'") : "not set"}};
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < cuda.devices.size(); ++i) {
    const CudaDevice& device = cuda.devices[i];
    std::string text = device.name.empty() ? "no name" : device.name;
    if (device.compute_capability_major && device.compute_capability_minor) {
      absl::StrAppend(&text, ", compute capability ", *device.compute_capability_major, ".",
                      *device.compute_capability_minor);
      least = std::min(least, *device.compute_capability_major * 10 + *device.compute_capability_minor);
    }
    if (i < facts.nvml.devices.size() && facts.nvml.devices.size() == cuda.devices.size() &&
        facts.nvml.devices[i].process_count) {
      absl::StrAppend(&text, ", ", *facts.nvml.devices[i].process_count, " other processes");
    }
    verdict.evidence.push_back({absl::StrCat("device ", i), text});
  }
  if (!HasGpu(facts)) {
    verdict.level = Level::kFailure;
    verdict.summary = "the driver shows no GPU";
    if (visible && (cuda.init_result == kNoDevice || cuda.device_count == 0)) {
      verdict.fixes = {"unset CUDA_VISIBLE_DEVICES"};
    } else if (!facts.host.container_signs.empty()) {
      verdict.fixes = {kInContainer};
    } else {
      verdict.fixes = {"nvidia-smi"};
    }
    return verdict;
  }
  verdict.level = Level::kOk;
  verdict.summary = absl::StrCat(*cuda.device_count, *cuda.device_count == 1 ? " GPU" : " GPUs");
  if (!cuda.devices.empty()) absl::StrAppend(&verdict.summary, ", the first ", cuda.devices.front().name);
  if (least < kLeastComputeCapability) {
    verdict.level = Level::kWarning;
    absl::StrAppend(&verdict.summary, "; CUDA 13 and its CUPTI do not support one below compute capability 7.5");
    verdict.fixes = {"GPUEXEC_CUPTI=PATH of a libcupti.so.12 of CUDA 12.8 or 12.9 (times, no counters)"};
  }
  return verdict;
}

}  // namespace gx::doctor
