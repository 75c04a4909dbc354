// Hardware counters of a report -> text: a paragraph for the whole, and the metrics of each signature. Used by
// report_text alone.
#ifndef GPUEXEC_ANALYSIS_REPORT_TEXT_COUNTERS_H_
#define GPUEXEC_ANALYSIS_REPORT_TEXT_COUNTERS_H_

#include "analysis/report.h"
#include "analysis/report_text.h"
#include "analysis/text_writer.h"

namespace gx::analysis {

// What was sampled, what it cost, what was not sampled. `tables_follow` false: the paragraph ends by saying how to see
// them.
void WriteCounterSummary(const Report& report, const CountersSection& counters, bool tables_follow, TextWriter* out);

// Peaks and clocks, the metrics by signature and group, and those of whole graphs.
void WriteCounterTables(const CountersSection& counters, const TextStyle& style, TextWriter* out);

// Which launches the samples are of, without their values.
void WriteCounterSamples(const CountersSection& counters, const TextStyle& style, TextWriter* out);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_TEXT_COUNTERS_H_
