// Ladders of a process -> what they say of its time together, and the most valuable of what they ask and find. Pure;
// any thread.
#ifndef GPUEXEC_ANALYSIS_LADDER_RUN_H_
#define GPUEXEC_ANALYSIS_LADDER_RUN_H_

#include "analysis/report_ladder.h"

namespace gx::analysis {

// A row's terms, scaled to the time of all its launches.
void AddToRun(const LadderRow& row, LadderRun* run);

// Fills what_ifs and findings of the section from its rows.
void RankLadders(LadderSection* section);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LADDER_RUN_H_
