// What a report says of a run as a whole: idle time by cause, whether launches bound it, what graphs and fusion could
// save, how much of the device's tensor rate it used, and how far counters reach. Plain data: report_run_explained.cc
// computes it, report_text_run writes it. Figures are of the part of the run with timings, unless their name says
// otherwise. Absent: not measured, never 0.
#ifndef GPUEXEC_ANALYSIS_REPORT_RUN_H_
#define GPUEXEC_ANALYSIS_REPORT_RUN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gx::analysis {

// Idle time of a device with one cause (run_gaps.h).
struct IdleCauseRow {
  // Stable, for programs: "synchronization", "host_late", "graph_late", "after_copy_to_host", "before_copy", "queued",
  // "inside_graph", "window_switch", "unknown".
  std::string id;
  // What the records show, in plain words.
  std::string text;
  uint64_t gap_count = 0;
  uint64_t total_ns = 0;
  uint64_t longest_ns = 0;
  // Of DeviceIdle::span_ns.
  double span_ratio = 0;
};

struct DeviceIdle {
  uint64_t device_id = 0;
  // First start to last end, less windows in which nothing on the device is recorded; and what of it was busy.
  uint64_t span_ns = 0;
  uint64_t busy_ns = 0;
  // Sum of the rows.
  uint64_t idle_ns = 0;
  // Largest first; causes without a gap are left out.
  std::vector<IdleCauseRow> causes;
  // Median from entering the launch call to the start of its kernel, where the device was idle meanwhile. Absent: no
  // such launch.
  std::optional<double> launch_delay_ns;
};

enum class LaunchBound {
  // No device has gaps whose launches are known.
  kUnknown,
  kNo,
  // Some of the time.
  kPartly,
  kYes,
};

// What one graph in place of single launches would save: an estimate, with everything that is not known between its
// ends. High: all that the host does between launches is launching; low: no more of a gap is than the delay from a
// launch call to its kernel (none where that is not known), less what a node takes and what recording added.
struct GraphSaving {
  double low_ns = 0;
  double high_ns = 0;
  // Gaps before single launches that came late.
  uint64_t gap_count = 0;
  // A node of a graph of many, as the machine file has it.
  double node_ns = 0;
};

struct LaunchVerdict {
  LaunchBound verdict = LaunchBound::kUnknown;
  // Of the device with most of it.
  uint64_t device_id = 0;
  uint64_t host_late_ns = 0;
  double host_late_ratio = 0;
  // From one launch call to the next, mean, and one kernel, mean. Absent: fewer than two launches; no kernel.
  std::optional<double> launch_period_ns;
  std::optional<double> kernel_ns;
  std::optional<GraphSaving> graph;
  // Why there is no estimate; empty: there is one.
  std::string no_graph;
};

// Two kernels that follow each other in a stream, of which the second may read what the first wrote. Addresses are not
// recorded: equal counts of bytes are evidence and no proof.
struct FusablePair {
  uint32_t producer_signature = 0;
  uint32_t consumer_signature = 0;
  std::string producer_name;
  std::string consumer_name;
  std::string producer_grid;
  std::string consumer_grid;
  // Times that the second directly followed the first, and launches of the first.
  uint64_t pair_count = 0;
  uint64_t producer_count = 0;
  // Of one launch: what the first's stores and the second's loads asked for, and how many times the one goes into the
  // other.
  double stored_bytes = 0;
  double loaded_bytes = 0;
  uint64_t loaded_multiple = 1;
  // Of both, counted; and what of it the fused kernel would not move, at most.
  double dram_bytes = 0;
  double saved_dram_bytes = 0;
  // What each reaches of the DRAM rate that the machine sustains. Absent: no machine file.
  std::optional<double> producer_dram_ratio;
  std::optional<double> consumer_dram_ratio;
  // Predicted (FusedTimeNs): what the two take as one, what that saves, and saves over the run. Absent: no machine
  // file.
  std::optional<double> fused_time_ns;
  std::optional<double> saved_ns;
  std::optional<double> saved_run_ns;
};

// Pairs in a row: a kernel that always comes after the one before. Or a pair by itself. What is said of a pair holds of
// each.
struct FusableChain {
  // In the order in which they run, two or more.
  std::vector<uint32_t> signatures;
  std::vector<std::string> names;
  std::vector<std::string> grids;
  uint64_t chain_count = 0;
  // Of one launch: what each but the last stores, and how many times that goes into what the next one loads.
  std::vector<double> stored_bytes;
  std::vector<uint64_t> loaded_multiples;
  // Of one launch of each, together.
  double time_ns = 0;
  double dram_bytes = 0;
  double saved_dram_bytes = 0;
  std::optional<double> fused_time_ns;
  std::optional<double> saved_ns;
  std::optional<double> saved_run_ns;
  // A kernel of it is in another chain too: savings do not add.
  bool shares_kernel = false;
};

struct TensorPathUse {
  // "op_hgmma_src_bf16_dst_fp32".
  std::string path;
  // Over the timed launches: median of a launch's samples x launches; from the smallest and largest samples.
  double flops = 0;
  double low_flops = 0;
  double high_flops = 0;
  // Dense; NVIDIA's figure at the device's greatest clock, and the machine file's. Absent: not known.
  std::optional<double> theoretical_flops_per_second;
  std::optional<double> empirical_flops_per_second;
};

// Floating-point operations of tensor cores against what the device can do: of instructions that ran, so recomputation
// and padding are in it. Utilizations are the time that the operations take at each path's rate, over busy time and
// over the whole time with timings; absent where a path's rate is not known.
struct TensorUse {
  std::vector<TensorPathUse> paths;
  double flops = 0;
  uint64_t busy_ns = 0;
  uint64_t timed_ns = 0;
  std::optional<double> theoretical_busy_ratio;
  std::optional<double> theoretical_timed_ratio;
  std::optional<double> empirical_busy_ratio;
  std::optional<double> empirical_timed_ratio;
  // Of kernel time: signatures whose tensor operations were not counted. Utilizations are lower bounds by that.
  double unmeasured_ratio = 0;
};

struct SignatureCoverage {
  // Signatures with timings, and the fewest of them that make kCoveredTime of kernel time.
  uint64_t signature_count = 0;
  uint64_t main_count = 0;
  double main_ratio = 0;
  // Of kernel time: signatures with a usable counter sample of their own; and of the main ones, how many have one.
  double counted_ratio = 0;
  uint64_t main_counted_count = 0;
};
inline constexpr double kCoveredTime = 0.95;

struct RunFinding {
  // Stable, for programs: "run.launch_bound", "run.synchronization", "run.fusable", ...
  std::string id;
  std::string text;
  std::string advice;
  // At most, over the time with timings. Absent: no prediction.
  std::optional<double> saved_ns;
};

struct RunExplanation {
  std::vector<DeviceIdle> idle;
  LaunchVerdict launches;
  // Most time saved first, kMaxFusablePairs at most; how many there are.
  std::vector<FusablePair> fusable;
  uint64_t fusable_count = 0;
  // What they make, likewise.
  std::vector<FusableChain> chains;
  uint64_t chain_count = 0;
  // Of neighbouring launches, which the counters could not tell: one of the two has no counts of bytes.
  std::optional<double> unjudged_neighbours_ratio;
  // Absent: no device with counters.
  std::optional<TensorUse> tensor;
  // Absent: no kernel with a timing.
  std::optional<SignatureCoverage> coverage;
  // Most valuable first.
  std::vector<RunFinding> findings;
};
inline constexpr size_t kMaxFusablePairs = 10;

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_RUN_H_
