#include "analysis/counter_importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/trace_importer.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::PacketFromText;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kDefinitions[] = R"(
  header { format_major: 1 format_minor: 1 start { cupti_ns: 1000 monotonic_ns: 1000 } }
  name { iid: 1 value: "k" }
  function { iid: 1 name_iid: 1 }
  signature { iid: 1 function_iid: 1 grid_x: 1 block_x: 32 }
  window { window_id: 1 kind: KIND_TIMING }
  window { window_id: 2 kind: KIND_COUNTERS }
  graph_exec { graph_exec_id: 9 graph_id: 8 kernel_node_count: 3 }
  counter_group { iid: 1 name: "light" kind: KIND_HARDWARE metric: ["a.sum", "b.avg"] }
  counter_group { iid: 2 name: "sass" kind: KIND_SASS metric: "c.sum" }
)";

TraceModel Import(const std::vector<std::string>& packets) {
  TraceImporter importer({});
  importer.Import(PacketFromText(kDefinitions));
  for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
  return importer.Finish();
}

std::string Batch(const std::string& rest, int window = 2) {
  return "counter_batch { session_id: 1 window_id: " + std::to_string(window) + " " + rest + " }";
}

TEST(CounterImporterTest, ATraceWithoutCountersSaysNothingOfThem) {
  const TraceModel model = Import({});
  EXPECT_TRUE(model.counters.any()) << "groups are defined";
  TraceImporter importer({});
  importer.Import(PacketFromText("header { format_major: 1 }"));
  EXPECT_FALSE(importer.Finish().counters.any());
}

TEST(CounterImporterTest, SamplesAreKeptBySignatureAndGroup) {
  const TraceModel model =
      Import({Batch("count: 3 group_iid: 1 signature_iid: [1, 1, 0] metric_count: 2 integer_value: [1, 2, 0, 0, 5, 5]"),
              Batch("count: 1 group_iid: 2 signature_iid: 1 metric_count: 1 integer_value: 7")});
  ASSERT_THAT(model.counters.series, SizeIs(3));
  EXPECT_EQ(model.counters.sample_count, 4u);
  EXPECT_EQ(model.counters.series[0].signature, 0u);
  EXPECT_EQ(model.counters.series[0].samples.count(), 2u);
  EXPECT_EQ(model.counters.series[1].signature, CounterSeries::kNoSignature) << "parameters could not be read";
  EXPECT_EQ(model.counters.series[2].group_iid, 2u);
  EXPECT_THAT(model.undecodable_reasons, IsEmpty());
}

TEST(CounterImporterTest, AGraphTotalIsNeverAKernels) {
  const TraceModel model = Import({Batch(
      "count: 2 group_iid: 2 signature_iid: [1, 1] graph_exec_id: [0, 9] metric_count: 1 integer_value: [4, 100]")});
  ASSERT_THAT(model.counters.series, SizeIs(2));
  const CounterSeries& kernel = model.counters.series[0];
  const CounterSeries& graph = model.counters.series[1];
  EXPECT_FALSE(kernel.is_graph());
  EXPECT_EQ(kernel.samples.Figures(0).max, 4.0);
  EXPECT_TRUE(graph.is_graph());
  EXPECT_EQ(graph.signature, CounterSeries::kNoSignature);
  EXPECT_EQ(graph.samples.Figures(0).median, 104.0);
  ASSERT_EQ(model.counted_graphs.count(9), 1u);
  EXPECT_EQ(model.counted_graphs.at(9).kernel_node_count(), 3u);
}

TEST(CounterImporterTest, SamplesOfTimingWindowsAreNotUsed) {
  const TraceModel model =
      Import({Batch("count: 1 group_iid: 2 signature_iid: 1 metric_count: 1 integer_value: 4", 1)});
  EXPECT_THAT(model.counters.series, IsEmpty());
  EXPECT_EQ(model.counters.misplaced_count, 1u);
  EXPECT_EQ(model.counters.sample_count, 1u);
}

TEST(CounterImporterTest, AGroupWithoutDefinitionGivesNumbersWithoutNames) {
  const TraceModel model = Import({Batch("count: 1 group_iid: 5 signature_iid: 1 metric_count: 1 integer_value: 4")});
  EXPECT_THAT(model.counters.series, IsEmpty());
  EXPECT_EQ(model.undefined_count.at("counter group"), 1u);
}

TEST(CounterImporterTest, OtherMetricsThanTheGroupHasAreRefused) {
  const TraceModel model = Import({Batch("count: 2 group_iid: 1 metric_count: 1 integer_value: [4, 4]")});
  EXPECT_EQ(model.undecodable_record_count, 2u);
  ASSERT_THAT(model.undecodable_reasons, SizeIs(1));
  EXPECT_THAT(model.undecodable_reasons[0],
              HasSubstr("CounterBatch.metric_count: expected 2 (metrics of group 1), got 1"));
}

TEST(CounterImporterTest, AGroupDefinedAgainKeepsItsMetricsOnce) {
  const TraceModel model =
      Import({"counter_group { iid: 1 chip: 'GH100' } counter_group { iid: 2 metric: ['c.sum'] }",
              Batch("count: 1 group_iid: 1 signature_iid: 1 metric_count: 2 integer_value: [1, 2]")});
  EXPECT_EQ(model.counters.groups.at(1).metric_size(), 2);
  EXPECT_EQ(model.counters.groups.at(1).chip(), "GH100");
  EXPECT_EQ(model.counters.groups.at(2).metric_size(), 1);
  EXPECT_THAT(model.counters.series, SizeIs(1));
}

TEST(CounterImporterTest, ASessionIsToldTwiceAndCountedOnce) {
  const TraceModel model = Import(
      {"counter_session { session_id: 1 window_id: 2 begin_monotonic_ns: 5 }",
       "counter_session { session_id: 1 end_monotonic_ns: 9 outcome: OUTCOME_COMPLETE range_count: 4 push_ns: 7 }"});
  ASSERT_THAT(model.counters.sessions, SizeIs(1));
  EXPECT_EQ(model.counters.sessions.at(1).begin_monotonic_ns(), 5u);
  EXPECT_EQ(model.counters.sessions.at(1).range_count(), 4u);
}

TEST(CounterImporterTest, DenialsOfGraphsAndContextsAreKeptApart) {
  const TraceModel model =
      Import({"counter_denial { graph_exec_id: 7 reason: REASON_DEADLINE } "
              "counter_denial { graph_exec_id: 8 reason: REASON_DEADLINE } "
              "counter_denial { context_id: 7 reason: REASON_PEER_MEMORY } "
              "counter_denial { context_id: 7 reason: REASON_IPC_MEMORY }"});
  EXPECT_THAT(model.counters.denials, SizeIs(4));
}

TEST(CounterImporterTest, TheLastWordOnADeviceHolds) {
  const TraceModel model =
      Import({"counter_access { device_id: 0 state: STATE_ALLOWED } "
              "counter_denial { function_iid: 1 reason: REASON_NAME detail: 'a' }",
              "counter_access { device_id: 0 state: STATE_HELD_BY_OTHER } "
              "counter_denial { function_iid: 1 reason: REASON_NAME detail: 'b' } "
              "counter_denial { function_iid: 1 reason: REASON_DEADLINE }"});
  EXPECT_EQ(model.counters.access.at(0).state(), gpuexec::v1::CounterAccess::STATE_HELD_BY_OTHER);
  EXPECT_THAT(model.counters.denials, SizeIs(2));
}

TEST(CounterImporterTest, LaunchesOfCounterWindowsAreUntimedBesideTheirSamples) {
  const TraceModel model =
      Import({"launch_batch { count: 2 thread_id: 5 window_id: 2 base_enter_monotonic_ns: 10 enter_delta: [0, 1] "
              "base_correlation_id: 1 correlation_delta: [0, 1] signature_iid: 1 }",
              Batch("count: 1 group_iid: 2 base_correlation_id: 1 signature_iid: 1 metric_count: 1 integer_value: 4")});
  EXPECT_EQ(model.accounting.untimed_launches, 2u);
  EXPECT_EQ(model.accounting.counter_window_launches, 2u);
  EXPECT_EQ(model.accounting.launches_without_kernel, 0u);
}

// ---------------------------------------------------------------------------------------------------- memory

struct Direct {
  CounterModel model;
  CounterImporter importer;
  explicit Direct(const CounterImporter::Limits& limits) : importer(&model, limits) {
    importer.ImportDefinitions(PacketFromText(kDefinitions));
  }
  void Add(const std::string& batch) {
    const auto index = [](uint64_t iid) { return static_cast<uint32_t>(iid); };
    const auto other = [](uint64_t) { return false; };
    const auto undefined = [](const char*) {};
    const auto time = [](uint64_t) {};
    const auto packet = PacketFromText(batch);
    const DecodedBatch decoded =
        importer.ImportSamples(packet.counter_batch(0), CounterImporter::Context{index, other, undefined, time});
    EXPECT_TRUE(decoded.problem.ok()) << decoded.problem;
  }
};

TEST(CounterImporterTest, SeriesBeyondTheLimitAreCounted) {
  Direct direct({.metric_slots = 4, .kept_values = 1000});
  direct.Add(
      Batch("count: 4 group_iid: 1 signature_iid: [1, 2, 3, 1] metric_count: 2 "
            "integer_value: [1, 1, 0, 0, 0, 0, 0, 0]"));
  EXPECT_THAT(direct.model.series, SizeIs(2));
  EXPECT_EQ(direct.model.beyond_limit_count, 1u);
  EXPECT_EQ(direct.model.series[0].samples.count(), 2u);
}

TEST(CounterImporterTest, ValuesBeyondTheLimitAreCountedAndNotKept) {
  Direct direct({.metric_slots = 100, .kept_values = 3 + CounterSamples::kOverheadValues});
  direct.Add(Batch("count: 3 group_iid: 1 signature_iid: 1 metric_count: 2 integer_value: [1, 1, 1, 1, 1, 1]"));
  EXPECT_EQ(direct.model.series[0].samples.kept_count(), 1u);
  EXPECT_EQ(direct.model.series[0].samples.count(), 3u);
  EXPECT_EQ(direct.model.series[0].samples.Figures(0).max, 3.0);
}

}  // namespace
}  // namespace gx::analysis
