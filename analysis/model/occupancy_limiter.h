// What can limit how many blocks are resident on a multiprocessor (SM), and which of it does. Plain values; nothing
// allocates but ToString. Any thread.
//
//   BlockLimits limits;
//   limits[OccupancyLimiter::kRegisters] = 4;
//   limits[OccupancyLimiter::kWarps] = 8;
//   LimitSummary summary = SummariseLimits(limits);  // 4 blocks; {registers}; next limit 8: {warps}
#ifndef GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_LIMITER_H_
#define GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_LIMITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace gx::model {

// Sources: the CUDA Programming Guide's table of technical specifications (blocks, threads, warps, registers, shared
// memory per SM); cuda_occupancy.h of CUDA 13.0, cudaOccLimitingFactor (barriers, virtual resources).
enum class OccupancyLimiter : uint8_t {
  kBlocks,            // block slots of an SM
  kThreads,           // thread slots of an SM (first-order model only: the exact one counts warps)
  kWarps,             // warp slots of an SM
  kRegisters,         // register file
  kSharedMemory,      // shared memory, within the carve-out in use
  kBarriers,          // named block barriers
  kVirtualResources,  // compute capability 10 and above
};

inline constexpr size_t kOccupancyLimiterCount = 7;
inline constexpr std::array<OccupancyLimiter, kOccupancyLimiterCount> kOccupancyLimiters = {
    OccupancyLimiter::kBlocks,          OccupancyLimiter::kThreads,      OccupancyLimiter::kWarps,
    OccupancyLimiter::kRegisters,       OccupancyLimiter::kSharedMemory, OccupancyLimiter::kBarriers,
    OccupancyLimiter::kVirtualResources};

// "shared_memory".
[[nodiscard]] absl::string_view ToString(OccupancyLimiter limiter);

// A set of limiters. Ties are common, so a result names all of them.
class LimiterSet {
 public:
  constexpr LimiterSet() = default;
  constexpr LimiterSet(std::initializer_list<OccupancyLimiter> limiters) {
    for (const OccupancyLimiter limiter : limiters) Add(limiter);
  }

  constexpr void Add(OccupancyLimiter limiter) { bits_ = static_cast<uint8_t>(bits_ | Bit(limiter)); }
  [[nodiscard]] constexpr bool Has(OccupancyLimiter limiter) const { return (bits_ & Bit(limiter)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  // "registers + shared_memory", in the order of the enum; "none".
  [[nodiscard]] std::string ToString() const;

  friend constexpr bool operator==(LimiterSet, LimiterSet) = default;

 private:
  static constexpr uint8_t Bit(OccupancyLimiter limiter) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(limiter));
  }

  uint8_t bits_ = 0;
};

// How many blocks each resource has room for on one SM. Absent: the resource does not limit (none of it is used), or
// the model does not know that it does.
class BlockLimits {
 public:
  constexpr std::optional<int64_t>& operator[](OccupancyLimiter limiter) {
    return blocks_[static_cast<size_t>(limiter)];
  }
  constexpr const std::optional<int64_t>& operator[](OccupancyLimiter limiter) const {
    return blocks_[static_cast<size_t>(limiter)];
  }

  friend constexpr bool operator==(const BlockLimits&, const BlockLimits&) = default;

 private:
  std::array<std::optional<int64_t>, kOccupancyLimiterCount> blocks_;
};

struct LimitSummary {
  // The smallest limit; 0 where none is known.
  int64_t blocks_count = 0;
  // Every resource whose limit it is.
  LimiterSet limiters;
  // The smallest limit above it, and whose it is: what would bind after all `limiters` are out of the way. Absent where
  // there is no other.
  std::optional<int64_t> next_blocks_count;
  LimiterSet next_limiters;
};

[[nodiscard]] LimitSummary SummariseLimits(const BlockLimits& limits);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_OCCUPANCY_LIMITER_H_
