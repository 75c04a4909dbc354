#include "analysis/model/carveout.h"

#include <gtest/gtest.h>

#include <optional>

namespace gx::model {
namespace {

constexpr int64_t kKib = 1024;

SmLimits Table(int major, int minor) { return **FindSmLimits({major, minor}); }

TEST(SmallestCarveoutBytes, RoundsUpToASizeThatExists) {
  const SmLimits hopper = Table(9, 0);
  EXPECT_EQ(SmallestCarveoutBytes(hopper, 0), 0);
  EXPECT_EQ(SmallestCarveoutBytes(hopper, 1), 8 * kKib);
  EXPECT_EQ(SmallestCarveoutBytes(hopper, 8 * kKib), 8 * kKib);
  EXPECT_EQ(SmallestCarveoutBytes(hopper, 8 * kKib + 1), 16 * kKib);
  EXPECT_EQ(SmallestCarveoutBytes(hopper, 164 * kKib + 1), 196 * kKib);
  EXPECT_EQ(SmallestCarveoutBytes(hopper, 228 * kKib), 228 * kKib);
  EXPECT_EQ(SmallestCarveoutBytes(hopper, 228 * kKib + 1), std::nullopt);
  // Turing has no less than 32 KiB.
  EXPECT_EQ(SmallestCarveoutBytes(Table(7, 5), 0), 32 * kKib);
}

TEST(SmallestCarveoutBytes, IsNeverMoreThanTheDeviceHas) {
  const auto limits = ApplyDeviceValues(Table(9, 0), {.shared_memory_per_sm_bytes = 200 * kKib});
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(SmallestCarveoutBytes(*limits, 197 * kKib), 200 * kKib);
  EXPECT_EQ(SmallestCarveoutBytes(*limits, 201 * kKib), std::nullopt);
}

struct PreferenceCase {
  ComputeCapability compute_capability;
  int64_t percent;
  CachePreference cache;
  int64_t expected_kib;
};

// cuda_occupancy.h of CUDA 13.0, cudaOccSMemPreferenceVoltaPlus.
TEST(PreferredCarveoutBytes, IsAShareRoundedUp) {
  const PreferenceCase cases[] = {
      {{9, 0}, -1, CachePreference::kNone, 228},
      {{9, 0}, 0, CachePreference::kNone, 0},
      {{9, 0}, 1, CachePreference::kNone, 8},     // 2.28 KiB
      {{9, 0}, 50, CachePreference::kNone, 132},  // 114 KiB
      {{9, 0}, 100, CachePreference::kNone, 228},
      {{8, 9}, 10, CachePreference::kNone, 16},  // 10 KiB
      {{7, 5}, 0, CachePreference::kNone, 32},
      {{7, 0}, 33, CachePreference::kNone, 32},  // 31.68 KiB
      // The old preference, only where no carve-out is asked for.
      {{9, 0}, -1, CachePreference::kSharedMemory, 228},
      {{9, 0}, -1, CachePreference::kL1, 0},
      {{9, 0}, -1, CachePreference::kEqual, 132},
      {{9, 0}, 0, CachePreference::kSharedMemory, 0},
  };
  for (const PreferenceCase& test : cases) {
    EXPECT_EQ(PreferredCarveoutBytes(Table(test.compute_capability.major, test.compute_capability.minor), test.percent,
                                     test.cache),
              test.expected_kib * kKib)
        << test.compute_capability.ToString() << ", " << test.percent;
  }
}

TEST(ModelledCarveoutBytes, APreferenceNeverStopsOneBlock) {
  const SmLimits hopper = Table(9, 0);
  EXPECT_EQ(ModelledCarveoutBytes(hopper, 132 * kKib, 132 * kKib), 132 * kKib);
  // One step that holds the block, not the largest.
  EXPECT_EQ(ModelledCarveoutBytes(hopper, 0, 66560), 100 * kKib);
  EXPECT_EQ(ModelledCarveoutBytes(hopper, 0, 0), 0);
}

// What an H200's kernels ran with when 0 per cent was preferred: one step that holds a block.
TEST(ModelledCarveoutBytes, IsWhatAnH200UsedForAPreferenceOfZero) {
  const SmLimits hopper = Table(9, 0);
  EXPECT_EQ(ModelledCarveoutBytes(hopper, 0, 2 * kKib), 8 * kKib);
  EXPECT_EQ(ModelledCarveoutBytes(hopper, 0, 17 * kKib), 32 * kKib);
  EXPECT_EQ(ModelledCarveoutBytes(hopper, 0, 65 * kKib), 100 * kKib);
}

}  // namespace
}  // namespace gx::model
