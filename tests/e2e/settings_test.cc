// GPUEXEC_* settings, end to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Settings : public CaptureTest {};

TEST_F(Settings, OnlyTheProfilerRegionIsRecordedWhenAskedFor) {
  const Capture capture = Run({"region"}, {{"GPUEXEC_REGION", "cuda"}});
  EXPECT_EQ(capture.result.out, "launched 4\n");
  EXPECT_THAT(capture.trace.launches, SizeIs(2));
  EXPECT_THAT(capture.trace.kernels, SizeIs(2));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_LAUNCHES_OUTSIDE_REGION), 2u);
  for (const LaunchRow& launch : capture.trace.launches) {
    ASSERT_TRUE(capture.trace.windows.contains(launch.record.window_id));
    EXPECT_EQ(capture.trace.windows.at(launch.record.window_id).kind(), v1::Window::KIND_TIMING);
  }
}

TEST_F(Settings, TheProfilerRegionIsIgnoredByDefault) {
  const Capture capture = Run({"region"});
  EXPECT_THAT(capture.trace.launches, SizeIs(4));
  EXPECT_THAT(capture.trace.kernels, SizeIs(4));
}

TEST_F(Settings, NothingIsRecordedBeforeTheStartTime) {
  const Capture capture = Run({"launch", "n=100"}, {{"GPUEXEC_START_AFTER", "1000"}});
  EXPECT_EQ(capture.result.out, "launched 100\n");
  EXPECT_THAT(capture.trace.launches, IsEmpty());
  EXPECT_THAT(capture.trace.kernels, IsEmpty());
}

// The program launches for two seconds at least; where the span begins and ends in it is the machine's affair.
TEST_F(Settings, ASpanThatBeginsLaterAndEndsEarlierIsRecordedAlone) {
  const Capture capture =
      Run({"launch", "n=200", "pause_us=10000"}, {{"GPUEXEC_START_AFTER", "0.3"}, {"GPUEXEC_DURATION", "0.5"}});
  EXPECT_EQ(capture.result.out, "launched 200\n");
  const uint64_t recorded = capture.trace.launches.size();
  EXPECT_GT(recorded, 0u);
  EXPECT_LT(recorded, 200u);
  EXPECT_EQ(recorded + capture.trace.Stat(v1::STAT_LAUNCHES_OUTSIDE_REGION), 200u);
  std::vector<v1::Window::Kind> kinds;
  for (const auto& [id, window] : capture.trace.windows) kinds.push_back(window.kind());
  EXPECT_THAT(kinds, ElementsAre(v1::Window::KIND_OFF, v1::Window::KIND_TIMING, v1::Window::KIND_OFF));
  for (const LaunchRow& launch : capture.trace.launches) EXPECT_EQ(launch.record.window_id, 2u);
}

TEST_F(Settings, ADurationAloneBeginsAtOnce) {
  const Capture capture = Run({"launch", "n=150", "pause_us=10000"}, {{"GPUEXEC_DURATION", "0.5"}});
  const uint64_t recorded = capture.trace.launches.size();
  EXPECT_GT(recorded, 0u);
  EXPECT_LT(recorded, 150u);
  EXPECT_EQ(recorded + capture.trace.Stat(v1::STAT_LAUNCHES_OUTSIDE_REGION), 150u);
  ASSERT_FALSE(capture.trace.launches.empty());
  EXPECT_EQ(capture.trace.launches.front().record.window_id, 1u);
}

TEST_F(Settings, ALibraryThatIsSwitchedOffDoesNothing) {
  const Capture capture = Run({"launch", "n=100"}, {{"GPUEXEC_ENABLE", "0"}});
  EXPECT_EQ(capture.result.out, "launched 100\n");
  EXPECT_THAT(capture.log.Of("cupti"), IsEmpty());
  EXPECT_THAT(Files("trace"), IsEmpty());
}

TEST_F(Settings, LaunchesAloneAreRecordedWithTimingOff) {
  const Capture capture = Run({"launch", "n=100"}, {{"GPUEXEC_TIMING", "off"}});
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_THAT(capture.trace.kernels, IsEmpty());
  EXPECT_THAT(capture.log.Of("buffer"), IsEmpty());
}

TEST_F(Settings, NvtxOffRecordsNoRanges) {
  const Capture capture = Run({"nvtx"}, {{"GPUEXEC_NVTX", "off"}});
  EXPECT_THAT(capture.trace.nvtx, IsEmpty());
  EXPECT_THAT(capture.trace.launches, SizeIs(3));
}

TEST_F(Settings, OccupancyOffAsksTheDriverNothingAboutFunctions) {
  const Capture capture = Run({"launch", "n=20"}, {{"GPUEXEC_OCCUPANCY", "off"}});
  for (const auto& [iid, signature] : capture.trace.signatures) EXPECT_FALSE(signature.has_driver_occupancy());
  for (const auto& [iid, function] : capture.trace.functions) EXPECT_FALSE(function.has_attributes());
  EXPECT_THAT(capture.trace.kernels, SizeIs(20));
}

TEST_F(Settings, BeyondItsLargestSizeATraceKeepsSummaries) {
  const Capture capture = Run({"launch", "n=20000"}, {{"GPUEXEC_MAX_BYTES", "64K"}, {"GPUEXEC_COUNTERS", "off"}});
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SIZE_LIMIT_REACHED), 1u);
  std::map<uint64_t, uint64_t> summed;
  uint64_t summarised = 0;
  for (const v1::KernelSummary& summary : capture.trace.kernel_summaries) {
    summarised += summary.count();
    uint64_t in_buckets = 0;
    for (const uint64_t count : summary.bucket_count()) in_buckets += count;
    EXPECT_EQ(in_buckets, summary.count());
    EXPECT_LE(summary.min_ns(), summary.max_ns());
  }
  EXPECT_EQ(summarised + capture.trace.kernels.size(), 20'000u);
}

TEST_F(Settings, UnknownVariablesAreReportedAndIgnored) {
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_OUTPTU", "x"}, {"GPUEXEC_MEMORY", "lots"}});
  EXPECT_EQ(capture.result.out, "launched 10\n");
  EXPECT_EQ(capture.trace.Stat(v1::STAT_UNKNOWN_VARIABLES), 2u);
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("GPUEXEC_OUTPTU"));
  EXPECT_THAT(capture.trace.diagnostics, HasSubstr("GPUEXEC_MEMORY"));
  EXPECT_THAT(capture.trace.kernels, SizeIs(10));
}

TEST_F(Settings, TheSettingsInForceAreInTheHeader) {
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_EXIT_WAIT", "1.5"}});
  std::map<std::string, std::string> settings;
  for (const v1::Setting& setting : capture.trace.header.configuration()) settings[setting.name()] = setting.value();
  EXPECT_EQ(settings["GPUEXEC_OUTPUT"], File("trace.pb"));
  EXPECT_EQ(settings["GPUEXEC_EXIT_WAIT"], "1.5");
  EXPECT_TRUE(settings.contains("GPUEXEC_MAX_BYTES"));
}

TEST_F(Settings, MissingFoldersOfTheOutputAreMade) {
  Run({"launch", "n=10"}, {{"GPUEXEC_OUTPUT", File("a/b/trace.pb")}});
  EXPECT_THAT(ReadTrace(File("a/b/trace.pb")).kernels, SizeIs(10));
}

}  // namespace
}  // namespace gx::e2e
