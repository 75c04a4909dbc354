#include "analysis/model/resident_slots.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <random>

#include "analysis/model/occupancy_exact.h"
#include "analysis/model/sm_limits.h"
#include "analysis/model/waves.h"

namespace gx::model {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr std::optional<int64_t> kUnknown = std::nullopt;

TEST(ResidentSlots, AreTheFewerOfWhatTheSmsHaveRoomForAndWhatTheDeviceSaysInWholeClusters) {
  struct Case {
    SlotInput input;  // SMs, blocks per SM, blocks per cluster, active clusters
    SlotSource source;
    std::optional<int64_t> count;
  };
  for (const Case& c : {
           Case{{132, 3, 1, kUnknown}, SlotSource::kBlocksPerSm, 396},
           // Without clusters their number says nothing.
           Case{{132, 3, 1, 7}, SlotSource::kBlocksPerSm, 396},
           // cudaOccupancyMaxActiveClusters on an H200, 256 threads and 64 KiB.
           Case{{132, 3, 2, 198}, SlotSource::kActiveClusters, 396},
           Case{{132, 3, 4, 92}, SlotSource::kActiveClusters, 368},
           Case{{132, 3, 8, 45}, SlotSource::kActiveClusters, 360},
           Case{{132, 3, 16, 21}, SlotSource::kActiveClusters, 336},
           Case{{kUnknown, 3, 16, 21}, SlotSource::kActiveClusters, 336},
           Case{{132, 3, 16, kUnknown}, SlotSource::kClusterUpperBound, 384},
           Case{{kUnknown, 3, 16, kUnknown}, SlotSource::kClusterUpperBound, kUnknown},
           Case{{kUnknown, 3, 1, kUnknown}, SlotSource::kBlocksPerSm, kUnknown},
           // More than there is room for: at most 33 clusters of 8 in 264 slots.
           Case{{132, 2, 8, 33}, SlotSource::kActiveClusters, 264},
           Case{{132, 2, 8, 34}, SlotSource::kClusterUpperBound, 264},
           Case{{132, 2, 8, 1000}, SlotSource::kClusterUpperBound, 264},
           Case{{132, 2, 8, kMax}, SlotSource::kClusterUpperBound, 264},
           // Not one cluster, not one block.
           Case{{2, 2, 8, kUnknown}, SlotSource::kClusterUpperBound, 0},
           Case{{2, 2, 8, 1}, SlotSource::kClusterUpperBound, 0},
           Case{{132, 0, 8, 5}, SlotSource::kBlocksPerSm, 0},
           Case{{kUnknown, 0, 1, kUnknown}, SlotSource::kBlocksPerSm, 0},
       }) {
    const auto slots = CountResidentSlots(c.input);
    ASSERT_TRUE(slots.ok()) << slots.status();
    EXPECT_EQ(slots->source, c.source) << c.count.value_or(-1);
    EXPECT_EQ(slots->count, c.count);
  }
}

TEST(ResidentSlots, RefusesWhatCannotBe) {
  struct Case {
    SlotInput input;
    const char* message;
  };
  const Case cases[] = {
      {{0, 1, 1, kUnknown}, "sm_count: got 0, expected 1 or more"},
      {{1, -1, 1, kUnknown}, "blocks_per_sm: got -1, expected 0 or more"},
      {{1, 1, 0, kUnknown}, "blocks_per_cluster: got 0, expected 1 or more"},
      // With a cluster and without.
      {{1, 1, 2, 0}, "max_active_cluster_count: got 0, expected 1 or more"},
      {{1, 1, 1, 0}, "max_active_cluster_count: got 0, expected 1 or more"},
      {{kMax, 2, 1, kUnknown}, "slot_count: 9223372036854775807 x 2 is beyond 9223372036854775807"},
      {{kUnknown, 2, 2, kMax}, "slot_count: 9223372036854775807 x 2 is beyond 9223372036854775807"},
  };
  for (const Case& c : cases) EXPECT_EQ(CountResidentSlots(c.input).status().message(), c.message);
}

// Occupancy and waves have one rule: as many slots, or both refuse the launch.
TEST(ResidentSlotsProperty, OccupancyAndWavesAgree) {
  const SmLimits limits = **FindSmLimits({9, 0});
  std::mt19937_64 random(20260501);
  int refused = 0;
  int bounds = 0;
  for (int i = 0; i < 50'000; ++i) {
    LaunchResources launch;
    launch.threads_per_block_count = 32 * (static_cast<int64_t>(random() % 32) + 1);
    launch.registers_per_thread_count = static_cast<int64_t>(random() % 65);
    launch.sm_count = static_cast<int64_t>(random() % 8) + 1;
    launch.cluster_blocks_count = static_cast<int64_t>(random() % 16) + 1;
    if (random() % 2 == 0) launch.max_active_clusters_count = static_cast<int64_t>(random() % 20);

    const int64_t blocks_per_sm = [&] {
      LaunchResources plain = launch;
      plain.cluster_blocks_count = 1;
      plain.max_active_clusters_count.reset();
      return ComputeExactOccupancy(limits, plain)->blocks_per_sm_count;
    }();
    ASSERT_GT(blocks_per_sm, 0);
    const auto occupancy = ComputeExactOccupancy(limits, launch);
    const auto waves = ComputeWaves({.grid_block_count = launch.cluster_blocks_count,
                                     .sm_count = *launch.sm_count,
                                     .blocks_per_sm = blocks_per_sm,
                                     .blocks_per_cluster = launch.cluster_blocks_count,
                                     .max_active_cluster_count = launch.max_active_clusters_count});
    if (!occupancy.ok() || !occupancy->refusals.empty()) {
      ++refused;
      ASSERT_FALSE(waves.ok());
      if (occupancy.ok()) {
        ASSERT_EQ(occupancy->max_resident_blocks_count, 0);
      }
      continue;
    }
    ASSERT_TRUE(waves.ok()) << waves.status();
    ASSERT_EQ(occupancy->max_resident_blocks_count, waves->slot_count);
    ASSERT_EQ(occupancy->max_resident_blocks_is_upper_bound, waves->slot_source == SlotSource::kClusterUpperBound);
    bounds += occupancy->max_resident_blocks_is_upper_bound;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(bounds, 1000);
}

TEST(ResidentSlotsProperty, AnyValueIsARefusalOrWholeClustersWithinEveryBound) {
  constexpr int64_t kValues[] = {std::numeric_limits<int64_t>::min(), -1, 0, 1, 2, 3, 132, 65'536, kMax / 2, kMax};
  std::mt19937_64 random(23);
  const auto value = [&] { return kValues[random() % std::size(kValues)]; };
  const auto maybe = [&] { return random() % 4 == 0 ? kUnknown : std::optional<int64_t>(value()); };
  int good = 0;
  for (int i = 0; i < 200'000; ++i) {
    const SlotInput input{maybe(), value(), value(), maybe()};
    const auto slots = CountResidentSlots(input);
    if (!slots.ok() || !slots->count.has_value()) continue;
    ++good;
    ASSERT_GE(*slots->count, 0);
    ASSERT_EQ(*slots->count % input.blocks_per_cluster, 0);
    if (input.sm_count.has_value() && input.blocks_per_sm > 0) {
      ASSERT_LE(*slots->count / input.blocks_per_sm, *input.sm_count);
    }
    if (input.max_active_cluster_count.has_value() && input.blocks_per_cluster > 1) {
      ASSERT_LE(*slots->count / input.blocks_per_cluster, *input.max_active_cluster_count);
    }
  }
  EXPECT_GT(good, 1000);
}

}  // namespace
}  // namespace gx::model
