// Every libcupti that can be found on a machine, by path. Reads folders and files only; nothing is loaded.
#ifndef GPUEXEC_TOOLS_DOCTOR_CUPTI_SEARCH_H_
#define GPUEXEC_TOOLS_DOCTOR_CUPTI_SEARCH_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/doctor/environment.h"
#include "tools/doctor/facts.h"
#include "tools/doctor/root_folder.h"

namespace gx::doctor {

// Copies in the order in which they were looked for: GPUEXEC_CUPTI; LD_LIBRARY_PATH; the loader's folders
// (/etc/ld.so.conf, its own); CUDA_HOME, CUDA_PATH, /usr/local/cuda*, /opt/cuda; conda; packages of Python. Each file
// once, under the first path that led to it; the first kMaxCuptiCopies. Without versions of the API.
inline constexpr size_t kMaxCuptiCopies = 32;
std::vector<CuptiCopy> FindCuptiCopies(const RootFolder& root, const Environment& environment,
                                       const std::vector<std::string>& python_folders);

// "libcupti.so", "libcupti.so.13", "libcupti-8ca2d41f.so.12" (PyTorch's own, before it used NVIDIA's packages). Pure.
bool IsCuptiName(absl::string_view name);

// Folders of /etc/ld.so.conf and what it includes, then the loader's own.
std::vector<std::string> LoaderFolders(const RootFolder& root);

// Folders of packages below a prefix: lib/python3*/site-packages and dist-packages.
std::vector<std::string> PackageFolders(const RootFolder& root, absl::string_view prefix);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_CUPTI_SEARCH_H_
