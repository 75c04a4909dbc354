#include "analysis/model/checked_count.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(CheckedCount, IsTheFormulaWhereEverythingFits) {
  EXPECT_EQ(*(CheckedCount(2) * 3 * 4 + 5 - 7).Value("x"), 22);
  EXPECT_EQ(*(CheckedCount(-4) * 8 + 100).Value("x"), 68);
  EXPECT_EQ(*(CheckedCount(kMax) * 1 + 0).Value("x"), kMax);
}

TEST(CheckedCount, AStepThatDoesNotFitIsAnErrorEvenIfTheResultWould) {
  EXPECT_FALSE((CheckedCount(kMax) * 2 * 0).fits());
  EXPECT_FALSE((CheckedCount(kMax) + 1 - 1).fits());
  EXPECT_FALSE((CheckedCount(std::numeric_limits<int64_t>::min()) - 1).fits());
}

TEST(CheckedCount, TheMessageNamesTheQuantityAboutHowLargeAndTheLimits) {
  EXPECT_EQ((CheckedCount(int64_t{1} << 62) * 4).Value("gemm_flops").status().message(),
            "gemm_flops: about 1.84467e+19, expected -9223372036854775808 to 9223372036854775807");
}

}  // namespace
}  // namespace gx::model
