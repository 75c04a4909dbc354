#include "analysis/model/shapley.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace gx::model {
namespace {

TEST(Shapley, TwoFactorsOverTwoResources) {
  // The specification's third test vector: removing none, a, b, both leaves dram 40, 25, 30, 12, issue 20, 20, 10, 10.
  const std::array<double, 4> dram = {40, 25, 30, 12};
  const std::array<double, 4> issue = {20, 20, 10, 10};
  std::array<double, 4> rung = {};
  for (size_t i = 0; i < rung.size(); ++i) rung[i] = std::max(dram[i], issue[i]);
  const auto shapley = ShapleyValues(rung);
  ASSERT_TRUE(shapley.ok()) << shapley.status();
  EXPECT_EQ(shapley->total, 28);
  EXPECT_DOUBLE_EQ(shapley->factors[0].value, 16.5);
  EXPECT_DOUBLE_EQ(shapley->factors[1].value, 11.5);
  EXPECT_EQ(shapley->factors[0].solo, 15);
  EXPECT_EQ(shapley->factors[1].solo, 10);
}

TEST(Shapley, NoFactorAndOne) {
  const double none[] = {7};
  EXPECT_EQ(ShapleyValues(none)->total, 0);
  EXPECT_TRUE(ShapleyValues(none)->factors.empty());
  const double one[] = {7, 3};
  EXPECT_EQ(ShapleyValues(one)->factors[0].value, 4);
  EXPECT_EQ(ShapleyValues(one)->factors[0].solo, 4);
}

TEST(Shapley, FactorsThatHideEachOtherShareWhatNeitherGainsAlone) {
  const double figures[] = {10, 10, 10, 4};
  const auto shapley = ShapleyValues(figures);
  EXPECT_DOUBLE_EQ(shapley->factors[0].value, 3);
  EXPECT_DOUBLE_EQ(shapley->factors[1].value, 3);
  EXPECT_EQ(shapley->factors[0].solo, 0);
}

// The definition itself: the mean over all orders.
std::vector<double> MeanOverOrders(const std::vector<double>& figures, size_t factor_count) {
  std::vector<size_t> order(factor_count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<double> values(factor_count, 0);
  double orders = 0;
  do {
    size_t removed = 0;
    for (const size_t factor : order) {
      values[factor] += figures[removed] - figures[removed | size_t{1} << factor];
      removed |= size_t{1} << factor;
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& value : values) value /= orders;
  return values;
}

TEST(Shapley, IsTheMeanOverAllOrdersAndSumsToTheTotal) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 500; ++i) {
    const size_t factor_count = random() % (kMaxShapleyFactors + 1);
    std::vector<double> figures(size_t{1} << factor_count);
    for (double& figure : figures) figure = unit(random) * 1000;
    const auto shapley = ShapleyValues(figures);
    ASSERT_TRUE(shapley.ok()) << shapley.status();
    const std::vector<double> expected = MeanOverOrders(figures, factor_count);
    double sum = 0;
    for (size_t factor = 0; factor < factor_count; ++factor) {
      EXPECT_NEAR(shapley->factors[factor].value, expected[factor], 1e-9);
      sum += shapley->factors[factor].value;
    }
    EXPECT_NEAR(sum, figures.front() - figures.back(), 1e-9);
  }
}

TEST(Shapley, RefusesAnythingButSubsetsOfFiveFactors) {
  for (const size_t size : {0U, 3U, 33U, 64U}) {
    const std::vector<double> figures(size, 1);
    const auto shapley = ShapleyValues(figures);
    ASSERT_FALSE(shapley.ok()) << size;
    EXPECT_NE(shapley.status().message().find("got " + std::to_string(size)), std::string::npos) << shapley.status();
  }
  const double endless[] = {1, std::numeric_limits<double>::infinity()};
  EXPECT_FALSE(ShapleyValues(endless).ok());
}

}  // namespace
}  // namespace gx::model
