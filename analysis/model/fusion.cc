#include "analysis/model/fusion.h"

#include "absl/status/status.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"
#include "analysis/model/element.h"

namespace gx::model {

absl::StatusOr<int64_t> SavedRoundTripBytes(int64_t element_count, int64_t element_bytes) {
  if (absl::Status status = CheckNotNegative("element_count", element_count); !status.ok()) return status;
  if (absl::Status status = CheckElementBytes("element_bytes", element_bytes); !status.ok()) return status;
  return (CheckedCount(2) * element_count * element_bytes).Value("round_trip_bytes");
}

absl::StatusOr<double> TransferLowerBoundSeconds(int64_t bytes, double bandwidth_bytes_per_second) {
  if (absl::Status status = CheckNotNegative("bytes", bytes); !status.ok()) return status;
  if (absl::Status status = CheckPositive("bandwidth_bytes_per_second", bandwidth_bytes_per_second); !status.ok()) {
    return status;
  }
  const double seconds = static_cast<double>(bytes) / bandwidth_bytes_per_second;
  if (absl::Status status = CheckNotNegative("bytes / bandwidth_bytes_per_second", seconds); !status.ok()) {
    return status;
  }
  return seconds;
}

absl::StatusOr<FusedChain> EvaluateFusedChain(const PointwiseChain& chain) {
  if (absl::Status status = CheckPositive("operation_count", chain.operation_count); !status.ok()) return status;
  if (absl::Status status = CheckPositive("element_count", chain.element_count); !status.ok()) return status;
  if (absl::Status status = CheckElementBytes("element_bytes", chain.element_bytes); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("side_input_bytes", chain.side_input_bytes); !status.ok()) {
    return status;
  }
  const CheckedCount pass_bytes = CheckedCount(chain.element_count) * chain.element_bytes;
  const absl::StatusOr<int64_t> passes = (CheckedCount(2) * chain.operation_count).Value("unfused_pass_count");
  if (!passes.ok()) return passes.status();
  const absl::StatusOr<int64_t> unfused = (pass_bytes * *passes + chain.side_input_bytes).Value("unfused_bytes");
  if (!unfused.ok()) return unfused.status();
  FusedChain result;
  result.unfused_pass_count = *passes;
  result.fused_pass_count = 2;
  result.unfused_bytes = *unfused;
  // At least one operation: never more than unfused.
  result.fused_bytes = 2 * chain.element_count * chain.element_bytes + chain.side_input_bytes;
  result.saved_bytes = result.unfused_bytes - result.fused_bytes;
  result.saved_launch_count = chain.operation_count - 1;
  result.unfused_over_fused = static_cast<double>(result.unfused_bytes) / static_cast<double>(result.fused_bytes);
  return result;
}

}  // namespace gx::model
