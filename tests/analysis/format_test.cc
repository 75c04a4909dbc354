#include "analysis/format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace gx::analysis {
namespace {

TEST(FormatTest, DurationsHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(FormatNs(0), "0 ns");
  EXPECT_EQ(FormatNs(999), "999 ns");
  EXPECT_EQ(FormatNs(999.6), "1.00 us");
  EXPECT_EQ(FormatNs(2048), "2.05 us");
  EXPECT_EQ(FormatNs(14'900'000), "14.9 ms");
  EXPECT_EQ(FormatNs(999'600'000), "1.00 s");
  EXPECT_EQ(FormatNs(61e9), "61.0 s");
  EXPECT_EQ(FormatNs(660e9), "11.0 min");
  EXPECT_EQ(FormatNs(3720e9), "1 h 02 min");
}

TEST(FormatTest, CountsHaveCommas) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(FormatTest, CountersValuesAreCountsWhereTheyAreWhole) {
  EXPECT_EQ(FormatCounterValue(0), "0");
  EXPECT_EQ(FormatCounterValue(52428800), "52,428,800");
  EXPECT_EQ(FormatCounterValue(-1234), "-1,234");
  EXPECT_EQ(FormatCounterValue(0.5), "0.5");
  EXPECT_EQ(FormatCounterValue(81920.5), "81,920.5");
  EXPECT_EQ(FormatCounterValue(-12345.96), "-12,346");
  EXPECT_EQ(FormatCounterValue(470016.25), "470,016");
  EXPECT_EQ(FormatCounterValue(1e300), "1e+300");
  EXPECT_EQ(FormatCounterValue(std::nan("")), "unavailable");
  EXPECT_EQ(FormatCounterValue(std::numeric_limits<double>::infinity()), "unavailable");
}

TEST(FormatTest, OneOfAThingIsSingular) {
  EXPECT_EQ(Plural(0, "call"), "0 calls");
  EXPECT_EQ(Plural(1, "call"), "1 call");
  EXPECT_EQ(Plural(2000, "call"), "2,000 calls");
  EXPECT_EQ(Plural(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(Plural(2, "launch", "launches"), "2 launches");
}

TEST(FormatTest, BytesAreBinary) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(16777216), "16 MiB");
  EXPECT_EQ(FormatBytes(UINT64_MAX), "16384 PiB");
}

TEST(FormatTest, FrequenciesAreDecimal) {
  EXPECT_EQ(FormatHz(500), "500 Hz");
  EXPECT_EQ(FormatHz(345e6), "345 MHz");
  EXPECT_EQ(FormatHz(1'980e6), "1.980 GHz");
}

TEST(FormatTest, ARatioAboveZeroNeverLooksLikeZero) {
  EXPECT_EQ(FormatRatio(0), "0.0 %");
  EXPECT_EQ(FormatRatio(0.00001), "<0.1 %");
  EXPECT_EQ(FormatRatio(0.1234), "12.3 %");
  EXPECT_EQ(FormatRatio(1), "100.0 %");
}

TEST(FormatTest, DecimalsAreShort) {
  EXPECT_EQ(FormatDecimal(2048, 6), "2048");
  EXPECT_EQ(FormatDecimal(2048.5, 6), "2048.5");
  EXPECT_EQ(FormatDecimal(0, 6), "0");
  EXPECT_EQ(FormatDecimal(1200, 0), "1200");
}

TEST(FormatTest, TheShortestDoubleReadsBackAsTheSameNumber) {
  EXPECT_EQ(ShortestDouble(0.002), "0.002");
  EXPECT_EQ(ShortestDouble(0.0004), "0.0004");
  EXPECT_EQ(ShortestDouble(3e14), "300000000000000");
  EXPECT_EQ(ShortestDouble(1.5e15), "1.5e+15");
  EXPECT_EQ(ShortestDouble(100 * (52.0 / 324)), "16.049382716049383");
  EXPECT_EQ(ShortestDouble(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(ShortestDouble(-0.0), "-0");
  EXPECT_EQ(ShortestDouble(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(ShortestDouble(std::numeric_limits<double>::quiet_NaN()), "nan");
  std::mt19937_64 random(5);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(std::strtod(ShortestDouble(value).c_str(), nullptr), value);
  }
}

}  // namespace
}  // namespace gx::analysis
