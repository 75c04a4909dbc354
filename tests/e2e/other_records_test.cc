// Copies, fills, synchronisation, overhead, NVTX ranges and odd records.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/capture.h"

namespace gx::e2e {
namespace {

namespace v1 = gpuexec::v1;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class OtherRecords : public CaptureTest {};

TEST_F(OtherRecords, CopiesAndFillsAreKeptWithEveryField) {
  const Capture capture = Run({"memory"});
  EXPECT_EQ(capture.result.exit_code, 0) << capture.result.out;
  const auto told = capture.log.Of("transfer");
  ASSERT_THAT(told, SizeIs(3));
  ASSERT_THAT(capture.trace.memory, SizeIs(3));
  for (const MemoryRow& row : capture.trace.memory) {
    const auto same = capture.log.Of("transfer", "correlation", std::to_string(row.record.correlation_id));
    ASSERT_THAT(same, SizeIs(1));
    EXPECT_EQ(row.record.start_ns, same[0].Number("start"));
    EXPECT_EQ(row.record.end_ns, same[0].Number("end"));
    EXPECT_EQ(row.record.size_bytes, same[0].Number("bytes"));
    EXPECT_EQ(row.record.copy_kind, same[0].Number("copy_kind"));
    EXPECT_EQ(row.record.source_memory_kind, same[0].Number("source_kind"));
    EXPECT_EQ(row.record.destination_memory_kind, same[0].Number("destination_kind"));
    EXPECT_EQ(row.track.stream_id(), same[0].Number("stream"));
    EXPECT_EQ(row.track.context_id(), same[0].Number("context"));
    EXPECT_EQ(row.track.device_id(), same[0].Number("device"));
    if (row.record.kind == inject::MemoryKind::kMemcpyPeer) {
      EXPECT_EQ(row.record.source_device_id, 0u);
      EXPECT_EQ(row.record.destination_device_id, 1u);
    }
  }
  EXPECT_EQ(capture.trace.Stat(v1::STAT_MEMORY_RECORDS), 3u);
}

TEST_F(OtherRecords, SynchronisationIsKeptAndOverheadWhereItIsAskedFor) {
  const Capture capture = Run({"launch", "n=10"}, {{"GPUEXEC_OVERHEAD", "on"}});
  std::vector<uint64_t> types;
  for (const auto& record : capture.trace.synchronizations) {
    types.push_back(record.type);
    EXPECT_GE(record.end_ns, record.start_ns);
    EXPECT_NE(record.correlation_id, 0u);
  }
  EXPECT_THAT(types, Contains(uint64_t{3}));  // Stream.
  EXPECT_THAT(types, Contains(uint64_t{4}));  // Context.
  ASSERT_THAT(capture.trace.overheads, SizeIs(1));
  EXPECT_NE(capture.trace.overheads[0].thread_id, 0u);
  EXPECT_EQ(capture.trace.overheads[0].end_ns - capture.trace.overheads[0].start_ns, 32u);
  EXPECT_THAT(Run({"launch", "n=10"}).trace.overheads, IsEmpty());
}

// By name and result, of the threads of the program alone.
TEST_F(OtherRecords, CallsOfTheDriverAreKeptWhereTheyAreAskedFor) {
  const Capture capture = Run({"launch", "n=10", "threads=2"}, {{"GPUEXEC_API", "on"}});
  std::map<std::string, size_t> calls;
  std::set<uint64_t> threads;
  for (const auto& call : capture.trace.api_calls) {
    ASSERT_TRUE(capture.trace.api_functions.contains(call.function_iid));
    const v1::ApiFunction& function = capture.trace.api_functions.at(call.function_iid);
    EXPECT_EQ(function.domain(), v1::ApiFunction::DOMAIN_DRIVER);
    EXPECT_GE(call.end_ns, call.start_ns);
    EXPECT_NE(call.correlation_id, 0u);
    EXPECT_EQ(call.result, 0u);
    ++calls[function.name()];
    threads.insert(call.thread_id);
  }
  EXPECT_EQ(calls["cuLaunchKernel"], capture.trace.launches.size());
  EXPECT_EQ(capture.trace.Stat(v1::STAT_API_CALLS), capture.trace.api_calls.size());
  std::set<uint64_t> launching;
  for (const LaunchRow& launch : capture.trace.launches) launching.insert(launch.record.thread_id);
  for (const uint64_t thread : threads) {
    ASSERT_TRUE(capture.trace.thread_names.contains(thread));
    EXPECT_THAT(capture.trace.thread_names.at(thread), Not(HasSubstr("gpuexec"))) << "a thread of ours";
  }
  for (const uint64_t thread : launching) EXPECT_THAT(threads, Contains(thread));
  EXPECT_EQ(capture.result.out, RunBare({"launch", "n=10", "threads=2"}).out);
  EXPECT_THAT(Run({"launch", "n=10"}).trace.api_calls, IsEmpty());
}

TEST_F(OtherRecords, ACallThatFailsKeepsItsResult) {
  const Capture capture = Run({"failing"}, {{"GPUEXEC_API", "on"}});
  std::set<uint64_t> results;
  for (const auto& call : capture.trace.api_calls) {
    if (capture.trace.api_functions.at(call.function_iid).name() == "cuLaunchKernel") results.insert(call.result);
  }
  EXPECT_THAT(results, ElementsAre(uint64_t{CUDA_SUCCESS}, uint64_t{CUDA_ERROR_INVALID_VALUE}));
}

TEST_F(OtherRecords, NvtxRangesAreKeptInOrderWithDomainsTextAndPayload) {
  const Capture capture = Run({"nvtx"});
  std::vector<std::string> events;
  for (const NvtxRow& row : capture.trace.nvtx) {
    events.push_back(std::to_string(static_cast<int>(row.record.kind)) + " " + row.domain + "/" + row.text + "/" +
                     row.payload);
    EXPECT_EQ(row.record.thread_id, capture.trace.launches.at(0).record.thread_id);
  }
  EXPECT_THAT(events,
              ElementsAre("1 /outer/", "1 library/inner/42", "2 library//", "2 //", "3 /whole/", "5 /here/", "4 //"));
  ASSERT_THAT(capture.trace.launches, SizeIs(3));
  // The first launch lies in the outer range, the second in both, the third in none.
  const auto& nvtx = capture.trace.nvtx;
  EXPECT_GT(capture.trace.launches[0].record.enter_monotonic_ns, nvtx[0].record.monotonic_ns);
  EXPECT_LT(capture.trace.launches[0].record.enter_monotonic_ns, nvtx[1].record.monotonic_ns);
  EXPECT_GT(capture.trace.launches[1].record.enter_monotonic_ns, nvtx[1].record.monotonic_ns);
  EXPECT_LT(capture.trace.launches[1].record.enter_monotonic_ns, nvtx[2].record.monotonic_ns);
  EXPECT_GT(capture.trace.launches[2].record.enter_monotonic_ns, nvtx[6].record.monotonic_ns);
  EXPECT_EQ(nvtx[4].record.range_id, nvtx[6].record.range_id);
  EXPECT_EQ(capture.trace.Stat(v1::STAT_NVTX_EVENTS), 7u);
}

TEST_F(OtherRecords, AnNvtxHandlerOfTheUserIsLeftInPlace) {
  const Capture capture = Run({"nvtx"}, {{"NVTX_INJECTION64_PATH", "/nonexistent/handler.so"}});
  EXPECT_EQ(capture.result.out, "launched 3\n");
  EXPECT_THAT(capture.trace.nvtx, IsEmpty());
}

TEST_F(OtherRecords, RecordsThatCuptiDroppedAreCounted) {
  const Capture capture = Run({"launch", "n=100"}, {{"FAKE_CUPTI_DROP", "30"}});
  EXPECT_THAT(capture.trace.launches, SizeIs(100));
  EXPECT_THAT(capture.trace.kernels, SizeIs(70));
  EXPECT_EQ(capture.trace.Stat(v1::STAT_RECORDS_DROPPED_BY_CUPTI), 30u);
}

TEST_F(OtherRecords, RecordsWithoutTimesAreCountedAndNotTimed) {
  const Capture capture = Run({"launch", "n=100"}, {{"FAKE_CUPTI_ZERO_TIMES", "10"}});
  EXPECT_EQ(capture.trace.Stat(v1::STAT_KERNELS_UNTIMED), 10u);
  int missing = 0;
  for (const KernelRow& kernel : capture.trace.kernels) missing += kernel.timing == v1::KernelBatch::TIMING_MISSING;
  EXPECT_EQ(missing, 10);
  EXPECT_THAT(capture.trace.kernels, SizeIs(100));
}

TEST_F(OtherRecords, RecordsThatEndBeforeTheyStartAreCountedAndKeptApart) {
  const Capture capture = Run({"launch", "n=100"}, {{"FAKE_CUPTI_BACKWARDS", "20"}});
  EXPECT_EQ(capture.trace.Stat(v1::STAT_KERNELS_INVALID_TIME), 5u);
  int invalid = 0;
  for (const KernelRow& kernel : capture.trace.kernels) invalid += kernel.timing == v1::KernelBatch::TIMING_INVALID;
  EXPECT_EQ(invalid, 5);
}

TEST_F(OtherRecords, RecordsOfAKindThatNobodyAskedForAreCountedAndSkipped) {
  const Capture capture = Run({"launch", "n=100"}, {{"FAKE_CUPTI_STRANGE", "10"}});
  EXPECT_EQ(capture.trace.Stat(v1::STAT_ACTIVITY_UNKNOWN_KIND), 10u);
  EXPECT_EQ(TracedKernels(capture.trace), ToldKernels(capture.log));
}

TEST_F(OtherRecords, DeviceSamplesComeFromNvml) {
  const Capture capture = Run({"launch", "n=10", "sleep_ms=2500"});
  ASSERT_THAT(capture.trace.device_samples, ::testing::Not(IsEmpty()));
  const v1::DeviceSample& sample = capture.trace.device_samples[0];
  EXPECT_EQ(sample.device_id(), 0u);
  EXPECT_EQ(sample.sm_clock_hz(), 1'700'000'000u);
  EXPECT_EQ(sample.memory_clock_hz(), 3'200'000'000u);
  EXPECT_EQ(sample.power_milliwatts(), 350'000u);
  EXPECT_EQ(sample.temperature_celsius(), 41);
  EXPECT_EQ(sample.throttle_reasons_mask(), 4u);
}

TEST_F(OtherRecords, WithoutNvmlOnlyItsFiguresAreMissing) {
  const Capture capture = Run({"launch", "n=10"}, {{"FAKE_FAIL", "nvmlInit_v2=9"}});
  EXPECT_THAT(capture.trace.kernels, SizeIs(10));
  EXPECT_GT(capture.trace.Stat(v1::STAT_NVML_UNAVAILABLE), 0u);
  ASSERT_THAT(capture.trace.devices, SizeIs(1));
  EXPECT_FALSE(capture.trace.devices.begin()->second.has_max_sm_clock_hz());
  EXPECT_EQ(capture.trace.devices.begin()->second.name(), "Fake GPU 0");
}

}  // namespace
}  // namespace gx::e2e
