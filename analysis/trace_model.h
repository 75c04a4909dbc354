// What one trace says, after the import: definitions as tables, records as statistics. Its size grows with the number
// of distinct things (signatures, streams, ranges) and not with the number of launches. Made by TraceImporter, read by
// the report builder; plain data, no threads.
#ifndef GPUEXEC_ANALYSIS_TRACE_MODEL_H_
#define GPUEXEC_ANALYSIS_TRACE_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "analysis/correlate.h"
#include "analysis/counter_model.h"
#include "analysis/duration_samples.h"
#include "analysis/nvtx_ranges.h"
#include "analysis/run_gaps.h"
#include "analysis/summary_buckets.h"
#include "analysis/trace_reader.h"
#include "gpuexec/v1/trace.pb.h"

namespace gx::analysis {

// The first so many launches of a signature are warm-up (caches, clocks, lazy loading).
inline constexpr uint64_t kWarmUpLaunches = 3;
// Fewer clean samples give no verdict.
inline constexpr uint64_t kMinCleanSamples = 20;

// Pairs of signatures that follow each other; a program has some thousands.
inline constexpr size_t kMaxNeighbours = size_t{1} << 18;

// What launches are told apart by while they stream by. The report may merge further, never split.
struct CellDimensions {
  bool signature = true;
  bool track = false;
  bool nvtx = false;
};

// Interned ids of a file -> indexes into a table. Ids are small and dense as a rule; a hostile one costs one map entry.
class IidIndex {
 public:
  // kNone: not known.
  uint32_t Find(uint64_t iid) const {
    if (iid < dense_.size()) return dense_[iid];
    if (iid < kDenseLimit) return kNone;
    const auto found = sparse_.find(iid);
    return found == sparse_.end() ? kNone : found->second;
  }
  void Set(uint64_t iid, uint32_t index);

 private:
  static constexpr uint64_t kDenseLimit = uint64_t{1} << 20;
  std::vector<uint32_t> dense_;
  absl::flat_hash_map<uint64_t, uint32_t> sparse_;
};

// A table of definitions of one message type, by iid. A second definition adds to the first.
template <typename Message>
class DefinitionTable {
 public:
  // Index of the entry; it is made, empty, where the id is new.
  uint32_t IndexOf(uint64_t iid) {
    uint32_t index = index_.Find(iid);
    if (index == kNone) {
      index = static_cast<uint32_t>(entries_.size());
      entries_.emplace_back();
      index_.Set(iid, index);
    }
    return index;
  }
  uint32_t Merge(uint64_t iid, const Message& message) {
    const uint32_t index = IndexOf(iid);
    entries_[index].MergeFrom(message);
    return index;
  }
  uint32_t Find(uint64_t iid) const { return index_.Find(iid); }
  const Message* Get(uint64_t iid) const {
    const uint32_t index = Find(iid);
    return index == kNone ? nullptr : &entries_[index];
  }
  const Message& at(uint32_t index) const { return entries_[index]; }
  size_t size() const { return entries_.size(); }
  const std::vector<Message>& entries() const { return entries_; }

 private:
  std::vector<Message> entries_;
  IidIndex index_;
};

struct SignatureEntry {
  // Where from_activity: filled from the kernel record, with iid and function_iid 0.
  gpuexec::v1::Signature definition;
  bool defined = false;
  // No launch or graph node told the signature: it is what the kernel records say.
  bool from_activity = false;
  // KernelAttributes of a kernel of this signature (index; the last one that differed).
  uint32_t attributes = kNone;
  // Kernels with these attributes that are not yet in kernels_by_signature_and_attributes (0 after the import).
  uint64_t same_attributes_count = 0;
  // Kernels put in order so far.
  uint64_t ordered_count = 0;
  uint64_t launch_count = 0;
  // Made while kernel records were off, by design.
  uint64_t untimed_launch_count = 0;
  uint64_t launches_without_kernel = 0;
};

struct CellKey {
  uint32_t signature = kNone;
  uint32_t track = kNone;
  uint32_t nvtx_path = 0;
  // The path is that of the capture of a graph node, not of a launch.
  bool nvtx_at_capture = false;
  friend bool operator==(const CellKey&, const CellKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const CellKey& key) {
    return H::combine(std::move(h), key.signature, key.track, key.nvtx_path, key.nvtx_at_capture);
  }
};

// Kernels of one key. Every kernel is in exactly one class of untimed, unfinished, invalid, late, warm-up, overlapped,
// next to a switch of windows, clean; `overlapping` counts those that overlapped another, warm-up or not.
struct Cell {
  CellKey key;
  uint64_t kernel_count = 0;
  uint64_t untimed_count = 0;
  uint64_t unfinished_count = 0;
  uint64_t invalid_count = 0;
  uint64_t warm_up_count = 0;
  uint64_t late_count = 0;
  uint64_t overlapped_count = 0;
  uint64_t overlapping_count = 0;
  uint64_t next_to_switch_count = 0;
  DurationSamples clean;
  // Warm-up, late, overlapped ones, and those next to a switch.
  DurationSamples not_clean;
};

struct SummarisedKernels {
  uint32_t attributes = kNone;
  uint64_t device_id = 0;
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  SummaryBuckets buckets;
};

// Launches seen against kernels received.
struct Accounting {
  uint64_t launches = 0;  // Kernel launches with a record, refused ones not included.
  uint64_t graph_launches = 0;
  uint64_t refused_launches = 0;
  uint64_t untimed_launches = 0;         // Kernel and graph launches made while kernel records were off.
  uint64_t counter_window_launches = 0;  // Of these, in counter windows.
  uint64_t kernels_complete = 0;
  uint64_t kernels_untimed = 0;
  uint64_t kernels_unfinished = 0;
  uint64_t kernels_invalid = 0;
  uint64_t kernels_joined = 0;
  uint64_t kernels_joined_to_graphs = 0;
  uint64_t kernels_without_launch = 0;
  // Launched by kernels (dynamic parallelism): no host launch is expected.
  uint64_t kernels_device_launched = 0;
  // Launched by CUPTI itself around ranges of counters: no kernels of the program, and in no table.
  uint64_t kernels_of_cupti = 0;
  uint64_t kernels_signature_from_activity = 0;
  uint64_t launches_without_kernel = 0;
  uint64_t replays_complete = 0;
  uint64_t replays_short = 0;  // Of kernels that are in the graph for certain.
  uint64_t replays_long = 0;   // More kernels than the graph has nodes that may be kernels.
  uint64_t replay_kernels_missing = 0;
  // Replays of graphs whose number of kernels is not known (conditional nodes, or instantiated before the capture).
  uint64_t replays_unchecked = 0;
  uint64_t kernels_late = 0;
  uint64_t repeated_correlation_ids = 0;
  uint64_t summarised_kernels = 0;
  uint64_t summarised_launches = 0;
  uint64_t kernel_records() const { return kernels_complete + kernels_untimed + kernels_unfinished + kernels_invalid; }
};

struct ClockSamples {
  DurationSamples sm_clock_hz;
  DurationSamples memory_clock_hz;
  DurationSamples power_milliwatts;
  DurationSamples temperature_celsius;  // Below zero counts as zero.
  uint64_t sample_count = 0;
  uint64_t throttle_sample_count = 0;
  // By bit of nvmlClocksEventReason*.
  std::array<uint64_t, 64> throttle_count_by_bit{};
};

struct DeviceActivity {
  uint64_t kernel_busy_ns = 0;
  uint64_t copy_busy_ns = 0;
  uint64_t busy_ns = 0;
  uint64_t first_start_ns = 0;
  uint64_t last_end_ns = 0;
  // Between the two: windows in which nothing that runs on the device is recorded.
  uint64_t untimed_ns = 0;
  IdleTime idle;
};

struct CopyTotals {
  uint64_t count = 0;
  uint64_t size_bytes = 0;
  uint64_t total_ns = 0;
};

// Of one function of the CUDA runtime or driver.
struct ApiUse {
  uint64_t call_count = 0;
  // Calls that returned another code than 0.
  uint64_t failed_count = 0;
  uint64_t total_ns = 0;
  uint64_t max_ns = 0;
};

// The runtime and the driver have some 1,200 functions together (CUDA 13.0).
inline constexpr size_t kMaxApiFunctions = 8192;

struct TraceModel {
  std::string path;

  // Of the file.
  uint64_t size_bytes = 0;
  uint64_t frame_count = 0;
  uint64_t missing_frame_count = 0;
  uint64_t damage_count = 0;
  // Of these, places where no byte is damaged and frames are missing or out of order.
  uint64_t sequence_gap_count = 0;
  uint64_t damaged_bytes = 0;
  std::vector<Damage> damages;
  // Records that a batch claimed and that could not be decoded, and the first reasons.
  uint64_t undecodable_record_count = 0;
  std::vector<std::string> undecodable_reasons;
  // Uses of ids that no definition was found for, by kind of definition.
  std::map<std::string, uint64_t> undefined_count;

  std::optional<gpuexec::v1::Header> header;
  std::optional<gpuexec::v1::Trailer> trailer;
  std::map<uint32_t, uint64_t> stats;  // By StatId's number.
  std::vector<gpuexec::v1::Diagnostic> diagnostics;
  uint64_t diagnostic_count = 0;

  // Definitions.
  absl::flat_hash_map<uint64_t, std::string> names;
  std::map<uint64_t, gpuexec::v1::Device> devices;
  std::map<uint64_t, gpuexec::v1::Context> contexts;
  absl::flat_hash_map<uint64_t, std::string> thread_names;
  DefinitionTable<gpuexec::v1::Track> tracks;
  DefinitionTable<gpuexec::v1::Function> functions;
  DefinitionTable<gpuexec::v1::KernelAttributes> attributes;
  absl::flat_hash_map<uint64_t, std::string> nvtx_domains;
  std::map<uint64_t, gpuexec::v1::Window> windows;
  std::map<uint64_t, gpuexec::v1::RecordGap> record_gaps;
  uint64_t module_count = 0;
  uint64_t graph_exec_count = 0;
  uint64_t graph_node_count = 0;

  // Records.
  std::vector<SignatureEntry> signatures;
  CellDimensions dimensions;
  std::vector<Cell> cells;
  // Kernels of keys beyond the limit on cells went to one cell that has no key.
  bool cells_limited = false;
  std::vector<SummarisedKernels> summarised;
  // CLOCK_MONOTONIC of the first kernel that is only in a summary: from then on there are no single records. 0: none.
  uint64_t summaries_begin_monotonic_ns = 0;
  Accounting accounting;
  // (signature index, attributes index) -> kernels. Compared when the report is built: attributes of a function may
  // become known after its first launches.
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint64_t> kernels_by_signature_and_attributes;
  // (signature, signature) -> how often the second was the next on the first's stream, in one window. Pairs beyond
  // kMaxNeighbours are counted in neighbours_left_out.
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint64_t> neighbours;
  uint64_t neighbours_left_out = 0;
  NvtxRanges nvtx;
  uint64_t nvtx_event_count = 0;
  std::map<uint64_t, DeviceActivity> activity_by_device;
  std::map<uint64_t, ClockSamples> clocks_by_device;
  // (kind, CUpti_ActivityMemcpyKind)
  std::map<std::pair<uint32_t, uint32_t>, CopyTotals> copies;
  uint64_t synchronization_count = 0;
  uint64_t synchronization_ns = 0;
  uint64_t overhead_count = 0;
  uint64_t overhead_ns = 0;
  // Calls of the runtime and driver, by function. Those of functions beyond kMaxApiFunctions are in api_calls_left_out.
  std::map<uint64_t, gpuexec::v1::ApiFunction> api_functions;
  std::map<uint64_t, ApiUse> api_uses;
  uint64_t api_calls_left_out = 0;
  CounterModel counters;
  // Of graphs that have counter samples: nodes that are kernels for certain, and others.
  std::map<uint64_t, gpuexec::v1::GraphExec> counted_graphs;
  // Their kernel nodes by signature, as they were at the last sample; kNone: parameters were never seen.
  std::map<uint64_t, std::map<uint32_t, uint64_t>> counted_graph_nodes;
  // EstimateClockStep of the kernels' durations; 0: not known.
  uint64_t clock_step_ns = 0;
  uint64_t clock_pair_count = 0;
  // CLOCK_MONOTONIC of the first and last thing that has a host time.
  uint64_t first_monotonic_ns = UINT64_MAX;
  uint64_t last_monotonic_ns = 0;
  uint64_t first_launch_ns = UINT64_MAX;
  uint64_t last_launch_ns = 0;

  // "" where not known.
  absl::string_view NameOf(uint64_t name_iid) const;
  // The mangled name of a signature's function.
  absl::string_view FunctionName(const SignatureEntry& signature) const;
};

// How the launch's signature and the kernel record's own values differ. Empty: they agree, as far as both are known.
std::vector<std::string> SignatureDifferences(const TraceModel& model, const SignatureEntry& signature,
                                              const gpuexec::v1::KernelAttributes& attributes);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_TRACE_MODEL_H_
