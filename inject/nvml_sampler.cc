#include "inject/nvml_sampler.h"

#include "inject/clock.h"
#include "inject/device_attributes.h"
#include "inject/self_stats.h"

namespace gx::inject {
namespace {

constexpr uint64_t kSamplePeriodNs = 1'000'000'000;

}  // namespace

void NvmlSampler::AddDevice(uint32_t device_id, std::string pci_bus_id) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    new_devices_.push_back({device_id, std::move(pci_bus_id)});
  }
  wake_.Signal();
}

std::vector<NvmlAnswer> NvmlSampler::TakeAnswers() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(answers_, {});
}

std::string NvmlSampler::driver_version() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return driver_version_;
}

void NvmlSampler::Add(NvmlAnswer answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answers_.push_back(std::move(answer));
}

void NvmlSampler::Stop() noexcept {
  stop_.store(true, std::memory_order_release);
  wake_.Signal();
}

bool NvmlSampler::Start() {
  std::vector<std::string> problems;
  if (!LoadNvml(&nvml_, &problems)) {
    Stats().Add(StatId::kNvmlUnavailable);
    for (std::string& problem : problems) Add(std::move(problem));
    return false;
  }
  char version[96] = {};
  if (nvml_.nvmlSystemGetDriverVersion != nullptr &&
      nvml_.nvmlSystemGetDriverVersion(version, sizeof(version) - 1) == kNvmlSuccess) {
    const std::lock_guard<std::mutex> lock(mutex_);
    driver_version_ = version;
  }
  return true;
}

void NvmlSampler::OpenNewDevices() {
  std::vector<NamedDevice> added;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    added.swap(new_devices_);
  }
  for (const NamedDevice& device : added) {
    OpenDevice open;
    open.device_id = device.device_id;
    if (nvml_.nvmlDeviceGetHandleByPciBusId_v2 == nullptr || device.pci_bus_id.empty() ||
        nvml_.nvmlDeviceGetHandleByPciBusId_v2(device.pci_bus_id.c_str(), &open.nvml) != kNvmlSuccess) {
      Add("NVML does not know device " + std::to_string(device.device_id) + " (" + device.pci_bus_id +
          "): no clock, power or temperature samples of it");
      continue;
    }
    DeviceRecord record;
    record.device_id = device.device_id;
    AddNvmlFacts(nvml_, open.nvml, &record);
    Add(std::move(record));
    devices_.push_back(open);
  }
}

void NvmlSampler::Run() {
  if (!Start()) return;
  uint64_t next_sample_ns = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    const uint32_t seen = wake_.count();
    const size_t known = devices_.size();
    OpenNewDevices();
    const uint64_t now_ns = MonotonicNs();
    if (now_ns >= next_sample_ns || devices_.size() != known) {
      for (const OpenDevice& device : devices_) {
        DeviceSampleRecord sample = SampleNvml(nvml_, device.nvml);
        sample.device_id = device.device_id;
        Add(sample);
      }
      next_sample_ns = now_ns + kSamplePeriodNs;
    }
    wake_.WaitFor(seen, next_sample_ns - now_ns);
  }
}

}  // namespace gx::inject
