#include "analysis/model/check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Check, ARefusalNamesFieldValueAndLimits) {
  EXPECT_EQ(CheckRange("registers_per_thread", 300, 0, 255).message(),
            "registers_per_thread: got 300, expected 0 to 255");
  EXPECT_EQ(CheckRange("threads", 2048, 1, 1024, "compute capability 9.0").message(),
            "threads: got 2048, expected 1 to 1024 (compute capability 9.0)");
  EXPECT_EQ(CheckPositive("sm_count", int64_t{0}).message(), "sm_count: got 0, expected 1 or more");
  EXPECT_EQ(CheckNotNegative("dram_bytes", -1.5).message(),
            "dram_bytes: got -1.5, expected a finite number, 0 or above");
}

TEST(Check, BothEndsAreAllowed) {
  EXPECT_TRUE(CheckRange("x", 3, 3, 5).ok());
  EXPECT_TRUE(CheckRange("x", 5, 3, 5).ok());
  EXPECT_FALSE(CheckRange("x", 2, 3, 5).ok());
  EXPECT_FALSE(CheckRange("x", 6, 3, 5).ok());
}

TEST(Check, NoNumberIsRefused) {
  EXPECT_FALSE(CheckPositive("x", std::numeric_limits<double>::quiet_NaN()).ok());
  EXPECT_FALSE(CheckNotNegative("x", std::numeric_limits<double>::infinity()).ok());
  EXPECT_FALSE(CheckPositive("x", 0.0).ok());
  EXPECT_TRUE(CheckNotNegative("x", 0.0).ok());
}

TEST(Check, ProductsAndSumsBeyond63BitsAreErrorsNotOtherNumbers) {
  EXPECT_EQ(*CheckedProduct("x", kMax, 1), kMax);
  EXPECT_EQ(CheckedProduct("flops", kMax, 2).status().message(),
            "flops: 9223372036854775807 x 2 is beyond 9223372036854775807");
  EXPECT_EQ(*CheckedSum("x", kMax - 1, 1), kMax);
  EXPECT_FALSE(CheckedSum("x", kMax, 1).ok());
  EXPECT_FALSE(CheckedProduct("x", -1, 1).ok());
}

TEST(CeilDivide, RoundsUpWithoutOverflow) {
  EXPECT_EQ(CeilDivide(0, 32), 0);
  EXPECT_EQ(CeilDivide(32, 32), 1);
  EXPECT_EQ(CeilDivide(33, 32), 2);
  EXPECT_EQ(CeilDivide(kMax, 2), kMax / 2 + 1);
}

}  // namespace
}  // namespace gx::model
