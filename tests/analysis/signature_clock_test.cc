#include "analysis/signature_clock.h"

#include <gtest/gtest.h>

#include <limits>

namespace gx::analysis {
namespace {

TEST(SignatureClock, IsTheCountedClockByWhatWindowsDiffer) {
  // A product of a training step on an H200: cycles over time say 1.511 GHz.
  const auto hz = SignatureClockHz({.counted_hz = 1.643e9,
                                    .timing_windows_hz = {1.717e9, 1.959e9, 1.737e9},
                                    .counter_windows_hz = {1.86e9},
                                    .max_hz = 1.98e9});
  ASSERT_TRUE(hz.has_value());
  EXPECT_NEAR(*hz, 1.643e9 * 1.737 / 1.86, 1);
  EXPECT_NEAR(*hz / 1.511e9, 1, 0.02);
}

TEST(SignatureClock, IsTheDevicesWhereTheSignatureWasNotCounted) {
  for (const std::optional<double>& counted_hz :
       {std::optional<double>(), std::optional<double>(0), std::optional<double>(-1),
        std::optional<double>(std::numeric_limits<double>::infinity())}) {
    EXPECT_EQ(
        SignatureClockHz(
            {.counted_hz = counted_hz, .timing_windows_hz = {1.5e9}, .counter_windows_hz = {1.8e9}, .max_hz = 1.98e9}),
        1.5e9);
  }
  EXPECT_EQ(SignatureClockHz({.counted_hz = 1.7e9, .timing_windows_hz = {1.5e9}, .counter_windows_hz = {}}), 1.5e9);
}

TEST(SignatureClock, IsNotKnownWithoutAClockOfTimingWindows) {
  EXPECT_EQ(SignatureClockHz({}), std::nullopt);
  EXPECT_EQ(SignatureClockHz({.counted_hz = 1.7e9, .timing_windows_hz = {0}, .counter_windows_hz = {1.8e9}}),
            std::nullopt);
}

TEST(SignatureClock, IsNotEstimatedAboveTheDevicesMaximum) {
  const SignatureClockInput input = {
      .counted_hz = 1.97e9, .timing_windows_hz = {1.98e9}, .counter_windows_hz = {1.9e9}, .max_hz = 1.98e9};
  EXPECT_EQ(SignatureClockHz(input), 1.98e9);
}

TEST(SignatureClock, ReadingsThatAreNoClocksAreLeftOut) {
  EXPECT_EQ(SignatureClockHz({.counted_hz = 1.6e9,
                              .timing_windows_hz = {-1, 1.8e9, std::numeric_limits<double>::quiet_NaN()},
                              .counter_windows_hz = {0, 1.8e9},
                              .max_hz = 0}),
            1.6e9);
}

}  // namespace
}  // namespace gx::analysis
