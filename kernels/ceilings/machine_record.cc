#include "kernels/ceilings/machine_record.h"

namespace gx::kernels {
namespace {

constexpr uint64_t kFormatVersion = 1;

void SetCount(Field field, const std::optional<uint64_t>& value, Message* message) {
  if (value.has_value()) message->SetCount(field, *value);
}

void SetDouble(Field field, const std::optional<double>& value, Message* message) {
  if (value.has_value()) message->SetDouble(field, *value);
}

void SetBool(Field field, const std::optional<bool>& value, Message* message) {
  if (value.has_value()) message->SetBool(field, *value);
}

template <typename Element, typename Make>
std::vector<Message> Each(const std::vector<Element>& elements, const Make& make) {
  std::vector<Message> messages;
  for (const Element& element : elements) messages.push_back(make(element));
  return messages;
}

Message RunMessage(const MachineRun& run) {
  Message message;
  message.SetText(machine_run_field::kGpuexecVersion, run.gpuexec_version);
  message.SetText(machine_run_field::kCommandLine, run.command_line);
  message.SetCount(machine_run_field::kStartRealtimeNs, run.start_realtime_ns);
  message.SetCount(machine_run_field::kDurationNs, run.duration_ns);
  message.SetText(machine_run_field::kInjectionPath, run.injection_path);
  return message;
}

Message DeviceMessage(const MachineDevice& device) {
  Message attributes;
  for (const auto& [field, value] : device.attributes) attributes.SetCount(field, value);
  Message message;
  message.SetText(machine_device_field::kName, device.name);
  message.SetText(machine_device_field::kUuid, device.uuid);
  message.SetText(machine_device_field::kPciBusId, device.pci_bus_id);
  message.SetCount(machine_device_field::kTotalMemoryBytes, device.total_memory_bytes);
  message.SetMessage(machine_device_field::kAttributes, attributes);
  SetBool(machine_device_field::kMigEnabled, device.mig_enabled, &message);
  SetCount(machine_device_field::kMaxSmClockHz, device.max_sm_clock_hz, &message);
  SetCount(machine_device_field::kMaxMemoryClockHz, device.max_memory_clock_hz, &message);
  SetCount(machine_device_field::kPowerLimitMilliwatts, device.power_limit_milliwatts, &message);
  SetBool(machine_device_field::kEccEnabled, device.ecc_enabled, &message);
  return message;
}

Message SoftwareMessage(const MachineSoftware& software) {
  Message message;
  message.SetText(machine_software_field::kDriverVersion, software.driver_version);
  message.SetCount(machine_software_field::kCudaDriverVersion, software.cuda_driver_version);
  message.SetCount(machine_software_field::kCudaRuntimeVersion, software.cuda_runtime_version);
  message.SetText(machine_software_field::kCompiler, software.compiler);
  SetCount(machine_software_field::kCublasltVersion, software.cublaslt_version, &message);
  return message;
}

Message SampleMessage(const DeviceSample& sample) {
  Message message;
  message.SetCount(device_sample_field::kDeviceId, sample.device_id);
  message.SetCount(device_sample_field::kMonotonicNs, sample.monotonic_ns);
  SetCount(device_sample_field::kSmClockHz, sample.sm_clock_hz, &message);
  SetCount(device_sample_field::kMemoryClockHz, sample.memory_clock_hz, &message);
  SetCount(device_sample_field::kPowerMilliwatts, sample.power_milliwatts, &message);
  if (sample.temperature_celsius.has_value()) {
    message.SetSigned(device_sample_field::kTemperatureCelsius, *sample.temperature_celsius);
  }
  SetCount(device_sample_field::kThrottleReasonsMask, sample.throttle_reasons_mask, &message);
  return message;
}

Message PointMessage(const SlopePoint& point) {
  Message message;
  message.SetDouble(slope_point_field::kWork, point.work);
  message.SetDoubles(slope_point_field::kDurationNs, point.duration_ns);
  message.SetDoubles(slope_point_field::kSmClockHz, point.sm_clock_hz);
  return message;
}

Message SlopeMessage(const SlopePoints& points) {
  const Slope slope = FitSlope(points).value_or(Slope());
  Message message;
  message.SetMessages(slope_field::kPoint, Each(points, PointMessage));
  message.SetDouble(slope_field::kWorkPerSecond, slope.work_per_second);
  SetDouble(slope_field::kWorkPerSmCycle, slope.work_per_sm_cycle, &message);
  message.SetDouble(slope_field::kFixedNs, slope.fixed_ns);
  return message;
}

Message CheckMessage(const ValueCheck& check) {
  Message message;
  message.SetCount(value_check_field::kValueCount, check.value_count);
  message.SetDouble(value_check_field::kLargestError, check.largest_error);
  message.SetDouble(value_check_field::kAllowedError, check.allowed_error);
  return message;
}

Message CeilingMessage(const Ceiling& ceiling) {
  Message message;
  message.SetEnum(ceiling_field::kResource, ceiling.resource);
  message.SetEnum(ceiling_field::kPath, ceiling.path);
  message.SetEnum(ceiling_field::kUnit, ceiling.unit);
  message.SetMessage(ceiling_field::kSlope, SlopeMessage(ceiling.points));
  SetDouble(ceiling_field::kMemoryClockHz, ceiling.memory_clock_hz, &message);
  SetDouble(ceiling_field::kReadShareRatio, ceiling.read_share_ratio, &message);
  SetCount(ceiling_field::kAccessBytes, ceiling.access_bytes, &message);
  SetCount(ceiling_field::kFootprintBytes, ceiling.footprint_bytes, &message);
  SetCount(ceiling_field::kGridBlocks, ceiling.grid_blocks, &message);
  SetCount(ceiling_field::kBlockThreads, ceiling.block_threads, &message);
  message.SetText(ceiling_field::kVariant, ceiling.variant);
  message.SetMessage(ceiling_field::kCheck, CheckMessage(ceiling.check));
  message.SetBool(ceiling_field::kClockAfter, ceiling.clock_after);
  return message;
}

Message LatencyMessage(const Latency& latency) {
  Message message;
  message.SetEnum(latency_field::kLevel, latency.level);
  message.SetMessage(latency_field::kSlope, SlopeMessage(latency.points));
  message.SetCount(latency_field::kFootprintBytes, latency.footprint_bytes);
  message.SetCount(latency_field::kSectorsPerRequest, latency.sectors_per_request);
  message.SetMessage(latency_field::kCheck, CheckMessage(latency.check));
  message.SetDoubles(latency_field::kLineCycles, latency.line_cycles);
  return message;
}

Message ShapeMessage(const KernelShape& shape) {
  Message message;
  message.SetText(kernel_shape_field::kKernel, shape.kernel);
  message.SetCount(kernel_shape_field::kGridX, shape.grid_x);
  message.SetCount(kernel_shape_field::kBlockX, shape.block_x);
  message.SetCount(kernel_shape_field::kDynamicSharedMemoryBytes, shape.dynamic_shared_memory_bytes);
  message.SetCount(kernel_shape_field::kClusterX, shape.cluster_x);
  message.SetCount(kernel_shape_field::kChainSteps, shape.chain_steps);
  return message;
}

Message TimingMessage(const KernelTiming& timing) {
  Message message;
  message.SetMessage(kernel_timing_field::kShape, ShapeMessage(timing.shape));
  message.SetCount(kernel_timing_field::kResidentBlocks, timing.resident_blocks);
  message.SetBool(kernel_timing_field::kInGraph, timing.in_graph);
  message.SetMessage(kernel_timing_field::kSlope, SlopeMessage(timing.points));
  return message;
}

Message RateMessage(const LaunchRate& rate) {
  Message message;
  message.SetEnum(launch_rate_field::kKind, rate.kind);
  message.SetMessage(launch_rate_field::kSlope, SlopeMessage(rate.points));
  message.SetCount(launch_rate_field::kNodeCount, rate.node_count);
  return message;
}

Message UnmeasuredMessage(const Unmeasured& unmeasured) {
  Message message;
  message.SetText(unmeasured_field::kWhat, unmeasured.what);
  message.SetText(unmeasured_field::kWhy, unmeasured.why);
  return message;
}

}  // namespace

Message MachineMessage(const MachineRecord& record) {
  Message message;
  message.SetCount(machine_field::kFormatVersion, kFormatVersion);
  message.SetMessage(machine_field::kRun, RunMessage(record.run));
  message.SetMessage(machine_field::kDevice, DeviceMessage(record.device));
  message.SetMessage(machine_field::kSoftware, SoftwareMessage(record.software));
  message.SetMessages(machine_field::kDeviceSample, Each(record.device_samples, SampleMessage));
  message.SetMessages(machine_field::kCeiling, Each(record.ceilings, CeilingMessage));
  message.SetMessages(machine_field::kLatency, Each(record.latencies, LatencyMessage));
  message.SetMessages(machine_field::kKernelTiming, Each(record.kernel_timings, TimingMessage));
  message.SetMessages(machine_field::kLaunchRate, Each(record.launch_rates, RateMessage));
  message.SetMessages(machine_field::kUnmeasured, Each(record.unmeasured, UnmeasuredMessage));
  return message;
}

}  // namespace gx::kernels
