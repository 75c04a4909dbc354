#include "analysis/model/banks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace gx::model {
namespace {

struct Case {
  const char* source;
  LaneStride lanes;
  int64_t conflict_degree;
  int64_t wavefront_count;
  int64_t ideal_wavefront_count;
};

TEST(CountBanks, TheCasesThatArePublishedAndThoseDoneOnPaper) {
  const Case cases[] = {
      {"a row of a 32 x 32 FP32 tile", {}, 1, 1, 1},
      {"a column of a 32 x 32 FP32 tile: 32-way", {.base_bytes = 20, .stride_elements = 32}, 32, 32, 1},
      {"a column of it padded to 33: conflict-free", {.base_bytes = 20, .stride_elements = 33}, 1, 1, 1},
      {"Programming Guide, stride of two words: 2-way", {.stride_elements = 2}, 2, 2, 1},
      {"Programming Guide, stride of three words: conflict-free", {.stride_elements = 3}, 1, 1, 1},
      {"stride of 16 words: 16-way", {.stride_elements = 16}, 16, 16, 1},
      {"one word for all: broadcast", {.stride_elements = 0}, 1, 1, 1},
      {"bytes: four lanes share a word", {.element_bytes = 1}, 1, 1, 1},
      {"BF16: two lanes share a word", {.element_bytes = 2}, 1, 1, 1},
      {"BF16, a column of 64: one word in 32, 32-way", {.element_bytes = 2, .stride_elements = 64}, 32, 32, 1},
      {"BF16, a column of 66: stride 33 words", {.element_bytes = 2, .stride_elements = 66}, 1, 1, 1},
      {"FP64, neighbours: two half warps", {.element_bytes = 8}, 1, 2, 2},
      {"FP64, stride two: 2-way in each half", {.element_bytes = 8, .stride_elements = 2}, 2, 4, 2},
      {"FP64, a column of 16: 16-way in each half", {.element_bytes = 8, .stride_elements = 16}, 16, 32, 2},
      {"FP64, padded to 17", {.element_bytes = 8, .stride_elements = 17}, 1, 2, 2},
      {"float4, neighbours: four quarter warps", {.element_bytes = 16}, 1, 4, 4},
      {"float4, stride two: 2-way in each quarter", {.element_bytes = 16, .stride_elements = 2}, 2, 8, 4},
      {"float4, one address for all", {.element_bytes = 16, .stride_elements = 0}, 1, 4, 4},
      {"float4, a row of 128 bytes: 8-way", {.element_bytes = 16, .stride_elements = 8}, 8, 32, 4},
      {"only the first quarter loads a float4", {.element_bytes = 16, .active_mask = 0xffU}, 1, 1, 1},
      {"one lane of each quarter", {.element_bytes = 16, .active_mask = 0x01010101U}, 1, 4, 4},
      {"half of a column", {.stride_elements = 32, .active_mask = 0xffffU}, 16, 16, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.source);
    const auto access = StridedAccess(c.lanes);
    ASSERT_TRUE(access.ok()) << access.status();
    const auto banks = CountBanks(*access);
    ASSERT_TRUE(banks.ok()) << banks.status();
    EXPECT_EQ(banks->conflict_degree, c.conflict_degree);
    EXPECT_EQ(banks->wavefront_count, c.wavefront_count);
    EXPECT_EQ(banks->ideal_wavefront_count, c.ideal_wavefront_count);
    EXPECT_EQ(banks->excess_wavefront_count(), c.wavefront_count - c.ideal_wavefront_count);
  }
}

TEST(CountBanks, WithoutAnActiveLaneNothingIsRead) {
  const auto banks = CountBanks({.active_mask = 0});
  ASSERT_TRUE(banks.ok());
  EXPECT_EQ(banks->conflict_degree, 0);
  EXPECT_EQ(banks->wavefront_count, 0);
  EXPECT_EQ(banks->ideal_wavefront_count, 0);
}

TEST(CountBanks, LanesOfOneHalfDoNotConflictWithThoseOfTheOther) {
  // Lane n and lane n + 16 meet in the same banks, in other words: free for 8 bytes, 2-way for 4.
  WarpAccess access{.bytes_per_lane = 8};
  for (size_t lane = 0; lane < 32; ++lane) {
    access.lane_address_bytes[lane] = static_cast<int64_t>(lane % 16 * 8 + lane / 16 * 4096);
  }
  EXPECT_EQ(CountBanks(access)->conflict_degree, 1);
  access.bytes_per_lane = 4;
  EXPECT_EQ(CountBanks(access)->conflict_degree, 2);
}

TEST(CountBanks, UniformPairsHalveThePassesOnlyWhereTheRuleIsOn) {
  const BankRules rules{.uniform_pairs_share_a_pass = true};
  for (const int64_t bit : {1, 2}) {
    WarpAccess access{.bytes_per_lane = 16};
    for (int64_t lane = 0; lane < 32; ++lane) {
      const int64_t vector = bit == 1 ? lane / 2 : lane / 4 * 2 + lane % 2;
      access.lane_address_bytes[static_cast<size_t>(lane)] = vector * 16;
    }
    // 16 different vectors of 16 bytes: 256 bytes, which two wavefronts carry.
    EXPECT_EQ(CountBanks(access)->wavefront_count, 4);
    EXPECT_EQ(CountBanks(access, rules)->wavefront_count, 2);
    EXPECT_EQ(CountBanks(access, rules)->ideal_wavefront_count, 2);
  }
  // All the same: 7.0 and 7.5 need two requests for a 16-byte load (the forum's example), one for 8 bytes.
  EXPECT_EQ(CountBanks({.bytes_per_lane = 16}, rules)->wavefront_count, 2);
  EXPECT_EQ(CountBanks({.bytes_per_lane = 8}, rules)->wavefront_count, 1);
  EXPECT_EQ(CountBanks({.bytes_per_lane = 4}, rules)->wavefront_count, 1);
  // Neighbours that differ: as without the rule.
  EXPECT_EQ(CountBanks(*StridedAccess({.element_bytes = 16}), rules)->wavefront_count, 4);
  // An inactive partner does not stand in the way.
  EXPECT_EQ(CountBanks(*StridedAccess({.element_bytes = 16, .active_mask = 0x55555555U}), rules)->pass_count, 2);
}

TEST(CountBanks, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(CountBanks({.bytes_per_lane = 3}).status().message(),
            "bytes_per_lane: got 3, expected 1, 2, 4, 8 or 16 for shared memory");
  EXPECT_EQ(CountBanks({.bytes_per_lane = 32}).status().message(),
            "bytes_per_lane: got 32, expected 1, 2, 4, 8 or 16 for shared memory");
  EXPECT_EQ(CountBanks({.bytes_per_lane = 0}).status().message(), "bytes_per_lane: got 0, expected 1 to 32");
  WarpAccess access{.bytes_per_lane = 8};
  access.lane_address_bytes[7] = 12;
  EXPECT_EQ(CountBanks(access).status().message(), "lane_address_bytes[7]: got 12, expected a multiple of its 8 bytes");
  access.active_mask = ~(1U << 7);
  EXPECT_TRUE(CountBanks(access).ok());
}

// Passes as lists of lanes, banks as sets of words.
BankCount BruteForce(const WarpAccess& access) {
  BankCount result;
  const int64_t passes = access.bytes_per_lane == 16 ? 4 : access.bytes_per_lane == 8 ? 2 : 1;
  for (int64_t pass = 0; pass < passes; ++pass) {
    std::map<int64_t, std::set<int64_t>> words_of_bank;
    for (int64_t lane = 0; lane < 32; ++lane) {
      if (!access.active(lane) || lane * passes / 32 != pass) continue;
      for (int64_t i = 0; i < access.bytes_per_lane; ++i) {
        const int64_t word = (access.lane_address_bytes[static_cast<size_t>(lane)] + i) / 4;
        words_of_bank[word % 32].insert(word);
      }
    }
    int64_t degree = 0;
    for (const auto& [bank, words] : words_of_bank) degree = std::max(degree, static_cast<int64_t>(words.size()));
    result.conflict_degree = std::max(result.conflict_degree, degree);
    result.wavefront_count += degree;
    result.pass_count += degree > 0 ? 1 : 0;
  }
  return result;
}

TEST(CountBanks, EqualsSetsOfWordsForRandomAccesses) {
  std::mt19937_64 random(1947);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 30'000; ++i) {
    WarpAccess access;
    access.bytes_per_lane = int64_t{1} << pick(0, 4);
    access.active_mask = static_cast<uint32_t>(random() & (pick(0, 1) != 0 ? random() : ~uint64_t{0}));
    const int64_t range = int64_t{1} << pick(0, 16);
    for (int64_t& address : access.lane_address_bytes) address = pick(0, range) * access.bytes_per_lane;
    const BankCount expected = BruteForce(access);
    const auto banks = CountBanks(access);
    ASSERT_TRUE(banks.ok());
    ASSERT_EQ(banks->conflict_degree, expected.conflict_degree) << i;
    ASSERT_EQ(banks->wavefront_count, expected.wavefront_count) << i;
    ASSERT_EQ(banks->pass_count, expected.pass_count) << i;
    ASSERT_GE(banks->excess_wavefront_count(), 0);
    ASSERT_LE(banks->conflict_degree, 32);
  }
}

TEST(CountBanks, StridesConflictByTheirCommonFactorWithTheBanks) {
  for (int64_t stride = 1; stride <= 200; ++stride) {
    const auto access = StridedAccess({.stride_elements = stride});
    ASSERT_TRUE(access.ok());
    EXPECT_EQ(CountBanks(*access)->conflict_degree, std::gcd(stride, int64_t{32})) << stride;
  }
}

TEST(CountBanks, TheIdealOfAFullWarpIsItsBytesOver128) {
  for (const int64_t bytes : {1, 2, 4, 8, 16}) {
    const auto banks = CountBanks(*StridedAccess({.element_bytes = bytes}));
    ASSERT_TRUE(banks.ok());
    EXPECT_EQ(banks->ideal_wavefront_count, std::max<int64_t>(1, 32 * bytes / 128));
  }
}

}  // namespace
}  // namespace gx::model
