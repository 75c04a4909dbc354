#include "analysis/report_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "analysis/trace_importer.h"
#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::PacketFromText;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
namespace pb = gpuexec::v1;

// Two kernels, "gemm" and "add"; all are orphans unless a test launches them.
constexpr char kDefinitions[] = R"(
  header { format_major: 1 pid: 17 host_name: "h" start { cupti_ns: 1000 monotonic_ns: 1000 } }
  name { iid: 1 value: "gemm" } name { iid: 2 value: "add" }
  kernel_attributes { iid: 1 name_iid: 1 grid_x: 4 grid_y: 1 grid_z: 1 block_x: 64 block_y: 1 block_z: 1 registers_per_thread: 90 }
  kernel_attributes { iid: 2 name_iid: 2 grid_x: 8 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 registers_per_thread: 20 }
  kernel_attributes { iid: 3 name_iid: 2 grid_x: 9 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 registers_per_thread: 20 }
  track { iid: 1 device_id: 0 context_id: 1 stream_id: 7 }
  track { iid: 2 device_id: 1 context_id: 2 stream_id: 9 }
)";

std::string Kernels(int count, int attributes, int track, int start, int duration) {
  std::string starts;
  for (int i = 0; i < count; ++i) starts += i == 0 ? "0" : ", 1000";
  std::string durations = std::to_string(duration);
  for (int i = 1; i < count; ++i) durations += ", 0";
  return "kernel_batch { count: " + std::to_string(count) +
         " timing: TIMING_COMPLETE base_start_ns: " + std::to_string(start) + " start_unit_ns: 1 start_delta: [" +
         starts + "] duration_unit_ns: 1 duration_delta: [" + durations + "] base_correlation_id: 1 track_iid: [" +
         std::to_string(track) + "] attributes_iid: [" + std::to_string(attributes) + "] }";
}

TraceModel Import(const std::vector<std::string>& packets, const ReportRequest& request) {
  ImportOptions options;
  options.dimensions = DimensionsFor(request);
  TraceImporter importer(options);
  importer.Import(PacketFromText(kDefinitions));
  for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
  return importer.Finish();
}

Report Build(const std::vector<std::string>& packets, const ReportRequest& request = {}) {
  std::vector<TraceModel> models;
  models.push_back(Import(packets, request));
  return BuildReport(models, request);
}

const std::vector<std::string>& ThreeKernels() {
  static const auto* const kPackets = new std::vector<std::string>{
      Kernels(30, 1, 1, 100'000, 500), Kernels(30, 2, 1, 200'000, 100), Kernels(10, 3, 2, 300'000, 100)};
  return *kPackets;
}

std::vector<std::string> Names(const Report& report) {
  std::vector<std::string> names;
  for (const KernelGroup& group : report.kernels) names.push_back(group.full_name);
  return names;
}

// Where the driver and the model differ one of them is wrong: the report says so, and for which kernel.
TEST(ReportBuilderTest, ADriverThatHoldsOtherBlocksThanTheModelIsAFinding) {
  const auto occupancy_findings = [](int driver_blocks) {
    const Report report =
        Build({"device { device_id: 0 attributes { compute_capability_major: 9 compute_capability_minor: 0 } } "
               "function { iid: 1 name_iid: 1 attributes { registers_per_thread: 64 max_threads_per_block: 1024 "
               "  preferred_shared_memory_carveout: -1 } } "
               "signature { iid: 1 function_iid: 1 grid_x: 4 grid_y: 1 grid_z: 1 block_x: 256 block_y: 1 block_z: 1 "
               "  driver_occupancy { max_active_blocks_per_multiprocessor: " +
               std::to_string(driver_blocks) + " } }"});
    std::vector<std::vector<std::string>> details;
    for (const Finding& finding : report.processes[0].findings) {
      if (finding.id == "model.occupancy_disagreements") details.push_back(finding.details);
    }
    return details;
  };
  EXPECT_THAT(occupancy_findings(4), IsEmpty());
  EXPECT_THAT(occupancy_findings(3), ElementsAre(ElementsAre("gemm: the driver holds 3 blocks an SM, the model 4")));
}

TEST(ReportBuilderTest, RowsAreSortedByTotalAndSharesSumToOne) {
  const Report report = Build(ThreeKernels());
  EXPECT_THAT(Names(report), ElementsAre("gemm", "add", "add"));
  double shares = 0;
  for (const KernelGroup& group : report.kernels) shares += group.share_ratio;
  EXPECT_DOUBLE_EQ(shares, 1.0);
  EXPECT_EQ(report.kernels[0].calls, 30u);
  EXPECT_EQ(report.kernels[0].total_ns, 15'000u);
  EXPECT_EQ(report.kernels[0].durations.median_ns, 500);
  EXPECT_EQ(report.kernels[0].launch.registers_per_thread, 90u);
}

TEST(ReportBuilderTest, RegistersAreThoseOfTheLaunchBesideTheFunctionsOwn) {
  const std::string launched = R"(
    function { iid: 1 name_iid: 2 attributes { registers_per_thread: 12 } }
    signature { iid: 1 function_iid: 1 grid_x: 8 grid_y: 1 grid_z: 1 block_x: 32 block_y: 1 block_z: 1 }
    launch_batch { count: 1 thread_id: 1 base_enter_monotonic_ns: 5 base_correlation_id: 1 signature_iid: [1] } )";
  const KernelGroup group = Build({launched, Kernels(1, 2, 1, 100'000, 500)}).kernels.at(0);
  EXPECT_FALSE(group.launch.from_activity);
  EXPECT_EQ(group.launch.registers_per_thread, 20u);
  EXPECT_EQ(group.launch.function_registers_per_thread, 12u);
}

TEST(ReportBuilderTest, WithoutTheFunctionsOwnRegistersThoseOfTheLaunchAreShown) {
  const KernelGroup group = Build({Kernels(1, 2, 1, 100'000, 500)}).kernels.at(0);
  EXPECT_EQ(group.launch.registers_per_thread, 20u);
  EXPECT_EQ(group.launch.function_registers_per_thread, std::nullopt);
}

TEST(ReportBuilderTest, FewerThanTwentyCleanSamplesGiveNoVerdict) {
  const Report report = Build({Kernels(22, 1, 1, 100'000, 500), Kernels(23, 2, 1, 200'000, 100)});
  // Three of each are warm-up.
  EXPECT_EQ(report.kernels[0].clean_count, 19u);
  EXPECT_EQ(report.kernels[0].basis, MedianBasis::kFewClean);
  EXPECT_TRUE(report.kernels[0].measured_insufficient());
  EXPECT_EQ(report.kernels[1].basis, MedianBasis::kClean);
  EXPECT_FALSE(report.kernels[1].measured_insufficient());
}

TEST(ReportBuilderTest, WithoutACleanSampleTheMedianIsThatOfTheOthersAndSaysSo) {
  const Report report = Build({Kernels(2, 1, 1, 100'000, 500)});
  EXPECT_EQ(report.kernels[0].basis, MedianBasis::kNotClean);
  EXPECT_EQ(report.kernels[0].durations.median_ns, 500);
}

TEST(ReportBuilderTest, SortKeysSort) {
  ReportRequest request;
  request.sort = SortKey::kName;
  EXPECT_THAT(Names(Build(ThreeKernels(), request)), ElementsAre("add", "add", "gemm"));
  request.sort = SortKey::kCalls;
  EXPECT_EQ(Build(ThreeKernels(), request).kernels.back().calls, 10u);
}

TEST(ReportBuilderTest, TopCutsAndSaysHowManyThereWere) {
  ReportRequest request;
  request.top = 1;
  const Report report = Build(ThreeKernels(), request);
  EXPECT_THAT(report.kernels, SizeIs(1));
  EXPECT_EQ(report.kernel_groups_matched, 3u);
}

TEST(ReportBuilderTest, AFilterKeepsSharesOfTheWholeProcess) {
  ReportRequest request;
  request.filter = *NameFilter::Compile("^gemm$");
  const Report report = Build(ThreeKernels(), request);
  EXPECT_THAT(Names(report), ElementsAre("gemm"));
  EXPECT_DOUBLE_EQ(report.kernels[0].share_ratio, 15'000.0 / 19'000.0);
  EXPECT_EQ(report.kernel_groups_total, 3u);
}

TEST(ReportBuilderTest, ByNameJoinsSignaturesAndShowsOnlyWhatTheyShare) {
  ReportRequest request;
  request.grouping = {.signature = false, .name = true};
  const Report report = Build(ThreeKernels(), request);
  EXPECT_THAT(Names(report), ElementsAre("gemm", "add"));
  EXPECT_EQ(report.kernels[1].signature_count, 2u);
  EXPECT_EQ(report.kernels[1].calls, 40u);
  EXPECT_EQ(report.kernels[1].launch.grid, std::nullopt);
  EXPECT_EQ(report.kernels[1].launch.block, (Dim{32, 1, 1}));
}

TEST(ReportBuilderTest, ByDeviceAndByStreamSeparateThem) {
  ReportRequest request;
  request.grouping = {.signature = false, .device = true};
  Report report = Build(ThreeKernels(), request);
  ASSERT_THAT(report.kernels, SizeIs(2));
  EXPECT_EQ(report.kernels[0].device_id, 0u);
  EXPECT_EQ(report.kernels[1].device_id, 1u);
  request.grouping = {.signature = false, .stream = true};
  report = Build(ThreeKernels(), request);
  ASSERT_THAT(report.kernels, SizeIs(2));
  EXPECT_EQ(report.kernels[1].stream, "device 1 context 2 stream 9");
}

TEST(ReportBuilderTest, AFilterWorksWhereRowsHaveNoNames) {
  ReportRequest request;
  request.grouping = {.signature = false, .stream = true};
  request.filter = *NameFilter::Compile("gemm");
  const Report report = Build(ThreeKernels(), request);
  ASSERT_THAT(report.kernels, SizeIs(1));
  EXPECT_EQ(report.kernels[0].calls, 30u);
}

TEST(ReportBuilderTest, TracesAreLabelledByRankElseByPidElseByNumber) {
  const auto labels = [](const std::vector<std::string>& headers) {
    std::vector<TraceModel> models;
    for (const std::string& header : headers) {
      TraceImporter importer({});
      importer.Import(PacketFromText(header));
      models.push_back(importer.Finish());
    }
    std::vector<std::string> result;
    for (const ProcessSection& process : BuildReport(models, {}).processes) result.push_back(process.label);
    return result;
  };
  EXPECT_THAT(labels({R"(header { pid: 1 rank_variable { name: "RANK" value: "0" } })",
                      R"(header { pid: 1 rank_variable { name: "RANK" value: "1" } })"}),
              ElementsAre("rank 0", "rank 1"));
  EXPECT_THAT(labels({"header { pid: 1 }", "header { pid: 2 }"}), ElementsAre("pid 1", "pid 2"));
  EXPECT_THAT(labels({R"(header { pid: 1 host_name: "a" })", R"(header { pid: 1 host_name: "b" })"}),
              ElementsAre("a:1", "b:1"));
  EXPECT_THAT(labels({"", "header { pid: 1 }"}), ElementsAre("trace 1", "trace 2"));
}

// ------------------------------------------------------------------------------------------------ findings

std::vector<std::string> FindingIds(const Report& report) {
  std::vector<std::string> ids;
  for (const Finding& finding : report.processes.at(0).findings) ids.push_back(finding.id);
  return ids;
}

TEST(FindingsTest, ACompleteTraceHasNone) {
  const Report report = Build({"trailer { reason: REASON_EXIT }"});
  EXPECT_THAT(FindingIds(report), IsEmpty());
  EXPECT_FALSE(report.data_lost);
}

TEST(FindingsTest, ATraceWithoutEndIsMissingSomething) {
  const Report report = Build({});
  EXPECT_THAT(FindingIds(report), ElementsAre("trace.no_trailer"));
  EXPECT_TRUE(report.data_lost);
}

// Launches 1 to 9 of signature 1, of which `kernels` have a record.
std::vector<std::string> NineLaunches(int kernels, const std::string& gap) {
  return {
      "function { iid: 1 name_iid: 1 } signature { iid: 1 function_iid: 1 grid_x: 4 grid_y: 1 grid_z: 1 block_x: 64 "
      "  block_y: 1 block_z: 1 } window { window_id: 1 kind: KIND_TIMING begin_monotonic_ns: 1000 }",
      "launch_batch { count: 9 thread_id: 5 window_id: 1 base_enter_monotonic_ns: 2000 "
      "  enter_delta: [0, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000] base_correlation_id: 1 "
      "  correlation_delta: [0, 1, 1, 1, 1, 1, 1, 1, 1] track_iid: [1] signature_iid: [1] }",
      "kernel_batch { count: " + std::to_string(kernels) +
          " timing: TIMING_COMPLETE base_start_ns: 2500 start_unit_ns: 1 start_delta: [0" +
          [kernels] {
            std::string deltas;
            for (int i = 1; i < kernels; ++i) deltas += ", 1000";
            return deltas;
          }() +
          "] duration_unit_ns: 1 base_correlation_id: 1 correlation_delta: [0" +
          [kernels] {
            std::string deltas;
            for (int i = 1; i < kernels; ++i) deltas += ", 1";
            return deltas;
          }() +
          "] track_iid: [1] attributes_iid: [1] }",
      gap, "trailer { reason: REASON_EXIT }"};
}

TEST(FindingsTest, RecordsThatAnotherClientTookAreSaidFirstWithTheirSpan) {
  const Report report =
      Build(NineLaunches(3,
                         "record_gap { gap_id: 1 begin_monotonic_ns: 5000 kernel_count: 4 client: '/opt/a\\nb.so' } "
                         "record_gap { gap_id: 1 begin_monotonic_ns: 5000 end_monotonic_ns: 9000 kernel_count: 5 }"));
  EXPECT_THAT(FindingIds(report), ElementsAre("trace.records_taken", "join.launches_without_kernel"));
  const Finding& finding = report.processes.front().findings.front();
  EXPECT_EQ(finding.severity, pb::SEVERITY_DATA_LOSS);
  EXPECT_EQ(finding.value, 5u) << "as defined last";
  ASSERT_THAT(finding.details, SizeIs(1));
  EXPECT_THAT(finding.details.front(), ::testing::HasSubstr("from +4.00 us to +8.00 us: 5 kernels without a record"));
  EXPECT_THAT(finding.details.front(), ::testing::HasSubstr("/opt/a"));
  EXPECT_THAT(finding.details.front(), Not(::testing::HasSubstr("\n")));
  EXPECT_EQ(report.processes.front().findings.back().value, 1u) << "the others have no such reason";
  EXPECT_EQ(report.processes.front().accounting.kernels_taken, 5u);
  EXPECT_TRUE(report.data_lost);
}

TEST(FindingsTest, ASpanWithoutRecordsWhoseRecordsCameLateIsNoLoss) {
  const Report report = Build(
      NineLaunches(9, "record_gap { gap_id: 1 begin_monotonic_ns: 5000 end_monotonic_ns: 9000 kernel_count: 5 }"));
  EXPECT_THAT(FindingIds(report), IsEmpty());
  EXPECT_EQ(report.processes.front().accounting.kernels_taken, 0u);
}

TEST(FindingsTest, SpansThatCountMoreThanIsMissingTakeNoMoreThanThat) {
  const Report report = Build(NineLaunches(
      8,
      "record_gap { gap_id: 1 begin_monotonic_ns: 5000 kernel_count: 18446744073709551615 } "
      "record_gap { gap_id: 2 begin_monotonic_ns: 18446744073709551615 kernel_count: 18446744073709551615 }"));
  EXPECT_THAT(FindingIds(report), ElementsAre("trace.records_taken"));
  EXPECT_EQ(report.processes.front().accounting.kernels_taken, 1u);
}

TEST(FindingsTest, NoticesDoNotChangeTheVerdict) {
  const Report report =
      Build({"stats { counter { id: STAT_NVML_UNAVAILABLE value: 1 } } trailer { reason: REASON_EXIT }"});
  EXPECT_THAT(FindingIds(report), ElementsAre("STAT_NVML_UNAVAILABLE"));
  EXPECT_FALSE(report.data_lost);
}

TEST(FindingsTest, TheMostSevereComesFirst) {
  const Report report = Build(
      {"stats { counter { id: STAT_NVML_UNAVAILABLE value: 1 } counter { id: STAT_WRITE_FAILED value: 1 } "
       "counter { id: STAT_CUPTI_ERRORS value: 1 } counter { id: 4000 value: 1 } } trailer { reason: REASON_EXIT }"});
  EXPECT_THAT(FindingIds(report),
              ElementsAre("STAT_CUPTI_ERRORS", "STAT_WRITE_FAILED", "STAT_4000", "STAT_NVML_UNAVAILABLE"));
}

TEST(FindingsTest, BookkeepingIsKeptApart) {
  const Report report =
      Build({"stats { counter { id: STAT_BYTES_WRITTEN value: 5 } } trailer { reason: REASON_EXIT }"});
  EXPECT_THAT(FindingIds(report), IsEmpty());
  EXPECT_THAT(report.processes[0].bookkeeping, ElementsAre(Field(&Finding::id, "STAT_BYTES_WRITTEN")));
}

// What callbacks counted: 10 + 5 + 2 calls have a record, less one that was dropped. The others have none.
constexpr char kSixteenRecords[] = R"(
  stats {
    counter { id: STAT_LAUNCHES_SEEN value: 10 } counter { id: STAT_GRAPH_LAUNCHES_SEEN value: 5 }
    counter { id: STAT_LAUNCHES_FAILED value: 2 } counter { id: STAT_LAUNCHES_DROPPED_QUEUE_FULL value: 1 }
    counter { id: STAT_LAUNCHES_CAPTURED value: 100 } counter { id: STAT_LAUNCHES_OUTSIDE_REGION value: 100 }
    counter { id: STAT_LAUNCHES_DROPPED_NO_QUEUE value: 100 } }
  trailer { reason: REASON_EXIT } )";

TEST(FindingsTest, LaunchesSeenByCallbacksButNotInTheFileAreMissing) {
  const Report report = Build({kSixteenRecords});
  EXPECT_THAT(report.processes[0].findings,
              Contains(AllOf(Field(&Finding::id, "trace.launch_records_missing"), Field(&Finding::value, 16u))));
  EXPECT_TRUE(report.data_lost);
}

TEST(FindingsTest, SummarisedAndRefusedLaunchesAreInTheFile) {
  const std::string refused =
      "launch_batch { count: 2 thread_id: 1 base_enter_monotonic_ns: 5 base_correlation_id: 1 result: [700] } ";
  EXPECT_THAT(FindingIds(Build({refused + "launch_summary { count: 14 } " + kSixteenRecords})),
              Not(Contains("trace.launch_records_missing")));
  EXPECT_THAT(FindingIds(Build({refused + "launch_summary { count: 13 } " + kSixteenRecords})),
              Contains("trace.launch_records_missing"));
}

TEST(ReportBuilderTest, KernelsInSumsOnlyGetTheirFiguresFromBuckets) {
  const Report report = Build({R"(
    kernel_summary { attributes_iid: 1 count: 60 total_ns: 64000 min_ns: 1030 max_ns: 1100 begin_ns: 9000
                     bucket: [80] bucket_count: [60] }
    kernel_summary { attributes_iid: 1 count: 40 total_ns: 172000 min_ns: 4100 max_ns: 4400 begin_ns: 8000
                     bucket: [96] bucket_count: [40] } )"});
  ASSERT_THAT(report.kernels, SizeIs(1));
  const KernelGroup& group = report.kernels[0];
  EXPECT_EQ(group.basis, MedianBasis::kBuckets);
  EXPECT_TRUE(group.measured_insufficient());
  EXPECT_EQ(group.calls, 100u);
  EXPECT_EQ(group.durations.min_ns, 1030u);
  EXPECT_EQ(group.durations.max_ns, 4400u);
  EXPECT_NEAR(group.durations.median_ns, 1069, 1);
  EXPECT_NEAR(group.durations.p95_ns, 4277, 1);
}

TEST(ReportBuilderTest, TheRunCountsSumsAndSaysWhenSingleRecordsEnd) {
  const std::string summary =
      "kernel_summary { attributes_iid: 1 count: 60 total_ns: 600 begin_ns: 401000 } "
      "launch_summary { count: 70 } "
      "stats { counter { id: STAT_SIZE_LIMIT_REACHED value: 1 } }";
  const Report report = Build({Kernels(30, 1, 1, 100'000, 400), summary});
  const RunSection& run = report.processes[0].run;
  EXPECT_EQ(run.single_records_end_ns, 400'000u);
  EXPECT_EQ(run.kernels, 90u);
  EXPECT_EQ(run.summarised_kernels, 60u);
  EXPECT_EQ(run.summarised_launches, 70u);
  EXPECT_DOUBLE_EQ(report.processes[0].devices.at(0).busy_of_wall_ratio, 30 * 400 / 400e3);
  EXPECT_THAT(report.processes[0].findings,
              Contains(AllOf(Field(&Finding::id, "STAT_SIZE_LIMIT_REACHED"),
                             Field(&Finding::details, ElementsAre("single records end at +400 us")))));
}

TEST(FindingsTest, AGapIsToldAsMissingFramesAndDamagedBytesAsDamage) {
  TraceModel model = Import({"trailer { reason: REASON_EXIT }"}, {});
  Damage gap;
  gap.kind = DamageKind::kSequenceGap;
  gap.expected = 1;
  gap.got = 3;
  model.damages = {gap};
  model.damage_count = model.sequence_gap_count = 1;
  model.missing_frame_count = 2;
  std::vector<TraceModel> models = {model};
  Report report = BuildReport(models, {});
  EXPECT_THAT(FindingIds(report), ElementsAre("trace.missing_frames"));
  EXPECT_THAT(report.processes[0].findings[0].details, ElementsAre(DamageText(gap)));

  Damage bytes;
  bytes.length_bytes = 1;
  models[0].damages.push_back(bytes);
  models[0].damage_count = 2;
  models[0].damaged_bytes = 1;
  report = BuildReport(models, {});
  EXPECT_THAT(FindingIds(report), ElementsAre("trace.damage", "trace.missing_frames"));
  EXPECT_EQ(report.processes[0].findings[0].text, "damaged places in the file (1 byte skipped)");

  // A number that came before: no frame is missing, but it is odd.
  models[0].damages = {gap};
  models[0].damage_count = 1;
  models[0].missing_frame_count = 0;
  EXPECT_THAT(FindingIds(BuildReport(models, {})), ElementsAre("trace.frame_order"));
}

TEST(FindingsTest, ALongDiagnosticIsCut) {
  const Report report = Build({"diagnostic { text: \"" + std::string(5000, 'x') + "\" }"});
  EXPECT_EQ(report.processes[0].diagnostics.at(0), std::string(500, 'x') + "...");
}

TEST(FindingsTest, ALibraryThatCouldNotBeginSaysSoFirst) {
  const Report report = Build({R"(stats { counter { id: STAT_CUPTI_ERRORS value: 1 } }
                                  diagnostic { text: "libcupti.so was not found" }
                                  trailer { reason: REASON_DISABLED })"});
  EXPECT_TRUE(report.processes[0].nothing_recorded);
  EXPECT_THAT(FindingIds(report), ElementsAre("trace.nothing_recorded", "STAT_CUPTI_ERRORS"));
  EXPECT_TRUE(report.data_lost);
}

TEST(FindingsTest, AProgramThatLaunchedNothingIsNotALibraryThatCouldNotBegin) {
  const Report report = Build({R"(window { window_id: 1 kind: KIND_TIMING } diagnostic { text: "a note" }
                                  trailer { reason: REASON_EXIT })"});
  EXPECT_FALSE(report.processes[0].nothing_recorded);
  EXPECT_FALSE(report.data_lost);
}

TEST(FindingsTest, KernelRecordsReceivedButNotInTheFileAreMissing) {
  const Report report =
      Build({"stats { counter { id: STAT_KERNEL_RECORDS value: 3 } } trailer { reason: REASON_EXIT }"});
  EXPECT_THAT(FindingIds(report), ElementsAre("trace.kernel_records_missing"));
}

TEST(FindingsTest, ANewerFormatIsAnError) {
  TraceImporter importer({});
  importer.Import(PacketFromText("header { format_major: 2 } trailer { reason: REASON_EXIT }"));
  std::vector<TraceModel> models;
  models.push_back(importer.Finish());
  const Report report = BuildReport(models, {});
  EXPECT_THAT(report.processes[0].findings, Contains(Field(&Finding::id, "trace.format")));
  EXPECT_TRUE(report.data_lost);
}

TEST(FindingsTest, DiagnosticsAreShownWithTheirCounterAndEscaped) {
  const Report report =
      Build({R"(diagnostic { stat: STAT_CUPTI_ERRORS text: "bad\001" } trailer { reason: REASON_EXIT })"});
  EXPECT_THAT(report.processes[0].diagnostics, ElementsAre("STAT_CUPTI_ERRORS: bad\\x01"));
}

}  // namespace
}  // namespace gx::analysis
