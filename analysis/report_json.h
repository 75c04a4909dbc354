// gpuexec.v1.Report -> protobuf JSON, field names as in report.proto. As the mapping has it, whole numbers of 64 bits
// stand in quotes, and false, 0 and "" are left out unless the field is optional and set. Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_REPORT_JSON_H_
#define GPUEXEC_ANALYSIS_REPORT_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "gpuexec/v1/report.pb.h"

namespace gx::analysis {

// Internal: protobuf refuses the message, with its words.
absl::StatusOr<std::string> ReportJson(const gpuexec::v1::Report& report);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_REPORT_JSON_H_
