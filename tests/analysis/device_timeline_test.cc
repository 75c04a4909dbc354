#include "analysis/device_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace gx::analysis {
namespace {

using ::testing::ElementsAre;

// Remembers what was decided, by the cell number that a test gives each kernel.
class Recorder : public TimelineSink {
 public:
  void OnOrderedKernel(const TimelineItem& kernel, TimelineClass timeline_class, bool first_after_load) override {
    order.push_back(kernel.cell);
    if (timeline_class == TimelineClass::kOverlapped) overlapped.push_back(kernel.cell);
    if (timeline_class == TimelineClass::kLate) late.push_back(kernel.cell);
    if (first_after_load) after_load.push_back(kernel.cell);
  }
  std::vector<uint32_t> order;
  std::vector<uint32_t> overlapped;
  std::vector<uint32_t> late;
  std::vector<uint32_t> after_load;
};

TimelineItem Kernel(uint32_t cell, uint64_t start_ns, uint64_t end_ns) { return {start_ns, end_ns, cell, 0, false}; }
TimelineItem Copy(uint64_t start_ns, uint64_t end_ns) { return {start_ns, end_ns, 0, 0, true}; }

TEST(DeviceTimelineTest, ReleasesKernelsByStartWhateverTheirOrderOfArrival) {
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  for (const uint32_t i : {4u, 1u, 3u, 2u}) timeline.Add(Kernel(i, i * 100, i * 100 + 10));
  timeline.Finish();
  EXPECT_THAT(recorder.order, ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(recorder.overlapped.empty());
}

TEST(DeviceTimelineTest, BothKernelsOfAnOverlapAreOverlapped) {
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  timeline.Add(Kernel(1, 100, 200));
  timeline.Add(Kernel(2, 199, 300));
  timeline.Add(Kernel(3, 300, 400));  // Starts when the other ends: no overlap.
  timeline.Finish();
  EXPECT_THAT(recorder.overlapped, ElementsAre(1, 2));
  EXPECT_THAT(recorder.order, ElementsAre(1, 2, 3));
}

TEST(DeviceTimelineTest, ALongKernelOverlapsAllThatRunBesideIt) {
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  timeline.Add(Kernel(1, 100, 1000));
  timeline.Add(Kernel(2, 200, 210));
  timeline.Add(Kernel(3, 900, 910));
  timeline.Add(Kernel(4, 1000, 1010));
  timeline.Finish();
  EXPECT_THAT(recorder.overlapped, ElementsAre(1, 2, 3));
}

TEST(DeviceTimelineTest, CopiesAreBusyTimeAndNeverOverlap) {
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  timeline.Add(Kernel(1, 100, 200));
  timeline.Add(Copy(150, 250));
  timeline.Add(Copy(400, 500));
  timeline.Finish();
  EXPECT_TRUE(recorder.overlapped.empty());
  EXPECT_EQ(timeline.kernel_busy_ns(), 100u);
  EXPECT_EQ(timeline.copy_busy_ns(), 200u);
  EXPECT_EQ(timeline.busy_ns(), 250u);
  EXPECT_EQ(timeline.first_start_ns(), 100u);
  EXPECT_EQ(timeline.last_end_ns(), 500u);
}

TEST(DeviceTimelineTest, BusyTimeIsAUnion) {
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  timeline.Add(Kernel(1, 0, 100));
  timeline.Add(Kernel(2, 50, 80));
  timeline.Add(Kernel(3, 90, 150));
  timeline.Finish();
  EXPECT_EQ(timeline.kernel_busy_ns(), 150u);
}

TEST(DeviceTimelineTest, AnEmptyTimelineHasNoSpan) {
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  timeline.Finish();
  EXPECT_EQ(timeline.first_start_ns(), 0u);
  EXPECT_EQ(timeline.last_end_ns(), 0u);
  EXPECT_EQ(timeline.busy_ns(), 0u);
}

TEST(DeviceTimelineTest, MarksTheFirstKernelAfterEachModuleLoad) {
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  timeline.AddModuleLoad(250);
  timeline.AddModuleLoad(50);
  timeline.AddModuleLoad(60);
  for (uint32_t i = 1; i <= 4; ++i) timeline.Add(Kernel(i, i * 100, i * 100 + 10));
  timeline.Finish();
  EXPECT_THAT(recorder.after_load, ElementsAre(1, 3));
}

TEST(DeviceTimelineTest, WhatComesBeyondTheWindowIsLateAndCounted) {
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  constexpr uint64_t kStep = 1'000'000;
  for (uint32_t i = 1; i <= 2 * DeviceTimeline::kMinBatch; ++i) timeline.Add(Kernel(i, i * kStep, i * kStep + 10));
  timeline.Add(Kernel(0, 5, 10));
  EXPECT_THAT(recorder.late, ElementsAre(0));
  timeline.Finish();
  EXPECT_EQ(timeline.late_count(), 1u);
  EXPECT_EQ(timeline.kernel_busy_ns(), 10 * 2 * DeviceTimeline::kMinBatch);
  EXPECT_EQ(recorder.order.size(), 2 * DeviceTimeline::kMinBatch + 1);
}

TEST(DeviceTimelineTest, ShuffledWithinTheWindowGivesTheSameDecisions) {
  // Kernels 4k and 4k + 1 overlap; the others run alone.
  std::vector<TimelineItem> items;
  constexpr uint32_t kCount = 200'000;
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint64_t start_ns = i * uint64_t{100'000};
    items.push_back(Kernel(i, start_ns, start_ns + (i % 4 == 0 ? 100'001 : 50'000)));
  }
  std::mt19937 random(1);  // Fixed: a failure can be repeated.
  // Blocks of 5,000 (0.5 s) in random order inside themselves.
  for (size_t begin = 0; begin < items.size(); begin += 5000) {
    std::shuffle(items.begin() + static_cast<std::ptrdiff_t>(begin),
                 items.begin() + static_cast<std::ptrdiff_t>(begin + 5000), random);
  }
  Recorder recorder;
  DeviceTimeline timeline(&recorder);
  for (const TimelineItem& item : items) timeline.Add(item);
  timeline.Finish();
  EXPECT_EQ(timeline.late_count(), 0u);
  EXPECT_TRUE(std::is_sorted(recorder.order.begin(), recorder.order.end()));
  EXPECT_EQ(recorder.order.size(), kCount);
  ASSERT_EQ(recorder.overlapped.size(), kCount / 2);
  EXPECT_TRUE(
      std::all_of(recorder.overlapped.begin(), recorder.overlapped.end(), [](uint32_t cell) { return cell % 4 < 2; }));
}

// Gaps are between pieces of work of any kind; what ended last came before, whatever started last.
TEST(DeviceTimelineTest, GapsAreToldWithWhatIsOnTheirTwoSides) {
  class Gaps : public GapSink {
   public:
    void OnGap(const TimelineItem& before, const TimelineItem& after) override {
      seen.push_back({before.cell, after.cell, before.end_ns, after.start_ns});
    }
    std::vector<std::vector<uint64_t>> seen;
  };
  Recorder recorder;
  Gaps gaps;
  DeviceTimeline timeline(&recorder, &gaps);
  timeline.Add(Kernel(1, 100, 500));
  timeline.Add(Kernel(2, 200, 300));
  timeline.Add(Kernel(3, 500, 510));
  timeline.Add(Copy(600, 700));
  timeline.Add(Kernel(4, 650, 720));
  timeline.Add(Kernel(5, 730, 740));
  timeline.Finish();
  EXPECT_THAT(gaps.seen, ElementsAre(ElementsAre(3, 0, 510, 600), ElementsAre(4, 5, 720, 730)));
}

}  // namespace
}  // namespace gx::analysis
