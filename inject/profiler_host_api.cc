#include "inject/profiler_host_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include "inject/dynamic_library.h"

namespace gx::inject {
namespace {

constexpr char kNvperf[] = "libnvperf_host.so";

// CUPTI opens libnvperf_host by its bare name, which finds none where only the wheel of a framework has brought CUPTI,
// and another toolkit's where there are two (13.0). Once the one beside libcupti is open, that name means it.
void OpenNvperfBeside(const std::string& cupti_path) {
  if (!MappedLibraries(kNvperf).empty()) return;
  const std::string path = FolderOf(cupti_path) + "/" + kNvperf;
  if (access(path.c_str(), R_OK) != 0) return;
  // As CUPTI does, but for RTLD_GLOBAL, which it adds itself. If this fails, CUPTI says so when it is asked.
  (void)dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

}  // namespace

bool LoadProfilerHost(const std::string& cupti_path, ProfilerHostApi* api, std::vector<std::string>* problems) {
  const OpenedLibrary opened = OpenFirst({{cupti_path, false}}, "cuptiProfilerHostInitialize");
  if (opened.handle == nullptr) {
    for (const std::string& why : opened.tried) problems->push_back("no hardware counters: " + why);
    return false;
  }
  bool complete = true;
#define GX_LOAD(name)                                                                        \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(opened.handle, #name));            \
  if (api->name == nullptr) {                                                                \
    problems->push_back("no hardware counters: " + opened.path + " has no function " #name); \
    complete = false;                                                                        \
  }
  GX_PROFILER_HOST_FUNCTIONS(GX_LOAD)
#undef GX_LOAD
  if (complete) OpenNvperfBeside(opened.path);
  return complete;
}

}  // namespace gx::inject
