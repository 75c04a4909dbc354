#include "analysis/model/sectors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

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
      {"an array of structures of 12 bytes, one member", {.stride_elements = 3}, 32, 12, 128, 128, 1.0 / 3},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.source);
    const auto access = StridedAccess(c.lanes);
    ASSERT_TRUE(access.ok()) << access.status();
    EXPECT_TRUE(access->is_naturally_aligned());
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

TEST(CountSectors, AddressesThatWouldFaultAreArithmetic) {
  // One lane of 4 bytes across two sectors; lanes of 4 bytes that overlap by two.
  const auto across = StridedAccess({.base_bytes = 30, .active_mask = 1});
  EXPECT_FALSE(across->is_naturally_aligned());
  EXPECT_EQ(CountSectors(*across)->sector_count, 2);
  EXPECT_DOUBLE_EQ(*CountSectors(*across)->sector_efficiency(), 1.0 / 16);
  const auto overlapping = StridedAccess({.element_bytes = 2, .elements_per_lane = 2, .stride_elements = 1});
  EXPECT_FALSE(overlapping->is_naturally_aligned());
  EXPECT_EQ(CountSectors(*overlapping)->sector_count, 3);
  EXPECT_EQ(CountSectors(*overlapping)->unique_bytes, 66);
  EXPECT_DOUBLE_EQ(*CountSectors(*overlapping)->sector_efficiency(), 128.0 / 96);
}

TEST(CountSectors, KeysOfACacheAlongTheHeadDimensionAndAcrossTokens) {
  // K[batch, head, token, dimension], BF16, 128 dimensions, 512 tokens, 8 heads: the row of (1, 3, 40).
  constexpr int64_t kDimensions = 128;
  const int64_t row_bytes = ((1 * 8 + 3) * 512 + 40) * kDimensions * 2;
  const auto along = StridedAccess({.base_bytes = row_bytes, .element_bytes = 2});
  ASSERT_TRUE(along.ok());
  EXPECT_EQ(CountSectors(*along)->sector_count, 2);
  EXPECT_DOUBLE_EQ(*CountSectors(*along)->sector_efficiency(), 1.0);
  const auto across =
      StridedAccess({.base_bytes = row_bytes + 5 * 2, .element_bytes = 2, .stride_elements = kDimensions});
  ASSERT_TRUE(across.ok());
  EXPECT_EQ(CountSectors(*across)->sector_count, 32);
  EXPECT_DOUBLE_EQ(*CountSectors(*across)->sector_efficiency(), 1.0 / 16);
  // A lane that takes 16 dimensions of its token uses whole sectors again.
  const auto vectors =
      StridedAccess({.base_bytes = row_bytes, .element_bytes = 2, .elements_per_lane = 16, .stride_elements = 128});
  ASSERT_TRUE(vectors.ok());
  EXPECT_DOUBLE_EQ(*CountSectors(*vectors)->sector_efficiency(), 1.0);
}

TEST(CountSectors, PagesAreCountedWhereTheyLie) {
  // Pages of 4 tokens of 16 bytes; lane i reads token i, which is row i % 4 of the page that its table names.
  constexpr int64_t kTokenBytes = 16;
  constexpr int64_t kPageTokens = 4;
  const auto request = [](int64_t pool_bytes, const std::vector<int64_t>& page_table) {
    std::vector<int64_t> addresses;
    for (int64_t token = 0; token < kWarpLanes; ++token) {
      const int64_t page = page_table[static_cast<size_t>(token / kPageTokens)];
      addresses.push_back(pool_bytes + (page * kPageTokens + token % kPageTokens) * kTokenBytes);
    }
    return *CountSectors(*ListedAccess(addresses, kTokenBytes));
  };
  const std::vector<int64_t> scattered = {9, 2, 31, 4, 17, 23, 40, 12};
  // A page is two sectors wherever it lies, if the pool starts at a sector: as good as tokens in a row.
  EXPECT_EQ(request(4096, scattered).sector_count, 16);
  EXPECT_EQ(request(4096, {0, 1, 2, 3, 4, 5, 6, 7}).sector_count, 16);
  EXPECT_DOUBLE_EQ(*request(4096, scattered).sector_efficiency(), 1.0);
  // Half a sector off, every page reaches into a third one, which only neighbours share.
  EXPECT_EQ(request(4096 + 16, scattered).sector_count, 24);
  EXPECT_DOUBLE_EQ(*request(4096 + 16, scattered).sector_efficiency(), 2.0 / 3);
  EXPECT_EQ(request(4096 + 16, {9, 10, 31, 4, 17, 23, 40, 12}).sector_count, 23);
  EXPECT_EQ(request(4096 + 16, {0, 1, 2, 3, 4, 5, 6, 7}).sector_count, 17);
  // Two sequences that share a page read its bytes once.
  EXPECT_EQ(request(4096, {9, 9, 9, 9, 9, 9, 9, 9}).unique_bytes, 64);
  EXPECT_EQ(request(4096, {9, 9, 9, 9, 9, 9, 9, 9}).sector_count, 2);
}

TEST(SectorTotals, MoreRequestsThanFitAreRefused) {
  SectorTotals totals;
  totals.request_count = kMax;
  EXPECT_EQ(totals.Add(*CountSectors(*StridedAccess({}))).message(),
            "request_count: about 9.22337e+18, expected -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(totals.sector_count, 0);
  totals = {};
  totals.requested_bytes = kMax;
  EXPECT_EQ(totals.Add(*CountSectors(*StridedAccess({}))).message(),
            "requested_bytes: about 9.22337e+18, expected -9223372036854775808 to 9223372036854775807");
}

TEST(SectorTotals, AreOfOneSectorWidth) {
  SectorTotals totals;
  ASSERT_TRUE(totals.Add(*CountSectors(*StridedAccess({}))).ok());
  EXPECT_EQ(totals.sector_bytes, 32);
  EXPECT_EQ(totals.Add(*CountSectors(*StridedAccess({}), 128)).message(),
            "sector_bytes: got 128, expected 32 (as the requests before)");
  EXPECT_EQ(totals.request_count, 1);
  EXPECT_EQ(totals.sector_count, 4);
  // A request that is not issued has no say.
  EXPECT_TRUE(totals.Add(*CountSectors({.active_mask = 0}, 128)).ok());
}

}  // namespace
}  // namespace gx::model
