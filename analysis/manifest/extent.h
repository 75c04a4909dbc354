// Sizes of grids, blocks and clusters. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_EXTENT_H_
#define GPUEXEC_ANALYSIS_MANIFEST_EXTENT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/model/check.h"
#include "analysis/model/waves.h"
#include "gpuexec/v1/manifest.pb.h"

namespace gx::analysis {

// A side that is not stated is 1.
inline model::GridDimensions DimensionsOf(const gpuexec::v1::Extent& extent) {
  return {extent.has_x() ? extent.x() : 1, extent.has_y() ? extent.y() : 1, extent.has_z() ? extent.z() : 1};
}

// x * y * z, each 1 or more.
inline absl::StatusOr<int64_t> ExtentVolume(absl::string_view quantity, const gpuexec::v1::Extent& extent) {
  const model::GridDimensions size = DimensionsOf(extent);
  for (const int64_t side : {size.x, size.y, size.z}) {
    if (absl::Status status = model::CheckPositive(quantity, side); !status.ok()) return status;
  }
  const absl::StatusOr<int64_t> plane = model::CheckedProduct(quantity, size.x, size.y);
  return plane.ok() ? model::CheckedProduct(quantity, *plane, size.z) : plane;
}

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_EXTENT_H_
