#include "tests/fakes/fake_records.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace gx::fakes {
namespace {

constexpr uint32_t kFirstVersionWithKernel10 = 130000;
constexpr char kJunk = '\xA5';

template <typename Record>
std::string ToBytes(const Record& record) {
  return std::string(reinterpret_cast<const char*>(&record), sizeof(record));
}

size_t KernelRecordBytes(uint32_t version) {
  if (version < kFirstVersionWithKernel10) return sizeof(CUpti_ActivityKernel9);
  const uint32_t minor_releases = (version - kFirstVersionWithKernel10) / 100;
  return sizeof(CUpti_ActivityKernel10) + 8 * std::min<size_t>(minor_releases, 8);
}

std::string KernelRecord(const Work& work, uint32_t version) {
  CUpti_ActivityKernel10 record;
  std::memset(&record, 0, sizeof(record));
  const LaunchShape& shape = work.shape;
  const bool has_cluster = shape.cluster[0] != 0;
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.cacheConfig.config.requested = kRecordCacheConfigRequested;
  record.cacheConfig.config.executed = kRecordCacheConfigExecuted;
  record.sharedMemoryConfig = 1;
  record.registersPerThread = static_cast<uint16_t>(work.attributes.registers_per_thread);
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.completed = work.end_ns;
  record.deviceId = work.device_id;
  record.contextId = work.context_id;
  record.streamId = work.stream_id;
  record.gridX = static_cast<int32_t>(shape.grid[0]);
  record.gridY = static_cast<int32_t>(shape.grid[1]);
  record.gridZ = static_cast<int32_t>(shape.grid[2]);
  record.blockX = static_cast<int32_t>(shape.block[0]);
  record.blockY = static_cast<int32_t>(shape.block[1]);
  record.blockZ = static_cast<int32_t>(shape.block[2]);
  record.staticSharedMemory = static_cast<int32_t>(work.attributes.static_shared_memory_bytes);
  record.dynamicSharedMemory = static_cast<int32_t>(shape.dynamic_shared_memory_bytes);
  record.localMemoryPerThread = work.attributes.local_memory_per_thread_bytes;
  record.correlationId = work.correlation_id;
  record.gridId = work.correlation_id;
  record.name = work.name;
  record.launchType = static_cast<uint8_t>(shape.cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
                                                             : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR);
  record.isSharedMemoryCarveoutRequested = shape.carveout_given ? 1 : 0;
  record.sharedMemoryCarveoutRequested = static_cast<uint8_t>(shape.carveout_given ? shape.carveout_percent : 0);
  record.sharedMemoryExecuted = kRecordSharedMemoryExecutedBytes;
  record.graphNodeId = work.graph_node_id;
  record.graphId = work.graph_exec_id;
  record.channelID = 9;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  record.clusterX = shape.cluster[0];
  record.clusterY = shape.cluster[1];
  record.clusterZ = shape.cluster[2];
  record.localMemoryTotal_v2 = kRecordLocalMemoryTotalBytes;
  record.maxPotentialClusterSize = has_cluster ? kRecordMaxPotentialClusterSize : 0;
  record.maxActiveClusters = has_cluster ? kRecordMaxActiveClusters : 0;
  std::string bytes = ToBytes(record);
  bytes.resize(KernelRecordBytes(version), kJunk);
  return bytes;
}

std::string MemcpyRecord(const Work& work) {
  CUpti_ActivityMemcpy6 record;
  std::memset(&record, 0, sizeof(record));
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = work.copy_kind;
  record.srcKind = work.source_memory_kind;
  record.dstKind = work.destination_memory_kind;
  record.bytes = work.size_bytes;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.deviceId = work.device_id;
  record.contextId = work.context_id;
  record.streamId = work.stream_id;
  record.correlationId = work.correlation_id;
  record.graphNodeId = work.graph_node_id;
  record.graphId = work.graph_exec_id;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  record.copyCount = 1;
  return ToBytes(record);
}

std::string PeerCopyRecord(const Work& work) {
  CUpti_ActivityMemcpyPtoP4 record;
  std::memset(&record, 0, sizeof(record));
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  record.copyKind = work.copy_kind;
  record.srcKind = work.source_memory_kind;
  record.dstKind = work.destination_memory_kind;
  record.bytes = work.size_bytes;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.deviceId = work.device_id;
  record.contextId = work.context_id;
  record.streamId = work.stream_id;
  record.srcDeviceId = work.source_device_id;
  record.srcContextId = work.context_id;
  record.dstDeviceId = work.destination_device_id;
  record.dstContextId = work.context_id;
  record.correlationId = work.correlation_id;
  record.graphNodeId = work.graph_node_id;
  record.graphId = work.graph_exec_id;
  return ToBytes(record);
}

std::string MemsetRecord(const Work& work) {
  CUpti_ActivityMemset4 record;
  std::memset(&record, 0, sizeof(record));
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.value = work.value;
  record.bytes = work.size_bytes;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.deviceId = work.device_id;
  record.contextId = work.context_id;
  record.streamId = work.stream_id;
  record.correlationId = work.correlation_id;
  record.memoryKind = work.destination_memory_kind;
  record.graphNodeId = work.graph_node_id;
  record.graphId = work.graph_exec_id;
  return ToBytes(record);
}

std::string SynchronizationRecord(const Work& work) {
  CUpti_ActivitySynchronization2 record;
  std::memset(&record, 0, sizeof(record));
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = static_cast<CUpti_ActivitySynchronizationType>(work.type);
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.correlationId = work.correlation_id;
  record.contextId = work.context_id;
  record.streamId = work.stream_id;
  record.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  return ToBytes(record);
}

std::string OverheadRecord(const Work& work) {
  CUpti_ActivityOverhead3 record;
  std::memset(&record, 0, sizeof(record));
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = static_cast<CUpti_ActivityOverheadKind>(work.type);
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<uint32_t>(getpid());
  record.objectId.pt.threadId = static_cast<uint32_t>(gettid());
  record.start = work.start_ns;
  record.end = work.end_ns;
  return ToBytes(record);
}

std::string DriverCallRecord(const Work& work) {
  CUpti_ActivityAPI record;
  std::memset(&record, 0, sizeof(record));
  record.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = work.type;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.processId = static_cast<uint32_t>(getpid());
  record.threadId = static_cast<uint32_t>(gettid());
  record.correlationId = work.correlation_id;
  record.returnValue = work.value;
  return ToBytes(record);
}

}  // namespace

CUpti_ActivityKind RecordKind(WorkKind kind) {
  switch (kind) {
    case WorkKind::kKernel:
      return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case WorkKind::kMemcpy:
      return CUPTI_ACTIVITY_KIND_MEMCPY;
    case WorkKind::kMemcpyPeer:
      return CUPTI_ACTIVITY_KIND_MEMCPY2;
    case WorkKind::kMemset:
      return CUPTI_ACTIVITY_KIND_MEMSET;
    case WorkKind::kSynchronization:
      return CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    case WorkKind::kHostFunction:
      return CUPTI_ACTIVITY_KIND_INVALID;
    case WorkKind::kOverhead:
      return CUPTI_ACTIVITY_KIND_OVERHEAD;
    case WorkKind::kDriverCall:
      return CUPTI_ACTIVITY_KIND_DRIVER;
  }
  return CUPTI_ACTIVITY_KIND_INVALID;
}

size_t RecordBytes(CUpti_ActivityKind kind, uint32_t version) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return KernelRecordBytes(version);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_NAME:
      return sizeof(CUpti_ActivityName);
    default:
      return 0;
  }
}

std::string BuildRecord(const Work& work, uint32_t version) {
  switch (work.kind) {
    case WorkKind::kKernel:
      return KernelRecord(work, version);
    case WorkKind::kMemcpy:
      return MemcpyRecord(work);
    case WorkKind::kMemcpyPeer:
      return PeerCopyRecord(work);
    case WorkKind::kMemset:
      return MemsetRecord(work);
    case WorkKind::kSynchronization:
      return SynchronizationRecord(work);
    case WorkKind::kHostFunction:
      return {};
    case WorkKind::kOverhead:
      return OverheadRecord(work);
    case WorkKind::kDriverCall:
      return DriverCallRecord(work);
  }
  return std::string();
}

std::string BuildStrangeRecord() {
  CUpti_ActivityName record;
  std::memset(&record, 0, sizeof(record));
  record.kind = CUPTI_ACTIVITY_KIND_NAME;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_PROCESS;
  record.name = "nobody asked";
  return ToBytes(record);
}

}  // namespace gx::fakes
