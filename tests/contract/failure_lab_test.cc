// The table of mistakes and guards in analysis/README.md names tests: they exist, and every mistake has a guard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/contract/named_tests.h"

namespace gx::contract {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

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

std::vector<Row> FailureLab() { return Rows(ReadSource("analysis/README.md")); }

TEST(FailureLab, HasAllThirtyFiveInOrder) {
  std::vector<int> expected;
  for (int i = 1; i <= 35; ++i) expected.push_back(i);
  std::vector<int> numbers;
  for (const Row& row : FailureLab()) numbers.push_back(row.number);
  EXPECT_THAT(numbers, ElementsAreArray(expected));
}

TEST(FailureLab, EveryGuardNamesATestThatExistsOrSaysThatThereIsNone) {
  const std::map<std::string, std::string> tests = AllTests();
  std::vector<std::string> problems;
  for (const Row& row : FailureLab()) {
    const std::vector<std::string> named = NamedTests(row.tests);
    if (named.empty() && row.tests.rfind("not caught: ", 0) != 0)
      problems.push_back(std::to_string(row.number) + " names none");
    for (const std::string& name : named) {
      if (const std::string problem = ProblemOf(name, tests); !problem.empty()) {
        problems.push_back(std::to_string(row.number) + ": " + problem);
      }
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
}  // namespace gx::contract
