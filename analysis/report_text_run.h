// The run explained, as text: lines of the report's section about the run. Any thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_TEXT_RUN_H_
#define GPUEXEC_ANALYSIS_REPORT_TEXT_RUN_H_

#include "analysis/report_run.h"
#include "analysis/text_writer.h"

namespace gx::analysis {

void WriteRunExplanation(const RunExplanation& run, TextWriter* out);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_TEXT_RUN_H_
