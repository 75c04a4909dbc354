// The NVML functions that the library calls, as a table filled at run time. NVML's header is not part of every toolkit,
// so the few declarations needed are written out here, from NVIDIA's "NVML API Reference" (functions, enum values and
// their meaning are a stable binary interface).
#ifndef GPUEXEC_INJECT_NVML_API_H_
#define GPUEXEC_INJECT_NVML_API_H_

#include <cstdint>
#include <string>
#include <vector>

namespace gx::inject {

using NvmlDevice = void*;
using NvmlReturn = int;  // 0: success.

inline constexpr NvmlReturn kNvmlSuccess = 0;
inline constexpr unsigned kNvmlClockSm = 1;
inline constexpr unsigned kNvmlClockMemory = 2;
inline constexpr unsigned kNvmlTemperatureGpu = 0;

struct NvmlApi {
  NvmlReturn (*nvmlInit_v2)() = nullptr;
  NvmlReturn (*nvmlSystemGetDriverVersion)(char* version, unsigned length) = nullptr;
  NvmlReturn (*nvmlDeviceGetHandleByPciBusId_v2)(const char* bus_id, NvmlDevice* device) = nullptr;
  NvmlReturn (*nvmlDeviceGetClockInfo)(NvmlDevice device, unsigned type, unsigned* mhz) = nullptr;
  NvmlReturn (*nvmlDeviceGetMaxClockInfo)(NvmlDevice device, unsigned type, unsigned* mhz) = nullptr;
  NvmlReturn (*nvmlDeviceGetPowerUsage)(NvmlDevice device, unsigned* milliwatts) = nullptr;
  NvmlReturn (*nvmlDeviceGetEnforcedPowerLimit)(NvmlDevice device, unsigned* milliwatts) = nullptr;
  NvmlReturn (*nvmlDeviceGetTemperature)(NvmlDevice device, unsigned sensor, unsigned* celsius) = nullptr;
  NvmlReturn (*nvmlDeviceGetCurrentClocksEventReasons)(NvmlDevice device, unsigned long long* mask) = nullptr;
  // The older name of the same (drivers before 535).
  NvmlReturn (*nvmlDeviceGetCurrentClocksThrottleReasons)(NvmlDevice device, unsigned long long* mask) = nullptr;
  NvmlReturn (*nvmlDeviceGetMigMode)(NvmlDevice device, unsigned* current, unsigned* pending) = nullptr;
  NvmlReturn (*nvmlDeviceGetVirtualizationMode)(NvmlDevice device, unsigned* mode) = nullptr;
  NvmlReturn (*nvmlDeviceGetEccMode)(NvmlDevice device, unsigned* current, unsigned* pending) = nullptr;
};

// Opens libnvidia-ml.so.1 and calls nvmlInit_v2. False: NVML is not there or refuses. Never shut down: other users of
// NVML in the process count their own initialisations.
[[nodiscard]] bool LoadNvml(NvmlApi* api, std::vector<std::string>* problems);

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_NVML_API_H_
