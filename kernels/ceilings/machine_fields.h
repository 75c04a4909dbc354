// Fields and enum values of gpuexec/v1/machine.proto, and what it takes of device.proto, that gx-kernels writes. A test
// compares every line with the .proto files (tests/conformance/machine_record_test.cc).
#ifndef GPUEXEC_KERNELS_CEILINGS_MACHINE_FIELDS_H_
#define GPUEXEC_KERNELS_CEILINGS_MACHINE_FIELDS_H_

#include "kernels/ceilings/message.h"

namespace gx::kernels {

namespace machine_field {
inline constexpr Field kFormatVersion{1, "format_version"};
inline constexpr Field kRun{2, "run"};
inline constexpr Field kDevice{3, "device"};
inline constexpr Field kSoftware{4, "software"};
inline constexpr Field kDeviceSample{5, "device_sample"};
inline constexpr Field kCeiling{10, "ceiling"};
inline constexpr Field kLatency{11, "latency"};
inline constexpr Field kKernelTiming{12, "kernel_timing"};
inline constexpr Field kLaunchRate{13, "launch_rate"};
inline constexpr Field kUnmeasured{14, "unmeasured"};
}  // namespace machine_field

namespace machine_run_field {
inline constexpr Field kGpuexecVersion{1, "gpuexec_version"};
inline constexpr Field kCommandLine{2, "command_line"};
inline constexpr Field kStartRealtimeNs{3, "start_realtime_ns"};
inline constexpr Field kDurationNs{4, "duration_ns"};
inline constexpr Field kInjectionPath{5, "injection_path"};
}  // namespace machine_run_field

namespace machine_device_field {
inline constexpr Field kName{1, "name"};
inline constexpr Field kUuid{2, "uuid"};
inline constexpr Field kPciBusId{3, "pci_bus_id"};
inline constexpr Field kTotalMemoryBytes{4, "total_memory_bytes"};
inline constexpr Field kAttributes{5, "attributes"};
inline constexpr Field kMigEnabled{6, "mig_enabled"};
inline constexpr Field kMaxSmClockHz{7, "max_sm_clock_hz"};
inline constexpr Field kMaxMemoryClockHz{8, "max_memory_clock_hz"};
inline constexpr Field kPowerLimitMilliwatts{9, "power_limit_milliwatts"};
inline constexpr Field kEccEnabled{10, "ecc_enabled"};
}  // namespace machine_device_field

namespace machine_software_field {
inline constexpr Field kDriverVersion{1, "driver_version"};
inline constexpr Field kCudaDriverVersion{2, "cuda_driver_version"};
inline constexpr Field kCudaRuntimeVersion{3, "cuda_runtime_version"};
inline constexpr Field kCompiler{4, "compiler"};
inline constexpr Field kCublasltVersion{5, "cublaslt_version"};
}  // namespace machine_software_field

namespace slope_field {
inline constexpr Field kPoint{1, "point"};
inline constexpr Field kWorkPerSecond{2, "work_per_second"};
inline constexpr Field kWorkPerSmCycle{3, "work_per_sm_cycle"};
inline constexpr Field kFixedNs{4, "fixed_ns"};
}  // namespace slope_field

namespace slope_point_field {
inline constexpr Field kWork{1, "work"};
inline constexpr Field kDurationNs{2, "duration_ns"};
inline constexpr Field kSmClockHz{3, "sm_clock_hz"};
}  // namespace slope_point_field

namespace value_check_field {
inline constexpr Field kValueCount{1, "value_count"};
inline constexpr Field kLargestError{2, "largest_error"};
inline constexpr Field kAllowedError{3, "allowed_error"};
}  // namespace value_check_field

namespace ceiling_resource {
inline constexpr EnumValue kDram{1, "CEILING_RESOURCE_DRAM"};
inline constexpr EnumValue kL2{2, "CEILING_RESOURCE_L2"};
inline constexpr EnumValue kL2Atomic{3, "CEILING_RESOURCE_L2_ATOMIC"};
inline constexpr EnumValue kL1{4, "CEILING_RESOURCE_L1"};
inline constexpr EnumValue kShared{5, "CEILING_RESOURCE_SHARED"};
inline constexpr EnumValue kIssue{6, "CEILING_RESOURCE_ISSUE"};
inline constexpr EnumValue kFp64{7, "CEILING_RESOURCE_FP64"};
inline constexpr EnumValue kFp32{8, "CEILING_RESOURCE_FP32"};
inline constexpr EnumValue kFp16{9, "CEILING_RESOURCE_FP16"};
inline constexpr EnumValue kBf16{10, "CEILING_RESOURCE_BF16"};
inline constexpr EnumValue kInt32{11, "CEILING_RESOURCE_INT32"};
inline constexpr EnumValue kInt32Multiply{12, "CEILING_RESOURCE_INT32_MULTIPLY"};
inline constexpr EnumValue kSpecialFunction{13, "CEILING_RESOURCE_SPECIAL_FUNCTION"};
inline constexpr EnumValue kTensorFp16{20, "CEILING_RESOURCE_TENSOR_FP16"};
inline constexpr EnumValue kTensorBf16{21, "CEILING_RESOURCE_TENSOR_BF16"};
inline constexpr EnumValue kTensorTf32{22, "CEILING_RESOURCE_TENSOR_TF32"};
inline constexpr EnumValue kTensorFp8{23, "CEILING_RESOURCE_TENSOR_FP8"};
inline constexpr EnumValue kTensorInt8{24, "CEILING_RESOURCE_TENSOR_INT8"};
inline constexpr EnumValue kTensorFp64{25, "CEILING_RESOURCE_TENSOR_FP64"};
}  // namespace ceiling_resource

namespace ceiling_path {
inline constexpr EnumValue kThread{1, "CEILING_PATH_THREAD"};
inline constexpr EnumValue kMmaSync{2, "CEILING_PATH_MMA_SYNC"};
inline constexpr EnumValue kWgmma{3, "CEILING_PATH_WGMMA"};
inline constexpr EnumValue kCublaslt{4, "CEILING_PATH_CUBLASLT"};
}  // namespace ceiling_path

namespace work_unit {
inline constexpr EnumValue kByte{1, "WORK_UNIT_BYTE"};
inline constexpr EnumValue kFlop{2, "WORK_UNIT_FLOP"};
inline constexpr EnumValue kOperation{3, "WORK_UNIT_OPERATION"};
inline constexpr EnumValue kWarpInstruction{4, "WORK_UNIT_WARP_INSTRUCTION"};
}  // namespace work_unit

namespace ceiling_field {
inline constexpr Field kResource{1, "resource"};
inline constexpr Field kPath{2, "path"};
inline constexpr Field kUnit{3, "unit"};
inline constexpr Field kSlope{4, "slope"};
inline constexpr Field kMemoryClockHz{5, "memory_clock_hz"};
inline constexpr Field kReadShareRatio{6, "read_share_ratio"};
inline constexpr Field kAccessBytes{7, "access_bytes"};
inline constexpr Field kFootprintBytes{8, "footprint_bytes"};
inline constexpr Field kGridBlocks{9, "grid_blocks"};
inline constexpr Field kBlockThreads{10, "block_threads"};
inline constexpr Field kVariant{11, "variant"};
inline constexpr Field kCheck{12, "check"};
inline constexpr Field kClockAfter{13, "clock_after"};
}  // namespace ceiling_field

namespace latency_level {
inline constexpr EnumValue kShared{1, "LATENCY_LEVEL_SHARED"};
inline constexpr EnumValue kL1{2, "LATENCY_LEVEL_L1"};
inline constexpr EnumValue kL2{3, "LATENCY_LEVEL_L2"};
inline constexpr EnumValue kDram{4, "LATENCY_LEVEL_DRAM"};
}  // namespace latency_level

namespace latency_field {
inline constexpr Field kLevel{1, "level"};
inline constexpr Field kSlope{2, "slope"};
inline constexpr Field kFootprintBytes{3, "footprint_bytes"};
inline constexpr Field kSectorsPerRequest{4, "sectors_per_request"};
inline constexpr Field kCheck{5, "check"};
inline constexpr Field kLineCycles{6, "line_cycles"};
}  // namespace latency_field

namespace kernel_shape_field {
inline constexpr Field kKernel{1, "kernel"};
inline constexpr Field kGridX{2, "grid_x"};
inline constexpr Field kBlockX{3, "block_x"};
inline constexpr Field kDynamicSharedMemoryBytes{4, "dynamic_shared_memory_bytes"};
inline constexpr Field kClusterX{5, "cluster_x"};
inline constexpr Field kChainSteps{6, "chain_steps"};
}  // namespace kernel_shape_field

namespace kernel_timing_field {
inline constexpr Field kShape{1, "shape"};
inline constexpr Field kResidentBlocks{2, "resident_blocks"};
inline constexpr Field kInGraph{3, "in_graph"};
inline constexpr Field kSlope{4, "slope"};
}  // namespace kernel_timing_field

namespace launch_rate_field {
inline constexpr Field kKind{1, "kind"};
inline constexpr Field kSlope{2, "slope"};
inline constexpr Field kNodeCount{3, "node_count"};
}  // namespace launch_rate_field

namespace launch_rate_kind {
inline constexpr EnumValue kKernelLaunch{1, "KIND_KERNEL_LAUNCH"};
inline constexpr EnumValue kGraphLaunch{2, "KIND_GRAPH_LAUNCH"};
}  // namespace launch_rate_kind

namespace unmeasured_field {
inline constexpr Field kWhat{1, "what"};
inline constexpr Field kWhy{2, "why"};
}  // namespace unmeasured_field

namespace device_attributes_field {
inline constexpr Field kComputeCapabilityMajor{1, "compute_capability_major"};
inline constexpr Field kComputeCapabilityMinor{2, "compute_capability_minor"};
inline constexpr Field kMultiprocessorCount{3, "multiprocessor_count"};
inline constexpr Field kMaxThreadsPerMultiprocessor{6, "max_threads_per_multiprocessor"};
inline constexpr Field kMaxBlocksPerMultiprocessor{7, "max_blocks_per_multiprocessor"};
inline constexpr Field kMaxRegistersPerMultiprocessor{9, "max_registers_per_multiprocessor"};
inline constexpr Field kMaxSharedMemoryPerBlockOptinBytes{11, "max_shared_memory_per_block_optin_bytes"};
inline constexpr Field kMaxSharedMemoryPerMultiprocessorBytes{12, "max_shared_memory_per_multiprocessor_bytes"};
inline constexpr Field kReservedSharedMemoryPerBlockBytes{13, "reserved_shared_memory_per_block_bytes"};
inline constexpr Field kL2CacheBytes{15, "l2_cache_bytes"};
inline constexpr Field kClockRateHz{17, "clock_rate_hz"};
inline constexpr Field kMemoryClockRateHz{18, "memory_clock_rate_hz"};
inline constexpr Field kMemoryBusWidthBits{19, "memory_bus_width_bits"};
}  // namespace device_attributes_field

namespace device_sample_field {
inline constexpr Field kDeviceId{1, "device_id"};
inline constexpr Field kMonotonicNs{2, "monotonic_ns"};
inline constexpr Field kSmClockHz{3, "sm_clock_hz"};
inline constexpr Field kMemoryClockHz{4, "memory_clock_hz"};
inline constexpr Field kPowerMilliwatts{5, "power_milliwatts"};
inline constexpr Field kTemperatureCelsius{6, "temperature_celsius"};
inline constexpr Field kThrottleReasonsMask{7, "throttle_reasons_mask"};
}  // namespace device_sample_field

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_CEILINGS_MACHINE_FIELDS_H_
