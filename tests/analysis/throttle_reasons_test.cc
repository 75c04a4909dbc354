#include "analysis/throttle_reasons.h"

#include <gtest/gtest.h>

namespace gx::analysis {
namespace {

TEST(ThrottleReasonsTest, BitsAreThoseOfNvml) {
  // nvml.h: GpuIdle 0x1, SwPowerCap 0x4, HwSlowdown 0x8, HwThermalSlowdown 0x40, HwPowerBrakeSlowdown 0x80.
  EXPECT_EQ(ThrottleReasonWords(0), "GPU idle");
  EXPECT_EQ(ThrottleReasonWords(2), "software power cap");
  EXPECT_EQ(ThrottleReasonWords(3), "hardware slowdown");
  EXPECT_EQ(ThrottleReasonWords(6), "hardware thermal slowdown");
  EXPECT_EQ(ThrottleReasonWords(7), "hardware power brake");
}

TEST(ThrottleReasonsTest, UnknownBitsAreNamedByNumber) { EXPECT_EQ(ThrottleReasonWords(40), "reason bit 40"); }

}  // namespace
}  // namespace gx::analysis
