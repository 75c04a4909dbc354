#include "inject/clock_sync.h"

#include <gtest/gtest.h>

#include "inject/clock.h"

namespace gx::inject {
namespace {

constexpr uint64_t kDayNs = uint64_t{86'400} * 1'000'000'000;

uint64_t Distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

TEST(ReadClockPair, ReadsTheHostsClocksAtOneMoment) {
  const uint64_t before_ns = MonotonicNs();
  const ClockPairRecord pair = ReadClockPair(nullptr);
  EXPECT_GE(pair.monotonic_ns, before_ns);
  EXPECT_LE(pair.monotonic_ns, MonotonicNs());
  EXPECT_LT(Distance(pair.realtime_ns, ReadClockNs(CLOCK_REALTIME)), kDayNs);
  EXPECT_LE(pair.monotonic_raw_ns, ReadClockNs(CLOCK_MONOTONIC_RAW));
  EXPECT_EQ(pair.cupti_ns, 0u);
}

TEST(ReadClockPair, TakesCuptisClockToo) {
  CuptiApi cupti;
  EXPECT_EQ(ReadClockPair(&cupti).cupti_ns, 0u) << "a table without the function";
  cupti.cuptiGetTimestamp = [](uint64_t* timestamp) {
    *timestamp = 12345;
    return CUPTI_SUCCESS;
  };
  EXPECT_EQ(ReadClockPair(&cupti).cupti_ns, 12345u);
}

TEST(ReadClockPair, ARefusedReadingIsZeroWhateverWasLeftBehind) {
  CuptiApi cupti;
  cupti.cuptiGetTimestamp = [](uint64_t* timestamp) {
    *timestamp = 12345;
    return CUPTI_ERROR_NOT_INITIALIZED;
  };
  const ClockPairRecord pair = ReadClockPair(&cupti);
  EXPECT_EQ(pair.cupti_ns, 0u);
  EXPECT_NE(pair.monotonic_ns, 0u);
}

TEST(ReadClockPair, KeepsTheClosestOfItsReadings) {
  static int call = 0;
  CuptiApi cupti;
  cupti.cuptiGetTimestamp = [](uint64_t* timestamp) {
    *timestamp = static_cast<uint64_t>(++call);
    // Every reading but the second is disturbed.
    if (call != 2) {
      const timespec pause{0, 20'000'000};
      nanosleep(&pause, nullptr);
    }
    return CUPTI_SUCCESS;
  };
  EXPECT_EQ(ReadClockPair(&cupti).cupti_ns, 2u);
}

}  // namespace
}  // namespace gx::inject
