// Sectors: how many fixed-size pieces of memory one request of a warp touches, and how many of their bytes it asked
// for.
//
// Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" (compute capability 6.0 and later: as many
// 32-byte transactions as cover the addresses of the warp); Nsight Compute Profiling Guide, "Memory Tables" (a sector
// is 32 bytes, a cache line 128 bytes, four sectors). Both are the same count here, with another width.
//
// Sectors are counted once over the whole request. Hardware may serve lanes of 8 or 16 bytes in several passes, since
// together they ask for more than a line of 128 bytes; a sector that two such passes touch is one sector here and may
// be more in a profiler's counter.
//
// Addresses that are no multiple of the lane's width fault on the device (warp_access.h); they are counted as bytes.
//
// It is a count at the boundary of the request. Caches may serve a sector that a neighbouring warp brought: it does not
// say how many bytes of DRAM moved.
//
// Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_SECTORS_H_
#define GPUEXEC_ANALYSIS_MODEL_SECTORS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/model/warp_access.h"

namespace gx::model {

inline constexpr int64_t kSectorBytes = 32;
inline constexpr int64_t kCacheLineBytes = 128;
// Largest piece that is counted; the largest pages of a GPU are smaller.
inline constexpr int64_t kMaxSectorBytes = int64_t{1} << 40;

struct SectorCount {
  int64_t sector_bytes = kSectorBytes;
  int64_t active_lane_count = 0;
  // Active lanes x bytes per lane: what the instruction delivers. A byte that two lanes read counts twice.
  int64_t requested_bytes = 0;
  // The same, every byte once.
  int64_t unique_bytes = 0;
  // Distinct sectors touched.
  int64_t sector_count = 0;

  int64_t transferred_bytes() const { return sector_count * sector_bytes; }
  // requested / transferred bytes. Above 1 where lanes share bytes: a broadcast of one FP32 value delivers 128 bytes
  // from one sector, 4.0. Absent without an active lane.
  std::optional<double> sector_efficiency() const;
  // unique / transferred bytes, never above 1: the share of the moved bytes that anybody asked for.
  std::optional<double> unique_bytes_ratio() const;
};

// sector_bytes: 1 to 2^40; 32 and 128 are the widths of the hardware. Pieces start at multiples of it.
[[nodiscard]] absl::StatusOr<SectorCount> CountSectors(const WarpAccess& access, int64_t sector_bytes = kSectorBytes);

// Sums over requests of one sector width. Requests without an active lane are not issued and not counted.
struct SectorTotals {
  // Of the requests; 0 before the first.
  int64_t sector_bytes = 0;
  int64_t request_count = 0;
  int64_t requested_bytes = 0;
  int64_t unique_bytes = 0;  // unique within each request
  int64_t sector_count = 0;
  int64_t transferred_bytes = 0;

  // An error, and nothing added, where a sum does not fit or the sector width is not that of the requests before.
  [[nodiscard]] absl::Status Add(const SectorCount& request);
  // Absent without a request.
  std::optional<double> sectors_per_request() const;
  std::optional<double> sector_efficiency() const;
  std::optional<double> unique_bytes_ratio() const;
};

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_SECTORS_H_
