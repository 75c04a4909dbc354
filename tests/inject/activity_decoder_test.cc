#include "inject/activity_decoder.h"

#include <cupti_activity_deprecated.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Records that the fake walks: the sizes, as CUPTI alone knows them.
struct FakeBuffer {
  std::vector<uint64_t> memory = std::vector<uint64_t>(4096 / 8);
  std::vector<size_t> offsets;
  size_t used_bytes = 0;
  CUptiResult end = CUPTI_ERROR_MAX_LIMIT_REACHED;

  uint8_t* data() { return reinterpret_cast<uint8_t*>(memory.data()); }
  template <typename Record>
  void Add(const Record& record, size_t bytes = sizeof(Record)) {
    std::memcpy(data() + used_bytes, &record, sizeof(Record));
    offsets.push_back(used_bytes);
    used_bytes += bytes;
  }
};
FakeBuffer* g_buffer = nullptr;

CUptiResult CUPTIAPI GetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  EXPECT_EQ(buffer, g_buffer->data());
  EXPECT_EQ(valid_bytes, g_buffer->used_bytes);
  size_t next = 0;
  if (*record != nullptr) {
    const auto at = static_cast<size_t>(reinterpret_cast<uint8_t*>(*record) - buffer);
    while (g_buffer->offsets[next] != at) ++next;
    ++next;
  }
  if (next == g_buffer->offsets.size()) return g_buffer->end;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + g_buffer->offsets[next]);
  return CUPTI_SUCCESS;
}

class Collector : public ActivityVisitor {
 public:
  void OnKernel(const KernelActivity& kernel) override { kernels.push_back(kernel); }
  void OnMemory(const MemoryActivity& memory) override { memories.push_back(memory); }
  void OnOverhead(const OverheadRecord& overhead) override { overheads.push_back(overhead); }
  void OnApiCall(ApiDomain domain, uint32_t cbid, const ApiCallRecord& call) override {
    api_calls.push_back({domain, cbid, call});
  }
  void OnUnknown(uint32_t kind) override { unknown.push_back(kind); }

  std::vector<KernelActivity> kernels;
  std::vector<MemoryActivity> memories;
  std::vector<OverheadRecord> overheads;
  struct ApiCall {
    ApiDomain domain;
    uint32_t cbid;
    ApiCallRecord record;
  };
  std::vector<ApiCall> api_calls;
  std::vector<uint32_t> unknown;
};

template <typename Record>
Record MakeKernel() {
  Record in;
  std::memset(&in, 0, sizeof(in));
  in.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  in.start = 1'000'000'000'001;
  in.end = 1'000'000'000'077;
  in.correlationId = 11;
  in.deviceId = 12;
  in.contextId = 13;
  in.streamId = 14;
  in.graphId = 15;
  in.graphNodeId = 0x1'0000'0010;
  in.name = "axpy";
  in.gridX = 21;
  in.gridY = 22;
  in.gridZ = 23;
  in.blockX = 24;
  in.blockY = 25;
  in.blockZ = 26;
  in.clusterX = 27;
  in.clusterY = 28;
  in.clusterZ = 29;
  in.registersPerThread = 255;
  in.staticSharedMemory = 31;
  in.dynamicSharedMemory = 230'000;
  in.sharedMemoryExecuted = 233'472;
  in.isSharedMemoryCarveoutRequested = 1;
  in.sharedMemoryCarveoutRequested = 100;
  in.cacheConfig.config.requested = 2;
  in.cacheConfig.config.executed = 3;
  in.localMemoryPerThread = 34;
  in.localMemoryTotal_v2 = 0x2'0000'0000;
  in.launchType = 1;
  in.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  in.maxPotentialClusterSize = 16;
  in.maxActiveClusters = 66;
  in.shmemLimitConfig = CUPTI_FUNC_SHMEM_LIMIT_OPTIN;
  return in;
}

void ExpectKernel(const KernelActivity& out) {
  EXPECT_EQ(out.start_ns, 1'000'000'000'001u);
  EXPECT_EQ(out.end_ns, 1'000'000'000'077u);
  EXPECT_EQ(out.correlation_id, 11u);
  EXPECT_EQ(out.device_id, 12u);
  EXPECT_EQ(out.context_id, 13u);
  EXPECT_EQ(out.stream_id, 14u);
  EXPECT_EQ(out.graph_id, 15u);
  EXPECT_EQ(out.graph_node_id, 0x1'0000'0010u);
  EXPECT_STREQ(out.name, "axpy");
  const KernelLaunchValues& values = out.values;
  EXPECT_THAT(values.grid, ElementsAre(21, 22, 23));
  EXPECT_THAT(values.block, ElementsAre(24, 25, 26));
  EXPECT_THAT(values.cluster, ElementsAre(27, 28, 29));
  EXPECT_EQ(values.registers_per_thread, 255u);
  EXPECT_EQ(values.static_shared_memory_bytes, 31u);
  EXPECT_EQ(values.dynamic_shared_memory_bytes, 230'000u);
  EXPECT_EQ(values.shared_memory_executed_bytes, 233'472u);
  EXPECT_EQ(values.carveout_requested, 101u);
  EXPECT_EQ(values.cache_config_requested, 2u);
  EXPECT_EQ(values.cache_config_executed, 3u);
  EXPECT_EQ(values.local_memory_per_thread_bytes, 34u);
  EXPECT_EQ(values.local_memory_total_bytes, 0x2'0000'0000u);
  EXPECT_EQ(values.launch_type, 1u);
  EXPECT_EQ(values.channel_type, static_cast<uint32_t>(CUPTI_CHANNEL_TYPE_COMPUTE));
  EXPECT_EQ(values.max_potential_cluster_size, 16u);
  EXPECT_EQ(values.max_active_clusters, 66u);
  EXPECT_EQ(values.shared_memory_limit_config, static_cast<uint32_t>(CUPTI_FUNC_SHMEM_LIMIT_OPTIN));
  EXPECT_EQ(values.reserved, 0u);
}

class ActivityDecoderTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kCupti128 = 26;
  static constexpr uint32_t kCupti130 = 130000;
  static constexpr uint32_t kCupti139 = 139900;

  ActivityDecoderTest() {
    g_buffer = &buffer_;
    cupti_.cuptiActivityGetNextRecord = GetNextRecord;
  }

  Collector Decode(uint32_t cupti_version, bool want_complete = true) {
    cupti_.version = cupti_version;
    const ActivityDecoder decoder(&cupti_);
    Collector collector;
    EXPECT_EQ(decoder.Decode(buffer_.data(), buffer_.used_bytes, &collector), want_complete);
    EXPECT_EQ(decoder.Count(buffer_.data(), buffer_.used_bytes), buffer_.offsets.size());
    return collector;
  }

  FakeBuffer buffer_;
  CuptiApi cupti_;
};

// What Decode reads stands where both layouts have it.
#define GX_SAME_PLACE(older, newer, member) \
  static_assert(offsetof(older, member) == offsetof(newer, member) && sizeof(older::member) == sizeof(newer::member))
GX_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, maxPotentialClusterSize);
GX_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, maxActiveClusters);
GX_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, localMemoryTotal_v2);
GX_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, channelType);
GX_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, name);
GX_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, graphId);
GX_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, graphNodeId);
GX_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, bytes);
#undef GX_SAME_PLACE

TEST_F(ActivityDecoderTest, EveryFieldOfAKernel9IsRead) {
  buffer_.Add(MakeKernel<CUpti_ActivityKernel9>());
  const Collector seen = Decode(kCupti128);
  ASSERT_THAT(seen.kernels, SizeIs(1));
  ExpectKernel(seen.kernels[0]);
  EXPECT_EQ(seen.kernels[0].values.device_launched, 0u);
}

TEST_F(ActivityDecoderTest, ABytePastAKernel9IsNotTakenForItsField) {
  buffer_.Add(MakeKernel<CUpti_ActivityKernel9>());
  // The next record begins where Kernel10 has isDeviceLaunched.
  std::memset(buffer_.data() + buffer_.used_bytes, 0xFF, 64);
  EXPECT_EQ(Decode(kCupti128).kernels[0].values.device_launched, 0u);
}

TEST_F(ActivityDecoderTest, EveryFieldOfAKernel10IsRead) {
  auto in = MakeKernel<CUpti_ActivityKernel10>();
  in.isDeviceLaunched = 1;
  buffer_.Add(in);
  const Collector seen = Decode(kCupti130);
  ASSERT_THAT(seen.kernels, SizeIs(1));
  ExpectKernel(seen.kernels[0]);
  EXPECT_EQ(seen.kernels[0].values.device_launched, 1u);
}

TEST_F(ActivityDecoderTest, ALongerLayoutOfALaterCuptiIsReadThroughTheNewestKnown) {
  for (int i = 0; i < 3; ++i) {
    auto in = MakeKernel<CUpti_ActivityKernel10>();
    in.isDeviceLaunched = 1;
    buffer_.Add(in, sizeof(in) + 48);
  }
  const Collector seen = Decode(kCupti139);
  ASSERT_THAT(seen.kernels, SizeIs(3));
  for (const KernelActivity& kernel : seen.kernels) ExpectKernel(kernel);
}

TEST_F(ActivityDecoderTest, ARecordThatIsNotWholeInTheBufferIsNotRead) {
  buffer_.Add(MakeKernel<CUpti_ActivityKernel10>());
  buffer_.Add(MakeKernel<CUpti_ActivityKernel10>());
  cupti_.version = kCupti130;
  const ActivityDecoder decoder(&cupti_);
  buffer_.used_bytes -= sizeof(CUpti_ActivityKernel10) - offsetof(CUpti_ActivityKernel10, isDeviceLaunched);
  Collector collector;
  EXPECT_FALSE(decoder.Decode(buffer_.data(), buffer_.used_bytes, &collector));
  EXPECT_THAT(collector.kernels, SizeIs(1));
  EXPECT_EQ(decoder.Count(buffer_.data(), buffer_.used_bytes), 1u);
}

TEST_F(ActivityDecoderTest, AWalkThatDoesNotGoForwardEnds) {
  cupti_.cuptiActivityGetNextRecord = [](uint8_t* buffer, size_t, CUpti_Activity** record) {
    *record = reinterpret_cast<CUpti_Activity*>(buffer);
    return CUPTI_SUCCESS;
  };
  buffer_.Add(MakeKernel<CUpti_ActivityKernel10>());
  EXPECT_THAT(Decode(kCupti130, false).kernels, SizeIs(1));
}

TEST_F(ActivityDecoderTest, ACarveoutThatNobodyRequestedIsNone) {
  auto in = MakeKernel<CUpti_ActivityKernel10>();
  in.isSharedMemoryCarveoutRequested = 0;
  buffer_.Add(in);
  in.isSharedMemoryCarveoutRequested = 1;
  in.sharedMemoryCarveoutRequested = 0;
  buffer_.Add(in);
  const Collector seen = Decode(kCupti130);
  EXPECT_EQ(seen.kernels[0].values.carveout_requested, 0u);
  EXPECT_EQ(seen.kernels[1].values.carveout_requested, 1u) << "0 per cent was requested";
}

TEST_F(ActivityDecoderTest, EqualKernelsAreEqualBytes) {
  buffer_.Add(MakeKernel<CUpti_ActivityKernel10>());
  buffer_.Add(MakeKernel<CUpti_ActivityKernel10>());
  const Collector seen = Decode(kCupti130);
  EXPECT_EQ(std::memcmp(&seen.kernels[0].values, &seen.kernels[1].values, sizeof(KernelLaunchValues)), 0);
}

TEST_F(ActivityDecoderTest, KernelsOfTheSerialKindAreKernelsToo) {
  auto in = MakeKernel<CUpti_ActivityKernel10>();
  in.kind = CUPTI_ACTIVITY_KIND_KERNEL;
  buffer_.Add(in);
  EXPECT_THAT(Decode(kCupti130).kernels, SizeIs(1));
}

template <typename Record>
Record MakeMemory(CUpti_ActivityKind kind) {
  Record in;
  std::memset(&in, 0, sizeof(in));
  in.kind = kind;
  in.start = 1'000;
  in.end = 2'000;
  in.bytes = 0x1'0000'0001;
  in.correlationId = 31;
  in.deviceId = 32;
  in.contextId = 33;
  in.streamId = 34;
  in.graphId = 35;
  in.graphNodeId = 36;
  return in;
}

void ExpectMemory(const MemoryActivity& out, MemoryKind kind) {
  EXPECT_EQ(out.record.kind, kind);
  EXPECT_EQ(out.record.start_ns, 1'000u);
  EXPECT_EQ(out.record.end_ns, 2'000u);
  EXPECT_EQ(out.record.size_bytes, 0x1'0000'0001u);
  EXPECT_EQ(out.record.correlation_id, 31u);
  EXPECT_EQ(out.device_id, 32u);
  EXPECT_EQ(out.context_id, 33u);
  EXPECT_EQ(out.stream_id, 34u);
  EXPECT_EQ(out.record.graph_id, 35u);
  EXPECT_EQ(out.record.graph_node_id, 36u);
}

TEST_F(ActivityDecoderTest, EveryFieldOfACopyIsRead) {
  auto in = MakeMemory<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  in.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  in.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  in.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  buffer_.Add(in);
  const Collector seen = Decode(kCupti130);
  ASSERT_THAT(seen.memories, SizeIs(1));
  const MemoryActivity& out = seen.memories[0];
  ExpectMemory(out, MemoryKind::kMemcpy);
  EXPECT_EQ(out.record.copy_kind, uint64_t{CUPTI_ACTIVITY_MEMCPY_KIND_HTOD});
  EXPECT_EQ(out.record.source_memory_kind, uint64_t{CUPTI_ACTIVITY_MEMORY_KIND_PINNED});
  EXPECT_EQ(out.record.destination_memory_kind, uint64_t{CUPTI_ACTIVITY_MEMORY_KIND_DEVICE});
  EXPECT_EQ(out.record.source_device_id, 32u);
  EXPECT_EQ(out.record.destination_device_id, 32u);
}

TEST_F(ActivityDecoderTest, ACopyOfTheOlderLayoutIsReadTheSame) {
  buffer_.Add(MakeMemory<CUpti_ActivityMemcpy5>(CUPTI_ACTIVITY_KIND_MEMCPY));
  const Collector seen = Decode(kCupti128);
  ASSERT_THAT(seen.memories, SizeIs(1));
  ExpectMemory(seen.memories[0], MemoryKind::kMemcpy);
}

TEST_F(ActivityDecoderTest, EveryFieldOfAPeerCopyIsRead) {
  auto in = MakeMemory<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  in.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  in.srcDeviceId = 1;
  in.dstDeviceId = 2;
  buffer_.Add(in);
  const Collector seen = Decode(kCupti130);
  ASSERT_THAT(seen.memories, SizeIs(1));
  ExpectMemory(seen.memories[0], MemoryKind::kMemcpyPeer);
  EXPECT_EQ(seen.memories[0].record.copy_kind, uint64_t{CUPTI_ACTIVITY_MEMCPY_KIND_PTOP});
  EXPECT_EQ(seen.memories[0].record.source_device_id, 1u);
  EXPECT_EQ(seen.memories[0].record.destination_device_id, 2u);
}

TEST_F(ActivityDecoderTest, EveryFieldOfAMemsetIsRead) {
  auto in = MakeMemory<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  in.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  buffer_.Add(in);
  const Collector seen = Decode(kCupti130);
  ASSERT_THAT(seen.memories, SizeIs(1));
  ExpectMemory(seen.memories[0], MemoryKind::kMemset);
  EXPECT_EQ(seen.memories[0].record.destination_memory_kind, uint64_t{CUPTI_ACTIVITY_MEMORY_KIND_MANAGED});
}

TEST_F(ActivityDecoderTest, OverheadIsReadWithItsThreadWhereItHasOne) {
  CUpti_ActivityOverhead3 in;
  std::memset(&in, 0, sizeof(in));
  in.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  in.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  in.start = 5;
  in.end = 9;
  in.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  in.objectId.pt.threadId = 77;
  buffer_.Add(in);
  in.objectKind = CUPTI_ACTIVITY_OBJECT_DEVICE;
  buffer_.Add(in);
  const Collector seen = Decode(kCupti130);
  ASSERT_THAT(seen.overheads, SizeIs(2));
  EXPECT_EQ(seen.overheads[0].start_ns, 5u);
  EXPECT_EQ(seen.overheads[0].end_ns, 9u);
  EXPECT_EQ(seen.overheads[0].kind, uint64_t{CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH});
  EXPECT_EQ(seen.overheads[0].thread_id, 77u);
  EXPECT_EQ(seen.overheads[1].thread_id, 0u);
}

TEST_F(ActivityDecoderTest, CallsOfBothDomainsAreReadWithTheirThreadAndResult) {
  CUpti_ActivityAPI in;
  std::memset(&in, 0, sizeof(in));
  in.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  in.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  in.start = 5;
  in.end = 19;
  in.threadId = 77;
  in.correlationId = 12;
  in.returnValue = 700;
  buffer_.Add(in);
  in.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  in.cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
  buffer_.Add(in);
  const Collector seen = Decode(kCupti130);
  ASSERT_THAT(seen.api_calls, SizeIs(2));
  EXPECT_EQ(seen.api_calls[0].domain, ApiDomain::kRuntime);
  EXPECT_EQ(seen.api_calls[0].cbid, uint32_t{CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000});
  EXPECT_EQ(seen.api_calls[0].record.start_ns, 5u);
  EXPECT_EQ(seen.api_calls[0].record.end_ns, 19u);
  EXPECT_EQ(seen.api_calls[0].record.thread_id, 77u);
  EXPECT_EQ(seen.api_calls[0].record.correlation_id, 12u);
  EXPECT_EQ(seen.api_calls[0].record.result, 700u);
  EXPECT_EQ(seen.api_calls[1].domain, ApiDomain::kDriver);
  EXPECT_EQ(seen.api_calls[1].cbid, uint32_t{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel});
}

TEST_F(ActivityDecoderTest, OtherKindsAreToldAndTheWalkGoesOn) {
  CUpti_ActivityKernel10 other = MakeKernel<CUpti_ActivityKernel10>();
  other.kind = CUPTI_ACTIVITY_KIND_NAME;
  buffer_.Add(other);
  buffer_.Add(MakeKernel<CUpti_ActivityKernel10>());
  const Collector seen = Decode(kCupti130);
  EXPECT_THAT(seen.unknown, ElementsAre(uint32_t{CUPTI_ACTIVITY_KIND_NAME}));
  EXPECT_THAT(seen.kernels, SizeIs(1));
}

TEST_F(ActivityDecoderTest, AWalkThatFailsKeepsWhatCameBefore) {
  buffer_.Add(MakeKernel<CUpti_ActivityKernel10>());
  buffer_.end = CUPTI_ERROR_INVALID_KIND;
  const Collector seen = Decode(kCupti130, /*want_complete=*/false);
  EXPECT_THAT(seen.kernels, SizeIs(1));
}

TEST_F(ActivityDecoderTest, AnEmptyBufferHasNoRecords) {
  const Collector seen = Decode(kCupti130);
  EXPECT_THAT(seen.kernels, IsEmpty());
}

}  // namespace
}  // namespace gx::inject
