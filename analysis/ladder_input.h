// What a trace and a machine file say of one launch signature -> input of the ladder (analysis/model/ladder.h).
// Arithmetic on names and numbers, no trace: peaks in counts per clock, clocks, counters by group.
//
// What was not counted or calibrated is absent and named in `unmeasured`, never 0. Counters are medians over samples of
// one launch each; those whose ratio counts (max over mean, stalls over active warps) are of the same group. DRAM below
// twice the L2 size is the smallest sample: write-backs of launches before land in it.
//
// Units in the names. Any thread.
#ifndef GPUEXEC_ANALYSIS_LADDER_INPUT_H_
#define GPUEXEC_ANALYSIS_LADDER_INPUT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/machine_ceilings.h"
#include "analysis/model/compute_capability.h"
#include "analysis/model/ladder.h"
#include "analysis/model/ladder_factors.h"
#include "analysis/model/ladder_stalls.h"
#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

// A metric of one group ("dram__bytes.sum") over its samples.
struct CountedMetric {
  uint64_t group = 0;
  std::string name;
  double median = 0;
  double min = 0;
  double max = 0;
  // Samples that the three rest on, and the windows that they lie in, in ascending order.
  uint64_t sample_count = 0;
  std::vector<uint64_t> window_ids = {};
  std::string group_name = {};
};

struct LadderFacts {
  // Above 0: the median of clean timings.
  double time_ns = 0;
  // In the order of collection: of several groups with the same metric the first one counts.
  std::vector<CountedMetric> counters;
  // "dram__bytes.sum.peak_sustained" -> counts in one cycle of its clock, whole device.
  std::map<std::string, double> peaks;
  std::optional<double> max_sm_clock_hz;
  // Of the device, medians over windows with timings and over those with counters (signature_clock.h).
  std::optional<double> timed_sm_clock_hz;
  std::optional<double> counter_window_sm_clock_hz;
  std::optional<uint64_t> multiprocessor_count;
  // Of theoretical tensor rates (model/peaks.h).
  std::optional<model::ComputeCapability> compute_capability;
  std::optional<uint64_t> l2_cache_bytes;
  LaunchShape shape;
  // Blocks of the grid over those that are resident at a time, rounded up.
  std::optional<uint64_t> waves;
  // Null: none matches the device.
  const gpuexec::v1::MachineFile* machine = nullptr;
  // Its time is waiting for others: no resource explains it.
  bool is_communication = false;
  // R0: of a manifest (manifest_bound.h).
  std::optional<double> compulsory_ns = std::nullopt;
};

// Which of its samples a count is: all of them together make a corner of the ladder's intervals (model/
// ladder_interval.h). Counted clocks and peaks are medians at any corner; the clock of the
// timed launches, an estimate, is off by what it may be (signature_clock.h).
enum class CounterCorner { kMedian, kLow, kHigh };

struct LadderEvidence {
  model::LadderInput input;
  // Of the excess work, where patched code was counted.
  std::optional<model::Excess> excess;
  // What the excess was computed from; set with it.
  std::optional<model::CountedWork> counted;
  std::optional<model::RequestedWork> requested;
  // Where stall reasons were counted, and lambda: unloaded over observed latency of a load.
  std::optional<model::WarpShares> warp_shares;
  std::optional<double> latency_ratio;
  // What the ladder does without, and what would supply it; one line each.
  std::vector<std::string> unmeasured;
  // What else bears on the figures; one line each.
  std::vector<std::string> notes;
};

// InvalidArgument, OutOfRange: time or counters are no figures of a launch.
absl::StatusOr<LadderEvidence> BuildLadderInput(const LadderFacts& facts,
                                                CounterCorner corner = CounterCorner::kMedian);

// What is counted of a resource, without its end: "dram__bytes". Tensor operations have a metric for each path: "".
absl::string_view ResourceMetric(model::ResourceKind kind) noexcept;

// Names of kernels that communicate, by library or by what the name says. A name alone: a kernel of another name is
// known where the trace says that it was not sampled for that reason.
bool IsCommunicationName(absl::string_view mangled_name);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LADDER_INPUT_H_
