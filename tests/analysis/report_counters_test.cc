// Hardware counters from packets to report: figures, findings, and the three forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/report_builder.h"
#include "analysis/report_csv.h"
#include "analysis/report_json.h"
#include "analysis/report_text.h"
#include "analysis/trace_importer.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::PacketFromText;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;
using ::testing::SizeIs;

constexpr char kDefinitions[] = R"(
  header { format_major: 1 format_minor: 1 start { cupti_ns: 1000 monotonic_ns: 1000 } }
  name { iid: 1 value: "first" } name { iid: 2 value: "second" }
  function { iid: 1 name_iid: 1 } function { iid: 2 name_iid: 2 }
  signature { iid: 1 function_iid: 1 grid_x: 7 block_x: 32 }
  signature { iid: 2 function_iid: 2 grid_x: 8 block_x: 64 }
  kernel_attributes { iid: 1 name_iid: 1 grid_x: 7 block_x: 32 }
  kernel_attributes { iid: 2 name_iid: 2 grid_x: 8 block_x: 64 }
  track { iid: 1 device_id: 0 context_id: 1 stream_id: 7 }
  window { window_id: 1 kind: KIND_TIMING begin_monotonic_ns: 1000 end_monotonic_ns: 50000 }
  window { window_id: 2 kind: KIND_COUNTERS begin_monotonic_ns: 50000 end_monotonic_ns: 90000 switch_cost_ns: 40 }
  launch_batch { count: 2 window_id: 1 base_enter_monotonic_ns: 2000 enter_delta: [0, 4000] base_correlation_id: 1
    correlation_delta: [0, 1] track_iid: 1 signature_iid: [1, 2] }
  kernel_batch { count: 2 timing: TIMING_COMPLETE base_start_ns: 3000 start_unit_ns: 1 start_delta: [0, 3000]
    duration_unit_ns: 1 duration_delta: [100, 300] base_correlation_id: 1 correlation_delta: [0, 1] track_iid: 1
    attributes_iid: [1, 2] }
  counter_group { iid: 1 name: "light" kind: KIND_HARDWARE metric: ["a.sum", "b.avg"] }
)";
constexpr char kTrailer[] = "trailer { reason: REASON_EXIT end { cupti_ns: 101000 monotonic_ns: 101000 } }";
constexpr char kPlan[] = "counter_plan { requested: 'light' chip: 'GH100' group_iid: 1 }";

TraceModel Import(const std::vector<std::string>& packets) {
  TraceImporter importer({});
  importer.Import(PacketFromText(kDefinitions));
  for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
  importer.Import(PacketFromText(kTrailer));
  return importer.Finish();
}

Report ReportOf(const std::vector<std::string>& packets, const ReportRequest& request = {}) {
  const std::vector<TraceModel> models = {Import(packets)};
  return BuildReport(models, request);
}

// Samples of signature `signature`: (a.sum, b.avg) = (100, 0.5), 2 us apart from 60,000 on.
std::string Samples(int signature, int count, const std::string& more = "") {
  std::string batch = "counter_batch { count: " + std::to_string(count) +
                      " group_iid: 1 session_id: 1 window_id: 2 base_enter_monotonic_ns: 60000 signature_iid: " +
                      std::to_string(signature) + " metric_count: 2 real_metric: 1 ";
  for (int i = 0; i < count; ++i) {
    batch += "enter_delta: " + std::to_string(i == 0 ? 0 : 2000) + " integer_value: " + (i == 0 ? "100" : "0") +
             " real_value: 0.5 launch_number: " + std::to_string(10 + 5 * i) + " ";
  }
  return batch + more + " }";
}

std::vector<std::string> FindingIds(const Report& report) {
  std::vector<std::string> ids;
  for (const Finding& finding : report.processes[0].findings) ids.push_back(finding.id);
  return ids;
}

TEST(ReportCountersTest, ATraceWithoutCountersHasAReportWithoutThem) {
  TraceImporter importer({});
  importer.Import(PacketFromText("header { format_major: 1 }"));
  const std::vector<TraceModel> models = {importer.Finish()};
  const Report report = BuildReport(models, {});
  EXPECT_THAT(report.counters, IsEmpty());
  EXPECT_THAT(ReportJson(report), Not(HasSubstr("\"counters\"")));
  EXPECT_THAT(ReportText(report, {}), Not(HasSubstr("COUNTERS")));
  TextStyle style;
  style.sections = {Section::kCounters};
  EXPECT_THAT(ReportText(report, style),
              HasSubstr("COUNTERS\n  none: no trace here says anything of hardware counters"));
}

TEST(ReportCountersTest, ARowSaysWhichLaunchesItRestsOn) {
  const Report report = ReportOf({Samples(1, 3)});
  ASSERT_THAT(report.counters, SizeIs(1));
  ASSERT_THAT(report.counters[0].signatures, SizeIs(1));
  const SignatureCounters& row = report.counters[0].signatures[0];
  EXPECT_EQ(row.full_name, "first");
  EXPECT_EQ(row.grid->x, 7u);
  EXPECT_THAT(row.share_ratio, Optional(DoubleEq(0.25)));
  EXPECT_THAT(row.mixed_work, IsEmpty());
  ASSERT_THAT(row.groups, SizeIs(1));
  const CounterGroupRow& group = row.groups[0];
  EXPECT_EQ(group.group, "light");
  EXPECT_EQ(group.kind, "hardware");
  EXPECT_EQ(group.sample_count, 3u);
  EXPECT_THAT(group.first_offset_ns, Optional(59'000u));
  EXPECT_THAT(group.spacing_ns, Optional(DoubleEq(2'000)));
  EXPECT_THAT(group.first_launch_number, Optional(10u));
  EXPECT_THAT(group.launch_number_step, Optional(DoubleEq(5)));
  ASSERT_THAT(group.metrics, SizeIs(2));
  EXPECT_EQ(group.metrics[0].name, "a.sum");
  EXPECT_THAT(group.metrics[0].median, Optional(DoubleEq(100)));
  EXPECT_THAT(group.metrics[1].median, Optional(DoubleEq(0.5)));
}

TEST(ReportCountersTest, UnavailableIsAWordAndNeverZero) {
  const Report report = ReportOf(
      {"counter_batch { count: 1 group_iid: 1 window_id: 2 signature_iid: 1 metric_count: 2 real_metric: [0, 1] "
       "real_value: [nan, nan] }"});
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, ::testing::ContainsRegex("a.sum +unavailable +- +- +-\n"));
  EXPECT_THAT(ReportJson(report), HasSubstr("\"metric\": \"a.sum\",\n                  \"median\": null,\n"));
  EXPECT_THAT(ReportCountersCsv(report), HasSubstr(",a.sum,,,,,0,1,0,0,0\n"));
  EXPECT_THAT(FindingIds(report), ::testing::Contains("counters.unavailable_values"));
}

TEST(ReportCountersTest, NoDigitIsLostToPrograms) {
  const Report report = ReportOf(
      {"counter_batch { count: 1 group_iid: 1 window_id: 2 signature_iid: 1 metric_count: 2 real_metric: [0, 1] "
       "real_value: [0.000000123456789012, 1e300] }"});
  EXPECT_THAT(ReportJson(report), HasSubstr("\"median\": 1.23456789012e-07,"));
  EXPECT_THAT(ReportJson(report), HasSubstr("\"median\": 1e+300,"));
  EXPECT_THAT(ReportCountersCsv(report), HasSubstr(",a.sum,1.23456789012e-07,"));
}

TEST(ReportCountersTest, TheWholeReportHasAParagraphAndTheSectionTheTables) {
  const Report report = ReportOf({kPlan, Samples(1, 3)});
  const std::string whole = ReportText(report, {});
  EXPECT_THAT(whole, HasSubstr("COUNTERS\n"));
  EXPECT_THAT(whole, HasSubstr("--section counters shows the metrics of each signature."));
  EXPECT_THAT(whole, Not(HasSubstr("a.sum")));
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string section = ReportText(report, style);
  EXPECT_THAT(section, HasSubstr("a.sum"));
  EXPECT_THAT(section, Not(HasSubstr("KERNELS")));
  EXPECT_THAT(section, Not(HasSubstr("PROVENANCE")));
  EXPECT_THAT(section, Not(HasSubstr("LOSSES")));
}

TEST(ReportCountersTest, LossesOfDataAreShownWhateverSectionIsAskedFor) {
  const Report report = ReportOf({Samples(1, 3),
                                  "stats { counter { id: STAT_COUNTER_RANGES_LOST value: 2 } counter { id: "
                                  "STAT_COUNTER_SKIPPED_BUSY value: 1 } }"});
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, HasSubstr("LOSSES AND ODD RECORDS"));
  EXPECT_THAT(text, HasSubstr("STAT_COUNTER_RANGES_LOST"));
  EXPECT_THAT(text, Not(HasSubstr("STAT_COUNTER_SKIPPED_BUSY")));
  EXPECT_THAT(text, HasSubstr("other finding"));
}

TEST(ReportCountersTest, CoverageIsOfKernelTime) {
  const Report report = ReportOf({kPlan, Samples(1, 3), Samples(2, 2)});
  const CountersSection& counters = report.counters[0];
  EXPECT_EQ(counters.sampled_signature_count, 2u);
  EXPECT_THAT(counters.sampled_share_ratio, Optional(DoubleEq(1)));
  EXPECT_THAT(counters.covered_share_ratio, Optional(DoubleEq(0.25))) << "the second has two samples";
  // Heaviest first.
  EXPECT_EQ(counters.signatures[0].full_name, "second");
}

TEST(ReportCountersTest, TensorAndSpareGroupsAreNotMissed) {
  const std::string plan =
      "counter_group { iid: 2 name: 'tensor' kind: KIND_TENSOR metric: 'c' } counter_group { iid: 3 name: 'issue' "
      "kind: "
      "KIND_HARDWARE metric: 'd' spare: true } counter_plan { requested: 'core' group_iid: [1, 2, 3] }";
  EXPECT_THAT(ReportOf({plan, Samples(1, 3)}).counters[0].covered_share_ratio, Optional(DoubleEq(0.25)));
}

TEST(ReportCountersTest, CoverageWithoutAPlanIsNotKnown) {
  EXPECT_EQ(ReportOf({Samples(1, 3)}).counters[0].covered_share_ratio, std::nullopt);
}

TEST(ReportCountersTest, FilterAndTopAreThoseOfTheKernels) {
  ReportRequest request;
  request.top = 1;
  const Report top = ReportOf({Samples(1, 1), Samples(2, 1)}, request);
  EXPECT_THAT(top.counters[0].signatures, SizeIs(1));
  EXPECT_EQ(top.counters[0].signatures_matched, 2u);
  TextStyle style;
  style.sections = {Section::kCounters};
  EXPECT_THAT(ReportText(top, style), HasSubstr("1 more signature (--top 0 shows all)"));
  ReportRequest filtered;
  filtered.filter = *NameFilter::Compile("fir");
  const Report report = ReportOf({Samples(1, 1), Samples(2, 1)}, filtered);
  ASSERT_THAT(report.counters[0].signatures, SizeIs(1));
  EXPECT_EQ(report.counters[0].signatures[0].full_name, "first");
}

TEST(ReportCountersTest, GraphTotalsStandApart) {
  const Report report = ReportOf(
      {"graph_exec { graph_exec_id: 9 graph_id: 4 kernel_node_count: 3 undescribed_node_count: 1 }",
       "counter_batch { count: 1 group_iid: 1 window_id: 2 graph_exec_id: 9 metric_count: 2 integer_value: [5, 6] }",
       "counter_batch { count: 1 group_iid: 1 window_id: 2 graph_exec_id: 8 metric_count: 2 integer_value: [5, 6] "
       "}"});
  const CountersSection& counters = report.counters[0];
  EXPECT_THAT(counters.signatures, IsEmpty());
  ASSERT_THAT(counters.graphs, SizeIs(2));
  EXPECT_EQ(counters.graphs[0].kernel_node_count, std::nullopt) << "instantiated before the capture";
  EXPECT_THAT(counters.graphs[1].kernel_node_count, Optional(3u));
  EXPECT_EQ(counters.sampled_signature_count, 0u);
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, HasSubstr("graph 9, totals of whole launches and of no kernel: 3 kernel nodes and 1 other node"));
  EXPECT_THAT(text, HasSubstr("graph 8, totals of whole launches and of no kernel: nodes not known"));
  EXPECT_THAT(ReportCountersCsv(report), HasSubstr(",graph,,,,9,"));
}

TEST(ReportCountersTest, TheBillAddsUp) {
  const Report report =
      ReportOf({"counter_session { session_id: 1 window_id: 2 range_count: 4 push_ns: 1 pop_ns: 2 idle_wait_ns: 4 "
                "completion_wait_ns: 8 enable_ns: 16 start_ns: 32 stop_ns: 64 decode_ns: 128 disable_ns: 256 outcome: "
                "OUTCOME_FAILED } counter_session { session_id: 2 push_ns: 1000 }"});
  const CounterBill& bill = report.counters[0].bill;
  EXPECT_EQ(bill.window_count, 1u);
  EXPECT_EQ(bill.windows_ns, 40'000u);
  EXPECT_EQ(bill.switch_ns, 40u);
  EXPECT_EQ(bill.session_count, 2u);
  EXPECT_EQ(bill.failed_session_count, 1u);
  EXPECT_EQ(bill.range_count, 4u);
  EXPECT_EQ(bill.ranges_ns(), 1'015u);
  EXPECT_EQ(bill.sessions_ns(), 496u);
  // 1,015 + 496 + 40 of 100,000.
  EXPECT_THAT(ReportText(report, {}), HasSubstr("in calls altogether 1.55 us (1.6 % of wall)"));
}

TEST(ReportCountersTest, WhatTheLibraryCountedIsNotToldTwice) {
  const std::string void_and_nan =
      "counter_batch { count: 2 group_iid: 1 window_id: 2 signature_iid: 1 flags: [4, 0] metric_count: 2 real_metric: "
      "[0, 1] real_value: [1, 1, nan, 1] }";
  EXPECT_THAT(FindingIds(ReportOf({void_and_nan})),
              ::testing::IsSupersetOf({"counters.unavailable_values", "counters.void_samples"}));
  const std::vector<std::string> counted =
      FindingIds(ReportOf({void_and_nan,
                           "stats { counter { id: STAT_COUNTER_NAN_VALUES value: 1 } counter { id: "
                           "STAT_COUNTER_VOID_RANGES value: 1 } }"}));
  EXPECT_THAT(counted, Not(::testing::Contains(::testing::StartsWith("counters."))));
}

TEST(ReportCountersTest, SamplesOfTracedWindowsAreALoss) {
  std::string samples = Samples(1, 2);
  samples.replace(samples.find("window_id: 2"), 12, "window_id: 1");
  const Report report = ReportOf({samples});
  EXPECT_TRUE(report.data_lost);
  EXPECT_THAT(FindingIds(report), ::testing::Contains("counters.misplaced_samples"));
  EXPECT_THAT(report.counters[0].signatures, IsEmpty());
}

TEST(ReportCountersTest, DeniedKernelsAndRefusedDevicesAreNamedWithTheirReason) {
  const Report report = ReportOf(
      {"counter_denial { function_iid: 2 reason: REASON_DEADLINE detail: '500 ms' } counter_denial { function_iid: 0 "
       "reason: REASON_IPC_MEMORY context_id: 1 } counter_access { state: STATE_NOT_PERMITTED text: 'ask root' }"});
  const CountersSection& counters = report.counters[0];
  ASSERT_THAT(counters.denied, SizeIs(2));
  EXPECT_EQ(counters.denied[0].name, "every kernel");
  EXPECT_EQ(counters.denied[1].name, "second");
  EXPECT_EQ(counters.denied[1].reason, "a sampled launch did not complete by the deadline");
  EXPECT_EQ(counters.access[0].state, "not permitted");
  EXPECT_FALSE(report.data_lost);
  EXPECT_THAT(ReportText(report, {}), HasSubstr("device 0: not permitted: ask root"));
}

TEST(ReportCountersTest, ReasonsOfALaterFormatAreNumbers) {
  const Report report = ReportOf({"counter_access { state: STATE_ALLOWED }"});
  EXPECT_EQ(report.counters[0].access[0].state, "allowed");
  gpuexec::v1::Packet packet;
  packet.add_counter_denial()->set_reason(static_cast<gpuexec::v1::CounterDenial::Reason>(77));
  packet.add_counter_access()->set_state(static_cast<gpuexec::v1::CounterAccess::State>(77));
  TraceImporter importer({});
  importer.Import(packet);
  const std::vector<TraceModel> models = {importer.Finish()};
  const Report later = BuildReport(models, {});
  EXPECT_EQ(later.counters[0].denied[0].reason, "reason 77");
  EXPECT_EQ(later.counters[0].access[0].state, "number 77");
}

TEST(ReportCountersTest, NamesAreMadePrintable) {
  const Report report =
      ReportOf({"counter_group { iid: 1 name: 'x\\033[2J' metric: ['m\\n\\377', 'b'] }", Samples(1, 1)});
  for (const std::string& text : {ReportText(report, {}), ReportJson(report), ReportCountersCsv(report)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\xff")));
  }
  EXPECT_EQ(report.counters[0].signatures[0].groups[0].metrics[0].name, "m\\n\\xff");
}

TEST(ReportCountersTest, EveryFieldOfTheCsvHasAColumn) {
  const std::string csv = ReportCountersCsv(ReportOf({Samples(1, 2), "graph_exec { graph_exec_id: 9 }",
                                                      "counter_batch { count: 1 group_iid: 1 window_id: 2 "
                                                      "graph_exec_id: 9 metric_count: 2 integer_value: [5, 6] }"}));
  std::vector<int64_t> commas = {0};
  for (const char c : csv) {
    if (c == ',') ++commas.back();
    if (c == '\n') commas.push_back(0);
  }
  commas.pop_back();
  EXPECT_THAT(commas, ElementsAre(32, 32, 32, 32, 32));
}

}  // namespace
}  // namespace gx::analysis
