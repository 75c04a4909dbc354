// A folder of its own for one test, removed with everything in it at the end. Not shared between threads.
#ifndef GPUEXEC_TESTS_SUPPORT_TEMP_DIR_H_
#define GPUEXEC_TESTS_SUPPORT_TEMP_DIR_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace gx::testing {

class TempDir {
 public:
  TempDir() : path_(::testing::TempDir() + "/gpuexec_test_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no folder could be made at " << path_;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace gx::testing

#endif  // GPUEXEC_TESTS_SUPPORT_TEMP_DIR_H_
