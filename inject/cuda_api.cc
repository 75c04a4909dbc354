#include "inject/cuda_api.h"

#include <dlfcn.h>

#include "inject/dynamic_library.h"

namespace gx::inject {

bool LoadCuda(CudaApi* api, std::vector<std::string>* problems) {
  std::vector<LibraryCandidate> candidates;
  for (const std::string& path : MappedLibraries("libcuda.so")) candidates.push_back({path, true});
  candidates.push_back({"libcuda.so.1", true});
  const OpenedLibrary opened = OpenFirst(candidates, "cuDeviceGetAttribute");
  if (opened.handle == nullptr) {
    problems->push_back("libcuda.so.1 is not in the process: no device or function attributes, no occupancy");
    return false;
  }
  api->path = opened.path;
#define GX_LOAD(name) api->name = reinterpret_cast<decltype(api->name)>(dlsym(opened.handle, #name));
  GX_CUDA_FUNCTIONS(GX_LOAD)
#undef GX_LOAD
  return true;
}

}  // namespace gx::inject
