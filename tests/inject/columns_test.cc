#include "inject/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

using Unsigned = std::vector<uint64_t>;
using Signed = std::vector<int64_t>;

TEST(ShrinkColumn, WritesNothingWhereAllAreZero) {
  EXPECT_THAT(ShrinkColumn(Unsigned{}), IsEmpty());
  EXPECT_THAT(ShrinkColumn(Unsigned{0}), IsEmpty());
  EXPECT_THAT(ShrinkColumn(Unsigned{0, 0, 0}), IsEmpty());
}

TEST(ShrinkColumn, WritesOneElementWhereAllAreEqual) {
  const Unsigned one = {7};
  const Unsigned three = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
  EXPECT_THAT(ShrinkColumn(one), ElementsAre(7));
  EXPECT_THAT(ShrinkColumn(three), ElementsAre(UINT64_MAX));
}

TEST(ShrinkColumn, WritesAllWhereOneDiffers) {
  for (const Unsigned& column : {Unsigned{0, 1}, Unsigned{1, 0}, Unsigned{5, 5, 5, 6}, Unsigned{0, 0, 0, 1}}) {
    EXPECT_THAT(ShrinkColumn(column), ElementsAreArray(column));
  }
}

TEST(ShrinkDeltas, WritesAllOrNothingButNeverOneForAll) {
  const Signed equal = {-3, -3, -3};
  const Unsigned equal_unsigned = {3, 3};
  EXPECT_THAT(ShrinkDeltas(std::span<const int64_t>(equal)), ElementsAreArray(equal));
  EXPECT_THAT(ShrinkDeltas(std::span<const uint64_t>(equal_unsigned)), ElementsAreArray(equal_unsigned));
  const Signed zeros = {0, 0};
  const Unsigned zeros_unsigned = {0, 0};
  EXPECT_THAT(ShrinkDeltas(std::span<const int64_t>(zeros)), IsEmpty());
  EXPECT_THAT(ShrinkDeltas(std::span<const uint64_t>(zeros_unsigned)), IsEmpty());
}

TEST(SignedDifference, ComesBackByAdditionForAnyTwoValues) {
  const Unsigned edges = {0, 1, uint64_t{INT64_MAX}, uint64_t{1} << 63, UINT64_MAX};
  for (const uint64_t value : edges) {
    for (const uint64_t before : edges) {
      EXPECT_EQ(before + static_cast<uint64_t>(SignedDifference(value, before)), value) << value << " - " << before;
    }
  }
  EXPECT_EQ(SignedDifference(5, 8), -3);
  EXPECT_EQ(SignedDifference(0, UINT64_MAX), 1);
}

TEST(CommonUnit, IsTheGreatestCommonDivisorOfUnsignedValues) {
  struct Case {
    Unsigned values;
    uint64_t unit;
  };
  for (const Case& c : std::vector<Case>{{{}, 1},
                                         {{0}, 1},
                                         {{0, 0}, 1},
                                         {{32}, 32},
                                         {{544, 960, 32, 64}, 32},
                                         {{0, 256, 0, 512}, 256},
                                         {{96, 64, 33}, 1},
                                         {{UINT64_MAX, UINT64_MAX}, UINT64_MAX},
                                         {{uint64_t{1} << 63, 1'000}, 8}}) {
    EXPECT_EQ(CommonUnit(std::span<const uint64_t>(c.values)), c.unit) << ::testing::PrintToString(c.values);
  }
}

TEST(CommonUnit, IgnoresSigns) {
  struct Case {
    Signed values;
    uint64_t unit;
  };
  for (const Case& c : std::vector<Case>{{{}, 1},
                                         {{0, -64, 32}, 32},
                                         {{-7}, 7},
                                         {{INT64_MIN}, uint64_t{1} << 63},
                                         {{INT64_MIN, 0}, uint64_t{1} << 63},
                                         {{INT64_MIN, INT64_MAX}, 1},
                                         {{INT64_MIN, -48}, 16}}) {
    EXPECT_EQ(CommonUnit(std::span<const int64_t>(c.values)), c.unit) << ::testing::PrintToString(c.values);
  }
}

TEST(DivideByUnit, GivesQuotientsThatMultiplyBack) {
  for (const Signed& column : {Signed{-64, 0, 32}, Signed{INT64_MIN}, Signed{INT64_MIN, 0}, Signed{INT64_MIN, -48},
                               Signed{INT64_MIN, INT64_MAX}, Signed{5, -10}}) {
    Signed divided = column;
    const uint64_t unit = CommonUnit(std::span<const int64_t>(column));
    DivideByUnit(unit, &divided);
    for (size_t i = 0; i < column.size(); ++i) {
      EXPECT_EQ(static_cast<uint64_t>(divided[i]) * unit, static_cast<uint64_t>(column[i]));
    }
  }
  Unsigned unsigned_column = {96, 0, 32};
  DivideByUnit(32, &unsigned_column);
  EXPECT_THAT(unsigned_column, ElementsAre(3, 0, 1));
}

TEST(DivideByUnit, OfZeroOrOneChangesNothing) {
  Unsigned column = {5, 6};
  DivideByUnit(0, &column);
  DivideByUnit(1, &column);
  EXPECT_THAT(column, ElementsAre(5, 6));
}

}  // namespace
}  // namespace gx::inject
