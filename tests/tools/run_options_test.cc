#include "tools/run/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace gx::tools {
namespace {

using ::gx::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

void ExpectUsageError(const std::vector<std::string>& arguments, const std::string& what) {
  EXPECT_THAT(ParseRunOptions(arguments).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
}

TEST(RunOptions, AProgramAloneSetsNothing) {
  const auto options = ParseRunOptions({"python3", "train.py"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->command, ElementsAre("python3", "train.py"));
  EXPECT_THAT(options->settings, IsEmpty());
  EXPECT_FALSE(options->quiet || options->anyway || options->replace_injection || options->help);
}

TEST(RunOptions, WhatFollowsTheProgramIsThePrograms) {
  const std::vector<std::vector<std::string>> lines = {{"-q", "prog", "-q", "--help", "--", "-o"},
                                                       {"-q", "--", "prog", "-q", "--help", "--", "-o"}};
  for (const std::vector<std::string>& line : lines) {
    const auto options = ParseRunOptions(line);
    ASSERT_TRUE(options.ok()) << options.status();
    EXPECT_THAT(options->command, ElementsAre("prog", "-q", "--help", "--", "-o"));
    EXPECT_TRUE(options->quiet);
    EXPECT_FALSE(options->help);
  }
}

TEST(RunOptions, BehindTheDashesAProgramMayBeginWithADash) {
  EXPECT_THAT(ParseRunOptions({"--", "-q"})->command, ElementsAre("-q"));
}

TEST(RunOptions, OptionsBecomeVariablesAsTheLibraryTakesThem) {
  const auto options =
      ParseRunOptions({"-o", "t.%p.pb", "--counters=lean", "--budget", "5%", "--timing", "off", "--api", "on",
                       "--region", "cuda", "--start-after", "60", "--duration", ".5", "p"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->settings, ElementsAre(Pair("GPUEXEC_OUTPUT", "t.%p.pb"), Pair("GPUEXEC_COUNTERS", "lean"),
                                             Pair("GPUEXEC_BUDGET", "5"), Pair("GPUEXEC_TIMING", "off"),
                                             Pair("GPUEXEC_API", "on"), Pair("GPUEXEC_REGION", "cuda"),
                                             Pair("GPUEXEC_START_AFTER", "60"), Pair("GPUEXEC_DURATION", ".5")));
}

TEST(RunOptions, CountersAreASetOrMetrics) {
  for (const char* value : {"off", "light", "core", "lean", "full", "sm__cycles_active.avg",
                            "sm__cycles_active.avg,dram__bytes_read.sum"}) {
    EXPECT_THAT(ParseRunOptions({"--counters", value, "p"})->settings, ElementsAre(Pair("GPUEXEC_COUNTERS", value)));
  }
  for (const char* value : {"coer", "", "core,light", "sm__cycles_active.avg,", "on"}) {
    ExpectUsageError({"--counters", value, "p"}, "expected off, light, core, lean, full, or metrics");
  }
}

TEST(RunOptions, NumbersOutsideTheirRangeAreRefused) {
  for (const char* value : {"0", "0%", "101", "-1", "5%%", "%", "", "five", "1e1", "nan"}) {
    ExpectUsageError({"--budget", value, "p"}, "--budget '" + std::string(value) + "': expected a percentage");
  }
  EXPECT_THAT(ParseRunOptions({"--budget", "off", "p"})->settings, ElementsAre(Pair("GPUEXEC_BUDGET", "off")));
  for (const char* value : {"", "-1", ".", "1.2.3", "10s", "inf", "1e3", "100000001"}) {
    ExpectUsageError({"--start-after", value, "p"}, "expected seconds");
    ExpectUsageError({"--duration", value, "p"}, "expected seconds");
  }
}

TEST(RunOptions, WrongUsageIsSaidInALine) {
  ExpectUsageError({}, "expected a program to run");
  ExpectUsageError({"-q", "--"}, "expected a program to run");
  ExpectUsageError({""}, "the program's name is empty");
  ExpectUsageError({"--speed", "p"}, "'--speed' is not an option of gx-run");
  ExpectUsageError({"-x", "p"}, "'-x' is not an option of gx-run");
  ExpectUsageError({"--output"}, "'--output' needs a value");
  ExpectUsageError({"-o", "", "p"}, "expected the path of a file");
  ExpectUsageError({"-o", "folder/", "p"}, "expected the path of a file");
  ExpectUsageError({"--region", "gpu", "p"}, "--region 'gpu': expected cuda or all");
  ExpectUsageError({"--timing", "1", "p"}, "expected on or off");
  ExpectUsageError({"--api", "yes", "p"}, "--api 'yes': expected on or off");
  ExpectUsageError({"-o", "a", "-o", "b", "p"}, "sets what another option has set");
  ExpectUsageError({"--\x1b[2J", "p"}, "\\x1b");
}

TEST(RunOptions, ParsingTwiceStartsAnew) {
  EXPECT_TRUE(ParseRunOptions({"-q", "p"})->quiet);
  EXPECT_FALSE(ParseRunOptions({"p"})->quiet);
  EXPECT_TRUE(ParseRunOptions({"--help"})->help);
  EXPECT_TRUE(ParseRunOptions({"--version"})->version);
}

}  // namespace
}  // namespace gx::tools
