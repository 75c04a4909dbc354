#include "inject/device_attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "gpuexec/trace_fields.h"

namespace gx::inject {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Pair;

CudaApi MakeCuda() {
  CudaApi cuda;
  cuda.cuDeviceGet = [](CUdevice* device, int ordinal) {
    *device = ordinal + 10;
    return CUDA_SUCCESS;
  };
  cuda.cuDeviceGetName = [](char* name, int length, CUdevice) {
    std::snprintf(name, static_cast<size_t>(length), "NVIDIA Something");
    return CUDA_SUCCESS;
  };
  cuda.cuDeviceGetUuid_v2 = [](CUuuid* uuid, CUdevice) {
    for (char& byte : uuid->bytes) byte = 'u';
    return CUDA_SUCCESS;
  };
  cuda.cuDeviceGetPCIBusId = [](char* id, int length, CUdevice) {
    std::snprintf(id, static_cast<size_t>(length), "0000:3b:00.0");
    return CUDA_SUCCESS;
  };
  cuda.cuDeviceTotalMem_v2 = [](size_t* bytes, CUdevice) {
    *bytes = size_t{141} << 30;
    return CUDA_SUCCESS;
  };
  cuda.cuDeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice device) {
    EXPECT_EQ(device, 12);
    if (attribute == CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == CU_DEVICE_ATTRIBUTE_WARP_SIZE ? -1 : 5;
    return CUDA_SUCCESS;
  };
  return cuda;
}

namespace f = fields::DeviceAttributes;

TEST(ReadDevice, ReadsEverythingThatTheDriverKnows) {
  const DeviceRecord record = ReadDevice(MakeCuda(), 2);
  EXPECT_EQ(record.device_id, 2u);
  EXPECT_EQ(record.name, "NVIDIA Something");
  EXPECT_EQ(record.uuid, std::string(16, 'u'));
  EXPECT_EQ(record.pci_bus_id, "0000:3b:00.0");
  EXPECT_EQ(record.total_memory_bytes, size_t{141} << 30);
  EXPECT_THAT(record.attributes, Contains(Pair(f::kMultiprocessorCount, 5u)));
  EXPECT_THAT(record.attributes, Contains(Pair(f::kClockRateHz, 5'000u))) << "the driver says kHz";
}

TEST(ReadDevice, LeavesOutWhatIsRefusedOrNegative) {
  std::set<uint32_t> fields_seen;
  for (const auto& [field, value] : ReadDevice(MakeCuda(), 2).attributes) {
    EXPECT_TRUE(fields_seen.insert(field).second) << field << " stands twice";
  }
  EXPECT_EQ(fields_seen.count(f::kClusterLaunch), 0u);
  EXPECT_EQ(fields_seen.count(f::kWarpSizeThreads), 0u);
  EXPECT_EQ(fields_seen.count(f::kComputeCapabilityMajor), 1u);
}

TEST(ReadDevice, ADriverWithoutFunctionsLeavesTheNumberAlone) {
  const DeviceRecord record = ReadDevice(CudaApi(), 2);
  EXPECT_EQ(record.device_id, 2u);
  EXPECT_EQ(record.name, "");
  EXPECT_THAT(record.attributes, IsEmpty());
  CudaApi only_get;
  only_get.cuDeviceGet = MakeCuda().cuDeviceGet;
  EXPECT_THAT(ReadDevice(only_get, 2).attributes, IsEmpty());
}

TEST(SampleNvml, WithoutFunctionsASampleHasItsTimeAlone) {
  const DeviceSampleRecord sample = SampleNvml(NvmlApi(), nullptr);
  EXPECT_NE(sample.monotonic_ns, 0u);
  EXPECT_FALSE(sample.sm_clock_hz || sample.memory_clock_hz || sample.power_milliwatts || sample.temperature_celsius ||
               sample.throttle_reasons_mask);
}

TEST(SampleNvml, ReadsClocksInHertzAndTheRestAsItIs) {
  NvmlApi nvml;
  nvml.nvmlDeviceGetClockInfo = [](NvmlDevice, unsigned type, unsigned* mhz) {
    *mhz = type == kNvmlClockSm ? 1'980 : 3'201;
    return kNvmlSuccess;
  };
  nvml.nvmlDeviceGetPowerUsage = [](NvmlDevice, unsigned* milliwatts) {
    *milliwatts = 700'000;
    return kNvmlSuccess;
  };
  nvml.nvmlDeviceGetTemperature = [](NvmlDevice, unsigned, unsigned*) { return 3; };  // Not supported.
  // The older name where the newer is missing.
  nvml.nvmlDeviceGetCurrentClocksThrottleReasons = [](NvmlDevice, unsigned long long* mask) {
    *mask = 4;
    return kNvmlSuccess;
  };
  const DeviceSampleRecord sample = SampleNvml(nvml, nullptr);
  EXPECT_EQ(sample.sm_clock_hz, 1'980'000'000u);
  EXPECT_EQ(sample.memory_clock_hz, 3'201'000'000u);
  EXPECT_EQ(sample.power_milliwatts, 700'000u);
  EXPECT_FALSE(sample.temperature_celsius.has_value());
  EXPECT_EQ(sample.throttle_reasons_mask, 4u);
}

TEST(AddNvmlFacts, RefusedFactsStayUnset) {
  NvmlApi nvml;
  nvml.nvmlDeviceGetMigMode = [](NvmlDevice, unsigned* current, unsigned*) {
    *current = 1;
    return kNvmlSuccess;
  };
  nvml.nvmlDeviceGetEccMode = [](NvmlDevice, unsigned*, unsigned*) { return 3; };
  nvml.nvmlDeviceGetMaxClockInfo = [](NvmlDevice, unsigned type, unsigned* mhz) {
    *mhz = 1'980;
    return type == kNvmlClockSm ? kNvmlSuccess : 3;
  };
  DeviceRecord record;
  AddNvmlFacts(nvml, nullptr, &record);
  EXPECT_EQ(record.mig_enabled, true);
  EXPECT_FALSE(record.ecc_enabled.has_value());
  EXPECT_EQ(record.max_sm_clock_hz, 1'980'000'000u);
  EXPECT_FALSE(record.max_memory_clock_hz.has_value());
  EXPECT_FALSE(record.power_limit_milliwatts.has_value());
  EXPECT_FALSE(record.virtualization_mode.has_value());
}

}  // namespace
}  // namespace gx::inject
