// The ladder from packets to text: which signatures have one, and what it is made of.
#include "analysis/report_ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/name_filter.h"
#include "analysis/report_builder.h"
#include "analysis/report_text.h"
#include "analysis/trace_importer.h"
#include "tests/support/kernel_packets.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::KernelPackets;
using ::gx::testing::PacketFromText;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A GPU of 10 SMs at 2 GHz, 40 instructions a cycle; "first" (signature 1) and "ncclKernel" (2).
constexpr char kDefinitions[] = R"(
  header { format_major: 1 format_minor: 1 start { cupti_ns: 1000 monotonic_ns: 1000 } }
  device { device_id: 0 name: "GPU" max_sm_clock_hz: 2000000000 attributes { multiprocessor_count: 10 } }
  name { iid: 1 value: "first" } name { iid: 2 value: "ncclKernel" }
  function { iid: 1 name_iid: 1 } function { iid: 2 name_iid: 2 }
  signature { iid: 1 function_iid: 1 device_id: 0 grid_x: 7 block_x: 32 }
  signature { iid: 2 function_iid: 2 device_id: 0 grid_x: 8 block_x: 64 }
  kernel_attributes { iid: 1 name_iid: 1 grid_x: 7 block_x: 32 }
  kernel_attributes { iid: 2 name_iid: 2 grid_x: 8 block_x: 64 }
  track { iid: 1 device_id: 0 context_id: 1 stream_id: 7 }
  window { window_id: 1 kind: KIND_TIMING begin_monotonic_ns: 1000 end_monotonic_ns: 5000000 }
  window { window_id: 2 kind: KIND_COUNTERS begin_monotonic_ns: 5000000 end_monotonic_ns: 6000000 }
  counter_group { iid: 1 name: "light+" kind: KIND_HARDWARE
    metric: ["smsp__inst_executed.sum", "sm__cycles_active.avg", "sm__cycles_active.max"] }
  device_peaks { device_id: 0 peak { metric: "smsp__inst_executed.sum.peak_sustained" value: 40
    clock_metric: "sm__cycles_elapsed.avg.per_second" } }
)";
constexpr char kClocks[] = "window_clocks { window_id: 1 device_id: 0 sm_clock_hz: 1600000000 reading_count: 1 }";
// 80,000 instructions: 1,000 ns at 2 GHz.
constexpr char kSamples[] = R"(counter_batch { count: 1 group_iid: 1 session_id: 1 window_id: 2
  base_enter_monotonic_ns: 5500000 enter_delta: 0 signature_iid: 1 metric_count: 3 integer_value: [80000, 5800, 6000] })";

Report ReportOf(const std::vector<std::string>& packets, ReportRequest request = {}) {
  TraceImporter importer({});
  importer.Import(PacketFromText(kDefinitions));
  for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
  importer.Import(PacketFromText("trailer { reason: REASON_EXIT end { cupti_ns: 7000000 monotonic_ns: 7000000 } }"));
  std::vector<TraceModel> models;
  models.push_back(importer.Finish());
  if (!request.ladder_machines.has_value()) request.ladder_machines.emplace();
  return BuildReport(models, request);
}

std::string LadderText(const Report& report) { return ReportText(report, {.sections = {Section::kLadder}}); }

TEST(ReportLadderTest, TermsOfASignatureSumToItsTime) {
  const Report report = ReportOf({KernelPackets(1, 40, 1), kClocks, kSamples});
  ASSERT_THAT(report.ladders, SizeIs(1));
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  const LadderRow& row = report.ladders[0].rows[0];
  EXPECT_EQ(row.full_name, "first");
  EXPECT_EQ(row.time_ns, 4000);
  EXPECT_EQ(std::accumulate(row.whole_ns.begin(), row.whole_ns.end(), int64_t{0}), 4000);
  EXPECT_DOUBLE_EQ(row.ladder.rungs.Ns(model::Rung::kWork), 1000);
  // 2 GHz over the 1.6 GHz of the window.
  EXPECT_DOUBLE_EQ(row.ladder.rungs.Ns(model::Rung::kClock), 1250);
  EXPECT_EQ(row.ladder.residual_ns, std::nullopt);
  const std::string text = LadderText(report);
  EXPECT_THAT(text, HasSubstr("no machine file matches it"));
  EXPECT_THAT(text, HasSubstr("useful work and residual: patched code was not counted"));
  EXPECT_THAT(text, HasSubstr("unmeasured; 3,000 ns, 75.0 % of time above R2"));
}

TEST(ReportLadderTest, WithoutAClockOfTheTimingsItIsTakenAsTheMaximum) {
  const Report report = ReportOf({KernelPackets(1, 40, 1), kSamples});
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  EXPECT_DOUBLE_EQ(report.ladders[0].rows[0].ladder.rungs.Ns(model::Rung::kClock), 1000);
  EXPECT_THAT(LadderText(report), HasSubstr("clock unmeasured"));
}

TEST(ReportLadderTest, FewCleanTimingsAndMissingSamplesGiveNone) {
  const Report few = ReportOf({KernelPackets(1, 15, 1), kClocks, kSamples});
  EXPECT_THAT(few.ladders[0].rows, IsEmpty());
  EXPECT_EQ(few.ladders[0].few_clean_count, 1);
  EXPECT_THAT(LadderText(few), HasSubstr("no ladder: 1 signature with fewer than 20 clean timings"));

  const Report uncounted = ReportOf({KernelPackets(1, 40, 1), kClocks});
  EXPECT_THAT(uncounted.ladders[0].rows, IsEmpty());
  EXPECT_EQ(uncounted.ladders[0].uncounted_count, 1);
  EXPECT_THAT(LadderText(uncounted), HasSubstr("no ladder: 1 signature without a counter sample"));
}

TEST(ReportLadderTest, CommunicationHasNoResources) {
  const Report report = ReportOf({KernelPackets(2, 40, 1), kClocks});
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  EXPECT_FALSE(report.ladders[0].rows[0].ladder.rungs.at(model::Rung::kWork).has_value());
  EXPECT_THAT(LadderText(report), HasSubstr("communication: its time is waiting for others"));
}

TEST(ReportLadderTest, ATimeBelowARungIsAViolationAndEndsTheLadder) {
  std::string samples = kSamples;
  samples.replace(samples.find("80000"), 5, "400000");
  const Report report = ReportOf({KernelPackets(1, 40, 1), kClocks, samples});
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  const LadderRow& row = report.ladders[0].rows[0];
  ASSERT_TRUE(row.ladder.violation.has_value());
  EXPECT_EQ(std::accumulate(row.whole_ns.begin(), row.whole_ns.end(), int64_t{0}), 4000);
  EXPECT_THAT(LadderText(report), HasSubstr("VIOLATION: R2 is 1,000 ns above the time"));
}

TEST(ReportLadderTest, NamesOfTheTraceArePrintable) {
  const std::string group =
      R"(counter_group { iid: 2 name: "t" kind: KIND_TENSOR metric: ["sm__ops_path_tensor_\033x.sum"] })";
  const std::string samples = R"(counter_batch { count: 1 group_iid: 2 session_id: 2 window_id: 2
    base_enter_monotonic_ns: 5600000 enter_delta: 0 signature_iid: 1 metric_count: 1 integer_value: [5] })";
  const Report report = ReportOf({KernelPackets(1, 40, 1), kClocks, kSamples, group, samples});
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  const std::string text = LadderText(report);
  EXPECT_THAT(text, HasSubstr("no peak of sm__ops_path_tensor_"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(ReportLadderTest, TheFilterChoosesSignatures) {
  ReportRequest request;
  request.filter = *NameFilter::Compile("nccl");
  const Report report = ReportOf({KernelPackets(1, 40, 1), KernelPackets(2, 40, 100), kClocks, kSamples}, request);
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  EXPECT_EQ(report.ladders[0].rows[0].full_name, "ncclKernel");
}

TEST(ReportLadderTest, WithoutARequestThereIsNone) {
  TraceImporter importer({});
  importer.Import(PacketFromText(kDefinitions));
  std::vector<TraceModel> models;
  models.push_back(importer.Finish());
  const Report report = BuildReport(models, {});
  EXPECT_THAT(report.ladders, IsEmpty());
  EXPECT_THAT(ReportText(report, {}), Not(HasSubstr("LADDER")));
}

TEST(ReportLadderTest, TheDefaultTextHasTheRunATableAndBars) {
  const std::string text = ReportText(ReportOf({KernelPackets(1, 40, 1), kClocks, kSamples}), {});
  EXPECT_THAT(text, HasSubstr("explained         160 us of kernel time, 100.0 % of all, has a ladder"));
  EXPECT_THAT(text, HasSubstr("largest term above"));
  EXPECT_THAT(text, HasSubstr("|##########  "));
  EXPECT_THAT(text, HasSubstr("unmeasured  useful, excess work, uneven, ceiling gap"));
  EXPECT_THAT(text, HasSubstr("no_throttling: "));
}

TEST(ReportLadderTest, WithoutCountersTheDefaultTextSaysSoInOneLine) {
  const std::string text = ReportText(ReportOf({KernelPackets(1, 40, 1)}), {});
  EXPECT_THAT(text,
              HasSubstr("LADDER\n  none: no counters were sampled, so what bounds a kernel's time is unmeasured\n"));
}

TEST(ReportLadderTest, TermsNameTheirMetricsGroupWindowsAndSamples) {
  const Report report = ReportOf({KernelPackets(1, 40, 1), kClocks, kSamples});
  const LadderRow& row = report.ladders[0].rows[0];
  const auto& work = row.evidence[static_cast<size_t>(model::TermKind::kWork)];
  ASSERT_THAT(work, SizeIs(1));
  EXPECT_TRUE(work[0].is_measured);
  EXPECT_EQ(work[0].source, "smsp__inst_executed.sum");
  EXPECT_EQ(work[0].group, "light+");
  EXPECT_THAT(work[0].window_ids, ::testing::ElementsAre(2));
  EXPECT_EQ(work[0].sample_count, 1);
  const auto& sync = row.evidence[static_cast<size_t>(model::TermKind::kSync)];
  ASSERT_FALSE(sync.empty());
  EXPECT_FALSE(sync[0].is_measured);
  EXPECT_EQ(sync[0].group, "st1");
  EXPECT_THAT(LadderText(report), HasSubstr("smsp__inst_executed.sum (light+, 1 sample, window 2)"));
}

TEST(ReportLadderTest, WhatWasMeasuredAsNothingIsNotCalledUnmeasured) {
  const std::string even = absl::StrReplaceAll(kSamples, {{"5800", "6000"}});
  EXPECT_THAT(LadderText(ReportOf({KernelPackets(1, 40, 1), kClocks, even})), HasSubstr("0 ns of what is measured"));
}

TEST(ReportLadderTest, TheRunSumsTermsOverAllLaunches) {
  const Report report = ReportOf({KernelPackets(1, 40, 1), kClocks, kSamples});
  const LadderRun& run = report.ladders[0].run;
  EXPECT_EQ(run.ladder_ns, 160000);
  EXPECT_DOUBLE_EQ(std::accumulate(run.terms_ns.begin(), run.terms_ns.end(), 0.0), 160000);
  EXPECT_EQ(run.violation_ns, 0);
  // 250 ns of 4,000 at the lower clock; nothing else is asked about. Nothing is busy, and latency is unmeasured.
  const LadderRow& row = report.ladders[0].rows[0];
  ASSERT_THAT(row.what_ifs, SizeIs(1));
  EXPECT_EQ(row.what_ifs[0].change, "no_throttling");
  EXPECT_FALSE(row.what_ifs[0].saved_ns.has_value());
  EXPECT_THAT(row.what_ifs[0].no_prediction, HasSubstr("no resource is busy"));
}

TEST(ReportLadderTest, DurationsWithModesGiveALadderEachAndSamplesJoinTheirOwn) {
  // 40 launches of 4,000 ns, 40 of 16,000; the sample's 6,000 cycles are of the shorter ones.
  std::string longer = KernelPackets(1, 40, 100);
  for (size_t at = longer.find("duration_delta: 4000"); at != std::string::npos;
       at = longer.find("duration_delta: 4000")) {
    longer.replace(at, 20, "duration_delta: 9000");
  }
  const Report report = ReportOf({KernelPackets(1, 40, 1), longer, kClocks, kSamples});
  ASSERT_THAT(report.ladders[0].rows, SizeIs(1));
  const LadderRow& row = report.ladders[0].rows[0];
  ASSERT_THAT(row.modes, SizeIs(2));
  EXPECT_EQ(row.mode, 0);
  EXPECT_EQ(row.time_ns, 4000);
  EXPECT_TRUE(row.modes[0].is_counted);
  EXPECT_FALSE(row.modes[1].is_counted);
  EXPECT_DOUBLE_EQ(row.modes[1].ladder.UnexplainedNs(), 9000);
  EXPECT_THAT(LadderText(report), HasSubstr("unmeasured: no counter sample is of it"));
}

}  // namespace
}  // namespace gx::analysis
