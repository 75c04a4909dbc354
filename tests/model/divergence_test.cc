#include "analysis/model/divergence.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "analysis/model/warp_access.h"

namespace gx::model {
namespace {

TEST(DivergenceFactor, CountsThePathsThatSomeLaneTakes) {
  struct Case {
    std::vector<double> fractions;
    int64_t factor;
  };
  const Case cases[] = {
      {{1.0}, 1},                     // uniform: no penalty
      {{0.5, 0.5}, 2},                // if (threadIdx.x % 2 == 0)
      {{1.0, 0.0}, 1},                // a branch that no lane takes
      {{0.25, 0.25, 0.25, 0.25}, 4},  // four-way
      {{31.0 / 32, 1.0 / 32}, 2},     // one lane is enough
      {{0.1, 0.2, 0.3, 0.4}, 4},      // the sum is 1 only nearly, in binary
      {std::vector<double>(32, 1.0 / 32), 32},
  };
  for (const Case& c : cases) {
    const auto factor = DivergenceFactor(c.fractions);
    ASSERT_TRUE(factor.ok()) << factor.status();
    EXPECT_EQ(*factor, c.factor);
  }
}

TEST(DivergenceFactor, RefusesFractionsThatAreNone) {
  EXPECT_EQ(DivergenceFactor(std::vector<double>{0.5, 0.4}).status().message(),
            "path_fractions: got a sum of 0.9, expected 1 within 1e-09");
  EXPECT_EQ(DivergenceFactor(std::vector<double>{}).status().message(),
            "path_fractions: got a sum of 0, expected 1 within 1e-09");
  EXPECT_EQ(DivergenceFactor(std::vector<double>{1.5, -0.5}).status().message(),
            "path_fractions[0]: got 1.5, expected 0 to 1");
  EXPECT_EQ(DivergenceFactor(std::vector<double>{0.5, -0.5, 1}).status().message(),
            "path_fractions[1]: got -0.5, expected 0 to 1");
  EXPECT_FALSE(DivergenceFactor(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}).ok());
  EXPECT_FALSE(DivergenceFactor(std::vector<double>{1 + 1e-8}).ok());
  EXPECT_FALSE(DivergenceFactor(std::vector<double>{0.5, 0.5 + 2e-9}).ok());
  EXPECT_TRUE(DivergenceFactor(std::vector<double>{0.5, 0.5 - 5e-10}).ok());
}

TEST(DivergenceFactor, OfLanesIsTheirNumberOfDistinctPaths) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::array<int64_t, 32> paths;
    const uint64_t kinds = 1 + random() % 40;
    for (int64_t& path : paths) path = static_cast<int64_t>(random() % kinds) - 3;
    const uint32_t mask = static_cast<uint32_t>(i == 0 ? 0 : random());
    std::set<int64_t> distinct;
    std::array<double, 64> fractions{};
    double lanes = 0;
    for (size_t lane = 0; lane < 32; ++lane) {
      if (((mask >> lane) & 1U) == 0) continue;
      distinct.insert(paths[lane]);
      lanes += 1;
      fractions[static_cast<size_t>(paths[lane] + 3)] += 1;
    }
    const auto factor = DivergenceFactor(paths, mask);
    ASSERT_TRUE(factor.ok());
    ASSERT_EQ(*factor, static_cast<int64_t>(distinct.size()));
    if (lanes == 0) continue;
    for (double& fraction : fractions) fraction /= lanes;
    ASSERT_EQ(*DivergenceFactor(fractions), *factor);
  }
}

TEST(DivergenceFactor, OfLanesNeedsAllOfThem) {
  const std::vector<int64_t> paths(31, 0);
  EXPECT_EQ(DivergenceFactor(paths, kAllLanes).status().message(), "path_of_lane: got 31, expected 32 (one a lane)");
}

TEST(EvaluateDivergence, TheWarpRunsTheSumOfTheTakenPaths) {
  const auto cost = EvaluateDivergence(std::vector<double>{0.25, 0.75, 0}, std::vector<double>{100, 20, 1000});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->taken_path_count, 2);
  EXPECT_DOUBLE_EQ(cost->warp_cost, 120);
  EXPECT_DOUBLE_EQ(cost->longest_path_cost, 100);
  EXPECT_DOUBLE_EQ(cost->mean_lane_cost, 40);
  EXPECT_DOUBLE_EQ(*cost->over_longest(), 1.2);
  EXPECT_DOUBLE_EQ(*cost->over_mean(), 3);
}

TEST(EvaluateDivergence, SkippingWorkIsNoPenalty) {
  // Half of the lanes skip the expensive side: the warp takes as long as if none did.
  const auto cost = EvaluateDivergence(std::vector<double>{0.5, 0.5}, std::vector<double>{100, 0});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->taken_path_count, 2);
  EXPECT_DOUBLE_EQ(*cost->over_longest(), 1);
  EXPECT_DOUBLE_EQ(*cost->over_mean(), 2);
}

TEST(EvaluateDivergence, EqualCostsGiveTheFactor) {
  for (size_t paths = 1; paths <= 32; ++paths) {
    const std::vector<double> fractions(paths, 1.0 / static_cast<double>(paths));
    const auto cost = EvaluateDivergence(fractions, std::vector<double>(paths, 7));
    ASSERT_TRUE(cost.ok());
    EXPECT_DOUBLE_EQ(*cost->over_longest(), static_cast<double>(*DivergenceFactor(fractions)));
    EXPECT_NEAR(*cost->over_mean(), static_cast<double>(paths), 1e-12);
  }
}

TEST(EvaluateDivergence, RatiosAreNeverBelowOne) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 5000; ++i) {
    const size_t paths = 1 + random() % 8;
    std::vector<double> fractions(paths);
    std::vector<double> costs(paths);
    double sum = 0;
    for (double& fraction : fractions) sum += fraction = random() % 3 == 0 ? 0 : unit(random);
    if (sum == 0) continue;
    for (double& fraction : fractions) fraction /= sum;
    for (double& cost : costs) cost = unit(random) * 100;
    const auto cost = EvaluateDivergence(fractions, costs);
    ASSERT_TRUE(cost.ok()) << cost.status();
    if (cost->longest_path_cost == 0) continue;
    ASSERT_GE(*cost->over_longest(), 1);
    ASSERT_GE(*cost->over_mean(), *cost->over_longest());
  }
  // Fractions a little above 1 together, within the tolerance.
  const auto cost = EvaluateDivergence(std::vector<double>{0.5, 0.5 + 5e-10}, std::vector<double>{7, 7});
  EXPECT_LE(cost->mean_lane_cost, cost->longest_path_cost);
}

TEST(EvaluateDivergence, FreePathsHaveNoRatio) {
  const auto cost = EvaluateDivergence(std::vector<double>{1}, std::vector<double>{0});
  ASSERT_TRUE(cost.ok());
  EXPECT_FALSE(cost->over_longest().has_value());
  EXPECT_FALSE(cost->over_mean().has_value());
}

TEST(EvaluateDivergence, RefusalsNameFieldValueAndLimit) {
  EXPECT_EQ(EvaluateDivergence(std::vector<double>{1}, std::vector<double>{1, 2}).status().message(),
            "path_costs: got 2, expected 1 (one a path)");
  EXPECT_EQ(EvaluateDivergence(std::vector<double>{1}, std::vector<double>{-1}).status().message(),
            "path_costs[0]: got -1, expected a finite number, 0 or above");
  EXPECT_EQ(EvaluateDivergence(std::vector<double>{0.5}, std::vector<double>{1}).status().message(),
            "path_fractions: got a sum of 0.5, expected 1 within 1e-09");
  EXPECT_EQ(EvaluateDivergence(std::vector<double>{0.5, 0.5}, std::vector<double>{1e308, 1e308}).status().message(),
            "sum of path_costs: got inf, expected a finite number, 0 or above");
}

TEST(DivergenceFactor, MorePathsThanLanesAreNotOneWarps) {
  EXPECT_EQ(DivergenceFactor(std::vector<double>(33, 1.0 / 33)).status().message(),
            "path_fractions above 0: got 33, expected 1 to 32 (a warp has no more lanes)");
  std::vector<double> fractions(1000, 0);
  for (size_t i = 0; i < 32; ++i) fractions[i * 30] = 1.0 / 32;
  EXPECT_EQ(*DivergenceFactor(fractions), 32);
  EXPECT_EQ(EvaluateDivergence(fractions, std::vector<double>(1000, 1))->taken_path_count, 32);
  fractions[1] = 1e-12;
  EXPECT_FALSE(DivergenceFactor(fractions).ok());
}

TEST(EvaluateDivergence, RefusesCostsAndRatiosThatAreNotFinite) {
  EXPECT_EQ(EvaluateDivergence(std::vector<double>{1}, std::vector<double>{std::numeric_limits<double>::infinity()})
                .status()
                .message(),
            "path_costs[0]: got inf, expected a finite number, 0 or above");
  EXPECT_EQ(EvaluateDivergence(std::vector<double>{1, 1e-320}, std::vector<double>{0, 1e300}).status().message(),
            "warp_cost / mean_lane_cost: got inf, expected a finite number, 0 or above");
}

}  // namespace
}  // namespace gx::model
