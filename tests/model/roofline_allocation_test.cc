// Waves, rooflines and peaks are computed for every signature of a run: they do not allocate where nothing is wrong.
#include <gtest/gtest.h>

#include <vector>

#include "analysis/model/peaks.h"
#include "analysis/model/roofline.h"
#include "analysis/model/waves.h"
#include "tests/model/allocation_counter.h"

namespace gx::model {
namespace {

constexpr CeilingKind kKind = CeilingKind::kTheoretical;

TEST(RooflineAllocation, NoneWhereNothingIsWrong) {
  const std::vector<ComputePath> paths(kInlinedParts, ComputePath{"p", 1000, 1e12, kKind});
  const std::vector<MemoryLevel> levels(kInlinedParts, MemoryLevel{"l", 1000, 1e12, kKind});
  const std::vector<AchievedWork> work(100, AchievedWork{1000, 1e-6, 1e12, kKind});
  EXPECT_EQ(AllocationsOf([&] { return ComputeRooflineBound(paths, levels).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return ComputeHeadroom(*ComputeRooflineBound(paths, levels), 1).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([&] { return ComputeFlopsUtilization(work).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([] { return RidgeFlopsPerByte(1, 2).ok() && AttainableFlopsPerSecond(1, 2, 3).ok(); }), 0);
  EXPECT_EQ(AllocationsOf([] {
              return ComputeWaves({.grid_block_count = 80,
                                   .sm_count = 132,
                                   .blocks_per_sm = 3,
                                   .blocks_per_cluster = 2,
                                   .max_active_cluster_count = 198})
                         .ok() &&
                     ComputePersistentWaves({.tile_count = 5, .cta_count = 2, .slot_count = 3}).ok() &&
                     GridBlockCount({.x = 5}).ok();
            }),
            0);
  PeakInput input;
  input.compute_capability = {9, 0};
  input.path = kTensorFp8Fp32;
  input.table_sm_count = 132;
  input.table_clock_hz = 1.98e9;
  EXPECT_EQ(AllocationsOf([&] { return ComputePeak(input).ok(); }), 0);
}

TEST(RooflineAllocation, TheCounterSeesPartsBeyondTheInlinedOnesAndRefusals) {
  const std::vector<MemoryLevel> levels(kInlinedParts + 1, MemoryLevel{"l", 1000, 1e12, kKind});
  EXPECT_GT(AllocationsOf([&] { return ComputeRooflineBound({}, levels).ok(); }), 0);
  EXPECT_GT(AllocationsOf([] { return !ComputeWaves({.grid_block_count = -1}).ok(); }), 0);
}

}  // namespace
}  // namespace gx::model
