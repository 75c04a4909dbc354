#include "analysis/clock_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gx::analysis {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> Multiples(uint64_t step_ns, uint64_t first, uint64_t count) {
  std::vector<uint64_t> durations;
  for (uint64_t i = 0; i < count; ++i) durations.push_back((first + i) * step_ns);
  return durations;
}

std::vector<uint64_t> With(std::vector<uint64_t> durations, const std::vector<uint64_t>& more) {
  durations.insert(durations.end(), more.begin(), more.end());
  return durations;
}

struct Case {
  std::string what;
  std::vector<uint64_t> durations_ns;
  uint64_t step_ns;
};

TEST(EstimateClockStepTest, IsTheLargestPowerOfTwoThatNearlyAllDurationsAreNear) {
  const std::vector<Case> cases = {
      {"no duration", {}, 0},
      {"one duration", {2048}, 0},
      {"three multiples of 32, which could be luck", {895, 896, 928, 992, 993}, 0},
      {"an H200's durations", {863, 895, 896, 928, 959, 960, 992, 993, 1024, 1057, 1088, 1119}, 32},
      {"steps of 32 without rounding", Multiples(32, 21, 12), 32},
      {"steps of 256", Multiples(256, 3, 10), 256},
      {"steps of 1024", Multiples(1024, 1, 10), 1024},
      {"steps of 4096: no step above 1024 is looked for", Multiples(4096, 1, 10), 1024},
      {"steps of 1", Multiples(1, 500, 100), 1},
      {"steps of 2", Multiples(2, 500, 100), 2},
      {"steps of 4", Multiples(4, 500, 100), 4},
      {"steps of 1 and few durations", {501, 502, 503}, 0},
      {"5 % elsewhere", With(Multiples(32, 21, 19), {1007}), 32},
      {"10 % elsewhere", With(Multiples(32, 21, 18), {1006, 910}), 2},
      {"long durations drift and are left out", With(Multiples(32, 21, 12), {100'007, 200'013, 300'017, UINT64_MAX}),
       32},
      {"0 and 1 are no multiples of 32", With(Multiples(32, 1, 40), {0, 1}), 32},
  };
  for (const Case& c : cases) EXPECT_EQ(EstimateClockStep(c.durations_ns), c.step_ns) << c.what;
}

TEST(ShortDurationsTest, KeepsEachShortDurationOnce) {
  ShortDurations durations;
  for (const uint64_t ns : {uint64_t{928}, uint64_t{896}, uint64_t{928}, kMaxStepDurationNs, UINT64_MAX}) {
    durations.Add(ns);
  }
  EXPECT_THAT(durations.Distinct(), ElementsAre(896, 928));
}

}  // namespace
}  // namespace gx::analysis
