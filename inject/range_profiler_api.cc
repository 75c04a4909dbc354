#include "inject/range_profiler_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include "inject/dynamic_library.h"

namespace gx::inject {
namespace {

constexpr char kNvperf[] = "libnvperf_target.so";

// As for libnvperf_host (profiler_host_api.cc): CUPTI opens it by its bare name.
void OpenNvperfBeside(const std::string& cupti_path) {
  if (!MappedLibraries(kNvperf).empty()) return;
  const std::string path = FolderOf(cupti_path) + "/" + kNvperf;
  if (access(path.c_str(), R_OK) != 0) return;
  (void)dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

}  // namespace

bool LoadRangeProfiler(const std::string& cupti_path, RangeProfilerApi* api, std::vector<std::string>* problems) {
  const OpenedLibrary opened = OpenFirst({{cupti_path, false}}, "cuptiRangeProfilerEnable");
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
  GX_RANGE_PROFILER_FUNCTIONS(GX_LOAD)
#undef GX_LOAD
  if (complete) OpenNvperfBeside(opened.path);
  return complete;
}

}  // namespace gx::inject
