// Calls of the CUDA runtime and driver, as a report's text shows them. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_TEXT_API_H_
#define GPUEXEC_ANALYSIS_REPORT_TEXT_API_H_

#include <cstddef>

#include "analysis/report.h"
#include "analysis/text_writer.h"

namespace gx::analysis {

// `row_limit` functions, most time first; 0: all. `width`: of the terminal, 0: any.
void WriteApiUses(const ProcessSection& process, size_t row_limit, size_t width, TextWriter* out);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_TEXT_API_H_
