#include "inject/copies.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include "inject/dynamic_library.h"

namespace gx::inject {
namespace {

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first;
  struct stat second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::vector<std::string> Others(const std::vector<std::string>& mapped, const std::string& used_path) {
  std::vector<std::string> others;
  for (const std::string& path : mapped) {
    if (path != used_path) others.push_back(path);
  }
  return others;
}

}  // namespace

std::string RecordingCopy(const char* named, const std::string& own_path) {
  if (named == nullptr) return {};
  const std::string path = named;
  const size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  if (!file.starts_with(kInjectLibraryPrefix) || own_path.empty()) return {};
  struct stat status;
  // A bare name is the loader's to find: it is taken for this one.
  if (slash == std::string::npos || stat(path.c_str(), &status) != 0 || IsSameFile(path, own_path)) return {};
  return path;
}

bool PassNvtxOn(const std::string& recording_copy, const void* (*get_export_table)(uint32_t)) {
  void* const library = dlopen(recording_copy.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const auto initialize =
      reinterpret_cast<int (*)(const void* (*)(uint32_t))>(dlsym(library, "InitializeInjectionNvtx2"));
  return initialize != nullptr && initialize(get_export_table) != 0;
}

std::vector<std::string> CuptiCopyNotes(const std::vector<std::string>& mapped, const std::string& used_path) {
  std::vector<std::string> notes;
  for (const std::string& other : Others(mapped, used_path)) {
    notes.push_back("two copies of libcupti are in the process: " + used_path + " is used, " + other +
                    " is not; a profiler that uses the other one is not seen");
  }
  return notes;
}

std::vector<std::string> InjectCopyNotes(const std::vector<std::string>& mapped, const std::string& own_path) {
  std::vector<std::string> notes;
  for (const std::string& other : Others(mapped, own_path)) {
    notes.push_back("a second copy of gpuexec is in the process: " + own_path + " records, " + other +
                    " stays idle; give the same file to CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH and LD_PRELOAD");
  }
  return notes;
}

}  // namespace gx::inject
