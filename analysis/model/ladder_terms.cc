#include "analysis/model/ladder_terms.h"

namespace gx::model {

absl::string_view TermName(TermKind kind) noexcept {
  switch (kind) {
    case TermKind::kUseful:
      return "useful";
    case TermKind::kAlgorithm:
      return "algorithm";
    case TermKind::kWork:
      return "work (useful share unmeasured)";
    case TermKind::kExcess:
      return "excess work";
    case TermKind::kClock:
      return "clock";
    case TermKind::kUneven:
      return "uneven";
    case TermKind::kCeiling:
      return "ceiling gap";
    case TermKind::kTracing:
      return "tracing";
    case TermKind::kLaunch:
      return "launch and drain";
    case TermKind::kIdle:
      return "idle SMs";
    case TermKind::kSync:
      return "sync";
    case TermKind::kLatency:
      return "latency";
    case TermKind::kQueue:
      return "queue";
    case TermKind::kOverlap:
      return "overlap";
    case TermKind::kUnexplained:
      return "unexplained";
  }
  return "";
}

absl::string_view TermClassName(TermClass term_class) noexcept {
  switch (term_class) {
    case TermClass::kProven:
      return "proven";
    case TermClass::kSustained:
      return "sustained";
    case TermClass::kCalibrated:
      return "calibrated";
    case TermClass::kMeasured:
      return "measured";
    case TermClass::kModelled:
      return "modelled";
    case TermClass::kAttributed:
      return "attributed";
    case TermClass::kUnexplained:
      return "unexplained";
    case TermClass::kUnmeasured:
      return "unmeasured";
    case TermClass::kNone:
      break;
  }
  return "";
}

TermClass ClassOf(TermKind kind) noexcept {
  switch (kind) {
    case TermKind::kUseful:
    case TermKind::kAlgorithm:
    case TermKind::kWork:
    case TermKind::kExcess:
    case TermKind::kClock:
    case TermKind::kUneven:
      return TermClass::kProven;
    case TermKind::kCeiling:
      return TermClass::kSustained;
    case TermKind::kTracing:
    case TermKind::kLaunch:
      return TermClass::kCalibrated;
    case TermKind::kIdle:
      return TermClass::kMeasured;
    case TermKind::kLatency:
      return TermClass::kModelled;
    case TermKind::kSync:
    case TermKind::kQueue:
    case TermKind::kOverlap:
      return TermClass::kAttributed;
    case TermKind::kUnexplained:
      return TermClass::kUnexplained;
  }
  return TermClass::kNone;
}

}  // namespace gx::model
