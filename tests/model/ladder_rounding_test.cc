#include "analysis/model/ladder_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace gx::model {
namespace {

using ::testing::ElementsAre;

TEST(LadderRounding, TheLargestRemaindersGetTheMissingUnits) {
  EXPECT_THAT(*RoundParts(std::vector<double>{1.25, 2.25, 6.5}), ElementsAre(1, 2, 7));
  EXPECT_THAT(*RoundParts(std::vector<double>{1.25, 2.25, 6.25, 0.25}),
              ElementsAre(2, 2, 6, 0));  // of equals the first
  EXPECT_THAT(*RoundParts(std::vector<double>{28000, 300, 2460.87, 439.13}), ElementsAre(28000, 300, 2461, 439));
}

TEST(LadderRounding, WhatIsNothingStaysNothing) {
  EXPECT_THAT(*RoundParts(std::vector<double>{0.5, 0, 0.5, 0}), ElementsAre(1, 0, 0, 0));
  EXPECT_TRUE(RoundParts({})->empty());
}

TEST(LadderRounding, SumsToTheRoundedSumAndIsOffByLessThanOne) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<double> parts(random() % 16);
    for (double& part : parts) {
      part = random() % 3 == 0
                 ? 0
                 : std::uniform_real_distribution<double>(0, std::pow(10, static_cast<double>(random() % 9)))(random);
    }
    const auto whole = RoundParts(parts);
    ASSERT_TRUE(whole.ok()) << whole.status();
    ASSERT_EQ(std::accumulate(whole->begin(), whole->end(), int64_t{0}),
              std::llround(std::accumulate(parts.begin(), parts.end(), 0.0)));
    for (size_t part = 0; part < parts.size(); ++part) {
      ASSERT_LT(std::fabs(static_cast<double>((*whole)[part]) - parts[part]), 1);
      ASSERT_TRUE(parts[part] > 0 || (*whole)[part] == 0);
    }
  }
}

TEST(LadderRounding, RefusesWhatHasNoWholeNumber) {
  EXPECT_FALSE(RoundParts(std::vector<double>{-1}).ok());
  EXPECT_FALSE(RoundParts(std::vector<double>{std::nan("")}).ok());
  EXPECT_FALSE(RoundParts(std::vector<double>{9e15, 9e15}).ok());
}

}  // namespace
}  // namespace gx::model
