#include "tools/doctor/cupti_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/doctor/fake_root.h"

namespace gx::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "path: found by" of each.
std::vector<std::string> Paths(const std::vector<CuptiCopy>& copies) {
  std::vector<std::string> paths;
  for (const CuptiCopy& copy : copies) paths.push_back(absl::StrCat(copy.path, ": ", copy.found_by));
  return paths;
}

TEST(CuptiSearch, NamesOfTheLibraryAreThoseThatALoaderKnows) {
  for (const char* name : {"libcupti.so", "libcupti.so.13", "libcupti.so.2025.3.1", "libcupti-8ca2d41f.so.12"}) {
    EXPECT_TRUE(IsCuptiName(name)) << name;
  }
  for (const char* name : {"libcupti_static.a", "libcupti.sox", "libcuptix.so", "xlibcupti.so", "libcupti-zz.so", ""}) {
    EXPECT_FALSE(IsCuptiName(name)) << name;
  }
}

TEST(CuptiSearch, EveryPlaceIsLookedAtInOrder) {
  FakeRoot fake({{"/own/libcupti.so", "1"},
                 {"/ld/libcupti.so.12", "2"},
                 {"/opt/lib/libcupti.so.13", "3"},
                 {"/home/cuda/extras/CUPTI/lib64/libcupti.so", "4"},
                 {"/usr/local/cuda-12.8/lib64/libcupti.so.2025.1.1", "5"},
                 {"/conda/lib/libcupti.so.12", "6"},
                 {"/conda/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "7"},
                 {"/venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12", "8"},
                 {"/py/torch/lib/libcupti-8ca2d41f.so.12", "9"},
                 {"/py/triton/backends/nvidia/lib/cupti/libcupti.so.12", "10"},
                 {"/py/nvidia/nccl/lib/libcupti.so", "not a place"},
                 {"/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n"},
                 {"/etc/ld.so.conf.d/a.conf", "# comment\n/opt/lib/ # here\n"},
                 {"/etc/ld.so.conf.d/a.conf.old", "/not/read\n"}});
  const Environment environment({"GPUEXEC_CUPTI=/own/libcupti.so", "LD_LIBRARY_PATH=/ld::/nowhere",
                                 "CUDA_HOME=/home/cuda", "CONDA_PREFIX=/conda", "VIRTUAL_ENV=/venv"});
  const std::vector<CuptiCopy> copies = FindCuptiCopies(fake.root(), environment, {"/py"});
  EXPECT_THAT(
      Paths(copies),
      ElementsAre(
          "/own/libcupti.so: GPUEXEC_CUPTI", "/ld/libcupti.so.12: LD_LIBRARY_PATH",
          "/opt/lib/libcupti.so.13: the loader's folders", "/home/cuda/extras/CUPTI/lib64/libcupti.so: CUDA_HOME",
          "/usr/local/cuda-12.8/lib64/libcupti.so.2025.1.1: /usr/local/cuda*", "/conda/lib/libcupti.so.12: conda",
          "/conda/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13: conda's Python packages",
          "/venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12: Python packages of the "
          "virtual environment",
          "/py/torch/lib/libcupti-8ca2d41f.so.12: Python packages",
          "/py/triton/backends/nvidia/lib/cupti/libcupti.so.12: Python packages"));
  EXPECT_FALSE(copies[5].of_python);
  EXPECT_TRUE(copies[6].of_python);
}

TEST(CuptiSearch, AFileThatSeveralNamesLeadToIsOneCopy) {
  FakeRoot fake({{"/usr/local/cuda-13.0/lib64/libcupti.so.2025.3.1", "x"},
                 {"/usr/local/cuda-13.0/lib64/libnvperf_host.so", "x"}});
  fake.Link("/usr/local/cuda-13.0/lib64/libcupti.so.13", "libcupti.so.2025.3.1");
  fake.Link("/usr/local/cuda-13.0/lib64/libcupti.so", "libcupti.so.13");
  fake.Link("/usr/local/cuda", "cuda-13.0");
  const std::vector<CuptiCopy> copies = FindCuptiCopies(fake.root(), Environment(), {});
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].path, "/usr/local/cuda/lib64/libcupti.so");
  EXPECT_EQ(copies[0].canonical, "/usr/local/cuda-13.0/lib64/libcupti.so.2025.3.1");
  EXPECT_EQ(copies[0].file_version, "2025.3.1");
  EXPECT_TRUE(copies[0].has_profiler_host);
}

TEST(CuptiSearch, BrokenLinksAndFoldersAreNoCopies) {
  FakeRoot fake({{"/usr/local/cuda/lib64/libcupti.so.13/inside", ""}});
  fake.Link("/usr/local/cuda/lib64/libcupti.so", "nowhere");
  EXPECT_THAT(FindCuptiCopies(fake.root(), Environment(), {}), IsEmpty());
}

TEST(CuptiSearch, ThereIsALimit) {
  FakeRoot fake;
  for (size_t i = 0; i < kMaxCuptiCopies + 10; ++i) fake.Add(absl::StrCat("/many/libcupti.so.", i), "");
  EXPECT_THAT(FindCuptiCopies(fake.root(), Environment({"LD_LIBRARY_PATH=/many"}), {}), SizeIs(kMaxCuptiCopies));
}

TEST(CuptiSearch, ALoaderConfigurationThatIncludesItselfEnds) {
  const FakeRoot fake({{"/etc/ld.so.conf", "/a\ninclude /etc/ld.so.conf\n"}});
  EXPECT_THAT(LoaderFolders(fake.root()), ::testing::Contains("/a"));
}

}  // namespace
}  // namespace gx::doctor
