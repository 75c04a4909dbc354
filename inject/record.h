// Plain records of what the library saw, between the code that reads CUPTI and the code that writes the trace.
// No CUDA or CUPTI type appears here. Field meanings are those of the message of the same name in
// proto/gpuexec/v1/trace.proto; `std::optional` stands for a field that may be unset.
#ifndef GPUEXEC_INJECT_RECORD_H_
#define GPUEXEC_INJECT_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gx::inject {

struct Dim3 {
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t z = 0;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

struct ClockPairRecord {
  uint64_t cupti_ns = 0;
  uint64_t monotonic_ns = 0;
  uint64_t monotonic_raw_ns = 0;
  uint64_t realtime_ns = 0;
};

struct HeaderRecord {
  std::string gpuexec_version;
  std::string source_revision;
  std::vector<std::string> command_line;
  std::string executable_path;
  std::string host_name;
  uint64_t pid = 0;
  uint64_t parent_pid = 0;
  uint64_t pid_namespace = 0;
  std::vector<std::pair<std::string, std::string>> rank_variables;
  std::vector<std::pair<std::string, std::string>> configuration;
  uint64_t cuda_driver_api_version = 0;
  std::string driver_version;
  uint64_t cupti_api_version = 0;
  // Values of gpuexec.v1.CuptiTrap.
  std::vector<uint32_t> cupti_traps;
  std::string cupti_path;
  std::string libcuda_path;
  uint64_t kernel_record_version = 0;
  std::string kernel_release;
  std::string machine;
  ClockPairRecord start;
};

struct ContextRecord {
  uint64_t context_id = 0;
  uint64_t device_id = 0;
  uint64_t created_monotonic_ns = 0;
  std::optional<uint64_t> destroyed_monotonic_ns;
};

struct TrackRecord {
  uint64_t iid = 0;
  uint64_t device_id = 0;
  uint64_t context_id = 0;
  std::optional<uint64_t> stream_id;
};

struct ModuleRecord {
  uint64_t module_id = 0;
  uint64_t cubin_bytes = 0;
  uint64_t cubin_hash = 0;
  uint64_t loaded_monotonic_ns = 0;
  std::optional<uint64_t> unloaded_monotonic_ns;
};

struct FunctionAttributesRecord {
  uint64_t result = 0;
  uint64_t registers_per_thread = 0;
  uint64_t static_shared_memory_bytes = 0;
  uint64_t constant_memory_bytes = 0;
  uint64_t local_memory_per_thread_bytes = 0;
  uint64_t max_threads_per_block = 0;
  uint64_t ptx_version = 0;
  uint64_t binary_version = 0;
  uint64_t max_dynamic_shared_memory_bytes = 0;
  int64_t preferred_shared_memory_carveout = 0;
  bool cluster_size_must_be_set = false;
  Dim3 required_cluster;
  bool non_portable_cluster_size_allowed = false;
};

struct FunctionRecord {
  uint64_t iid = 0;
  uint64_t name_iid = 0;
  std::optional<uint64_t> code_hash;
  std::optional<uint64_t> module_id;
  bool code_ambiguous = false;
  std::optional<FunctionAttributesRecord> attributes;
};

struct DriverOccupancyRecord {
  uint64_t result = 0;
  uint64_t max_active_blocks_per_multiprocessor = 0;
};

struct SignatureRecord {
  uint64_t iid = 0;
  uint64_t function_iid = 0;
  uint64_t device_id = 0;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  uint64_t dynamic_shared_memory_bytes = 0;
  bool cooperative = false;
  bool programmatic = false;
  bool graph_node = false;
  Dim3 preferred_cluster;
  std::optional<int64_t> preferred_shared_memory_carveout;
  std::optional<DriverOccupancyRecord> driver_occupancy;
};

struct KernelAttributesRecord {
  uint64_t iid = 0;
  uint64_t name_iid = 0;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  uint64_t registers_per_thread = 0;
  uint64_t static_shared_memory_bytes = 0;
  uint64_t dynamic_shared_memory_bytes = 0;
  uint64_t shared_memory_executed_bytes = 0;
  std::optional<uint64_t> shared_memory_carveout_requested;
  uint64_t cache_config_requested = 0;
  uint64_t cache_config_executed = 0;
  uint64_t local_memory_per_thread_bytes = 0;
  uint64_t local_memory_total_bytes = 0;
  uint64_t launch_type = 0;
  uint64_t channel_type = 0;
  bool device_launched = false;
  uint64_t max_potential_cluster_size = 0;
  uint64_t max_active_clusters = 0;
  uint64_t shared_memory_limit_config = 0;
};

struct GraphNodeRecord {
  uint64_t node_id = 0;
  uint64_t original_node_id = 0;
  uint64_t graph_id = 0;
  std::optional<uint64_t> node_type;
  uint64_t signature_iid = 0;
  uint64_t thread_id = 0;
  uint64_t created_monotonic_ns = 0;
  bool updated = false;
};

struct GraphExecRecord {
  uint64_t graph_exec_id = 0;
  uint64_t graph_id = 0;
  uint64_t created_monotonic_ns = 0;
  uint64_t kernel_node_count = 0;
  bool has_conditional_nodes = false;
  uint64_t undescribed_node_count = 0;
};

// Values of gpuexec.v1.Window.Kind.
enum class WindowKind : uint32_t { kTiming = 1, kCounters = 2, kOff = 3 };

struct WindowRecord {
  uint64_t window_id = 0;
  WindowKind kind = WindowKind::kTiming;
  uint64_t begin_monotonic_ns = 0;
  std::optional<uint64_t> end_monotonic_ns;
  uint64_t switch_cost_ns = 0;
};

// Kernel records did not come although kernels had ended (record_watch.h).
struct RecordGapRecord {
  uint64_t gap_id = 0;
  uint64_t begin_monotonic_ns = 0;
  std::optional<uint64_t> end_monotonic_ns;
  uint64_t kernel_count = 0;
  std::vector<std::string> clients;
};

struct LaunchRecord {
  uint64_t thread_id = 0;
  uint64_t window_id = 0;
  uint64_t enter_monotonic_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t track_iid = 0;
  uint64_t signature_iid = 0;
  uint64_t graph_exec_id = 0;
  uint64_t result = 0;
};

// start_ns and end_ns as CUPTI gave them: 0, 0 is "not collected", end 0 is "not finished".
struct KernelRecord {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t track_iid = 0;
  uint64_t attributes_iid = 0;
  uint64_t graph_id = 0;
  uint64_t graph_node_id = 0;
};

// Values of gpuexec.v1.MemoryBatch.Kind.
enum class MemoryKind : uint32_t { kMemcpy = 1, kMemcpyPeer = 2, kMemset = 3 };

struct MemoryRecord {
  MemoryKind kind = MemoryKind::kMemcpy;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t track_iid = 0;
  uint64_t size_bytes = 0;
  uint64_t copy_kind = 0;
  uint64_t source_memory_kind = 0;
  uint64_t destination_memory_kind = 0;
  uint64_t source_device_id = 0;
  uint64_t destination_device_id = 0;
  uint64_t graph_id = 0;
  uint64_t graph_node_id = 0;
};

struct SynchronizationRecord {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t type = 0;
  uint64_t track_iid = 0;
};

struct OverheadRecord {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t kind = 0;
  uint64_t thread_id = 0;
};

// Values of gpuexec.v1.ApiFunction.Domain, and of CUpti_CallbackDomain.
enum class ApiDomain : uint32_t { kDriver = 1, kRuntime = 2 };

struct ApiFunctionRecord {
  uint64_t iid = 0;
  ApiDomain domain = ApiDomain::kDriver;
  uint64_t cbid = 0;
  std::string_view name;
};

struct ApiCallRecord {
  uint64_t thread_id = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t function_iid = 0;
  uint64_t result = 0;
};

// Values of gpuexec.v1.NvtxEventBatch.Kind.
enum class NvtxKind : uint32_t { kPush = 1, kPop = 2, kStart = 3, kEnd = 4, kMark = 5 };

struct NvtxEventRecord {
  uint64_t thread_id = 0;
  NvtxKind kind = NvtxKind::kPush;
  uint64_t monotonic_ns = 0;
  uint64_t domain_iid = 0;
  uint64_t name_iid = 0;
  uint64_t range_id = 0;
  uint64_t payload_iid = 0;
};

// (field number in gpuexec.v1.DeviceAttributes, value)
using DeviceAttributeValue = std::pair<uint32_t, uint64_t>;

struct DeviceRecord {
  uint64_t device_id = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  uint64_t total_memory_bytes = 0;
  std::vector<DeviceAttributeValue> attributes;
  std::optional<bool> mig_enabled;
  std::optional<bool> mps_enabled;
  std::optional<uint64_t> virtualization_mode;
  std::optional<uint64_t> max_sm_clock_hz;
  std::optional<uint64_t> max_memory_clock_hz;
  std::optional<uint64_t> power_limit_milliwatts;
  std::optional<bool> ecc_enabled;
};

struct DeviceSampleRecord {
  uint64_t device_id = 0;
  uint64_t monotonic_ns = 0;
  std::optional<uint64_t> sm_clock_hz;
  std::optional<uint64_t> memory_clock_hz;
  std::optional<uint64_t> power_milliwatts;
  std::optional<int64_t> temperature_celsius;
  std::optional<uint64_t> throttle_reasons_mask;
};

struct KernelSummaryRecord {
  uint64_t attributes_iid = 0;
  uint64_t device_id = 0;
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t min_ns = 0;
  uint64_t max_ns = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  std::vector<std::pair<uint32_t, uint64_t>> buckets;  // (bucket, count), by bucket
};

// ------------------------------------------------------------------------------------------ hardware counters

// Values of gpuexec.v1.CounterGroup.Kind.
enum class CounterGroupKind : uint32_t { kHardware = 1, kSass = 2, kTensor = 3, kPcie = 4, kNvlink = 5, kDevice = 6 };

struct CounterGroupRecord {
  uint64_t iid = 0;
  std::string name;
  CounterGroupKind kind = CounterGroupKind::kHardware;
  uint64_t device_id = 0;
  std::string chip;
  std::vector<std::string> metrics;
  bool spare = false;
};

// Values of gpuexec.v1.DroppedMetric.Reason.
enum class MetricDropReason : uint32_t {
  kMalformed = 1,
  kRepeated = 2,
  kTooMany = 3,
  kDoesNotExist = 4,
  kSeveralPasses = 5,
  kRefused = 6,
  kNotAsked = 7,
};

struct DroppedMetricRecord {
  std::string name;
  MetricDropReason reason = MetricDropReason::kMalformed;
  std::string text;
};

struct CounterPlanRecord {
  uint64_t device_id = 0;
  std::string requested;
  std::string chip;
  std::vector<uint64_t> group_iids;
  std::vector<DroppedMetricRecord> dropped;
  bool failed = false;
  uint64_t planning_ns = 0;
};

// Values of gpuexec.v1.CounterAccess.State.
enum class CounterAccessState : uint32_t {
  kAllowed = 1,
  kNotPermitted = 2,
  kUnsupported = 3,
  kNoLibrary = 4,
  kHeldByOther = 5,
  kOff = 6,
};

struct CounterAccessRecord {
  uint64_t device_id = 0;
  CounterAccessState state = CounterAccessState::kAllowed;
  uint64_t cupti_result = 0;
  uint64_t monotonic_ns = 0;
  std::string text;
};

struct DevicePeakRecord {
  std::string metric;
  double value = 0;
  std::string clock_metric;
  std::optional<double> clock_hz;
};

struct DevicePeaksRecord {
  uint64_t device_id = 0;
  uint64_t monotonic_ns = 0;
  std::vector<DevicePeakRecord> peaks;
};

struct WindowClocksRecord {
  uint64_t window_id = 0;
  uint64_t device_id = 0;
  std::optional<uint64_t> sm_clock_hz;
  std::optional<uint64_t> l2_clock_hz;
  std::optional<uint64_t> memory_clock_hz;
  std::optional<uint64_t> throttle_reasons_mask;
  uint64_t reading_count = 0;
};

// Values of gpuexec.v1.CounterSession.Outcome; kOpen is unset in the trace.
enum class CounterOutcome : uint32_t { kOpen = 0, kComplete = 1, kFailed = 2, kAbandoned = 3, kContextGone = 4 };

struct CounterSessionRecord {
  uint64_t session_id = 0;
  uint64_t window_id = 0;
  uint64_t context_id = 0;
  uint64_t group_iid = 0;
  uint64_t begin_monotonic_ns = 0;
  std::optional<uint64_t> end_monotonic_ns;
  CounterOutcome outcome = CounterOutcome::kOpen;
  uint64_t cupti_result = 0;
  uint64_t range_count = 0;
  uint64_t push_ns = 0;
  uint64_t pop_ns = 0;
  uint64_t idle_wait_ns = 0;
  uint64_t completion_wait_ns = 0;
  uint64_t enable_ns = 0;
  uint64_t start_ns = 0;
  uint64_t stop_ns = 0;
  uint64_t decode_ns = 0;
  uint64_t disable_ns = 0;
};

// Values of gpuexec.v1.CounterDenial.Reason.
enum class CounterDenialReason : uint32_t {
  kName = 1,
  kUser = 2,
  kCooperative = 3,
  kPeerMemory = 4,
  kDeadline = 5,
  kFailed = 6,
  kIpcMemory = 7,
  kSymmetricHeap = 8,
  kTableFull = 9,
  kGreenContext = 10,
};

struct CounterDenialRecord {
  uint64_t function_iid = 0;
  CounterDenialReason reason = CounterDenialReason::kName;
  uint64_t monotonic_ns = 0;
  std::string detail;
  uint64_t context_id = 0;
  uint64_t graph_exec_id = 0;
};

// Bits of gpuexec.v1.CounterBatch.Flag.
inline constexpr uint64_t kCounterFirstOfSession = 1;
inline constexpr uint64_t kCounterAfterSwitch = 2;  // Not set by this version.
inline constexpr uint64_t kCounterVoid = 4;
inline constexpr uint64_t kCounterReplayed = 8;

// `values` in the order of the group's metrics, raw, NaN included; not empty.
struct CounterSampleRecord {
  uint64_t group_iid = 0;
  uint64_t session_id = 0;
  uint64_t window_id = 0;
  uint64_t context_id = 0;
  uint64_t thread_id = 0;
  uint64_t enter_monotonic_ns = 0;
  uint64_t correlation_id = 0;
  uint64_t signature_iid = 0;
  uint64_t graph_exec_id = 0;
  uint64_t range_order = 0;
  uint64_t launch_number = 0;
  uint64_t flags = 0;
  std::vector<double> values;
};

}  // namespace gx::inject

#endif  // GPUEXEC_INJECT_RECORD_H_
