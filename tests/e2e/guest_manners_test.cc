// What the user of a program sees of us: nothing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GuestManners : public CaptureTest {};

TEST_F(GuestManners, OutputAndExitAreTheSameWithAndWithoutUs) {
  std::vector<std::vector<std::string>> programs = {
      {"none"},
      {"init"},
      {"launch", "n=100", "threads=2"},
      {"launch", "n=100", "exit=17"},
      {"launch", "n=100", "exit=_exit"},
      {"launch", "n=100", "exit=abort"},
      {"launch", "n=100", "exit=kill"},
      {"launch", "n=100", "sync=0"},
      {"launch", "n=100", "context=create"},
      {"every"},
      {"graph", "nodes=5", "replays=5"},
      {"graph", "nodes=5", "replays=6", "build=1", "update=1"},
      {"modules"},
      {"memory"},
      {"contexts"},
      {"failing"},
      {"region"},
      {"nvtx"},
      {"fork", "when=after", "child=idle"},
  };
  if (fakes::kForkedChildMayExit) {
    programs.push_back({"fork", "when=after", "child=exit"});
    programs.push_back({"fork", "when=after", "child=cuda"});
    programs.push_back({"fork", "when=before", "child=cuda"});
  }
  for (const auto& arguments : programs) {
    const std::string what = ::testing::PrintToString(arguments);
    const testing::CommandResult bare = RunBare(arguments);
    const Capture capture = Run(arguments);
    EXPECT_EQ(capture.result.exit_code, bare.exit_code) << what;
    EXPECT_EQ(capture.result.signal, bare.signal) << what;
    EXPECT_EQ(capture.result.out, bare.out) << what;
    EXPECT_EQ(capture.result.err, bare.err) << what;
  }
}

TEST_F(GuestManners, AProgramWithoutCudaIsNotTouched) {
  const Capture capture = Run({"none"});
  EXPECT_EQ(capture.result.out, "no CUDA here\n");
  EXPECT_THAT(Files("trace"), IsEmpty());
}

TEST_F(GuestManners, TheTraceBelongsToItsOwnerAlone) {
  Run({"launch", "n=10"});
  struct stat status {};
  ASSERT_EQ(stat(File("trace.pb").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(GuestManners, ASymbolicLinkIsNotFollowed) {
  ASSERT_EQ(symlink(File("target").c_str(), File("link.pb").c_str()), 0);
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_OUTPUT", File("link.pb")}});
  EXPECT_EQ(capture.result.out, "launched 10\n");
  EXPECT_THAT(Files("target"), IsEmpty());
}

TEST_F(GuestManners, AFileThatIsNoTraceIsNotOverwritten) {
  std::ofstream(File("notes.pb")) << "my notes";
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_OUTPUT", File("notes.pb")}});
  EXPECT_EQ(capture.result.out, "launched 10\n");
  std::ifstream file(File("notes.pb"));
  std::string content;
  std::getline(file, content);
  EXPECT_EQ(content, "my notes");
  EXPECT_THAT(Files("notes."), SizeIs(2));
}

TEST_F(GuestManners, AnOutputThatCannotBeWrittenChangesNothingForTheProgram) {
  const testing::CommandResult bare = RunBare({"launch", "n=100"});
  for (const char* output : {"/proc/nowhere/trace.pb", "/dev/full", "/dev/null/x"}) {
    const Capture capture = Run({"launch", "n=100"}, {{"GPUEXEC_OUTPUT", output}});
    EXPECT_EQ(capture.result.exit_code, 0) << output;
    EXPECT_EQ(capture.result.out, bare.out) << output;
    EXPECT_EQ(capture.result.err, bare.err) << output;
  }
}

TEST_F(GuestManners, ALogToStderrIsOneLineAtTheStart) {
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_LOG", "stderr"}});
  EXPECT_EQ(capture.result.out, "launched 10\n");
  EXPECT_EQ(std::count(capture.result.err.begin(), capture.result.err.end(), '\n'), 2) << capture.result.err;
  EXPECT_THAT(capture.result.err, HasSubstr(File("trace.pb")));
}

TEST_F(GuestManners, HelpGoesToStderrAndTheProgramRuns) {
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_HELP", "1"}});
  EXPECT_EQ(capture.result.out, "launched 10\n");
  for (const char* name :
       {"GPUEXEC_OUTPUT", "GPUEXEC_MEMORY", "GPUEXEC_MAX_BYTES", "GPUEXEC_CUPTI", "GPUEXEC_REGION"}) {
    EXPECT_THAT(capture.result.err, HasSubstr(name));
  }
}

#ifdef GX_ANALYZE
TEST_F(GuestManners, TheAnalyzerReportsWhatRan) {
  Run({"launch", "n=500", "streams=2"});
  const testing::CommandResult report = testing::RunCommand({GX_ANALYZE, File("trace.pb")});
  EXPECT_EQ(report.exit_code, 0) << report.out << report.err;
  EXPECT_THAT(report.out, HasSubstr("kernel_3"));
  EXPECT_THAT(report.out, HasSubstr("Fake GPU 0"));
}

TEST_F(GuestManners, TheAnalyzerReportsRecordsThatDisagreeWithTheirLaunch) {
  const Capture capture = Run({"launch", "n=100"}, {{"FAKE_CUPTI_DISAGREE", "10"}});
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log)) << "a record must change no signature";
  const testing::CommandResult report = testing::RunCommand({GX_ANALYZE, File("trace.pb")});
  EXPECT_THAT(report.out, ::testing::ContainsRegex("10.*own launch values differ")) << report.out;
}

TEST_F(GuestManners, TheAnalyzerReportsLossesFirst) {
  Run({"launch", "n=500"}, {{"FAKE_CUPTI_DROP", "50"}});
  const testing::CommandResult report = testing::RunCommand({GX_ANALYZE, File("trace.pb")});
  EXPECT_EQ(report.exit_code, 1) << report.out << report.err;
  EXPECT_THAT(report.out, HasSubstr("50"));
  EXPECT_LT(report.out.find("dropped"), report.out.find("kernel_3"));
}
#endif

}  // namespace
}  // namespace gx::e2e
