// The built gx-analyze, as a user runs it: what is printed where, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace gx::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string SoundTrace() {
  return TraceBytes(Numbered(
      {PacketFromText("header { format_major: 1 pid: 7 }"), PacketFromText("trailer { reason: REASON_EXIT }")}));
}

class GxAnalyzeTest : public ::testing::Test {
 protected:
  std::string Put(const std::string& name, const std::string& bytes) {
    const std::string path = dir_.File(name);
    EXPECT_TRUE(WriteFile(path, bytes));
    return path;
  }
  // One line on stderr, nothing on stdout.
  void ExpectRefused(const std::vector<std::string>& arguments, int exit_code, const std::string& what) {
    std::vector<std::string> command = {GX_ANALYZE};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const CommandResult result = RunCommand(command);
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("gx-analyze: "));
    EXPECT_THAT(result.err, HasSubstr(what));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  TempDir dir_;
};

TEST_F(GxAnalyzeTest, ASoundTraceGivesAReportAndZero) {
  const CommandResult result = RunCommand({GX_ANALYZE, Put("a.pb", SoundTrace())});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, StartsWith("LOSSES AND ODD RECORDS\n  none"));
}

TEST_F(GxAnalyzeTest, ACutTraceGivesAReportAndOne) {
  std::string bytes = SoundTrace();
  bytes.resize(bytes.size() - 3);
  const CommandResult result = RunCommand({GX_ANALYZE, Put("a.pb", bytes)});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("cut tail"));
  EXPECT_THAT(result.out, HasSubstr("trace.no_trailer"));
}

TEST_F(GxAnalyzeTest, AFlippedBitGivesAReportAndOne) {
  std::string bytes = SoundTrace();
  bytes[bytes.size() - 1] = static_cast<char>(bytes[bytes.size() - 1] ^ 1);
  const CommandResult result = RunCommand({GX_ANALYZE, Put("a.pb", bytes)});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("bad checksum"));
}

TEST_F(GxAnalyzeTest, WrongUsageGivesTwo) {
  ExpectRefused({}, 2, "no trace is named");
  ExpectRefused({"--bogus"}, 2, "unknown option '--bogus'");
  ExpectRefused({"--format", "xml", "a.pb"}, 2, "'xml' is not one of");
}

TEST_F(GxAnalyzeTest, WhatCannotBeReadGivesThreeAndOneClearLine) {
  ExpectRefused({dir_.File("none.pb")}, 3, "none.pb");
  ExpectRefused({dir_.path()}, 3, "directory");
  ExpectRefused({Put("empty.pb", "")}, 3, "empty");
  ExpectRefused({Put("text.pb", std::string(1000, 'x'))}, 3, "not a");
  ExpectRefused({Put("cut.pb", SoundTrace().substr(0, 12))}, 3, "cut.pb");
}

TEST_F(GxAnalyzeTest, OneUnreadableTraceOfSeveralGivesThree) {
  ExpectRefused({Put("a.pb", SoundTrace()), dir_.File("none.pb")}, 3, "none.pb");
}

TEST_F(GxAnalyzeTest, ErrorsPrintNoControlBytes) { ExpectRefused({"/no\x1b[2J/such"}, 3, "/no\\x1b[2J/such"); }

TEST_F(GxAnalyzeTest, HelpAndVersionGoToStandardOutput) {
  const CommandResult help = RunCommand({GX_ANALYZE, "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, StartsWith("usage: gx-analyze"));
  EXPECT_EQ(RunCommand({GX_ANALYZE, "--version"}).exit_code, 0);
}

TEST_F(GxAnalyzeTest, SeveralFormatsAreWrittenBesideOneAnother) {
  const CommandResult result =
      RunCommand({GX_ANALYZE, "--format", "text,json,csv", "-o", dir_.File("out"), Put("a.pb", SoundTrace())});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(ReadFile(dir_.File("out.txt")), StartsWith("LOSSES"));
  EXPECT_THAT(ReadFile(dir_.File("out.json")), StartsWith("{"));
  EXPECT_THAT(ReadFile(dir_.File("out.csv")), StartsWith("process,"));
}

TEST_F(GxAnalyzeTest, AReportThatCannotBeWrittenGivesThree) {
  ExpectRefused({"-o", dir_.File("no/such/folder"), Put("a.pb", SoundTrace())}, 3, "could not be written");
}

TEST_F(GxAnalyzeTest, AFullDiskGivesThree) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  ExpectRefused({"-o", "/dev/full", Put("a.pb", SoundTrace())}, 3, "could not be written");
}

TEST_F(GxAnalyzeTest, TwoTracesMakeOneReportWithAColumnForTheProcess) {
  const std::string kernels =
      R"(kernel_batch { count: 1 timing: TIMING_COMPLETE base_start_ns: 5 start_unit_ns: 1 start_delta: [0]
         duration_unit_ns: 1 duration_delta: [9] base_correlation_id: 1 })";
  const std::string a =
      Put("a.pb", TraceBytes(Numbered({PacketFromText(absl::StrCat("header { pid: 7 } ", kernels))})));
  const std::string b =
      Put("b.pb", TraceBytes(Numbered({PacketFromText(absl::StrCat("header { pid: 8 } ", kernels))})));
  const CommandResult result = RunCommand({GX_ANALYZE, a, b});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("process"));
  EXPECT_THAT(result.out, HasSubstr("pid 7"));
  EXPECT_THAT(result.out, HasSubstr("pid 8"));
}

}  // namespace
}  // namespace gx::testing
