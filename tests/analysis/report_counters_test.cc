// Hardware counters from packets to report: figures, findings, and the three forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report_builder.h"
#include "analysis/report_csv.h"
#include "analysis/report_json.h"
#include "analysis/report_proto.h"
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

// The first group of the signature that is called "first".
gpuexec::v1::CounterGroupReport CounterGroupOf(const Report& report) {
  const gpuexec::v1::Report message = ReportMessage(report, nullptr);
  for (const gpuexec::v1::SignatureReport& signature : message.signature()) {
    if (signature.name() == "first" && signature.counter_group_size() > 0) return signature.counter_group(0);
  }
  ADD_FAILURE() << "no counters of 'first'";
  return {};
}

TEST(ReportCountersTest, ATraceWithoutCountersHasAReportWithoutThem) {
  TraceImporter importer({});
  importer.Import(PacketFromText("header { format_major: 1 }"));
  const std::vector<TraceModel> models = {importer.Finish()};
  const Report report = BuildReport(models, {});
  EXPECT_THAT(report.counters, IsEmpty());
  EXPECT_FALSE(ReportMessage(report, nullptr).process(0).has_counters());
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
  const auto group = CounterGroupOf(report);
  EXPECT_FALSE(group.metric(0).has_median());
  EXPECT_TRUE(std::isnan(group.sample(0).value(0)));
  EXPECT_THAT(ReportCountersCsv(report), HasSubstr(",a.sum,,,,,0,1,0,0,0\n"));
  EXPECT_THAT(FindingIds(report), ::testing::Contains("counters.unavailable_values"));
}

TEST(ReportCountersTest, NoDigitIsLostToPrograms) {
  const Report report = ReportOf(
      {"counter_batch { count: 1 group_iid: 1 window_id: 2 signature_iid: 1 metric_count: 2 real_metric: [0, 1] "
       "real_value: [0.000000123456789012, 1e300] }"});
  EXPECT_THAT(*ReportJson(ReportMessage(report, nullptr)), HasSubstr("\"median\": 1.23456789012e-07,"));
  EXPECT_THAT(*ReportJson(ReportMessage(report, nullptr)), HasSubstr("\"median\": 1e+300,"));
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
  EXPECT_EQ(bill.rotation_count, 0u);
  // 1,015 + 496 + 40 of 100,000.
  EXPECT_EQ(bill.calls_ns(), 1'551u);
  EXPECT_THAT(ReportText(report, {}), HasSubstr("in calls altogether 1.55 us (1.6 % of wall)"));
}

TEST(ReportCountersTest, SwitchingBackIsInTheBill) {
  const Report report =
      ReportOf({Samples(1, 1),
                "window { window_id: 3 kind: KIND_TIMING begin_monotonic_ns: 90000 switch_cost_ns: 7 } "
                "window { window_id: 4 kind: KIND_OFF begin_monotonic_ns: 95000 switch_cost_ns: 1000 }"});
  EXPECT_EQ(report.counters[0].bill.switch_ns, 47u);
}

TEST(ReportCountersTest, ARotationIsAChangeOfGroupInOneContext) {
  const Report report =
      ReportOf({"counter_session { session_id: 1 context_id: 1 group_iid: 1 } "
                "counter_session { session_id: 2 context_id: 2 group_iid: 2 } "
                "counter_session { session_id: 3 context_id: 1 group_iid: 1 } "
                "counter_session { session_id: 4 context_id: 1 group_iid: 2 } "
                "counter_session { session_id: 5 context_id: 2 group_iid: 1 outcome: OUTCOME_ABANDONED "
                "}"});
  EXPECT_EQ(report.counters[0].bill.rotation_count, 2u);
  EXPECT_EQ(report.counters[0].bill.abandoned_session_count, 1u);
}

TEST(ReportCountersTest, TheBudgetIsThatOfTheSettings) {
  for (const auto& [value, words] : std::vector<std::pair<std::string, std::string>>{
           {"off", "; no budget\n"}, {"0.5", "; budget 0.5 % (1.5 s of the first round are always allowed)\n"}}) {
    std::vector<TraceModel> models = {Import({"counter_session { session_id: 1 push_ns: 9 }"})};
    gpuexec::v1::Setting* setting = models[0].header->add_configuration();
    setting->set_name("GPUEXEC_BUDGET");
    setting->set_value(value);
    EXPECT_THAT(ReportText(BuildReport(models, {}), {}), HasSubstr(words));
  }
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

TEST(ReportCountersTest, WhatIsDeniedAndRefusedDevicesAreNamedWithTheirReason) {
  const Report report = ReportOf(
      {"counter_denial { function_iid: 2 reason: REASON_DEADLINE detail: '500 ms' } counter_denial { function_iid: 0 "
       "reason: REASON_IPC_MEMORY context_id: 1 } counter_denial { graph_exec_id: 7 reason: REASON_DEADLINE } "
       "counter_access { state: STATE_NOT_PERMITTED text: 'ask root' }"});
  const CountersSection& counters = report.counters[0];
  ASSERT_THAT(counters.denied, SizeIs(3));
  EXPECT_EQ(counters.denied[0].name, "everything in context 1");
  EXPECT_EQ(counters.denied[0].context_id, 1u);
  EXPECT_EQ(counters.denied[1].name, "graph 7");
  EXPECT_EQ(counters.denied[1].graph_exec_id, 7u);
  EXPECT_EQ(counters.denied[2].name, "second");
  EXPECT_EQ(counters.denied[2].reason, "a sampled launch did not complete by the deadline");
  EXPECT_EQ(counters.denied[2].graph_exec_id, 0u);
  EXPECT_THAT(ReportText(report, {}), HasSubstr("graph 7: a sampled launch did not complete by the deadline"));
  EXPECT_THAT(ReportText(report, {}), HasSubstr("everything in context 1: memory of another process is mapped"));
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
  for (const std::string& text :
       {ReportText(report, {}), *ReportJson(ReportMessage(report, nullptr)), ReportCountersCsv(report)}) {
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
  EXPECT_THAT(commas, ElementsAre(34, 34, 34, 34, 34));
}

TEST(ReportCountersTest, SamplesAreLinesWithTheirLaunchSessionAndFlags) {
  const Report report = ReportOf(
      {"counter_batch { count: 2 group_iid: 1 session_id: 3 window_id: 2 context_id: 1 "
       "base_enter_monotonic_ns: 60000 enter_delta: [0, 2000] base_correlation_id: 40 correlation_delta: [0, 1] "
       "thread_id: 7 signature_iid: 1 base_range_order: 5 range_order_delta: [0, 2] flags: [3, 12] "
       "launch_number: [10, 11] metric_count: 2 real_metric: 1 integer_value: [100, 1] real_value: [0.5, nan] }"});
  const std::string csv = ReportSamplesCsv(report);
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "process,counts_of,name,short_name,device_id,graph_exec_id,grid,block,cluster,dynamic_shared_memory_bytes,"
            "graph_node,group,group_kind,session_id,range_order,window_id,context_id,launch_number,correlation_id,"
            "thread_id,offset_ns,void,first_of_session,after_switch,replayed,metric,value");
  const std::string whose = ",kernel,first,first,0,,7x0x0,32x0x0,,0,0,light,hardware,3,";
  EXPECT_THAT(csv, HasSubstr(whose + "5,2,1,10,40,7,59000,0,1,1,0,a.sum,100\n"));
  EXPECT_THAT(csv, HasSubstr(whose + "5,2,1,10,40,7,59000,0,1,1,0,b.avg,0.5\n"));
  EXPECT_THAT(csv, HasSubstr(whose + "7,2,1,11,41,7,61000,1,0,0,1,a.sum,101\n"));
  EXPECT_THAT(csv, HasSubstr(whose + "7,2,1,11,41,7,61000,1,0,0,1,b.avg,\n")) << "unavailable";
  const auto group = CounterGroupOf(report);
  ASSERT_THAT(group.sample(), SizeIs(2));
  const auto& sample = group.sample(1);
  EXPECT_EQ(sample.range_order(), 7u);
  EXPECT_EQ(sample.value(0), 101);
  EXPECT_TRUE(std::isnan(sample.value(1)));
  TextStyle style;
  style.sections = {Section::kSamples};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, HasSubstr("SAMPLES\n"));
  EXPECT_THAT(text, HasSubstr("first of its session, next to a switch"));
  EXPECT_THAT(text, HasSubstr("void, replayed"));
  EXPECT_THAT(text, Not(HasSubstr("COUNTERS\n")));
}

TEST(ReportCountersTest, EverySampleLineHasTheColumnsOfTheHead) {
  const std::string csv =
      ReportSamplesCsv(ReportOf({Samples(1, 2),
                                 "counter_batch { count: 1 group_iid: 1 window_id: 2 graph_exec_id: 9 metric_count: 2 "
                                 "integer_value: [5, 6] }"}));
  std::vector<int64_t> commas = {0};
  for (const char c : csv) {
    if (c == ',') ++commas.back();
    if (c == '\n') commas.push_back(0);
  }
  commas.pop_back();
  EXPECT_THAT(commas, ElementsAre(26, 26, 26, 26, 26, 26, 26));
}

TEST(ReportCountersTest, WithoutSamplesTheTablesAreEmptyAndNotWrong) {
  const Report report = ReportOf({kPlan});
  EXPECT_EQ(report.counters[0].sample_count, 0u);
  EXPECT_THAT(report.counters[0].covered_share_ratio, Optional(DoubleEq(0)));
  EXPECT_THAT(FindingIds(report), ::testing::Contains("counters.no_samples"));
  TextStyle style;
  style.sections = {Section::kCounters, Section::kSamples};
  EXPECT_THAT(ReportText(report, style), HasSubstr("0 samples of 0 signatures"));
  EXPECT_THAT(ReportSamplesCsv(report), ::testing::EndsWith("metric,value\n"));
}

TEST(ReportCountersTest, WhereCountersWereRefusedThatIsTheReason) {
  EXPECT_THAT(FindingIds(ReportOf({kPlan, "counter_access { state: STATE_NOT_PERMITTED }"})),
              Not(::testing::Contains("counters.no_samples")));
  EXPECT_THAT(FindingIds(ReportOf({"counter_access { state: STATE_OFF }"})), IsEmpty()) << "as it was asked for";
}

TEST(ReportCountersTest, HowToAllowCountersIsToldOnce) {
  const std::string counted = "stats { counter { id: STAT_COUNTER_PERMISSION_REFUSED value: 1 } }";
  const auto text = [&](const std::string& access) { return ReportText(ReportOf({counted, access}), {}); };
  const std::string exact = text("counter_access { state: STATE_NOT_PERMITTED text: 'ask root' }");
  EXPECT_THAT(exact, HasSubstr("device 0: not permitted: ask root\n"));
  EXPECT_THAT(exact, HasSubstr("device 0: not permitted; see the findings\n"));
  EXPECT_THAT(exact, Not(HasSubstr("CAP_SYS_ADMIN")));
  EXPECT_THAT(text("counter_access { state: STATE_NOT_PERMITTED }"), HasSubstr("CAP_SYS_ADMIN"));
  EXPECT_THAT(ReportText(ReportOf({"counter_access { state: STATE_OFF text: 'left to rank 0' }"}), {}),
              HasSubstr("device 0: off: left to rank 0\n"));
}

TEST(ReportCountersTest, WhereTheLibrarySaysWhyThereAreNoSamplesThatIsToldOnce) {
  const Report report = ReportOf({kPlan, "stats { counter { id: STAT_COUNTER_RUN_TOO_SHORT value: 1 } }"});
  EXPECT_THAT(FindingIds(report), ElementsAre("STAT_COUNTER_RUN_TOO_SHORT"));
  ASSERT_THAT(report.counters[0].losses, SizeIs(1));
  EXPECT_EQ(report.counters[0].losses[0].id, "STAT_COUNTER_RUN_TOO_SHORT");
}

TEST(ReportCountersTest, FailedPlansAndSessionsOpenTheReport) {
  const Report report =
      ReportOf({"counter_plan { device_id: 1 requested: 'x.sum' chip: 'GH100' failed: true } "
                "counter_session { session_id: 4 group_iid: 1 range_count: 2 outcome: OUTCOME_FAILED "
                "cupti_result: 999 }"});
  EXPECT_TRUE(report.data_lost);
  EXPECT_THAT(FindingIds(report), ::testing::IsSupersetOf({"counters.failed_plans", "counters.failed_sessions"}));
  const std::string text = ReportText(report, {});
  EXPECT_THAT(text, HasSubstr("device 1, GH100: x.sum was asked for"));
  EXPECT_THAT(text, HasSubstr("session 4, light, 2 ranges: CUptiResult 999"));
  const std::vector<std::string> counted = FindingIds(
      ReportOf({"counter_plan { failed: true } stats { counter { id: STAT_COUNTER_PLANS_FAILED value: 1 } }"}));
  EXPECT_THAT(counted, ElementsAre("STAT_COUNTER_PLANS_FAILED"));
}

TEST(ReportCountersTest, SkippedLaunchesAreListedByReason) {
  const Report report =
      ReportOf({"counter_access { state: STATE_ALLOWED } stats { counter { id: "
                "STAT_COUNTER_SKIPPED_BUSY value: 3 } counter { id: STAT_COUNTER_GIVEN_UP value: 2 } "
                "counter { id: STAT_COUNTER_SAMPLES value: 5 } counter { id: "
                "STAT_COUNTER_SKIPPED_CAPTURE value: 0 } }"});
  const CountersSection& counters = report.counters[0];
  ASSERT_THAT(counters.losses, SizeIs(2));
  EXPECT_EQ(counters.losses[0].id, "STAT_COUNTER_SKIPPED_BUSY");
  EXPECT_EQ(counters.losses[0].count, 3u);
  EXPECT_THAT(ReportText(report, {}), HasSubstr("3 launches, for reasons among the findings"));
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, HasSubstr("3 launches: a stream was still busy at the idle deadline"));
  EXPECT_THAT(text, HasSubstr("2  signatures not sampled any more with a group"));
}

TEST(ReportCountersTest, VoidSamplesAreListedByWhatMadeThemVoidAndAreOneFinding) {
  const Report report = ReportOf(
      {"counter_access { state: STATE_ALLOWED } stats { counter { id: STAT_COUNTER_VOID_RANGES value: 3 } "
       "counter { id: STAT_COUNTER_VOID_COPY value: 2 } counter { id: STAT_COUNTER_VOID_CAPTURE value: 1 } }"});
  EXPECT_THAT(FindingIds(report), ElementsAre("STAT_COUNTER_VOID_RANGES"));
  ASSERT_THAT(report.counters[0].losses, SizeIs(3));
  EXPECT_EQ(report.counters[0].losses[1].id, "STAT_COUNTER_VOID_COPY");
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, HasSubstr("3  samples void"));
  EXPECT_THAT(text, HasSubstr("2  of the void samples: a copy was in the range"));
}

TEST(ReportCountersTest, LaunchesInCounterWindowsAreNoLoss) {
  const Report report =
      ReportOf({"launch_batch { count: 2 window_id: 2 base_enter_monotonic_ns: 60000 enter_delta: [0, 9] "
                "base_correlation_id: 50 correlation_delta: [0, 1] track_iid: 1 signature_iid: 1 }",
                Samples(1, 1)});
  EXPECT_FALSE(report.data_lost);
  EXPECT_THAT(FindingIds(report), IsEmpty());
  EXPECT_EQ(report.processes[0].accounting.counter_window_launches, 2u);
  EXPECT_EQ(report.counters[0].untimed_launch_count, 2u);
  ASSERT_THAT(report.processes[0].bookkeeping, SizeIs(1));
  EXPECT_EQ(report.processes[0].bookkeeping[0].id, "join.counter_window_launches");
  EXPECT_THAT(ReportText(report, {}), HasSubstr("2 in counter windows, untimed by intent"));
}

TEST(ReportCountersTest, ADeviceIsNotIdleWhereNothingIsRecorded) {
  const Report report = ReportOf(
      {"window { window_id: 3 kind: KIND_TIMING begin_monotonic_ns: 90000 } launch_batch { count: 1 window_id: "
       "3 base_enter_monotonic_ns: 95000 enter_delta: 0 base_correlation_id: 9 correlation_delta: 0 track_iid: "
       "1 signature_iid: 1 } kernel_batch { count: 1 timing: TIMING_COMPLETE base_start_ns: 96000 "
       "start_unit_ns: 1 start_delta: 0 duration_unit_ns: 1 duration_delta: 100 base_correlation_id: 9 "
       "correlation_delta: 0 track_iid: 1 attributes_iid: 1 }",
       Samples(1, 1)});
  const DeviceSection& device = report.processes[0].devices[0];
  // From 3,000 to 96,100; the counter window is 40,000 of it.
  EXPECT_EQ(device.span_ns, 93'100u);
  EXPECT_EQ(device.untimed_ns, 40'000u);
  EXPECT_EQ(device.idle_ns, 93'100u - 40'000u - 500u);
  EXPECT_EQ(report.processes[0].run.timed_ns(), 60'000u);
  EXPECT_DOUBLE_EQ(device.busy_of_timed_ratio, 500.0 / 60'000);
}

TEST(ReportCountersTest, FirstRangesOfSessionsAreNotAmongTheThreeThatAreNeeded) {
  EXPECT_THAT(ReportOf({kPlan, Samples(1, 3, "flags: [1, 0, 0]")}).counters[0].covered_share_ratio,
              Optional(DoubleEq(0)));
  EXPECT_THAT(ReportOf({kPlan, Samples(1, 4, "flags: [1, 0, 0, 0]")}).counters[0].covered_share_ratio,
              Optional(DoubleEq(0.25)));
}

TEST(ReportCountersTest, GroupsOfTwoDevicesAreNotMistakenForEachOther) {
  const std::string second =
      "signature { iid: 1 device_id: 1 } counter_group { iid: 5 name: 'light' kind: KIND_HARDWARE device_id: 1 metric: "
      "'z.sum' } counter_plan { device_id: 1 requested: 'light' group_iid: 5 } counter_batch { count: 3 group_iid: 5 "
      "session_id: 2 window_id: 2 signature_iid: 1 metric_count: 1 integer_value: [4, 0, 0] }";
  const Report report = ReportOf({kPlan, second, Samples(2, 3)});
  EXPECT_THAT(report.counters[0].covered_share_ratio, Optional(DoubleEq(1)));
  EXPECT_EQ(report.counters[0].signatures[1].groups[0].metrics[0].name, "z.sum");
  EXPECT_EQ(report.counters[0].signatures[0].groups[0].metrics[0].name, "a.sum");
}

TEST(ReportCountersTest, AGraphNamesItsKernels) {
  const Report report =
      ReportOf({"graph_node { node_id: 11 graph_id: 4 signature_iid: 1 created_monotonic_ns: 2000 } "
                "graph_node { node_id: 12 graph_id: 4 signature_iid: 2 created_monotonic_ns: 2000 } "
                "graph_node { node_id: 13 graph_id: 4 signature_iid: 2 created_monotonic_ns: 2000 } "
                "graph_node { node_id: 21 original_node_id: 11 graph_id: 9 created_monotonic_ns: 3000 } "
                "graph_node { node_id: 22 original_node_id: 12 graph_id: 9 created_monotonic_ns: 3000 } "
                "graph_node { node_id: 23 original_node_id: 13 graph_id: 9 created_monotonic_ns: 3000 } "
                "graph_node { node_id: 24 graph_id: 9 created_monotonic_ns: 3000 } "
                "graph_node { node_id: 21 graph_id: 9 signature_iid: 2 updated: true created_monotonic_ns: 999999 } "
                "graph_exec { graph_exec_id: 9 graph_id: 4 kernel_node_count: 3 undescribed_node_count: 1 }",
                "counter_batch { count: 1 group_iid: 1 window_id: 2 base_enter_monotonic_ns: 60000 enter_delta: 0 "
                "graph_exec_id: "
                "9 metric_count: 2 integer_value: [5, 6] }"});
  ASSERT_THAT(report.counters[0].graphs, SizeIs(1));
  const std::vector<GraphKernel>& kernels = report.counters[0].graphs[0].kernels;
  ASSERT_THAT(kernels, SizeIs(2)) << "as they were when it was sampled; the node without parameters need not be one";
  EXPECT_EQ(kernels[0].full_name, "second");
  EXPECT_EQ(kernels[0].node_count, 2u);
  EXPECT_EQ(kernels[1].full_name, "first");
  EXPECT_EQ(kernels[1].node_count, 1u);
  EXPECT_EQ(kernels[1].grid->x, 7u);
  TextStyle style;
  style.sections = {Section::kCounters};
  EXPECT_THAT(ReportText(report, style), HasSubstr("    2 x second  grid 8x0x0, block 64x0x0\n"));
}

constexpr char kCounted[] = "stats { counter { id: STAT_COUNTER_METRICS_DROPPED value: 1 } }";

TEST(ReportCountersTest, MetricsOfASetThatTheChipLacksAreNoFinding) {
  const Report report =
      ReportOf({"counter_plan { requested: 'core' chip: 'GH100' group_iid: 1 dropped { name: 'x.sum' "
                "reason: REASON_DOES_NOT_EXIST } }",
                kCounted, Samples(1, 3), Samples(2, 3)});
  EXPECT_THAT(FindingIds(report), IsEmpty());
  EXPECT_THAT(ReportText(report, {}), Not(HasSubstr("x.sum")));
  TextStyle style;
  style.sections = {Section::kCounters};
  EXPECT_THAT(ReportText(report, style), HasSubstr("not on this chip: x.sum\n"));
}

TEST(ReportCountersTest, MetricsThatTheUserNamedAreMissed) {
  const Report report =
      ReportOf({"counter_plan { requested: 'a.sum,x.sum' group_iid: 1 dropped { name: 'x.sum' reason: "
                "REASON_DOES_NOT_EXIST text: 'x.sum does not exist' } }",
                kCounted, Samples(1, 3), Samples(2, 3)});
  ASSERT_THAT(FindingIds(report), ElementsAre("counters.dropped_metrics"));
  EXPECT_THAT(report.processes[0].findings[0].details, ElementsAre("x.sum does not exist"));
  EXPECT_THAT(ReportText(report, {}), HasSubstr("1 metric dropped"));
}

TEST(ReportCountersTest, WithoutAPlanDroppedMetricsAreAFinding) {
  EXPECT_THAT(FindingIds(ReportOf({kCounted, Samples(1, 1)})), ElementsAre("STAT_COUNTER_METRICS_DROPPED"));
}

// Of signature 1: instructions by the hardware and by patched code.
std::string Instructions(int hardware, int patched) {
  return "counter_group { iid: 2 name: 'hw' metric: 'smsp__inst_executed.sum' } counter_group { iid: 3 name: 'sass' "
         "metric: 'smsp__sass_inst_executed.sum' } counter_batch { count: 1 group_iid: 2 window_id: 2 signature_iid: 1 "
         "metric_count: 1 integer_value: " +
         std::to_string(hardware) +
         " } counter_batch { count: 1 group_iid: 3 window_id: 2 signature_iid: 1 metric_count: 1 integer_value: " +
         std::to_string(patched) + " }";
}

TEST(ReportCountersTest, AFewInstructionsMoreUnderPatchedCodeAreUsual) {
  const Report few = ReportOf({Instructions(1'000'000, 1'020'000)});
  EXPECT_THAT(FindingIds(few), IsEmpty());
  EXPECT_EQ(few.processes[0].bookkeeping.at(0).id, "counters.small_instruction_disagreements");
  EXPECT_TRUE(few.counters[0].signatures[0].instruction_disagreement.has_value());
  EXPECT_THAT(FindingIds(ReportOf({Instructions(1'000'000, 1'200'000)})),
              ElementsAre("counters.instruction_disagreements"));
}

TEST(ReportCountersTest, LengthsOfRangesAreNoTimings) {
  const Report report =
      ReportOf({"counter_group { iid: 2 name: 'hw' metric: ['gpu__time_duration.sum', 'sm__cycles_elapsed.max', "
                "'sm__cycles_elapsed.avg.per_second', 'sm__cycles_active.avg'] } counter_batch { count: 1 group_iid: 2 "
                "window_id: 2 signature_iid: 1 metric_count: 4 integer_value: [7000, 8000, 1980000000, 9000] }"});
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, ::testing::ContainsRegex("gpu__time_duration.sum +7,000 +7,000 +7,000 +- +not a timing\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("sm__cycles_elapsed.max +8,000 +8,000 +8,000 +- +not a timing\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("sm__cycles_active.avg +9,000 +9,000 +9,000 +-\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("per_second +1.980 GHz +1.980 GHz +1.980 GHz +-\n"));
}

TEST(ReportCountersTest, PeaksOfTheTableAreNotRepeatedUnderEachSignature) {
  const Report report = ReportOf({"device_peaks { peak { metric: 'b.avg' value: 0.5 } }", Samples(1, 2)});
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, HasSubstr("      a.sum"));
  EXPECT_THAT(text, Not(HasSubstr("      b.avg")));
  EXPECT_THAT(ReportCountersCsv(report), HasSubstr("b.avg")) << "programs find it where the samples are";
}

TEST(ReportCountersTest, HeavySignaturesWithoutCountersAreNamedWithTheReason) {
  const auto reason = [](const std::vector<std::string>& packets) {
    const Report report = ReportOf(packets);
    const std::vector<UncountedSignature>& uncounted = report.counters[0].uncounted;
    return uncounted.size() == 1 && uncounted[0].short_name == "second" ? uncounted[0].reason
                                                                        : std::to_string(uncounted.size());
  };
  EXPECT_EQ(reason({kPlan, Samples(1, 3), Samples(2, 3)}), "0");
  EXPECT_EQ(reason({kPlan, Samples(1, 3), Samples(2, 2)}), "fewer than three samples of light");
  EXPECT_EQ(reason({Samples(1, 3)}), "not launched in a counter window");
  EXPECT_EQ(reason({Samples(1, 3), Samples(2, 1, "flags: 4")}), "all its samples are void");
  EXPECT_EQ(reason({Samples(1, 3), "counter_denial { function_iid: 2 reason: REASON_USER }"}),
            "named in GPUEXEC_COUNTERS_DENY");
  EXPECT_EQ(reason({Samples(1, 3),
                    "launch_batch { count: 1 window_id: 2 base_enter_monotonic_ns: 60000 base_correlation_id: 9 "
                    "signature_iid: 2 }"}),
            "launched in counter windows and left out each time");
  EXPECT_EQ(reason({kPlan}), "0") << "without any sample the report says that";
  EXPECT_THAT(ReportText(ReportOf({Samples(1, 3)}), {}),
              HasSubstr("second, grid 8x0x0, 75.0 % of kernel time: not launched in a counter window\n"));
}

TEST(ReportCountersTest, AClockBelowThatOfNvmlIsAFinding) {
  const auto with_clock = [](const std::string& hz) {
    return FindingIds(
        ReportOf({"device_sample { monotonic_ns: 5000 sm_clock_hz: 2000000000 } counter_group { iid: 2 "
                  "metric: 'gpc__cycles_elapsed.avg.per_second' } counter_batch { count: 1 group_iid: 2 "
                  "window_id: 2 signature_iid: 1 metric_count: 1 integer_value: " +
                  hz + " }"}));
  };
  EXPECT_THAT(with_clock("1950000000"), IsEmpty());
  EXPECT_THAT(with_clock("1600000000"), ElementsAre("counters.slow_clocks"));
}

TEST(ReportCountersTest, PeaksAndClocksAreTables) {
  const Report report = ReportOf(
      {"device_peaks { peak { metric: 'dram__bytes.sum.peak_sustained' value: 1504 clock_metric: 'c' clock_hz: 3.2e9 } "
       "peak { metric: 'p' value: nan } } window_clocks { window_id: 2 sm_clock_hz: 1980000000 reading_count: 3 "
       "throttle_reasons_mask: 0 } window_clocks { window_id: 77 }"});
  TextStyle style;
  style.sections = {Section::kCounters};
  const std::string text = ReportText(report, style);
  EXPECT_THAT(text, ::testing::ContainsRegex("dram__bytes.sum.peak_sustained +1,504 +c +3.200 GHz\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("p +unavailable +unknown +unknown\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("2 +counters +0 +1.980 GHz +unknown +unknown +3 +no\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("77 +unknown +0 +unknown +unknown +unknown +0 +unknown\n"));
}

}  // namespace
}  // namespace gx::analysis
