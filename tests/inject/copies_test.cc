#include "inject/copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace gx::inject {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RecordingCopy, IsTheOtherFileThatTheDriverIsGiven) {
  const testing::TempDir folder;
  std::filesystem::create_directory(folder.File("a"));
  std::filesystem::create_directory(folder.File("b"));
  const std::string own = folder.File("a/libgpuexec_inject.so");
  const std::string other = folder.File("b/libgpuexec_inject.so");
  std::ofstream(own) << "own";
  std::ofstream(other) << "other";
  EXPECT_EQ(RecordingCopy(other.c_str(), own), other);
}

TEST(RecordingCopy, IsNoneWhereTheDriverIsGivenThisFileByAnyPath) {
  const testing::TempDir folder;
  const std::string own = folder.File("libgpuexec_inject.so");
  std::ofstream(own) << "own";
  std::filesystem::create_symlink(own, folder.File("libgpuexec_inject.so.1"));
  EXPECT_EQ(RecordingCopy(own.c_str(), own), "");
  EXPECT_EQ(RecordingCopy(folder.File("libgpuexec_inject.so.1").c_str(), own), "");
  EXPECT_EQ(RecordingCopy("libgpuexec_inject.so", own), "") << "the loader finds it";
}

TEST(RecordingCopy, IsNoneWhereNothingOrAnotherToolIsGiven) {
  const testing::TempDir folder;
  const std::string own = folder.File("libgpuexec_inject.so");
  std::ofstream(own) << "own";
  std::ofstream(folder.File("libother.so")) << "other";
  EXPECT_EQ(RecordingCopy(nullptr, own), "");
  EXPECT_EQ(RecordingCopy("", own), "");
  EXPECT_EQ(RecordingCopy("none", own), "");
  EXPECT_EQ(RecordingCopy(folder.File("libother.so").c_str(), own), "");
  EXPECT_EQ(RecordingCopy(folder.File("missing/libgpuexec_inject.so").c_str(), own), "");
}

TEST(PassNvtxOn, ToWhatIsNoLibraryIsARefusal) {
  const testing::TempDir folder;
  std::ofstream(folder.File("libgpuexec_inject.so")) << "text";
  EXPECT_FALSE(PassNvtxOn(folder.File("libgpuexec_inject.so"), nullptr));
}

TEST(CopyNotes, NameEveryOtherAndNotTheOneInUse) {
  EXPECT_THAT(CuptiCopyNotes({"/a/libcupti.so.13"}, "/a/libcupti.so.13"), IsEmpty());
  EXPECT_THAT(CuptiCopyNotes({"/a/libcupti.so.13", "/b/libcupti.so.12", "/c/libcupti.so"}, "/b/libcupti.so.12"),
              ElementsAre(AllOf(HasSubstr("/b/libcupti.so.12 is used"), HasSubstr("/a/libcupti.so.13 is not")),
                          HasSubstr("/c/libcupti.so is not")));
  EXPECT_THAT(InjectCopyNotes({"/x/libgpuexec_inject.so", "/y/libgpuexec_inject.so"}, "/x/libgpuexec_inject.so"),
              ElementsAre(AllOf(HasSubstr("/x/libgpuexec_inject.so records"), HasSubstr("/y/libgpuexec_inject.so"))));
}

}  // namespace
}  // namespace gx::inject
