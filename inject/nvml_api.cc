#include "inject/nvml_api.h"

#include <dlfcn.h>

#include "inject/dynamic_library.h"

namespace gx::inject {

bool LoadNvml(NvmlApi* api, std::vector<std::string>* problems) {
  const OpenedLibrary opened = OpenFirst({{"libnvidia-ml.so.1", false}}, "nvmlInit_v2");
  if (opened.handle == nullptr) {
    problems->push_back("NVML is not available (libnvidia-ml.so.1): no clock, power or temperature samples");
    return false;
  }
#define GX_LOAD(name) api->name = reinterpret_cast<decltype(api->name)>(dlsym(opened.handle, #name))
  GX_LOAD(nvmlInit_v2);
  GX_LOAD(nvmlSystemGetDriverVersion);
  GX_LOAD(nvmlDeviceGetHandleByPciBusId_v2);
  GX_LOAD(nvmlDeviceGetClockInfo);
  GX_LOAD(nvmlDeviceGetMaxClockInfo);
  GX_LOAD(nvmlDeviceGetPowerUsage);
  GX_LOAD(nvmlDeviceGetEnforcedPowerLimit);
  GX_LOAD(nvmlDeviceGetTemperature);
  GX_LOAD(nvmlDeviceGetCurrentClocksEventReasons);
  GX_LOAD(nvmlDeviceGetCurrentClocksThrottleReasons);
  GX_LOAD(nvmlDeviceGetMigMode);
  GX_LOAD(nvmlDeviceGetVirtualizationMode);
  GX_LOAD(nvmlDeviceGetEccMode);
#undef GX_LOAD
  const NvmlReturn result = api->nvmlInit_v2();
  if (result != kNvmlSuccess) {
    problems->push_back("NVML refused to start (nvmlInit_v2 returned " + std::to_string(result) +
                        "): no clock, power or temperature samples");
    return false;
  }
  return true;
}

}  // namespace gx::inject
