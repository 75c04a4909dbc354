// Ladders of a report -> text. Used by report_text alone.
#ifndef GPUEXEC_ANALYSIS_REPORT_TEXT_LADDER_H_
#define GPUEXEC_ANALYSIS_REPORT_TEXT_LADDER_H_

#include "analysis/report_ladder.h"
#include "analysis/report_text.h"
#include "analysis/text_writer.h"

namespace gx::analysis {

// `deep`: every row with rungs, intervals and evidence; else the heaviest rows, in short.
void WriteLadders(const LadderSection& section, const TextStyle& style, bool deep, TextWriter* out);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_TEXT_LADDER_H_
