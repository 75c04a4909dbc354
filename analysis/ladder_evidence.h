// Which counted figures each term of a ladder stands on: what ladder_explain.h names, with the samples that there are.
// Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_LADDER_EVIDENCE_H_
#define GPUEXEC_ANALYSIS_LADDER_EVIDENCE_H_

#include <array>
#include <vector>

#include "analysis/ladder_input.h"
#include "analysis/report_ladder.h"

namespace gx::analysis {

// Of ladder.terms, in their order; nothing for terms that the ladder does not have.
std::array<std::vector<TermEvidence>, model::kTermCount> LadderTermEvidence(const LadderFacts& facts,
                                                                            const model::Ladder& ladder);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LADDER_EVIDENCE_H_
