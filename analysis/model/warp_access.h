// One memory request of one warp: the byte address of each of its 32 lanes, and which of them take part. What the
// sector count (sectors.h) and the bank count (banks.h) are made from.
//
// Source: CUDA Programming Guide, "SIMT Architecture" (32 lanes, inactive lanes are masked) and "Device Memory
// Accesses" (a request is made by a warp, of words of 1, 2, 4, 8 or 16 bytes a lane; PTX ISA 8.8 adds 32 bytes for
// global memory on compute capability 10.0 and later; an address that is no multiple of that width is undefined in PTX,
// "ld", and a fault on devices, cudaErrorMisalignedAddress). Addresses are arithmetic here, whatever they are:
// is_naturally_aligned() says whether a device would serve the access at all.
//
// Any thread. Nothing allocates where nothing is wrong.
//
//   // 32 lanes load neighbouring FP32 values, 4 bytes past a sector's start.
//   const auto access = StridedAccess({.base_bytes = 4, .element_bytes = 4});
#ifndef GPUEXEC_ANALYSIS_MODEL_WARP_ACCESS_H_
#define GPUEXEC_ANALYSIS_MODEL_WARP_ACCESS_H_

#include <array>
#include <bit>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace gx::model {

inline constexpr int64_t kWarpLanes = 32;
inline constexpr uint32_t kAllLanes = 0xffffffffU;
// Widest load of one lane: ld.global.v8.b32 (PTX ISA 8.8, sm_100 and later).
inline constexpr int64_t kMaxBytesPerLane = 32;

struct WarpAccess {
  // Offsets from any origin, 0 or above; only those of active lanes matter.
  std::array<int64_t, kWarpLanes> lane_address_bytes{};
  // Lane i takes part where bit i is set.
  uint32_t active_mask = kAllLanes;
  // The same for all lanes, 1 to 32; a width that is no power of two is looked at as if it were one access.
  int64_t bytes_per_lane = 4;

  int64_t active_lane_count() const { return std::popcount(active_mask); }
  bool active(int64_t lane) const { return ((active_mask >> lane) & 1U) != 0; }
  // A width that one access has (a power of two), and every active lane's address a multiple of it.
  bool is_naturally_aligned() const;
};

// bytes_per_lane 1 to 32; every active lane's first byte 0 or above and its last byte within 63 bits.
[[nodiscard]] absl::Status CheckWarpAccess(const WarpAccess& access);

// Lane i starts at base_bytes + i * stride_elements * element_bytes.
struct LaneStride {
  // Where lane 0 starts: what it is beyond a multiple of 32 or 128 is the misalignment to sectors or lines. One that is
  // no multiple of a lane's width faults on the device.
  int64_t base_bytes = 0;
  int64_t element_bytes = 4;
  // A vector load: 4 for float4. A lane's width is element_bytes * elements_per_lane, 1 to 32.
  int64_t elements_per_lane = 1;
  // Between neighbouring lanes. 0: all lanes read the same address. Negative: downwards; the base must leave room.
  int64_t stride_elements = 1;
  uint32_t active_mask = kAllLanes;
};
[[nodiscard]] absl::StatusOr<WarpAccess> StridedAccess(const LaneStride& lanes);

// 0 to 32 addresses, lane 0's first; lanes without one are inactive.
[[nodiscard]] absl::StatusOr<WarpAccess> ListedAccess(absl::Span<const int64_t> lane_address_bytes,
                                                      int64_t bytes_per_lane);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_WARP_ACCESS_H_
