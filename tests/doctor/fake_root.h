// A folder that stands for a machine's "/", made of a list of files. For tests.
#ifndef GPUEXEC_TESTS_DOCTOR_FAKE_ROOT_H_
#define GPUEXEC_TESTS_DOCTOR_FAKE_ROOT_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "tests/support/temp_dir.h"
#include "tools/doctor/root_folder.h"

namespace gx::doctor {

class FakeRoot {
 public:
  struct File {
    std::string path;
    std::string content;
  };
  explicit FakeRoot(std::initializer_list<File> files = {}) {
    for (const File& file : files) Add(file.path, file.content);
  }
  void Add(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(Place(path)).parent_path());
    std::ofstream(Place(path), std::ios::binary) << content;
  }
  // `target` as in ln -s: seen from the link's folder.
  void Link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(std::filesystem::path(Place(path)).parent_path());
    std::filesystem::create_symlink(target, Place(path));
  }
  std::string Place(const std::string& path) const { return folder_.path() + path; }
  RootFolder root() const { return RootFolder(folder_.path()); }

 private:
  testing::TempDir folder_;
};

}  // namespace gx::doctor

#endif  // GPUEXEC_TESTS_DOCTOR_FAKE_ROOT_H_
