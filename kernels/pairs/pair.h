// A defect beside its cure: two cases that do the same work and differ in one thing, and what was expected of the pair
// before anything was measured (README.md). One .cu file each, which defines the pair; pairs.cc lists them.
//
// Every kernel fills a large GPU (132 multiprocessors, 60 MiB of L2) for about 0.1 to 3 ms, writes what it computes
// whatever ran before, and has a name that tells defect from cure.
#ifndef GPUEXEC_KERNELS_PAIRS_PAIR_H_
#define GPUEXEC_KERNELS_PAIRS_PAIR_H_

#include <string_view>
#include <vector>

#include "kernels/kernel_case.h"

namespace gx::kernels {

struct Pair {
  std::string_view name;
  // The one thing in which the two differ.
  std::string_view change;
  const Case* defect;
  const Case* cure;
  // What of a kernel's time differs most between the two: a term ("useful", "algorithm", "uneven", "sync", "latency"),
  // a kind of excess work ("uncoalesced", "conflicts", "spills", "divergence") or a cause of uneven and idle
  // multiprocessors ("tail", "unfilled"). Empty: none, each kernel by itself is well.
  std::string_view term = {};
  // What the report says of the run with the defect: "launch_bound", "fusable_neighbours". Empty: nothing.
  std::string_view run_finding = {};
  // The change whose saving can be predicted from the defect alone: "coalesced", "no_conflicts", "no_spills",
  // "no_divergence", "other_occupancy", "full_last_wave", "filled_device", "loads_in_flight", "barriers_split",
  // "atomics_spread", "fused", "graph". Empty: no prediction.
  std::string_view what_if = {};
};

extern const Pair kStridePair;        // stride.cu
extern const Pair kAosPair;           // aos.cu
extern const Pair kMisalignedPair;    // misaligned.cu
extern const Pair kBankConflictPair;  // bank_conflict.cu
extern const Pair kSpillPair;         // spill.cu
extern const Pair kOccupancyPair;     // occupancy.cu
extern const Pair kTailPair;          // tail.cu
extern const Pair kDivergencePair;    // divergence.cu
extern const Pair kFusionPair;        // fusion.cu
extern const Pair kGemmTilingPair;    // gemm.cu
extern const Pair kGemmTensorPair;    // gemm.cu
extern const Pair kGraphPair;         // graph.cu
extern const Pair kChasePair;         // chase.cu
extern const Pair kBarrierPair;       // barrier.cu
extern const Pair kAtomicsPair;       // atomics.cu
extern const Pair kFp64Pair;          // fp64.cu
extern const Pair kSplitKPair;        // split_k.cu

const std::vector<const Pair*>& AllPairs();

// The cases of all pairs, each once: the cure of one pair may be the defect of the next.
const std::vector<const Case*>& PairCases();

}  // namespace gx::kernels

#endif  // GPUEXEC_KERNELS_PAIRS_PAIR_H_
