// Facts of one launch signature, or of one mode of it -> everything that a report says of its ladder. ns. Pure; any
// thread.
#ifndef GPUEXEC_ANALYSIS_LADDER_FIGURES_H_
#define GPUEXEC_ANALYSIS_LADDER_FIGURES_H_

#include <vector>

#include "absl/status/status.h"
#include "analysis/ladder_input.h"
#include "analysis/ladder_what_ifs.h"
#include "analysis/report_ladder.h"

namespace gx::analysis {

struct FiguresInput {
  // `time_ns` is taken from the durations.
  const LadderFacts& facts;
  const LadderLaunch& launch;
  // Clean ones, at least one; ascending.
  const std::vector<double>& sorted_ns;
  // Of the clock that they are told in; 0: not known.
  double clock_step_ns = 0;
  // Launches of the run that this is of: what savings are multiplied by.
  double launch_count = 0;
};

// InvalidArgument, OutOfRange: time or counters are no figures of a launch.
absl::Status FillFigures(const FiguresInput& input, LadderFigures* figures);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_LADDER_FIGURES_H_
