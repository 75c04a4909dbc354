// Finding shared libraries at run time. Nothing here is ever closed: a library that was opened stays until the process
// ends (CUPTI 13.0 and 13.1 crash when closed, icl-utk-edu/papi#594).
#ifndef GPUEXEC_INJECT_DYNAMIC_LIBRARY_H_
#define GPUEXEC_INJECT_DYNAMIC_LIBRARY_H_

#include <string>
#include <vector>

namespace gx::inject {

// Paths of the shared objects mapped into this process whose file name starts with `prefix` ("libcupti.so"), in load
// order.
std::vector<std::string> MappedLibraries(const std::string& prefix);

// The folder part of a path, "" where there is none.
std::string FolderOf(const std::string& path);

// The path of the shared object that holds `address` (as given to the loader), "" where unknown.
std::string PathOfAddress(const void* address);

// One place where a library may be.
struct LibraryCandidate {
  std::string path;
  // Only if it is in the process already.
  bool must_be_mapped = false;
};

struct OpenedLibrary {
  void* handle = nullptr;
  std::string path;                // As the loader resolved it.
  std::vector<std::string> tried;  // "path: why not", for diagnostics.
};

// Opens the first candidate that loads and has `required_symbol`. handle stays null where none does.
OpenedLibrary OpenFirst(const std::vector<LibraryCandidate>& candidates, const char* required_symbol);

// CUPTI opens its helpers (libnvperf_host.so, libnvperf_target.so) by their bare names, which finds none where only the
// wheel of a framework has brought CUPTI, and another toolkit's where there are two (13.0). Once the one in the folder
// of `library_path` is open, its name means it. Nothing where one is mapped already or none is there.
void OpenHelperBeside(const std::string& library_path, const std::string& helper);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_DYNAMIC_LIBRARY_H_
