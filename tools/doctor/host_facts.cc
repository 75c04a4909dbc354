#include "tools/doctor/host_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gx::doctor {
namespace {

constexpr char kOptionName[] = "NVreg_RestrictProfilingToAdminUsers";
// What is shown of a line that somebody wrote.
constexpr size_t kMaxLineBytes = 200;
constexpr size_t kMaxPrograms = 16;
// A control group without a limit has one of this size or more (cgroup v1 rounds 2^63 down to a page).
constexpr uint64_t kNoLimitBytes = uint64_t{1} << 62;

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// The kernel cuts names of programs to 15 bytes.
constexpr std::array<absl::string_view, 9> kCounterPrograms = {"nv-hostengine",  "dcgm-exporter", "dcgmi",
                                                               "dcgmproftester", "ncu",           "nv-nsight-cu-cl",
                                                               "nsys",           "nsys-launcher", "nvprof"};
constexpr std::array<absl::string_view, 2> kMpsPrograms = {"nvidia-cuda-mps", "nvidia-cuda-mps-server"};

void ReadPrograms(const RootFolder& root, HostFacts* facts) {
  for (const std::string& name : root.List("/proc")) {
    if (!IsDigits(name)) continue;
    const std::optional<std::string> comm = root.Read(absl::StrCat("/proc/", name, "/comm"));
    if (!comm) continue;
    const absl::string_view program = absl::StripTrailingAsciiWhitespace(*comm);
    const auto is = [program](absl::string_view known) { return program == known.substr(0, 15); };
    const std::string shown = absl::StrCat(program, " (pid ", name, ")");
    if (std::any_of(kCounterPrograms.begin(), kCounterPrograms.end(), is) &&
        facts->counter_programs.size() < kMaxPrograms) {
      facts->counter_programs.push_back(shown);
    }
    if (std::any_of(kMpsPrograms.begin(), kMpsPrograms.end(), is) && facts->mps_signs.size() < kMaxPrograms) {
      facts->mps_signs.push_back(absl::StrCat("process ", shown));
    }
  }
}

void ReadContainerSigns(const RootFolder& root, const Environment& environment, HostFacts* facts) {
  std::vector<std::string>& signs = facts->container_signs;
  for (const char* path : {"/.dockerenv", "/run/.containerenv", "/.singularity.d"}) {
    if (root.Exists(path)) signs.emplace_back(path);
  }
  const std::string groups = root.Read("/proc/1/cgroup").value_or("");
  for (const char* word : {"docker", "kubepods", "containerd", "libpod", "lxc"}) {
    if (absl::StrContains(groups, word)) signs.push_back(absl::StrCat("/proc/1/cgroup: ", word));
  }
  for (const char* name : {"container", "KUBERNETES_SERVICE_HOST", "SINGULARITY_NAME", "APPTAINER_NAME"}) {
    if (environment.Get(name)) signs.push_back(absl::StrCat("variable ", name));
  }
}

void ReadPermissions(const RootFolder& root, HostFacts* facts) {
  const std::string params = root.Read("/proc/driver/nvidia/params").value_or("");
  if (const auto value = NumberBehind(params, "RmProfilingAdminOnly:", 10)) {
    facts->admin_only = static_cast<int64_t>(*value);
  }
  const std::string status = root.Read("/proc/self/status").value_or("");
  facts->effective_capabilities = NumberBehind(status, "CapEff:", 16);
  facts->bounding_capabilities = NumberBehind(status, "CapBnd:", 16);
  if (const auto pid = NumberBehind(status, "TracerPid:", 10)) facts->tracer_pid = static_cast<int64_t>(*pid);
  for (const absl::string_view line : absl::StrSplit(status, '\n')) {
    // "Uid:", then real, effective, saved and file system's.
    if (!absl::StartsWith(line, "Uid:")) continue;
    const std::vector<absl::string_view> ids = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t uid = 0;
    if (ids.size() > 2 && absl::SimpleAtoi(ids[2], &uid)) facts->effective_uid = uid;
  }
  for (const std::string& name : root.List("/etc/modprobe.d")) {
    const std::string path = absl::StrCat("/etc/modprobe.d/", name);
    const std::string text = root.Read(path).value_or("");
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      line = absl::StripAsciiWhitespace(line);
      if (absl::StartsWith(line, "#") || !absl::StrContains(line, kOptionName)) continue;
      facts->module_options.push_back(absl::StrCat(path, ": ", line.substr(0, kMaxLineBytes)));
    }
  }
  // The machine's own: "0 0 4294967295".
  const std::string map = root.Read("/proc/self/uid_map").value_or("");
  const std::vector<absl::string_view> words = absl::StrSplit(map, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  facts->user_namespace = !words.empty() && (words.size() != 3 || words[1] != "0" || words[2] != "4294967295");
}

void ReadMemory(const RootFolder& root, HostFacts* facts) {
  if (const auto kib = NumberBehind(root.Read("/proc/meminfo").value_or(""), "MemAvailable:", 10)) {
    if (*kib <= UINT64_MAX >> 10) facts->available_memory_bytes = *kib << 10;
  }
  // As a container sees its own group; version 2, then 1.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const auto limit = NumberBehind(root.Read(path).value_or(""), "", 10);
    if (limit && *limit < kNoLimitBytes) {
      facts->memory_limit_bytes = *limit;
      break;
    }
  }
}

}  // namespace

std::optional<uint64_t> NumberBehind(absl::string_view text, absl::string_view key, int base) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, key)) continue;
    line = absl::StripLeadingAsciiWhitespace(line.substr(key.size()));
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, base);
    if (error != std::errc()) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

std::string ModuleVersion(absl::string_view text) {
  const absl::string_view line = text.substr(0, text.find('\n'));
  for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
    const auto fits = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.'; };
    if (absl::ascii_isdigit(static_cast<unsigned char>(word[0])) && absl::StrContains(word, ".") &&
        std::all_of(word.begin(), word.end(), fits)) {
      return std::string(word);
    }
  }
  return "";
}

HostFacts ReadHostFacts(const RootFolder& root, const Environment& environment) {
  HostFacts facts;
  facts.kernel_module_version = ModuleVersion(root.Read("/proc/driver/nvidia/version").value_or(""));
  for (const std::string& name : root.List("/dev")) {
    if (absl::StartsWith(name, "nvidia")) facts.device_nodes.push_back(absl::StrCat("/dev/", name));
  }
  facts.nouveau_loaded = root.Exists("/sys/module/nouveau");
  ReadPermissions(root, &facts);
  ReadContainerSigns(root, environment, &facts);
  if (root.Exists("/dev/dxg")) facts.wsl_signs.emplace_back("/dev/dxg");
  const std::string release = root.Read("/proc/sys/kernel/osrelease").value_or("");
  if (absl::StrContains(absl::AsciiStrToLower(release), "microsoft")) {
    facts.wsl_signs.push_back(
        absl::StrCat("/proc/sys/kernel/osrelease: ", absl::StripTrailingAsciiWhitespace(release)));
  }
  if (const auto pipe = environment.Get("CUDA_MPS_PIPE_DIRECTORY")) {
    facts.mps_signs.push_back(absl::StrCat("variable CUDA_MPS_PIPE_DIRECTORY=", *pipe));
  }
  // The control daemon's own folder, where the variable does not name one.
  if (root.Exists("/tmp/nvidia-mps/control")) facts.mps_signs.emplace_back("/tmp/nvidia-mps/control");
  ReadPrograms(root, &facts);
  ReadMemory(root, &facts);
  return facts;
}

}  // namespace gx::doctor
