#include "analysis/stat_catalog.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace gx::analysis {
namespace pb = gpuexec::v1;

StatDescription DescribeStat(uint32_t stat_id) {
  StatDescription description;
  const google::protobuf::EnumValueDescriptor* value =
      stat_id > INT32_MAX ? nullptr : pb::StatId_descriptor()->FindValueByNumber(static_cast<int>(stat_id));
  if (value == nullptr || stat_id == pb::STAT_UNSPECIFIED) {
    description.name = absl::StrCat("STAT_", stat_id);
    description.meaning = "a counter that this version of gx-analyze does not know";
    description.advice = "use the gx-analyze of the gpuexec that wrote the trace, or a newer one";
    return description;
  }
  description.name = value->name();
  description.severity = value->options().GetExtension(pb::severity);
  description.meaning = value->options().GetExtension(pb::meaning);
  description.advice = value->options().GetExtension(pb::advice);
  return description;
}

absl::string_view SeverityWord(pb::Severity severity) {
  switch (severity) {
    case pb::SEVERITY_INFO:
      return "info";
    case pb::SEVERITY_NOTICE:
      return "notice";
    case pb::SEVERITY_DATA_LOSS:
      return "data loss";
    case pb::SEVERITY_ERROR:
      return "error";
    default:
      return "unknown";
  }
}

bool MeansDataLost(pb::Severity severity) {
  return severity == pb::SEVERITY_DATA_LOSS || severity == pb::SEVERITY_ERROR;
}

}  // namespace gx::analysis
