#include "analysis/model/ladder_middle.h"

#include <algorithm>
#include <cmath>

namespace gx::model {

LadderMiddle ComputeLadderMiddle(const LadderMiddleInput& input) noexcept {
  LadderMiddle middle;
  const double middle_ns = std::max(0.0, input.active_ns - input.floor_ns);
  middle.gap_ns = std::min(middle_ns, std::max(0.0, input.closure_ns.value_or(0)));
  const double closed_ns = middle_ns - middle.gap_ns;

  if (input.sync_ratio.has_value() && input.no_issue_ns.has_value()) {
    middle.sync_ns = std::min(closed_ns, *input.no_issue_ns) * *input.sync_ratio;
  }
  // Capped: a warp alone cannot need more than there was.
  std::optional<double> alone_ns;
  if (input.uncontended_ns.has_value()) alone_ns = std::min(*input.uncontended_ns, input.active_ns);
  if (input.sync_ratio.has_value() && alone_ns.has_value()) {
    // Without the cycles, synchronisation may have taken its share of all that is left.
    const double sync_ns = middle.sync_ns.value_or(closed_ns * *input.sync_ratio);
    middle.latency_ns = std::min(std::max(0.0, *alone_ns - input.floor_ns) * (1 - *input.sync_ratio),
                                 std::max(0.0, closed_ns - sync_ns));
  }
  double left_ns = std::max(0.0, closed_ns - middle.sync_ns.value_or(0) - middle.latency_ns.value_or(0));

  if (input.queue_ratio.has_value() && input.sync_ratio.has_value() && input.no_issue_ns.has_value()) {
    double queue_ns = 0;
    // All no-issue cycles are of synchronisation where its share is 1.
    if (input.resource_is_busy && *input.sync_ratio < 1) {
      const double share = *input.queue_ratio / (1 - *input.sync_ratio);
      queue_ns = std::min(left_ns, std::min(left_ns, *input.no_issue_ns) * share);
    }
    middle.queue_ns = queue_ns;
    left_ns -= queue_ns;
  }
  if (alone_ns.has_value()) {
    // Two phases overlap between fully (the longer one) and as independent ones do; never worse than that here.
    const double overlap_ns = std::hypot(input.floor_ns, *alone_ns) - std::max(input.floor_ns, *alone_ns);
    middle.overlap_ns = std::max(0.0, std::min(left_ns, overlap_ns));
    left_ns -= *middle.overlap_ns;
  }
  middle.unexplained_ns = left_ns + middle.gap_ns;
  return middle;
}

}  // namespace gx::model
