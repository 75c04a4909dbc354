// The report as plain data: everything that a rendering shows, computed. report_builder makes it, report_text,
// report_csv and report_proto write it down and compute nothing. Every string is printable (Printable was applied).
#ifndef GPUEXEC_ANALYSIS_REPORT_H_
#define GPUEXEC_ANALYSIS_REPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/duration_samples.h"
#include "analysis/report_ladder.h"
#include "analysis/report_roofline.h"
#include "analysis/report_run.h"
#include "gpuexec/v1/stats.pb.h"

namespace gx::analysis {

// What a row stands for: all kernels that agree in these.
struct Grouping {
  bool signature = true;
  bool name = false;
  bool nvtx = false;
  bool stream = false;
  bool device = false;
  friend bool operator==(const Grouping&, const Grouping&) = default;
};

// Parts of the text, and the one table that CSV holds (of counters, samples or kernels). The ladder is in the text only
// where it is named.
enum class Section { kLosses, kProvenance, kRun, kCounters, kSamples, kKernels, kLadder, kApi };

enum class SortKey { kTotal, kCalls, kMedian, kMax, kOverlap, kName };

// A loss, an oddity or a note.
struct Finding {
  gpuexec::v1::Severity severity = gpuexec::v1::SEVERITY_UNSPECIFIED;
  // Stable, for programs: the counter's name, or "trace.…", "join.…".
  std::string id;
  uint64_t value = 0;
  std::string text;
  std::string advice;
  // Further lines: offsets of damage, examples.
  std::vector<std::string> details;
};

struct MinMedianMax {
  uint64_t min = 0;
  double median = 0;
  uint64_t max = 0;
};

struct ThrottleReason {
  std::string words;
  uint64_t sample_count = 0;
};

// The machine file of a device's ladders.
struct MachineUse {
  // Nothing matches the device: but for the notes the rest is empty.
  bool found = false;
  // Else of another device of this kind.
  bool same_device = false;
  std::string path;
  std::optional<uint64_t> start_realtime_ns;
  std::string driver_version;
  // One line each: where it differs from the device; files that were not taken, and why.
  std::vector<std::string> differences;
  std::vector<std::string> notes;
};

struct DeviceSection {
  uint64_t device_id = 0;
  // The ordinal is not known (kernels that named no stream).
  bool unknown = false;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::optional<uint64_t> compute_capability_major;
  std::optional<uint64_t> compute_capability_minor;
  std::optional<uint64_t> multiprocessor_count;
  uint64_t total_memory_bytes = 0;
  std::optional<uint64_t> l2_cache_bytes;
  std::optional<uint64_t> max_sm_clock_hz;
  std::optional<uint64_t> max_memory_clock_hz;
  std::optional<uint64_t> power_limit_milliwatts;
  std::optional<bool> ecc_enabled;
  std::optional<bool> mig_enabled;
  std::optional<bool> mps_enabled;
  std::optional<uint64_t> virtualization_mode;

  // NVML samples. Unset: none.
  uint64_t sample_count = 0;
  std::optional<MinMedianMax> sm_clock_hz;
  std::optional<MinMedianMax> memory_clock_hz;
  std::optional<MinMedianMax> power_milliwatts;
  std::optional<MinMedianMax> temperature_celsius;
  uint64_t throttle_sample_count = 0;
  std::vector<ThrottleReason> throttle_reasons;

  // Activity.
  bool active = false;
  uint64_t kernel_busy_ns = 0;
  uint64_t copy_busy_ns = 0;
  uint64_t busy_ns = 0;
  // First start to last end of kernels and copies.
  uint64_t span_ns = 0;
  // Of the span: windows in which nothing on the device is recorded.
  uint64_t untimed_ns = 0;
  // span - busy - untimed.
  uint64_t idle_ns = 0;
  // Of RunSection::recorded_ns(), and of RunSection::timed_ns().
  double busy_of_wall_ratio = 0;
  double busy_of_timed_ratio = 0;

  // Unset: none was looked for.
  std::optional<MachineUse> machine;
};

struct CopySection {
  std::string kind;
  uint64_t count = 0;
  uint64_t size_bytes = 0;
  uint64_t total_ns = 0;
};

struct RunSection {
  uint64_t wall_ns = 0;
  // Of the header and the trailer; else of the first and last thing with a host time.
  bool wall_from_trailer = false;
  // After the start of the run; unset: single records of all of it, or not known. Beyond it there are only the sums of
  // launches and kernels: rate, busy time, copies, synchronisation, overhead and ranges are those before it.
  std::optional<uint64_t> single_records_end_ns;
  uint64_t recorded_ns() const { return single_records_end_ns.value_or(wall_ns); }
  // Of that, windows without records of what ran on the device.
  uint64_t untimed_windows_ns = 0;
  uint64_t timed_ns() const { return recorded_ns() - std::min(recorded_ns(), untimed_windows_ns); }
  bool summarised() const { return summarised_launches + summarised_kernels > 0; }
  // With a record.
  uint64_t kernel_launches = 0;
  uint64_t graph_launches = 0;
  uint64_t refused_launches = 0;
  // In sums only.
  uint64_t summarised_launches = 0;
  uint64_t summarised_kernels = 0;
  // All.
  uint64_t kernels = 0;
  // Launch calls between the first and the last one; 0: fewer than two.
  double launches_per_second = 0;
  uint64_t launch_span_ns = 0;
  uint64_t off_windows_ns = 0;
  uint64_t counter_windows_ns = 0;
  uint64_t window_switch_ns = 0;
  std::vector<CopySection> copies;
  uint64_t synchronization_count = 0;
  uint64_t synchronization_ns = 0;
  uint64_t overhead_count = 0;
  uint64_t overhead_ns = 0;
  uint64_t nvtx_event_count = 0;
};

struct ProvenanceSection {
  bool header_known = false;
  std::string gpuexec_version;
  std::string source_revision;
  std::string format;
  std::string command;
  std::string executable;
  std::string host;
  uint64_t pid = 0;
  uint64_t parent_pid = 0;
  uint64_t pid_namespace = 0;
  // "2025-11-30T12:00:00Z".
  std::string started;
  std::vector<std::pair<std::string, std::string>> rank_variables;
  std::vector<std::pair<std::string, std::string>> configuration;
  std::string driver_version;
  std::string cuda_driver_api_version;
  std::string cupti_version;
  std::string cupti_path;
  // Known faults of that CUPTI, a sentence each; `acted_on`: gpuexec switched something off or did it otherwise.
  struct CuptiFault {
    std::string text;
    bool acted_on = false;
  };
  std::vector<CuptiFault> cupti_faults;
  std::string libcuda_path;
  uint64_t kernel_record_version = 0;
  std::string kernel_release;
  std::string machine;
  // Estimated from the kernels' durations. 0: not known, as there are too few different ones.
  uint64_t clock_step_ns = 0;
  uint64_t clock_pair_count = 0;
  // "exit", "disabled", "yielded", "" (no trailer).
  std::string ended;
};

// Launches seen against kernels received.
struct AccountingSection {
  uint64_t launches = 0;
  uint64_t graph_launches = 0;
  // Made while kernel records were off, by intent; of these, in counter windows.
  uint64_t untimed_launches = 0;
  uint64_t counter_window_launches = 0;
  uint64_t kernel_records = 0;
  uint64_t kernels_joined = 0;
  uint64_t kernels_joined_to_graphs = 0;
  uint64_t kernels_without_launch = 0;
  uint64_t kernels_device_launched = 0;
  // Launched by CUPTI around ranges of counters: in no table.
  uint64_t kernels_of_cupti = 0;
  uint64_t kernels_untimed = 0;
  uint64_t kernels_unfinished = 0;
  uint64_t kernels_invalid = 0;
  uint64_t kernels_signature_from_activity = 0;
  uint64_t launches_without_kernel = 0;
  // Kernels of launches and replays that lack them, in spans in which another CUPTI client took the records.
  uint64_t kernels_taken = 0;
  uint64_t replays_complete = 0;
  uint64_t replays_short = 0;
  uint64_t replays_long = 0;
  uint64_t replays_unchecked = 0;
  uint64_t replay_kernels_missing = 0;
  uint64_t signature_disagreements = 0;
  uint64_t summarised_kernels = 0;
  uint64_t summarised_launches = 0;
};

// One function of the CUDA runtime or driver that the program called.
struct ApiUseRow {
  // "runtime", "driver"; "unknown" where the trace does not define the function.
  std::string domain;
  std::string name;
  uint64_t call_count = 0;
  // Calls that returned another code than success, cudaErrorNotReady among them.
  uint64_t failed_count = 0;
  uint64_t total_ns = 0;
  uint64_t max_ns = 0;
};

struct ProcessSection {
  // Short and unique in the report: rank, or pid, with the host where several differ.
  std::string label;
  std::string path;
  uint64_t size_bytes = 0;
  uint64_t frame_count = 0;
  bool data_lost = false;
  // The library could not begin (no CUPTI, refused, another profiler): `diagnostics` say why.
  bool nothing_recorded = false;
  // Most severe first.
  std::vector<Finding> findings;
  std::vector<Finding> bookkeeping;
  std::vector<std::string> diagnostics;
  uint64_t diagnostic_count = 0;
  AccountingSection accounting;
  ProvenanceSection provenance;
  std::vector<DeviceSection> devices;
  RunSection run;
  RunExplanation explanation;
  // Most time first; empty where calls were not recorded.
  std::vector<ApiUseRow> api_uses;
};

struct Dim {
  uint64_t x = 0;
  uint64_t y = 0;
  uint64_t z = 0;
  friend bool operator==(const Dim&, const Dim&) = default;
};

// What the analytical model says of a launch (launch_residency.h). Unset: something that the model needs is not known,
// or it is not the same for all kernels of the row.
// What one more resident block an SM takes: each value is the largest of its resource, everything else unchanged; all
// that are set have to hold. Unset: the resource does not limit, or no value of it is small enough.
struct OneMoreBlock {
  // False: a block slot is missing, or nothing is small enough.
  bool is_possible = false;
  std::optional<uint64_t> threads_per_block;
  std::optional<uint64_t> registers_per_thread;
  // Static and dynamic; or, with blocks as they are, a carve-out of so much.
  std::optional<uint64_t> shared_memory_bytes;
  std::optional<uint64_t> carveout_bytes;
  friend bool operator==(const OneMoreBlock&, const OneMoreBlock&) = default;
};

struct LaunchResidency {
  // Why something below is missing: "the kernel's registers are not known". Empty where nothing is.
  std::string unavailable;
  // Blocks that an SM holds at a time, with the shared memory that it was really set to where a record says so.
  std::optional<uint64_t> blocks_per_sm;
  // The same with the shared memory that the function prefers, which is what the driver is asked.
  std::optional<uint64_t> requested_blocks_per_sm;
  std::optional<double> occupancy_ratio;
  // Without rounding, units and reserves.
  std::optional<uint64_t> first_order_blocks_per_sm;
  std::optional<double> first_order_occupancy_ratio;
  std::optional<std::string> first_order_limiters;
  // "registers + shared_memory": every resource that lets in no more; and what would limit next.
  std::optional<std::string> limiters;
  std::optional<std::string> next_limiters;
  std::optional<uint64_t> next_blocks_per_sm;
  std::optional<OneMoreBlock> one_more_block;
  // Blocks that the device holds at a time, and how often the grid fills them: 2.5 is two full waves and half of one.
  std::optional<uint64_t> slot_count;
  std::optional<double> waves;
  // Fill of the last of several waves.
  std::optional<double> tail_fill_ratio;
  // Clusters: slots are what SMs hold, not what whole clusters fit into. The true number is not known.
  bool slots_are_upper_bound = false;
};

// What the launch asked for and the function needs. Unset: not known, or not the same for all kernels of the row.
struct LaunchConfiguration {
  std::optional<Dim> grid;
  std::optional<Dim> block;
  std::optional<Dim> cluster;
  // What the launch was given: the kernel record's count, which is what Nsight Compute shows as well. At least 16, and
  // more than the function's own where its code calls other functions. Without a record: the function's own.
  std::optional<uint64_t> registers_per_thread;
  // cuFuncGetAttribute's.
  std::optional<uint64_t> function_registers_per_thread;
  std::optional<uint64_t> static_shared_memory_bytes;
  std::optional<uint64_t> dynamic_shared_memory_bytes;
  std::optional<uint64_t> local_memory_per_thread_bytes;
  // The carve-out that the kernel record shows.
  std::optional<uint64_t> shared_memory_executed_bytes;
  // The driver's own answer.
  std::optional<uint64_t> driver_occupancy_blocks_per_sm;
  LaunchResidency residency;
  bool graph_node = false;
  bool cooperative = false;
  bool programmatic = false;
  // No launch told the signature: these are the kernel record's values.
  bool from_activity = false;
};

// What median, p5 and p95 rest on.
enum class MedianBasis {
  // kMinCleanSamples clean samples or more.
  kClean,
  // Fewer clean samples: shown, no verdict.
  kFewClean,
  // No clean sample: warm-up, overlapped or late ones.
  kNotClean,
  // No single record: buckets of the summaries kept after the size limit. Minimum and maximum are exact.
  kBuckets,
  kNone,
};

inline constexpr size_t kPickedDurations = 64;

struct KernelGroup {
  size_t process = 0;  // Index in Report::processes.
  // "" where the grouping has no such column, or it is not known.
  std::string short_name;
  std::string full_name;
  std::optional<uint64_t> device_id;
  std::string stream;
  std::string nvtx;
  bool nvtx_at_capture = false;
  // Distinct signatures in this row.
  uint64_t signature_count = 0;
  // Index in TraceModel::signatures where there is one signature: what joins rows, counters and ladders of a process.
  std::optional<uint32_t> signature;
  LaunchConfiguration launch;

  uint64_t calls = 0;
  uint64_t total_ns = 0;
  // Of the process's kernel time.
  double share_ratio = 0;
  MedianBasis basis = MedianBasis::kNone;
  // Of the samples that `basis` names.
  DurationSummary durations;
  // Of them, ascending, at most kPickedDurations (DurationSamples::Pick); none of buckets.
  std::vector<uint64_t> picked_ns;
  uint64_t clean_count = 0;
  uint64_t warm_up_count = 0;
  // Overlapped another kernel, warm-up or not.
  uint64_t overlapping_count = 0;
  // overlapping / timed, of kernels with a record.
  double overlapped_ratio = 0;
  uint64_t late_count = 0;
  // First or last on their stream beside a switch of windows.
  uint64_t next_to_switch_count = 0;
  uint64_t untimed_count = 0;
  uint64_t unfinished_count = 0;
  uint64_t invalid_count = 0;
  // After the size limit: known in sums only.
  uint64_t summarised_count = 0;
  uint64_t launches_without_kernel = 0;
  uint64_t untimed_launch_count = 0;
  // Set for one signature with clean timings and counters.
  std::optional<RooflineRow> roofline;
  bool measured_insufficient() const { return basis != MedianBasis::kClean; }
};

// One metric of a row of counters: counter_samples.h says what each figure rests on.
struct CounterMetricRow {
  std::string name;
  // Unset: unavailable.
  std::optional<double> median;
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> spread_ratio;
  uint64_t value_count = 0;
  uint64_t unavailable_count = 0;
  // Samples that the median rests on.
  uint64_t kept_count = 0;
  // The first ranges of sessions were left out; there were only such.
  bool first_left_out = false;
  bool first_only = false;
};

// One range. 0: not known, but for range_order.
struct CounterSampleLine {
  uint64_t session_id = 0;
  uint64_t window_id = 0;
  uint64_t context_id = 0;
  uint64_t range_order = 0;
  uint64_t launch_number = 0;
  uint64_t correlation_id = 0;
  uint64_t thread_id = 0;
  std::optional<uint64_t> offset_ns;
  bool first_of_session = false;
  bool after_switch = false;
  bool is_void = false;
  bool replayed = false;
  // In the order of CounterGroupRow::metrics. Unset: unavailable.
  std::vector<std::optional<double>> values;
};

// What one group counted of one signature, or of one graph.
struct CounterGroupRow {
  std::string group;
  // "hardware", "sass", ...
  std::string kind;
  uint64_t sample_count = 0;
  // Of these: void (in no figure), first of their session, next to a switch, replayed by CUPTI.
  uint64_t void_count = 0;
  uint64_t first_of_session_count = 0;
  uint64_t after_switch_count = 0;
  uint64_t replayed_count = 0;
  // After the start of the run. Unset: no usable sample, or its time is not known.
  std::optional<uint64_t> first_offset_ns;
  std::optional<uint64_t> last_offset_ns;
  // Median time between one sampled launch and the next. Unset: fewer than two.
  std::optional<double> spacing_ns;
  // Which launch of its signature the first one was, from 1, and the median step to the next. Unset: the trace does not
  // say.
  std::optional<uint64_t> first_launch_number;
  std::optional<double> launch_number_step;
  std::vector<CounterMetricRow> metrics;
  // Those that were kept (CounterSamples::kMaxKept), void ones among them, in order of time.
  std::vector<CounterSampleLine> samples;
};

// A metric that shows that launches of one signature did different work.
struct MixedWork {
  std::string metric;
  double min = 0;
  double max = 0;
  double spread_ratio = 0;
};

// Two ways of counting a signature's instructions that do not agree: the values nearest to each other.
struct InstructionDisagreement {
  std::string hardware_metric;
  std::string patched_metric;
  double hardware = 0;
  double patched = 0;
  // Of the larger one.
  double difference_ratio = 0;
};

struct SignatureCounters {
  // Index in TraceModel::signatures. Unset: launches whose parameters could not be read.
  std::optional<uint32_t> signature;
  std::string short_name;
  std::string full_name;
  std::optional<uint64_t> device_id;
  std::optional<Dim> grid;
  std::optional<Dim> block;
  std::optional<Dim> cluster;
  uint64_t dynamic_shared_memory_bytes = 0;
  bool graph_node = false;
  uint64_t launch_count = 0;
  // Of the process's kernel time. Unset: not known, as the import did not keep signatures apart.
  std::optional<double> share_ratio;
  // Not empty: mixed work.
  std::vector<MixedWork> mixed_work;
  std::optional<InstructionDisagreement> instruction_disagreement;
  std::vector<CounterGroupRow> groups;
};

struct GraphKernel {
  std::string full_name;
  std::string short_name;
  // Unset: parameters not known.
  std::optional<Dim> grid;
  std::optional<Dim> block;
  uint64_t node_count = 0;
};

// Of whole graph launches: never a kernel's.
struct GraphCounters {
  uint64_t graph_exec_id = 0;
  uint64_t graph_id = 0;
  // Unset: instantiated before the capture.
  std::optional<uint64_t> kernel_node_count;
  std::optional<uint64_t> undescribed_node_count;
  // Which kernels, most frequent first, as the nodes were at its last sample. Empty: not known.
  std::vector<GraphKernel> kernels;
  std::vector<CounterGroupRow> groups;
};

struct CounterPlanRow {
  uint64_t device_id = 0;
  std::string requested;
  std::string chip;
  std::vector<std::string> groups;
  // (metric, why)
  std::vector<std::pair<std::string, std::string>> dropped;
  // Of these: named by the user, and not by a set.
  uint64_t dropped_by_name_count = 0;
  bool failed = false;
  uint64_t planning_ns = 0;
};

struct CounterAccessRow {
  uint64_t device_id = 0;
  // "allowed", "not permitted", ...
  std::string state;
  bool allowed = false;
  std::string text;
  // Told among the findings, too.
  bool is_finding = false;
};

struct DevicePeakRow {
  uint64_t device_id = 0;
  std::string metric;
  // Unset: unavailable.
  std::optional<double> per_cycle;
  std::string clock_metric;
  std::optional<double> clock_hz;
};

struct WindowClocksRow {
  uint64_t window_id = 0;
  uint64_t device_id = 0;
  // "timing", "counters", ...; "" where the window is not known.
  std::string kind;
  std::optional<uint64_t> sm_clock_hz;
  std::optional<uint64_t> l2_clock_hz;
  std::optional<uint64_t> memory_clock_hz;
  // Unset: unknown; empty: none.
  std::optional<std::vector<std::string>> throttle_reasons;
  uint64_t reading_count = 0;
};

// A function, a graph as a whole, or a context that was not sampled, from that time on.
struct DeniedFunction {
  std::string name;
  std::string reason;
  std::string detail;
  // 0: in every context.
  uint64_t context_id = 0;
  // 0: no graph.
  uint64_t graph_exec_id = 0;
  std::optional<uint64_t> offset_ns;
};

inline constexpr double kUncountedShare = 0.01;

// A signature of much kernel time for which counters, or some groups of them, are missing.
struct UncountedSignature {
  std::string short_name;
  std::optional<Dim> grid;
  double share_ratio = 0;
  // "only in graphs", "sass+ missing", ...
  std::string reason;
};

// Something that the library counted: launches that were not sampled, ranges that gave nothing.
struct CounterLoss {
  // "STAT_COUNTER_SKIPPED_BUSY"
  std::string id;
  std::string text;
  uint64_t count = 0;
  // Among the findings, too: not the normal course of sampling.
  bool is_finding = false;
};

// What counters cost. Host time inside calls, each counted once.
struct CounterBill {
  // GPUEXEC_BUDGET: per cent of wall time, or "off". Empty: not known.
  std::string budget;
  uint64_t drain_count = 0;
  // Sessions of another group than the one before in their context: the costly kind of switch.
  uint64_t rotation_count = 0;
  uint64_t abandoned_session_count = 0;
  uint64_t window_count = 0;
  uint64_t windows_ns = 0;
  uint64_t switch_ns = 0;
  uint64_t session_count = 0;
  uint64_t failed_session_count = 0;
  uint64_t range_count = 0;
  // On the program's threads.
  uint64_t push_ns = 0;
  uint64_t pop_ns = 0;
  uint64_t idle_wait_ns = 0;
  uint64_t completion_wait_ns = 0;
  // Where windows are switched.
  uint64_t enable_ns = 0;
  uint64_t start_ns = 0;
  uint64_t stop_ns = 0;
  uint64_t decode_ns = 0;
  uint64_t disable_ns = 0;
  uint64_t ranges_ns() const { return push_ns + pop_ns + idle_wait_ns + completion_wait_ns; }
  uint64_t sessions_ns() const { return enable_ns + start_ns + stop_ns + decode_ns + disable_ns; }
  uint64_t calls_ns() const { return ranges_ns() + sessions_ns() + switch_ns; }
};

struct CountersSection {
  size_t process = 0;  // Index in Report::processes.
  std::vector<CounterPlanRow> plans;
  std::vector<CounterAccessRow> access;
  std::vector<DevicePeakRow> peaks;
  std::vector<WindowClocksRow> window_clocks;
  std::vector<DeniedFunction> denied;
  // Launches that were to be sampled and were not, and ranges without a sample.
  std::vector<CounterLoss> losses;
  // Those above kUncountedShare of kernel time, heaviest first. Empty where nothing was sampled at all.
  std::vector<UncountedSignature> uncounted;
  // Kernel and graph launches in counter windows, which have no timing by intent.
  uint64_t untimed_launch_count = 0;
  CounterBill bill;
  uint64_t sample_count = 0;
  uint64_t void_count = 0;
  uint64_t misplaced_count = 0;
  uint64_t unavailable_value_count = 0;
  // Signatures with a usable sample, and what share of the process's kernel time they make up; the same of those that
  // have kWantedSamples in every group of the plan but tensor groups and spare ones.
  uint64_t sampled_signature_count = 0;
  std::optional<double> sampled_share_ratio;
  std::optional<double> covered_share_ratio;
  // Kernels that ran in graphs: sampled as part of their graph, if at all.
  std::optional<double> graph_share_ratio;
  uint64_t mixed_work_count = 0;
  // Heaviest first, filtered, cut to the number asked for.
  std::vector<SignatureCounters> signatures;
  size_t signatures_matched = 0;
  std::vector<GraphCounters> graphs;
};

struct Report {
  bool data_lost = false;
  Grouping grouping;
  SortKey sort = SortKey::kTotal;
  std::string filter;
  // ReportRequest::top.
  size_t row_limit = 0;
  std::vector<ProcessSection> processes;
  // Sorted, filtered, cut to the number asked for.
  std::vector<KernelGroup> kernels;
  size_t kernel_groups_matched = 0;
  size_t kernel_groups_total = 0;
  // Of the processes whose trace says anything about hardware counters.
  std::vector<CountersSection> counters;
  // By process, where it is asked for.
  std::vector<LadderSection> ladders;
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_H_
