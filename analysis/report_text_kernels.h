// The table of kernels of a text report, with its legend. Used by report_text alone. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_TEXT_KERNELS_H_
#define GPUEXEC_ANALYSIS_REPORT_TEXT_KERNELS_H_

#include "analysis/report.h"
#include "analysis/report_text.h"
#include "analysis/text_writer.h"

namespace gx::analysis {

void WriteKernels(const Report& report, const TextStyle& style, TextWriter* out);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_TEXT_KERNELS_H_
