#include "analysis/trace_importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/support/textproto.h"

namespace gx::analysis {
namespace {

using ::gx::testing::PacketFromText;
using ::testing::SizeIs;

// One kernel "k" as signature 1, on stream 7 of device 0.
constexpr char kDefinitions[] = R"(
  header { format_major: 1 start { cupti_ns: 1000 monotonic_ns: 1000 } }
  name { iid: 1 value: "k" }
  function { iid: 1 name_iid: 1 }
  signature { iid: 1 function_iid: 1 grid_x: 1 block_x: 32 }
  kernel_attributes { iid: 1 name_iid: 1 grid_x: 1 block_x: 32 }
  track { iid: 1 device_id: 0 context_id: 1 stream_id: 7 }
  window { window_id: 1 kind: KIND_TIMING }
  window { window_id: 2 kind: KIND_COUNTERS }
)";

TraceModel Import(const std::vector<std::string>& packets, const ImportOptions& options = {}) {
  TraceImporter importer(options);
  importer.Import(PacketFromText(kDefinitions));
  for (const std::string& packet : packets) importer.Import(PacketFromText(packet));
  return importer.Finish();
}

// Launches 1..count, 1 us apart.
std::string Launches(int count, int window = 1) {
  std::string deltas;
  for (int i = 0; i < count; ++i) deltas += i == 0 ? "0" : ", 1000";
  std::string ids;
  for (int i = 0; i < count; ++i) ids += i == 0 ? "0" : ", 1";
  return "launch_batch { count: " + std::to_string(count) + " thread_id: 5 window_id: " + std::to_string(window) +
         " base_enter_monotonic_ns: 10000 enter_delta: [" + deltas + "] base_correlation_id: 1 correlation_delta: [" +
         ids + "] track_iid: [1] signature_iid: [1] }";
}

// Kernels 1..count of 64 ns, 936 ns between them.
std::string Kernels(int count) {
  std::string starts;
  for (int i = 0; i < count; ++i) starts += i == 0 ? "0" : ", 936";
  std::string durations;
  for (int i = 0; i < count; ++i) durations += i == 0 ? "2" : ", 0";
  std::string ids;
  for (int i = 0; i < count; ++i) ids += i == 0 ? "0" : ", 1";
  return "kernel_batch { count: " + std::to_string(count) +
         " timing: TIMING_COMPLETE base_start_ns: 10500 start_unit_ns: 1 start_delta: [" + starts +
         "] duration_unit_ns: 32 duration_delta: [" + durations + "] base_correlation_id: 1 correlation_delta: [" +
         ids + "] track_iid: [1] attributes_iid: [1] }";
}

TEST(TraceImporterTest, AnEmptyTraceGivesAnEmptyModel) {
  const TraceModel model = TraceImporter({}).Finish();
  EXPECT_FALSE(model.header.has_value());
  EXPECT_THAT(model.cells, SizeIs(0));
}

TEST(TraceImporterTest, TheFirstThreeOfASignatureAreWarmUpAndTheRestIsClean) {
  const TraceModel model = Import({Launches(30), Kernels(30)});
  ASSERT_THAT(model.cells, SizeIs(1));
  EXPECT_EQ(model.cells[0].kernel_count, 30u);
  EXPECT_EQ(model.cells[0].warm_up_count, 3u);
  EXPECT_EQ(model.cells[0].clean.count(), 26u);
  EXPECT_EQ(model.cells[0].next_to_switch_count, 1u) << "window 2 follows";
  EXPECT_EQ(model.accounting.kernels_joined, 30u);
  EXPECT_EQ(model.accounting.launches_without_kernel, 0u);
  EXPECT_EQ(model.clock_step_ns, 0u) << "one duration tells no step";
}

// `count` launches and kernels of signature 1 on track `track`, from `at_ns` on, with correlation ids from `first_id`
// on.
std::string Timed(int count, int window, int at_ns, int first_id, int track = 1) {
  std::string packet = Launches(count, window) + " " + Kernels(count);
  const auto replace = [&packet](const std::string& from, const std::string& to) {
    for (size_t at = packet.find(from); at != std::string::npos; at = packet.find(from, at + to.size())) {
      packet.replace(at, from.size(), to);
    }
  };
  replace("base_enter_monotonic_ns: 10000", "base_enter_monotonic_ns: " + std::to_string(at_ns));
  replace("base_start_ns: 10500", "base_start_ns: " + std::to_string(at_ns + 500));
  replace("base_correlation_id: 1 ", "base_correlation_id: " + std::to_string(first_id) + " ");
  replace("track_iid: [1]", "track_iid: [" + std::to_string(track) + "]");
  return packet;
}

TEST(TraceImporterTest, KernelsNextToASwitchOfWindowsAreNotClean) {
  const TraceModel model = Import({"window { window_id: 3 kind: KIND_TIMING }", Timed(10, 1, 10'000, 1),
                                   Timed(10, 3, 100'000, 101), Timed(10, 3, 200'000, 201)});
  ASSERT_THAT(model.cells, SizeIs(1));
  // The last before the switch and the first after it.
  EXPECT_EQ(model.cells[0].next_to_switch_count, 2u);
  EXPECT_EQ(model.cells[0].warm_up_count, 3u);
  EXPECT_EQ(model.cells[0].clean.count(), 30u - 3 - 2);
  EXPECT_EQ(model.cells[0].not_clean.count(), 5u);
}

TEST(TraceImporterTest, EveryStreamHasItsNeighboursOfASwitch) {
  const TraceModel model = Import(
      {"window { window_id: 3 kind: KIND_TIMING } track { iid: 2 device_id: 0 stream_id: 8 }", Timed(10, 1, 10'000, 1),
       Timed(10, 1, 30'000, 51, 2), Timed(10, 3, 100'000, 101), Timed(10, 3, 130'000, 151, 2)});
  EXPECT_EQ(model.cells.at(0).next_to_switch_count, 4u);
}

TEST(TraceImporterTest, AStreamThatBeginsAfterASwitchBeginsNextToIt) {
  const TraceModel model =
      Import({"window { window_id: 3 kind: KIND_TIMING } track { iid: 2 device_id: 0 stream_id: 8 }",
              Timed(5, 3, 100'000, 101), Timed(5, 3, 130'000, 151, 2)});
  EXPECT_EQ(model.cells.at(0).warm_up_count, 3u) << "the first one on the first stream is among these";
  EXPECT_EQ(model.cells.at(0).next_to_switch_count, 1u);
}

TEST(TraceImporterTest, TheLastKernelBeforeACounterWindowThatEndsTheRunIsNextToASwitch) {
  EXPECT_EQ(Import({Timed(10, 1, 10'000, 1)}).cells.at(0).next_to_switch_count, 1u);
}

TEST(TraceImporterTest, ARecordOfALaunchInACounterWindowIsNoTiming) {
  const TraceModel model = Import({Timed(10, 2, 10'000, 1)});
  EXPECT_EQ(model.cells.at(0).warm_up_count, 3u);
  EXPECT_EQ(model.cells.at(0).next_to_switch_count, 7u);
  EXPECT_EQ(model.cells.at(0).clean.count(), 0u);
}

TEST(TraceImporterTest, EveryKernelIsInOneClassWhateverTheWindows) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> packets = {
        "track { iid: 2 device_id: 0 stream_id: 8 } track { iid: 3 device_id: 1 stream_id: 7 } window { window_id: 3 "
        "kind: KIND_TIMING } window { window_id: 4 kind: KIND_OFF } window { window_id: 5 kind: KIND_TIMING }"};
    uint64_t expected = 0;
    for (int i = 0; i < 8; ++i) {
      const int count = 1 + static_cast<int>(random() % 10);
      // Track 0 and windows 0 and 9 are not known; times overlap and are out of order.
      packets.push_back(Timed(count, std::array{0, 1, 2, 3, 5, 9}[random() % 6],
                              1'000 + static_cast<int>(random() % 90'000), 1 + 100 * i,
                              static_cast<int>(random() % 4)));
      expected += static_cast<uint64_t>(count);
    }
    uint64_t kernels = 0;
    const TraceModel model = Import(packets);
    for (const Cell& cell : model.cells) {
      kernels += cell.kernel_count;
      EXPECT_EQ(cell.clean.count() + cell.not_clean.count(), cell.kernel_count);
      EXPECT_EQ(cell.warm_up_count + cell.late_count + cell.overlapped_count + cell.next_to_switch_count,
                cell.not_clean.count());
    }
    EXPECT_EQ(kernels, expected);
  }
}

TEST(TraceImporterTest, KernelsWithoutALaunchAreNoSwitch) {
  const TraceModel model = Import({Kernels(10)});
  ASSERT_THAT(model.cells, SizeIs(1));
  EXPECT_EQ(model.cells[0].next_to_switch_count, 0u);
  EXPECT_EQ(model.cells[0].clean.count(), 7u);
}

TEST(TraceImporterTest, TheFirstAfterAModuleLoadIsWarmUp) {
  const TraceModel model = Import({Launches(10), "module { module_id: 1 loaded_monotonic_ns: 15000 }", Kernels(10)});
  EXPECT_EQ(model.cells.at(0).warm_up_count, 4u);
}

TEST(TraceImporterTest, AModuleToldTwiceIsOneLoad) {
  const TraceModel model =
      Import({Launches(10), "module { module_id: 1 loaded_monotonic_ns: 15000 }",
              "module { module_id: 1 loaded_monotonic_ns: 15000 unloaded_monotonic_ns: 90000 }", Kernels(10)});
  EXPECT_EQ(model.cells.at(0).warm_up_count, 4u);
  EXPECT_EQ(model.module_count, 1u);
}

TEST(TraceImporterTest, KernelsInAnEarlierFrameThanTheirLaunchesAreJoined) {
  const TraceModel model = Import({Kernels(5), Launches(5)});
  EXPECT_EQ(model.accounting.kernels_joined, 5u);
  EXPECT_EQ(model.accounting.kernels_without_launch, 0u);
}

TEST(TraceImporterTest, ALaunchThatWasRefusedExpectsNoKernel) {
  const TraceModel model = Import({R"(launch_batch {
    count: 2 thread_id: 5 window_id: 1 base_enter_monotonic_ns: 10 enter_delta: [0, 1]
    base_correlation_id: 1 correlation_delta: [0, 1] signature_iid: [1] result: [700, 0] })"});
  EXPECT_EQ(model.accounting.refused_launches, 1u);
  EXPECT_EQ(model.accounting.launches, 1u);
  EXPECT_EQ(model.accounting.launches_without_kernel, 1u);
  EXPECT_EQ(model.signatures.at(0).launches_without_kernel, 1u);
}

TEST(TraceImporterTest, LaunchesOfACounterWindowExpectNoKernel) {
  const TraceModel model = Import({Launches(5, /*window=*/2)});
  EXPECT_EQ(model.accounting.untimed_launches, 5u);
  EXPECT_EQ(model.accounting.launches_without_kernel, 0u);
  EXPECT_EQ(model.signatures.at(0).untimed_launch_count, 5u);
}

TEST(TraceImporterTest, LaunchesOfARunWithoutTimingsExpectNoKernel) {
  TraceImporter importer({});
  importer.Import(
      PacketFromText(R"(header { format_major: 1 configuration { name: "GPUEXEC_TIMING" value: "off" } })"));
  importer.Import(PacketFromText(kDefinitions));
  importer.Import(PacketFromText(Launches(5)));
  const TraceModel model = importer.Finish();
  EXPECT_EQ(model.accounting.untimed_launches, 5u);
  EXPECT_EQ(model.accounting.counter_window_launches, 0u);
  EXPECT_EQ(model.accounting.launches_without_kernel, 0u);
}

constexpr char kCuptisOwn[] = R"(name { iid: 9 value: "WaitNs" }
  kernel_attributes { iid: 9 name_iid: 9 grid_x: 1 grid_y: 1 grid_z: 1 block_x: 1 block_y: 1 block_z: 1 }
  kernel_batch { count: 1 timing: TIMING_COMPLETE base_start_ns: 10500 start_unit_ns: 1 start_delta: [0]
    duration_unit_ns: 32 duration_delta: [2] base_correlation_id: 70 correlation_delta: [0] track_iid: [1]
    attributes_iid: [9] })";

TEST(TraceImporterTest, KernelsThatCuptiLaunchesAroundRangesAreNoneOfTheProgram) {
  const TraceModel model = Import({"counter_group { iid: 1 name: \"light\" }", kCuptisOwn});
  EXPECT_EQ(model.accounting.kernels_of_cupti, 1u);
  EXPECT_EQ(model.accounting.kernels_without_launch, 0u);
  EXPECT_EQ(model.accounting.kernels_signature_from_activity, 0u);
  EXPECT_THAT(model.cells, SizeIs(0));
}

TEST(TraceImporterTest, KernelsOfThatNameWithALaunchOrWithoutCountersAreTheProgramsOwn) {
  EXPECT_EQ(Import({kCuptisOwn}).accounting.kernels_without_launch, 1u);
  std::string launch = Launches(1);
  launch.replace(launch.find("base_correlation_id: 1"), 22, "base_correlation_id: 70");
  const TraceModel model = Import({"counter_group { iid: 1 name: \"light\" }", launch, kCuptisOwn});
  EXPECT_EQ(model.accounting.kernels_of_cupti, 0u);
  EXPECT_EQ(model.accounting.kernels_joined, 1u);
  EXPECT_THAT(model.cells, SizeIs(1));
}

TEST(TraceImporterTest, LaunchesOfAnUnknownWindowExpectTheirKernels) {
  const TraceModel model = Import({Launches(2, /*window=*/9)});
  EXPECT_EQ(model.accounting.launches_without_kernel, 2u);
  EXPECT_EQ(model.undefined_count.at("window"), 1u);
}

TEST(TraceImporterTest, UntimedKernelsAreCountedAndNeverZeroNanoseconds) {
  const TraceModel model = Import({Launches(2), R"(kernel_batch {
    count: 2 timing: TIMING_MISSING base_correlation_id: 1 correlation_delta: [0, 1] track_iid: [1] attributes_iid: [1] })"});
  EXPECT_EQ(model.cells.at(0).untimed_count, 2u);
  EXPECT_EQ(model.cells.at(0).clean.count() + model.cells.at(0).not_clean.count(), 0u);
  EXPECT_EQ(model.accounting.kernels_untimed, 2u);
  EXPECT_EQ(model.accounting.kernels_joined, 2u);
}

TEST(TraceImporterTest, ASignatureWithoutDefinitionIsTakenFromTheRecord) {
  std::string launches = Launches(1);
  launches.replace(launches.find("signature_iid: [1]"), 18, "signature_iid: [8]");
  const TraceModel model = Import({launches, Kernels(1)});
  EXPECT_EQ(model.accounting.kernels_signature_from_activity, 1u);
  const SignatureEntry& entry = model.signatures.at(model.cells.at(0).key.signature);
  EXPECT_TRUE(entry.from_activity);
  EXPECT_EQ(entry.definition.grid_x(), 1u);
  EXPECT_EQ(model.FunctionName(entry), "k");
}

TEST(TraceImporterTest, KernelsLaunchedByKernelsAreNoOrphans) {
  const TraceModel model = Import({"kernel_attributes { iid: 1 device_launched: true }", Kernels(1)});
  EXPECT_EQ(model.accounting.kernels_device_launched, 1u);
  EXPECT_EQ(model.accounting.kernels_without_launch, 0u);
}

TEST(TraceImporterTest, TheRecordsOwnValuesAreCountedBesideTheSignature) {
  const TraceModel model = Import({Launches(4), Kernels(4)});
  const auto& pairs = model.kernels_by_signature_and_attributes;
  ASSERT_THAT(pairs, SizeIs(1));
  EXPECT_EQ(pairs.begin()->second, 4u);
}

TEST(TraceImporterTest, ReplaysAreCheckedAgainstTheGraph) {
  const TraceModel model = Import({R"(
    graph_node { node_id: 21 signature_iid: 1 }
    graph_exec { graph_exec_id: 3 kernel_node_count: 2 }
    graph_exec { graph_exec_id: 4 kernel_node_count: 2 has_conditional_nodes: true }
    launch_batch {
      count: 3 thread_id: 5 window_id: 1 base_enter_monotonic_ns: 10000 enter_delta: [0, 1, 1]
      base_correlation_id: 1 correlation_delta: [0, 1, 1] graph_exec_id: [3, 3, 4] }
    kernel_batch {
      count: 4 timing: TIMING_COMPLETE base_start_ns: 10500 start_unit_ns: 1 start_delta: [0, 1, 1, 1] duration_unit_ns: 32
      duration_delta: [2, 0, 0, 0] base_correlation_id: 1 correlation_delta: [0, 0, 1, 1] track_iid: [1] attributes_iid: [1]
      graph_node_delta: [21, 0, 0, 0] })"});
  EXPECT_EQ(model.accounting.replays_complete, 1u);
  EXPECT_EQ(model.accounting.replays_short, 1u);
  EXPECT_EQ(model.accounting.replay_kernels_missing, 1u);
  EXPECT_EQ(model.accounting.replays_unchecked, 1u);
  EXPECT_EQ(model.accounting.kernels_joined_to_graphs, 4u);
}

// Four replays of one graph, with 0, 1, 2 and 3 kernels.
TraceModel ImportFourReplays(const std::string& exec) {
  return Import({"graph_exec { graph_exec_id: 3 " + exec + " }", R"(
    launch_batch {
      count: 4 thread_id: 5 window_id: 1 base_enter_monotonic_ns: 10000 enter_delta: [0, 1, 1, 1]
      base_correlation_id: 1 correlation_delta: [0, 1, 1, 1] graph_exec_id: [3] }
    kernel_batch {
      count: 6 timing: TIMING_COMPLETE base_start_ns: 10500 start_unit_ns: 1 start_delta: [0, 1, 1, 1, 1, 1]
      duration_unit_ns: 32 duration_delta: [2, 0, 0, 0, 0, 0] base_correlation_id: 2
      correlation_delta: [0, 1, 0, 1, 0, 0] track_iid: [1] attributes_iid: [1] graph_node_delta: [21, 0, 0, 0, 0, 0] })"});
}

TEST(TraceImporterTest, NodesThatAreNotDescribedMayRunKernelsOrNot) {
  const TraceModel model = ImportFourReplays("kernel_node_count: 1 undescribed_node_count: 1");
  EXPECT_EQ(model.accounting.replays_short, 1u);
  EXPECT_EQ(model.accounting.replay_kernels_missing, 1u);
  EXPECT_EQ(model.accounting.replays_complete, 2u);
  EXPECT_EQ(model.accounting.replays_long, 1u);
  EXPECT_EQ(model.accounting.kernels_without_launch, 0u);
}

TEST(TraceImporterTest, AGraphOfNothingButNodesThatAreNotDescribedIsCheckedToo) {
  const TraceModel model = ImportFourReplays("undescribed_node_count: 2");
  EXPECT_EQ(model.accounting.replays_complete, 3u);
  EXPECT_EQ(model.accounting.replays_long, 1u);
  EXPECT_EQ(model.accounting.replays_unchecked, 0u);
}

TEST(TraceImporterTest, CountsBeyondAnyGraphDoNotWrap) {
  const TraceModel model = ImportFourReplays("kernel_node_count: 1 undescribed_node_count: 18446744073709551615");
  EXPECT_EQ(model.accounting.replays_complete, 3u);
  EXPECT_EQ(model.accounting.replays_long, 0u);
}

TEST(TraceImporterTest, TheLastCountersHold) {
  const TraceModel model = Import({"stats { counter { id: STAT_LAUNCHES_SEEN value: 5 } }",
                                   "stats { counter { id: STAT_LAUNCHES_SEEN value: 9 } }"});
  EXPECT_EQ(model.stats.at(gpuexec::v1::STAT_LAUNCHES_SEEN), 9u);
}

TEST(TraceImporterTest, BatchesThatCannotBeDecodedAreCountedWithTheirReason) {
  const TraceModel model = Import({"launch_batch { count: 7 enter_delta: [1, 2] }"});
  EXPECT_EQ(model.undecodable_record_count, 7u);
  EXPECT_THAT(model.undecodable_reasons, SizeIs(1));
}

TEST(TraceImporterTest, GroupsBeyondTheLimitAreKeptTogether) {
  ImportOptions options;
  options.max_cells = 2;
  std::string definitions;
  for (int i = 1; i <= 5; ++i) {
    definitions += "kernel_attributes { iid: " + std::to_string(i) + " grid_x: " + std::to_string(i) + " } ";
  }
  const TraceModel model = Import({definitions, R"(kernel_batch {
    count: 5 timing: TIMING_COMPLETE base_start_ns: 10500 start_unit_ns: 1 start_delta: [0, 1, 1, 1, 1]
    duration_unit_ns: 32 duration_delta: [2, 2, 2, 2, 2] base_correlation_id: 1 track_iid: [1] attributes_iid: [1, 2, 3, 4, 5] })"},
                                  options);
  EXPECT_TRUE(model.cells_limited);
  EXPECT_THAT(model.cells, SizeIs(3));
  EXPECT_EQ(model.cells.back().kernel_count, 3u);
}

TEST(TraceImporterTest, MemoryDoesNotGrowWithTheNumberOfLaunches) {
  TraceImporter importer({});
  importer.Import(PacketFromText(kDefinitions));
  for (int i = 0; i < 2000; ++i) {
    importer.Import(PacketFromText(Launches(100)));
    importer.Import(PacketFromText(Kernels(100)));
  }
  const TraceModel model = importer.Finish();
  EXPECT_THAT(model.cells, SizeIs(1));
  EXPECT_EQ(model.cells[0].kernel_count, 200'000u);
  EXPECT_EQ(model.accounting.launches_without_kernel, 0u);
}

TEST(TraceImporterTest, SummariesOfOneKernelAreAdded) {
  const TraceModel model =
      Import({"kernel_summary { attributes_iid: 1 count: 3 total_ns: 30 min_ns: 9 max_ns: 11 } "
              "launch_summary { signature_iid: 1 count: 3 }",
              "kernel_summary { attributes_iid: 1 count: 1 total_ns: 5 min_ns: 5 max_ns: 5 }"});
  ASSERT_THAT(model.summarised, SizeIs(1));
  EXPECT_EQ(model.summarised[0].count, 4u);
  EXPECT_EQ(model.summarised[0].min_ns, 5u);
  EXPECT_EQ(model.summarised[0].max_ns, 11u);
  EXPECT_EQ(model.accounting.summarised_kernels, 4u);
  EXPECT_EQ(model.accounting.summarised_launches, 3u);
}

TEST(TraceImporterTest, TheStepOfTheKernelClockIsSeenThroughItsRounding) {
  const TraceModel model = Import({R"(kernel_batch {
    count: 12 timing: TIMING_COMPLETE base_start_ns: 10500 start_unit_ns: 1
    duration_unit_ns: 1 duration_delta: [863, 32, 1, 32, 31, 1, 32, 1, 31, 33, 31, 31]
    base_correlation_id: 1 correlation_delta: [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] attributes_iid: [1] })"});
  EXPECT_EQ(model.clock_step_ns, 32u);
}

TEST(TraceImporterTest, SingleRecordsEndWhereTheFirstSummaryBegins) {
  const TraceModel model = Import({"clock_pair { cupti_ns: 100000 monotonic_ns: 7000 }",
                                   "kernel_summary { attributes_iid: 1 count: 1 begin_ns: 100900 } "
                                   "kernel_summary { attributes_iid: 1 count: 1 begin_ns: 100500 } "
                                   "kernel_summary { attributes_iid: 1 count: 1 }"});
  EXPECT_NE(model.summaries_begin_monotonic_ns, 0u);
  EXPECT_EQ(Import({"kernel_summary { attributes_iid: 1 count: 1 }"}).summaries_begin_monotonic_ns, 0u);
}

TEST(TraceImporterTest, BucketsOfADifferentNumberThanTheirCountsAreCountedAsLost) {
  const TraceModel model = Import({"kernel_summary { attributes_iid: 1 count: 3 bucket: [80, 81] bucket_count: [3] }"});
  EXPECT_EQ(model.undecodable_record_count, 2u);
}

TEST(TraceImporterTest, AUseOfAnUndefinedSignatureIsCountedOnceForALaunchAndItsKernel) {
  const TraceModel model = Import({R"(launch_batch {
    count: 2 thread_id: 5 window_id: 1 base_enter_monotonic_ns: 10000 enter_delta: [0, 1000]
    base_correlation_id: 1 correlation_delta: [0, 1] signature_iid: [77] })",
                                   Kernels(2)});
  EXPECT_EQ(model.accounting.kernels_joined, 2u);
  EXPECT_EQ(model.undefined_count.at("signature"), 2u);
}

}  // namespace
}  // namespace gx::analysis
