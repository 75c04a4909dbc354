#include "tools/doctor/verdict.h"

namespace gx::doctor {

absl::string_view LevelName(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kNotApplicable:
      return "n/a";
    case Level::kUnknown:
      return "unknown";
    case Level::kWarning:
      return "warning";
    case Level::kFailure:
      break;
  }
  return "failure";
}

Health HealthOf(absl::Span<const Verdict> verdicts) {
  Health health = Health::kAllWell;
  for (const Verdict& verdict : verdicts) {
    if (verdict.level == Level::kFailure) return Health::kUnusable;
    if (verdict.level == Level::kWarning || verdict.level == Level::kUnknown) health = Health::kDegraded;
  }
  return health;
}

absl::string_view HealthName(Health health) {
  switch (health) {
    case Health::kAllWell:
      return "all well";
    case Health::kDegraded:
      return "degraded";
    case Health::kUnusable:
      break;
  }
  return "unusable";
}

}  // namespace gx::doctor
