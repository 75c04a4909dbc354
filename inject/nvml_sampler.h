// A thread of ours that reads clocks, power, temperature and throttling through NVML, once a second for each device
// that the program made a context on. Apart from the prober: an NVML call may take milliseconds, its start hundreds.
#ifndef GPUEXEC_INJECT_NVML_SAMPLER_H_
#define GPUEXEC_INJECT_NVML_SAMPLER_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "inject/futex.h"
#include "inject/nvml_api.h"
#include "inject/record.h"

namespace gx::inject {

// A DeviceRecord here holds only what NVML knows: a further definition of the same device.
using NvmlAnswer = std::variant<DeviceRecord, DeviceSampleRecord, std::string>;

class NvmlSampler {
 public:
  // [writer] A device to sample from now on.
  void AddDevice(uint32_t device_id, std::string pci_bus_id);
  // [writer] Answers since the last call; a string is a problem in words.
  std::vector<NvmlAnswer> TakeAnswers();
  // [MT] nvmlSystemGetDriverVersion; "" before NVML answered.
  std::string driver_version();

  // The thread's body: returns after Stop.
  void Run();
  void Stop() noexcept;

 private:
  struct NamedDevice {
    uint32_t device_id = 0;
    std::string pci_bus_id;
  };
  struct OpenDevice {
    uint32_t device_id = 0;
    NvmlDevice nvml = nullptr;
  };

  bool Start();
  void OpenNewDevices();
  void Add(NvmlAnswer answer);

  std::mutex mutex_;
  std::vector<NamedDevice> new_devices_;
  std::vector<NvmlAnswer> answers_;
  std::string driver_version_;
  Pulse wake_;
  std::atomic<bool> stop_{false};
  NvmlApi nvml_;
  std::vector<OpenDevice> devices_;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_NVML_SAMPLER_H_
