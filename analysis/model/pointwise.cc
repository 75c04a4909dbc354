#include "analysis/model/pointwise.h"

#include "absl/status/status.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"
#include "analysis/model/element.h"

namespace gx::model {

absl::StatusOr<PointwiseWork> EvaluatePointwise(const Pointwise& pointwise) {
  if (absl::Status status = CheckPositive("element_count", pointwise.element_count); !status.ok()) return status;
  if (absl::Status status = CheckNotNegative("flops_per_element", pointwise.flops_per_element); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckNotNegative("read_bytes_per_element", pointwise.read_bytes_per_element);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckNotNegative("write_bytes_per_element", pointwise.write_bytes_per_element);
      !status.ok()) {
    return status;
  }
  if (pointwise.read_bytes_per_element == 0 && pointwise.write_bytes_per_element == 0) {
    return absl::InvalidArgumentError(
        "read_bytes_per_element and write_bytes_per_element: got 0 and 0, expected 1 or more together");
  }
  const absl::StatusOr<int64_t> flops =
      CheckedProduct("pointwise_flops", pointwise.element_count, pointwise.flops_per_element);
  if (!flops.ok()) return flops.status();
  const CheckedCount bytes = CheckedCount(pointwise.element_count) *
                             (CheckedCount(pointwise.read_bytes_per_element) + pointwise.write_bytes_per_element);
  const absl::StatusOr<int64_t> total = bytes.Value("pointwise_bytes");
  if (!total.ok()) return total.status();
  PointwiseWork work;
  work.flops = *flops;
  work.read_bytes = pointwise.element_count * pointwise.read_bytes_per_element;
  work.write_bytes = pointwise.element_count * pointwise.write_bytes_per_element;
  work.total_bytes = *total;
  work.flops_per_byte = static_cast<double>(work.flops) / static_cast<double>(work.total_bytes);
  return work;
}

absl::StatusOr<double> PointwiseIntensity(int64_t flops_per_element, int64_t element_bytes) {
  if (absl::Status status = CheckNotNegative("flops_per_element", flops_per_element); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckElementBytes("element_bytes", element_bytes); !status.ok()) return status;
  return static_cast<double>(flops_per_element) / static_cast<double>(2 * element_bytes);
}

}  // namespace gx::model
