#include "tools/doctor/cupti_search.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gx::doctor {
namespace {

constexpr size_t kMaxConfigFiles = 100;

class Search {
 public:
  explicit Search(const RootFolder& root) : root_(root) {}

  void Folder(absl::string_view folder, absl::string_view found_by, bool of_python = false) {
    for (const std::string& name : root_.List(folder)) {
      if (IsCuptiName(name)) File(absl::StrCat(folder, "/", name), found_by, of_python);
    }
  }

  void File(const std::string& path, absl::string_view found_by, bool of_python = false) {
    if (copies_.size() >= kMaxCuptiCopies || !root_.Exists(path) || root_.IsFolder(path)) return;
    CuptiCopy copy;
    copy.path = path;
    copy.canonical = root_.Canonical(path);
    if (!seen_.insert(copy.canonical).second) return;
    copy.found_by = std::string(found_by);
    copy.of_python = of_python;
    const absl::string_view name = absl::string_view(copy.canonical).substr(copy.canonical.rfind('/') + 1);
    const size_t version = name.find(".so.");
    // "2025.3.1"; a number alone is only the library's major version.
    if (version != absl::string_view::npos && absl::StrContains(name.substr(version + 4), ".")) {
      copy.file_version = std::string(name.substr(version + 4));
    }
    const std::string folder = copy.canonical.substr(0, copy.canonical.rfind('/'));
    copy.has_profiler_host = root_.Exists(absl::StrCat(folder, "/libnvperf_host.so"));
    copies_.push_back(std::move(copy));
  }

  // lib64, extras/CUPTI/lib64 and the like of a toolkit.
  void Toolkit(absl::string_view folder, absl::string_view found_by) {
    for (const char* part :
         {"/lib64", "/lib", "/extras/CUPTI/lib64", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"}) {
      Folder(absl::StrCat(folder, part), found_by);
    }
  }

  void Packages(absl::string_view folder, absl::string_view found_by) {
    // nvidia/cuda_cupti/lib of CUDA 12, nvidia/cu13/lib of CUDA 13.
    const std::string nvidia = absl::StrCat(folder, "/nvidia");
    for (const std::string& name : root_.List(nvidia)) {
      if (absl::StartsWith(name, "cu")) Folder(absl::StrCat(nvidia, "/", name, "/lib"), found_by, true);
    }
    Folder(absl::StrCat(folder, "/torch/lib"), found_by, true);
    Folder(absl::StrCat(folder, "/triton/backends/nvidia/lib/cupti"), found_by, true);
  }

  std::vector<CuptiCopy> Finish() { return std::move(copies_); }

 private:
  const RootFolder& root_;
  std::set<std::string> seen_;
  std::vector<CuptiCopy> copies_;
};

// "include /etc/ld.so.conf.d/*.conf": a folder and how the names end.
void ReadConfig(const RootFolder& root, const std::string& path, size_t* files_left,
                std::vector<std::string>* folders) {
  if (*files_left == 0) return;
  --*files_left;
  const std::string text = root.Read(path).value_or("");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (absl::StartsWith(line, "/")) folders->emplace_back(absl::StripSuffix(line, "/"));
    if (!absl::ConsumePrefix(&line, "include ")) continue;
    line = absl::StripAsciiWhitespace(line);
    const size_t slash = line.rfind('/');
    if (slash == absl::string_view::npos) continue;
    const std::string folder(line.substr(0, slash));
    absl::string_view names = line.substr(slash + 1);
    if (!absl::ConsumePrefix(&names, "*")) {
      ReadConfig(root, std::string(line), files_left, folders);
      continue;
    }
    for (const std::string& name : root.List(folder)) {
      if (absl::EndsWith(name, names)) ReadConfig(root, absl::StrCat(folder, "/", name), files_left, folders);
    }
  }
}

}  // namespace

bool IsCuptiName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "libcupti")) return false;
  if (absl::ConsumePrefix(&name, "-")) {
    while (!name.empty() && absl::ascii_isxdigit(static_cast<unsigned char>(name[0]))) name.remove_prefix(1);
  }
  return name == ".so" || absl::StartsWith(name, ".so.");
}

std::vector<std::string> LoaderFolders(const RootFolder& root) {
  std::vector<std::string> folders;
  size_t files_left = kMaxConfigFiles;
  ReadConfig(root, "/etc/ld.so.conf", &files_left, &folders);
  for (const char* folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                             "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
    folders.emplace_back(folder);
  }
  return folders;
}

std::vector<std::string> PackageFolders(const RootFolder& root, absl::string_view prefix) {
  std::vector<std::string> folders;
  for (const std::string& name : root.List(absl::StrCat(prefix, "/lib"))) {
    if (!absl::StartsWith(name, "python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      std::string folder = absl::StrCat(prefix, "/lib/", name, "/", packages);
      if (root.IsFolder(folder)) folders.push_back(std::move(folder));
    }
  }
  return folders;
}

std::vector<CuptiCopy> FindCuptiCopies(const RootFolder& root, const Environment& environment,
                                       const std::vector<std::string>& python_folders) {
  Search search(root);
  if (const auto configured = environment.Get("GPUEXEC_CUPTI"); configured && !configured->empty()) {
    search.File(*configured, "GPUEXEC_CUPTI");
  }
  for (const std::string& folder : environment.Folders("LD_LIBRARY_PATH")) search.Folder(folder, "LD_LIBRARY_PATH");
  for (const std::string& folder : LoaderFolders(root)) search.Folder(folder, "the loader's folders");
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto folder = environment.Get(name); folder && !folder->empty()) search.Toolkit(*folder, name);
  }
  for (const std::string& name : root.List("/usr/local")) {
    if (absl::StartsWith(name, "cuda")) search.Toolkit(absl::StrCat("/usr/local/", name), "/usr/local/cuda*");
  }
  search.Toolkit("/opt/cuda", "/opt/cuda");
  if (const auto conda = environment.Get("CONDA_PREFIX"); conda && !conda->empty()) {
    search.Toolkit(*conda, "conda");
    for (const std::string& folder : PackageFolders(root, *conda)) search.Packages(folder, "conda's Python packages");
  }
  if (const auto active = environment.Get("VIRTUAL_ENV"); active && !active->empty()) {
    for (const std::string& folder : PackageFolders(root, *active)) {
      search.Packages(folder, "Python packages of the virtual environment");
    }
  }
  for (const std::string& folder : python_folders) search.Packages(folder, "Python packages");
  return search.Finish();
}

}  // namespace gx::doctor
