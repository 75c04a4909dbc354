#include "analysis/model/sectors.h"

#include <algorithm>
#include <array>
#include <bit>

#include "analysis/model/check.h"
#include "analysis/model/checked_count.h"
#include "analysis/model/quotient.h"

namespace gx::model {

std::optional<double> SectorCount::sector_efficiency() const { return Quotient(requested_bytes, transferred_bytes()); }

std::optional<double> SectorCount::unique_bytes_ratio() const { return Quotient(unique_bytes, transferred_bytes()); }

absl::StatusOr<SectorCount> CountSectors(const WarpAccess& access, int64_t sector_bytes) {
  if (absl::Status status = CheckRange("sector_bytes", sector_bytes, 1, kMaxSectorBytes); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckWarpAccess(access); !status.ok()) return status;

  std::array<int64_t, kWarpLanes> first_bytes;  // of active lanes
  size_t count = 0;
  for (int64_t lane = 0; lane < kWarpLanes; ++lane) {
    if (access.active(lane)) first_bytes[count++] = access.lane_address_bytes[static_cast<size_t>(lane)];
  }
  // Most accesses ascend already, and finding that out costs less than sorting them.
  const auto end = first_bytes.begin() + static_cast<std::ptrdiff_t>(count);
  if (!std::is_sorted(first_bytes.begin(), end)) std::sort(first_bytes.begin(), end);

  SectorCount result;
  result.sector_bytes = sector_bytes;
  result.active_lane_count = static_cast<int64_t>(count);
  result.requested_bytes = result.active_lane_count * access.bytes_per_lane;
  // The widths of the hardware are powers of two; a division by a number known only here costs more than all the rest.
  const bool is_power_of_two = std::has_single_bit(static_cast<uint64_t>(sector_bytes));
  const int shift = std::countr_zero(static_cast<uint64_t>(sector_bytes));
  const auto sector_of = [=](int64_t byte) { return is_power_of_two ? byte >> shift : byte / sector_bytes; };
  // Intervals of one width, by their start, end in the same order: each adds what lies past the last one's end.
  int64_t last_byte = -1;
  int64_t last_sector = -1;
  for (auto first = first_bytes.begin(); first != end; ++first) {
    const int64_t lane_last_byte = *first + (access.bytes_per_lane - 1);
    result.unique_bytes += lane_last_byte - std::max(*first - 1, last_byte);
    last_byte = lane_last_byte;
    const int64_t lane_last_sector = sector_of(lane_last_byte);
    result.sector_count += lane_last_sector - std::max(sector_of(*first) - 1, last_sector);
    last_sector = lane_last_sector;
  }
  return result;
}

absl::Status SectorTotals::Add(const SectorCount& request) {
  if (request.active_lane_count == 0) return absl::OkStatus();
  if (sector_bytes != 0) {
    if (absl::Status status =
            CheckRange("sector_bytes", request.sector_bytes, sector_bytes, sector_bytes, "as the requests before");
        !status.ok()) {
      return status;
    }
  }
  absl::StatusOr<int64_t> requests = (CheckedCount(request_count) + 1).Value("request_count");
  if (!requests.ok()) return requests.status();
  absl::StatusOr<int64_t> requested =
      (CheckedCount(requested_bytes) + request.requested_bytes).Value("requested_bytes");
  if (!requested.ok()) return requested.status();
  absl::StatusOr<int64_t> transferred =
      (CheckedCount(transferred_bytes) + CheckedCount(request.sector_count) * request.sector_bytes)
          .Value("transferred_bytes");
  if (!transferred.ok()) return transferred.status();
  sector_bytes = request.sector_bytes;
  request_count = *requests;
  requested_bytes = *requested;
  transferred_bytes = *transferred;
  // Never above the sums that were checked.
  unique_bytes += request.unique_bytes;
  sector_count += request.sector_count;
  return absl::OkStatus();
}

std::optional<double> SectorTotals::sectors_per_request() const { return Quotient(sector_count, request_count); }
std::optional<double> SectorTotals::sector_efficiency() const { return Quotient(requested_bytes, transferred_bytes); }
std::optional<double> SectorTotals::unique_bytes_ratio() const { return Quotient(unique_bytes, transferred_bytes); }

}  // namespace gx::model
