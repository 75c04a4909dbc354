// What gx-analyze says of a run that lost something: the gap first, the whole account of each process, and exit code 1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;

constexpr char kLossesHeading[] = "LOSSES AND ODD RECORDS\n";

struct Gap {
  const char* name;
  Arguments arguments;
  fakes::Environment environment;
  // What the report says of it, as a regular expression.
  const char* said;

  friend void PrintTo(const Gap& gap, std::ostream* out) { *out << gap.name; }
};

class Accounting : public CaptureTest {
 protected:
  testing::CommandResult Analyze(const std::vector<std::string>& files) {
    std::vector<std::string> command = {GX_ANALYZE};
    for (const std::string& file : files) command.push_back(File(file));
    return testing::RunCommand(command);
  }
};

class AccountingOf : public Accounting, public ::testing::WithParamInterface<Gap> {};

TEST_P(AccountingOf, AGapIsPrintedFirstWithTheAccountAndEndsWithOne) {
  const Gap& gap = GetParam();
  Run(gap.arguments, gap.environment);
  const testing::CommandResult report = Analyze({"trace.pb"});
  EXPECT_EQ(report.exit_code, 1) << report.out << report.err;
  EXPECT_THAT(report.out, StartsWith(kLossesHeading));
  EXPECT_THAT(report.out, ContainsRegex(gap.said));
  const size_t account = report.out.find("accounting: ");
  ASSERT_NE(account, std::string::npos) << report.out;
  EXPECT_LT(account, report.out.find("PROVENANCE")) << "within the first section";
  EXPECT_THAT(report.out, ContainsRegex("accounting: [0-9,]+ kernel launch.*; [0-9,]+ kernel record.* joined"));
}

INSTANTIATE_TEST_SUITE_P(
    Each, AccountingOf,
    ::testing::Values(
        Gap{"DroppedByCupti", {"launch", "n=500"}, {{"FAKE_CUPTI_DROP", "50"}}, "data loss +50 .*dropped"},
        Gap{"Untimed", {"launch", "n=500"}, {{"FAKE_CUPTI_ZERO_TIMES", "10"}}, "data loss +50 .*without timestamps"},
        Gap{"Backwards", {"launch", "n=500"}, {{"FAKE_CUPTI_BACKWARDS", "10"}}, "50 .*end lies before their start"},
        Gap{"KernelsRefused",
            {"launch", "n=100"},
            {{"FAKE_FAIL", "cuptiActivityEnable:10=21"}},
            "data loss +100 .*no kernel record came"},
        Gap{"LaunchesDropped",
            {"launch", "n=2000", "threads=80"},
            {{"GPUEXEC_MEMORY", "8M"}, {"GPUEXEC_EXIT_WAIT", "5"}, {"FAKE_CUPTI_LANES", "12"}},
            "data loss +[0-9,]+ .*(queue|buffer)"},
        Gap{"Killed", {"launch", "n=500", "exit=kill", "sleep_ms=1500"}, {}, "data loss +1 .*the trace has no end"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_F(Accounting, WhatWasStillRunningIsCountedApart) {
  Run({"launch", "n=3", "kernel_us=3000000", "sync=0"}, {{"GPUEXEC_EXIT_WAIT", "0.2"}});
  const testing::CommandResult report = Analyze({"trace.pb"});
  EXPECT_THAT(report.out, StartsWith(kLossesHeading));
  EXPECT_THAT(report.out, ContainsRegex("accounting: 3 kernel launches"));
  EXPECT_THAT(report.out, HasSubstr("1 unfinished"));
}

TEST_F(Accounting, AWholeTraceHasNoGapAndEndsWithZero) {
  Run({"launch", "n=500"});
  const testing::CommandResult report = Analyze({"trace.pb"});
  EXPECT_EQ(report.exit_code, 0) << report.out << report.err;
  EXPECT_EQ(report.out.find("data loss"), std::string::npos) << report.out;
  EXPECT_THAT(report.out, ContainsRegex("accounting: 500 kernel launches.* 500 kernel records, 500 joined"));
}

TEST_F(Accounting, OfSeveralProcessesEachHasAnAccountOfItsOwn) {
  Run({"launch", "n=40"}, {{"GPUEXEC_OUTPUT", File("whole.pb")}});
  Run({"launch", "n=70"}, {{"GPUEXEC_OUTPUT", File("torn.pb")}, {"FAKE_CUPTI_DROP", "20"}});
  const testing::CommandResult report = Analyze({"whole.pb", "torn.pb"});
  EXPECT_EQ(report.exit_code, 1) << "one of them is enough";
  EXPECT_THAT(report.out, ContainsRegex("accounting: 40 kernel launches.* 40 kernel records"));
  EXPECT_THAT(report.out, ContainsRegex("accounting: 70 kernel launches.* 50 kernel records"));
}

// Damage in the middle of a file: what is before and after is read, and the report begins with what is missing.
// Each frame is a field 1 of the trace, of the length that comes first.
std::vector<size_t> FrameEnds(const std::string& bytes) {
  std::vector<size_t> ends;
  size_t at = 0;
  while (at < bytes.size() && bytes[at] == 0x0A) {
    uint64_t length = 0;
    unsigned shift = 0;
    do {
      ++at;
      length |= (static_cast<uint64_t>(bytes.at(at)) & 0x7F) << shift;
      shift += 7;
    } while ((static_cast<unsigned char>(bytes.at(at)) & 0x80) != 0);
    at += 1 + length;
    ends.push_back(at);
  }
  return ends;
}

TEST_F(Accounting, ATraceThatIsDamagedInTheMiddleIsReadOnBothSides) {
  const Capture capture = Run({"launch", "n=3000", "pause_us=1000"});
  ASSERT_GE(capture.trace.frame_count, 6u);
  {
    std::fstream file(File("trace.pb"), std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    file.clear();
    // A frame behind the definitions, whenever the driver gave them (kernels whose names are lost would have none), and
    // before the last one.
    const size_t named = bytes.rfind("kernel_3");
    ASSERT_NE(named, std::string::npos);
    const std::vector<size_t> ends = FrameEnds(bytes);
    const auto before = std::upper_bound(ends.begin(), ends.end(), named);
    ASSERT_GE(ends.end() - before, 3) << "no frame between the definitions and the last one";
    const auto place = static_cast<std::streamoff>((before[0] + before[1]) / 2);
    file.seekg(place);
    const int byte = file.get();
    file.seekp(place);
    file.put(static_cast<char>(byte ^ 0x20));
  }
  const testing::CommandResult report = Analyze({"trace.pb"});
  EXPECT_EQ(report.exit_code, 1) << report.out << report.err;
  EXPECT_THAT(report.out, StartsWith(kLossesHeading));
  EXPECT_THAT(report.out.substr(0, report.out.find("PROVENANCE")), ContainsRegex("damage"));
  EXPECT_THAT(report.out, HasSubstr("Fake GPU 0")) << "from before the damage";
  EXPECT_THAT(report.out, HasSubstr("ended by exit")) << "from behind it";
  EXPECT_THAT(report.out, HasSubstr("  kernel_"));
}

}  // namespace
}  // namespace gx::e2e
