// Known manifests and observations give known reports. Each manifest/NAME.args holds the expected exit code and the
// arguments of gx-model; files that it names are in manifest/ or in proto/examples/. With GPUEXEC_UPDATE_GOLDENS=1 the
// expectations are rewritten, and a test that rewrote something fails, so that it is never mistaken for a passing run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/util/json_util.h"
#include "gpuexec/v1/model_report.pb.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/trace_builder.h"

namespace gx::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::SizeIs;

std::string GoldenDir() { return std::string(GX_SOURCE_DIR) + "/tests/golden/manifest"; }

std::vector<std::string> Cases() {
  std::vector<std::string> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(GoldenDir())) {
    if (entry.path().extension() == ".args") cases.push_back(entry.path().stem().string());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

void ExpectSameAsGolden(const std::string& file, const std::string& actual) {
  const std::string path = GoldenDir() + "/" + file;
  const bool exists = fs::exists(path);
  const std::string expected = exists ? ReadFile(path) : "";
  if (exists && actual == expected) return;
  if (std::getenv("GPUEXEC_UPDATE_GOLDENS") != nullptr) {
    EXPECT_TRUE(WriteFile(path, actual));
    ADD_FAILURE() << file << " was rewritten";
    return;
  }
  // The whole text, as a difference.
  EXPECT_EQ(actual, expected) << file << (exists ? "" : " does not exist")
                              << "; if the new report is right: tools/update_goldens";
}

class GoldenModelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenModelTest, IsWhatGxModelPrints) {
  const std::vector<std::string> lines =
      absl::StrSplit(ReadFile(absl::StrCat(GoldenDir(), "/", GetParam(), ".args")), '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(2));
  absl::string_view code = lines[0];
  int exit_code = -1;
  ASSERT_TRUE(absl::ConsumePrefix(&code, "# exit ") && absl::SimpleAtoi(code, &exit_code)) << lines[0];

  const TempDir dir;
  std::vector<std::string> command = {GX_MODEL};
  for (const absl::string_view word : absl::StrSplit(lines[1], ' ')) {
    command.emplace_back(word);
    if (!absl::EndsWith(word, ".textproto")) continue;
    const std::string here = absl::StrCat(GoldenDir(), "/", word);
    command.back() = fs::exists(here) ? here : absl::StrCat(GX_SOURCE_DIR, "/proto/examples/", word);
  }
  for (const char* format : {"text", "json"}) {
    std::vector<std::string> with_format = command;
    with_format.insert(with_format.end(), {"--format", format});
    const CommandResult result = RunCommand(with_format);
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(std::none_of(result.out.begin(), result.out.end(),
                             [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7F; }));
    const bool text = std::string(format) == "text";
    ExpectSameAsGolden(absl::StrCat(GetParam(), text ? ".report.txt" : ".report.json"), result.out);
    if (text) continue;
    gpuexec::v1::ModelReport report;
    const auto status = google::protobuf::util::JsonStringToMessage(result.out, &report);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Manifests, GoldenModelTest, ::testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param; });

TEST(GoldenManifestFolderTest, HoldsNoReportWithoutItsCase) {
  const std::vector<std::string> cases = Cases();
  for (const fs::directory_entry& entry : fs::directory_iterator(GoldenDir())) {
    const std::string file = entry.path().filename().string();
    if (!absl::StrContains(file, ".report.")) continue;
    EXPECT_TRUE(std::find(cases.begin(), cases.end(), file.substr(0, file.find('.'))) != cases.end()) << file;
  }
}

}  // namespace
}  // namespace gx::testing
