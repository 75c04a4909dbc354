#include "analysis/name_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/status_matchers.h"

namespace gx::analysis {
namespace {

using ::gx::testing::StatusIs;
using ::testing::HasSubstr;

TEST(NameFilterTest, NoFilterMatchesEverything) {
  EXPECT_TRUE(NameFilter().Matches(""));
  EXPECT_TRUE(NameFilter().matches_all());
}

TEST(NameFilterTest, FindsTheExpressionAnywhereInTheName) {
  const auto filter = NameFilter::Compile("gemm|cutlass");
  ASSERT_TRUE(filter.ok());
  EXPECT_TRUE(filter->Matches("void cutlass::Kernel2<int>()"));
  EXPECT_TRUE(filter->Matches("ampere_sgemm_128x64_tn"));
  EXPECT_FALSE(filter->Matches("axpy(float*)"));
}

TEST(NameFilterTest, SaysWhatIsWrongWithAnExpression) {
  EXPECT_THAT(NameFilter::Compile("a(b").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'a(b' is no POSIX extended regular expression")));
}

TEST(NameFilterTest, RefusesExpressionsThatWouldTakeTooMuchMemory) {
  EXPECT_THAT(NameFilter::Compile("((a{1,255}){1,256})").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("255")));
  EXPECT_THAT(NameFilter::Compile(std::string(NameFilter::kMaxExpressionBytes + 1, 'a')).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4096")));
}

TEST(NameFilterTest, LongNamesAreNoProblem) {
  const auto filter = NameFilter::Compile("(a|b)*c");
  ASSERT_TRUE(filter.ok());
  EXPECT_FALSE(filter->Matches(std::string(32768, 'a')));
}

}  // namespace
}  // namespace gx::analysis
