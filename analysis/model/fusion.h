// Fusion: the round trip of an intermediate that two kernels hand over through memory and one fused kernel keeps on
// chip.
//
// Source: NVIDIA GPU Performance Background User's Guide (memory-bound operations); Williams, Waterman, Patterson 2009
// (bytes / bandwidth is a lower bound of time). Bytes that leave the chip no more are certain; that time falls by as
// much is not: caches may have served the round trip, and the fused kernel may spill, hold fewer blocks or repeat work.
//
// Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_FUSION_H_
#define GPUEXEC_ANALYSIS_MODEL_FUSION_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace gx::model {

// One write and one read of the intermediate: 2 x elements x bytes. element_count 0 or above, element_bytes 1 to 16.
[[nodiscard]] absl::StatusOr<int64_t> SavedRoundTripBytes(int64_t element_count, int64_t element_bytes);

// bytes / bandwidth: what moving them takes at least. bytes 0 or above, bandwidth above 0; a time beyond the range of a
// double is refused.
[[nodiscard]] absl::StatusOr<double> TransferLowerBoundSeconds(int64_t bytes, double bandwidth_bytes_per_second);

// A chain of pointwise operations, each reading the result of the one before.
struct PointwiseChain {
  int64_t operation_count = 1;  // 1 or more
  int64_t element_count = 1;    // 1 or more
  int64_t element_bytes = 2;    // 1 to 16
  // Read besides the chain's own values by all operations together (weights, a second operand): the same fused or not.
  int64_t side_input_bytes = 0;
};

struct FusedChain {
  int64_t unfused_pass_count = 0;  // 2 an operation
  int64_t fused_pass_count = 0;    // 2
  int64_t unfused_bytes = 0;
  int64_t fused_bytes = 0;
  int64_t saved_bytes = 0;
  int64_t saved_launch_count = 0;
  double unfused_over_fused = 0;  // of bytes; the number of operations where there are no side inputs
};
[[nodiscard]] absl::StatusOr<FusedChain> EvaluateFusedChain(const PointwiseChain& chain);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_FUSION_H_
