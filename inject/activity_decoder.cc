#include "inject/activity_decoder.h"

#include <cstring>

namespace gx::inject {
namespace {

uint32_t Unsigned(int32_t value) { return static_cast<uint32_t>(value); }

// The number where a record has an enum: a later CUPTI's may lie outside the values that the enum can have here.
template <typename Enum>
uint32_t Number(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(uint32_t));
  uint32_t number = 0;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

// Where the last field ends that is read of a record of this kind.
#define GX_FIELD_END(record, field) (offsetof(record, field) + sizeof(record::field))
size_t BytesRead(uint32_t kind, uint32_t kernel_version) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return kernel_version >= 10 ? GX_FIELD_END(CUpti_ActivityKernel10, isDeviceLaunched)
                                  : GX_FIELD_END(CUpti_ActivityKernel10, maxActiveClusters);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return GX_FIELD_END(CUpti_ActivityMemcpy6, graphId);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return GX_FIELD_END(CUpti_ActivityMemcpyPtoP4, graphId);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return GX_FIELD_END(CUpti_ActivityMemset4, graphId);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return GX_FIELD_END(CUpti_ActivityOverhead3, end);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return GX_FIELD_END(CUpti_ActivityAPI, returnValue);
    default:
      return sizeof(CUpti_ActivityKind);
  }
}
#undef GX_FIELD_END

KernelActivity DecodeKernel(const CUpti_Activity* record, uint32_t version) {
  const auto& in = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
  KernelActivity out;
  out.start_ns = in.start;
  out.end_ns = in.end;
  out.correlation_id = in.correlationId;
  out.device_id = in.deviceId;
  out.context_id = in.contextId;
  out.stream_id = in.streamId;
  out.graph_id = in.graphId;
  out.graph_node_id = in.graphNodeId;
  out.name = in.name;
  KernelLaunchValues& values = out.values;
  values.grid[0] = Unsigned(in.gridX);
  values.grid[1] = Unsigned(in.gridY);
  values.grid[2] = Unsigned(in.gridZ);
  values.block[0] = Unsigned(in.blockX);
  values.block[1] = Unsigned(in.blockY);
  values.block[2] = Unsigned(in.blockZ);
  values.cluster[0] = in.clusterX;
  values.cluster[1] = in.clusterY;
  values.cluster[2] = in.clusterZ;
  values.registers_per_thread = in.registersPerThread;
  values.static_shared_memory_bytes = Unsigned(in.staticSharedMemory);
  values.dynamic_shared_memory_bytes = Unsigned(in.dynamicSharedMemory);
  values.shared_memory_executed_bytes = in.sharedMemoryExecuted;
  values.carveout_requested = in.isSharedMemoryCarveoutRequested != 0 ? in.sharedMemoryCarveoutRequested + 1u : 0u;
  values.cache_config_requested = in.cacheConfig.config.requested;
  values.cache_config_executed = in.cacheConfig.config.executed;
  values.local_memory_per_thread_bytes = in.localMemoryPerThread;
  values.launch_type = in.launchType;
  values.channel_type = Number(in.channelType);
  // The one field that CUpti_ActivityKernel10 adds to ...9 (the maxima of clusters are in both).
  values.device_launched = version >= 10 ? in.isDeviceLaunched : 0;
  values.max_potential_cluster_size = in.maxPotentialClusterSize;
  values.max_active_clusters = in.maxActiveClusters;
  values.shared_memory_limit_config = Number(in.shmemLimitConfig);
  values.local_memory_total_bytes = in.localMemoryTotal_v2;
  return out;
}

// What records of copies and fills have in common.
template <typename Record>
MemoryActivity DecodeCommon(const Record& in, MemoryKind kind) {
  MemoryActivity out;
  out.record.kind = kind;
  out.record.start_ns = in.start;
  out.record.end_ns = in.end;
  out.record.correlation_id = in.correlationId;
  out.record.size_bytes = in.bytes;
  out.record.source_device_id = in.deviceId;
  out.record.destination_device_id = in.deviceId;
  out.record.graph_id = in.graphId;
  out.record.graph_node_id = in.graphNodeId;
  out.device_id = in.deviceId;
  out.context_id = in.contextId;
  out.stream_id = in.streamId;
  return out;
}

MemoryActivity DecodeMemcpy(const CUpti_Activity* record) {
  // Only fields that CUpti_ActivityMemcpy5 (12.8) has as well.
  const auto& in = *reinterpret_cast<const CUpti_ActivityMemcpy6*>(record);
  MemoryActivity out = DecodeCommon(in, MemoryKind::kMemcpy);
  out.record.copy_kind = in.copyKind;
  out.record.source_memory_kind = in.srcKind;
  out.record.destination_memory_kind = in.dstKind;
  return out;
}

MemoryActivity DecodePeerCopy(const CUpti_Activity* record) {
  const auto& in = *reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record);
  MemoryActivity out = DecodeCommon(in, MemoryKind::kMemcpyPeer);
  out.record.copy_kind = in.copyKind;
  out.record.source_memory_kind = in.srcKind;
  out.record.destination_memory_kind = in.dstKind;
  out.record.source_device_id = in.srcDeviceId;
  out.record.destination_device_id = in.dstDeviceId;
  return out;
}

MemoryActivity DecodeMemset(const CUpti_Activity* record) {
  const auto& in = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
  MemoryActivity out = DecodeCommon(in, MemoryKind::kMemset);
  out.record.destination_memory_kind = in.memoryKind;
  return out;
}

OverheadRecord DecodeOverhead(const CUpti_Activity* record) {
  const auto& in = *reinterpret_cast<const CUpti_ActivityOverhead3*>(record);
  OverheadRecord out;
  out.start_ns = in.start;
  out.end_ns = in.end;
  out.kind = Number(in.overheadKind);
  out.thread_id = Number(in.objectKind) == CUPTI_ACTIVITY_OBJECT_THREAD ? in.objectId.pt.threadId : 0;
  return out;
}

ApiCallRecord DecodeApiCall(const CUpti_Activity* record) {
  const auto& in = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
  ApiCallRecord out;
  out.thread_id = in.threadId;
  out.start_ns = in.start;
  out.end_ns = in.end;
  out.correlation_id = in.correlationId;
  out.result = in.returnValue;
  return out;
}

}  // namespace

CUptiResult ActivityDecoder::Next(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) const noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(buffer);
  const uintptr_t first = *record == nullptr ? begin : reinterpret_cast<uintptr_t>(*record) + 1;
  const CUptiResult result = cupti_->cuptiActivityGetNextRecord(buffer, valid_bytes, record);
  if (result != CUPTI_SUCCESS) return result;
  const auto at = reinterpret_cast<uintptr_t>(*record);
  if (at < first || at % alignof(CUpti_Activity) != 0 || at - begin > valid_bytes) return CUPTI_ERROR_UNKNOWN;
  const size_t left_bytes = valid_bytes - (at - begin);
  if (left_bytes < sizeof(CUpti_ActivityKind) || left_bytes < BytesRead(Number((*record)->kind), kernel_version_)) {
    return CUPTI_ERROR_UNKNOWN;
  }
  return CUPTI_SUCCESS;
}

bool ActivityDecoder::Decode(uint8_t* buffer, size_t valid_bytes, ActivityVisitor* visitor) const {
  CUpti_Activity* record = nullptr;
  while (true) {
    const CUptiResult result = Next(buffer, valid_bytes, &record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return true;
    if (result != CUPTI_SUCCESS) return false;
    const uint32_t kind = Number(record->kind);
    switch (kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      case CUPTI_ACTIVITY_KIND_KERNEL:
        visitor->OnKernel(DecodeKernel(record, kernel_version_));
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        visitor->OnMemory(DecodeMemcpy(record));
        break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        visitor->OnMemory(DecodePeerCopy(record));
        break;
      case CUPTI_ACTIVITY_KIND_MEMSET:
        visitor->OnMemory(DecodeMemset(record));
        break;
      case CUPTI_ACTIVITY_KIND_OVERHEAD:
        visitor->OnOverhead(DecodeOverhead(record));
        break;
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_DRIVER:
        visitor->OnApiCall(kind == CUPTI_ACTIVITY_KIND_RUNTIME ? ApiDomain::kRuntime : ApiDomain::kDriver,
                           reinterpret_cast<const CUpti_ActivityAPI*>(record)->cbid, DecodeApiCall(record));
        break;
      default:
        visitor->OnUnknown(kind);
        break;
    }
  }
}

size_t ActivityDecoder::Count(uint8_t* buffer, size_t valid_bytes) const noexcept {
  size_t count = 0;
  CUpti_Activity* record = nullptr;
  while (Next(buffer, valid_bytes, &record) == CUPTI_SUCCESS) ++count;
  return count;
}

}  // namespace gx::inject
