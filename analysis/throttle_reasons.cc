#include "analysis/throttle_reasons.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gx::analysis {
namespace {

// nvml.h, nvmlClocksEventReason*, by bit.
constexpr std::array<absl::string_view, 9> kReasons = {
    "GPU idle",          "application clocks set",    "software power cap",        "hardware slowdown",
    "sync boost",        "software thermal slowdown", "hardware thermal slowdown", "hardware power brake",
    "display clocks set"};

}  // namespace

std::string ThrottleReasonWords(size_t bit) {
  if (bit < kReasons.size()) return std::string(kReasons[bit]);
  return absl::StrCat("reason bit ", bit);
}

}  // namespace gx::analysis
