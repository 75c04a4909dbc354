#include "inject/metric_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MetricName, HasAUnitACounterAndARollup) {
  struct Case {
    std::string_view name;
    std::string_view unit;
    std::string_view counter;
    std::string_view rollup;
  };
  for (const Case& c : std::vector<Case>{
           {"dram__bytes.sum", "dram", "dram__bytes", ".sum"},
           {"dram__bytes.sum.peak_sustained", "dram", "dram__bytes", ".sum.peak_sustained"},
           {"lts__t_sector_hit_rate.pct", "lts", "lts__t_sector_hit_rate", ".pct"},
           {"CTC.TriageCompute.ctc__rx_bytes.sum", "ctc", "CTC.TriageCompute.ctc__rx_bytes", ".sum"},
           {"sm__cycles_active", "sm", "sm__cycles_active", ""},
           {"core", "", "core", ""},
           {"a.b", "", "a", ".b"},
           {"", "", "", ""},
           {"__", "", "__", ""},
       }) {
    EXPECT_EQ(UnitOfMetric(c.name), c.unit) << c.name;
    EXPECT_EQ(CounterOfMetric(c.name), c.counter) << c.name;
    EXPECT_EQ(RollupOfMetric(c.name), c.rollup) << c.name;
  }
}

TEST(MetricName, TellsHowAMetricIsCollected) {
  EXPECT_EQ(KindOfMetric("smsp__inst_executed.sum"), MetricKind::kHardware);
  EXPECT_EQ(KindOfMetric("gpu__time_duration.sum"), MetricKind::kHardware);
  EXPECT_EQ(KindOfMetric("smsp__sass_inst_executed.sum"), MetricKind::kSass);
  EXPECT_EQ(KindOfMetric("sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum"), MetricKind::kSass);
  EXPECT_EQ(KindOfMetric("pcie__read_bytes.sum"), MetricKind::kPcie);
  EXPECT_EQ(KindOfMetric("PCI.TriageCompute.pcie__read_bytes.sum"), MetricKind::kPcie);
  EXPECT_EQ(KindOfMetric("nvlrx__bytes.sum"), MetricKind::kNvlink);
  EXPECT_EQ(KindOfMetric("nvltx__bytes.sum"), MetricKind::kNvlink);
  EXPECT_EQ(KindOfMetric("ctc__rx_bytes.sum"), MetricKind::kDevice);
  EXPECT_EQ(KindOfMetric("mcc__dram_throughput_op_read.sum"), MetricKind::kDevice);
  EXPECT_EQ(KindOfMetric("nonsense"), MetricKind::kHardware);
}

TEST(MetricName, KnowsTheRawCountersOfThroughputsHitRatesAndAverages) {
  EXPECT_THAT(RawMetricsFor("lts__throughput.avg.pct_of_peak_sustained_elapsed"),
              ElementsAre("lts__t_sectors.sum", "lts__lts2xbar_cycles_active.sum"));
  EXPECT_THAT(RawMetricsFor("lts__t_sector_hit_rate.pct"),
              ElementsAre("lts__t_sectors_lookup_hit.sum", "lts__t_sectors.sum"));
  EXPECT_THAT(RawMetricsFor("lts__t_sector_op_read_hit_rate.pct"),
              ElementsAre("lts__t_sectors_op_read_lookup_hit.sum", "lts__t_sectors_op_read.sum"));
  EXPECT_THAT(RawMetricsFor("idc__request_hit_rate.pct"),
              ElementsAre("idc__requests_lookup_hit.sum", "idc__requests.sum"));
  EXPECT_THAT(
      RawMetricsFor("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"),
      ElementsAre("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"));
  EXPECT_THAT(RawMetricsFor("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"),
              ElementsAre("smsp__warps_issue_stalled_wait.sum", "smsp__issue_active.sum"));
  EXPECT_THAT(RawMetricsFor("smsp__thread_inst_executed_per_inst_executed.ratio"),
              ElementsAre("smsp__thread_inst_executed.sum", "smsp__inst_executed.sum"));
  EXPECT_THAT(RawMetricsFor("dram__bytes.sum"), IsEmpty());
  EXPECT_THAT(RawMetricsFor("nonsense"), IsEmpty());
  EXPECT_THAT(RawMetricsFor(""), IsEmpty());
}

TEST(MetricName, IsPrintedWithoutBytesThatATerminalWouldObey) {
  EXPECT_EQ(PrintableMetricName("dram__bytes.sum"), "dram__bytes.sum");
  EXPECT_EQ(PrintableMetricName(std::string_view("a\x1b[2J b\0\xff", 9)), "a\\x1b[2J\\x20b\\x00\\xff");
  EXPECT_EQ(PrintableMetricName(std::string(160, 'a')), std::string(160, 'a'));
  EXPECT_EQ(PrintableMetricName(std::string(161, 'a')), std::string(160, 'a') + "...");
}

}  // namespace
}  // namespace gx::inject
