// What one check of gx-doctor comes to, and what all of them say of the machine. Plain data; pure.
#ifndef GPUEXEC_TOOLS_DOCTOR_VERDICT_H_
#define GPUEXEC_TOOLS_DOCTOR_VERDICT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gx::doctor {

enum class Level {
  kOk,
  // There is nothing to check here, or it was not asked for; the summary says which.
  kNotApplicable,
  // It should be known and is not.
  kUnknown,
  // Something is missing or in the way; launches and times can be had.
  kWarning,
  // Launches and times cannot be had.
  kFailure,
};
// "ok", "n/a", "unknown", "warning", "failure".
absl::string_view LevelName(Level level);

// A value as it was read. Any bytes: printing makes them safe.
struct Evidence {
  std::string what;  // "/proc/driver/nvidia/params, RmProfilingAdminOnly"
  std::string value;
};

struct Verdict {
  std::string check;  // Its name: letters and '-'.
  Level level = Level::kUnknown;
  std::string summary;  // One sentence without its full stop.
  std::vector<Evidence> evidence;
  // What mends it: a command or a setting each, in the order of preference.
  std::vector<std::string> fixes;
};

enum class Health {
  kAllWell = 0,
  // A warning, or something unknown.
  kDegraded = 1,
  // A failure.
  kUnusable = 2,
};
Health HealthOf(absl::Span<const Verdict> verdicts);
// "all well", "degraded", "unusable".
absl::string_view HealthName(Health health);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_VERDICT_H_
