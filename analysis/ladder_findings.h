// A ladder -> what it says of the kernel in plain words, one line each, with the figures and what can be done. A line
// stands only where figures back it, and what a change is worth is its what-if's, never a term. ns. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_LADDER_FINDINGS_H_
#define GPUEXEC_ANALYSIS_LADDER_FINDINGS_H_

#include <vector>

#include "analysis/ladder_input.h"
#include "analysis/ladder_what_ifs.h"
#include "analysis/report_ladder.h"

namespace gx::analysis {

struct FindingsInput {
  const LadderFacts& facts;
  const LadderEvidence& evidence;
  const LadderLaunch& launch;
  // Launches of the run.
  double launch_count = 0;
};

// `figures` with ladder, excess, causes, intervals and what-ifs. Most valuable first; those without a prediction last,
// in the order of the ladder.
std::vector<LadderFinding> LadderFindings(const FindingsInput& input, const LadderFigures& figures);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LADDER_FINDINGS_H_
