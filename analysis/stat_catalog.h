// What the counters of a trace mean: names, severities, meanings and advice, read from the options in
// gpuexec/v1/stats.proto (the one place where they are stated). Pure; any thread.
#ifndef GPUEXEC_ANALYSIS_STAT_CATALOG_H_
#define GPUEXEC_ANALYSIS_STAT_CATALOG_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "gpuexec/v1/stats.pb.h"

namespace gx::analysis {

struct StatDescription {
  // "STAT_LAUNCHES_SEEN"; "STAT_123" where this version does not know the number.
  std::string name;
  // SEVERITY_UNSPECIFIED where the number is not known.
  gpuexec::v1::Severity severity = gpuexec::v1::SEVERITY_UNSPECIFIED;
  std::string meaning;
  std::string advice;
};

StatDescription DescribeStat(uint32_t stat_id);

// "info", "notice", "data loss", "error", "unknown".
absl::string_view SeverityWord(gpuexec::v1::Severity severity);

// Whether facts are missing or wrong: the exit code says so.
bool MeansDataLost(gpuexec::v1::Severity severity);

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_STAT_CATALOG_H_
