// The few NVML functions that are asked about a device, found at run time. NVML's header is not part of every toolkit,
// so the declarations are written out, from NVIDIA's "NVML API Reference". Threads: one.
#ifndef GPUEXEC_KERNELS_CEILINGS_NVML_H_
#define GPUEXEC_KERNELS_CEILINGS_NVML_H_

#include <string>

#include "kernels/ceilings/machine_record.h"

namespace gx::kernels {

class Nvml {
 public:
  // False: NVML or the device in it is not to be had, and everything below is absent. `pci_bus_id` as of
  // cudaDeviceGetPCIBusId.
  bool Open(const std::string& pci_bus_id);

  std::string DriverVersion() const;
  // Fills what NVML knows of the device for good.
  void Describe(MachineDevice* device) const;
  // Clocks, power, temperature and throttling now.
  void Sample(DeviceSample* sample) const;
  bool is_open() const { return device_ != nullptr; }

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_NVML_H_
