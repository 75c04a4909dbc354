// Loads as libnvidia-ml.so.1: an NVML that starts, knows one device, and lacks almost everything.
#include <cstdio>
#include <cstring>

#define GX_EXPORT __attribute__((visibility("default")))

extern "C" {

GX_EXPORT int nvmlInit_v2() { return 0; }
GX_EXPORT int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::snprintf(version, length, "580.65.06");
  return 0;
}
GX_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  if (std::strcmp(bus_id, "0000:3b:00.0") != 0) return 6;
  *device = reinterpret_cast<void*>(1);
  return 0;
}
GX_EXPORT int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 123;
  return 0;
}

}  // extern "C"
