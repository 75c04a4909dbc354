// The run explained -> what it says in plain words, one line each, with figures and what can be done. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_RUN_FINDINGS_H_
#define GPUEXEC_ANALYSIS_RUN_FINDINGS_H_

#include <vector>

#include "analysis/report_run.h"

namespace gx::analysis {

// Of first start to last end, or of kernel time: less is not worth a line.
inline constexpr double kWorthALine = 0.05;
inline constexpr double kFusionWorthALine = 0.005;

// Most time first: what it saves at most, where that is known, is never more than the time it is of.
std::vector<RunFinding> RunFindings(const RunExplanation& run);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_RUN_FINDINGS_H_
