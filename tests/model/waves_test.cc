#include "analysis/model/waves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_format.h"

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Waves, TheWorkedExampleOf1024BlocksOn108SmsFillsASixthOfItsLastWave) {
  const auto waves = ComputeWaves({.grid_block_count = 1024, .sm_count = 108, .blocks_per_sm = 3});
  ASSERT_TRUE(waves.ok()) << waves.status();
  EXPECT_EQ(waves->slot_source, SlotSource::kBlocksPerSm);
  EXPECT_EQ(waves->slot_count, 324);
  EXPECT_EQ(waves->wave_count, 4);
  EXPECT_EQ(waves->last_wave_block_count, 52);
  EXPECT_EQ(*waves->tail_fill_ratio, 0.16049382716049382);
  // As the example prints it, in percent.
  EXPECT_EQ(absl::StrFormat("%.17g", *waves->tail_fill_ratio * 100), "16.049382716049383");
  EXPECT_FALSE(waves->one_wave);
  EXPECT_EQ(waves->last_wave_idle_sm_count, 56);
  EXPECT_EQ(waves->cluster_lost_slot_count, 0);
  EXPECT_DOUBLE_EQ(*waves->mean_fill_ratio, 1024.0 / 1296.0);
  EXPECT_DOUBLE_EQ(waves->fractional_wave_count, 1024.0 / 324.0);
}

TEST(Waves, AGridThatFitsIsOneWaveAndItsFillIsThatOfTheMachine) {
  struct Case {
    int64_t blocks;
    int64_t waves;
    int64_t last;
    bool one_wave;
    int64_t idle_sms;
  };
  // 108 SMs x 3.
  for (const Case& c : {Case{1, 1, 1, true, 107}, Case{108, 1, 108, true, 0}, Case{323, 1, 323, true, 0},
                        Case{324, 1, 324, true, 0}, Case{325, 2, 1, false, 107}, Case{648, 2, 324, false, 0}}) {
    const auto waves = ComputeWaves({.grid_block_count = c.blocks, .sm_count = 108, .blocks_per_sm = 3});
    ASSERT_TRUE(waves.ok()) << waves.status();
    EXPECT_EQ(waves->wave_count, c.waves) << c.blocks;
    EXPECT_EQ(waves->last_wave_block_count, c.last) << c.blocks;
    EXPECT_EQ(waves->one_wave, c.one_wave) << c.blocks;
    EXPECT_EQ(waves->last_wave_idle_sm_count, c.idle_sms) << c.blocks;
    EXPECT_DOUBLE_EQ(*waves->tail_fill_ratio, static_cast<double>(c.last) / 324) << c.blocks;
  }
}

TEST(Waves, AnEmptyGridHasNoWaveAndNoTail) {
  const auto waves = ComputeWaves({.grid_block_count = 0, .sm_count = 108, .blocks_per_sm = 3});
  ASSERT_TRUE(waves.ok()) << waves.status();
  EXPECT_EQ(waves->wave_count, 0);
  EXPECT_EQ(waves->last_wave_block_count, 0);
  EXPECT_FALSE(waves->tail_fill_ratio.has_value());
  EXPECT_FALSE(waves->mean_fill_ratio.has_value());
  EXPECT_TRUE(waves->one_wave);
  EXPECT_EQ(waves->last_wave_idle_sm_count, 108);
}

// cudaOccupancyMaxActiveClusters on an H200 (132 SMs), 256 threads and 64 KiB, 3 blocks per SM: 198, 92, 45 and 21
// clusters of 2, 4, 8 and 16 blocks.
TEST(Waves, ClustersLeaveSlotsThatNoBlockCanUse) {
  struct Case {
    int64_t size;
    int64_t clusters;
    int64_t slots;
  };
  for (const Case& c : {Case{2, 198, 396}, Case{4, 92, 368}, Case{8, 45, 360}, Case{16, 21, 336}}) {
    const auto waves = ComputeWaves({.grid_block_count = 800,
                                     .sm_count = 132,
                                     .blocks_per_sm = 3,
                                     .blocks_per_cluster = c.size,
                                     .max_active_cluster_count = c.clusters});
    ASSERT_TRUE(waves.ok()) << waves.status();
    EXPECT_EQ(waves->slot_source, SlotSource::kActiveClusters);
    EXPECT_EQ(waves->slot_count, c.slots);
    EXPECT_EQ(waves->cluster_lost_slot_count, 396 - c.slots);
    EXPECT_EQ(waves->wave_count, 3);
    EXPECT_EQ(waves->last_wave_block_count, 800 - 2 * c.slots);
  }
}

TEST(Waves, WithoutTheNumberOfActiveClustersTheSlotsAreAnUpperBound) {
  const auto waves =
      ComputeWaves({.grid_block_count = 800, .sm_count = 132, .blocks_per_sm = 3, .blocks_per_cluster = 16});
  ASSERT_TRUE(waves.ok()) << waves.status();
  EXPECT_EQ(waves->slot_source, SlotSource::kClusterUpperBound);
  EXPECT_EQ(waves->slot_count, 384);
  EXPECT_EQ(waves->cluster_lost_slot_count, 12);
}

TEST(Waves, RefusesWhatCannotBe) {
  struct Case {
    WaveInput input;
    const char* message;
  };
  const Case cases[] = {
      {{.grid_block_count = -1, .sm_count = 1, .blocks_per_sm = 1}, "grid_block_count: got -1, expected 0 or more"},
      {{.grid_block_count = 1, .sm_count = 0, .blocks_per_sm = 1}, "sm_count: got 0, expected 1 or more"},
      {{.grid_block_count = 1, .sm_count = 1, .blocks_per_sm = 0}, "blocks_per_sm: got 0, expected 1 or more"},
      {{.grid_block_count = 1, .sm_count = 1, .blocks_per_sm = 1, .blocks_per_cluster = 0},
       "blocks_per_cluster: got 0, expected 1 or more"},
      {{.grid_block_count = 1, .sm_count = kMax, .blocks_per_sm = 2},
       "slot_count: 9223372036854775807 x 2 is beyond 9223372036854775807"},
      {{.grid_block_count = 9, .sm_count = 132, .blocks_per_sm = 1, .blocks_per_cluster = 2},
       "grid_block_count: got 9, expected a multiple of blocks_per_cluster (2)"},
      {{.grid_block_count = 8, .sm_count = 2, .blocks_per_sm = 2, .blocks_per_cluster = 8},
       "blocks_per_cluster: got 8, expected 4 at most (sm_count x blocks_per_sm)"},
      {{.grid_block_count = 8,
        .sm_count = 132,
        .blocks_per_sm = 1,
        .blocks_per_cluster = 2,
        .max_active_cluster_count = 0},
       "max_active_cluster_count: got 0, expected 1 or more"},
      // Used or not.
      {{.grid_block_count = 8, .sm_count = 132, .blocks_per_sm = 1, .max_active_cluster_count = 0},
       "max_active_cluster_count: got 0, expected 1 or more"},
  };
  for (const Case& c : cases) EXPECT_EQ(ComputeWaves(c.input).status().message(), c.message);
}

TEST(Waves, HugeGridsDoNotWrap) {
  const auto waves = ComputeWaves({.grid_block_count = kMax, .sm_count = 132, .blocks_per_sm = 32});
  ASSERT_TRUE(waves.ok()) << waves.status();
  EXPECT_EQ(waves->wave_count, kMax / 4224 + 1);
  EXPECT_EQ(waves->last_wave_block_count, kMax % 4224);
  EXPECT_LE(*waves->mean_fill_ratio, 1);
}

TEST(WavesProperty, TheWavesHoldTheGridAndOneWaveFewerDoesNot) {
  std::mt19937_64 random(20260411);
  for (int i = 0; i < 200'000; ++i) {
    WaveInput input;
    input.sm_count = static_cast<int64_t>(random() % 200) + 1;
    input.blocks_per_sm = static_cast<int64_t>(random() % 32) + 1;
    const int64_t plain = input.sm_count * input.blocks_per_sm;
    if (random() % 2 == 0) {
      input.blocks_per_cluster = int64_t{1} << (random() % 5);
      if (input.blocks_per_cluster > plain) input.blocks_per_cluster = 1;
      if (random() % 2 == 0) {
        const auto most = static_cast<uint64_t>(plain / input.blocks_per_cluster);
        input.max_active_cluster_count = static_cast<int64_t>(random() % most) + 1;
      }
    }
    input.grid_block_count = static_cast<int64_t>(random() % 20'000) * input.blocks_per_cluster;
    const auto waves = ComputeWaves(input);
    ASSERT_TRUE(waves.ok()) << waves.status();
    const int64_t grid = input.grid_block_count;
    ASSERT_GE(waves->wave_count * waves->slot_count, grid);
    ASSERT_EQ(waves->slot_count + waves->cluster_lost_slot_count, plain);
    ASSERT_EQ(waves->slot_count % input.blocks_per_cluster, 0);
    ASSERT_EQ(waves->one_wave, waves->wave_count <= 1);
    if (grid == 0) continue;
    ASSERT_LT((waves->wave_count - 1) * waves->slot_count, grid);
    ASSERT_EQ((waves->wave_count - 1) * waves->slot_count + waves->last_wave_block_count, grid);
    ASSERT_GT(*waves->tail_fill_ratio, 0);
    ASSERT_LE(*waves->tail_fill_ratio, 1);
    ASSERT_LE(*waves->mean_fill_ratio, 1);
    // The last wave is the emptiest, so the mean is no worse.
    ASSERT_GE(*waves->mean_fill_ratio, *waves->tail_fill_ratio * (1 - 1e-12));
  }
}

// Whatever is in the fields, the answer is a refusal or keeps the rules above without wrapping around.
TEST(WavesProperty, AnyValueIsARefusalOrAResult) {
  constexpr int64_t kValues[] = {std::numeric_limits<int64_t>::min(), -1, 0, 1, 2, 3, 132, 65'536, kMax / 2, kMax};
  std::mt19937_64 random(17);
  const auto value = [&] { return kValues[random() % std::size(kValues)]; };
  int good = 0;
  for (int i = 0; i < 200'000; ++i) {
    WaveInput input{value(), value(), value(), value(), std::nullopt};
    if (random() % 2 == 0) input.max_active_cluster_count = value();
    if (const auto waves = ComputeWaves(input); waves.ok()) {
      ++good;
      ASSERT_GT(waves->slot_count, 0);
      ASSERT_GE(waves->cluster_lost_slot_count, 0);
      ASSERT_GE(waves->last_wave_idle_sm_count, 0);
      ASSERT_LE(waves->last_wave_block_count, waves->slot_count);
      ASSERT_LE(waves->tail_fill_ratio.value_or(0), 1);
    }
    if (const auto waves = ComputePersistentWaves({value(), value(), value()}); waves.ok()) {
      ++good;
      ASSERT_LE(waves->idlest_cta_tile_count, waves->busiest_cta_tile_count);
      ASSERT_LE(waves->tail_fill_ratio.value_or(0), 1);
      ASSERT_GE(waves->unused_slot_count, 0);
    }
  }
  EXPECT_GT(good, 1000);
}

TEST(WavesProperty, MoreSlotsNeverMeanMoreWaves) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    WaveInput input;
    input.grid_block_count = static_cast<int64_t>(random() % 100'000);
    input.sm_count = static_cast<int64_t>(random() % 150) + 1;
    input.blocks_per_sm = static_cast<int64_t>(random() % 16) + 1;
    const int64_t waves = ComputeWaves(input)->wave_count;
    ++input.blocks_per_sm;
    ASSERT_LE(ComputeWaves(input)->wave_count, waves);
  }
}

TEST(Persistent, OneCtaPerSmWorksThroughTheTiles) {
  // 1,024 tiles on 108 CTAs: 9 rounds of all and 52 tiles more.
  const auto waves = ComputePersistentWaves({.tile_count = 1024, .cta_count = 108, .slot_count = 324});
  ASSERT_TRUE(waves.ok()) << waves.status();
  EXPECT_EQ(waves->busiest_cta_tile_count, 10);
  EXPECT_EQ(waves->idlest_cta_tile_count, 9);
  EXPECT_EQ(waves->last_wave_tile_count, 52);
  EXPECT_DOUBLE_EQ(*waves->tail_fill_ratio, 52.0 / 108);
  EXPECT_DOUBLE_EQ(waves->mean_tiles_per_cta, 1024.0 / 108);
  EXPECT_DOUBLE_EQ(*waves->balance_ratio, 1024.0 / 1080);
  EXPECT_EQ(waves->unused_slot_count, 216);
  EXPECT_DOUBLE_EQ(waves->slot_fill_ratio, 1.0 / 3);
  EXPECT_EQ(waves->idle_cta_count, 0);
}

TEST(Persistent, FewerTilesThanCtasLeaveCtasIdle) {
  const auto waves = ComputePersistentWaves({.tile_count = 100, .cta_count = 132, .slot_count = 132});
  ASSERT_TRUE(waves.ok()) << waves.status();
  EXPECT_EQ(waves->busiest_cta_tile_count, 1);
  EXPECT_EQ(waves->idlest_cta_tile_count, 0);
  EXPECT_EQ(waves->idle_cta_count, 32);
  EXPECT_EQ(waves->unused_slot_count, 0);
}

TEST(Persistent, NoTilesMeanNoRoundsAndNoTail) {
  const auto waves = ComputePersistentWaves({.tile_count = 0, .cta_count = 132, .slot_count = 132});
  ASSERT_TRUE(waves.ok()) << waves.status();
  EXPECT_EQ(waves->busiest_cta_tile_count, 0);
  EXPECT_FALSE(waves->tail_fill_ratio.has_value());
  EXPECT_FALSE(waves->balance_ratio.has_value());
  EXPECT_EQ(waves->idle_cta_count, 132);
}

TEST(Persistent, RefusesMoreCtasThanSlots) {
  EXPECT_EQ(ComputePersistentWaves({.tile_count = 1, .cta_count = 400, .slot_count = 396}).status().message(),
            "cta_count: got 400, expected 1 to 396 (slots: a persistent grid is resident at once)");
  EXPECT_EQ(ComputePersistentWaves({.tile_count = 1, .cta_count = 0, .slot_count = 396}).status().message(),
            "cta_count: got 0, expected 1 to 396 (slots: a persistent grid is resident at once)");
  EXPECT_EQ(ComputePersistentWaves({.tile_count = -1, .cta_count = 1, .slot_count = 1}).status().message(),
            "tile_count: got -1, expected 0 or more");
  EXPECT_EQ(ComputePersistentWaves({.tile_count = 1, .cta_count = 1, .slot_count = 0}).status().message(),
            "slot_count: got 0, expected 1 or more");
}

// Deals the tiles out one by one, and counts.
TEST(PersistentProperty, TheCountsAreThoseOfDealingTilesOutInTurn) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 2'000; ++i) {
    const auto ctas = static_cast<int64_t>(random() % 64) + 1;
    const auto tiles = static_cast<int64_t>(random() % 500) + 1;
    std::vector<int64_t> dealt(static_cast<size_t>(ctas), 0);
    for (int64_t tile = 0; tile < tiles; ++tile) ++dealt[static_cast<size_t>(tile % ctas)];
    const auto [fewest, most] = std::minmax_element(dealt.begin(), dealt.end());
    const auto waves = ComputePersistentWaves({.tile_count = tiles, .cta_count = ctas, .slot_count = ctas});
    ASSERT_TRUE(waves.ok()) << waves.status();
    ASSERT_EQ(waves->busiest_cta_tile_count, *most);
    ASSERT_EQ(waves->idlest_cta_tile_count, *fewest);
    ASSERT_EQ(waves->idle_cta_count, std::count(dealt.begin(), dealt.end(), 0));
    if (*most != *fewest) {
      ASSERT_EQ(waves->last_wave_tile_count, std::count(dealt.begin(), dealt.end(), *most));
    }
  }
}

TEST(Grid, BlocksAreTheProductOfTheDimensions) {
  EXPECT_EQ(*GridBlockCount({.x = 32, .y = 32}), 1024);
  EXPECT_EQ(*GridBlockCount({}), 1);
  EXPECT_EQ(*GridBlockCount({.x = 0, .y = 5, .z = 5}), 0);
  // The largest grid that CUDA takes fits into 63 bits.
  EXPECT_EQ(*GridBlockCount({.x = kMaxGridX, .y = kMaxGridY, .z = kMaxGridZ}), 9'223'090'559'730'712'575);
}

TEST(Grid, RefusesDimensionsBeyondCudaLimits) {
  EXPECT_EQ(GridBlockCount({.x = kMaxGridX + 1}).status().message(),
            "grid.x: got 2147483648, expected 0 to 2147483647");
  EXPECT_EQ(GridBlockCount({.y = 65'536}).status().message(), "grid.y: got 65536, expected 0 to 65535");
  EXPECT_EQ(GridBlockCount({.z = -1}).status().message(), "grid.z: got -1, expected 0 to 65535");
}

}  // namespace
}  // namespace gx::model
