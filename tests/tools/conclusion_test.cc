#include "tools/run/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gx::tools {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kLibrary[] = "/gx/libgpuexec_inject.so";

LoggedProcess Recording(int64_t pid, const std::string& trace) {
  LoggedProcess process;
  process.pid = pid;
  process.records = true;
  if (!trace.empty()) process.traces = {trace};
  return process;
}

SeenProcess Cuda(pid_t pid) {
  SeenProcess process;
  process.pid = pid;
  process.name = "python3";
  process.libcuda = "/usr/lib/libcuda.so.1";
  process.injection = kLibrary;
  return process;
}

RunEvidence Evidence() {
  RunEvidence evidence;
  evidence.library = kLibrary;
  evidence.process_count = 3;
  evidence.look_count = 20;
  evidence.run_ms = 2000;
  return evidence;
}

TEST(Conclusion, ATraceOfAProcessThatRecordsIsTheProof) {
  RunEvidence evidence = Evidence();
  evidence.logged = {Recording(7, "/t.7.pb"), Recording(8, "/t.8.pb")};
  evidence.traces = {{"/t.7.pb", 1024, 7}, {"/t.8.pb", 4096, 8}};
  evidence.seen = {Cuda(8)};
  const Conclusion conclusion = Conclude(evidence);
  EXPECT_TRUE(conclusion.is_proven);
  EXPECT_THAT(conclusion.recorded,
              ElementsAre("process 8 (python3) recorded to /t.8.pb, 4 KiB", "process 7 recorded to /t.7.pb, 1 KiB"));
  EXPECT_THAT(conclusion.problems, IsEmpty());
}

TEST(Conclusion, ATraceThatSaysWhyThereIsNoneIsNoProof) {
  RunEvidence evidence = Evidence();
  LoggedProcess refused = Recording(7, "/t.pb");
  refused.records = false;
  refused.reason = "no libcupti";
  refused.notes = {"no libcupti", "libcupti.so.13: not found"};
  evidence.logged = {refused};
  evidence.traces = {{"/t.pb", 900, 7}};
  const Conclusion conclusion = Conclude(evidence);
  EXPECT_FALSE(conclusion.is_proven);
  EXPECT_THAT(conclusion.traces, IsEmpty());
  EXPECT_THAT(conclusion.problems, ElementsAre("nothing was recorded, though the library was loaded",
                                               "process 7 records nothing: no libcupti"));
  EXPECT_THAT(conclusion.notes, ElementsAre("process 7: libcupti.so.13: not found"));
}

TEST(Conclusion, WhatAProcessDidNotLeaveIsSaid) {
  RunEvidence evidence = Evidence();
  evidence.logged = {Recording(1, ""), Recording(2, "/gone.pb"), Recording(3, "/empty.pb"), Recording(4, "/t.pb"),
                     Recording(5, "/t.pb")};
  evidence.traces = {{"/gone.pb", std::nullopt, 2}, {"/empty.pb", 0, 3}, {"/t.pb", 10, 4}, {"/t.pb", 10, 5}};
  const Conclusion conclusion = Conclude(evidence);
  EXPECT_THAT(conclusion.recorded, ElementsAre(HasSubstr("process 5 recorded to /t.pb")));
  EXPECT_THAT(conclusion.problems,
              ElementsAre(AllOf(HasSubstr("trace of process 4, /t.pb, was replaced by that of process 5"),
                                HasSubstr("-o trace.%p.pb")),
                          HasSubstr("/gone.pb, is gone"), HasSubstr("/empty.pb, is empty")));
  EXPECT_THAT(conclusion.notes, ElementsAre(HasSubstr("process 1 loaded the library and left no trace")));
}

struct WhyCase {
  const char* what;
  void (*change)(SeenProcess* process);
  const char* expected;
};

TEST(Conclusion, SaysWhyTheDriverDidNotLoadTheLibrary) {
  const WhyCase cases[] = {
      {"stub", [](SeenProcess* p) { p->libcuda = "/usr/local/cuda/lib64/stubs/libcuda.so"; }, "loaded a stub"},
      {"cleared", [](SeenProcess* p) { p->injection.reset(); }, "without CUDA_INJECTION64_PATH"},
      {"changed", [](SeenProcess* p) { p->injection = "/other.so"; }, "with CUDA_INJECTION64_PATH=/other.so"},
      {"left out", [](SeenProcess* p) { p->has_device = true; }, "left the library out"},
  };
  for (const WhyCase& test : cases) {
    RunEvidence evidence = Evidence();
    evidence.seen = {Cuda(9)};
    test.change(&evidence.seen[0]);
    const Conclusion conclusion = Conclude(evidence);
    ASSERT_THAT(conclusion.problems, SizeIs(2)) << test.what;
    EXPECT_THAT(conclusion.problems[0], HasSubstr("nothing was recorded: 1 process loaded the CUDA driver"));
    EXPECT_THAT(conclusion.problems[1], AllOf(HasSubstr("process 9 (python3)"), HasSubstr(test.expected)));

    // The same beside one that did record.
    evidence.logged = {Recording(7, "/t.pb")};
    evidence.traces = {{"/t.pb", 10, 7}};
    EXPECT_THAT(Conclude(evidence).problems, ElementsAre(HasSubstr(test.expected))) << test.what;
  }
}

TEST(Conclusion, AProcessThatOnlyLoadedTheDriverIsNoFaultBesideOneThatRecorded) {
  RunEvidence evidence = Evidence();
  evidence.seen = {Cuda(9)};
  evidence.logged = {Recording(7, "/t.pb")};
  evidence.traces = {{"/t.pb", 10, 7}};
  EXPECT_THAT(Conclude(evidence).problems, IsEmpty());
}

TEST(Conclusion, SaysThatNothingUsedCudaAndHowWellThatIsKnown) {
  EXPECT_THAT(Conclude(Evidence()).problems, ElementsAre(AllOf(HasSubstr("no process of the run used CUDA"),
                                                               HasSubstr("3 processes seen in 20 looks"))));
}

TEST(Conclusion, TheMostExactReasonIsSaid) {
  RunEvidence evidence = Evidence();
  evidence.program = {.path = "/bin/tool", .is_static = true, .is_privileged = false};
  EXPECT_THAT(Conclude(evidence).problems, ElementsAre(HasSubstr("/bin/tool is linked statically")));
  evidence.program = {.path = "/bin/tool", .is_static = false, .is_privileged = true};
  EXPECT_THAT(Conclude(evidence).problems, ElementsAre(HasSubstr("/bin/tool is setuid")));
  evidence.load_problem = "needs libfoo";
  EXPECT_THAT(Conclude(evidence).problems, ElementsAre(HasSubstr("cannot be loaded: needs libfoo")));
  evidence.switched_off = true;
  EXPECT_THAT(Conclude(evidence).problems, ElementsAre(HasSubstr("GPUEXEC_ENABLE=0")));
}

TEST(Conclusion, WhatCannotBeLookedIntoIsSaid) {
  RunEvidence evidence = Evidence();
  SeenProcess& dark = evidence.seen.emplace_back();
  dark.pid = 4;
  dark.name = "sudo";
  dark.is_readable = false;
  EXPECT_THAT(Conclude(evidence).problems, ElementsAre(HasSubstr("1 process cannot be looked into")));
}

TEST(Conclusion, TheSameFaultOfManyProcessesIsSaidAFewTimes) {
  RunEvidence evidence = Evidence();
  for (pid_t pid = 1; pid <= 1000; ++pid) {
    evidence.seen.push_back(Cuda(pid));
    evidence.seen.back().injection.reset();
  }
  const Conclusion conclusion = Conclude(evidence);
  EXPECT_THAT(conclusion.problems, SizeIs(10));
  EXPECT_THAT(conclusion.problems, Contains("and 992 more like the last one"));
}

TEST(Conclusion, NamesWithControlBytesAreEscaped) {
  RunEvidence evidence = Evidence();
  evidence.seen = {Cuda(9)};
  evidence.seen[0].name = "a\x1b[2J";
  evidence.seen[0].injection = "/x\x07";
  for (const std::string& line : Conclude(evidence).problems) {
    EXPECT_THAT(line, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
  }
}

}  // namespace
}  // namespace gx::tools
