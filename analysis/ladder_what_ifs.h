// The changes that are asked about a launch, where its counters say that there is something to change, each recomputed
// (analysis/model/ladder_changes.h). What is possible in the code nobody here knows: a what-if is a figure, no promise.
//
// ns. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_LADDER_WHAT_IFS_H_
#define GPUEXEC_ANALYSIS_LADDER_WHAT_IFS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/ladder_input.h"
#include "analysis/model/ladder.h"
#include "analysis/report.h"

namespace gx::analysis {

// "loads_in_flight": so many independent loads where there is one now.
inline constexpr double kLoadsInFlight = 8;

// What the changes need to know of the launch. Absent: not known, and what needs it is not asked.
struct LadderLaunch {
  std::optional<uint64_t> block_count;
  std::optional<uint64_t> sm_count;
  LaunchConfiguration configuration;
  // Blocks an SM holds with what it spills in registers (as many more as the local bytes are, up to the most).
  std::optional<uint64_t> blocks_per_sm_without_spills;
};

// Most time saved over `launch_count` launches first; those without a prediction last.
std::vector<LadderWhatIf> LadderWhatIfs(const LadderEvidence& evidence, const model::Ladder& ladder,
                                        const LadderLaunch& launch, double launch_count);

// Most saved first, those without a prediction last; as they were where equal.
void SortWhatIfs(std::vector<LadderWhatIf>* what_ifs);

// Of a row's what-ifs; null: was not asked.
const LadderWhatIf* FindWhatIf(const std::vector<LadderWhatIf>& what_ifs, absl::string_view change);

// "registers of at most 40 a thread and shared memory of at most 25 KiB a block"; empty: not possible.
std::string OneMoreBlockText(const OneMoreBlock& step);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LADDER_WHAT_IFS_H_
