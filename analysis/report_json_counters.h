// Hardware counters of a report -> JSON. Used by report_json alone.
#ifndef GPUEXEC_ANALYSIS_REPORT_JSON_COUNTERS_H_
#define GPUEXEC_ANALYSIS_REPORT_JSON_COUNTERS_H_

#include "analysis/json_writer.h"
#include "analysis/report.h"

namespace gx::analysis {

// One object.
void WriteCountersJson(const Report& report, const CountersSection& counters, JsonWriter* json);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_JSON_COUNTERS_H_
