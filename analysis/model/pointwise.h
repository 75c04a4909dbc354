// Pointwise maps y[i] = f(x[i], ...): operations, bytes and intensity at one boundary.
//
// Source: NVIDIA GPU Performance Background User's Guide ("Elementwise Operations"); Williams, Waterman, Patterson
// 2009. Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_POINTWISE_H_
#define GPUEXEC_ANALYSIS_MODEL_POINTWISE_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace gx::model {

struct Pointwise {
  int64_t element_count = 1;      // 1 or more
  int64_t flops_per_element = 1;  // useful operations, 0 or above
  // Bytes of one element over all inputs and over all outputs: 2 and 2 for a BF16 map of one tensor into another, 8 and
  // 4 for the sum of two FP32 tensors. 0 is allowed for one of them (a fill, a reduction), not for both.
  int64_t read_bytes_per_element = 2;
  int64_t write_bytes_per_element = 2;
};

struct PointwiseWork {
  int64_t flops = 0;
  int64_t read_bytes = 0;
  int64_t write_bytes = 0;
  int64_t total_bytes = 0;
  double flops_per_byte = 0;
};
[[nodiscard]] absl::StatusOr<PointwiseWork> EvaluatePointwise(const Pointwise& pointwise);

// One input read and one output written of element_bytes each (1 to 16): flops_per_element / (2 element_bytes).
[[nodiscard]] absl::StatusOr<double> PointwiseIntensity(int64_t flops_per_element, int64_t element_bytes);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_POINTWISE_H_
