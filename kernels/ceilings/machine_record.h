// What `gx-kernels --ceilings` found, as plain structs, and the machine file that they make. The fields are those of
// gpuexec/v1/machine.proto, which says what each means. No CUDA in here, so that tests can write a machine file without
// a GPU. Pure; any thread.
#ifndef GPUEXEC_KERNELS_CEILINGS_MACHINE_RECORD_H_
#define GPUEXEC_KERNELS_CEILINGS_MACHINE_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ceilings/machine_fields.h"
#include "kernels/ceilings/message.h"
#include "kernels/ceilings/slope.h"

namespace gx::kernels {

struct MachineRun {
  std::string gpuexec_version;
  std::string command_line;
  uint64_t start_realtime_ns = 0;
  uint64_t duration_ns = 0;
  std::string injection_path;
};

struct MachineDevice {
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  uint64_t total_memory_bytes = 0;
  // Fields of DeviceAttributes that the driver knew.
  std::vector<std::pair<Field, uint64_t>> attributes;
  std::optional<bool> mig_enabled;
  std::optional<uint64_t> max_sm_clock_hz;
  std::optional<uint64_t> max_memory_clock_hz;
  std::optional<uint64_t> power_limit_milliwatts;
  std::optional<bool> ecc_enabled;
};

struct MachineSoftware {
  std::string driver_version;
  uint64_t cuda_driver_version = 0;
  uint64_t cuda_runtime_version = 0;
  std::string compiler;
  std::optional<uint64_t> cublaslt_version;
};

struct DeviceSample {
  uint64_t device_id = 0;
  uint64_t monotonic_ns = 0;
  std::optional<uint64_t> sm_clock_hz;
  std::optional<uint64_t> memory_clock_hz;
  std::optional<uint64_t> power_milliwatts;
  std::optional<int64_t> temperature_celsius;
  std::optional<uint64_t> throttle_reasons_mask;
};

struct ValueCheck {
  uint64_t value_count = 0;
  double largest_error = 0;
  double allowed_error = 0;
  // Written so that a NaN does not hold.
  bool holds() const { return value_count > 0 && largest_error <= allowed_error; }
};

struct Ceiling {
  EnumValue resource;
  EnumValue path;
  EnumValue unit;
  std::string variant;
  SlopePoints points;
  std::optional<double> memory_clock_hz;
  std::optional<double> read_share_ratio;
  std::optional<uint64_t> access_bytes;
  std::optional<uint64_t> footprint_bytes;
  std::optional<uint64_t> grid_blocks;
  std::optional<uint64_t> block_threads;
  ValueCheck check;
  bool clock_after = false;
};

struct Latency {
  EnumValue level;
  SlopePoints points;
  uint64_t footprint_bytes = 0;
  uint64_t sectors_per_request = 1;
  ValueCheck check;
  std::vector<double> line_cycles;
};

struct KernelShape {
  std::string kernel;
  uint64_t grid_x = 1;
  uint64_t block_x = 1;
  uint64_t dynamic_shared_memory_bytes = 0;
  uint64_t cluster_x = 0;
  uint64_t chain_steps = 0;
};

struct KernelTiming {
  KernelShape shape;
  uint64_t resident_blocks = 0;
  bool in_graph = false;
  SlopePoints points;
};

struct LaunchRate {
  EnumValue kind;
  SlopePoints points;
  uint64_t node_count = 0;
};

struct Unmeasured {
  std::string what;
  std::string why;
};

struct MachineRecord {
  MachineRun run;
  MachineDevice device;
  MachineSoftware software;
  std::vector<DeviceSample> device_samples;
  std::vector<Ceiling> ceilings;
  std::vector<Latency> latencies;
  std::vector<KernelTiming> kernel_timings;
  std::vector<LaunchRate> launch_rates;
  std::vector<Unmeasured> unmeasured;
};

// Every slope has to be one that FitSlope finds.
Message MachineMessage(const MachineRecord& record);

// The figures as a table for people, with what was not measured and why.
std::string MachineText(const MachineRecord& record);

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_MACHINE_RECORD_H_
