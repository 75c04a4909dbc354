#include "analysis/model/warp_access.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"

namespace gx::model {

bool WarpAccess::is_naturally_aligned() const {
  if (bytes_per_lane <= 0 || !std::has_single_bit(static_cast<uint64_t>(bytes_per_lane))) return false;
  for (int64_t lane = 0; lane < kWarpLanes; ++lane) {
    if (active(lane) && lane_address_bytes[static_cast<size_t>(lane)] % bytes_per_lane != 0) return false;
  }
  return true;
}

absl::Status CheckWarpAccess(const WarpAccess& access) {
  if (absl::Status status = CheckRange("bytes_per_lane", access.bytes_per_lane, 1, kMaxBytesPerLane); !status.ok()) {
    return status;
  }
  const int64_t max_address = std::numeric_limits<int64_t>::max() - (access.bytes_per_lane - 1);
  for (int64_t lane = 0; lane < kWarpLanes; ++lane) {
    const int64_t address = access.lane_address_bytes[static_cast<size_t>(lane)];
    if (!access.active(lane) || (address >= 0 && address <= max_address)) continue;
    return CheckRange(absl::StrCat("lane_address_bytes[", lane, "]"), address, 0, max_address);
  }
  return absl::OkStatus();
}

absl::StatusOr<WarpAccess> StridedAccess(const LaneStride& lanes) {
  if (absl::Status status = CheckRange("element_bytes", lanes.element_bytes, 1, kMaxBytesPerLane); !status.ok()) {
    return status;
  }
  if (absl::Status status =
          CheckRange("elements_per_lane", lanes.elements_per_lane, 1, kMaxBytesPerLane / lanes.element_bytes);
      !status.ok()) {
    return status;
  }
  WarpAccess access;
  access.active_mask = lanes.active_mask;
  access.bytes_per_lane = lanes.element_bytes * lanes.elements_per_lane;
  for (int64_t lane = 0; lane < kWarpLanes; ++lane) {
    if (!access.active(lane)) continue;
    const CheckedCount exact =
        CheckedCount(lanes.base_bytes) + CheckedCount(lane) * lanes.stride_elements * lanes.element_bytes;
    absl::StatusOr<int64_t> address = exact.Value("lane_address_bytes");
    if (!address.ok()) return address.status();
    access.lane_address_bytes[static_cast<size_t>(lane)] = *address;
  }
  if (absl::Status status = CheckWarpAccess(access); !status.ok()) return status;
  return access;
}

absl::StatusOr<WarpAccess> ListedAccess(absl::Span<const int64_t> lane_address_bytes, int64_t bytes_per_lane) {
  const int64_t lane_count = static_cast<int64_t>(lane_address_bytes.size());
  if (absl::Status status = CheckRange("lane_address_bytes", lane_count, 0, kWarpLanes, "addresses"); !status.ok()) {
    return status;
  }
  WarpAccess access;
  access.bytes_per_lane = bytes_per_lane;
  // A shift by 32 would be undefined.
  access.active_mask = lane_count == kWarpLanes ? kAllLanes : (1U << lane_count) - 1;
  std::copy(lane_address_bytes.begin(), lane_address_bytes.end(), access.lane_address_bytes.begin());
  if (absl::Status status = CheckWarpAccess(access); !status.ok()) return status;
  return access;
}

}  // namespace gx::model
