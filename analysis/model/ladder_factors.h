// Work that a kernel did and need not have: what would be counted without one or several of five defects, everything
// else as measured. The factors change counts; the ladder turns them into durations (useful_ns of a resource is its
// work_ns times useful over counted) and shares the excess between them (ExcessOf).
//
//   uncoalesced    lanes' bytes fill only part of the 32-byte sectors that their requests touch. Loads and stores of
//   the
//                  load/store unit only: bulk copies (TMA) have no lanes.
//   conflicts      shared memory takes more wavefronts than instructions and bytes need
//   spills         loads and stores of local memory: issue, load/store unit, L1, and their part of L2 and DRAM. L1
//   writes
//                  through: all that is stored reaches L2 (on an H200, 246,005,760 sectors of local stores made
//                  246,174,688 written sectors of L2, 168,960 of them global)
//   divergence     instructions issued for fewer than 32 lanes: issue and arithmetic pipes
//   write-back     DRAM is written more than the kernel stores
//
// A count without the factor is never above the counted one, and removing more factors never makes it larger. Counts
// are those of patched code (smsp__sass_*) and of the hardware, per launch, 0 or more. Any thread; nothing allocates
// where nothing is wrong.
#ifndef GPUEXEC_ANALYSIS_MODEL_LADDER_FACTORS_H_
#define GPUEXEC_ANALYSIS_MODEL_LADDER_FACTORS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/model/ladder_resource.h"
#include "analysis/model/shapley.h"

namespace gx::model {

enum class ExcessFactor : uint8_t { kUncoalesced, kConflicts, kSpills, kDivergence, kWriteBack };
inline constexpr size_t kExcessFactorCount = 5;
static_assert(kExcessFactorCount <= kMaxShapleyFactors);

// "uncoalesced", "bank conflicts", "spills", "divergence", "write-back excess".
absl::string_view ExcessFactorName(ExcessFactor factor) noexcept;

class FactorSet {
 public:
  constexpr FactorSet() = default;
  static constexpr FactorSet All() noexcept { return FactorSet((1U << kExcessFactorCount) - 1); }
  static constexpr FactorSet Of(ExcessFactor factor) noexcept { return FactorSet(1U << static_cast<uint32_t>(factor)); }
  constexpr bool Contains(ExcessFactor factor) const noexcept { return (bits_ & Of(factor).bits_) != 0; }
  constexpr FactorSet With(ExcessFactor factor) const noexcept { return FactorSet(bits_ | Of(factor).bits_); }
  constexpr bool empty() const noexcept { return bits_ == 0; }

 private:
  constexpr explicit FactorSet(uint32_t bits) noexcept : bits_(bits) {}
  uint32_t bits_ = 0;
};

// What the hardware counted.
struct CountedWork {
  double dram_read_bytes = 0;
  double dram_write_bytes = 0;
  double l2_sectors = 0;  // lts__t_sectors
  // Of them, what SMs asked for or wrote (lts__t_sectors_srcunit_tex). 0: not counted, all of them then.
  double l2_sm_sectors = 0;
  // And what they wrote.
  double l2_written_sectors = 0;
  double l1_wavefronts = 0;  // l1tex__data_pipe_lsu_wavefronts
  double instructions = 0;   // smsp__inst_executed
  double lsu_instructions = 0;
};

// What patched code counted, and what else the factors need.
struct RequestedWork {
  // Global loads and stores of lanes, without bulk copies: bytes asked for, and sectors that they lie in.
  double global_data_bytes = 0;
  double global_sectors = 0;
  double global_instructions = 0;
  // Of the sectors, those of stores.
  double global_store_sectors = 0;
  // Bytes that loads of any kind ask for: global, local, asynchronous and bulk copies. DRAM need not read more.
  double requested_read_bytes = 0;
  // Bytes stored, of any kind. DRAM need not be written more.
  double stored_bytes = 0;
  // L2 sectors that no coalescing can save: of bulk copies.
  double l2_fixed_sectors = 0;
  // Wavefronts of shared memory among l1_wavefronts, its instructions and bytes.
  double shared_wavefronts = 0;
  double shared_instructions = 0;
  double shared_data_bytes = 0;
  // Loads and stores of local memory.
  double local_instructions = 0;
  double local_sectors = 0;
  // Of them, those of stores.
  double local_store_sectors = 0;
  // Share of loaded local sectors that miss L1 and go on to L2: 0 to 1. The L1's own miss rate; its interval is all of
  // it.
  double local_miss_ratio = 0;
  // Instructions of patched code, of warps and of threads: threads / (32 x warps) is the share of lanes that work.
  double warp_instructions = 0;
  double thread_instructions = 0;
};

// Useful over counted work, each 0 to 1.
struct UsefulRatios {
  double dram = 1;
  // Whatever carries sectors from L2: lookup, data out, fabric, port of the SM.
  double l2 = 1;
  // What carries them to it.
  double l2_in = 1;
  double l1 = 1;
  double issue = 1;
  double lsu = 1;
  // Arithmetic pipes (alu, fma, xu, fp64). Tensor work is its operations, whatever else is removed.
  double arithmetic = 1;
};

[[nodiscard]] absl::Status CheckWork(const CountedWork& counted, const RequestedWork& requested);

// Whether so much may be written to DRAM for a launch's own stores: each byte makes at most its sector of 32 bytes
// dirty. More than that was left in L2 by launches before.
inline bool WriteBackMayBeOwn(double dram_write_bytes, double stored_bytes) noexcept {
  return dram_write_bytes <= 32 * stored_bytes;
}

// Counts without the factors of the set. The input is taken as checked.
CountedWork WorkWithout(const CountedWork& counted, const RequestedWork& requested, FactorSet removed) noexcept;
UsefulRatios RatiosWithout(const CountedWork& counted, const RequestedWork& requested, FactorSet removed) noexcept;

// What is left of a resource's work; 1 for kinds that no factor changes (atomics, tensor).
double RatioOf(const UsefulRatios& ratios, ResourceKind kind) noexcept;
// And for a resource that counts useful work alone.
double RatioOf(const UsefulRatios& ratios, const LadderResource& resource) noexcept;
// The resources as they would be: work and busiest times the ratio, useful at most the work.
LadderResources ResourcesWithout(const LadderResources& resources, const UsefulRatios& ratios);
// Sets useful_ns of every resource to what is left without any of the factors.
void SetUseful(const UsefulRatios& without_all, LadderResources* resources);

// The excess of R2 over R1, shared between the factors that are there.
struct ExcessShare {
  ExcessFactor factor = ExcessFactor::kUncoalesced;
  // Shapley value; all of them sum to the excess.
  double ns = 0;
  // Removed alone.
  double solo_ns = 0;
};
struct Excess {
  double ns = 0;
  absl::InlinedVector<ExcessShare, kExcessFactorCount> shares;
};
// A factor that changes no resource's work, alone or with others, is left out; one that changes only work that does not
// bind is in it with 0. `resources` are as counted.
[[nodiscard]] absl::StatusOr<Excess> ExcessOf(absl::Span<const LadderResource> resources, const CountedWork& counted,
                                              const RequestedWork& requested);

}  // namespace gx::model

#endif  // GPUEXEC_ANALYSIS_MODEL_LADDER_FACTORS_H_
