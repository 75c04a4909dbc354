#include "analysis/model/sectors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <set>

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct Case {
  const char* source;
  LaneStride lanes;
  int64_t sector_bytes;
  int64_t sector_count;
  int64_t requested_bytes;
  int64_t unique_bytes;
  double sector_efficiency;
};

TEST(CountSectors, TheCasesThatArePublishedAndThoseDoneOnPaper) {
  const Case cases[] = {
      {"Best Practices Guide, aligned FP32: four 32-byte transactions", {}, 32, 4, 128, 128, 1.0},
      {"Best Practices Guide, misaligned FP32: five 32-byte transactions", {.base_bytes = 4}, 32, 5, 128, 128, 0.8},
      {"the last FP32 start that is misaligned", {.base_bytes = 28}, 32, 5, 128, 128, 0.8},
      {"aligned to a sector, not to a line", {.base_bytes = 32}, 32, 4, 128, 128, 1.0},
      {"Best Practices Guide, stride of two: half of the bytes used", {.stride_elements = 2}, 32, 8, 128, 128, 0.5},
      {"BF16: 64 bytes, two sectors", {.element_bytes = 2}, 32, 2, 64, 64, 1.0},
      {"bytes: one sector", {.element_bytes = 1}, 32, 1, 32, 32, 1.0},
      {"FP64: eight sectors", {.element_bytes = 8}, 32, 8, 256, 256, 1.0},
      {"float4", {.element_bytes = 4, .elements_per_lane = 4, .stride_elements = 4}, 32, 16, 512, 512, 1.0},
      {"256-bit loads", {.element_bytes = 4, .elements_per_lane = 8, .stride_elements = 8}, 32, 32, 1024, 1024, 1.0},
      {"segments of 128 bytes, stride 1", {}, 128, 1, 128, 128, 1.0},
      {"segments of 128 bytes, stride 2", {.stride_elements = 2}, 128, 2, 128, 128, 1.0 / 2},
      {"segments of 128 bytes, stride 32", {.stride_elements = 32}, 128, 32, 128, 128, 1.0 / 32},
      {"segments of 128 bytes, beyond stride 32 it gets no worse",
       {.stride_elements = 1000},
       128,
       32,
       128,
       128,
       1.0 / 32},
      {"the same with sectors: a quarter of the segments' waste", {.stride_elements = 32}, 32, 32, 128, 128, 1.0 / 8},
      {"all lanes read one value", {.stride_elements = 0}, 32, 1, 128, 4, 4.0},
      {"downwards from the end of a line", {.base_bytes = 124, .stride_elements = -1}, 32, 4, 128, 128, 1.0},
      {"half of the lanes, the even ones", {.active_mask = 0x55555555U}, 32, 4, 64, 64, 0.5},
      {"the first half of the lanes", {.active_mask = 0x0000ffffU}, 32, 2, 64, 64, 1.0},
      {"one lane", {.active_mask = 1U << 17}, 32, 1, 4, 4, 1.0 / 8},
      {"one lane across two sectors", {.base_bytes = 30, .element_bytes = 4, .active_mask = 1}, 32, 2, 4, 4, 1.0 / 16},
      {"lanes that overlap by two bytes of four",
       {.element_bytes = 2, .elements_per_lane = 2, .stride_elements = 1},
       32,
       3,
       128,
       66,
       128.0 / 96},
      {"an array of structures of 12 bytes, one member", {.stride_elements = 3}, 32, 12, 128, 128, 1.0 / 3},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.source);
    const auto access = StridedAccess(c.lanes);
    ASSERT_TRUE(access.ok()) << access.status();
    const auto sectors = CountSectors(*access, c.sector_bytes);
    ASSERT_TRUE(sectors.ok()) << sectors.status();
    EXPECT_EQ(sectors->sector_count, c.sector_count);
    EXPECT_EQ(sectors->requested_bytes, c.requested_bytes);
    EXPECT_EQ(sectors->unique_bytes, c.unique_bytes);
    EXPECT_EQ(sectors->transferred_bytes(), c.sector_count * c.sector_bytes);
    ASSERT_TRUE(sectors->sector_efficiency().has_value());
    EXPECT_DOUBLE_EQ(*sectors->sector_efficiency(), c.sector_efficiency);
  }
}

TEST(CountSectors, WithoutAnActiveLaneThereIsNoEfficiency) {
  const auto sectors = CountSectors({.active_mask = 0});
  ASSERT_TRUE(sectors.ok());
  EXPECT_EQ(sectors->sector_count, 0);
  EXPECT_EQ(sectors->requested_bytes, 0);
  EXPECT_FALSE(sectors->sector_efficiency().has_value());
  EXPECT_FALSE(sectors->unique_bytes_ratio().has_value());
}

TEST(CountSectors, ABroadcastDeliversMoreThanItMovesAndItsUniqueBytesLess) {
  const auto access = StridedAccess({.stride_elements = 0});
  ASSERT_TRUE(access.ok());
  const auto sectors = CountSectors(*access);
  ASSERT_TRUE(sectors.ok());
  EXPECT_DOUBLE_EQ(*sectors->sector_efficiency(), 4.0);
  EXPECT_DOUBLE_EQ(*sectors->unique_bytes_ratio(), 0.125);
}

TEST(CountSectors, TheLastByteOfTheAddressSpaceIsCounted) {
  WarpAccess access{.active_mask = 1, .bytes_per_lane = 1};
  access.lane_address_bytes[0] = kMax;
  const auto sectors = CountSectors(access);
  ASSERT_TRUE(sectors.ok());
  EXPECT_EQ(sectors->sector_count, 1);
  EXPECT_EQ(sectors->unique_bytes, 1);
}

TEST(CountSectors, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(CountSectors(WarpAccess{}, 0).status().message(), "sector_bytes: got 0, expected 1 to 1099511627776");
  EXPECT_EQ(CountSectors(WarpAccess{.bytes_per_lane = 0}).status().message(),
            "bytes_per_lane: got 0, expected 1 to 32");
}

// Every byte in a set.
SectorCount BruteForce(const WarpAccess& access, int64_t sector_bytes) {
  std::set<int64_t> bytes;
  std::set<int64_t> sectors;
  SectorCount result;
  result.sector_bytes = sector_bytes;
  for (int64_t lane = 0; lane < kWarpLanes; ++lane) {
    if (!access.active(lane)) continue;
    ++result.active_lane_count;
    for (int64_t i = 0; i < access.bytes_per_lane; ++i) {
      const int64_t byte = access.lane_address_bytes[static_cast<size_t>(lane)] + i;
      ++result.requested_bytes;
      bytes.insert(byte);
      sectors.insert(byte / sector_bytes);
    }
  }
  result.unique_bytes = static_cast<int64_t>(bytes.size());
  result.sector_count = static_cast<int64_t>(sectors.size());
  return result;
}

TEST(CountSectors, EqualsASetOfAllBytesForRandomAccesses) {
  std::mt19937_64 random(20090401);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 8'000; ++i) {
    WarpAccess access;
    access.bytes_per_lane = pick(1, kMaxBytesPerLane);
    access.active_mask = static_cast<uint32_t>(random() & (pick(0, 1) != 0 ? random() : ~uint64_t{0}));
    // From all in one sector to hardly ever two in one.
    const int64_t range = int64_t{1} << pick(0, 14);
    const int64_t base = pick(0, int64_t{1} << 50);
    for (int64_t& address : access.lane_address_bytes) address = base + pick(0, range);
    const int64_t widths[] = {1, 32, 128, pick(1, 300)};
    for (const int64_t sector_bytes : widths) {
      const SectorCount expected = BruteForce(access, sector_bytes);
      const auto sectors = CountSectors(access, sector_bytes);
      ASSERT_TRUE(sectors.ok());
      ASSERT_EQ(sectors->sector_count, expected.sector_count) << i;
      ASSERT_EQ(sectors->unique_bytes, expected.unique_bytes) << i;
      ASSERT_EQ(sectors->requested_bytes, expected.requested_bytes) << i;
      ASSERT_EQ(sectors->active_lane_count, expected.active_lane_count) << i;
      if (expected.active_lane_count == 0) continue;
      ASSERT_GT(*sectors->unique_bytes_ratio(), 0);
      ASSERT_LE(*sectors->unique_bytes_ratio(), 1);
      ASSERT_GE(*sectors->sector_efficiency(), *sectors->unique_bytes_ratio());
    }
  }
}

TEST(CountSectors, AWiderStrideNeverTouchesFewerSectorsFromAnAlignedBase) {
  for (const int64_t element_bytes : {1, 2, 4, 8, 16}) {
    int64_t last = 0;
    for (int64_t stride = 0; stride < 200; ++stride) {
      const auto access = StridedAccess({.element_bytes = element_bytes, .stride_elements = stride});
      ASSERT_TRUE(access.ok());
      const auto sectors = CountSectors(*access);
      ASSERT_TRUE(sectors.ok());
      ASSERT_GE(sectors->sector_count, last) << element_bytes << " " << stride;
      last = sectors->sector_count;
    }
  }
}

TEST(SectorTotals, AddRequestsThatWereIssued) {
  SectorTotals totals;
  EXPECT_FALSE(totals.sectors_per_request().has_value());
  EXPECT_FALSE(totals.sector_efficiency().has_value());
  ASSERT_TRUE(totals.Add(*CountSectors(*StridedAccess({}))).ok());
  ASSERT_TRUE(totals.Add(*CountSectors(*StridedAccess({.stride_elements = 2}))).ok());
  ASSERT_TRUE(totals.Add(*CountSectors({.active_mask = 0})).ok());
  EXPECT_EQ(totals.request_count, 2);
  EXPECT_EQ(totals.sector_count, 12);
  EXPECT_EQ(totals.transferred_bytes, 384);
  EXPECT_DOUBLE_EQ(*totals.sectors_per_request(), 6.0);
  EXPECT_DOUBLE_EQ(*totals.sector_efficiency(), 256.0 / 384);
  EXPECT_DOUBLE_EQ(*totals.unique_bytes_ratio(), 256.0 / 384);
}

TEST(SectorTotals, ASumThatDoesNotFitIsRefusedAndChangesNothing) {
  SectorTotals totals;
  totals.requested_bytes = 100;
  totals.transferred_bytes = kMax - 10;
  const absl::Status status = totals.Add(*CountSectors(*StridedAccess({})));
  EXPECT_EQ(status.message(),
            "transferred_bytes: about 9.22337e+18, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(totals.requested_bytes, 100);
  EXPECT_EQ(totals.request_count, 0);
}

}  // namespace
}  // namespace gx::model
