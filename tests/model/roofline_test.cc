#include "analysis/model/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace gx::model {
namespace {

using ::testing::DoubleNear;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr CeilingKind kTheoretical = CeilingKind::kTheoretical;
constexpr CeilingKind kEmpirical = CeilingKind::kEmpirical;

// The illustrative accelerator of the worked examples: 300 TFLOP/s, 1.5 TB/s.
constexpr double kComputeRate = 300e12;
constexpr double kMemoryRate = 1.5e12;

ComputePath Path(int64_t flops, double rate = kComputeRate, CeilingKind kind = kTheoretical) {
  return {"fp32", flops, rate, kind};
}
MemoryLevel Level(int64_t bytes, double rate = kMemoryRate, CeilingKind kind = kTheoretical) {
  return {"dram", bytes, rate, kind};
}

TEST(Roofline, RidgesAreTheRatioOfTheRates) {
  EXPECT_EQ(*RidgeFlopsPerByte(300e12, 1.5e12), 200);  // the illustrative accelerator
  // A100: 312 TFLOP/s of BF16 over "2 TB/s" is the ridge of about 156 that is usually named.
  EXPECT_EQ(*RidgeFlopsPerByte(312e12, 2e12), 156);
  // With its published bandwidths it is 153 (80 GB, 2039 GB/s) and 201 (40 GB, 1555 GB/s).
  EXPECT_THAT(*RidgeFlopsPerByte(312e12, 2039e9), DoubleNear(153.0, 0.05));
  EXPECT_THAT(*RidgeFlopsPerByte(312e12, 1555e9), DoubleNear(200.6, 0.05));
}

TEST(Roofline, TheLowerRoofIsAttainable) {
  EXPECT_EQ(*AttainableFlopsPerSecond(300e12, 1.5e12, 40), 60e12);
  EXPECT_EQ(*AttainableFlopsPerSecond(300e12, 1.5e12, 400), 300e12);
  EXPECT_EQ(*AttainableFlopsPerSecond(300e12, 1.5e12, 200), 300e12);
  EXPECT_EQ(*AttainableFlopsPerSecond(300e12, 1.5e12, 0), 0);
  EXPECT_EQ(*AttainableFlopsPerSecond(300e12, 1.5e300, 1e300), 300e12);  // a product beyond double is no answer
}

TEST(Roofline, TheRidgeItselfCountsAsComputeBound) {
  EXPECT_TRUE(IsComputeBound(200, 200));
  EXPECT_FALSE(IsComputeBound(std::nextafter(200.0, 0), 200));
  EXPECT_TRUE(IsComputeBound(201, 200));
}

TEST(Roofline, IntensityIsAbsentWhereNoByteMoves) {
  EXPECT_EQ(**IntensityFlopsPerByte(120'000'000'000, 3'000'000'000), 40);
  EXPECT_EQ(**IntensityFlopsPerByte(0, 8), 0);
  EXPECT_FALSE(IntensityFlopsPerByte(8, 0)->has_value());
}

TEST(Roofline, TheWorkedExampleOf120GigaflopAnd3GigabytesTakesTwoMilliseconds) {
  EXPECT_EQ(*ComputeTimeSeconds(120'000'000'000, kComputeRate), 0.0004);
  EXPECT_EQ(*MemoryTimeSeconds(3'000'000'000, kMemoryRate), 0.002);
  const ComputePath path = Path(120'000'000'000);
  const MemoryLevel level = Level(3'000'000'000);
  const auto bound = ComputeRooflineBound({&path, 1}, {&level, 1});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->kind, kTheoretical);
  EXPECT_EQ(bound->compute_seconds, 0.0004);
  EXPECT_EQ(bound->memory_seconds, 0.002);
  EXPECT_EQ(bound->bound_seconds, 0.002);
  EXPECT_EQ(*bound->attainable_flops_per_second, 60e12);
  EXPECT_FALSE(bound->paths[0].binds);
  EXPECT_TRUE(bound->levels[0].binds);
  EXPECT_EQ(*bound->levels[0].intensity_flops_per_byte, 40);
  EXPECT_EQ(*bound->levels[0].ridge_flops_per_byte, 200);
  EXPECT_FALSE(bound->levels[0].compute_bound);
}

TEST(Roofline, EveryLevelHasItsOwnIntensityAndRidge) {
  const ComputePath path = Path(120'000'000'000);
  const MemoryLevel levels[] = {{"l1", 24'000'000'000, 20e12, kTheoretical},
                                {"l2", 6'000'000'000, 5e12, kTheoretical},
                                {"dram", 3'000'000'000, 1.5e12, kTheoretical}};
  const auto bound = ComputeRooflineBound({&path, 1}, levels);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->levels.size(), 3u);
  EXPECT_EQ(bound->levels[0].seconds, 0.0012);
  EXPECT_EQ(bound->levels[1].seconds, 0.0012);
  EXPECT_EQ(bound->bound_seconds, 0.002);
  EXPECT_EQ(*bound->levels[0].intensity_flops_per_byte, 5);
  EXPECT_EQ(*bound->levels[1].intensity_flops_per_byte, 20);
  EXPECT_EQ(*bound->levels[2].intensity_flops_per_byte, 40);
  EXPECT_EQ(*bound->levels[0].ridge_flops_per_byte, 15);
  EXPECT_EQ(*bound->levels[1].ridge_flops_per_byte, 60);
  EXPECT_EQ(*bound->levels[2].ridge_flops_per_byte, 200);
  EXPECT_FALSE(bound->levels[0].binds);
  EXPECT_TRUE(bound->levels[2].binds);
}

TEST(Roofline, AllThatTieBind) {
  const ComputePath path = Path(600'000'000'000);                               // 2 ms
  const MemoryLevel levels[] = {{"l2", 10'000'000'000, 5e12, kTheoretical},     // 2 ms
                                {"dram", 3'000'000'000, 1.5e12, kTheoretical},  // 2 ms
                                {"pcie", 1'000'000, 1e9, kTheoretical}};        // 1 ms
  const auto bound = ComputeRooflineBound({&path, 1}, levels);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->paths[0].binds);
  EXPECT_TRUE(bound->levels[0].binds);
  EXPECT_TRUE(bound->levels[1].binds);
  EXPECT_FALSE(bound->levels[2].binds);
  // On the ridge: compute-bound.
  EXPECT_EQ(*bound->levels[1].intensity_flops_per_byte, *bound->levels[1].ridge_flops_per_byte);
  EXPECT_TRUE(bound->levels[1].compute_bound);
}

TEST(Roofline, PartsThatDifferByRoundingTie) {
  ASSERT_NE(0.1 + 0.2, 0.3);
  const ComputePath path = Path(1, 0.1 + 0.2);
  const MemoryLevel level = Level(1, 0.3);
  const auto bound = ComputeRooflineBound({&path, 1}, {&level, 1});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->paths[0].binds);
  EXPECT_TRUE(bound->levels[0].binds);
}

TEST(Roofline, SeveralPathsOverlapAndTheLongestBinds) {
  const ComputePath paths[] = {{"tensor", 300'000'000'000, 300e12, kTheoretical},  // 1 ms
                               {"fp32", 60'000'000'000, 20e12, kTheoretical}};     // 3 ms
  const MemoryLevel level = Level(3'000'000'000);                                  // 2 ms
  const auto bound = ComputeRooflineBound(paths, {&level, 1});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->flops, 360'000'000'000);
  EXPECT_EQ(bound->compute_seconds, 0.003);
  EXPECT_EQ(bound->bound_seconds, 0.003);
  EXPECT_FALSE(bound->paths[0].binds);
  EXPECT_TRUE(bound->paths[1].binds);
  // The compute roof of this mix is 360 GFLOP in 3 ms.
  EXPECT_DOUBLE_EQ(*bound->levels[0].ridge_flops_per_byte, 120e12 / 1.5e12);
  EXPECT_EQ(*bound->levels[0].intensity_flops_per_byte, 120);
  EXPECT_TRUE(bound->levels[0].compute_bound);
}

TEST(Roofline, ALevelWithoutBytesHasNoIntensityAndBindsNothing) {
  const ComputePath path = Path(120'000'000'000);
  const MemoryLevel level = Level(0);
  const auto bound = ComputeRooflineBound({&path, 1}, {&level, 1});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->levels[0].seconds, 0);
  EXPECT_FALSE(bound->levels[0].intensity_flops_per_byte.has_value());
  EXPECT_TRUE(bound->levels[0].ridge_flops_per_byte.has_value());
  EXPECT_FALSE(bound->levels[0].compute_bound);
  EXPECT_FALSE(bound->levels[0].binds);
  EXPECT_TRUE(bound->paths[0].binds);
}

TEST(Roofline, APathWithoutWorkStillHasItsRidge) {
  const ComputePath path = Path(0);
  const MemoryLevel level = Level(3'000'000'000);
  const auto bound = ComputeRooflineBound({&path, 1}, {&level, 1});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->levels[0].ridge_flops_per_byte, 200);
  EXPECT_EQ(bound->levels[0].intensity_flops_per_byte, 0);
  EXPECT_FALSE(bound->levels[0].compute_bound);
  EXPECT_FALSE(bound->attainable_flops_per_second.has_value());
}

TEST(Roofline, ACopyHasABoundButNoRidgeOfAPath) {
  const MemoryLevel level = Level(3'000'000'000);
  const auto bound = ComputeRooflineBound({}, {&level, 1});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->bound_seconds, 0.002);
  EXPECT_FALSE(bound->levels[0].intensity_flops_per_byte.has_value());
  EXPECT_FALSE(bound->levels[0].ridge_flops_per_byte.has_value());
  EXPECT_FALSE(bound->attainable_flops_per_second.has_value());
}

TEST(Roofline, NoWorkAtAllIsABoundOfZeroThatNothingBinds) {
  const ComputePath paths[] = {Path(0), Path(0)};
  const MemoryLevel level = Level(0);
  const auto bound = ComputeRooflineBound(paths, {&level, 1});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->bound_seconds, 0);
  EXPECT_FALSE(bound->paths[0].binds);
  EXPECT_FALSE(bound->levels[0].binds);
  EXPECT_FALSE(bound->levels[0].ridge_flops_per_byte.has_value());
  EXPECT_FALSE(bound->attainable_flops_per_second.has_value());
}

TEST(Roofline, KindsOfCeilingAreNeverMixed) {
  const ComputePath path = Path(1);
  const MemoryLevel measured = Level(1, 1.3e12, kEmpirical);
  EXPECT_EQ(ComputeRooflineBound({&path, 1}, {&measured, 1}).status().message(),
            "level 'dram': kind: got empirical, expected theoretical (one bound, one kind of ceiling)");
  const ComputePath measured_path = Path(1, 1e12, kEmpirical);
  const auto bound = ComputeRooflineBound({&measured_path, 1}, {&measured, 1});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->kind, kEmpirical);
  const MemoryLevel achieved = Level(1, 1e12, CeilingKind::kAchieved);
  EXPECT_EQ(ComputeRooflineBound({}, {&achieved, 1}).status().message(),
            "level 'dram': kind: got achieved, expected theoretical or empirical (an achieved rate bounds nothing)");
  const ComputePath unsaid{"fp32", 1, 1e12};
  EXPECT_EQ(ComputeRooflineBound({&unsaid, 1}, {}).status().message(),
            "path 'fp32': kind: got unspecified, expected theoretical or empirical");
}

TEST(Roofline, RefusalsNameThePartFieldAndValue) {
  struct Case {
    ComputePath path;
    const char* message;
  };
  for (const Case& c :
       {Case{Path(-1), "path 'fp32': flops: got -1, expected 0 or more"},
        Case{Path(1, 0), "path 'fp32': flops_per_second: got 0, expected a finite number above 0"},
        Case{Path(1, -3), "path 'fp32': flops_per_second: got -3, expected a finite number above 0"},
        Case{Path(1, kInfinity), "path 'fp32': flops_per_second: got inf, expected a finite number above 0"},
        Case{Path(1, kNan), "path 'fp32': flops_per_second: got nan, expected a finite number above 0"},
        Case{Path(kMax, 1e-300), "path 'fp32': compute time: beyond the range of a double"}}) {
    EXPECT_EQ(ComputeRooflineBound({&c.path, 1}, {}).status().message(), c.message);
  }
  struct LevelCase {
    MemoryLevel level;
    const char* message;
  };
  for (const LevelCase& c :
       {LevelCase{Level(-8), "level 'dram': bytes: got -8, expected 0 or more"},
        LevelCase{Level(1, 0), "level 'dram': bytes_per_second: got 0, expected a finite number above 0"},
        LevelCase{Level(kMax, 1e-300), "level 'dram': memory time: beyond the range of a double"}}) {
    EXPECT_EQ(ComputeRooflineBound({}, {&c.level, 1}).status().message(), c.message);
  }
  EXPECT_EQ(ComputeRooflineBound({}, {}).status().message(),
            "roofline: got no path and no level, expected at least one");
  const ComputePath two[] = {Path(kMax), Path(1)};
  EXPECT_EQ(ComputeRooflineBound(two, {}).status().message(),
            "flops of all paths: 9223372036854775807 + 1 is beyond 9223372036854775807");
  EXPECT_EQ(RidgeFlopsPerByte(0, 1).status().message(), "flops_per_second: got 0, expected a finite number above 0");
  EXPECT_EQ(RidgeFlopsPerByte(1, -1).status().message(), "bytes_per_second: got -1, expected a finite number above 0");
  EXPECT_EQ(RidgeFlopsPerByte(1e300, 1e-300).status().message(), "ridge_flops_per_byte: beyond the range of a double");
  EXPECT_EQ(AttainableFlopsPerSecond(1, 1, -1).status().message(),
            "intensity_flops_per_byte: got -1, expected a finite number, 0 or above");
  EXPECT_EQ(IntensityFlopsPerByte(-1, 1).status().message(), "flops: got -1, expected 0 or more");
  EXPECT_EQ(IntensityFlopsPerByte(1, -1).status().message(), "bytes: got -1, expected 0 or more");
}

TEST(RooflineProperty, AttainableRisesWithIntensityAndIsContinuousAtTheRidge) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(6, 16);
  for (int i = 0; i < 100'000; ++i) {
    const double compute = std::pow(10, exponent(random));
    const double memory = std::pow(10, exponent(random));
    const double ridge = *RidgeFlopsPerByte(compute, memory);
    double before = 0;
    for (const double share : {0.0, 0.1, 0.5, 0.999999, 1.0, 1.000001, 2.0, 1000.0}) {
      const double attainable = *AttainableFlopsPerSecond(compute, memory, ridge * share);
      ASSERT_GE(attainable, before);
      ASSERT_LE(attainable, compute);
      before = attainable;
    }
    ASSERT_EQ(before, compute);
    ASSERT_NEAR(*AttainableFlopsPerSecond(compute, memory, ridge) / compute, 1, 1e-12);
    ASSERT_NEAR(*AttainableFlopsPerSecond(compute, memory, ridge * (1 - 1e-9)) / compute, 1, 2e-9);
  }
}

struct RandomCase {
  std::vector<ComputePath> paths;
  std::vector<MemoryLevel> levels;
};

RandomCase MakeCase(std::mt19937_64& random) {
  std::uniform_real_distribution<double> rate(9, 16);
  const auto work = [&] { return random() % 5 == 0 ? 0 : static_cast<int64_t>(random() % (uint64_t{1} << 50)); };
  RandomCase result;
  const size_t paths = random() % 4;
  const size_t levels = paths == 0 ? 1 + random() % 4 : random() % 5;
  for (size_t i = 0; i < paths; ++i) result.paths.push_back({"p", work(), std::pow(10, rate(random)), kTheoretical});
  for (size_t i = 0; i < levels; ++i) result.levels.push_back({"l", work(), std::pow(10, rate(random)), kTheoretical});
  return result;
}

TEST(RooflineProperty, TheBoundIsTheLargestOfItsPartsAndSomethingBinds) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100'000; ++i) {
    const RandomCase c = MakeCase(random);
    const auto bound = ComputeRooflineBound(c.paths, c.levels);
    ASSERT_TRUE(bound.ok()) << bound.status();
    double most = 0;
    int binding = 0;
    for (size_t k = 0; k < c.paths.size(); ++k) {
      ASSERT_EQ(bound->paths[k].seconds, static_cast<double>(c.paths[k].flops) / c.paths[k].flops_per_second);
      most = std::max(most, bound->paths[k].seconds);
      binding += bound->paths[k].binds;
    }
    for (size_t k = 0; k < c.levels.size(); ++k) {
      most = std::max(most, bound->levels[k].seconds);
      binding += bound->levels[k].binds;
      // Against its own level, compute-bound says the same as the two times do.
      const LevelBound& level = bound->levels[k];
      if (c.levels[k].bytes > 0 && bound->flops > 0 &&
          std::abs(level.seconds - bound->compute_seconds) > 1e-9 * level.seconds) {
        ASSERT_EQ(level.compute_bound, bound->compute_seconds > level.seconds);
      }
    }
    ASSERT_EQ(bound->bound_seconds, most);
    ASSERT_EQ(binding > 0, most > 0);
    if (bound->flops == 0 || c.paths.size() != 1) continue;
    // The attainable rate is the lowest roof above this work.
    double roof = c.paths[0].flops_per_second;
    for (const MemoryLevel& level : c.levels) {
      if (level.bytes == 0) continue;
      const double intensity = **IntensityFlopsPerByte(bound->flops, level.bytes);
      roof = std::min(roof, *AttainableFlopsPerSecond(roof, level.bytes_per_second, intensity));
    }
    ASSERT_NEAR(*bound->attainable_flops_per_second / roof, 1, 1e-12);
  }
}

TEST(RooflineProperty, MoreWorkOrSlowerCeilingsNeverLowerABound) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 50'000; ++i) {
    RandomCase c = MakeCase(random);
    const double before = ComputeRooflineBound(c.paths, c.levels)->bound_seconds;
    for (ComputePath& path : c.paths) path.flops += static_cast<int64_t>(random() % 1000);
    for (MemoryLevel& level : c.levels) level.bytes += static_cast<int64_t>(random() % 1000);
    const double more_work = ComputeRooflineBound(c.paths, c.levels)->bound_seconds;
    ASSERT_GE(more_work, before);
    // What a benchmark sustains is at most what the architecture allows, so its bound is never below the theoretical
    // one.
    for (ComputePath& path : c.paths) {
      path.flops_per_second *= 0.9;
      path.kind = kEmpirical;
    }
    for (MemoryLevel& level : c.levels) {
      level.bytes_per_second *= 0.85;
      level.kind = kEmpirical;
    }
    const auto empirical = ComputeRooflineBound(c.paths, c.levels);
    ASSERT_GE(empirical->bound_seconds, more_work);
    if (empirical->bound_seconds == 0) continue;
    // An achieved point that keeps to the empirical bound is under both roofs.
    const auto headroom = ComputeHeadroom(*empirical, empirical->bound_seconds * 1.25);
    ASSERT_NEAR(headroom->roof_ratio, 0.8, 1e-12);
    ASSERT_FALSE(headroom->violates_bound);
  }
}

// Whatever is in the fields, the answer is a refusal or made of finite numbers.
TEST(RooflineProperty, AnyValueIsARefusalOrAFiniteResult) {
  constexpr int64_t kCounts[] = {std::numeric_limits<int64_t>::min(), -1, 0, 1, 1000, kMax - 1, kMax};
  constexpr double kRates[] = {kNan, -kInfinity, -1, 0, 5e-324, 1e-300, 1, 1e12, 1e300, 1.7e308, kInfinity};
  std::mt19937_64 random(13);
  const auto count = [&] { return kCounts[random() % std::size(kCounts)]; };
  const auto rate = [&] { return kRates[random() % std::size(kRates)]; };
  int good = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::vector<ComputePath> paths;
    std::vector<MemoryLevel> levels;
    for (size_t k = random() % 3; k > 0; --k) paths.push_back({"p", count(), rate(), kTheoretical});
    for (size_t k = random() % 3; k > 0; --k) levels.push_back({"l", count(), rate(), kTheoretical});
    const auto bound = ComputeRooflineBound(paths, levels);
    if (!bound.ok()) continue;
    ++good;
    ASSERT_TRUE(std::isfinite(bound->bound_seconds));
    ASSERT_TRUE(std::isfinite(bound->attainable_flops_per_second.value_or(0)));
    for (const LevelBound& level : bound->levels) {
      ASSERT_TRUE(std::isfinite(level.intensity_flops_per_byte.value_or(0)));
      ASSERT_TRUE(std::isfinite(level.ridge_flops_per_byte.value_or(0)));
    }
    const auto headroom = ComputeHeadroom(*bound, rate());
    if (!headroom.ok()) continue;
    ASSERT_TRUE(std::isfinite(headroom->residual_seconds));
    ASSERT_TRUE(std::isfinite(headroom->roof_ratio));
    ASSERT_TRUE(std::isfinite(headroom->achieved_flops_per_second.value_or(0)));
  }
  EXPECT_GT(good, 1000);
}

TEST(Roofline, MorePartsThanAreInlinedStillWork) {
  const std::vector<MemoryLevel> levels(3 * kInlinedParts, Level(1'500'000));
  const auto bound = ComputeRooflineBound({}, levels);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->levels.size(), 3 * kInlinedParts);
  EXPECT_EQ(bound->bound_seconds, 1e-6);
}

// 3.2 ms over a bound of 2.0 ms: the worked example of a kernel that is not explained by its memory traffic alone.
TEST(Headroom, IsTheDistanceOfTheAchievedPointToItsRoof) {
  const ComputePath path = Path(120'000'000'000);
  const MemoryLevel level = Level(3'000'000'000);
  const auto headroom = ComputeHeadroom(*ComputeRooflineBound({&path, 1}, {&level, 1}), 0.0032);
  ASSERT_TRUE(headroom.ok()) << headroom.status();
  EXPECT_EQ(headroom->roof_kind, kTheoretical);
  EXPECT_DOUBLE_EQ(headroom->residual_seconds, 0.0012);
  EXPECT_DOUBLE_EQ(headroom->roof_ratio, 0.625);
  EXPECT_DOUBLE_EQ(*headroom->achieved_flops_per_second, 37.5e12);
  EXPECT_FALSE(headroom->violates_bound);
}

TEST(Headroom, APointAboveTheRoofIsAViolationAndNotClamped) {
  const MemoryLevel level = Level(3'000'000'000);
  const auto headroom = ComputeHeadroom(*ComputeRooflineBound({}, {&level, 1}), 0.001);
  ASSERT_TRUE(headroom.ok()) << headroom.status();
  EXPECT_TRUE(headroom->violates_bound);
  EXPECT_DOUBLE_EQ(headroom->residual_seconds, -0.001);
  EXPECT_DOUBLE_EQ(headroom->roof_ratio, 2);
  EXPECT_FALSE(headroom->achieved_flops_per_second.has_value());
}

TEST(Headroom, ABoundThatIsMetIsNoViolationAndLessIsOne) {
  const MemoryLevel level = Level(3'000'000'000);
  const auto bound = ComputeRooflineBound({}, {&level, 1});
  EXPECT_FALSE(ComputeHeadroom(*bound, 0.002)->violates_bound);
  EXPECT_EQ(ComputeHeadroom(*bound, 0.002)->roof_ratio, 1);
  EXPECT_TRUE(ComputeHeadroom(*bound, std::nextafter(0.002, 0))->violates_bound);
}

TEST(Headroom, RefusesATimeThatIsNone) {
  EXPECT_EQ(ComputeHeadroom({}, 0).status().message(), "observed_seconds: got 0, expected a finite number above 0");
  EXPECT_EQ(ComputeHeadroom({}, -1).status().message(), "observed_seconds: got -1, expected a finite number above 0");
  const MemoryLevel level = Level(kMax, 1e-280);
  EXPECT_EQ(ComputeHeadroom(*ComputeRooflineBound({}, {&level, 1}), 1e-300).status().message(),
            "roof_ratio: beyond the range of a double");
}

TEST(Headroom, RefusesABoundThatNoRooflineHas) {
  const auto message = [](double bound_seconds, int64_t flops) {
    RooflineBound bound;
    bound.bound_seconds = bound_seconds;
    bound.flops = flops;
    return std::string(ComputeHeadroom(bound, 1).status().message());
  };
  EXPECT_EQ(message(-1, 0), "bound_seconds: got -1, expected a finite number, 0 or above");
  EXPECT_EQ(message(std::numeric_limits<double>::infinity(), 0),
            "bound_seconds: got inf, expected a finite number, 0 or above");
  EXPECT_EQ(message(std::nan(""), 0), "bound_seconds: got nan, expected a finite number, 0 or above");
  EXPECT_EQ(message(0, -1), "flops: got -1, expected 0 or more");
  EXPECT_EQ(message(0, 0), "");
}

TEST(FlopsUtilization, OfOnePathIsAchievedOverPeak) {
  const AchievedWork work{120'000'000'000, 0.002, 300e12, kTheoretical};
  const auto utilization = ComputeFlopsUtilization({&work, 1});
  ASSERT_TRUE(utilization.ok()) << utilization.status();
  EXPECT_DOUBLE_EQ(utilization->ratio, 0.2);
  EXPECT_EQ(utilization->peak_kind, kTheoretical);
}

TEST(FlopsUtilization, OfARunWeighsEveryKernelByWhatItsPeakCouldHaveDone) {
  const AchievedWork work[] = {
      {500'000'000'000, 0.001, 1000e12, kTheoretical},  // half of a tensor path for 1 ms
      {6'000'000'000, 0.001, 60e12, kTheoretical},      // a tenth of FP32 for 1 ms
      {0, 0.001, 60e12, kTheoretical},                  // a copy: time without FLOP
  };
  const auto utilization = ComputeFlopsUtilization(work);
  ASSERT_TRUE(utilization.ok()) << utilization.status();
  EXPECT_DOUBLE_EQ(utilization->flops, 506e9);
  EXPECT_DOUBLE_EQ(utilization->peak_flops, 1120e9);
  EXPECT_DOUBLE_EQ(utilization->ratio, 506.0 / 1120.0);
}

TEST(FlopsUtilization, AboveOneIsReportedAsItIs) {
  const AchievedWork work{600, 1, 300, kTheoretical};
  EXPECT_EQ(ComputeFlopsUtilization({&work, 1})->ratio, 2);
}

TEST(FlopsUtilization, RefusalsNameTheItem) {
  struct Case {
    AchievedWork second;
    const char* message;
  };
  for (const Case& c :
       {Case{{-1, 1, 1, kTheoretical}, "work '1': flops: got -1, expected 0 or more"},
        Case{{1, -1, 1, kTheoretical}, "work '1': seconds: got -1, expected a finite number, 0 or above"},
        Case{{5, 0, 1, kTheoretical}, "work '1': seconds: got 0 with 5 FLOP, expected a finite number above 0"},
        Case{{1, 1, 0, kTheoretical}, "work '1': peak_flops_per_second: got 0, expected a finite number above 0"},
        Case{{1, 1, 1, kEmpirical},
             "work '1': kind: got empirical, expected theoretical (one bound, one kind of ceiling)"},
        Case{{1, 1, 1, CeilingKind::kUnspecified},
             "work '1': kind: got unspecified, expected theoretical or empirical"}}) {
    const AchievedWork work[] = {{1, 1, 1, kTheoretical}, c.second};
    EXPECT_EQ(ComputeFlopsUtilization(work).status().message(), c.message);
  }
  // Neither work nor time: nothing to count, and nothing wrong.
  const AchievedWork with_nothing[] = {{1, 1, 1, kTheoretical}, {0, 0, 1, kTheoretical}};
  EXPECT_EQ(ComputeFlopsUtilization(with_nothing)->ratio, 1);
  const AchievedWork nothing{0, 0, 1, kTheoretical};
  EXPECT_EQ(ComputeFlopsUtilization({&nothing, 1}).status().message(),
            "work: got no item with time, expected at least one");
  EXPECT_EQ(ComputeFlopsUtilization({}).status().message(), "work: got no item with time, expected at least one");
  const AchievedWork huge{1, 1e300, 1e300, kTheoretical};
  EXPECT_EQ(ComputeFlopsUtilization({&huge, 1}).status().message(), "peak_flops: beyond the range of a double");
}

}  // namespace
}  // namespace gx::model
