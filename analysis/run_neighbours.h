// Kernels that follow each other in a stream, of which the second likely reads what the first wrote. Addresses are not
// recorded, so the evidence is: the second loads as many bytes as the first stores (or a small multiple: it has further
// inputs), it uses no shared memory and no tensor cores, as elementwise kernels do, and DRAM bounds it.
//
// What fusing them would take is predicted from that alone: the kernels' times, less what the bytes that are handed
// over cost them. An elementwise kernel does little but move bytes, so a byte costs it what its bytes took on average,
// its own rate; whatever held it below the rate that DRAM sustains holds one pass as well. A first kernel of another
// kind (a product, a reduction) may hide its stores behind other work: they cost no more than at the rate that DRAM
// sustains, and nothing where DRAM does not bound it. Launch and drain are paid once. One pass takes no less than the
// longest of them. That each reads what the one before wrote, and that nothing else needs it, is assumed. Pure; any
// thread.
#ifndef GPUEXEC_ANALYSIS_RUN_NEIGHBOURS_H_
#define GPUEXEC_ANALYSIS_RUN_NEIGHBOURS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "analysis/report_run.h"
#include "gpuexec/v1/machine.pb.h"

namespace gx::analysis {

// How far the bytes that are loaded may be from a multiple of those stored, and the largest multiple.
inline constexpr double kSameBytesRatio = 0.01;
inline constexpr uint64_t kMostInputs = 3;
// Of the DRAM rate that the machine sustains: from here on DRAM bounds the second kernel. A convention.
inline constexpr double kDramBoundRatio = 0.5;
// Fewer, or fewer than half of the launches of either, do not follow each other as a rule.
inline constexpr uint64_t kMinPairs = 20;
inline constexpr double kPairedRatio = 0.5;
// A kernel that nearly all of the time follows itself is run in a loop: nothing says that one launch reads what the one
// before wrote.
inline constexpr double kLoopRatio = 0.9;
// Of launches after the first and before the second: from here on a pair comes always, and goes on as a chain.
inline constexpr double kChainedRatio = 0.99;
// Kernels of one chain.
inline constexpr size_t kMaxChain = 8;

// Bytes are of one launch; absent: not counted; what is no count (count_bound.h) is taken as absent.
struct NeighbourKernel {
  std::string name;
  std::string grid;
  uint64_t device_id = 0;
  uint64_t kernel_count = 0;
  // Mean of a launch.
  double time_ns = 0;
  std::optional<double> stored_bytes;
  std::optional<double> loaded_bytes;
  std::optional<double> dram_read_bytes;
  std::optional<double> dram_write_bytes;
  // Of an empty kernel of this shape. Absent: not known.
  std::optional<double> launch_ns;
  // Neither shared memory nor tensor cores.
  bool is_elementwise = false;
  // Null: none matches the device.
  const gpuexec::v1::MachineFile* machine = nullptr;
};

struct NeighbourCount {
  uint32_t producer = 0;
  uint32_t consumer = 0;
  uint64_t count = 0;
};

struct FusedMember {
  double time_ns = 0;
  // Included in the time.
  double launch_ns = 0;
  // Of it; and what of them is handed over to or from another member. The former is above 0 where the latter is.
  double dram_bytes = 0;
  double removed_bytes = 0;
  bool is_elementwise = false;
  // Of the DRAM rate that the machine sustains.
  double dram_ratio = 0;
};
// One pass in place of them: from the longest of their times to the sum of all.
double FusedTimeNs(absl::Span<const FusedMember> members);

struct FusableNeighbours {
  // Most time saved first, then most bytes.
  std::vector<FusablePair> pairs;
  // Each pair is in one of them.
  std::vector<FusableChain> chains;
  // Of neighbouring launches; absent: there are none.
  std::optional<double> unjudged_ratio;
};

// By signature; a pair that closes a cycle of pairs is the end of a loop and left out. Neighbours of which one is not
// in `kernels` are not judged.
FusableNeighbours FindFusable(const std::map<uint32_t, NeighbourKernel>& kernels,
                              absl::Span<const NeighbourCount> neighbours);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_RUN_NEIGHBOURS_H_
