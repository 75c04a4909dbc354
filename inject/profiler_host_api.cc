#include "inject/profiler_host_api.h"

#include <dlfcn.h>

#include "inject/dynamic_library.h"

namespace gx::inject {

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
  if (complete) OpenHelperBeside(opened.path, "libnvperf_host.so");
  return complete;
}

}  // namespace gx::inject
