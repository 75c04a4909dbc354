// Verdicts as text for people and as JSON for programs. Both are safe to print whatever the facts hold. Pure.
#ifndef GPUEXEC_TOOLS_DOCTOR_DOCTOR_TEXT_H_
#define GPUEXEC_TOOLS_DOCTOR_DOCTOR_TEXT_H_

#include <string>

#include "absl/types/span.h"
#include "tools/doctor/verdict.h"

namespace gx::doctor {

// One line a check, its evidence and fixes below it, and last what it all comes to.
std::string DoctorText(absl::Span<const Verdict> verdicts);

// {"health": "degraded", "exit_code": 1, "checks": [{"check": ..., "level": ..., "summary": ...,
// "evidence": [{"what": ..., "value": ...}], "fixes": [...]}]}
std::string DoctorJson(absl::Span<const Verdict> verdicts);

}  // namespace gx::doctor

#endif  // GPUEXEC_TOOLS_DOCTOR_DOCTOR_TEXT_H_
