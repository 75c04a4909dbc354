// The report as a message: every figure under a label, nothing measured that was not, and bounds on its size.
#include "analysis/report_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/report_builder.h"
#include "analysis/trace_importer.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "tests/support/kernel_packets.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

namespace pb = gpuexec::v1;
using ::gx::testing::KernelPackets;
using ::gx::testing::PacketFromText;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A GPU of 10 SMs at 2 GHz, 40 instructions a cycle. "first" is timed and counted, "second" counted alone.
constexpr char kDefinitions[] = R"(
  header { format_major: 1 format_minor: 1 start { cupti_ns: 1000 monotonic_ns: 1000 } }
  device { device_id: 0 name: "GPU" max_sm_clock_hz: 2000000000 attributes { multiprocessor_count: 10
    compute_capability_major: 9 compute_capability_minor: 0 } }
  device_sample { device_id: 0 monotonic_ns: 2000 sm_clock_hz: 1600000000 }
  name { iid: 1 value: "first" } name { iid: 2 value: "second" }
  function { iid: 1 name_iid: 1 } function { iid: 2 name_iid: 2 }
  signature { iid: 1 function_iid: 1 device_id: 0 grid_x: 7 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1
    driver_occupancy { max_active_blocks_per_multiprocessor: 32 } }
  signature { iid: 2 function_iid: 2 device_id: 0 grid_x: 8 grid_y: 1 grid_z: 1 block_x: 64 block_y: 1 block_z: 1 }
  kernel_attributes { iid: 1 name_iid: 1 grid_x: 7 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1
    registers_per_thread: 16 }
  track { iid: 1 device_id: 0 context_id: 1 stream_id: 7 }
  window { window_id: 1 kind: KIND_TIMING begin_monotonic_ns: 1000 end_monotonic_ns: 5000000 }
  window { window_id: 2 kind: KIND_COUNTERS begin_monotonic_ns: 5000000 end_monotonic_ns: 6000000 }
  window_clocks { window_id: 1 device_id: 0 sm_clock_hz: 1600000000 reading_count: 1 }
  counter_plan { device_id: 0 requested: "light" }
  counter_group { iid: 1 name: "light+" kind: KIND_HARDWARE
    metric: ["smsp__inst_executed.sum", "sm__cycles_active.avg", "sm__cycles_active.max", "dram__bytes.sum"] }
  device_peaks { device_id: 0 peak { metric: "smsp__inst_executed.sum.peak_sustained" value: 40
    clock_metric: "sm__cycles_elapsed.avg.per_second" } }
)";

std::string Samples(int signature, int count) {
  std::string text = absl::StrCat("counter_batch { count: ", count,
                                  " group_iid: 1 session_id: 1 window_id: 2 base_enter_monotonic_ns: 5500000 "
                                  "metric_count: 4 ");
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, "enter_delta: ", i == 0 ? 0 : 1000, " signature_iid: ", signature, " ");
    // The first record in full, then differences to it: none.
    absl::StrAppend(&text, "integer_value: [", i == 0 ? "80000, 5800, 6000, 4096" : "0, 0, 0, 0", "] ");
  }
  return text + "}";
}

pb::Report MessageOf(const std::vector<std::string>& packets, ReportRequest request = {}) {
  TraceImporter importer({});
  importer.Import(PacketFromText(kDefinitions));
  for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
  importer.Import(PacketFromText("trailer { reason: REASON_EXIT end { cupti_ns: 7000000 monotonic_ns: 7000000 } }"));
  std::vector<TraceModel> models;
  models.push_back(importer.Finish());
  request.ladder_machines.emplace();
  const Report report = BuildReport(models, request);
  if (request.grouping == Grouping{}) return ReportMessage(report, nullptr);
  ReportRequest by_signature = request;
  by_signature.grouping = Grouping{};
  return ReportMessage(BuildReport(models, by_signature), &report);
}

pb::ClaimLabel LabelOf(const google::protobuf::Message& message, pb::ClaimLabel around) {
  const google::protobuf::FieldDescriptor* label = message.GetDescriptor()->FindFieldByName("label");
  if (label == nullptr || label->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_ENUM) return around;
  return static_cast<pb::ClaimLabel>(message.GetReflection()->GetEnumValue(message, label));
}

bool IsFigure(const google::protobuf::FieldDescriptor& field) {
  for (const char* unit : {"_ns", "_bytes", "_hz", "_ratio", "_per_second", "_milliwatts"}) {
    if (absl::EndsWith(field.name(), unit) && field.message_type() == nullptr) return true;
  }
  return field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE;
}

// Figures without a label, and figures in what calls itself unmeasured.
void Unlabelled(const google::protobuf::Message& message, const std::string& where, pb::ClaimLabel around,
                std::vector<std::string>* found) {
  const pb::ClaimLabel label = LabelOf(message, around);
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(where, ".", field->name());
    if (field->message_type() == nullptr) {
      if (IsFigure(*field) && (label == pb::CLAIM_LABEL_UNSPECIFIED || label == pb::CLAIM_LABEL_UNMEASURED)) {
        found->push_back(path);
      }
      continue;
    }
    const google::protobuf::Reflection* reflection = message.GetReflection();
    if (!field->is_repeated()) {
      Unlabelled(reflection->GetMessage(message, field), path, label, found);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      Unlabelled(reflection->GetRepeatedMessage(message, field, i), path, label, found);
    }
  }
}

TEST(ReportProtoTest, EveryFigureIsUnderALabel) {
  const pb::Report message = MessageOf({KernelPackets(1, 40, 1, 1), Samples(1, 3), Samples(2, 1)});
  ASSERT_THAT(message.signature(), SizeIs(2));
  EXPECT_TRUE(message.signature(0).has_ladder());
  EXPECT_TRUE(message.signature(0).has_roofline());
  std::vector<std::string> found;
  Unlabelled(message, "report", pb::CLAIM_LABEL_UNSPECIFIED, &found);
  EXPECT_THAT(found, IsEmpty());
  EXPECT_EQ(message.numerics_label(), pb::CLAIM_LABEL_UNMEASURED);
}

TEST(ReportProtoTest, LabelsFollowWhereAFigureIsFrom) {
  const pb::Report message = MessageOf({KernelPackets(1, 40, 1, 1), Samples(1, 3)});
  const pb::SignatureReport& signature = message.signature(0);
  EXPECT_EQ(signature.timing().label(), pb::CLAIM_LABEL_LOCALLY_MEASURED);
  EXPECT_EQ(signature.counter_group(0).label(), pb::CLAIM_LABEL_LOCALLY_MEASURED);
  EXPECT_EQ(signature.ladder().label(), pb::CLAIM_LABEL_ANALYTICAL);
  EXPECT_EQ(signature.occupancy().driver().label(), pb::CLAIM_LABEL_SOURCE_REPORTED);
  EXPECT_EQ(signature.occupancy().driver().blocks_per_sm(), 32u);
  EXPECT_EQ(message.process(0).device(0).limits().label(), pb::CLAIM_LABEL_SOURCE_REPORTED);
  EXPECT_EQ(message.process(0).device(0).machine().match(), pb::MachineUse::MATCH_NONE);
  EXPECT_EQ(message.process(0).device(0).machine().label(), pb::CLAIM_LABEL_UNMEASURED);
}

TEST(ReportProtoTest, OccupancyThatIsNotKnownIsUnmeasuredAndSaysWhy) {
  Report report;
  report.processes.emplace_back();
  report.kernels.emplace_back().launch.residency.unavailable = "the kernel's registers are not known";
  const pb::Report message = ReportMessage(report, nullptr);
  const pb::OccupancyReport& occupancy = message.signature(0).occupancy();
  EXPECT_EQ(occupancy.exact().label(), pb::CLAIM_LABEL_UNMEASURED);
  EXPECT_FALSE(occupancy.exact().has_blocks_per_sm());
  EXPECT_EQ(occupancy.exact().unavailable(), "the kernel's registers are not known");
  EXPECT_EQ(occupancy.driver().label(), pb::CLAIM_LABEL_UNMEASURED);
  EXPECT_EQ(message.signature(0).waves().label(), pb::CLAIM_LABEL_UNMEASURED);
}

TEST(ReportProtoTest, TermsOfALadderSumToItsTime) {
  const pb::LadderReport ladder = MessageOf({KernelPackets(1, 40, 1, 1), Samples(1, 3)}).signature(0).ladder();
  double sum_ns = 0;
  int64_t whole_ns = 0;
  for (const pb::LadderTermReport& term : ladder.term()) {
    sum_ns += term.ns();
    whole_ns += term.whole_ns();
  }
  EXPECT_NEAR(sum_ns, ladder.time_ns(), 1e-6);
  EXPECT_EQ(whole_ns, static_cast<int64_t>(std::llround(ladder.time_ns())));
}

TEST(ReportProtoTest, WithoutUsefulWorkThereIsNoBoundAndNoResidual) {
  const pb::LadderReport ladder = MessageOf({KernelPackets(1, 40, 1, 1), Samples(1, 3)}).signature(0).ladder();
  EXPECT_FALSE(ladder.has_lower_bound_ns());
  EXPECT_FALSE(ladder.has_bound_rung());
  EXPECT_FALSE(ladder.has_residual_ns());
  EXPECT_TRUE(ladder.has_above_work_ns());
  ASSERT_THAT(ladder.rung(), SizeIs(5));
  EXPECT_EQ(ladder.rung(0).rung(), pb::LadderReport::RUNG_R1_USEFUL);
  EXPECT_FALSE(ladder.rung(0).has_at_least_ns());
  EXPECT_EQ(ladder.rung(1).at_least_ns(), 1000);
  EXPECT_EQ(ladder.rung(1).binding(), "issue");
}

// One signature, number 7 of its trace, with a ladder.
Report OneLadder() {
  Report report;
  report.processes.emplace_back();
  report.kernels.emplace_back();
  report.kernels.emplace_back().signature = 7;
  report.kernel_groups_matched = 2;
  LadderSection& section = report.ladders.emplace_back();
  LadderRow& row = section.rows.emplace_back();
  row.signature = 7;
  row.ladder.time_ns = 100;
  row.ladder.terms[0] = {.ns = 100, .term_class = model::TermClass::kProven};
  row.whole_ns[0] = 100;
  TermEvidence& counted = row.evidence[0].emplace_back();
  counted.is_measured = true;
  counted.source = "dram__bytes.sum";
  counted.group = "light+";
  counted.window_ids = {2, 5};
  counted.sample_count = 3;
  row.evidence[0].emplace_back().source = "machine file";
  row.intervals.emplace();
  row.intervals->terms[0] = {.low = 90, .high = 110};
  LadderWhatIf& what_if = row.what_ifs.emplace_back();
  what_if.change = "coalesced";
  what_if.time_ns = 80;
  what_if.interval_ns = model::Interval{.low = 70, .high = 90};
  what_if.saved_ns = 20;
  what_if.saved_run_ns = 2000;
  what_if.binding = "dram";
  row.what_ifs.emplace_back().no_prediction = "a bound is above the time";
  row.findings.emplace_back().text = "at its roof";
  section.what_ifs = {{.row = 0, .what_if = 0}};
  section.findings = {{.row = 0, .finding = 0}};
  return report;
}

TEST(ReportProtoTest, TermsHaveTheirIntervalAndTheirEvidence) {
  const pb::Report message = ReportMessage(OneLadder(), nullptr);
  const pb::LadderTermReport& term = message.signature(1).ladder().term(0);
  EXPECT_EQ(term.kind(), pb::LadderTermReport::KIND_USEFUL);
  EXPECT_EQ(term.evidence_class(), pb::LadderTermReport::EVIDENCE_CLASS_PROVEN);
  EXPECT_EQ(term.interval_ns().low_ns(), 90);
  ASSERT_THAT(term.evidence(), SizeIs(2));
  EXPECT_EQ(term.evidence(0).label(), pb::CLAIM_LABEL_LOCALLY_MEASURED);
  EXPECT_EQ(term.evidence(0).source(), "dram__bytes.sum");
  EXPECT_THAT(term.evidence(0).window_id(), ElementsAre(2u, 5u));
  EXPECT_EQ(term.evidence(1).label(), pb::CLAIM_LABEL_UNMEASURED);
}

TEST(ReportProtoTest, WhatIfsWithoutAPredictionHaveNoFigures) {
  const pb::Report message = ReportMessage(OneLadder(), nullptr);
  ASSERT_THAT(message.signature(1).what_if(), SizeIs(2));
  EXPECT_EQ(message.signature(1).what_if(0).saved_run_ns(), 2000);
  EXPECT_EQ(message.signature(1).what_if(0).label(), pb::CLAIM_LABEL_ANALYTICAL);
  EXPECT_FALSE(message.signature(1).what_if(1).has_time_ns());
  EXPECT_EQ(message.signature(1).what_if(1).label(), pb::CLAIM_LABEL_UNMEASURED);
  EXPECT_EQ(message.signature(1).what_if(1).no_prediction(), "a bound is above the time");
}

TEST(ReportProtoTest, RankedListsPointAtSignaturesOfTheReport) {
  const pb::LadderCoverage ladders = ReportMessage(OneLadder(), nullptr).process(0).ladders();
  ASSERT_THAT(ladders.what_if(), SizeIs(1));
  EXPECT_EQ(ladders.what_if(0).signature_index(), 1u);
  EXPECT_EQ(ladders.what_if(0).index(), 0u);
  EXPECT_THAT(ladders.finding(), SizeIs(1));
  // A row that was left out is pointed at by nothing.
  Report report = OneLadder();
  report.kernels.pop_back();
  EXPECT_THAT(ReportMessage(report, nullptr).process(0).ladders().what_if(), IsEmpty());
}

TEST(ReportProtoTest, ModesStandBesideTheFiguresOfTheOneThatIsShown) {
  Report report = OneLadder();
  LadderRow& row = report.ladders[0].rows[0];
  row.modes.resize(2);
  row.modes[0].launch_ratio = 0.25;
  row.modes[1].launch_ratio = 0.75;
  row.modes[1].is_counted = true;
  row.modes[1].ladder.time_ns = 100;
  row.mode = 1;
  const pb::Report message = ReportMessage(report, nullptr);
  const pb::LadderReport& ladder = message.signature(1).ladder();
  ASSERT_THAT(ladder.mode(), SizeIs(2));
  EXPECT_EQ(ladder.mode_index(), 1u);
  EXPECT_FALSE(ladder.mode(0).is_counted());
  EXPECT_EQ(ladder.mode(1).ladder().time_ns(), 100);
}

TEST(ReportProtoTest, ARunIsExplainedUnderLabelsAndPointsAtItsSignatures) {
  Report report = OneLadder();
  RunExplanation& explanation = report.processes[0].explanation;
  explanation.idle.emplace_back().span_ns = 10;
  IdleCauseRow& cause = explanation.idle[0].causes.emplace_back();
  cause.id = "host_late";
  cause.total_ns = 4;
  explanation.launches.verdict = LaunchBound::kPartly;
  explanation.launches.graph = GraphSaving{.low_ns = 1, .high_ns = 2, .gap_count = 1, .node_ns = 1};
  FusablePair& pair = explanation.fusable.emplace_back();
  pair.producer_signature = 7;
  pair.consumer_signature = 8;
  pair.saved_run_ns = 5;
  FusableChain& chain = explanation.chains.emplace_back();
  chain.signatures = {7, 7};
  chain.names = {"a", "a"};
  chain.fused_time_ns = 4;
  explanation.chains.emplace_back(chain).signatures = {7, 8};
  explanation.tensor.emplace().paths.emplace_back().flops = 1e9;
  explanation.coverage.emplace().main_ratio = 0.96;
  explanation.findings.emplace_back().saved_ns = 3;
  const pb::Report message = ReportMessage(report, nullptr);
  const pb::RunExplanationReport& run = message.process(0).run().explanation();
  EXPECT_EQ(run.launches().verdict(), pb::LaunchVerdictReport::VERDICT_PARTLY);
  EXPECT_EQ(run.idle(0).cause(0).id(), "host_late");
  EXPECT_EQ(run.fusable(0).producer_index(), 1u);
  EXPECT_FALSE(run.fusable(0).has_consumer_index());
  EXPECT_THAT(run.fusable_chain(0).index(), ElementsAre(1, 1));
  EXPECT_EQ(run.fusable_chain(0).saving().fused_time_ns(), 4);
  EXPECT_THAT(run.fusable_chain(1).index(), IsEmpty());
  EXPECT_EQ(run.tensor().path(0).theoretical().label(), pb::CLAIM_LABEL_UNMEASURED);
  EXPECT_EQ(run.finding(0).saved_ns(), 3);
  std::vector<std::string> found;
  Unlabelled(message, "report", pb::CLAIM_LABEL_UNSPECIFIED, &found);
  EXPECT_THAT(found, IsEmpty());
}

TEST(ReportProtoTest, OfManyDurationsSixtyFourStandForAll) {
  const pb::TimingReport timing = MessageOf({KernelPackets(1, 400, 1, 1)}).signature(0).timing();
  EXPECT_EQ(timing.basis(), pb::TimingReport::BASIS_CLEAN);
  // Three are warm-up, the last one is next to a switch of windows.
  EXPECT_EQ(timing.population_count(), 396u);
  ASSERT_THAT(timing.sample_ns(), SizeIs(64));
  EXPECT_TRUE(std::is_sorted(timing.sample_ns().begin(), timing.sample_ns().end()));
  // 4,003 to 4,398 ns, evenly: the middle of the samples is that of the durations.
  EXPECT_NEAR(static_cast<double>(timing.sample_ns(31) + timing.sample_ns(32)) / 2, timing.median_ns(), 3.5);
}

TEST(ReportProtoTest, OfManySamplesOfAGroupSixtyFourAreKept) {
  const pb::CounterGroupReport group =
      MessageOf({KernelPackets(1, 40, 1, 1), Samples(1, 90)}).signature(0).counter_group(0);
  EXPECT_EQ(group.sample_count(), 90u);
  EXPECT_THAT(group.sample(), SizeIs(64));
}

TEST(ReportProtoTest, ASignatureThatWasOnlyCountedHasARowWithoutTimes) {
  const pb::Report message = MessageOf({KernelPackets(1, 40, 1, 1), Samples(2, 1)});
  ASSERT_THAT(message.signature(), SizeIs(2));
  EXPECT_EQ(message.signature_count(), 2u);
  const pb::SignatureReport& counted = message.signature(1);
  EXPECT_EQ(counted.name(), "second");
  EXPECT_EQ(counted.launch().grid().x(), 8u);
  EXPECT_EQ(counted.timing().basis(), pb::TimingReport::BASIS_NONE);
  EXPECT_FALSE(counted.timing().has_median_ns());
  EXPECT_THAT(counted.counter_group(), SizeIs(1));
}

TEST(ReportProtoTest, AnotherGroupingStandsBesideTheSignatures) {
  ReportRequest request;
  request.grouping = Grouping{.signature = false, .stream = true};
  const pb::Report message = MessageOf({KernelPackets(1, 40, 1, 1)}, request);
  EXPECT_THAT(message.view().grouping(), ElementsAre("stream"));
  ASSERT_THAT(message.signature(), SizeIs(1));
  EXPECT_EQ(message.signature(0).name(), "first");
  ASSERT_THAT(message.group(), SizeIs(1));
  EXPECT_EQ(message.group(0).timing().call_count(), 40u);
  EXPECT_TRUE(message.group(0).has_stream());
  EXPECT_FALSE(message.group(0).has_nvtx());
}

TEST(ReportProtoTest, SignaturesBeyondTheBoundAreCountedAndLeftOut) {
  Report report;
  report.processes.emplace_back();
  report.kernels.resize(kMaxReportSignatures + 5);
  report.kernels[0].full_name = std::string(2 * kMaxReportNameLength, 'n');
  report.kernel_groups_matched = report.kernels.size();
  const pb::Report message = ReportMessage(report, &report);
  EXPECT_EQ(static_cast<size_t>(message.signature_size()), kMaxReportSignatures);
  EXPECT_EQ(message.signature_count(), kMaxReportSignatures + 5);
  EXPECT_EQ(static_cast<size_t>(message.group_size()), kMaxReportGroups);
  EXPECT_EQ(message.group_count(), kMaxReportSignatures + 5);
  EXPECT_THAT(message.signature(0).name(), SizeIs(kMaxReportNameLength));
}

TEST(ReportProtoTest, ListsOfAProcessAreBoundedAndSayHowLongTheyWere) {
  Report report;
  report.processes.emplace_back();
  CountersSection& counters = report.counters.emplace_back();
  counters.window_clocks.resize(kMaxReportWindows + 1);
  counters.denied.resize(kMaxReportDenials + 2);
  counters.graphs.resize(kMaxReportGraphs + 3);
  counters.graphs[0].kernels.resize(kMaxReportGraphKernels + 4);
  const pb::Report message = ReportMessage(report, nullptr);
  const pb::CounterReport& written = message.process(0).counters();
  EXPECT_EQ(static_cast<size_t>(written.window_clocks_size()), kMaxReportWindows);
  EXPECT_EQ(written.window_clocks_count(), kMaxReportWindows + 1);
  EXPECT_EQ(static_cast<size_t>(written.denied_size()), kMaxReportDenials);
  EXPECT_EQ(written.denied_count(), kMaxReportDenials + 2);
  EXPECT_EQ(static_cast<size_t>(message.graph_size()), kMaxReportGraphs);
  EXPECT_EQ(message.graph_count(), kMaxReportGraphs + 3);
  EXPECT_EQ(static_cast<size_t>(message.graph(0).kernel_size()), kMaxReportGraphKernels);
  EXPECT_EQ(message.graph(0).distinct_kernel_count(), kMaxReportGraphKernels + 4);
}

}  // namespace
}  // namespace gx::analysis
