// Whether launches of one signature did the same work, from the samples of a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/report_sections.h"
#include "analysis/trace_importer.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::PacketFromText;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One signature, one group of one metric, on a device with an L2 cache of 1,000 bytes.
std::vector<std::string> MixedMetrics(const std::string& metric, const std::string& values, int count,
                                      const std::string& flags = "", const std::string& device = "") {
  TraceImporter importer({});
  importer.Import(
      PacketFromText((device.empty() ? "device { device_id: 0 attributes { l2_cache_bytes: 1000 } } " : device) +
                     " name { iid: 1 value: 'k' } function { iid: 1 name_iid: 1 } signature { iid: 1 function_iid: 1 } "
                     "window { window_id: 2 kind: KIND_COUNTERS } counter_group { iid: 1 name: 'g' metric: '" +
                     metric + "' } counter_batch { count: " + std::to_string(count) +
                     " group_iid: 1 window_id: 2 signature_iid: 1 metric_count: 1 real_metric: 0 real_value: [" +
                     values + "] " + (flags.empty() ? "" : "flags: [" + flags + "]") + " }"));
  const TraceModel model = importer.Finish();
  std::vector<std::string> metrics;
  for (const auto& [signature, series] : SeriesBySignature(model.counters)) {
    for (const MixedWork& mixed : MixedWorkOf(model, signature, series)) metrics.push_back(mixed.metric);
  }
  return metrics;
}

TEST(MixedWorkTest, InstructionsThatSpreadByMoreThanTwoPercentAreMixed) {
  EXPECT_THAT(MixedMetrics("smsp__inst_executed.sum", "1000, 1021, 1010", 3), ElementsAre("smsp__inst_executed.sum"));
  EXPECT_THAT(MixedMetrics("smsp__inst_executed.sum", "1000, 1020, 1000", 3), IsEmpty()) << "2 % exactly";
  EXPECT_THAT(MixedMetrics("smsp__sass_inst_executed.sum", "100, 103", 2), ElementsAre("smsp__sass_inst_executed.sum"));
}

TEST(MixedWorkTest, OneSampleIsNoMixture) {
  EXPECT_THAT(MixedMetrics("smsp__inst_executed.sum", "1000", 1), IsEmpty());
  EXPECT_THAT(MixedMetrics("smsp__inst_executed.sum", "1000, nan", 2), IsEmpty());
}

TEST(MixedWorkTest, VoidSamplesAreNoEvidence) {
  EXPECT_THAT(MixedMetrics("smsp__inst_executed.sum", "1000, 9000, 1000", 3, "0, 4, 0"), IsEmpty());
}

TEST(MixedWorkTest, BytesAskedForAndBytesMovedAreEvidence) {
  EXPECT_THAT(MixedMetrics("smsp__sass_data_bytes_mem_global.sum", "100, 200", 2),
              ElementsAre("smsp__sass_data_bytes_mem_global.sum"));
  EXPECT_THAT(MixedMetrics("lts__t_sectors_srcunit_tex.sum", "100, 200", 2),
              ElementsAre("lts__t_sectors_srcunit_tex.sum"));
  EXPECT_THAT(MixedMetrics("lts__t_bytes.sum", "100, 200", 2), ElementsAre("lts__t_bytes.sum"));
}

TEST(MixedWorkTest, DramBytesCountFromTwiceTheCacheOn) {
  EXPECT_THAT(MixedMetrics("dram__bytes_read.sum", "3000, 3100", 2), ElementsAre("dram__bytes_read.sum"));
  EXPECT_THAT(MixedMetrics("dram__bytes_read.sum", "1000, 1500", 2), IsEmpty()) << "what ran before is in the cache";
  EXPECT_THAT(MixedMetrics("dram__bytes_read.sum", "1000, 1500", 2, "", "device { device_id: 7 }"),
              ElementsAre("dram__bytes_read.sum"))
      << "the size of the cache is not known";
}

TEST(MixedWorkTest, TheFirstRangesOfSessionsAreNoMixtureOfWrites) {
  EXPECT_THAT(MixedMetrics("dram__bytes_write.sum", "3100, 3000, 3000", 3, "1, 0, 0"), IsEmpty());
  EXPECT_THAT(MixedMetrics("dram__bytes_write.sum", "3100, 3000, 3000", 3, "0, 0, 0"),
              ElementsAre("dram__bytes_write.sum"));
}

TEST(MixedWorkTest, CyclesAreNoEvidence) {
  EXPECT_THAT(MixedMetrics("sm__cycles_active.avg", "100, 200", 2), IsEmpty());
  EXPECT_THAT(MixedMetrics("sm__warps_active.sum", "100, 200", 2), IsEmpty());
}

}  // namespace
}  // namespace gx::analysis
