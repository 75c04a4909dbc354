// Known traces give known reports. With GPUEXEC_UPDATE_GOLDENS=1 the expectations are rewritten, and a test that
// rewrote something fails, so that it is never mistaken for a passing run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/frame_walk.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "gpuexec/v1/report.pb.h"
#include "gpuexec/v1/trace.pb.h"
#include "tests/support/run_command.h"
#include "tests/support/temp_dir.h"
#include "tests/support/textproto.h"
#include "tests/support/trace_builder.h"

namespace gx::testing {
namespace {

namespace fs = std::filesystem;

std::string GoldenDir() { return std::string(GX_SOURCE_DIR) + "/tests/golden"; }

bool IsInput(const std::string& file) {
  if (absl::StrContains(file, ".report.")) return false;
  return absl::EndsWith(file, ".textproto") || absl::EndsWith(file, ".trace.pb");
}

// Real traces whose report is kept as text; of hand-written ones it is kept as JSON.
constexpr absl::string_view kReportsAsText[] = {"h200_axpy", "h200_counters", "h200_graph_nodes"};

std::string CaseOf(const std::string& file) { return file.substr(0, file.find('.')); }

// "ranks_1" is a further trace of "ranks".
bool IsFurtherTrace(const std::string& name) {
  const size_t underscore = name.rfind('_');
  if (underscore == std::string::npos || underscore + 1 == name.size()) return false;
  if (!std::all_of(name.begin() + static_cast<std::ptrdiff_t>(underscore) + 1, name.end(),
                   [](unsigned char c) { return std::isdigit(c) != 0; })) {
    return false;
  }
  return fs::exists(GoldenDir() + "/" + name.substr(0, underscore) + ".args");
}

// "counters_table.args" is a case by itself: it names the traces of other cases.
bool IsViewOfOthers(const std::string& file) {
  return absl::EndsWith(file, ".args") && !fs::exists(GoldenDir() + "/" + CaseOf(file) + ".textproto") &&
         !fs::exists(GoldenDir() + "/" + CaseOf(file) + ".trace.pb");
}

std::vector<std::string> Inputs() {
  std::vector<std::string> inputs;
  for (const fs::directory_entry& entry : fs::directory_iterator(GoldenDir())) {
    const std::string file = entry.path().filename().string();
    if ((IsInput(file) && !IsFurtherTrace(CaseOf(file))) || IsViewOfOthers(file)) inputs.push_back(file);
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

std::string TextOf(const gpuexec::v1::Report& report) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  EXPECT_TRUE(printer.PrintToString(report, &text));
  return absl::StrCat("# proto-file: gpuexec/v1/report.proto\n# proto-message: Report\n\n", text);
}

// Puts the trace into the present folder and returns its name there.
std::string PutTrace(const std::string& file) {
  const std::string source = GoldenDir() + "/" + file;
  if (absl::EndsWith(file, ".trace.pb")) {
    fs::copy_file(source, file, fs::copy_options::overwrite_existing);
    return file;
  }
  gpuexec::v1::Trace trace;
  EXPECT_TRUE(ParseText(ReadFile(source), &trace)) << file;
  std::string bytes;
  uint64_t sequence = 0;
  for (gpuexec::v1::Frame& frame : *trace.mutable_frame()) {
    if (frame.packet().sequence() == 0) frame.mutable_packet()->set_sequence(sequence);
    sequence = frame.packet().sequence() + 1;
    bytes += analysis::MakeFrame(frame.packet().SerializeAsString());
  }
  const std::string name = CaseOf(file) + ".pb";
  EXPECT_TRUE(WriteFile(name, bytes));
  return name;
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

class GoldenReportTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenReportTest, IsWhatGxAnalyzePrints) {
  const std::string input = GetParam();
  const std::string name = CaseOf(input);
  const TempDir dir;
  // The report names the path as it was given: a bare file name is the same everywhere.
  fs::current_path(dir.path());
  // No machine file of whoever runs the tests.
  ::setenv("XDG_CACHE_HOME", dir.path().c_str(), 1);

  std::vector<std::string> command = {GX_ANALYZE, "--format", "text,json,csv", "--output", "out"};
  const std::string args_path = GoldenDir() + "/" + name + ".args";
  std::vector<std::string> traces;
  if (fs::exists(args_path)) {
    const std::string args = ReadFile(args_path);
    for (const absl::string_view word : absl::StrSplit(absl::StripAsciiWhitespace(args), ' ')) {
      if (IsInput(std::string(word))) {
        traces.push_back(PutTrace(std::string(word)));
      } else {
        command.emplace_back(word);
      }
    }
  }
  const bool has_options = command.size() > 5;
  if (traces.empty()) {
    ASSERT_TRUE(IsInput(input)) << input << " names no trace";
    traces.push_back(PutTrace(input));
  }
  command.insert(command.end(), traces.begin(), traces.end());

  const CommandResult result = RunCommand(command);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, "");
  const std::string text = ReadFile("out.txt");
  const std::string json = ReadFile("out.json");
  const std::string csv = ReadFile("out.csv");
  const std::string beside = absl::StrCat(absl::StripSuffix(traces.front(), ".pb"), ".report.pb");
  const bool written = fs::exists(beside);
  const std::string bytes = written ? ReadFile(beside) : "";
  fs::current_path("/");

  gpuexec::v1::Report shown;
  const auto json_status = google::protobuf::util::JsonStringToMessage(json, &shown);
  ASSERT_TRUE(json_status.ok()) << json_status.ToString();
  EXPECT_EQ(result.exit_code, shown.data_lost() ? 1 : 0);
  // Of one trace alone, and whatever was asked for of the text.
  EXPECT_EQ(written, traces.size() == 1);
  gpuexec::v1::Report report;
  EXPECT_TRUE(report.ParseFromString(bytes));
  if (written && !has_options) {
    EXPECT_EQ(TextOf(report), TextOf(shown));
  }
  for (const std::string& out : {text, json, csv}) {
    EXPECT_TRUE(
        std::none_of(out.begin(), out.end(), [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7F; }));
  }

  ExpectSameAsGolden(name + ".report.txt", text);
  ExpectSameAsGolden(name + ".report.csv", csv);
  if (absl::EndsWith(input, ".textproto")) ExpectSameAsGolden(name + ".report.json", json);
  if (std::find(std::begin(kReportsAsText), std::end(kReportsAsText), name) != std::end(kReportsAsText)) {
    ExpectSameAsGolden(name + ".report.textproto", TextOf(report));
  }
}

std::string TestName(const ::testing::TestParamInfo<std::string>& trace) {
  std::string name = CaseOf(trace.param);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Traces, GoldenReportTest, ::testing::ValuesIn(Inputs()), TestName);

TEST(GoldenFolderTest, HoldsNoReportWithoutItsTrace) {
  std::vector<std::string> cases;
  for (const std::string& input : Inputs()) cases.push_back(CaseOf(input));
  for (const fs::directory_entry& entry : fs::directory_iterator(GoldenDir())) {
    const std::string file = entry.path().filename().string();
    if (!absl::StrContains(file, ".report.") && !absl::EndsWith(file, ".args")) continue;
    EXPECT_TRUE(std::find(cases.begin(), cases.end(), CaseOf(file)) != cases.end()) << file;
  }
}

}  // namespace
}  // namespace gx::testing
