// The built gx-analyze, as a user runs it: what is printed where, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gpuexec/v1/report.pb.h"
#include "tests/support/pseudo_terminal.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace gx::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string SoundTrace() {
  return TraceBytes(Numbered(
      {PacketFromText("header { format_major: 1 pid: 7 }"), PacketFromText("trailer { reason: REASON_EXIT }")}));
}

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
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

TEST_F(GxAnalyzeTest, AKernelIsWrittenAsAManifestAndTheManifestIsItsR0) {
  const std::string trace = Put("a.pb", ReadFile(std::string(GX_SOURCE_DIR) + "/tests/golden/h200_counters.trace.pb"));
  const std::string manifest = dir_.File("k.textproto");
  const CommandResult written =
      RunCommand({GX_ANALYZE, "--emit-manifest", "--kernel", "mix_values", "--output", manifest, trace});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(FilesOf(dir_.File("")), (std::vector<std::string>{"a.pb", "k.observation.textproto", "k.textproto"}));
  EXPECT_THAT(ReadFile(manifest), StartsWith("# proto-file: gpuexec/v1/manifest.proto\n"));

  const CommandResult read =
      RunCommand({GX_ANALYZE, "--manifest", manifest, "--kernel", "mix_values", "--section", "ladder", trace});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("'mix_values-grid-64x1x1-block-256x1x1': R0 "));
}

TEST_F(GxAnalyzeTest, AKernelAloneIsShownInDepth) {
  const std::string trace = Put("a.pb", ReadFile(std::string(GX_SOURCE_DIR) + "/tests/golden/h200_counters.trace.pb"));
  const CommandResult filtered =
      RunCommand({GX_ANALYZE, "--no-report", "--section", "ladder", "--filter", "mix_values", trace});
  const CommandResult kernel = RunCommand({GX_ANALYZE, "--kernel", "mix_values", trace});
  EXPECT_EQ(kernel.exit_code, filtered.exit_code) << kernel.err;
  EXPECT_THAT(kernel.out, HasSubstr("mix_values"));
  EXPECT_EQ(kernel.out, filtered.out);
  // A launch shape is one, too.
  const CommandResult shape = RunCommand({GX_ANALYZE, "--kernel", "mix_values.*  grid 64, block 256", trace});
  EXPECT_EQ(shape.out, filtered.out);
  ExpectRefused({"--kernel", "conv", trace}, 3, "--kernel 'conv' matches no kernel");
}

TEST_F(GxAnalyzeTest, AManifestThatIsNoneOfTheTraceIsRefused) {
  const std::string trace = Put("a.pb", ReadFile(std::string(GX_SOURCE_DIR) + "/tests/golden/h200_counters.trace.pb"));
  const std::string example = std::string(GX_SOURCE_DIR) + "/proto/examples/gemm_4096_bf16.textproto";
  ExpectRefused({"--manifest", example, "--kernel", "mix_values", trace}, 3, "schedule.grid: the manifest has 32x32x1");
  ExpectRefused({"--manifest", example, "--kernel", "conv", trace}, 3, "--kernel 'conv' matches no kernel");
  ExpectRefused({"--manifest", dir_.File("none"), "--kernel", "mix_values", trace}, 3, "No such file");
  ExpectRefused({"--emit-manifest", "--kernel", "conv", trace}, 3, "--kernel 'conv' matches no kernel");
}

TEST_F(GxAnalyzeTest, AnOutputDoesNotReplaceAnInput) {
  const std::string trace = Put("a.pb", SoundTrace());
  ExpectRefused({"-o", trace, trace}, 2, "is an input file");
  ExpectRefused({"-o", dir_.File("./a.pb"), trace}, 2, "is an input file");
  // A link to it is it.
  const std::string link = dir_.File("link");
  std::filesystem::create_symlink(trace, link);
  ExpectRefused({"-o", link, trace}, 2, "is an input file");
  std::filesystem::create_hard_link(trace, dir_.File("hard"));
  ExpectRefused({"-o", dir_.File("hard"), trace}, 2, "is an input file");
  ExpectRefused({"--emit-manifest", "--kernel", "x", "-o", trace, trace}, 2, "is an input file");
  const std::string text_trace = Put("b.txt", SoundTrace());
  ExpectRefused({"--format", "text,csv", "-o", dir_.File("b"), text_trace}, 2, "is an input file");
  EXPECT_EQ(ReadFile(text_trace), SoundTrace());
  const std::string manifest = Put("m.textproto", "case_id: 'c'");
  ExpectRefused({"--manifest", manifest, "--kernel", "x", "-o", manifest, trace}, 2, "is an input file");
  EXPECT_EQ(ReadFile(manifest), "case_id: 'c'");
  EXPECT_EQ(ReadFile(trace), SoundTrace());
  EXPECT_FALSE(std::filesystem::exists(dir_.File("a.report.pb")));
}

TEST_F(GxAnalyzeTest, AnOutputDoesNotReplaceAnother) {
  const std::string trace = Put("a.pb", SoundTrace());
  ExpectRefused({"--report", dir_.File("r"), "-o", dir_.File("./r"), trace}, 2, "is another output");
  ExpectRefused({"-o", dir_.File("a.report.pb"), trace}, 2, "is another output");
  ExpectRefused({"--format", "text,json", "-o", dir_.File("r"), "--report", dir_.File("r.json"), trace}, 2,
                "is another output");
  EXPECT_EQ(FilesOf(dir_.File("")), (std::vector<std::string>{"a.pb"}));
  // What is no file can hold several.
  EXPECT_EQ(RunCommand({GX_ANALYZE, "--report", "/dev/null", "-o", "/dev/null", trace}).exit_code, 0);
}

TEST_F(GxAnalyzeTest, WhatIsWrittenIsForItsOwnerAlone) {
  const std::string trace = Put("a.pb", ReadFile(std::string(GX_SOURCE_DIR) + "/tests/golden/h200_counters.trace.pb"));
  const std::string prefix = dir_.File("r");
  EXPECT_EQ(RunCommand({GX_ANALYZE, "--format", "text,json,csv", "-o", prefix, trace}).exit_code, 0);
  EXPECT_EQ(RunCommand({GX_ANALYZE, "--emit-manifest", "--kernel", "mix_values", "-o", dir_.File("k.textproto"), trace})
                .exit_code,
            0);
  for (const char* name : {"r.txt", "r.json", "r.csv", "a.report.pb", "k.textproto", "k.observation.textproto"}) {
    struct stat about = {};
    ASSERT_EQ(::stat(dir_.File(name).c_str(), &about), 0) << name;
    EXPECT_EQ(about.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(GxAnalyzeTest, TheLadderIsShownOnlyWhereItIsNamed) {
  const std::string trace = Put("a.pb", SoundTrace());
  const CommandResult named = RunCommand({GX_ANALYZE, "--section", "ladder", trace});
  EXPECT_EQ(named.exit_code, 0);
  EXPECT_EQ(named.out, "LADDER\n  none\n");
  EXPECT_THAT(RunCommand({GX_ANALYZE, trace}).out, Not(HasSubstr("LADDER")));
}

TEST_F(GxAnalyzeTest, AMachineFileThatCannotBeReadEndsTheLadder) {
  const std::string trace =
      Put("a.pb", TraceBytes(Numbered({PacketFromText("header { format_major: 1 pid: 7 }"),
                                       PacketFromText("device { device_id: 0 name: \"NVIDIA H200\" }"),
                                       PacketFromText("trailer { reason: REASON_EXIT }")})));
  ExpectRefused({"--section", "ladder", "--machine", dir_.File("none.pb"), trace}, 3, "none.pb");
}

TEST_F(GxAnalyzeTest, TheReportIsWrittenBesideTheTraceWhateverTheTextShows) {
  const std::string trace = Put("a.pb", SoundTrace());
  const CommandResult result = RunCommand({GX_ANALYZE, "--filter", "none", "--section", "run", trace});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  gpuexec::v1::Report report;
  ASSERT_TRUE(report.ParseFromString(ReadFile(dir_.File("a.report.pb"))));
  EXPECT_EQ(report.format(), "gpuexec.v1.Report");
  EXPECT_EQ(report.view().filter(), "");
  ASSERT_THAT(report.process(), SizeIs(1));
  EXPECT_EQ(report.process(0).trace().pid(), 7u);
  // An older report is replaced, and nothing else is left behind.
  EXPECT_EQ(RunCommand({GX_ANALYZE, trace}).exit_code, 0);
  EXPECT_THAT(FilesOf(dir_.path()), ElementsAre("a.pb", "a.report.pb"));
  struct stat about = {};
  ASSERT_EQ(::stat(dir_.File("a.report.pb").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u) << "it holds the command line, as the trace does";
}

TEST_F(GxAnalyzeTest, AReportGoesWhereItIsAskedForOrNowhere) {
  const std::string trace = Put("a.pb", SoundTrace());
  EXPECT_EQ(RunCommand({GX_ANALYZE, "--no-report", trace}).exit_code, 0);
  EXPECT_THAT(FilesOf(dir_.path()), ElementsAre("a.pb"));
  EXPECT_EQ(RunCommand({GX_ANALYZE, "--report", dir_.File("b"), trace}).exit_code, 0);
  EXPECT_THAT(FilesOf(dir_.path()), ElementsAre("a.pb", "b"));
  ExpectRefused({"--report", dir_.File("none/b"), trace}, 3, "none/b: No such file");
  ExpectRefused({"--report", "b", "--no-report", trace}, 2, "exclude each other");
}

TEST_F(GxAnalyzeTest, OfSeveralTracesThereIsAReportOnlyWhereItIsNamed) {
  const std::vector<std::string> traces = {Put("a.pb", SoundTrace()), Put("b.pb", SoundTrace())};
  EXPECT_EQ(RunCommand({GX_ANALYZE, traces[0], traces[1]}).exit_code, 0);
  EXPECT_THAT(FilesOf(dir_.path()), ElementsAre("a.pb", "b.pb"));
  EXPECT_EQ(RunCommand({GX_ANALYZE, "--report", dir_.File("c.pb"), traces[0], traces[1]}).exit_code, 0);
  gpuexec::v1::Report report;
  ASSERT_TRUE(report.ParseFromString(ReadFile(dir_.File("c.pb"))));
  EXPECT_THAT(report.process(), SizeIs(2));
}

TEST_F(GxAnalyzeTest, AReportAmongTracesIsLeftOut) {
  const std::string trace = Put("a.pb", SoundTrace());
  EXPECT_EQ(RunCommand({GX_ANALYZE, trace}).exit_code, 0);
  const CommandResult result = RunCommand({GX_ANALYZE, trace, dir_.File("a.report.pb")});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, EndsWith("a.report.pb: left out, as it is a report and no trace\n"));
  ExpectRefused({dir_.File("a.report.pb")}, 3, "a.report.pb: left out, as it is a report and no trace");
}

TEST_F(GxAnalyzeTest, ATraceIsNeverOverwritten) {
  const std::string trace = Put("a.pb", SoundTrace());
  const std::string other = Put("a.report.pb", SoundTrace());
  const CommandResult result = RunCommand({GX_ANALYZE, trace});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("LOSSES"));
  EXPECT_THAT(result.err, HasSubstr("a.report.pb: is there and no report, so it is left alone"));
  EXPECT_EQ(ReadFile(other), SoundTrace());
  ExpectRefused({"--report", trace, trace}, 2, "is an input file");
  EXPECT_EQ(ReadFile(trace), SoundTrace());
}

TEST_F(GxAnalyzeTest, AReportThatCannotBeWrittenIsOneLineAndNoFailure) {
  // The name of the report is too long for any file.
  const std::string trace = Put(std::string(250, 'x'), SoundTrace());
  const CommandResult result = RunCommand({GX_ANALYZE, trace});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("LOSSES"));
  EXPECT_THAT(result.err, StartsWith("gx-analyze: no report file: "));
  EXPECT_THAT(result.err, EndsWith("(--report names another, --no-report asks for none)\n"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
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

// A trace of one kernel whose name is longer than any terminal.
std::string LongNameTrace() {
  return TraceBytes(Numbered({PacketFromText(absl::StrCat(
      "header { format_major: 1 pid: 7 } name { iid: 1 value: \"", std::string(300, 'k'),
      "\" } kernel_attributes { iid: 1 name_iid: 1 } kernel_batch { count: 1 timing: TIMING_COMPLETE base_start_ns: 5 "
      "start_unit_ns: 1 start_delta: [0] duration_unit_ns: 1 duration_delta: [9] attributes_iid: [1] }"))}));
}

// The lines of the table of kernels, without colours and ends of line.
std::vector<std::string> TableLines(const std::string& text) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text.substr(text.find("KERNELS")), '\n')) {
    const std::string plain = absl::StrReplaceAll(line, {{"\x1b[1m", ""}, {"\x1b[0m", ""}, {"\r", ""}});
    if (absl::StrContains(plain, "  calls") || absl::StrContains(plain, "kkk")) lines.push_back(plain);
  }
  return lines;
}

class GxAnalyzeOnATerminalTest : public GxAnalyzeTest {
 protected:
  std::string Run(uint16_t columns, std::vector<std::string> arguments) {
    PseudoTerminal terminal(columns);
    if (!terminal.ok()) return "";
    std::vector<char*> argv = {const_cast<char*>(GX_ANALYZE)};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(terminal.slave(), STDOUT_FILENO);
      ::dup2(terminal.slave(), STDERR_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    terminal.CloseSlave();
    std::string text = terminal.Read();
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << text;
    return text;
  }
  void SetUp() override {
    if (!PseudoTerminal(80).ok()) GTEST_SKIP() << "this system has no pseudo terminals";
    ::unsetenv("NO_COLOR");
  }
};

TEST_F(GxAnalyzeOnATerminalTest, TheTableFitsTheWindowAndHeadingsAreBold) {
  const std::string trace = Put("a.pb", LongNameTrace());
  for (const uint16_t columns : std::initializer_list<uint16_t>{60, 80, 120}) {
    const std::string text = Run(columns, {trace});
    EXPECT_THAT(text, StartsWith("\x1b[1mLOSSES"));
    const std::vector<std::string> lines = TableLines(text);
    ASSERT_THAT(lines, SizeIs(2)) << text;
    for (const std::string& line : lines) EXPECT_LE(line.size(), columns);
    EXPECT_THAT(lines[1], EndsWith("kkk..."));
  }
}

TEST_F(GxAnalyzeOnATerminalTest, WideIsWideAndNoColorHasNone) {
  const std::string trace = Put("a.pb", LongNameTrace());
  EXPECT_THAT(Run(80, {"--wide", trace}), HasSubstr(std::string(300, 'k')));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_THAT(Run(80, {trace}), Not(HasSubstr("\x1b")));
  ::unsetenv("NO_COLOR");
}

TEST_F(GxAnalyzeTest, APipedTableIsComplete) {
  const CommandResult result = RunCommand({GX_ANALYZE, Put("a.pb", LongNameTrace())});
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.out, Not(HasSubstr("not shown")));
  EXPECT_THAT(result.out, HasSubstr("blocks/SM"));
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
