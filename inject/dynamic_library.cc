#include "inject/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <string_view>

namespace gx::inject {
namespace {

struct Search {
  std::string_view prefix;
  std::vector<std::string>* found;
};

int Visit(dl_phdr_info* info, size_t, void* user) {
  auto* search = static_cast<Search*>(user);
  if (info->dlpi_name == nullptr) return 0;
  const std::string_view path = info->dlpi_name;
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name.substr(0, search->prefix.size()) == search->prefix) search->found->emplace_back(path);
  return 0;
}

}  // namespace

std::vector<std::string> MappedLibraries(const std::string& prefix) {
  std::vector<std::string> found;
  Search search{prefix, &found};
  dl_iterate_phdr(Visit, &search);
  return found;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string PathOfAddress(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

OpenedLibrary OpenFirst(const std::vector<LibraryCandidate>& candidates, const char* required_symbol) {
  OpenedLibrary opened;
  for (const LibraryCandidate& candidate : candidates) {
    const int flags = RTLD_NOW | RTLD_LOCAL | (candidate.must_be_mapped ? RTLD_NOLOAD : 0);
    void* handle = dlopen(candidate.path.c_str(), flags);
    if (handle == nullptr) {
      const char* why = dlerror();
      opened.tried.push_back(candidate.path + ": " + (why != nullptr ? why : "not in the process"));
      continue;
    }
    const void* symbol = dlsym(handle, required_symbol);
    if (symbol == nullptr) {
      opened.tried.push_back(candidate.path + ": has no " + required_symbol);
      continue;
    }
    opened.handle = handle;
    opened.path = PathOfAddress(symbol);
    if (opened.path.empty()) opened.path = candidate.path;
    return opened;
  }
  return opened;
}

void OpenHelperBeside(const std::string& library_path, const std::string& helper) {
  if (!MappedLibraries(helper).empty()) return;
  const std::string path = FolderOf(library_path) + "/" + helper;
  if (access(path.c_str(), R_OK) != 0) return;
  // As CUPTI does, but for RTLD_GLOBAL, which it adds itself. If this fails, CUPTI says so when it is asked.
  (void)dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

}  // namespace gx::inject
