// Whether launches of one signature did the same work, and whether two counts of it agree, from the samples of a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "analysis/report_sections.h"
#include "analysis/trace_importer.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::PacketFromText;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of one signature: a group for each metric, with a sample for each value.
struct Group {
  std::string metric;
  std::vector<std::string> values;
  std::string flags = "";
};

CounterModel Import(const std::vector<Group>& groups) {
  TraceImporter importer({});
  importer.Import(
      PacketFromText("name { iid: 1 value: 'k' } function { iid: 1 name_iid: 1 } signature { iid: 1 function_iid: 1 } "
                     "window { window_id: 2 kind: KIND_COUNTERS }"));
  int iid = 0;
  for (const Group& group : groups) {
    const std::string id = std::to_string(++iid);
    importer.Import(PacketFromText(
        "counter_group { iid: " + id + " name: 'g' metric: '" + group.metric +
        "' } counter_batch { count: " + std::to_string(group.values.size()) + " group_iid: " + id +
        " window_id: 2 signature_iid: 1 metric_count: 1 real_metric: 0 real_value: [" +
        absl::StrJoin(group.values, ", ") + "] " + (group.flags.empty() ? "" : "flags: [" + group.flags + "]") + " }"));
  }
  return importer.Finish().counters;
}

std::vector<std::string> MixedMetrics(const std::vector<Group>& groups) {
  const CounterModel counters = Import(groups);
  std::vector<std::string> metrics;
  for (const auto& [signature, series] : SeriesBySignature(counters)) {
    for (const MixedWork& mixed : MixedWorkOf(counters, series)) metrics.push_back(mixed.metric);
  }
  return metrics;
}

std::optional<InstructionDisagreement> Disagreement(const std::vector<Group>& groups) {
  const CounterModel counters = Import(groups);
  for (const auto& [signature, series] : SeriesBySignature(counters))
    return InstructionDisagreementOf(counters, series);
  return std::nullopt;
}

TEST(MixedWorkTest, InstructionsThatSpreadByMoreThanTwoPercentAreMixed) {
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"10000", "10210", "10100"}}}),
              ElementsAre("smsp__inst_executed.sum"));
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"10000", "10200", "10000"}}}), IsEmpty()) << "2 % exactly";
  EXPECT_THAT(MixedMetrics({{"smsp__sass_inst_executed.sum", {"1000", "1065"}}}),
              ElementsAre("smsp__sass_inst_executed.sum"));
}

TEST(MixedWorkTest, DifferencesThatNoDurationShowsAreNoMixture) {
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"100", "164"}}}), IsEmpty());
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"100", "165"}}}), ElementsAre("smsp__inst_executed.sum"));
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"0", "12"}}}), IsEmpty());
  EXPECT_THAT(MixedMetrics({{"smsp__sass_data_bytes_mem_global.sum", {"4", "2052"}}}), IsEmpty());
  EXPECT_THAT(MixedMetrics({{"smsp__sass_sectors_mem_global.sum", {"1", "65"}}}), IsEmpty());
}

TEST(MixedWorkTest, OneSampleIsNoMixture) {
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"1000"}}}), IsEmpty());
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"1000", "nan"}}}), IsEmpty());
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"nan", "nan"}}}), IsEmpty());
}

TEST(MixedWorkTest, VoidSamplesAndFirstRangesAreNoEvidence) {
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"1000", "9000", "1000"}, "0, 4, 0"}}), IsEmpty());
  EXPECT_THAT(MixedMetrics({{"smsp__inst_executed.sum", {"9000", "1000", "1000"}, "1, 0, 0"}}), IsEmpty());
}

TEST(MixedWorkTest, BytesAndSectorsAskedForAreEvidence) {
  for (const char* metric :
       {"smsp__sass_data_bytes_mem_global.sum", "smsp__sass_sectors_mem_global.sum", "l1tex__t_sectors.sum"}) {
    EXPECT_THAT(MixedMetrics({{metric, {"10000", "20000"}}}), ElementsAre(metric));
  }
}

TEST(MixedWorkTest, SectorsOfPatchedCodeStandBeforeThoseOfTheHardware) {
  EXPECT_THAT(MixedMetrics({{"l1tex__t_sectors.sum", {"10000", "20000"}},
                            {"smsp__sass_sectors_mem_global.sum", {"10000", "10000"}}}),
              IsEmpty());
  EXPECT_THAT(
      MixedMetrics({{"l1tex__t_sectors.sum", {"10000", "20000"}}, {"smsp__sass_sectors_mem_global.sum", {"nan"}}}),
      ElementsAre("l1tex__t_sectors.sum"))
      << "what could not be had stands for nothing";
}

TEST(MixedWorkTest, WhatCachesMakeOfTheRequestsIsNoEvidence) {
  for (const char* metric : {"dram__bytes.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors.sum",
                             "lts__t_sectors_srcunit_tex.sum", "l1tex__t_sectors_lookup_hit.sum"}) {
    EXPECT_THAT(MixedMetrics({{metric, {"1000000", "2000000"}}}), IsEmpty()) << metric;
  }
}

TEST(MixedWorkTest, CyclesAreNoEvidence) {
  EXPECT_THAT(MixedMetrics({{"sm__cycles_active.avg", {"10000", "20000"}}}), IsEmpty());
  EXPECT_THAT(MixedMetrics({{"sm__warps_active.sum", {"10000", "20000"}}}), IsEmpty());
}

TEST(InstructionDisagreementTest, EqualCountsAgree) {
  EXPECT_EQ(Disagreement({{"smsp__inst_executed.sum", {"52428800", "52428800"}},
                          {"smsp__sass_inst_executed.sum", {"52428800"}}}),
            std::nullopt);
}

TEST(InstructionDisagreementTest, CountsOfTracedKernelsDoNotAgree) {
  const auto found = Disagreement({{"smsp__inst_executed.sum", {"69206100", "69206100"}},
                                   {"smsp__sass_inst_executed.sum", {"52428800", "52428800"}}});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->hardware_metric, "smsp__inst_executed.sum");
  EXPECT_EQ(found->patched_metric, "smsp__sass_inst_executed.sum");
  EXPECT_THAT(found->hardware, DoubleEq(69206100));
  EXPECT_THAT(found->patched, DoubleEq(52428800));
  EXPECT_NEAR(found->difference_ratio, 0.2424, 0.0001);
}

TEST(InstructionDisagreementTest, ATenthOfAPercentIsTheLimit) {
  EXPECT_EQ(Disagreement({{"smsp__inst_executed.sum", {"1000000"}}, {"smsp__sass_inst_executed.sum", {"999000"}}}),
            std::nullopt);
  EXPECT_NE(Disagreement({{"smsp__inst_executed.sum", {"1000000"}}, {"smsp__sass_inst_executed.sum", {"998900"}}}),
            std::nullopt);
  EXPECT_EQ(Disagreement({{"smsp__inst_executed.sum", {"100"}}, {"smsp__sass_inst_executed.sum", {"160"}}}),
            std::nullopt)
      << "too few to be seen in a duration";
}

TEST(InstructionDisagreementTest, LaunchesThatDifferAmongThemselvesTellNothing) {
  EXPECT_EQ(Disagreement({{"smsp__inst_executed.sum", {"1000000", "3000000"}},
                          {"smsp__sass_inst_executed.sum", {"2000000", "2000000"}}}),
            std::nullopt);
}

TEST(InstructionDisagreementTest, WhatIsNotCountedByBothTellsNothing) {
  EXPECT_EQ(Disagreement({{"smsp__inst_executed.sum", {"1000000"}}}), std::nullopt);
  EXPECT_EQ(Disagreement({{"smsp__inst_executed.sum", {"1000000"}}, {"smsp__sass_inst_executed.sum", {"nan"}}}),
            std::nullopt);
  EXPECT_EQ(
      Disagreement({{"smsp__inst_executed.sum", {"1000000"}}, {"smsp__sass_inst_executed.sum", {"2000000"}, "4"}}),
      std::nullopt)
      << "void";
}

}  // namespace
}  // namespace gx::analysis
