// Facts of a device from the driver and NVML -> DeviceRecord and DeviceSampleRecord. The first is the prober's, the
// others the NVML sampler's.
#ifndef GPUEXEC_INJECT_DEVICE_ATTRIBUTES_H_
#define GPUEXEC_INJECT_DEVICE_ATTRIBUTES_H_

#include "inject/cuda_api.h"
#include "inject/nvml_api.h"
#include "inject/record.h"

namespace gx::inject {

// Everything that the driver knows; what it refuses stays unset.
DeviceRecord ReadDevice(const CudaApi& cuda, uint32_t device_id);
// Adds what only NVML knows.
void AddNvmlFacts(const NvmlApi& nvml, NvmlDevice device, DeviceRecord* record);
// Clocks, power, temperature, throttling at this moment. device_id not set.
DeviceSampleRecord SampleNvml(const NvmlApi& nvml, NvmlDevice device);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_DEVICE_ATTRIBUTES_H_
