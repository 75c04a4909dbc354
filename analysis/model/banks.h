// Shared-memory banks: how often the 32 banks have to be read for one request of a warp.
//
// Source: CUDA Programming Guide, "Shared Memory" of compute capability 5.x and later (32 banks, successive 32-bit
// words in successive banks; lanes that touch the same word do not conflict: it is broadcast, or one of the writes
// wins); NVIDIA developer forum, answers by NVIDIA on wide accesses: the data path returns 128 bytes a cycle, so that
//   - lanes of 1, 2 and 4 bytes are served in 1 pass of 32 lanes,
//   - lanes of 8 bytes in 2 passes (lanes 0-15, 16-31),
//   - lanes of 16 bytes in 4 passes (lanes 0-7, 8-15, 16-23, 24-31),
// and lanes conflict only with lanes of their own pass (NVIDIA/cutlass discussion 328 says the same of half and quarter
// warps). A pass takes as many wavefronts as the fullest bank has distinct words; a pass without an active lane takes
// none.
//
// Uniform pairs (forum topic 77228, NVIDIA): a load of 8 or 16 bytes in which every active lane n reads the address of
// lane n^1 (or, all of them, that of n^2) needs half the passes. It is documented for compute capability 7.0 to 7.5
// only, and therefore off unless asked for.
//
// Any thread. Nothing allocates where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_BANKS_H_
#define GPUEXEC_ANALYSIS_MODEL_BANKS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "analysis/model/warp_access.h"

namespace gx::model {

inline constexpr int64_t kBankCount = 32;
inline constexpr int64_t kBankBytes = 4;
// Widest access of one lane to shared memory (ld.shared.v4.b32).
inline constexpr int64_t kMaxSharedBytesPerLane = 16;

struct BankRules {
  // Loads only; see "Uniform pairs" above.
  bool uniform_pairs_share_a_pass = false;
};

struct BankCount {
  int64_t active_lane_count = 0;
  // Passes that have an active lane.
  int64_t pass_count = 0;
  // The n of an "n-way conflict": most distinct words in one bank in any pass. 1: conflict-free. 0: no active lane.
  int64_t conflict_degree = 0;
  // Over all passes.
  int64_t wavefront_count = 0;
  // What the same lanes would take without conflicts: one a pass. For a full warp it is also requested bytes / 128,
  // rounded up, unless uniform pairs share a pass.
  int64_t ideal_wavefront_count = 0;

  int64_t excess_wavefront_count() const { return wavefront_count - ideal_wavefront_count; }
};

// bytes_per_lane: 1, 2, 4, 8 or 16; every active lane's address a multiple of it (anything else faults on the device).
[[nodiscard]] absl::StatusOr<BankCount> CountBanks(const WarpAccess& access, const BankRules& rules = {});

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_BANKS_H_
