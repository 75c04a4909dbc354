// Forks, and several processes with one name for their trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Processes : public CaptureTest {
 protected:
  // A command for the shell.
  std::string Shell(const std::vector<std::string>& arguments, const fakes::Environment& more) {
    std::string line;
    for (const std::string& word :
         fakes::HostCommand(arguments, fakes::HostEnvironment(folder().path(), Injected(more)))) {
      line += "'" + word + "' ";
    }
    return line;
  }
};

TEST_F(Processes, AForkedChildThatDoesNothingLeavesTheParentsTraceAlone) {
  std::vector<const char*> children = {"idle"};
  if (fakes::kForkedChildMayExit) children.push_back("exit");
  for (const char* child : children) {
    const Capture capture = Run({"fork", "when=after", std::string("child=") + child});
    EXPECT_EQ(capture.result.out, "child ended with 7\nparent launched 20\n") << child;
    EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log)) << child;
    EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log)) << child;
    EXPECT_EQ(capture.trace.sequence_gaps, 0u) << child;
    EXPECT_THAT(capture.trace.Complaints(), IsEmpty()) << child;
    EXPECT_THAT(Files("trace"), SizeIs(1)) << child;
  }
}

TEST_F(Processes, AForkedChildOfACudaProcessFindsTheDriverAsItIsWithoutUs) {
  if (!fakes::kForkedChildMayExit) GTEST_SKIP() << "AddressSanitizer: see run_host.h";
  const Capture capture = Run({"fork", "when=after", "child=cuda"});
  EXPECT_EQ(capture.result.out, "child: cuInit 3\nchild ended with 7\nparent launched 20\n");
  EXPECT_THAT(capture.trace.kernels, SizeIs(20));
}

TEST_F(Processes, ParentAndChildThatBothStartCudaAfterTheForkWriteAFileEach) {
  if (!fakes::kForkedChildMayExit) GTEST_SKIP() << "AddressSanitizer: see run_host.h";
  const Capture capture = Run({"fork", "when=before", "child=cuda", "n=25"}, {{"GPUEXEC_OUTPUT", File("out.%p.pb")}});
  EXPECT_EQ(capture.result.out, "child: cuInit 0\nchild ended with 7\nparent launched 25\n");
  const std::vector<std::string> files = Files("out.");
  ASSERT_THAT(files, SizeIs(2));
  for (const std::string& file : files) {
    const TraceView trace = ReadTrace(File(file));
    EXPECT_THAT(trace.launches, SizeIs(25)) << file;
    EXPECT_THAT(trace.kernels, SizeIs(25)) << file;
    EXPECT_EQ(file, "out." + std::to_string(trace.header.pid()) + ".pb");
  }
}

TEST_F(Processes, AChildOfAProcessWithoutCudaIsTracedAlone) {
  const Capture capture = Run({"fork", "when=before", "child=idle"});
  EXPECT_EQ(capture.result.out, "child ended with 7\nparent launched 10\n");
  EXPECT_THAT(capture.trace.kernels, SizeIs(10));
  EXPECT_THAT(Files("trace"), SizeIs(1));
}

TEST_F(Processes, TwoAtATimeWithOneNameWriteTwoFiles) {
  // The sleep keeps both alive at once: the newcomer finds the file locked.
  const std::string host = Shell({"launch", "n=50", "sleep_ms=1500"}, {});
  const auto result = testing::RunCommand({"/bin/sh", "-c", host + "& sleep 0.4; " + host + "& wait"});
  EXPECT_EQ(result.out, "launched 50\nlaunched 50\n") << result.err;
  const std::vector<std::string> files = Files("trace");
  ASSERT_THAT(files, SizeIs(2));
  std::set<uint64_t> pids;
  for (const std::string& file : files) {
    const TraceView trace = ReadTrace(File(file));
    EXPECT_THAT(trace.kernels, SizeIs(50)) << file;
    EXPECT_EQ(trace.sequence_gaps, 0u) << file;
    pids.insert(trace.header.pid());
    if (file != "trace.pb") {
      EXPECT_EQ(file, "trace." + std::to_string(trace.header.pid()) + ".pb");
      EXPECT_EQ(trace.Stat(v1::STAT_OUTPUT_NAME_TAKEN), 1u);
    }
  }
  EXPECT_THAT(pids, SizeIs(2));
}

TEST_F(Processes, AFinishedTraceOfTheSameNameIsReplaced) {
  Run({"launch", "n=50"});
  const std::string host = Shell({"launch", "n=60"}, {});
  const auto result = testing::RunCommand({"/bin/sh", "-c", host});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(Files("trace"), SizeIs(1));
  EXPECT_THAT(ReadTrace(File("trace.pb")).kernels, SizeIs(60));
}

TEST_F(Processes, RanksAreToldApartByThePattern) {
  Run({"launch", "n=5"}, {{"GPUEXEC_OUTPUT", File("rank.%r.pb")}, {"RANK", "3"}});
  EXPECT_THAT(Files("rank."), ::testing::ElementsAre("rank.3.pb"));
}

}  // namespace
}  // namespace gx::e2e
