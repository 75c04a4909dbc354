// The tables of promises in tests/README.md: every row names a test that exists or says why it has none, and every
// part of tools/device_test that is named is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/contract/named_tests.h"

namespace gx::contract {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Row = std::vector<std::string>;

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The cells of the rows of the first table behind a line `heading`, without its head.
std::vector<Row> TableBehind(const std::string& text, const std::string& heading) {
  std::vector<Row> rows;
  const size_t begin = text.find("\n" + heading + "\n");
  if (begin == std::string::npos) return rows;
  std::istringstream lines(text.substr(begin + heading.size() + 2));
  int table_lines = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] != '|') {
      if (table_lines > 0 || (!line.empty() && line[0] == '#')) break;
      continue;
    }
    if (++table_lines <= 2) continue;
    Row cells;
    std::istringstream parts(line.substr(1));
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(Trim(cell));
    rows.push_back(cells);
  }
  return rows;
}

constexpr char kRequirements[] = "## Twenty requirements";
constexpr char kScenarios[] = "## What may happen to the program";

// "a, e" of a cell about a GPU; words after a colon or a semicolon are free.
std::vector<std::string> PartsOf(const std::string& cell) {
  static const std::regex kParts(R"(^([a-z](?:, [a-z])*)(?:$|[:;]))");
  std::smatch match;
  if (!std::regex_search(cell, match, kParts)) return {};
  std::vector<std::string> parts;
  for (const char c : match[1].str()) {
    if (c >= 'a' && c <= 'z') parts.emplace_back(1, c);
  }
  return parts;
}

std::vector<std::string> ProblemsOf(const Row& row, const std::map<std::string, std::string>& tests,
                                    const std::string& device_test) {
  std::vector<std::string> problems;
  const std::string& ci = row[row.size() - 2];
  const std::string& gpu = row.back();
  const std::vector<std::string> named = NamedTests(ci);
  if (named.empty() && !ci.starts_with("none: ")) problems.push_back(row[0] + ": names neither a test nor a reason");
  for (const std::string& name : named) {
    if (const std::string problem = ProblemOf(name, tests); !problem.empty()) {
      problems.push_back(row[0] + ": " + problem);
    }
  }
  const std::vector<std::string> parts = PartsOf(gpu);
  if (parts.empty() && !gpu.starts_with("none: ")) problems.push_back(row[0] + ": names neither a part nor a reason");
  for (const std::string& part : parts) {
    if (device_test.find("\n#                 " + part + "  ") == std::string::npos) {
      problems.push_back(row[0] + ": tools/device_test has no part " + part);
    }
  }
  return problems;
}

TEST(PromisedTests, EachOfTheTwentyRequirementsHasTestsThatExist) {
  const std::vector<Row> rows = TableBehind(ReadSource("tests/README.md"), kRequirements);
  ASSERT_THAT(rows, SizeIs(20));
  const std::map<std::string, std::string> tests = AllTests();
  const std::string device_test = ReadSource("tools/device_test");
  std::vector<std::string> problems;
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_THAT(rows[i], SizeIs(4));
    EXPECT_EQ(rows[i][0], std::to_string(i + 1));
    for (const std::string& problem : ProblemsOf(rows[i], tests, device_test)) problems.push_back(problem);
  }
  EXPECT_THAT(problems, IsEmpty());
}

TEST(PromisedTests, EveryScenarioHasTestsThatExist) {
  const std::vector<Row> rows = TableBehind(ReadSource("tests/README.md"), kScenarios);
  ASSERT_GE(rows.size(), 35u);
  const std::map<std::string, std::string> tests = AllTests();
  const std::string device_test = ReadSource("tools/device_test");
  std::vector<std::string> problems;
  for (const Row& row : rows) {
    ASSERT_THAT(row, SizeIs(3));
    for (const std::string& problem : ProblemsOf(row, tests, device_test)) problems.push_back(problem);
  }
  EXPECT_THAT(problems, IsEmpty());
}

TEST(NamedTests, AreFoundByTheirFormAndCheckedWithTheirCase) {
  EXPECT_THAT(NamedTests("`A.B`, `C.D/E` and `file.cc`, F.G"), ElementsAre("A.B", "C.D/E"));
  const std::map<std::string, std::string> tests = {{"C.D", "Values(Case{\"E\"})"}};
  EXPECT_EQ(ProblemOf("C.D", tests), "");
  EXPECT_EQ(ProblemOf("C.D/E", tests), "");
  EXPECT_EQ(ProblemOf("C.D/F", tests), "no case C.D/F");
  EXPECT_EQ(ProblemOf("C.X", tests), "no test C.X");
}

TEST(PromisedTests, RowsAreReadFromTheTableBehindTheirHeading) {
  const std::string text = "# T\n\n## One\n\nWords.\n\n| a | b |\n|---|---|\n| 1 | `A.B` |\n| 2 | x |\n\n| other |\n";
  EXPECT_THAT(TableBehind(text, "## One"), ElementsAre(ElementsAre("1", "`A.B`"), ElementsAre("2", "x")));
  EXPECT_THAT(TableBehind(text, "## Two"), IsEmpty());
  EXPECT_THAT(PartsOf("a, e: forks"), ElementsAre("a", "e"));
  EXPECT_THAT(PartsOf("none: cannot"), IsEmpty());
}

}  // namespace
}  // namespace gx::contract
