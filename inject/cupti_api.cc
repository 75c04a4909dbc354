#include "inject/cupti_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "inject/copies.h"

namespace gx::inject {
namespace {

constexpr uint32_t kCupti128 = 26;      // CUPTI_API_VERSION of CUDA 12.8.
constexpr uint32_t kCupti130 = 130000;  // From 13.0 on: major * 10000 + minor * 100 + update.
constexpr uint32_t kCupti140 = 140000;

std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

void AddToolkit(const std::string& root, std::vector<LibraryCandidate>* candidates) {
  if (root.empty()) return;
  candidates->push_back({root + "/lib64/libcupti.so", false});
  candidates->push_back({root + "/extras/CUPTI/lib64/libcupti.so", false});
}

}  // namespace

std::vector<LibraryCandidate> CuptiCandidates(const std::string& configured,
                                              const std::vector<std::string>& mapped_cupti,
                                              const std::vector<std::string>& mapped_cudart,
                                              const std::string& cuda_home, const std::string& cuda_path) {
  std::vector<LibraryCandidate> candidates;
  if (!configured.empty()) {
    candidates.push_back({configured, false});
    return candidates;
  }
  for (const std::string& path : mapped_cupti) candidates.push_back({path, true});
  candidates.push_back({"libcupti.so.13", false});
  for (const std::string& path : mapped_cudart) {
    const std::string folder = FolderOf(path);
    if (folder.empty()) continue;
    candidates.push_back({folder + "/libcupti.so.13", false});
    candidates.push_back({folder + "/libcupti.so.12", false});
    candidates.push_back({folder + "/../../cuda_cupti/lib/libcupti.so.12", false});
    candidates.push_back({folder + "/../extras/CUPTI/lib64/libcupti.so", false});
  }
  AddToolkit(cuda_home, &candidates);
  AddToolkit(cuda_path, &candidates);
  AddToolkit("/usr/local/cuda", &candidates);
  candidates.push_back({"libcupti.so.12", false});
  return candidates;
}

bool LoadCupti(const std::string& configured, CuptiApi* api, std::vector<std::string>* problems) {
  const std::vector<std::string> mapped = MappedLibraries("libcupti.so");
  const OpenedLibrary opened = OpenFirst(CuptiCandidates(configured, mapped, MappedLibraries("libcudart.so"),
                                                         EnvironmentValue("CUDA_HOME"), EnvironmentValue("CUDA_PATH")),
                                         "cuptiGetVersion");
  if (opened.handle == nullptr) {
    problems->push_back(
        "no libcupti was found, so nothing is recorded; set GPUEXEC_CUPTI to the path of a libcupti.so of CUDA 12.8 or "
        "later. Tried, in this order:");
    problems->insert(problems->end(), opened.tried.begin(), opened.tried.end());
    return false;
  }
  api->path = opened.path;
  for (const std::string& passed_over : opened.tried) problems->push_back("libcupti looked for at " + passed_over);
  bool complete = true;
#define GX_LOAD(name)                                                             \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(opened.handle, #name)); \
  if (api->name == nullptr) {                                                     \
    problems->push_back(opened.path + " has no function " #name);                 \
    complete = false;                                                             \
  }
  GX_CUPTI_REQUIRED(GX_LOAD)
#undef GX_LOAD
#define GX_LOAD(name) api->name = reinterpret_cast<decltype(api->name)>(dlsym(opened.handle, #name));
  GX_CUPTI_OPTIONAL(GX_LOAD)
#undef GX_LOAD
  if (!complete) return false;
  if (api->cuptiGetVersion(&api->version) != CUPTI_SUCCESS) api->version = 0;
  if (!SupportedCuptiVersion(api->version)) {
    problems->push_back(
        "CUPTI " + CuptiVersionText(api->version) + " at " + opened.path +
        " is not supported, so nothing is recorded: gpuexec needs CUPTI 12.8 to 13.x; set GPUEXEC_CUPTI "
        "to the path of such a libcupti.so");
    return false;
  }
  // Without the one that this call itself has brought in.
  for (std::string& note : CuptiCopyNotes(mapped, opened.path)) problems->push_back(std::move(note));
  return true;
}

bool SupportedCuptiVersion(uint32_t version) {
  return (version >= kCupti128 && version < 1000) || (version >= kCupti130 && version < kCupti140);
}

std::string CuptiVersionText(uint32_t version) {
  if (version >= 10000) {
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }
  switch (version) {
    case 26:
      return "12.8";
    case 27:
      return "12.9";
    case 28:
      return "12.9 update 1";
    default:
      return "with API version " + std::to_string(version);
  }
}

uint32_t KernelRecordVersion(uint32_t cupti_version) { return cupti_version >= kCupti130 ? 10 : 9; }

}  // namespace gx::inject
