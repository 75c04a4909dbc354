// The library and libcupti more than once in a process: one of each works, the others are named, and the program is
// what it is without any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class Copies : public CaptureTest {
 protected:
  // A copy of `library` in a folder of its own.
  std::string CopyOf(const std::string& library, const std::string& folder_name) {
    std::filesystem::create_directory(File(folder_name));
    const std::string copy = File(folder_name + "/" + std::filesystem::path(library).filename().string());
    std::filesystem::copy_file(library, copy, std::filesystem::copy_options::overwrite_existing);
    return copy;
  }

  Capture ExpectUnchanged(const std::vector<std::string>& arguments, const fakes::Environment& environment) {
    const testing::CommandResult bare = RunBare(arguments);
    Capture capture = Run(arguments, environment);
    EXPECT_EQ(capture.result.exit_code, bare.exit_code);
    EXPECT_EQ(capture.result.out, bare.out);
    EXPECT_EQ(capture.result.err, bare.err);
    return capture;
  }
};

TEST_F(Copies, TheLibraryGivenInEveryWayAtOnceRecordsOnce) {
  fakes::Environment environment = {{"NVTX_INJECTION64_PATH", GX_INJECT_LIBRARY}};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  environment["LD_PRELOAD"] = GX_INJECT_LIBRARY;
#endif
  const Capture capture = ExpectUnchanged({"nvtx", "state=1"}, environment);
  EXPECT_THAT(Files("trace"), SizeIs(1));
  EXPECT_THAT(capture.trace.kernels, SizeIs(3));
  EXPECT_THAT(capture.trace.nvtx, Not(IsEmpty()));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SECOND_COPY), 0u) << "one file is one copy";
  EXPECT_THAT(capture.log.Of("cupti", "function", "cuptiSubscribe_v2"), SizeIs(1));
}

TEST_F(Copies, ALinkToTheLibraryIsNoSecondCopy) {
  std::filesystem::create_symlink(GX_INJECT_LIBRARY, File("libgpuexec_inject.so"));
  const Capture capture = ExpectUnchanged({"nvtx"}, {{"NVTX_INJECTION64_PATH", File("libgpuexec_inject.so")}});
  EXPECT_THAT(capture.trace.nvtx, Not(IsEmpty()));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SECOND_COPY), 0u);
}

TEST_F(Copies, ASecondFileForNvtxHandsItsRangesToTheOneThatRecords) {
  const std::string second = CopyOf(GX_INJECT_LIBRARY, "second");
  const size_t ranges = Run({"nvtx"}).trace.nvtx.size();
  const Capture capture = ExpectUnchanged({"nvtx", "state=1"}, {{"NVTX_INJECTION64_PATH", second}});
  EXPECT_THAT(Files("trace"), SizeIs(1));
  EXPECT_THAT(capture.trace.kernels, SizeIs(3));
  EXPECT_EQ(capture.trace.nvtx.size(), ranges) << "none is lost in the idle copy";
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SECOND_COPY), 1u);
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr(second + " stays idle"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Copies, ASecondFileThatIsPreloadedStaysIdleAndIsNamed) {
  const std::string second = CopyOf(GX_INJECT_LIBRARY, "second");
  const Capture capture = ExpectUnchanged({"launch", "n=20", "state=1"}, {{"LD_PRELOAD", second}});
  EXPECT_THAT(Files("trace"), SizeIs(1));
  EXPECT_THAT(capture.trace.kernels, SizeIs(20));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SECOND_COPY), 1u);
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr(second + " stays idle"));
}
#endif

TEST_F(Copies, ALibcuptiThatTheProgramHasIsUsedAndASecondOneIsNamed) {
  const std::string own = CopyOf(GX_FAKES_DIR "/libcupti.so.13", "wheel");
  const std::string other = CopyOf(GX_FAKES_DIR "/libcupti.so.12", "toolkit");
  const std::vector<std::string> arguments = {"launch", "n=20", "load=" + own + ":" + other, "state=1"};
  const Capture capture = ExpectUnchanged(arguments, {{"GPUEXEC_CUPTI", ""}});
  EXPECT_EQ(capture.trace.header.cupti_path(), own);
  EXPECT_THAT(capture.trace.kernels, SizeIs(20));
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr(own + " is used, " + other + " is not"));
}

TEST_F(Copies, ALibcuptiThatWasAskedForBesideThatOfTheProgramIsNamedToo) {
  const std::string own = CopyOf(GX_FAKES_DIR "/libcupti.so.13", "wheel");
  const Capture capture = ExpectUnchanged({"launch", "n=20", "load=" + own, "state=1"}, {});
  EXPECT_EQ(capture.trace.header.cupti_path(), GX_FAKES_DIR "/libcupti.so.13");
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr(own + " is not"));
}

TEST_F(Copies, ALibcuptiThatComesLaterIsNamedOnceAtTheEnd) {
  const std::string later = CopyOf(GX_FAKES_DIR "/libcupti.so.13", "later");
  const Capture capture = Run({"profiler", "cupti=" + later});
  EXPECT_EQ(capture.result.exit_code, 0);
  const std::string& text = capture.trace.diagnostics;
  ASSERT_THAT(text, HasSubstr(later + " is not"));
  EXPECT_EQ(text.find(later + " is not", text.find(later + " is not") + 1), std::string::npos);
}

TEST_F(Copies, AnOldLibcuptiThatTheProgramHasIsRefusedByNameAndNotReplaced) {
  const std::string old = CopyOf(GX_FAKES_DIR "/libcupti.so.12", "old");
  const Capture capture =
      ExpectUnchanged({"launch", "n=20", "load=" + old}, {{"GPUEXEC_CUPTI", ""}, {"FAKE_CUPTI_VERSION", "18"}});
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr(old));
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("12.8 to 13.x"));
  EXPECT_THAT(capture.log.Of("cupti", "function", "cuptiActivityEnable"), IsEmpty());
}

}  // namespace
}  // namespace gx::e2e
