#include "inject/window_clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

WindowRecord Window(uint64_t id, WindowKind kind, uint64_t begin_ns, std::optional<uint64_t> end_ns = std::nullopt) {
  WindowRecord window;
  window.window_id = id;
  window.kind = kind;
  window.begin_monotonic_ns = begin_ns;
  window.end_monotonic_ns = end_ns;
  return window;
}

DeviceSampleRecord Reading(uint64_t device_id, uint64_t monotonic_ns, uint64_t sm_clock_hz) {
  DeviceSampleRecord reading;
  reading.device_id = device_id;
  reading.monotonic_ns = monotonic_ns;
  reading.sm_clock_hz = sm_clock_hz;
  return reading;
}

// A window is told once a call has seen it closed.
std::vector<WindowClocksRecord> TakeTwice(WindowClocks* clocks) {
  EXPECT_THAT(clocks->TakeClosed(), IsEmpty());
  return clocks->TakeClosed();
}

TEST(WindowClocks, AWindowHasTheMeanOfItsReadingsAndEveryThrottleReason) {
  WindowClocks clocks;
  clocks.SetWindow(Window(3, WindowKind::kTiming, 100));
  DeviceSampleRecord reading = Reading(1, 100, 1'000);
  reading.memory_clock_hz = 3'000;
  reading.throttle_reasons_mask = 4;
  clocks.AddReading(reading);
  reading = Reading(1, 150, 1'501);
  reading.throttle_reasons_mask = 1;
  clocks.AddReading(reading);
  EXPECT_THAT(clocks.TakeClosed(), IsEmpty()) << "still open";
  clocks.SetWindow(Window(3, WindowKind::kTiming, 100, 200));
  const auto records = TakeTwice(&clocks);
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].window_id, 3u);
  EXPECT_EQ(records[0].device_id, 1u);
  EXPECT_EQ(records[0].sm_clock_hz, 1'251u) << "rounded";
  EXPECT_EQ(records[0].memory_clock_hz, 3'000u) << "of the readings that had it";
  EXPECT_EQ(records[0].l2_clock_hz, std::nullopt);
  EXPECT_EQ(records[0].throttle_reasons_mask, 5u);
  EXPECT_EQ(records[0].reading_count, 2u);
  EXPECT_THAT(clocks.TakeAll(), IsEmpty()) << "told once";
}

TEST(WindowClocks, WhatNoReadingHadIsUnknownNotZero) {
  WindowClocks clocks;
  clocks.SetWindow(Window(1, WindowKind::kCounters, 100));
  DeviceSampleRecord reading;
  reading.monotonic_ns = 150;
  clocks.AddReading(reading);
  const auto records = clocks.TakeAll();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].sm_clock_hz, std::nullopt);
  EXPECT_EQ(records[0].memory_clock_hz, std::nullopt);
  EXPECT_EQ(records[0].throttle_reasons_mask, std::nullopt);
  EXPECT_EQ(records[0].reading_count, 1u);
}

TEST(WindowClocks, AReadingGoesToTheWindowOfItsTimeAndDevice) {
  WindowClocks clocks;
  clocks.SetWindow(Window(1, WindowKind::kTiming, 100));
  clocks.SetWindow(Window(1, WindowKind::kTiming, 100, 200));
  clocks.SetWindow(Window(2, WindowKind::kCounters, 210));
  clocks.AddReading(Reading(0, 50, 1));   // Before every window.
  clocks.AddReading(Reading(0, 205, 2));  // Between two.
  clocks.AddReading(Reading(0, 199, 30));
  clocks.AddReading(Reading(0, 210, 40));
  clocks.AddReading(Reading(1, 220, 50));
  const auto records = clocks.TakeAll();
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[0].window_id, 1u);
  EXPECT_EQ(records[0].sm_clock_hz, 30u);
  EXPECT_EQ(records[1].window_id, 2u);
  EXPECT_EQ(records[1].device_id, 0u);
  EXPECT_EQ(records[1].sm_clock_hz, 40u);
  EXPECT_EQ(records[2].device_id, 1u);
  EXPECT_EQ(records[2].sm_clock_hz, 50u);
}

TEST(WindowClocks, AReadingThatComesLateIsStillInItsWindow) {
  WindowClocks clocks;
  clocks.SetWindow(Window(1, WindowKind::kTiming, 100));
  clocks.SetWindow(Window(1, WindowKind::kTiming, 100, 200));
  EXPECT_THAT(clocks.TakeClosed(), IsEmpty());
  clocks.AddReading(Reading(0, 190, 7));
  const auto records = clocks.TakeClosed();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].sm_clock_hz, 7u);
}

TEST(WindowClocks, WindowsWithoutAReadingOrWithoutRecordingHaveNone) {
  WindowClocks clocks;
  clocks.SetWindow(Window(1, WindowKind::kTiming, 100));
  clocks.SetWindow(Window(1, WindowKind::kTiming, 100, 200));
  clocks.SetWindow(Window(2, WindowKind::kOff, 200));
  clocks.AddReading(Reading(0, 250, 7));
  EXPECT_THAT(TakeTwice(&clocks), IsEmpty());
  EXPECT_THAT(clocks.TakeAll(), IsEmpty());
}

TEST(WindowClocks, TooManyOpenWindowsPushTheOldestOutAsItIs) {
  WindowClocks clocks;
  for (uint64_t id = 1; id <= WindowClocks::kMaxWindows; ++id) {
    clocks.SetWindow(Window(id, WindowKind::kTiming, id * 100));
    clocks.AddReading(Reading(0, id * 100 + 10, id));
  }
  EXPECT_THAT(clocks.TakeClosed(), IsEmpty());
  clocks.SetWindow(Window(1'000, WindowKind::kTiming, 1'000'000));
  const auto records = clocks.TakeClosed();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].window_id, 1u);
  clocks.SetWindow(Window(1, WindowKind::kTiming, 100, 200));
  EXPECT_THAT(clocks.TakeAll(), SizeIs(WindowClocks::kMaxWindows - 1)) << "its end does not bring it back";
}

}  // namespace
}  // namespace gx::inject
