// The fake libnvidia-ml.so.1: figures that differ by device, so that a test can tell whose they are. NVML's header is
// not part of a CUDA toolkit; the few functions are declared here as NVIDIA's NVML API reference has them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fakes/fake_scenario.h"

#define GX_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using gx::fakes::GetScenario;
using gx::fakes::InjectedFailure;

using Device = struct DeviceState*;

constexpr int kSuccess = 0;
constexpr int kNotFound = 6;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;

// A handle is the device's ordinal plus one.
Device ToHandle(int ordinal) { return reinterpret_cast<Device>(static_cast<uintptr_t>(ordinal) + 1); }
unsigned Ordinal(Device device) { return static_cast<unsigned>(reinterpret_cast<uintptr_t>(device) - 1); }

int Answer(const char* function, unsigned* target, unsigned value) {
  if (const int code = InjectedFailure(function)) return code;
  *target = value;
  return kSuccess;
}

int AnswerTwice(const char* function, unsigned* current, unsigned* pending, unsigned value) {
  if (const int code = InjectedFailure(function)) return code;
  *current = *pending = value;
  return kSuccess;
}

}  // namespace

GX_EXPORT int nvmlInit_v2() { return InjectedFailure("nvmlInit_v2"); }
GX_EXPORT int nvmlShutdown() { return kSuccess; }
GX_EXPORT const char* nvmlErrorString(int code) { return code == kSuccess ? "Success" : "Error of the fake"; }

GX_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  if (const int code = InjectedFailure("nvmlSystemGetDriverVersion")) return code;
  std::snprintf(text, length, "580.00.00");
  return kSuccess;
}

// The bus id as the fake driver gives it: "0000:1D:00.0" for device D.
GX_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  if (const int code = InjectedFailure("nvmlDeviceGetHandleByPciBusId_v2")) return code;
  for (int ordinal = 0; ordinal < GetScenario().device_count; ++ordinal) {
    if (bus_id != "0000:" + std::to_string(10 + ordinal) + ":00.0") continue;
    *device = ToHandle(ordinal);
    return kSuccess;
  }
  return kNotFound;
}

GX_EXPORT int nvmlDeviceGetClockInfo(Device device, unsigned type, unsigned* mhz) {
  return Answer("nvmlDeviceGetClockInfo", mhz,
                (type == kClockSm       ? 1700
                 : type == kClockMemory ? 3200
                                        : 1) +
                    Ordinal(device));
}

GX_EXPORT int nvmlDeviceGetMaxClockInfo(Device device, unsigned type, unsigned* mhz) {
  return Answer("nvmlDeviceGetMaxClockInfo", mhz,
                (type == kClockSm       ? 1980
                 : type == kClockMemory ? 3201
                                        : 1) +
                    Ordinal(device));
}

GX_EXPORT int nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return Answer("nvmlDeviceGetPowerUsage", milliwatts, 350000 + Ordinal(device));
}

GX_EXPORT int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return Answer("nvmlDeviceGetEnforcedPowerLimit", milliwatts, 700000 + Ordinal(device));
}

GX_EXPORT int nvmlDeviceGetTemperature(Device device, unsigned, unsigned* celsius) {
  return Answer("nvmlDeviceGetTemperature", celsius, 41 + Ordinal(device));
}

GX_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(Device, unsigned long long* mask) {
  if (const int code = InjectedFailure("nvmlDeviceGetCurrentClocksEventReasons")) return code;
  *mask = 4;  // nvmlClocksEventReasonSwPowerCap
  return kSuccess;
}

GX_EXPORT int nvmlDeviceGetMigMode(Device, unsigned* current, unsigned* pending) {
  return AnswerTwice("nvmlDeviceGetMigMode", current, pending, 0);
}

GX_EXPORT int nvmlDeviceGetEccMode(Device, unsigned* current, unsigned* pending) {
  return AnswerTwice("nvmlDeviceGetEccMode", current, pending, 1);
}

GX_EXPORT int nvmlDeviceGetVirtualizationMode(Device, unsigned* mode) {
  return Answer("nvmlDeviceGetVirtualizationMode", mode, 1);
}
