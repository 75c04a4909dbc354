// Every launch of a program is in its trace, with the values that the driver was given, and so is every kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/e2e/capture.h"
#include "tests/fakes/fake_records.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LaunchCapture : public CaptureTest {};

// On a slow machine a run of thousands of launches is long enough for a counter window, whose kernels have no times.
const fakes::Environment kTimesAlone = {{"GPUEXEC_COUNTERS", "off"}};

TEST_F(LaunchCapture, EveryLaunchAndKernelOfSeveralThreadsAndStreamsIsInTheTrace) {
  const Capture capture = Run({"launch", "n=2000", "threads=4", "streams=3"}, kTimesAlone);
  EXPECT_EQ(capture.result.out, "launched 8000\n");
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_LAUNCHES_SEEN), 8000u);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_KERNEL_RECORDS), 8000u);
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
  EXPECT_EQ(capture.trace.cut_bytes, 0u);
  EXPECT_EQ(capture.trace.sequence_gaps, 0u);
}

TEST_F(LaunchCapture, EveryLaunchFunctionIsFollowedWithItsAttributes) {
  const Capture capture = Run({"every"});
  EXPECT_EQ(capture.result.exit_code, 0) << capture.result.err;
  EXPECT_THAT(capture.trace.launches, SizeIs(10));
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
}

TEST_F(LaunchCapture, EveryKernelJoinsItsLaunchByCorrelationId) {
  const Capture capture = Run({"launch", "n=3000", "threads=2"}, kTimesAlone);
  std::map<uint64_t, const LaunchRow*> launches;
  for (const LaunchRow& launch : capture.trace.launches) launches[launch.record.correlation_id] = &launch;
  ASSERT_THAT(launches, SizeIs(6000));
  for (const KernelRow& kernel : capture.trace.kernels) {
    ASSERT_TRUE(launches.contains(kernel.record.correlation_id));
    const LaunchRow& launch = *launches[kernel.record.correlation_id];
    EXPECT_EQ(launch.name, kernel.name);
    EXPECT_EQ(launch.signature.grid_x(), kernel.attributes.grid_x());
    EXPECT_EQ(launch.track.stream_id(), kernel.track.stream_id());
  }
  EXPECT_EQ(capture.trace.Stat(v1::STAT_SIGNATURE_DISAGREEMENTS), 0u);
}

TEST_F(LaunchCapture, RecordFieldsBesideTheSignatureAreKept) {
  const Capture capture = Run({"every"});
  for (const KernelRow& kernel : capture.trace.kernels) {
    const auto& attributes = kernel.attributes;
    const bool has_cluster = attributes.cluster_x() != 0;
    EXPECT_EQ(attributes.cache_config_requested(), fakes::kRecordCacheConfigRequested);
    EXPECT_EQ(attributes.cache_config_executed(), fakes::kRecordCacheConfigExecuted);
    EXPECT_EQ(attributes.shared_memory_executed_bytes(), fakes::kRecordSharedMemoryExecutedBytes);
    EXPECT_EQ(attributes.local_memory_total_bytes(), fakes::kRecordLocalMemoryTotalBytes);
    EXPECT_EQ(attributes.max_potential_cluster_size(), has_cluster ? fakes::kRecordMaxPotentialClusterSize : 0);
    EXPECT_EQ(attributes.max_active_clusters(), has_cluster ? fakes::kRecordMaxActiveClusters : 0);
    EXPECT_EQ(attributes.has_shared_memory_carveout_requested(), has_cluster);
    EXPECT_EQ(attributes.shared_memory_carveout_requested(), has_cluster ? 50u : 0u);
    EXPECT_FALSE(attributes.device_launched());
  }
}

TEST_F(LaunchCapture, LaunchesOfAThreadAreInTheOrderInWhichTheyWereMade) {
  const Capture capture = Run({"launch", "n=2000", "threads=2"});
  std::map<uint64_t, const LaunchRow*> last;
  for (const LaunchRow& launch : capture.trace.launches) {
    const LaunchRow*& before = last[launch.record.thread_id];
    if (before != nullptr) {
      EXPECT_GT(launch.record.correlation_id, before->record.correlation_id);
      EXPECT_GE(launch.record.enter_monotonic_ns, before->record.enter_monotonic_ns);
    }
    before = &launch;
  }
  EXPECT_THAT(last, SizeIs(2));
}

TEST_F(LaunchCapture, FunctionsHaveTheDriversAttributesAndOccupancy) {
  const Capture capture = Run({"launch", "n=200"});
  ASSERT_THAT(capture.trace.functions, SizeIs(5));
  for (const auto& [iid, function] : capture.trace.functions) {
    ASSERT_TRUE(function.has_attributes());
    const std::string name = capture.trace.FunctionName(iid);
    const uint64_t n = static_cast<uint64_t>(name[10] - '0');  // _Z7kernel_N...
    EXPECT_EQ(function.attributes().result(), 0u);
    EXPECT_EQ(function.attributes().registers_per_thread(), 16 + 8 * n);
    EXPECT_EQ(function.attributes().static_shared_memory_bytes(), 128 * n);
    EXPECT_EQ(function.attributes().local_memory_per_thread_bytes(), 16 * n);
    EXPECT_EQ(function.attributes().max_threads_per_block(), 1024u);
    EXPECT_EQ(function.attributes().preferred_shared_memory_carveout(), -1);
    EXPECT_TRUE(function.has_code_hash());
  }
  for (const auto& [iid, signature] : capture.trace.signatures) {
    ASSERT_TRUE(signature.has_driver_occupancy());
    EXPECT_EQ(signature.driver_occupancy().result(), 0u);
    EXPECT_GT(signature.driver_occupancy().max_active_blocks_per_multiprocessor(), 0u);
  }
  EXPECT_EQ(capture.trace.Stat(v1::STAT_OCCUPANCY_UNAVAILABLE), 0u);
}

TEST_F(LaunchCapture, RefusedLaunchesAreKeptWithTheirErrorAndRanNoKernel) {
  const Capture capture = Run({"failing"});
  EXPECT_EQ(capture.result.out, "refused with 1\nrefused with 1\nrefused with 1\n");
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_THAT(capture.trace.kernels, SizeIs(3));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_LAUNCHES_FAILED), 3u);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_LAUNCHES_SEEN), 3u);
}

TEST_F(LaunchCapture, CodeIsToldApartWhenHandlesAndNamesAreUsedAgain) {
  const Capture capture = Run({"modules", "loops=10", "n=10"});
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  // Five kernels in each of ten modules, all with code of their own; the first module's were never launched.
  std::set<std::pair<std::string, uint64_t>> codes;
  for (const LaunchRow& launch : capture.trace.launches) {
    const auto& function = capture.trace.functions.at(launch.signature.function_iid());
    EXPECT_TRUE(function.has_code_hash());
    EXPECT_FALSE(function.code_ambiguous());
    codes.insert({launch.name, function.code_hash()});
  }
  EXPECT_THAT(codes, SizeIs(50));
  EXPECT_THAT(capture.trace.modules, SizeIs(11));
  EXPECT_THAT(capture.trace.Complaints(), IsEmpty());
  EXPECT_EQ(capture.trace.Stat(v1::STAT_OCCUPANCY_UNAVAILABLE), 0u) << "an unload did not wait for its answers";
}

TEST_F(LaunchCapture, NamesComeFromTheLaunchWhereRecordsLoseThem) {
  const Capture capture = Run({"modules", "loops=5", "n=10"}, {{"FAKE_CUPTI_REUSE_NAMES", "1"}});
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
}

TEST_F(LaunchCapture, RecordsInAnyOrderAreAllKept) {
  const Capture capture =
      Run({"launch", "n=5000", "threads=2"}, {{"FAKE_CUPTI_SHUFFLE", "1"}, {"GPUEXEC_COUNTERS", "off"}});
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
}

TEST_F(LaunchCapture, ContextsOfEveryDeviceAreTracedAndSeenToEnd) {
  const Capture capture = Run({"contexts"}, {{"FAKE_GPU_DEVICES", "3"}});
  EXPECT_EQ(capture.result.out, "launched 3\n");
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
  EXPECT_EQ(TracedLaunches(capture.trace), ToldLaunches(capture.log));
  ASSERT_THAT(capture.trace.contexts, SizeIs(3));
  for (const auto& [id, context] : capture.trace.contexts) {
    EXPECT_EQ(context.device_id(), id - 1);
    EXPECT_TRUE(context.has_destroyed_monotonic_ns());
    EXPECT_GE(context.destroyed_monotonic_ns(), context.created_monotonic_ns());
  }
}

TEST_F(LaunchCapture, ADeviceIsDescribedAsTheDriverAndNvmlDo) {
  const Capture capture = Run({"launch", "n=10", "device=1"});
  ASSERT_THAT(capture.trace.devices, SizeIs(1));
  const v1::Device& device = capture.trace.devices.begin()->second;
  EXPECT_EQ(device.device_id(), 1u);
  EXPECT_EQ(device.name(), "Fake GPU 1");
  EXPECT_EQ(device.uuid(), std::string("\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"));
  EXPECT_EQ(device.pci_bus_id(), "0000:11:00.0");
  EXPECT_EQ(device.total_memory_bytes(), (uint64_t{140} << 30) + 1);
  EXPECT_EQ(device.attributes().multiprocessor_count(), 132u);
  EXPECT_EQ(device.attributes().clock_rate_hz(), 1'980'000'000u);
  EXPECT_EQ(device.attributes().memory_bus_width_bits(), 6016u);
  EXPECT_FALSE(device.attributes().has_integrated()) << "the fake driver does not know that attribute";
  EXPECT_TRUE(device.has_mig_enabled());
  EXPECT_FALSE(device.mig_enabled());
  EXPECT_EQ(device.max_sm_clock_hz(), 1'981'000'000u);
  EXPECT_EQ(device.max_memory_clock_hz(), 3'202'000'000u);
  EXPECT_EQ(device.power_limit_milliwatts(), 700'001u);
  EXPECT_TRUE(device.ecc_enabled());
  EXPECT_EQ(device.virtualization_mode(), 1u);
}

TEST_F(LaunchCapture, TheHeaderSaysWhoRanOnWhat) {
  const Capture capture = Run({"launch", "n=1"}, {{"RANK", "3"}, {"WORLD_SIZE", "8"}});
  const v1::Header& header = capture.trace.header;
  EXPECT_EQ(header.format_major(), 1u);
  ASSERT_THAT(header.command_line(), SizeIs(3));
  EXPECT_EQ(header.command_line(0), GX_FAKE_HOST);
  EXPECT_EQ(header.executable_path(), GX_FAKE_HOST);
  EXPECT_EQ(header.pid(), capture.log.Of("injection")[0].Number("pid"));
  EXPECT_EQ(header.cuda_driver_api_version(), 13000u);
  EXPECT_EQ(header.cupti_api_version(), 130001u);
  EXPECT_EQ(header.cupti_path(), GX_FAKES_DIR "/libcupti.so.13");
  EXPECT_EQ(header.libcuda_path(), GX_FAKES_DIR "/libcuda.so.1");
  EXPECT_EQ(header.driver_version(), "580.00.00");
  EXPECT_THAT(header.rank_variable(), SizeIs(2));
  EXPECT_GT(header.start().cupti_ns(), fakes::kGpuClockOffsetNs);
  ASSERT_TRUE(capture.trace.trailer.has_value());
  EXPECT_EQ(capture.trace.trailer->reason(), v1::Trailer::REASON_EXIT);
  EXPECT_GT(capture.trace.trailer->end().monotonic_ns(), header.start().monotonic_ns());
}

TEST_F(LaunchCapture, ClockPairsRelateTheGpusClockToTheHosts) {
  const Capture capture = Run({"launch", "n=10"});
  const v1::ClockPair& pair = capture.trace.header.start();
  // The fake's clock is the host's plus a constant: the pair was read within a second of itself.
  EXPECT_NEAR(static_cast<double>(pair.cupti_ns() - fakes::kGpuClockOffsetNs), static_cast<double>(pair.monotonic_ns()),
              1e9);
}

}  // namespace
}  // namespace gx::e2e
