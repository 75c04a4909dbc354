#include "analysis/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gpuexec::v1::ApiCallBatch;
using ::gpuexec::v1::CounterBatch;
using ::gpuexec::v1::KernelBatch;
using ::gpuexec::v1::KernelSummary;
using ::gpuexec::v1::LaunchBatch;
using ::gpuexec::v1::MemoryBatch;
using ::gpuexec::v1::NvtxEventBatch;
using ::gpuexec::v1::OverheadBatch;
using ::gpuexec::v1::SynchronizationBatch;
using ::gx::testing::FromText;
using ::gx::testing::IsOk;
using ::gx::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <typename Row>
struct Rows {
  std::vector<Row> rows;
  DecodedBatch decoded;
};

Rows<LaunchRow> Launches(const LaunchBatch& batch) {
  Rows<LaunchRow> out;
  out.decoded = ForEachLaunch(batch, [&out](const LaunchRow& row) { out.rows.push_back(row); });
  EXPECT_EQ(out.decoded.record_count, out.rows.size());
  EXPECT_EQ(out.decoded.problem.ok(), out.decoded.lost_count == 0);
  return out;
}

Rows<KernelRow> Kernels(const KernelBatch& batch) {
  Rows<KernelRow> out;
  out.decoded = ForEachKernel(batch, [&out](const KernelRow& row) { out.rows.push_back(row); });
  EXPECT_EQ(out.decoded.record_count, out.rows.size());
  EXPECT_EQ(out.decoded.problem.ok(), out.decoded.lost_count == 0);
  return out;
}

Rows<MemoryRow> Copies(const MemoryBatch& batch) {
  Rows<MemoryRow> out;
  out.decoded = ForEachMemory(batch, [&out](const MemoryRow& row) { out.rows.push_back(row); });
  EXPECT_EQ(out.decoded.problem.ok(), out.decoded.lost_count == 0);
  return out;
}

TEST(Columns, OneValueStandsForAllAndNoneForZero) {
  const Rows<LaunchRow> got = Launches(FromText<LaunchBatch>(
      "count: 3 thread_id: 7 window_id: 2 base_enter_monotonic_ns: 1000 enter_delta: [0, 5, 6] "
      "base_correlation_id: 40 correlation_delta: [0, 1, -3] track_iid: 9 signature_iid: [1, 2, 1]"));
  ASSERT_THAT(got.rows, SizeIs(3));
  EXPECT_EQ(got.rows[0].enter_monotonic_ns, 1000u);
  EXPECT_EQ(got.rows[1].enter_monotonic_ns, 1005u);
  EXPECT_EQ(got.rows[2].enter_monotonic_ns, 1011u);
  EXPECT_EQ(got.rows[0].correlation_id, 40u);
  EXPECT_EQ(got.rows[1].correlation_id, 41u);
  EXPECT_EQ(got.rows[2].correlation_id, 38u);
  for (const LaunchRow& row : got.rows) {
    EXPECT_EQ(row.thread_id, 7u);
    EXPECT_EQ(row.window_id, 2u);
    EXPECT_EQ(row.track_iid, 9u) << "one value for all";
    EXPECT_EQ(row.graph_exec_id, 0u) << "empty: zero for all";
    EXPECT_EQ(row.result, 0u);
  }
  EXPECT_EQ(got.rows[1].signature_iid, 2u);
  EXPECT_THAT(got.decoded.problem, IsOk());
}

TEST(Columns, HostTimesCountInTheirUnit) {
  const Rows<LaunchRow> got = Launches(
      FromText<LaunchBatch>("count: 3 base_enter_monotonic_ns: 1000 enter_unit_ns: 16 enter_delta: [0, 5, 4375]"));
  ASSERT_THAT(got.rows, SizeIs(3));
  EXPECT_EQ(got.rows[0].enter_monotonic_ns, 1000u);
  EXPECT_EQ(got.rows[1].enter_monotonic_ns, 1080u);
  EXPECT_EQ(got.rows[2].enter_monotonic_ns, 71080u);
}

TEST(Columns, AnEmptyBatchHasNoRecords) {
  const Rows<LaunchRow> got = Launches(LaunchBatch());
  EXPECT_THAT(got.rows, IsEmpty());
  EXPECT_THAT(got.decoded.problem, IsOk());
}

TEST(Columns, KernelStartsCountFromTheEndBeforeInTheirUnits) {
  const Rows<KernelRow> got = Kernels(FromText<KernelBatch>(
      "count: 3 timing: TIMING_COMPLETE base_start_ns: 10000 start_unit_ns: 32 start_delta: [0, 2, -5] "
      "duration_unit_ns: 32 duration_delta: [10, 10, -19] base_correlation_id: 1 correlation_delta: [0, 1, 1] "
      "attributes_iid: 4 graph_id: 6 graph_node_delta: [100, 1, -1]"));
  ASSERT_THAT(got.rows, SizeIs(3));
  EXPECT_EQ(got.rows[0].start_ns, 10000u);
  EXPECT_EQ(got.rows[0].end_ns, 10320u);
  EXPECT_EQ(got.rows[0].duration_ns, 320u);
  EXPECT_EQ(got.rows[1].start_ns, 10384u);
  EXPECT_EQ(got.rows[1].end_ns, 11024u);
  EXPECT_EQ(got.rows[2].start_ns, 10864u) << "overlaps the one before";
  EXPECT_EQ(got.rows[2].end_ns, 10896u);
  EXPECT_EQ(got.rows[0].graph_node_id, 100u);
  EXPECT_EQ(got.rows[1].graph_node_id, 101u);
  EXPECT_EQ(got.rows[2].graph_node_id, 100u);
  EXPECT_EQ(got.rows[2].graph_id, 6u);
  EXPECT_EQ(got.rows[2].attributes_iid, 4u);
}

TEST(Columns, KernelDurationsCountFromTheLastOneWithTheSameAttributes) {
  const Rows<KernelRow> got = Kernels(FromText<KernelBatch>(
      "count: 6 timing: TIMING_COMPLETE duration_unit_ns: 32 duration_delta: [10, 50, 1, -3, 7, -1] "
      "attributes_iid: [1, 2, 1, 2, 0, 1]"));
  std::vector<uint64_t> durations_ns;
  for (const KernelRow& row : got.rows) durations_ns.push_back(row.duration_ns);
  EXPECT_THAT(durations_ns, ::testing::ElementsAre(320, 1600, 352, 1504, 224, 320));

  const Rows<KernelRow> none = Kernels(
      FromText<KernelBatch>("count: 2 timing: TIMING_COMPLETE correlation_delta: [0, 1] attributes_iid: [1, 2]"));
  ASSERT_THAT(none.rows, SizeIs(2));
  EXPECT_EQ(none.rows[1].duration_ns, 0u);
}

TEST(Columns, KernelsWithoutTimesHaveNone) {
  const Rows<KernelRow> missing =
      Kernels(FromText<KernelBatch>("count: 2 timing: TIMING_MISSING correlation_delta: [5, 1] attributes_iid: 1"));
  ASSERT_THAT(missing.rows, SizeIs(2));
  EXPECT_EQ(missing.rows[1].timing, KernelBatch::TIMING_MISSING);
  EXPECT_EQ(missing.rows[1].correlation_id, 6u);
  EXPECT_EQ(missing.rows[1].start_ns, 0u);

  const Rows<KernelRow> unfinished =
      Kernels(FromText<KernelBatch>("count: 2 timing: TIMING_UNFINISHED base_start_ns: 100 start_unit_ns: 1 "
                                    "start_delta: [0, 7] correlation_delta: [5, 1]"));
  ASSERT_THAT(unfinished.rows, SizeIs(2));
  EXPECT_EQ(unfinished.rows[0].start_ns, 100u);
  EXPECT_EQ(unfinished.rows[1].start_ns, 107u) << "from the start before where there is no end";
  EXPECT_EQ(unfinished.rows[1].end_ns, 0u);
}

TEST(Columns, AnEndBeforeItsStartIsKeptAsItWas) {
  const Rows<KernelRow> got =
      Kernels(FromText<KernelBatch>("count: 1 timing: TIMING_INVALID base_start_ns: 1000 start_unit_ns: 1 start_delta: "
                                    "0 duration_unit_ns: 1 duration_delta: 400"));
  ASSERT_THAT(got.rows, SizeIs(1));
  EXPECT_EQ(got.rows[0].start_ns, 1000u);
  EXPECT_EQ(got.rows[0].end_ns, 600u);
  EXPECT_EQ(got.rows[0].duration_ns, 400u);
}

TEST(Columns, CopiesHaveEveryField) {
  const Rows<MemoryRow> got = Copies(FromText<MemoryBatch>(
      "count: 2 kind: KIND_MEMCPY_PEER base_start_ns: 50 start_unit_ns: 1 start_delta: [0, 10] duration_unit_ns: 2 "
      "duration: [3, 0] base_correlation_id: 8 correlation_delta: [0, 2] track_iid: 1 size_bytes: [4096, 1] copy_kind: "
      "10 "
      "source_memory_kind: 3 destination_memory_kind: 4 source_device_id: 5 destination_device_id: 6 graph_id: 7 "
      "graph_node_delta: [11, 1]"));
  ASSERT_THAT(got.rows, SizeIs(2));
  const MemoryRow& row = got.rows[1];
  EXPECT_EQ(got.rows[0].end_ns, 56u);
  EXPECT_EQ(row.kind, MemoryBatch::KIND_MEMCPY_PEER);
  EXPECT_EQ(row.start_ns, 66u);
  EXPECT_EQ(row.end_ns, 66u);
  EXPECT_EQ(row.duration_ns, 0u);
  EXPECT_EQ(row.correlation_id, 10u);
  EXPECT_EQ(row.track_iid, 1u);
  EXPECT_EQ(row.size_bytes, 1u);
  EXPECT_EQ(row.copy_kind, 10u);
  EXPECT_EQ(row.source_memory_kind, 3u);
  EXPECT_EQ(row.destination_memory_kind, 4u);
  EXPECT_EQ(row.source_device_id, 5u);
  EXPECT_EQ(row.destination_device_id, 6u);
  EXPECT_EQ(row.graph_id, 7u);
  EXPECT_EQ(row.graph_node_id, 12u);
}

TEST(Columns, SynchronizationOverheadCallsAndNvtxHaveEveryField) {
  std::vector<SynchronizationRow> waits;
  EXPECT_THAT(ForEachSynchronization(FromText<SynchronizationBatch>(
                                         "count: 2 base_start_ns: 10 start_delta_ns: [0, -4] duration_ns: [5, 6] "
                                         "base_correlation_id: 1 correlation_delta: [0, 1] type: 3 track_iid: [1, 2]"),
                                     [&waits](const SynchronizationRow& row) { waits.push_back(row); })
                  .problem,
              IsOk());
  ASSERT_THAT(waits, SizeIs(2));
  EXPECT_EQ(waits[1].start_ns, 6u) << "from the start before, not its end";
  EXPECT_EQ(waits[1].duration_ns, 6u);
  EXPECT_EQ(waits[1].correlation_id, 2u);
  EXPECT_EQ(waits[1].type, 3u);
  EXPECT_EQ(waits[1].track_iid, 2u);

  std::vector<OverheadRow> costs;
  EXPECT_THAT(ForEachOverhead(
                  FromText<OverheadBatch>(
                      "count: 2 base_start_ns: 10 start_delta_ns: [0, 3] duration_ns: 5 kind: [1, 2] thread_id: 77"),
                  [&costs](const OverheadRow& row) { costs.push_back(row); })
                  .problem,
              IsOk());
  ASSERT_THAT(costs, SizeIs(2));
  EXPECT_EQ(costs[1].start_ns, 13u);
  EXPECT_EQ(costs[1].duration_ns, 5u);
  EXPECT_EQ(costs[1].kind, 2u);
  EXPECT_EQ(costs[1].thread_id, 77u);

  std::vector<ApiCallRow> calls;
  EXPECT_THAT(ForEachApiCall(FromText<ApiCallBatch>("count: 2 thread_id: 7 base_start_ns: 10 start_delta_ns: [0, -2] "
                                                    "duration_ns: [5, 9] base_correlation_id: 4 "
                                                    "correlation_delta: [0, 1] function_iid: [2, 1] result: [0, 700]"),
                             [&calls](const ApiCallRow& row) { calls.push_back(row); })
                  .problem,
              IsOk());
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_EQ(calls[1].thread_id, 7u);
  EXPECT_EQ(calls[1].start_ns, 8u);
  EXPECT_EQ(calls[1].duration_ns, 9u);
  EXPECT_EQ(calls[1].correlation_id, 5u);
  EXPECT_EQ(calls[1].function_iid, 1u);
  EXPECT_EQ(calls[0].result, 0u);
  EXPECT_EQ(calls[1].result, 700u);

  std::vector<NvtxEventRow> events;
  EXPECT_THAT(ForEachNvtxEvent(FromText<NvtxEventBatch>(
                                   "count: 2 thread_id: 5 base_monotonic_ns: 100 time_unit_ns: 3 time_delta: [0, 3] "
                                   "kind: [1, 250] domain_iid: 1 name_iid: [3, 0] range_id: 8 payload_iid: 4"),
                               [&events](const NvtxEventRow& row) { events.push_back(row); })
                  .problem,
              IsOk());
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].thread_id, 5u);
  EXPECT_EQ(events[1].monotonic_ns, 109u);
  EXPECT_EQ(events[1].kind, 250u) << "a kind of a later version is kept";
  EXPECT_EQ(events[1].domain_iid, 1u);
  EXPECT_EQ(events[0].name_iid, 3u);
  EXPECT_EQ(events[1].range_id, 8u);
  EXPECT_EQ(events[1].payload_iid, 4u);
}

TEST(Columns, AColumnOfAWrongLengthRefusesTheBatchByName) {
  const Rows<LaunchRow> values =
      Launches(FromText<LaunchBatch>("count: 3 correlation_delta: [1, 1, 1] signature_iid: [1, 2]"));
  EXPECT_THAT(values.rows, IsEmpty());
  EXPECT_EQ(values.decoded.lost_count, 3u);
  EXPECT_THAT(values.decoded.problem,
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("LaunchBatch.signature_iid: expected 0, 1 or 3 values (count), got 2")));

  const Rows<KernelRow> deltas = Kernels(FromText<KernelBatch>("count: 3 start_delta: 1 start_unit_ns: 1"));
  EXPECT_THAT(deltas.rows, IsEmpty()) << "one difference does not stand for all";
  EXPECT_THAT(deltas.decoded.problem,
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("KernelBatch.start_delta: expected 0 or 3 values (count), got 1")));
}

TEST(Columns, ACountThatIsTooSmallLosesTheValuesBeyondIt) {
  const Rows<LaunchRow> got = Launches(FromText<LaunchBatch>("signature_iid: [1, 2, 3, 4]"));
  EXPECT_THAT(got.rows, IsEmpty());
  EXPECT_EQ(got.decoded.lost_count, 4u);
  EXPECT_THAT(got.decoded.problem, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("signature_iid")));
}

TEST(Columns, ACountThatNoColumnProvesIsCapped) {
  const uint64_t claimed = uint64_t{1} << 60;
  LaunchBatch batch = FromText<LaunchBatch>("thread_id: 1 signature_iid: 5");
  batch.set_count(claimed);
  const Rows<LaunchRow> got = Launches(batch);
  EXPECT_THAT(got.rows, SizeIs(kMaxConstantRecords));
  EXPECT_EQ(got.decoded.lost_count, claimed - kMaxConstantRecords);
  EXPECT_THAT(got.decoded.problem,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("LaunchBatch.count: 1152921504606846976")));

  batch.set_count(kMaxConstantRecords);
  EXPECT_THAT(Launches(batch).decoded.problem, IsOk());
}

TEST(Columns, ValuesThatLeave64BitsEndTheBatchThere) {
  const Rows<LaunchRow> enter = Launches(FromText<LaunchBatch>(
      "count: 3 base_enter_monotonic_ns: 18446744073709551610 enter_delta: [0, 5, 1] correlation_delta: [0, 1, 1]"));
  EXPECT_THAT(enter.rows, SizeIs(2));
  EXPECT_EQ(enter.decoded.lost_count, 1u);
  EXPECT_THAT(enter.decoded.problem,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("LaunchBatch.enter_delta: record 2 of 3 leaves")));
  const Rows<LaunchRow> steps = Launches(FromText<LaunchBatch>(
      "count: 2 base_enter_monotonic_ns: 5 enter_unit_ns: 16 enter_delta: [1, 1152921504606846976]"));
  EXPECT_THAT(steps.rows, SizeIs(1));
  EXPECT_EQ(steps.decoded.lost_count, 1u);

  const std::vector<std::string> kernels = {
      "count: 1 timing: TIMING_COMPLETE duration_unit_ns: 2 duration_delta: -9223372036854775808",
      "count: 1 timing: TIMING_COMPLETE duration_unit_ns: 1 duration_delta: -1 base_start_ns: 1",
      "count: 1 timing: TIMING_INVALID duration_unit_ns: 1 duration_delta: 5 base_start_ns: 4",
  };
  for (const std::string& text : kernels) {
    const Rows<KernelRow> got = Kernels(FromText<KernelBatch>(text));
    EXPECT_EQ(got.decoded.lost_count, 1u) << text;
    EXPECT_THAT(got.decoded.problem, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("64-bit"))) << text;
  }
  EXPECT_EQ(
      Copies(FromText<MemoryBatch>("count: 1 duration_unit_ns: 2 duration: 9223372036854775808")).decoded.lost_count,
      1u);
}

TEST(Columns, ValuesAtTheEdgeOf64BitsAreRead) {
  const Rows<KernelRow> got = Kernels(
      FromText<KernelBatch>("count: 2 timing: TIMING_COMPLETE base_start_ns: 9223372036854775808 start_unit_ns: 1 "
                            "start_delta: [-9223372036854775808, 0] duration_unit_ns: 1 duration_delta: [0, -1]"));
  ASSERT_THAT(got.rows, SizeIs(2));
  EXPECT_EQ(got.rows[0].start_ns, 0u);
  EXPECT_EQ(got.rows[1].end_ns, ~uint64_t{0});
}

TEST(Columns, DifferencesWithASignReachAnyValueFromAny) {
  const Rows<KernelRow> got = Kernels(FromText<KernelBatch>(
      "count: 3 timing: TIMING_COMPLETE base_start_ns: 0 start_unit_ns: 3 start_delta: [0, -1, 1] "
      "base_correlation_id: 0 correlation_delta: [-1, 1, -9223372036854775808] "
      "graph_node_delta: [-1, 1, 0]"));
  ASSERT_THAT(got.rows, SizeIs(3));
  EXPECT_EQ(got.rows[1].start_ns, ~uint64_t{0} - 2);
  EXPECT_EQ(got.rows[2].start_ns, 0u);
  EXPECT_EQ(got.rows[0].correlation_id, ~uint64_t{0});
  EXPECT_EQ(got.rows[1].correlation_id, 0u);
  EXPECT_EQ(got.rows[2].correlation_id, uint64_t{1} << 63);
  EXPECT_EQ(got.rows[0].graph_node_id, ~uint64_t{0});
}

TEST(Columns, AUnitOfZeroIsRefusedWhereItMatters) {
  EXPECT_THAT(Kernels(FromText<KernelBatch>("count: 1 timing: TIMING_COMPLETE start_delta: 5")).decoded.problem,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("KernelBatch.start_unit_ns: expected 1 or more, got 0")));
  EXPECT_THAT(Copies(FromText<MemoryBatch>("count: 1 duration: 5")).decoded.problem,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("MemoryBatch.duration_unit_ns")));
  EXPECT_THAT(Kernels(FromText<KernelBatch>("count: 1 timing: TIMING_COMPLETE base_start_ns: 9 duration_delta: 0"))
                  .decoded.problem,
              IsOk());
}

TEST(Columns, DurationBucketsComeInPairs) {
  std::vector<uint64_t> counts;
  const DecodedBatch good = ForEachDurationBucket(
      FromText<KernelSummary>("bucket: [80, 81] bucket_count: [5, 6]"),
      [&counts](const DurationBucketRow& row) { counts.push_back(row.bucket * 1000 + row.count); });
  EXPECT_THAT(good.problem, IsOk());
  EXPECT_THAT(counts, ::testing::ElementsAre(80005, 81006));

  const DecodedBatch bad = ForEachDurationBucket(FromText<KernelSummary>("bucket: [80, 81] bucket_count: 5"),
                                                 [](const DurationBucketRow&) { ADD_FAILURE() << "visited"; });
  EXPECT_EQ(bad.lost_count, 2u);
  EXPECT_THAT(bad.problem, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("KernelSummary.bucket_count")));
}

// ------------------------------------------------------------------------------------------------ counter samples

struct Sample {
  CounterSampleRow row;
  std::vector<double> values;
};
struct Samples {
  std::vector<Sample> rows;
  DecodedBatch decoded;
};

Samples CounterSamples(const std::string& batch) {
  Samples out;
  out.decoded = ForEachCounterSample(FromText<CounterBatch>(batch), [&out](const CounterSampleRow& row) {
    out.rows.push_back({row, {row.values.begin(), row.values.end()}});
  });
  EXPECT_EQ(out.decoded.record_count, out.rows.size());
  EXPECT_EQ(out.decoded.problem.ok(), out.decoded.lost_count == 0);
  return out;
}

void ExpectRefused(const std::string& batch, uint64_t lost, const std::string& what) {
  const Samples got = CounterSamples(batch);
  EXPECT_THAT(got.rows, IsEmpty()) << batch;
  EXPECT_EQ(got.decoded.lost_count, lost) << batch;
  EXPECT_THAT(got.decoded.problem, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(what))) << batch;
}

TEST(CounterColumns, ASampleHasEveryField) {
  const Samples got = CounterSamples(
      "count: 2 group_iid: 3 session_id: 4 window_id: 5 context_id: 6 base_enter_monotonic_ns: 1600 enter_unit_ns: 16 "
      "enter_delta: [0, -10] base_correlation_id: 40 correlation_delta: [0, 2] thread_id: 7 signature_iid: [1, 0] "
      "graph_exec_id: [0, 9] base_range_order: 2 range_order_delta: [0, 3] flags: [1, 4] launch_number: [12, 13] "
      "metric_count: 1 integer_value: [5, 6]");
  EXPECT_THAT(got.decoded.problem, IsOk());
  ASSERT_THAT(got.rows, SizeIs(2));
  const CounterSampleRow& row = got.rows[1].row;
  EXPECT_EQ(row.group_iid, 3u);
  EXPECT_EQ(row.session_id, 4u);
  EXPECT_EQ(row.window_id, 5u);
  EXPECT_EQ(row.context_id, 6u);
  EXPECT_EQ(row.enter_monotonic_ns, 1440u) << "another thread's launch may have been entered before";
  EXPECT_EQ(row.correlation_id, 42u);
  EXPECT_EQ(row.thread_id, 7u);
  EXPECT_EQ(row.signature_iid, 0u);
  EXPECT_EQ(row.graph_exec_id, 9u);
  EXPECT_EQ(row.range_order, 5u);
  EXPECT_EQ(row.flags, 4u);
  EXPECT_EQ(row.launch_number, 13u);
  EXPECT_EQ(got.rows[0].row.range_order, 2u);
}

TEST(CounterColumns, WholeNumbersCountFromTheLastSampleOfTheSignatureElseFromTheRecordBefore) {
  const Samples got = CounterSamples(
      "count: 5 signature_iid: [1, 2, 1, 2, 0] graph_exec_id: [0, 0, 0, 0, 7] metric_count: 2 "
      "integer_value: [100, 10, 5, 1, -1, 0, 2, 0, 3, 0]");
  ASSERT_THAT(got.rows, SizeIs(5));
  using ::testing::ElementsAre;
  EXPECT_THAT(got.rows[0].values, ElementsAre(100, 10));
  EXPECT_THAT(got.rows[1].values, ElementsAre(105, 11)) << "new: from the record before";
  EXPECT_THAT(got.rows[2].values, ElementsAre(99, 10)) << "from its own last one";
  EXPECT_THAT(got.rows[3].values, ElementsAre(107, 11));
  EXPECT_THAT(got.rows[4].values, ElementsAre(110, 11));
}

TEST(CounterColumns, RealValuesAreThemselvesAndNaNStaysNaN) {
  const Samples got = CounterSamples(
      "count: 2 metric_count: 3 real_metric: [0, 2] real_value: [0.5, nan, -0.0, inf] integer_value: [7, 1]");
  ASSERT_THAT(got.rows, SizeIs(2));
  EXPECT_EQ(got.rows[0].values[0], 0.5);
  EXPECT_EQ(got.rows[0].values[1], 7);
  EXPECT_TRUE(std::isnan(got.rows[0].values[2]));
  EXPECT_TRUE(std::signbit(got.rows[1].values[0]));
  EXPECT_EQ(got.rows[1].values[1], 8);
  EXPECT_TRUE(std::isinf(got.rows[1].values[2]));
}

TEST(CounterColumns, ValuesAreNeverLeftOut) {
  // As columns elsewhere may be: a group of zeros has its zeros.
  ExpectRefused("count: 2 metric_count: 2", 2,
                "CounterBatch.integer_value: expected 2 values for each of 2 records, got 0");
  ExpectRefused("count: 2 metric_count: 2 integer_value: [1, 2]", 2, "integer_value: expected 2 values");
  ExpectRefused("count: 1 metric_count: 2 integer_value: [1, 2, 3]", 1, "got 3");
  ExpectRefused("count: 2 metric_count: 1 real_metric: 0 real_value: 1", 2,
                "CounterBatch.real_value: expected 1 values for each of 2 records, got 1");
  ExpectRefused("integer_value: 1", 1, "integer_value: expected 0 values for each of 0 records, got 1");
}

TEST(CounterColumns, MetricsAreOneTo4096AndRealOnesInOrder) {
  ExpectRefused("count: 3", 3, "CounterBatch.metric_count: expected 1 to 4096, got 0");
  ExpectRefused("count: 1 metric_count: 4097", 1, "expected 1 to 4096, got 4097");
  ExpectRefused("metric_count: 18446744073709551615", 1, "expected 1 to 4096");
  ExpectRefused("count: 1 metric_count: 2 real_metric: [1, 0] real_value: [1, 2]", 1,
                "CounterBatch.real_metric: expected ascending numbers below 2, got 0 as element 1");
  ExpectRefused("count: 1 metric_count: 2 real_metric: [1, 1] real_value: [1, 2]", 1, "got 1 as element 1");
  ExpectRefused("count: 1 metric_count: 2 real_metric: 2 real_value: 1", 1, "got 2 as element 0");
}

TEST(CounterColumns, ACountThatNoBytesProveIsRefused) {
  ExpectRefused("count: 9223372036854775808 metric_count: 2", 9223372036854775808u, "expected 2 values for each");
  ExpectRefused("count: 4 metric_count: 1 integer_value: [1, 2, 3, 4] flags: [1, 2]", 4,
                "CounterBatch.flags: expected 0, 1 or 4 values (count), got 2");
}

TEST(CounterColumns, ALargeBatchIsProvenByItsValues) {
  CounterBatch batch;
  batch.set_count(5000);
  batch.set_metric_count(1);
  for (int i = 0; i < 5000; ++i) batch.add_integer_value(0);
  uint64_t visited = 0;
  const DecodedBatch decoded = ForEachCounterSample(batch, [&visited](const CounterSampleRow&) { ++visited; });
  EXPECT_THAT(decoded.problem, IsOk());
  EXPECT_EQ(visited, 5000u);
}

TEST(CounterColumns, WhatLeavesItsRangeEndsTheBatch) {
  const Samples beyond = CounterSamples("count: 3 metric_count: 1 integer_value: [9007199254740992, 0, 1]");
  EXPECT_THAT(beyond.rows, SizeIs(2));
  EXPECT_EQ(beyond.decoded.lost_count, 1u);
  EXPECT_THAT(beyond.decoded.problem.message(),
              HasSubstr("CounterBatch.integer_value: record 2 of 3 leaves the whole numbers up to 2^53"));
  const Samples overflow =
      CounterSamples("count: 2 metric_count: 1 integer_value: [-9007199254740992, -9223372036854775808]");
  EXPECT_THAT(overflow.rows, SizeIs(1));
  const Samples order = CounterSamples(
      "count: 2 base_range_order: 18446744073709551615 range_order_delta: [0, 1] metric_count: 1 "
      "integer_value: [1, 1]");
  EXPECT_THAT(order.rows, SizeIs(1));
  EXPECT_THAT(order.decoded.problem.message(), HasSubstr("range_order_delta: record 1 of 2 leaves the 64-bit range"));
}

}  // namespace
}  // namespace gx::analysis
