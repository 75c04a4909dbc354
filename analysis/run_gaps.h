// Idle time of one device by cause, as far as the records tell: each gap between two pieces of work has one cause, and
// the causes sum to the gaps. Owned by one importer; one thread. CUPTI's clock.
//
// What a gap is judged by: when the launch call of the work that ended it was entered; whether the host was in a
// synchronize call as it began; what ran before it; and the windows in which nothing is recorded.
#ifndef GPUEXEC_ANALYSIS_RUN_GAPS_H_
#define GPUEXEC_ANALYSIS_RUN_GAPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace gx::analysis {

enum class GapCause : uint8_t {
  // The host waited for the device as that ran dry, and launched on only then.
  kSynchronization,
  // The launch call came after the device had run dry, or so shortly before that its kernel could not start in time.
  kHostLate,
  // The same of a graph's launch.
  kGraphLate,
  // The launch call came after a copy to the host, which the device was idle after.
  kAfterCopyToHost,
  // A copy or fill ended the gap: when it was asked for is not recorded.
  kBeforeCopy,
  // The launch call was long over, or the host was waiting all the time: the stream's order, an event, or the device's
  // own start of a kernel.
  kQueued,
  // Between two nodes of one graph launch.
  kInsideGraph,
  // Around windows without records: draining and switching, not the program's.
  kWindowSwitch,
  // The launch is not known.
  kUnknown,
};
inline constexpr size_t kGapCauseCount = 9;

struct IdleSum {
  uint64_t gap_count = 0;
  uint64_t total_ns = 0;
  uint64_t longest_ns = 0;
  void Add(uint64_t length_ns);
  void Add(const IdleSum& other);
};

struct IdleTime {
  // By GapCause.
  std::array<IdleSum, kGapCauseCount> by_cause;
  // Median from entering a launch call to the start of its kernel where the device was idle all that time; absent:
  // there was none.
  std::optional<double> launch_delay_ns;
  const IdleSum& Of(GapCause cause) const { return by_cause[static_cast<size_t>(cause)]; }
};

struct Gap {
  // End of the work before, and start of what followed; begin < end.
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  bool after_copy_to_host = false;
  bool before_copy = false;
  bool before_graph_node = false;
  // What ended it was launched by the same call as what came before.
  bool inside_launch = false;
  // Entry of the launch call; absent: not known.
  std::optional<uint64_t> launch_ns = std::nullopt;
};

// Half-open stretches of time in any order -> the same time as disjoint ones that do not touch, ascending: as many gaps
// as there are, each looks at few of them.
std::vector<std::pair<uint64_t, uint64_t>> MergedSpans(std::vector<std::pair<uint64_t, uint64_t>> spans);

// Calls in which the host waited for a device, as a union.
class HostWaits {
 public:
  // Stretches kept; the earliest go first.
  static constexpr size_t kMaxStretches = size_t{1} << 20;

  // Any order; empty ones are passed over.
  void Add(uint64_t start_ns, uint64_t end_ns);
  // Until when, where the host is waiting at that time.
  std::optional<uint64_t> WaitsUntil(uint64_t ns) const;

 private:
  // Start -> end, disjoint.
  std::map<uint64_t, uint64_t> stretches_;
  // The end of the stretch that the last question fell behind the start of (0: none), and the times for which that is
  // the answer.
  mutable uint64_t answer_from_ns_ = 0;
  mutable uint64_t answer_before_ns_ = 0;
  mutable uint64_t stretch_end_ns_ = 0;
};

class IdleGaps {
 public:
  // Fewer launches that were late without doubt say nothing of how long a launch takes.
  static constexpr uint64_t kMinLateLaunches = 20;

  // In order of time. `untimed`: windows without records that are known so far,
  // as MergedSpans has them.
  void Add(const Gap& gap, const HostWaits& waits, absl::Span<const std::pair<uint64_t, uint64_t>> untimed);

  // A launch call that was entered before its gap began counts as late where its kernel started no later after it than
  // nine of ten kernels did whose launch call was entered while the device was idle.
  IdleTime Finish() const;

 private:
  // Eight buckets a doubling: [2^(b/8), 2^((b+1)/8)) ns, about.
  static constexpr size_t kBuckets = 512;
  static size_t BucketOf(uint64_t delay_ns);
  // Least delay above `part` of those that were late without doubt; absent: too few.
  std::optional<size_t> LateBucket(double part) const;

  IdleTime time_;
  // Delays from launch call to start: of launches into an idle device; and gaps whose launch call came before them.
  std::array<uint64_t, kBuckets> late_delays_{};
  uint64_t late_count_ = 0;
  std::array<IdleSum, kBuckets> early_kernels_{};
  std::array<IdleSum, kBuckets> early_graphs_{};
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_RUN_GAPS_H_
