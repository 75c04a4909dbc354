#include "inject/cupti_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Paths(const std::vector<LibraryCandidate>& candidates) {
  std::vector<std::string> paths;
  for (const LibraryCandidate& candidate : candidates) paths.push_back(candidate.path);
  return paths;
}

TEST(CuptiCandidates, AreTheConfiguredPathAloneWhereThereIsOne) {
  const auto candidates = CuptiCandidates("/opt/libcupti.so", {"/a/libcupti.so.12"}, {"/b/libcudart.so"}, "/c", "/d");
  EXPECT_THAT(Paths(candidates), ElementsAre("/opt/libcupti.so"));
  EXPECT_FALSE(candidates[0].must_be_mapped);
}

TEST(CuptiCandidates, StandInTheDocumentedOrder) {
  const auto candidates = CuptiCandidates("", {"/torch/libcupti.so.12"},
                                          {"/env/nvidia/cuda_runtime/lib/libcudart.so.12"}, "/home", "/path");
  EXPECT_THAT(Paths(candidates),
              ElementsAre("/torch/libcupti.so.12", "libcupti.so.13", "/env/nvidia/cuda_runtime/lib/libcupti.so.13",
                          "/env/nvidia/cuda_runtime/lib/libcupti.so.12",
                          "/env/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12",
                          "/env/nvidia/cuda_runtime/lib/../extras/CUPTI/lib64/libcupti.so", "/home/lib64/libcupti.so",
                          "/home/extras/CUPTI/lib64/libcupti.so", "/path/lib64/libcupti.so",
                          "/path/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so",
                          "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "libcupti.so.12"));
}

TEST(CuptiCandidates, OnlyMappedCopiesMustBeMapped) {
  for (const LibraryCandidate& candidate : CuptiCandidates("", {"/torch/libcupti.so.12"}, {}, "", "")) {
    EXPECT_EQ(candidate.must_be_mapped, candidate.path == "/torch/libcupti.so.12") << candidate.path;
  }
}

TEST(CuptiCandidates, UnsetVariablesAndBareNamesAddNothing) {
  for (const std::string& path : Paths(CuptiCandidates("", {}, {"libcudart.so.12"}, "", ""))) {
    EXPECT_THAT(path, Not(HasSubstr("//")));
    EXPECT_FALSE(path.starts_with("/lib")) << path;
    EXPECT_FALSE(path.starts_with("/extras")) << path;
  }
}

TEST(SupportedCuptiVersion, Is128To13) {
  for (const uint32_t version : {26u, 27u, 28u, 130000u, 130001u, 130200u, 139999u}) {
    EXPECT_TRUE(SupportedCuptiVersion(version)) << version;
  }
  for (const uint32_t version : {0u, 18u, 25u, 1000u, 129999u, 140000u, 0xFFFFFFFFu}) {
    EXPECT_FALSE(SupportedCuptiVersion(version)) << version;
  }
}

TEST(CuptiVersionText, IsTheToolkitsOwnVersion) {
  EXPECT_EQ(CuptiVersionText(26), "12.8");
  EXPECT_EQ(CuptiVersionText(27), "12.9");
  EXPECT_EQ(CuptiVersionText(28), "12.9 update 1");
  EXPECT_EQ(CuptiVersionText(130000), "13.0.0");
  EXPECT_EQ(CuptiVersionText(130001), "13.0.1");
  EXPECT_EQ(CuptiVersionText(131502), "13.15.2");
  EXPECT_THAT(CuptiVersionText(18), HasSubstr("18"));
}

TEST(KernelRecordVersion, IsTheNewestKnownOfTheVersion) {
  EXPECT_EQ(KernelRecordVersion(26), 9u);
  EXPECT_EQ(KernelRecordVersion(28), 9u);
  EXPECT_EQ(KernelRecordVersion(130000), 10u);
  EXPECT_EQ(KernelRecordVersion(139900), 10u);
}

TEST(LoadCupti, SaysWhatWasTriedAndHowToHelp) {
  CuptiApi api;
  std::vector<std::string> problems;
  EXPECT_FALSE(LoadCupti("/nowhere/libcupti.so", &api, &problems));
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems.front(), AllOf(HasSubstr("GPUEXEC_CUPTI"), HasSubstr("12.8")));
  EXPECT_THAT(problems, Contains(HasSubstr("/nowhere/libcupti.so")));
}

TEST(LoadCupti, NamesTheFunctionsThatALibraryLacks) {
  CuptiApi api;
  std::vector<std::string> problems;
  EXPECT_FALSE(LoadCupti(GX_STUB_LIBRARY, &api, &problems));
  EXPECT_THAT(problems, Contains(AllOf(HasSubstr("inject_stub"), HasSubstr("has no function cuptiSubscribe"))));
  EXPECT_THAT(problems, Not(Contains(HasSubstr("has no function cuptiGetVersion"))));
  EXPECT_THAT(problems, Not(Contains(HasSubstr("cuptiGetGraphId")))) << "needed only where present";
}

}  // namespace
}  // namespace gx::inject
