#include "analysis/report_json.h"

#include "absl/strings/str_cat.h"
#include "analysis/printable.h"
#include "google/protobuf/util/json_util.h"

namespace gx::analysis {

absl::StatusOr<std::string> ReportJson(const gpuexec::v1::Report& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(report, &text, options);
  if (!status.ok()) return absl::InternalError(absl::StrCat("JSON: ", Printable(status.ToString())));
  return text;
}

}  // namespace gx::analysis
