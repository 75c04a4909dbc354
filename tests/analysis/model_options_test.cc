#include "analysis/cli/model_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace gx::analysis {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ModelOptions, DefaultsAreTextToStandardOutput) {
  GX_ASSERT_OK_AND_ASSIGN(const ModelOptions options, ParseModelOptions({"a.textproto"}));
  EXPECT_EQ(options.manifest, "a.textproto");
  EXPECT_EQ(options.observation, "");
  EXPECT_EQ(options.device, "");
  EXPECT_EQ(options.output, "");
  EXPECT_EQ(options.format, ModelFormat::kText);
  EXPECT_FALSE(options.fail_on_mismatch);
}

TEST(ModelOptions, EachOptionIsTaken) {
  GX_ASSERT_OK_AND_ASSIGN(const ModelOptions options,
                          ParseModelOptions({"a.json", "--observation", "o.json", "--fail-on-mismatch", "--format",
                                             "pb", "-o", "out", "--device", "H100 SXM"}));
  EXPECT_EQ(options.manifest, "a.json");
  EXPECT_EQ(options.observation, "o.json");
  EXPECT_EQ(options.device, "H100 SXM");
  EXPECT_EQ(options.output, "out");
  EXPECT_EQ(options.format, ModelFormat::kBinary);
  EXPECT_TRUE(options.fail_on_mismatch);
  EXPECT_EQ(ParseModelOptions({"--format", "json", "a"})->format, ModelFormat::kJson);
  EXPECT_EQ(ParseModelOptions({"--format", "textproto", "a"})->format, ModelFormat::kTextproto);
  EXPECT_EQ(ParseModelOptions({"-"})->manifest, "-");
}

TEST(ModelOptions, HelpVersionAndTheListNeedNoManifest) {
  EXPECT_TRUE(ParseModelOptions({"-h"})->help);
  EXPECT_TRUE(ParseModelOptions({"--help"})->help);
  EXPECT_TRUE(ParseModelOptions({"--version"})->version);
  EXPECT_TRUE(ParseModelOptions({"--list-devices"})->list_devices);
}

TEST(ModelOptions, WrongUsageIsNamed) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& what) {
    EXPECT_THAT(ParseModelOptions(arguments), StatusIs(kInvalid, HasSubstr(what)));
  };
  refused({}, "no manifest is named");
  refused({"a", "b"}, "one manifest at a time: 'b' is one too many");
  refused({"--bogus", "a"}, "unknown option '--bogus'");
  refused({"-x", "a"}, "unknown option '-x'");
  refused({"a", "--format"}, "--format needs a value");
  refused({"a", "-o"}, "-o needs a value");
  refused({"--format", "xml", "a"}, "--format: 'xml' is not one of text, json, pb, textproto");
  refused({"--format", "\x1b[2J", "a"}, "--format: '\\x1b[2J' is not");
  refused({"--observation", "", "a"}, "--observation: the name is empty");
  refused({"--list-devices", "a"}, "--list-devices takes no manifest");
}

TEST(ModelOptions, HelpNamesEveryOptionAndExitCode) {
  const std::string help = ModelHelp();
  for (const char* word : {"--observation", "--fail-on-mismatch", "--format", "--output", "--device", "--list-devices",
                           "--help", "--version", "NO_COLOR", "exit codes", "  0  ", "  1  ", "  2  ", "16 MiB"}) {
    EXPECT_THAT(help, HasSubstr(word));
  }
}

}  // namespace
}  // namespace gx::analysis
