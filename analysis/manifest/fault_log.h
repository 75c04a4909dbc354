// What is wrong with parts of a manifest, gathered while the rest of it is evaluated. Owned by one thread.
#ifndef GPUEXEC_ANALYSIS_MANIFEST_FAULT_LOG_H_
#define GPUEXEC_ANALYSIS_MANIFEST_FAULT_LOG_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/text_table.h"

namespace gx::analysis {

// "'text'", cut where it is long: names in a message come from the file. Not escaped: whoever prints does that.
inline std::string Quoted(absl::string_view text) { return absl::StrCat("'", CutText(text, 64), "'"); }

struct ManifestFault {
  // "warp_request[1]".
  std::string where;
  std::string text;
};

struct FaultLog {
  // What the model refuses.
  std::vector<ManifestFault> faults;
  // What was left out and why; what two coordinates disagree about.
  std::vector<std::string> notes;

  void Fault(absl::string_view where, absl::string_view text) {
    faults.push_back({std::string(where), std::string(text)});
  }
  // The value, or its error as a fault.
  template <typename T>
  std::optional<T> Take(absl::string_view where, absl::StatusOr<T> value) {
    if (value.ok()) return *std::move(value);
    Fault(where, value.status().message());
    return std::nullopt;
  }
};

}  // namespace gx::analysis

#endif  // GPUEXEC_ANALYSIS_MANIFEST_FAULT_LOG_H_
