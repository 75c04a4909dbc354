#include "analysis/model/warp_access.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(StridedAccess, PlacesLanesByBaseStrideAndElement) {
  const auto access = StridedAccess({.base_bytes = 100, .element_bytes = 4, .stride_elements = 3});
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->bytes_per_lane, 4);
  EXPECT_EQ(access->active_lane_count(), 32);
  for (int64_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(access->lane_address_bytes[static_cast<size_t>(lane)], 100 + 12 * lane);
  }
}

TEST(StridedAccess, VectorsWidenALaneAndDoNotMoveIt) {
  const auto access = StridedAccess({.element_bytes = 2, .elements_per_lane = 8, .stride_elements = 8});
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->bytes_per_lane, 16);
  EXPECT_EQ(access->lane_address_bytes[31], 31 * 16);
}

TEST(StridedAccess, StrideZeroIsABroadcastAndANegativeOneRunsDown) {
  const auto broadcast = StridedAccess({.base_bytes = 64, .stride_elements = 0});
  ASSERT_TRUE(broadcast.ok());
  EXPECT_EQ(broadcast->lane_address_bytes[31], 64);
  const auto down = StridedAccess({.base_bytes = 31 * 4, .stride_elements = -1});
  ASSERT_TRUE(down.ok());
  EXPECT_EQ(down->lane_address_bytes[0], 124);
  EXPECT_EQ(down->lane_address_bytes[31], 0);
}

TEST(StridedAccess, OnlyActiveLanesNeedAnAddress) {
  EXPECT_FALSE(StridedAccess({.base_bytes = 0, .stride_elements = -1}).ok());
  EXPECT_TRUE(StridedAccess({.base_bytes = 0, .stride_elements = -1, .active_mask = 1}).ok());
  EXPECT_TRUE(StridedAccess({.stride_elements = kMax, .active_mask = 1}).ok());
}

TEST(StridedAccess, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(StridedAccess({.element_bytes = 0}).status().message(), "element_bytes: got 0, expected 1 to 32");
  EXPECT_EQ(StridedAccess({.element_bytes = 33}).status().message(), "element_bytes: got 33, expected 1 to 32");
  EXPECT_EQ(StridedAccess({.element_bytes = 4, .elements_per_lane = 9}).status().message(),
            "elements_per_lane: got 9, expected 1 to 8");
  EXPECT_EQ(StridedAccess({.stride_elements = -1}).status().message(),
            "lane_address_bytes[1]: got -4, expected 0 to 9223372036854775804");
  EXPECT_EQ(StridedAccess({.stride_elements = kMax}).status().message(),
            "lane_address_bytes: about 3.68935e+19, expected -9223372036854775808 to 9223372036854775807");
}

TEST(ListedAccess, LanesWithoutAnAddressAreInactive) {
  for (const int64_t count : {0, 1, 5, 31, 32}) {
    const std::vector<int64_t> addresses(static_cast<size_t>(count), 8);
    const auto access = ListedAccess(addresses, 8);
    ASSERT_TRUE(access.ok());
    EXPECT_EQ(access->active_lane_count(), count);
    EXPECT_EQ(access->active(0), count > 0);
    EXPECT_EQ(access->active(31), count == 32);
  }
}

TEST(ListedAccess, RefusalsNameFieldValueAndLimit) {
  const std::vector<int64_t> many(33, 0);
  EXPECT_EQ(ListedAccess(many, 4).status().message(), "lane_address_bytes: got 33, expected 0 to 32 (addresses)");
  const std::vector<int64_t> below = {0, -1};
  EXPECT_EQ(ListedAccess(below, 2).status().message(),
            "lane_address_bytes[1]: got -1, expected 0 to 9223372036854775806");
  EXPECT_EQ(ListedAccess({}, 64).status().message(), "bytes_per_lane: got 64, expected 1 to 32");
}

TEST(CheckWarpAccess, TheLastByteOfALaneMustFit) {
  WarpAccess access;
  access.bytes_per_lane = 16;
  access.active_mask = 1;
  access.lane_address_bytes[0] = kMax - 15;
  EXPECT_TRUE(CheckWarpAccess(access).ok());
  access.lane_address_bytes[0] = kMax - 14;
  EXPECT_EQ(CheckWarpAccess(access).message(),
            "lane_address_bytes[0]: got 9223372036854775793, expected 0 to 9223372036854775792");
}

TEST(WarpAccess, IsNaturallyAlignedWhereEveryActiveAddressIsAMultipleOfTheWidth) {
  EXPECT_TRUE(StridedAccess({.base_bytes = 4})->is_naturally_aligned());
  EXPECT_FALSE(StridedAccess({.base_bytes = 2})->is_naturally_aligned());
  EXPECT_TRUE(StridedAccess({.base_bytes = 1, .element_bytes = 1})->is_naturally_aligned());
  // float4 at every other float.
  EXPECT_FALSE(StridedAccess({.elements_per_lane = 4, .stride_elements = 2})->is_naturally_aligned());
  EXPECT_TRUE(StridedAccess({.elements_per_lane = 4, .stride_elements = 2, .active_mask = 0x55555555U})
                  ->is_naturally_aligned());
  // No access is 12 bytes wide, or of no width.
  EXPECT_FALSE(StridedAccess({.elements_per_lane = 3, .stride_elements = 3})->is_naturally_aligned());
  EXPECT_FALSE(WarpAccess{.bytes_per_lane = 0}.is_naturally_aligned());
  EXPECT_FALSE(WarpAccess{.bytes_per_lane = std::numeric_limits<int64_t>::min()}.is_naturally_aligned());
}

}  // namespace
}  // namespace gx::model
