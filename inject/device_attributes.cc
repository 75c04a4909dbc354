#include "inject/device_attributes.h"

#include <unistd.h>

#include <cstdlib>

#include "gpuexec/trace_fields.h"
#include "inject/clock.h"

namespace gx::inject {
namespace {

struct AttributeRow {
  uint32_t field;  // In gpuexec.v1.DeviceAttributes.
  CUdevice_attribute attribute;
  uint64_t scale = 1;
};

constexpr uint64_t kHzPerKhz = 1000;
constexpr uint64_t kHzPerMhz = 1'000'000;

namespace f = fields::DeviceAttributes;

constexpr AttributeRow kAttributes[] = {
    {f::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
    {f::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    {f::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {f::kWarpSizeThreads, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {f::kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {f::kMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {f::kMaxBlocksPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
    {f::kMaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
    {f::kMaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
    {f::kMaxSharedMemoryPerBlockBytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    {f::kMaxSharedMemoryPerBlockOptinBytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {f::kMaxSharedMemoryPerMultiprocessorBytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
    {f::kReservedSharedMemoryPerBlockBytes, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK},
    {f::kTotalConstantMemoryBytes, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
    {f::kL2CacheBytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {f::kMaxPersistingL2CacheBytes, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE},
    {f::kClockRateHz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, kHzPerKhz},
    {f::kMemoryClockRateHz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, kHzPerKhz},
    {f::kMemoryBusWidthBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {f::kEccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED},
    {f::kAsyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {f::kConcurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
    {f::kCooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
    {f::kClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH},
    {f::kMaxBlockDimX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
    {f::kMaxBlockDimY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
    {f::kMaxBlockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
    {f::kMaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
    {f::kMaxGridDimY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
    {f::kMaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
    {f::kIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED},
    {f::kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {f::kManagedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
    {f::kConcurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
    {f::kPageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
    {f::kGlobalL1CacheSupported, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED},
    {f::kLocalL1CacheSupported, CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED},
    {f::kSingleToDoublePrecisionPerfRatio, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO},
    {f::kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
    {f::kComputePreemptionSupported, CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED},
    {f::kPciBusId, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
    {f::kPciDeviceId, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID},
    {f::kPciDomainId, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID},
    {f::kTensorMapAccessSupported, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED},
    {f::kMpsEnabled, CU_DEVICE_ATTRIBUTE_MPS_ENABLED},
    {f::kNumaId, CU_DEVICE_ATTRIBUTE_NUMA_ID},
};

// An MPS daemon's control pipe in the folder that clients look in (NVIDIA "Multi-Process Service", environment
// variables).
bool MpsPipePresent() {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp/nvidia-mps") + "/control";
  return access(path.c_str(), F_OK) == 0;
}

}  // namespace

DeviceRecord ReadDevice(const CudaApi& cuda, uint32_t device_id) {
  DeviceRecord record;
  record.device_id = device_id;
  record.mps_enabled = MpsPipePresent();
  CUdevice device = 0;
  if (cuda.cuDeviceGet == nullptr || cuda.cuDeviceGet(&device, static_cast<int>(device_id)) != CUDA_SUCCESS) {
    return record;
  }
  char name[256] = {};
  if (cuda.cuDeviceGetName != nullptr && cuda.cuDeviceGetName(name, sizeof(name) - 1, device) == CUDA_SUCCESS) {
    record.name = name;
  }
  CUuuid uuid{};
  if (cuda.cuDeviceGetUuid_v2 != nullptr && cuda.cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS) {
    record.uuid.assign(uuid.bytes, sizeof(uuid.bytes));
  }
  char bus_id[64] = {};
  if (cuda.cuDeviceGetPCIBusId != nullptr &&
      cuda.cuDeviceGetPCIBusId(bus_id, sizeof(bus_id) - 1, device) == CUDA_SUCCESS) {
    record.pci_bus_id = bus_id;
  }
  size_t memory_bytes = 0;
  if (cuda.cuDeviceTotalMem_v2 != nullptr && cuda.cuDeviceTotalMem_v2(&memory_bytes, device) == CUDA_SUCCESS) {
    record.total_memory_bytes = memory_bytes;
  }
  if (cuda.cuDeviceGetAttribute == nullptr) return record;
  for (const AttributeRow& row : kAttributes) {
    int value = 0;
    if (cuda.cuDeviceGetAttribute(&value, row.attribute, device) != CUDA_SUCCESS || value < 0) continue;
    record.attributes.emplace_back(row.field, static_cast<uint64_t>(value) * row.scale);
    if (row.attribute == CU_DEVICE_ATTRIBUTE_MPS_ENABLED && value != 0) record.mps_enabled = true;
  }
  return record;
}

void AddNvmlFacts(const NvmlApi& nvml, NvmlDevice device, DeviceRecord* record) {
  unsigned value = 0;
  unsigned pending = 0;
  if (nvml.nvmlDeviceGetMigMode != nullptr && nvml.nvmlDeviceGetMigMode(device, &value, &pending) == kNvmlSuccess) {
    record->mig_enabled = value != 0;
  }
  if (nvml.nvmlDeviceGetVirtualizationMode != nullptr &&
      nvml.nvmlDeviceGetVirtualizationMode(device, &value) == kNvmlSuccess) {
    record->virtualization_mode = value;
  }
  if (nvml.nvmlDeviceGetMaxClockInfo != nullptr) {
    if (nvml.nvmlDeviceGetMaxClockInfo(device, kNvmlClockSm, &value) == kNvmlSuccess) {
      record->max_sm_clock_hz = value * kHzPerMhz;
    }
    if (nvml.nvmlDeviceGetMaxClockInfo(device, kNvmlClockMemory, &value) == kNvmlSuccess) {
      record->max_memory_clock_hz = value * kHzPerMhz;
    }
  }
  if (nvml.nvmlDeviceGetEnforcedPowerLimit != nullptr &&
      nvml.nvmlDeviceGetEnforcedPowerLimit(device, &value) == kNvmlSuccess) {
    record->power_limit_milliwatts = value;
  }
  if (nvml.nvmlDeviceGetEccMode != nullptr && nvml.nvmlDeviceGetEccMode(device, &value, &pending) == kNvmlSuccess) {
    record->ecc_enabled = value != 0;
  }
}

DeviceSampleRecord SampleNvml(const NvmlApi& nvml, NvmlDevice device) {
  DeviceSampleRecord sample;
  sample.monotonic_ns = MonotonicNs();
  unsigned value = 0;
  if (nvml.nvmlDeviceGetClockInfo != nullptr) {
    if (nvml.nvmlDeviceGetClockInfo(device, kNvmlClockSm, &value) == kNvmlSuccess) {
      sample.sm_clock_hz = value * kHzPerMhz;
    }
    if (nvml.nvmlDeviceGetClockInfo(device, kNvmlClockMemory, &value) == kNvmlSuccess) {
      sample.memory_clock_hz = value * kHzPerMhz;
    }
  }
  if (nvml.nvmlDeviceGetPowerUsage != nullptr && nvml.nvmlDeviceGetPowerUsage(device, &value) == kNvmlSuccess) {
    sample.power_milliwatts = value;
  }
  if (nvml.nvmlDeviceGetTemperature != nullptr &&
      nvml.nvmlDeviceGetTemperature(device, kNvmlTemperatureGpu, &value) == kNvmlSuccess) {
    sample.temperature_celsius = static_cast<int64_t>(value);
  }
  unsigned long long mask = 0;
  const auto reasons = nvml.nvmlDeviceGetCurrentClocksEventReasons != nullptr
                           ? nvml.nvmlDeviceGetCurrentClocksEventReasons
                           : nvml.nvmlDeviceGetCurrentClocksThrottleReasons;
  if (reasons != nullptr && reasons(device, &mask) == kNvmlSuccess) sample.throttle_reasons_mask = mask;
  return sample;
}

}  // namespace gx::inject
