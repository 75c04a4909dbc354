#include "analysis/cli/analyze_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report_names.h"
#include "tests/support/status_matchers.h"

namespace gx::analysis {
namespace {

using ::gx::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void ExpectUsageError(const std::vector<std::string>& arguments, const std::string& what) {
  EXPECT_THAT(ParseAnalyzeOptions(arguments).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
}

TEST(AnalyzeOptionsTest, ATraceAloneGivesTextBySignature) {
  const auto options = ParseAnalyzeOptions({"a.pb"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->traces, ElementsAre("a.pb"));
  EXPECT_THAT(options->formats, ElementsAre(OutputFormat::kText));
  EXPECT_THAT(GroupingWords(options->report.grouping), ElementsAre("signature"));
  EXPECT_EQ(options->report.top, kDefaultTextTop);
}

TEST(AnalyzeOptionsTest, OptionsAndTracesMayBeMixed) {
  const auto options = ParseAnalyzeOptions({"a.pb", "--by", "nvtx,name", "b.pb", "--top=3", "--wide", "--sort",
                                            "median", "--filter", "gemm", "--", "--c.pb"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->traces, ElementsAre("a.pb", "b.pb", "--c.pb"));
  EXPECT_THAT(GroupingWords(options->report.grouping), ElementsAre("name", "nvtx"));
  EXPECT_EQ(options->report.top, 3u);
  EXPECT_TRUE(options->wide);
  EXPECT_EQ(options->report.sort, SortKey::kMedian);
  EXPECT_TRUE(options->report.filter.Matches("sgemm"));
}

TEST(AnalyzeOptionsTest, FormsForProgramsHoldAllRows) {
  EXPECT_EQ(ParseAnalyzeOptions({"--format", "csv", "a.pb"})->report.top, 0u);
  EXPECT_EQ(ParseAnalyzeOptions({"--format", "json", "--top", "5", "a.pb"})->report.top, 5u);
}

TEST(AnalyzeOptionsTest, ParsingTwiceStartsAnew) {
  EXPECT_TRUE(ParseAnalyzeOptions({"--wide", "a.pb"})->wide);
  EXPECT_FALSE(ParseAnalyzeOptions({"a.pb"})->wide);
}

TEST(AnalyzeOptionsTest, SectionsAreNamedOnceAndCsvHoldsOneTable) {
  EXPECT_THAT(ParseAnalyzeOptions({"a.pb"})->sections, ::testing::IsEmpty());
  EXPECT_THAT(ParseAnalyzeOptions({"--section", "counters,run,counters", "a.pb"})->sections,
              ElementsAre(Section::kCounters, Section::kRun));
  EXPECT_TRUE(ParseAnalyzeOptions({"--section", "counters", "--format", "csv", "a.pb"}).ok());
  EXPECT_TRUE(ParseAnalyzeOptions({"--section", "counters,kernels", "a.pb"}).ok());
  ExpectUsageError({"--section", "counters,kernels", "--format", "csv", "a.pb"}, "CSV holds one table");
  ExpectUsageError({"--section", "roof", "a.pb"},
                   "'roof' is not one of losses, provenance, run, counters, samples, kernels, ladder");
  EXPECT_TRUE(ParseAnalyzeOptions({"--section", "samples", "--format", "csv", "a.pb"}).ok());
  ExpectUsageError({"--section", "counters,samples", "--format", "csv", "a.pb"}, "CSV holds one table");
}

TEST(AnalyzeOptionsTest, TheLadderHasAMachineFile) {
  const auto options = ParseAnalyzeOptions({"--section", "ladder", "--machine", "m.pb", "a.pb"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->sections, ElementsAre(Section::kLadder));
  EXPECT_EQ(options->machine, "m.pb");
  EXPECT_EQ(ParseAnalyzeOptions({"a.pb"})->machine, "");
  ExpectUsageError({"--machine", "", "a.pb"}, "--machine: the name is empty");
}

TEST(AnalyzeOptionsTest, TheReportFileIsNamedOrLeftOut) {
  const auto options = ParseAnalyzeOptions({"a.pb"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->report_file, "");
  EXPECT_FALSE(options->no_report_file);
  EXPECT_EQ(ParseAnalyzeOptions({"--report", "r.pb", "a.pb"})->report_file, "r.pb");
  EXPECT_TRUE(ParseAnalyzeOptions({"--no-report", "a.pb"})->no_report_file);
  ExpectUsageError({"--report", "", "a.pb"}, "--report: the name is empty");
  ExpectUsageError({"--report", "r.pb", "--no-report", "a.pb"}, "--report and --no-report exclude each other");
}

TEST(AnalyzeOptionsTest, AManifestIsOfOneKernel) {
  const auto read = ParseAnalyzeOptions({"--manifest", "m.textproto", "--kernel", "gemm", "a.pb", "b.pb"});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->manifest, "m.textproto");
  EXPECT_TRUE(read->kernel.Matches("my_gemm"));
  EXPECT_FALSE(read->emit_manifest);
  EXPECT_TRUE(ParseAnalyzeOptions({"--emit-manifest", "--kernel", "gemm", "a.pb"})->emit_manifest);
  ExpectUsageError({"--manifest", "m.textproto", "a.pb"}, "--manifest needs --kernel REGEX");
  ExpectUsageError({"--emit-manifest", "a.pb"}, "--emit-manifest needs --kernel REGEX");
  ExpectUsageError({"--manifest", "", "--kernel", "x", "a.pb"}, "--manifest: the name is empty");
  ExpectUsageError({"--manifest", "m", "--emit-manifest", "--kernel", "x", "a.pb"}, "exclude each other");
  ExpectUsageError({"--emit-manifest", "--kernel", "x", "a.pb", "b.pb"}, "--emit-manifest takes one trace, got 2");
  ExpectUsageError({"--emit-manifest", "--kernel", "(", "a.pb"}, "--kernel: ");
}

TEST(AnalyzeOptionsTest, AKernelAloneIsItsLadderAsText) {
  const auto options = ParseAnalyzeOptions({"--kernel", "gemm", "a.pb"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(IsKernelAlone(*options));
  EXPECT_THAT(options->sections, ElementsAre(Section::kLadder));
  EXPECT_TRUE(ParseAnalyzeOptions({"--kernel", "gemm", "--section", "ladder", "a.pb"}).ok());
  EXPECT_FALSE(IsKernelAlone(*ParseAnalyzeOptions({"--emit-manifest", "--kernel", "gemm", "a.pb"})));
  ExpectUsageError({"--kernel", "gemm", "--section", "counters", "a.pb"}, "--kernel alone shows ladders: --section");
  ExpectUsageError({"--kernel", "gemm", "--format", "json", "a.pb"}, "--kernel alone shows ladders as text");
}

TEST(AnalyzeOptionsTest, HelpNeedsNoTrace) {
  EXPECT_TRUE(ParseAnalyzeOptions({"--help"})->help);
  EXPECT_TRUE(ParseAnalyzeOptions({"-h"})->help);
  EXPECT_TRUE(ParseAnalyzeOptions({"--version"})->version);
  EXPECT_THAT(AnalyzeHelp(), HasSubstr("examples"));
}

TEST(AnalyzeOptionsTest, EachMistakeIsNamed) {
  ExpectUsageError({}, "no trace is named");
  ExpectUsageError({"--format", "xml", "a.pb"}, "'xml' is not one of text, json, csv");
  ExpectUsageError({"--format", "", "a.pb"}, "'' is not one of");
  ExpectUsageError({"--format", "text,json", "a.pb"}, "several formats need --output");
  ExpectUsageError({"--by", "colour", "a.pb"}, "'colour' is not one of signature, name, nvtx, stream, device");
  ExpectUsageError({"--sort", "age", "a.pb"}, "'age' is not one of total, calls, median, max, overlap, name");
  ExpectUsageError({"--top", "many", "a.pb"}, "'many' is not a number");
  ExpectUsageError({"--top", "-1", "a.pb"}, "'-1' is not a number");
  ExpectUsageError({"--filter", "(", "a.pb"}, "no POSIX extended regular expression");
  ExpectUsageError({"--bogus", "a.pb"}, "unknown option '--bogus'");
  ExpectUsageError({"a.pb", "--bogus"}, "unknown option '--bogus'");
  ExpectUsageError({"-x", "a.pb"}, "unknown option '-x'");
  ExpectUsageError({"a.pb", "--top"}, "--top needs a value");
  ExpectUsageError({"--output", "", "a.pb"}, "the name is empty");
}

TEST(AnalyzeOptionsTest, ErrorsPrintNoControlBytes) {
  ExpectUsageError({"--sort", "\x1b[2J", "a.pb"}, "'\\x1b[2J' is not one of");
  ExpectUsageError({"--\x1b[2J", "a.pb"}, "unknown option '--\\x1b[2J'");
}

TEST(AnalyzeOptionsTest, AWordOfTheLadderIsExplainedWithoutATrace) {
  const auto options = ParseAnalyzeOptions({"--explain", "idle SMs"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_NE(options->explanation.find("longest-active SM - mean SM"), std::string::npos);
  const auto unknown = ParseAnalyzeOptions({"--explain", "luck"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("there are: useful"), absl::string_view::npos);
}

}  // namespace
}  // namespace gx::analysis
