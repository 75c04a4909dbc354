#include "inject/device_peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kDram[] = "dram__bytes.sum.peak_sustained";
constexpr char kIssue[] = "smsp__inst_executed.sum.peak_sustained";
constexpr char kTensor[] = "sm__pipe_tensor_cycles_active.sum.peak_sustained";
constexpr char kTensorV2[] = "sm__pipe_tensor_cycles_active_v2.sum.peak_sustained";
constexpr char kSmClock[] = "sm__cycles_elapsed.avg.per_second";
constexpr char kL2Clock[] = "lts__cycles_elapsed.avg.per_second";
constexpr char kMemoryClock[] = "dram__cycles_elapsed.avg.per_second";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(PeakMetrics, AreThoseThatTheChipHasWithTheClocksLast) {
  const std::vector<std::string> metrics = PeakMetrics([](const std::string& metric) { return metric != kTensorV2; });
  EXPECT_THAT(metrics, Contains(kDram));
  EXPECT_THAT(metrics, Contains(kTensor));
  EXPECT_THAT(metrics, Not(Contains(kTensorV2)));
  ASSERT_GT(metrics.size(), 3u);
  EXPECT_THAT(std::vector<std::string>(metrics.end() - 3, metrics.end()),
              ElementsAre(kSmClock, kL2Clock, kMemoryClock));
  std::vector<std::string> sorted = metrics;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end()) << "each once";
}

TEST(PeakMetrics, AreNoneOnAChipThatHasNone) {
  EXPECT_THAT(PeakMetrics([](const std::string&) { return false; }), IsEmpty());
}

TEST(DevicePeaks, EveryPeakHasTheClockOfItsUnit) {
  const std::vector<std::string> metrics = {kDram, kIssue, kSmClock, kL2Clock, kMemoryClock};
  const std::vector<double> values = {1536, 528, 1.9e9, 1.6e9, 2.6e9};
  const DevicePeaksRecord record = MakeDevicePeaks(3, 77, metrics, values);
  EXPECT_EQ(record.device_id, 3u);
  EXPECT_EQ(record.monotonic_ns, 77u);
  ASSERT_THAT(record.peaks, SizeIs(2)) << "clocks are no peaks";
  EXPECT_EQ(record.peaks[0].metric, kDram);
  EXPECT_EQ(record.peaks[0].value, 1536);
  EXPECT_EQ(record.peaks[0].clock_metric, kMemoryClock);
  EXPECT_EQ(record.peaks[0].clock_hz, 2.6e9);
  EXPECT_EQ(record.peaks[1].clock_metric, kSmClock);
  EXPECT_EQ(record.peaks[1].clock_hz, 1.9e9);
}

TEST(DevicePeaks, MetricsThatShareABeginningAreToldApart) {
  const std::vector<std::string> metrics = {kTensor, kTensorV2};
  const std::vector<double> values = {1, 2};
  const DevicePeaksRecord record = MakeDevicePeaks(0, 0, metrics, values);
  ASSERT_THAT(record.peaks, SizeIs(2));
  EXPECT_EQ(record.peaks[1].metric, kTensorV2);
  EXPECT_EQ(record.peaks[1].value, 2);
}

TEST(DevicePeaks, WhatIsNoNumberIsLeftOut) {
  const std::vector<std::string> metrics = {kDram, kIssue, kSmClock, kMemoryClock};
  const std::vector<double> values = {1536, kNan, 1.9e9, std::numeric_limits<double>::infinity()};
  const DevicePeaksRecord record = MakeDevicePeaks(0, 0, metrics, values);
  ASSERT_THAT(record.peaks, SizeIs(1));
  EXPECT_EQ(record.peaks[0].metric, kDram);
  EXPECT_EQ(record.peaks[0].clock_metric, kMemoryClock);
  EXPECT_FALSE(record.peaks[0].clock_hz.has_value());
}

TEST(DevicePeaks, FewerValuesThanMetricsAreNoReadBeyondThem) {
  const std::vector<std::string> metrics = {kIssue, kDram, kSmClock};
  const std::vector<double> values = {528};
  const DevicePeaksRecord record = MakeDevicePeaks(0, 0, metrics, values);
  ASSERT_THAT(record.peaks, SizeIs(1));
  EXPECT_FALSE(record.peaks[0].clock_hz.has_value());
  EXPECT_THAT(MakeDevicePeaks(0, 0, metrics, {}).peaks, IsEmpty());
}

TEST(DevicePeaks, MetricsThatAreNoPeaksAreLeftOut) {
  const std::vector<std::string> metrics = {"dram__bytes.sum", "unknown.sum.peak_sustained"};
  const std::vector<double> values = {1, 2};
  EXPECT_THAT(MakeDevicePeaks(0, 0, metrics, values).peaks, IsEmpty());
}

}  // namespace
}  // namespace gx::inject
