// The table of mistakes and guards in analysis/README.md names tests: they exist, and every mistake has a guard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Row {
  int number = 0;
  std::string mistake;
  std::string guard;
  std::string tests;
};

// Rows "| 12 | mistake | guard | tests |".
std::vector<Row> Rows(const std::string& text) {
  static const std::regex kRow(R"(\| (\d+) \| ([^|\n]+) \| ([^|\n]+) \| ([^|\n]+) \|)");
  std::vector<Row> rows;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), kRow); match != std::sregex_iterator(); ++match) {
    rows.push_back({std::stoi((*match)[1]), (*match)[2], (*match)[3], (*match)[4]});
  }
  return rows;
}

std::vector<std::string> NamedTests(const std::string& cell) {
  static const std::regex kName(R"(`(\w+\.\w+)`)");
  std::vector<std::string> names;
  for (auto match = std::sregex_iterator(cell.begin(), cell.end(), kName); match != std::sregex_iterator(); ++match) {
    names.push_back((*match)[1]);
  }
  return names;
}

std::set<std::string> AllTests() {
  static const std::regex kTest(R"(\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(GX_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = Read(entry.path());
    for (auto match = std::sregex_iterator(text.begin(), text.end(), kTest); match != std::sregex_iterator(); ++match) {
      tests.insert((*match)[1].str() + "." + (*match)[2].str());
    }
  }
  return tests;
}

std::vector<Row> FailureLab() { return Rows(Read(fs::path(GX_SOURCE_DIR) / "analysis/README.md")); }

TEST(FailureLab, HasAllThirtyFiveInOrder) {
  std::vector<int> expected;
  for (int i = 1; i <= 35; ++i) expected.push_back(i);
  std::vector<int> numbers;
  for (const Row& row : FailureLab()) numbers.push_back(row.number);
  EXPECT_THAT(numbers, ElementsAreArray(expected));
}

TEST(FailureLab, EveryGuardNamesATestThatExistsOrSaysThatThereIsNone) {
  const std::set<std::string> tests = AllTests();
  std::vector<std::string> problems;
  for (const Row& row : FailureLab()) {
    const std::vector<std::string> named = NamedTests(row.tests);
    if (named.empty() && row.tests.rfind("not caught: ", 0) != 0)
      problems.push_back(std::to_string(row.number) + " names none");
    for (const std::string& name : named) {
      if (tests.count(name) == 0) problems.push_back(std::to_string(row.number) + ": no test " + name);
    }
  }
  EXPECT_THAT(problems, IsEmpty());
}

TEST(FailureLabRows, AreReadFromATable) {
  const std::vector<Row> rows = Rows("| # | a |\n| 3 | mistake | guard `x` | `A.B`, `C.D` |\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].number, 3);
  EXPECT_EQ(rows[0].guard, "guard `x`");
  EXPECT_THAT(NamedTests(rows[0].tests), testing::ElementsAre("A.B", "C.D"));
}

}  // namespace
