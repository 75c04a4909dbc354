#include "kernels/ceilings/nvml.h"

#include <dlfcn.h>

#include <cstdint>
#include <optional>

namespace gx::kernels {
namespace {

constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;
constexpr uint64_t kHzPerMhz = 1'000'000;

// Calls a function of the library that returns 0 on success; false where it is missing or refuses.
template <typename... Args>
bool Call(void* library, const char* name, Args... args) {
  if (library == nullptr) return false;
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  return function != nullptr && function(args...) == 0;
}

// For functions of a device (and perhaps a selector) that fill one number.
template <typename Number, typename... Selector>
std::optional<Number> Ask(void* library, void* device, const char* name, Selector... selector) {
  Number value = 0;
  if (device == nullptr || !Call(library, name, device, selector..., &value)) return std::nullopt;
  return value;
}

std::optional<uint64_t> Hertz(std::optional<unsigned> mhz) {
  return mhz.has_value() ? std::optional<uint64_t>(*mhz * kHzPerMhz) : std::nullopt;
}

// For functions that fill a current and a pending mode.
std::optional<bool> Mode(void* library, void* device, const char* name) {
  unsigned current = 0;
  unsigned pending = 0;
  if (device == nullptr || !Call(library, name, device, &current, &pending)) return std::nullopt;
  return current != 0;
}

}  // namespace

bool Nvml::Open(const std::string& pci_bus_id) {
  // Never closed: the driver's other users count their own initialisations.
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr || !Call(library_, "nvmlInit_v2")) return false;
  void* device = nullptr;
  if (!Call(library_, "nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device)) return false;
  device_ = device;
  return true;
}

std::string Nvml::DriverVersion() const {
  char version[96] = {};
  return Call(library_, "nvmlSystemGetDriverVersion", &version[0], static_cast<unsigned>(sizeof version - 1)) ? version
                                                                                                              : "";
}

void Nvml::Describe(MachineDevice* device) const {
  device->max_sm_clock_hz = Hertz(Ask<unsigned>(library_, device_, "nvmlDeviceGetMaxClockInfo", kClockSm));
  device->max_memory_clock_hz = Hertz(Ask<unsigned>(library_, device_, "nvmlDeviceGetMaxClockInfo", kClockMemory));
  const std::optional<unsigned> limit = Ask<unsigned>(library_, device_, "nvmlDeviceGetEnforcedPowerLimit");
  if (limit.has_value()) device->power_limit_milliwatts = *limit;
  device->mig_enabled = Mode(library_, device_, "nvmlDeviceGetMigMode");
  device->ecc_enabled = Mode(library_, device_, "nvmlDeviceGetEccMode");
}

void Nvml::Sample(DeviceSample* sample) const {
  sample->sm_clock_hz = Hertz(Ask<unsigned>(library_, device_, "nvmlDeviceGetClockInfo", kClockSm));
  sample->memory_clock_hz = Hertz(Ask<unsigned>(library_, device_, "nvmlDeviceGetClockInfo", kClockMemory));
  const std::optional<unsigned> power = Ask<unsigned>(library_, device_, "nvmlDeviceGetPowerUsage");
  if (power.has_value()) sample->power_milliwatts = *power;
  const std::optional<unsigned> temperature =
      Ask<unsigned>(library_, device_, "nvmlDeviceGetTemperature", kTemperatureGpu);
  if (temperature.has_value()) sample->temperature_celsius = *temperature;
  std::optional<unsigned long long> mask =
      Ask<unsigned long long>(library_, device_, "nvmlDeviceGetCurrentClocksEventReasons");
  // The older name of the same (drivers before 535).
  if (!mask) mask = Ask<unsigned long long>(library_, device_, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (mask.has_value()) sample->throttle_reasons_mask = *mask;
}

}  // namespace gx::kernels
