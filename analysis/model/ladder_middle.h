// The middle of a kernel's time: SMs are active and nothing is at its ceiling. What closure leaves is unexplained at
// once; then synchronisation, latency, queues at a busy resource and imperfect overlap, in this order, each bounded by
// what is left. ns. Any thread; plain arithmetic on checked input (ladder.h checks).
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_MIDDLE_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_MIDDLE_H_

#include <optional>

namespace gx::model {

struct LadderMiddleInput {
  // A and c: c <= A.
  double active_ns = 0;
  double floor_ns = 0;
  // Absent: nothing to compare with, no gap.
  std::optional<double> closure_ns = std::nullopt;
  // E.
  std::optional<double> no_issue_ns = std::nullopt;
  // X, not capped.
  std::optional<double> uncontended_ns = std::nullopt;
  std::optional<double> sync_ratio = std::nullopt;
  std::optional<double> queue_ratio = std::nullopt;
  // Some resource is busy enough to be waited for.
  bool resource_is_busy = false;
};

struct LadderMiddle {
  // Absent: unmeasured, its time is in `unexplained_ns`.
  std::optional<double> sync_ns = std::nullopt;
  std::optional<double> latency_ns = std::nullopt;
  std::optional<double> queue_ns = std::nullopt;
  std::optional<double> overlap_ns = std::nullopt;
  // The gap included.
  double unexplained_ns = 0;
  double gap_ns = 0;
};

LadderMiddle ComputeLadderMiddle(const LadderMiddleInput& input) noexcept;

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_MIDDLE_H_
